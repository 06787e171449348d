//! Names in schemas: all that writers use.
//!
//! Avro's Java library checks a type's own name but not its namespace, so files of nested classes
//! (`org.example.Outer$`) are common. It accepts letters of any script in names of fields, and some writers
//! store column names there unchanged (`a.b`). apache-avro requires the names of the specification; its
//! validators can be replaced for the whole process only, which is for a program to do. So names are
//! resolved here, and apache-avro is given a number for each.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::error::Result;
use crate::schema::{TypeName, bad_schema};

/// The attribute that carries a field's name through apache-avro.
pub(crate) const NAME_MARK: &str = "lakebed.name";

/// The named types of a schema.
#[derive(Default)]
pub(crate) struct Names {
    /// By what apache-avro is told for the name.
    types: HashMap<String, TypeName>,
    /// What apache-avro is told, by the name with its namespace.
    numbers: HashMap<String, String>,
}

impl Names {
    /// The type that apache-avro knows by `number`.
    pub(crate) fn get(&self, number: &str) -> Option<&TypeName> {
        self.types.get(number)
    }

    /// The type's name with its namespace, for errors.
    pub(crate) fn full<'n>(&'n self, number: &'n str) -> &'n str {
        self.get(number).map_or(number, |name| &name.full)
    }

    /// Replaces the names in the JSON of a type that is within `namespace`: those of its definitions, of their
    /// fields, and those that refer to definitions before them. What is no type is left to apache-avro.
    pub(crate) fn replace(&mut self, json: &mut Value, namespace: &str) -> Result<()> {
        match json {
            Value::String(name) => self.refer(name, namespace),
            Value::Array(branches) => {
                branches.iter_mut().try_for_each(|branch| self.replace(branch, namespace))
            }
            Value::Object(object) => self.replace_in(object, namespace),
            _ => Ok(()),
        }
    }

    fn replace_in(&mut self, object: &mut Map<String, Value>, namespace: &str) -> Result<()> {
        let below = match object.get("type").and_then(Value::as_str) {
            Some("record") => {
                let namespace = self.define(object, namespace)?;
                let fields = object.get_mut("fields").and_then(Value::as_array_mut).into_iter().flatten();
                return fields.filter_map(Value::as_object_mut).enumerate().try_for_each(
                    |(number, field)| {
                        if let Some(Value::String(name)) = field.get_mut("name") {
                            let name = std::mem::replace(name, format!("f{number}"));
                            field.insert(NAME_MARK.to_owned(), Value::String(name));
                        }
                        field.get_mut("type").map_or(Ok(()), |of| self.replace(of, &namespace))
                    },
                );
            }
            Some("enum" | "fixed") => return self.define(object, namespace).map(drop),
            Some("array") => "items",
            Some("map") => "values",
            _ => "type",
        };
        object.get_mut(below).map_or(Ok(()), |of| self.replace(of, namespace))
    }

    /// Replaces the name of a definition; returns its namespace.
    fn define(&mut self, object: &mut Map<String, Value>, enclosing: &str) -> Result<String> {
        let namespace = object.remove("namespace");
        let aliases = object.remove("aliases");
        let Some(Value::String(name)) = object.get_mut("name") else { return Ok(enclosing.to_owned()) };
        let namespace = namespace.as_ref().and_then(Value::as_str).unwrap_or(enclosing);
        let full = full_name(name, namespace);
        let (namespace, own) = full.rsplit_once('.').unwrap_or(("", &full));
        if !is_name(own) {
            return Err(bad_schema(&format!("the name {full:?} does not match {NAME}")));
        }
        let aliases =
            aliases.as_ref().and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let aliases = aliases.map(|alias| full_name(alias, namespace)).collect();
        let namespace = namespace.to_owned();
        let number = format!("t{}", self.types.len());
        if self.numbers.insert(full.clone(), number.clone()).is_some() {
            return Err(bad_schema(&format!("type {full} is defined twice")));
        }
        self.types.insert(number.clone(), TypeName { full, aliases });
        *name = number;
        Ok(namespace)
    }

    /// Replaces a name that refers to a type: of the namespace or, as Java's library writes it, of none.
    fn refer(&self, name: &mut String, namespace: &str) -> Result<()> {
        if PRIMITIVE.contains(&name.as_str()) {
            return Ok(());
        }
        let number = self.numbers.get(&full_name(name, namespace)).or_else(|| self.numbers.get(name));
        *name = number.ok_or_else(|| bad_schema(&format!("type {name} is not defined")))?.clone();
        Ok(())
    }
}

const PRIMITIVE: [&str; 8] = ["null", "boolean", "int", "long", "float", "double", "bytes", "string"];

/// The pattern of a type's own name, as errors show it.
const NAME: &str = "^[A-Za-z_][A-Za-z0-9_]*$";

/// Whether it is a name of the specification, without a namespace.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|first: char| first.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A name with its namespace; with a dot in it, it needs none.
fn full_name(name: &str, namespace: &str) -> String {
    match name.strip_prefix('.') {
        Some(own) if !own.contains('.') => own.to_owned(),
        None if !name.contains('.') && !namespace.is_empty() => format!("{namespace}.{name}"),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::error::ErrorKind;
    use crate::limits::Limits;
    use crate::schema::{Schema, Wire};

    fn parse(text: &str) -> crate::error::Result<Schema> {
        Schema::parse(text, &Limits::DEFAULT)
    }

    /// A record with the attributes `of` and a field of each of the types.
    fn record(of: &str, types: &[&str]) -> String {
        let field = |(number, of): (usize, &&str)| format!(r#"{{"name": "f{number}", "type": {of}}}"#);
        let fields: Vec<String> = types.iter().enumerate().map(field).collect();
        format!(r#"{{"type": "record", {of}, "fields": [{}]}}"#, fields.join(", "))
    }

    /// The full names of the types of a record's fields.
    fn names(text: &str) -> Vec<String> {
        let schema = parse(text).unwrap();
        let Wire::Record(fields) = &schema.root().wire else { panic!("no record") };
        fields.iter().map(|field| field.node.name.as_ref().unwrap().full.clone()).collect()
    }

    #[test]
    fn names_that_only_apache_avro_refuses_are_read_and_its_settings_are_its_own() {
        let text = record(r#""name": "org.example.Outer$.Inner""#, &[r#""int""#]).replace("f0", "größe.b");
        let schema = parse(&text).unwrap();
        assert_eq!(schema.root().name.as_ref().unwrap().full, "org.example.Outer$.Inner");
        let Wire::Record(fields) = &schema.root().wire else { panic!("no record") };
        assert_eq!((fields[0].name.as_str(), fields[0].attributes.len()), ("größe.b", 0));
        apache_avro::Schema::parse_str(&text).unwrap_err();
        for name in ["", "1a", "a b", "Outer$", "a.", "é", "ns.1"] {
            let error = parse(&record(&format!(r#""name": "{name}""#), &[])).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Schema);
            assert!(error.message().contains("does not match"), "{error}");
        }
    }

    #[test]
    fn a_name_is_of_its_own_namespace_or_of_the_one_around_it() {
        let fixed = |of: &str| format!(r#"{{"type": "fixed", "size": 1, {of}}}"#);
        let inner = record(r#""name": "r", "namespace": "x""#, &[&fixed(r#""name": "deep""#), r#""here""#]);
        let types = [
            fixed(r#""name": "here""#),
            fixed(r#""name": "other.T""#),
            fixed(r#""name": "T", "namespace": """#),
            fixed(r#""name": ".U", "namespace": "ignored""#),
            fixed(r#""name": "V", "namespace": "v", "aliases": ["old", "w.old"]"#),
            r#""here""#.to_owned(),
            r#"{"type": "n.here"}"#.to_owned(),
            // Java's library writes names without a namespace so, whatever is around them.
            r#""T""#.to_owned(),
        ];
        let types: Vec<&str> = types.iter().map(String::as_str).collect();
        let text = record(r#""name": "R", "namespace": "n""#, &types);
        assert_eq!(names(&text), ["n.here", "other.T", "T", "U", "v.V", "n.here", "n.here", "T"]);
        let schema = parse(&text).unwrap();
        let Wire::Record(fields) = &schema.root().wire else { panic!("no record") };
        assert_eq!(fields[4].node.name.as_ref().unwrap().aliases, ["v.old", "w.old"]);
        let undefined =
            parse(&record(r#""name": "n.R""#, &[&fixed(r#""name": "here""#), &inner])).unwrap_err();
        assert!(undefined.message().ends_with("type here is not defined"), "{undefined}");
    }

    #[test]
    fn errors_tell_the_names_of_the_schema() {
        let fixed = r#"{"type": "fixed", "size": 1, "name": "n.T"}"#;
        for (types, message) in [
            (&[fixed, fixed][..], "type n.T is defined twice"),
            (&[fixed, r#"["n.T", "n.T"]"#], "type n.T is in a union twice"),
            (&[r#""bool""#], "type bool is not defined"),
            (&[r#"["null", "n.R"]"#], "type n.R contains itself"),
        ] {
            let error = parse(&record(r#""name": "R", "namespace": "n""#, types)).unwrap_err();
            assert!(error.message().contains(message), "{error}");
        }
        let twice = record(r#""name": "R""#, &[r#""int""#, r#""int""#]).replace("f1", "f0");
        assert!(parse(&twice).unwrap_err().message().ends_with("field f0 appears twice"));
    }

    #[test]
    fn strings_that_are_no_types_stay() {
        let text = r#"{"type": "record", "name": "R", "doc": "n.T", "fields": [
            {"name": "a", "doc": "R", "x": {"type": "R", "name": "S"}, "default": "R", "type": "string"},
            {"name": "b", "type": {"type": "enum", "name": "E", "symbols": ["R", "E"], "default": "E"}}]}"#;
        let schema = parse(text).unwrap();
        let Wire::Record(fields) = &schema.root().wire else { panic!("no record") };
        assert_eq!(fields[0].attributes["x"]["type"], "R");
        assert_eq!(fields[0].default, Some("R".into()));
        assert!(matches!(&fields[1].node.wire, Wire::Enum { symbols, .. } if symbols == &["R", "E"]));
    }
}
