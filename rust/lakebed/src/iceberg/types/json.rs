//! Reads types and fields from JSON, as Iceberg's `SchemaParser.java`.

use std::sync::Arc;

use serde_json::Value;

use super::{FieldRef, NestedField, Type};
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
