//! Reads and writes types and fields as JSON, as Iceberg's `SchemaParser.java`.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{FieldRef, NestedField, Schema, Type};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::json::Object;
use crate::json::{MAX_TYPE_DEPTH, named_once};

impl Type {
    /// The type that `json` describes, a string or an object.
    ///
    /// # Errors
    /// [`ErrorKind::Type`] for a type that is not in the grammar, and for nesting beyond 150;
    /// [`ErrorKind::Required`] for a missing key; [`ErrorKind::Json`] for a value of the wrong JSON type, and
    /// for two fields of a struct with the same name.
    pub fn from_json(json: &Value) -> Result<Type> {
        parse(json, 0)
    }
}

fn parse(json: &Value, depth: usize) -> Result<Type> {
    if depth > MAX_TYPE_DEPTH {
        return Err(Error::new(ErrorKind::Type, format!("types nest deeper than {MAX_TYPE_DEPTH}")));
    }
    match json {
        Value::String(text) => text.parse(),
        Value::Object(_) => nested(Object::new(json, "a type")?, depth + 1),
        _ => Err(Error::new(ErrorKind::Type, "a type is a JSON string or object")),
    }
}

fn nested(object: Object<'_>, depth: usize) -> Result<Type> {
    let child = |key: &str, id: &str, required: bool| {
        let ty = parse(object.required(key)?, depth).map_err(|error| error.in_field(key))?;
        Ok::<_, Error>(Arc::new(NestedField::new(object.int(id)?, key, required, ty)))
    };
    let keyword = object.text("type")?;
    match keyword.to_ascii_lowercase().as_str() {
        "struct" => Ok(Type::Struct(fields(object.array("fields")?, depth)?)),
        "list" => Ok(Type::List(child("element", "element-id", object.bool("element-required")?)?)),
        "map" => {
            let value = child("value", "value-id", object.bool("value-required")?)?;
            Ok(Type::Map(child("key", "key-id", true)?, value))
        }
        _ => Err(Error::new(ErrorKind::Type, format!("{keyword:?} is not struct, list or map"))),
    }
}

/// The columns of a table or fields of a struct; their names must differ.
pub(super) fn fields(json: &[Value], depth: usize) -> Result<Vec<FieldRef>> {
    let fields = json.iter().map(|json| field(json, depth)).collect::<Result<Vec<_>>>()?;
    named_once(fields, |field| &field.name)
}

fn field(json: &Value, depth: usize) -> Result<FieldRef> {
    let object = Object::new(json, "a field")?;
    let name = object.text("name")?;
    let read = || {
        Ok(NestedField {
            id: object.int("id")?,
            name: name.to_owned(),
            required: object.bool("required")?,
            ty: parse(object.required("type")?, depth)?,
            doc: object.optional_text("doc")?.map(str::to_owned),
            initial_default: object.get("initial-default").cloned(),
            write_default: object.get("write-default").cloned(),
        })
    };
    read().map(Arc::new).map_err(|error: Error| error.in_field(name))
}

impl Type {
    /// The JSON of the type, which [`Type::from_json`] reads.
    pub fn to_json(&self) -> Value {
        match self {
            Type::Struct(fields) => json!({ "type": "struct", "fields": all(fields) }),
            Type::List(element) => json!({
                "type": "list",
                "element-id": element.id,
                "element": element.ty.to_json(),
                "element-required": element.required,
            }),
            Type::Map(key, value) => json!({
                "type": "map",
                "key-id": key.id,
                "key": key.ty.to_json(),
                "value-id": value.id,
                "value": value.ty.to_json(),
                "value-required": value.required,
            }),
            primitive => Value::String(primitive.to_string()),
        }
    }
}

impl Schema {
    /// The JSON of the schema, which [`Schema::from_json`] reads.
    pub fn to_json(&self) -> Value {
        let mut json = Map::new();
        json.insert("type".to_owned(), "struct".into());
        json.insert("schema-id".to_owned(), self.schema_id.into());
        if !self.identifier_field_ids.is_empty() {
            json.insert("identifier-field-ids".to_owned(), self.identifier_field_ids.clone().into());
        }
        json.insert("fields".to_owned(), all(&self.fields));
        Value::Object(json)
    }
}

fn all(fields: &[FieldRef]) -> Value {
    fields.iter().map(|field| one(field)).collect()
}

fn one(field: &NestedField) -> Value {
    let mut json = Map::new();
    json.insert("id".to_owned(), field.id.into());
    json.insert("name".to_owned(), field.name.clone().into());
    json.insert("required".to_owned(), field.required.into());
    json.insert("type".to_owned(), field.ty.to_json());
    json.extend(field.doc.clone().map(|doc| ("doc".to_owned(), doc.into())));
    json.extend(field.initial_default.clone().map(|value| ("initial-default".to_owned(), value)));
    json.extend(field.write_default.clone().map(|value| ("write-default".to_owned(), value)));
    Value::Object(json)
}
