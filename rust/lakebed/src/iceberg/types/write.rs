//! Writes types and fields as JSON, as Iceberg's `SchemaParser.java`.

use serde_json::{Map, Value, json};

use super::{FieldRef, NestedField, Schema, Type};

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
