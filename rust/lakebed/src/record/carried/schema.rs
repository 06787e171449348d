//! The schemas of other writers, as JSON: finds unknown fields, and adds fields.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::Recognition;

/// An unknown field.
pub(super) struct UnknownField {
    /// Its path in the file it is read from.
    pub(super) stored: String,
    /// Its name in the record, or in the records of the list, that is read at that path.
    pub(super) member: Option<String>,
    /// Its path in written files.
    pub(super) written: String,
    pub(super) json: Value,
}

/// Appends the fields of a schema that `known` does not know to `found`; `stored` and `written` are the paths
/// of the record.
pub(super) fn unknown(
    schema: &Value,
    stored: &str,
    written: &str,
    known: &dyn Fn(&str, &Value) -> Recognition,
    found: &mut Vec<UnknownField>,
) {
    let Some(fields) = record(schema).and_then(|record| record.get("fields")?.as_array()) else { return };
    for field in fields {
        let Some(name) = field.get("name").and_then(Value::as_str) else { continue };
        let ty = field.get("type").unwrap_or(&Value::Null);
        let path =
            |record: &str| if record.is_empty() { name.to_owned() } else { format!("{record}.{name}") };
        match known(written, field) {
            Recognition::Field => {}
            Recognition::Record(called) if !ty.is_array() => {
                unknown(ty, &path(stored), &called, known, found)
            }
            // Nullable records, and lists, are read as a whole.
            Recognition::Record(called) | Recognition::List(called) => {
                let members = record(items(ty).unwrap_or(ty));
                let members = members.and_then(|record| record.get("fields")?.as_array());
                for json in members.into_iter().flatten() {
                    let Some(member) = json.get("name").and_then(Value::as_str) else { continue };
                    if matches!(known(&called, json), Recognition::No) {
                        let (written, member) = (format!("{called}.{member}"), Some(member.to_owned()));
                        found.push(UnknownField {
                            stored: path(stored),
                            member,
                            written,
                            json: json.clone(),
                        });
                    }
                }
            }
            Recognition::No => {
                let (stored, written) = (path(stored), path(written));
                found.push(UnknownField { stored, member: None, written, json: field.clone() });
            }
        }
    }
}

/// The record of a schema, also in a union with null.
fn record(schema: &Value) -> Option<&Value> {
    match schema {
        Value::Array(branches) => branches.iter().find_map(record),
        Value::Object(object) if object.get("type")?.as_str() == Some("record") => Some(schema),
        Value::Object(object) => object.get("type").filter(|ty| !ty.is_string()).and_then(record),
        _ => None,
    }
}

/// The items of the list of a schema, also in a union with null.
fn items(schema: &Value) -> Option<&Value> {
    match schema {
        Value::Array(branches) => branches.iter().find_map(items),
        Value::Object(object) if object.get("type")?.as_str() == Some("array") => object.get("items"),
        Value::Object(object) => object.get("type").filter(|ty| !ty.is_string()).and_then(items),
        _ => None,
    }
}

/// The fields of the record at a path, also within lists.
pub(super) fn fields_at<'s>(schema: &'s mut Value, path: &str) -> Option<&'s mut Vec<Value>> {
    if let Value::Array(branches) = schema {
        let is = |branch: &&mut Value| record(branch).is_some() || items(branch).is_some();
        return fields_at(branches.iter_mut().find(is)?, path);
    }
    if items(schema).is_some() {
        return fields_at(schema.get_mut("items")?, path);
    }
    let fields = schema.get_mut("fields")?.as_array_mut()?;
    let (name, rest) = path.split_once('.').unwrap_or((path, ""));
    if name.is_empty() {
        return Some(fields);
    }
    let field = fields.iter_mut().find(|field| field.get("name").and_then(Value::as_str) == Some(name))?;
    fields_at(field.get_mut("type")?, rest)
}

/// The named types of a schema.
pub(super) fn define(schema: &Value, defined: &mut HashMap<String, Value>) {
    match schema {
        Value::Array(branches) => branches.iter().for_each(|branch| define(branch, defined)),
        Value::Object(object) => {
            if let Some(name) = object.get("name").and_then(Value::as_str).filter(|_| is_named(schema)) {
                defined.insert(name.to_owned(), schema.clone());
            }
            for key in ["type", "items", "values"] {
                object.get(key).into_iter().for_each(|inner| define(inner, defined));
            }
            for field in object.get("fields").and_then(Value::as_array).into_iter().flatten() {
                field.get("type").into_iter().for_each(|inner| define(inner, defined));
            }
        }
        _ => {}
    }
}

fn is_named(schema: &Value) -> bool {
    matches!(schema.get("type").and_then(Value::as_str), Some("record" | "error" | "enum" | "fixed"))
}

/// A type without references: each named type is spelled out. The schema was parsed before: no type contains
/// itself.
pub(super) fn inlined(ty: &Value, defined: &HashMap<String, Value>) -> Value {
    match ty {
        Value::String(name) => {
            let simple = name.rsplit('.').next().unwrap_or(name);
            defined
                .get(name)
                .or_else(|| defined.get(simple))
                .map_or_else(|| ty.clone(), |ty| inlined(ty, defined))
        }
        Value::Array(branches) => branches.iter().map(|branch| inlined(branch, defined)).collect(),
        Value::Object(_) => {
            let mut ty = ty.clone();
            each_type(&mut ty, &mut |inner| *inner = inlined(inner, defined));
            ty
        }
        _ => ty.clone(),
    }
}

/// Gives named types unique names.
pub(super) fn rename(ty: &mut Value, taken: &mut HashSet<String>) {
    if let Value::Array(branches) = ty {
        branches.iter_mut().for_each(|branch| rename(branch, taken));
        return;
    }
    if is_named(ty)
        && let Some(Value::String(name)) = ty.get_mut("name")
    {
        let free = |number: &u32| !taken.contains(&format!("{name}_{number}"));
        if taken.contains(name.as_str())
            && let Some(number) = (2..).find(free)
        {
            *name = format!("{name}_{number}");
        }
        taken.insert(name.clone());
    }
    each_type(ty, &mut |inner| rename(inner, taken));
}

/// The types within a type.
fn each_type(ty: &mut Value, change: &mut dyn FnMut(&mut Value)) {
    let Value::Object(object) = ty else { return };
    if let Some(inner) = object.get_mut("type").filter(|inner| !inner.is_string()) {
        change(inner);
    }
    for key in ["items", "values"] {
        object.get_mut(key).into_iter().for_each(&mut *change);
    }
    for field in object.get_mut("fields").and_then(Value::as_array_mut).into_iter().flatten() {
        field.get_mut("type").into_iter().for_each(&mut *change);
    }
}

/// The field with null among its types; `None` for a union of other types.
pub(super) fn nullable(field: &Value) -> Option<Value> {
    let mut field = field.clone();
    let ty = field.get_mut("type")?;
    match ty {
        Value::Array(branches) if branches.iter().any(|branch| branch == "null") => {}
        Value::Array(_) => return None,
        Value::String(name) if name == "null" => {}
        other => {
            *other = json!(["null", other]);
            field.as_object_mut()?.insert("default".to_owned(), Value::Null);
        }
    }
    Some(field)
}
