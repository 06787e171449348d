//! Types and fields from and to JSON, as in Paimon's `DataTypeJsonParser.java` and
//! `DataType.serializeJson`.

use serde_json::{Map, Value, json};

use super::{DataField, DataType, TypeKind, grammar};
use crate::error::{Error, ErrorKind, Result};
use crate::json::{MAX_TYPE_DEPTH, invalid, named_once};

impl DataType {
    /// The type that `json` describes, a string or an object.
    ///
    /// Fields of a ROW without `id` (very old schemas) are numbered from 0, depth first, each
    /// before its children.
    ///
    /// # Errors
    /// [`ErrorKind::Type`] for what the grammar does not have, and for nesting beyond 150;
    /// [`ErrorKind::Json`] for an object that lacks a key or has one of the wrong JSON type.
    pub fn from_json(json: &Value) -> Result<DataType> {
        FieldParser::new(0).data_type(json, 0)
    }

    /// The JSON form: a string for atomic types, an object for constructed ones.
    pub fn to_json(&self) -> Value {
        let name = |keyword: &str| format!("{keyword}{}", if self.nullable { "" } else { " NOT NULL" });
        match &self.kind {
            TypeKind::Array(element) => json!({"type": name("ARRAY"), "element": element.to_json()}),
            TypeKind::Multiset(element) => json!({"type": name("MULTISET"), "element": element.to_json()}),
            TypeKind::Map(key, value) => {
                json!({"type": name("MAP"), "key": key.to_json(), "value": value.to_json()})
            }
            TypeKind::Row(fields) => {
                let fields: Vec<Value> = fields.iter().map(DataField::to_json).collect();
                json!({"type": name("ROW"), "fields": fields})
            }
            TypeKind::Vector { element, length } => {
                json!({"type": name("VECTOR"), "element": element.to_json(), "length": length})
            }
            _ => Value::String(self.to_string()),
        }
    }
}

impl DataField {
    /// The JSON form, without keys that are not set.
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("id".to_owned(), self.id.into());
        object.insert("name".to_owned(), self.name.as_str().into());
        object.insert("type".to_owned(), self.ty.to_json());
        if let Some(description) = &self.description {
            object.insert("description".to_owned(), description.as_str().into());
        }
        if let Some(value) = &self.default_value {
            object.insert("defaultValue".to_owned(), value.as_str().into());
        }
        Value::Object(object)
    }
}

/// Parses the types of one schema; keeps the next id for fields without one.
pub(crate) struct FieldParser {
    next_id: i32,
}

impl FieldParser {
    /// A parser that numbers fields without an id from `next_id` on.
    pub(crate) fn new(next_id: i32) -> FieldParser {
        FieldParser { next_id }
    }

    /// The columns of a table or fields of a ROW; their names must differ.
    pub(crate) fn fields(&mut self, json: &[Value], depth: usize) -> Result<Vec<DataField>> {
        let fields = json.iter().map(|field| self.field(field, depth)).collect::<Result<Vec<_>>>()?;
        named_once(fields, |field| &field.name)
    }

    fn field(&mut self, json: &Value, depth: usize) -> Result<DataField> {
        let object = json.as_object().ok_or_else(|| invalid("a field is not a JSON object"))?;
        let name = text(object, "name")?.ok_or_else(|| invalid("a field has no `name`"))?;
        let id = match object.get("id") {
            None | Some(Value::Null) => self.assign_id()?,
            Some(id) => int(id).ok_or_else(|| invalid(format!("`id` is not an integer of 32 bits: {id}")))?,
        };
        let ty = object.get("type").ok_or_else(|| invalid("a field has no `type`"));
        let ty = ty.and_then(|ty| self.data_type(ty, depth)).map_err(|error| error.in_field(&name))?;
        let description = text(object, "description")?;
        Ok(DataField { id, name, ty, description, default_value: text(object, "defaultValue")? })
    }

    fn assign_id(&mut self) -> Result<i32> {
        let id = self.next_id;
        self.next_id = id.checked_add(1).ok_or_else(|| invalid("no field id is left"))?;
        Ok(id)
    }

    fn data_type(&mut self, json: &Value, depth: usize) -> Result<DataType> {
        if depth > MAX_TYPE_DEPTH {
            return Err(Error::new(ErrorKind::Type, format!("types nest deeper than {MAX_TYPE_DEPTH}")));
        }
        match json {
            Value::String(text) => grammar::parse(text),
            Value::Object(object) => self.constructed(object, depth + 1),
            other => Err(grammar::error(&other.to_string(), "a type is a JSON string or object")),
        }
    }

    fn constructed(&mut self, object: &Map<String, Value>, depth: usize) -> Result<DataType> {
        let name = text(object, "type")?.ok_or_else(|| invalid("a type has no `type`"))?;
        let mut child = |key: &str| self.data_type(required(object, key, &name)?, depth).map(Box::new);
        let keyword = name.split_whitespace().next().unwrap_or_default();
        let kind = match keyword {
            "ARRAY" => TypeKind::Array(child("element")?),
            "MULTISET" => TypeKind::Multiset(child("element")?),
            "MAP" => TypeKind::Map(child("key")?, child("value")?),
            "VECTOR" => {
                let length = required(object, "length", &name)?;
                let length =
                    int(length).ok_or_else(|| grammar::error(&name, "`length` is not an integer"))?;
                grammar::vector(*child("element")?, length).map_err(|why| grammar::error(&name, &why))?
            }
            "ROW" => match required(object, "fields", &name)? {
                Value::Array(fields) => TypeKind::Row(self.fields(fields, depth)?),
                _ => return Err(invalid("`fields` of a ROW is not an array")),
            },
            _ => return Err(grammar::error(&name, "not the keyword of a constructed type")),
        };
        Ok(DataType { kind, nullable: !name.contains("NOT NULL") })
    }
}

fn required<'a>(object: &'a Map<String, Value>, key: &str, name: &str) -> Result<&'a Value> {
    object.get(key).ok_or_else(|| invalid(format!("the type {name:?} has no `{key}`")))
}

fn text(object: &Map<String, Value>, key: &str) -> Result<Option<String>> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(invalid(format!("`{key}` is not a string"))),
    }
}

fn int(json: &Value) -> Option<i32> {
    json.as_i64().and_then(|value| i32::try_from(value).ok())
}
