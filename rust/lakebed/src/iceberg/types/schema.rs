//! The columns of a table in one version of its schema.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::Fields;
use serde_json::Value;

use super::arrow::arrow_fields;
use super::{FieldRef, Type, json};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::json::Object;
use crate::json::{depth, depth_of, invalid, parse, roomy};

/// One version of a table's schema; fields of all levels can be looked up by id and by name.
#[derive(Debug, Clone)]
pub struct Schema {
    /// The id, unique in the table; 0 where the JSON has none.
    pub schema_id: i32,
    /// The columns, in order.
    pub fields: Vec<FieldRef>,
    /// The identifier fields: the ids of fields that identify a row.
    pub identifier_field_ids: Vec<i32>,
    /// The fields of all levels, each before its children.
    places: Vec<FieldPlace>,
    by_id: HashMap<i32, usize>,
    by_name: HashMap<Arc<str>, usize>,
}

/// A field of any level.
#[derive(Debug, Clone)]
struct FieldPlace {
    field: FieldRef,
    name: Arc<str>,
    depth: usize,
    /// Whether every row has exactly one value of it: it is in no list or map.
    single: bool,
    /// Whether every row has a value of it that is not null: it and all fields around it are required.
    always_there: bool,
}

impl Schema {
    /// A schema of `fields`.
    ///
    /// # Errors
    /// [`ErrorKind::Json`] for a field id that appears twice.
    pub fn new(schema_id: i32, fields: Vec<FieldRef>, identifier_field_ids: Vec<i32>) -> Result<Schema> {
        let mut places = Vec::new();
        fields.iter().for_each(|field| place(&mut places, field, None));
        let mut by_id = HashMap::with_capacity(places.len());
        let mut by_name: HashMap<Arc<str>, usize> = HashMap::with_capacity(places.len());
        for (position, found) in places.iter().enumerate() {
            if by_id.insert(found.field.id, position).is_some() {
                return Err(invalid(format!("the field id {} appears twice", found.field.id)));
            }
            let known = by_name.entry(Arc::clone(&found.name)).or_insert(position);
            if places.get(*known).is_some_and(|known| known.depth < found.depth) {
                *known = position;
            }
        }
        Ok(Schema { schema_id, fields, identifier_field_ids, places, by_id, by_name })
    }

    /// The schema that `json` describes: a struct type with `schema-id` and `identifier-field-ids`.
    ///
    /// # Errors
    /// Those of [`super::Type::from_json`] and [`Schema::new`]; [`ErrorKind::Type`] for a type that is not a
    /// struct.
    pub fn from_json(json: &Value) -> Result<Schema> {
        roomy(depth_of([json]), || Schema::of_object(json))
    }

    fn of_object(json: &Value) -> Result<Schema> {
        let object = Object::new(json, "a schema")?;
        if !object.text("type")?.eq_ignore_ascii_case("struct") {
            return Err(Error::new(ErrorKind::Type, "the type of a schema is struct"));
        }
        let fields = json::fields(object.array("fields")?, 0)?;
        let schema_id = object.optional_int("schema-id")?.unwrap_or(0);
        Schema::new(schema_id, fields, object.ints("identifier-field-ids")?)
    }

    /// The schema whose JSON is `text`.
    ///
    /// # Errors
    /// Those of [`Schema::from_json`]; [`ErrorKind::Json`] for a text that is not JSON.
    pub fn parse(text: &[u8]) -> Result<Schema> {
        roomy(depth(text), || Schema::of_object(&parse(text)?))
    }

    /// The field of that id, of any level.
    pub fn field_by_id(&self, id: i32) -> Option<&FieldRef> {
        self.place_of(id).map(|place| &place.field)
    }

    /// The field with that full name, of any level: names joined by dots, case-sensitive, with `element`,
    /// `key` and `value` for the contents of lists and maps.
    ///
    /// Names may contain dots themselves: of two fields with the same full name it is the more deeply nested
    /// one.
    pub fn field_by_name(&self, name: &str) -> Option<&FieldRef> {
        self.places.get(*self.by_name.get(name)?).map(|place| &place.field)
    }

    /// The full name of the field of that id.
    pub fn name_of(&self, id: i32) -> Option<&str> {
        self.place_of(id).map(|place| place.name.as_ref())
    }

    /// The fields with that full name in any case, of any level.
    pub fn fields_like(&self, name: &str) -> impl Iterator<Item = &FieldRef> {
        let name = name.to_lowercase();
        self.places.iter().filter(move |place| place.name.to_lowercase() == name).map(|place| &place.field)
    }

    /// Whether every row has exactly one value of the field of that id, null or not: it is in no list or map.
    pub fn is_single(&self, id: i32) -> bool {
        self.place_of(id).is_some_and(|place| place.single)
    }

    /// Whether every row has a value of the field of that id: it and all fields around it are required.
    pub fn is_always_there(&self, id: i32) -> bool {
        self.place_of(id).is_some_and(|place| place.always_there)
    }

    /// How deep types nest in each other; 0 without nested types.
    pub(crate) fn depth(&self) -> usize {
        self.places.iter().map(|place| place.depth).max().unwrap_or(0)
    }

    fn place_of(&self, id: i32) -> Option<&FieldPlace> {
        self.places.get(*self.by_id.get(&id)?)
    }

    /// The primitive fields of all levels with their full names, in schema order.
    ///
    /// These are the fields that have metrics; variants and nested types are left out.
    pub fn primitives(&self) -> impl Iterator<Item = (&str, &FieldRef)> {
        self.leaves().filter(|(_, field)| field.ty != Type::Variant)
    }

    /// The fields of all levels that are not nested types with their full names, in schema order.
    pub fn leaves(&self) -> impl Iterator<Item = (&str, &FieldRef)> {
        let is_leaf = |place: &&FieldPlace| place.field.ty.children().is_empty();
        self.places.iter().filter(is_leaf).map(|place| (place.name.as_ref(), &place.field))
    }

    /// The Arrow fields of the columns.
    pub fn arrow(&self) -> Fields {
        arrow_fields(&self.fields)
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Schema) -> bool {
        self.schema_id == other.schema_id
            && self.fields == other.fields
            && self.identifier_field_ids == other.identifier_field_ids
    }
}

impl Eq for Schema {}

/// Adds `field` and its children. Recursion is as deep as types may nest.
fn place(places: &mut Vec<FieldPlace>, field: &FieldRef, parent: Option<(&FieldPlace, &Type)>) {
    let name = match parent {
        Some((parent, _)) => format!("{}.{}", parent.name, field.name).into(),
        None => field.name.as_str().into(),
    };
    let here = FieldPlace {
        field: Arc::clone(field),
        name,
        depth: parent.map_or(0, |(parent, _)| parent.depth + 1),
        single: parent.is_none_or(|(parent, ty)| parent.single && matches!(ty, Type::Struct(_))),
        always_there: field.required && parent.is_none_or(|(parent, _)| parent.always_there),
    };
    places.push(here.clone());
    field.ty.children().into_iter().for_each(|child| place(places, child, Some((&here, &field.ty))));
}
