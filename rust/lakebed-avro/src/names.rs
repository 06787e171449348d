//! Which names a schema may have: those that writers use.
//!
//! Avro's Java library checks a type's own name but not its namespace, so files of nested classes
//! (`org.example.Outer$`) are common. It accepts letters of any script in names of fields, and some writers
//! store column names there unchanged (`a.b`). apache-avro by default requires the names of the
//! specification, with one setting per process.

use std::sync::Once;

use apache_avro::error::Details;
use apache_avro::validator::{
    RecordFieldNameValidator, SchemaNameValidator, SchemaNamespaceValidator, set_record_field_name_validator,
    set_schema_name_validator, set_schema_namespace_validator,
};
use serde_json::{Map, Value};

/// The pattern of a type's own name, as errors show it.
const NAME: &str = "^[A-Za-z_][A-Za-z0-9_]*$";

/// Makes apache-avro accept any namespace, and any name of a field.
///
/// If the process has set validators already, those stay.
pub(crate) fn accept_any_name() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        // An error returns the validator that was set too late, which is not needed then.
        drop(set_schema_name_validator(Box::new(AnyName)));
        drop(set_schema_namespace_validator(Box::new(AnyName)));
        drop(set_record_field_name_validator(Box::new(AnyName)));
    });
}

/// A placeholder for the null namespace in a schema with `"namespace": ""`, for which apache-avro would use
/// the enclosing namespace.
const NULL_NAMESPACE: &str = "lakebed.null";

/// Whether some type of a schema explicitly has no namespace.
pub(crate) fn has_null_namespace(json: &Value) -> bool {
    match json {
        Value::Array(items) => items.iter().any(has_null_namespace),
        Value::Object(object) => {
            object.get("namespace").and_then(Value::as_str) == Some("")
                || object.values().any(has_null_namespace)
        }
        _ => false,
    }
}

/// Gives a named type of such a schema the placeholder namespace, if it has none; a type that is `enclosed`
/// by another named type inherits that one's. Returns whether types inside are enclosed.
pub(crate) fn spell_namespace(object: &mut Map<String, Value>, enclosed: bool) -> bool {
    let text = |key: &str| object.get(key).and_then(Value::as_str);
    let named = matches!(text("type"), Some("record" | "error" | "enum" | "fixed"));
    let (Some(name), true) = (text("name"), named) else { return enclosed };
    let none = match text("namespace") {
        _ if name.contains('.') => false,
        Some(namespace) => namespace.is_empty(),
        None => !enclosed,
    };
    if none {
        object.insert("namespace".to_owned(), Value::String(NULL_NAMESPACE.to_owned()));
    }
    true
}

/// A name as the schema has it, with its namespace if it has one, from apache-avro's form.
pub(crate) fn plain_name(full: String) -> String {
    match full.strip_prefix(NULL_NAMESPACE).and_then(|rest| rest.strip_prefix('.')) {
        Some(plain) => plain.to_owned(),
        None => full,
    }
}

struct AnyName;

impl SchemaNameValidator for AnyName {
    fn validate(&self, full_name: &str) -> Result<usize, apache_avro::Error> {
        let name = full_name.rsplit_once('.').map_or(full_name, |(_, name)| name);
        let mut letters = name.chars();
        let letter = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
        let valid =
            letters.next().is_some_and(letter) && letters.all(|next| letter(next) || next.is_ascii_digit());
        if valid {
            Ok(full_name.len() - name.len())
        } else {
            Err(Details::InvalidSchemaName(full_name.to_owned(), NAME).into())
        }
    }
}

impl SchemaNamespaceValidator for AnyName {
    fn validate(&self, _namespace: &str) -> Result<(), apache_avro::Error> {
        Ok(())
    }
}

impl RecordFieldNameValidator for AnyName {
    fn validate(&self, _name: &str) -> Result<(), apache_avro::Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_follows_the_last_dot() {
        for (name, start) in [("a", 0), ("_a1", 0), ("org.example.Outer$.Inner", 19), (".a", 1)] {
            assert_eq!(SchemaNameValidator::validate(&AnyName, name).unwrap(), start, "{name}");
        }
        for name in ["", "1a", "a b", "Outer$", "a.", "é"] {
            SchemaNameValidator::validate(&AnyName, name).unwrap_err();
        }
    }
}
