//! The partition type of a table: the fields of all its specs, joined as by Iceberg's `Partitioning.java`.

use std::cmp::Reverse;
use std::collections::HashSet;

use arrow_array::{Array, ArrayRef, StringArray, StructArray, new_null_array};
use arrow_schema::{DataType, Field, Fields};

use super::{PartitionField, PartitionSpec, conform};
use crate::error::Result;
use crate::iceberg::transform::Transform;
use crate::iceberg::types::{Schema, Type};

/// The fields of several partition specs as one struct, in the order of their ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionType {
    /// The fields.
    pub fields: Vec<UnifiedField>,
}

/// A partition field that one or more specs have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnifiedField {
    /// The field of the newest spec that has it, with the transform of the newest spec in which it is not
    /// `void`. Where another field has the same name, `_` and the id are appended to the name.
    pub field: PartitionField,
    /// The type of its values.
    pub ty: Type,
}

impl PartitionType {
    /// The type that the partitions of all `specs` share.
    ///
    /// The type of a source column is that of the first of `schemas` that has it; a field whose source no
    /// schema has is left out, as by the engine with the current schema. Fields are the same if their ids,
    /// their sources and, except for `void`, their transforms are. Specs of format version 1 may use an id
    /// for different fields, which then follow each other, the newest first.
    pub fn unify(specs: &[PartitionSpec], schemas: &[&Schema]) -> PartitionType {
        let mut newest_first: Vec<&PartitionSpec> = specs.iter().collect();
        newest_first.sort_by_key(|spec| Reverse(spec.spec_id));
        let mut fields: Vec<UnifiedField> = Vec::new();
        for field in newest_first.into_iter().flat_map(|spec| &spec.fields) {
            let Some(ty) = result_type(field, schemas) else { continue };
            match fields.iter_mut().find(|known| same(&known.field, field)) {
                None => fields.push(UnifiedField { field: field.clone(), ty }),
                Some(known) if known.field.transform == Transform::Void => {
                    known.field.transform = field.transform.clone();
                    known.ty = ty;
                }
                Some(_) => {}
            }
        }
        make_names_unique(&mut fields);
        fields.sort_by_key(|unified| unified.field.field_id);
        PartitionType { fields }
    }

    /// The position in `spec` of the field at `position` of this type; `None` if the spec does not have it or
    /// has it as `void`.
    pub fn position_in(&self, position: usize, spec: &PartitionSpec) -> Option<usize> {
        let unified = self.fields.get(position)?;
        let place = spec.fields.iter().position(|field| same(&unified.field, field))?;
        spec.fields.get(place).filter(|field| field.transform != Transform::Void).map(|_| place)
    }

    /// The names of the fields of this type that `spec` does not have: they are values in other specs, and in this one
    /// missing or `void`.
    pub(crate) fn absent_in(&self, spec: &PartitionSpec) -> Vec<String> {
        let fields = self.fields.iter().enumerate();
        let is_absent = |(position, unified): &(usize, &UnifiedField)| {
            unified.field.transform != Transform::Void && self.position_in(*position, spec).is_none()
        };
        fields.filter(is_absent).map(|(_, unified)| unified.field.name.clone()).collect()
    }

    /// The first field of `spec` that this type lacks although it is not `void`: no schema has its source.
    pub(crate) fn missing_of<'s>(&self, spec: &'s PartitionSpec) -> Option<&'s PartitionField> {
        let has = |field: &PartitionField| self.fields.iter().any(|unified| same(&unified.field, field));
        spec.fields.iter().find(|field| field.transform != Transform::Void && !has(field))
    }

    /// The Arrow fields, with the names of the partition fields, all nullable.
    pub fn arrow_fields(&self) -> Fields {
        self.fields.iter().map(|unified| Field::new(&unified.field.name, unified.ty.arrow(), true)).collect()
    }

    /// The Arrow type of the `partition` column.
    pub fn arrow(&self) -> DataType {
        DataType::Struct(self.arrow_fields())
    }

    /// Tuples of `spec`, as read from a file, converted to this type.
    ///
    /// The children of `tuples` are named by their field ids (`"1000"`), in any type that writers use for the
    /// field's type: narrower numbers, decimals in bytes of any length, UUIDs as text or bytes, dates and
    /// times as plain integers. Fields that the spec or the file lacks and `void` fields are null; children
    /// that are not fields of the spec are ignored. Cost is one pass over what must be converted; other
    /// buffers are shared.
    ///
    /// # Errors
    /// The kind `schema` for a child of a type that cannot be read as the field's; `decimal`, `uuid`, `utf8`,
    /// `length`, `int-range` and `timestamp` for values that do not fit, with their record counted from the
    /// first of `tuples`.
    pub fn align(&self, tuples: &StructArray, spec: &PartitionSpec) -> Result<StructArray> {
        let column = |unified: &UnifiedField| {
            let stored = spec.fields.iter().find(|field| same(&unified.field, field));
            let stored = stored.filter(|field| field.transform != Transform::Void);
            let stored = stored.and_then(|field| tuples.column_by_name(&field.field_id.to_string()));
            match stored {
                Some(stored) => conform::conform(stored, &unified.ty),
                None => Ok(new_null_array(&unified.ty.arrow(), tuples.len())),
            }
            .map_err(|error| error.in_field(&unified.field.name))
        };
        let columns = self.fields.iter().map(column).collect::<Result<Vec<ArrayRef>>>()?;
        let nulls = tuples.nulls().cloned();
        StructArray::try_new_with_length(self.arrow_fields(), columns, nulls, tuples.len())
            .map_err(Into::into)
    }

    /// The partition in file paths, for tuples of this type that belong to `spec`:
    /// `city=S%C3%A3o+Paulo/ts_hour=2024-02-29-07`, in the order of the spec's fields; empty without fields.
    /// Fields that this type lacks are `null`. Cost is one pass over every field.
    ///
    /// # Errors
    /// `ErrorKind::Argument` for tuples of another type; `ErrorKind::Unsupported` for types that cannot
    /// partition a table.
    pub fn paths(&self, tuples: &StructArray, spec: &PartitionSpec) -> Result<StringArray> {
        let texts = |field: &PartitionField| -> Result<Option<StringArray>> {
            let position = self.fields.iter().position(|unified| same(&unified.field, field));
            let column = position.and_then(|at| Some((tuples.columns().get(at)?, self.fields.get(at)?)));
            column.map(|(column, unified)| field.transform.texts(column, &unified.ty)).transpose()
        };
        let texts = spec.fields.iter().map(texts).collect::<Result<Vec<_>>>()?;
        let names: Vec<String> = spec.fields.iter().map(|field| escaped(&field.name)).collect();
        let path = |row: usize| {
            let pieces = names.iter().zip(&texts).map(|(name, texts)| {
                let text = texts.as_ref().map_or("null", |texts| texts.value(row));
                format!("{name}={}", escaped(text))
            });
            pieces.collect::<Vec<String>>().join("/")
        };
        Ok(StringArray::from_iter_values((0..tuples.len()).map(path)))
    }
}

/// Whether two partition fields are the same.
fn same(a: &PartitionField, b: &PartitionField) -> bool {
    let is_void = a.transform == Transform::Void || b.transform == Transform::Void;
    a.field_id == b.field_id && a.source_ids == b.source_ids && (is_void || a.transform == b.transform)
}

/// The type of a field's values; `None` where no schema has its source.
fn result_type(field: &PartitionField, schemas: &[&Schema]) -> Option<Type> {
    let source = |id: &i32| schemas.iter().find_map(|schema| schema.field_by_id(*id));
    let sources = field.source_ids.iter().map(source).collect::<Option<Vec<_>>>()?;
    Some(field.transform.result_type(sources.first().map_or(&Type::Unknown, |source| &source.ty)))
}

/// Appends the id to a field's name where a newer field has the same name.
fn make_names_unique(fields: &mut [UnifiedField]) {
    let mut names = HashSet::with_capacity(fields.len());
    for unified in fields {
        let field = &mut unified.field;
        while !names.insert(field.name.clone()) {
            field.name = format!("{}_{}", field.name, field.field_id);
        }
    }
}

/// `text` as Java's `URLEncoder` writes it.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'*' | b'_' => {
                escaped.push(char::from(byte));
            }
            b' ' => escaped.push('+'),
            byte => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}
