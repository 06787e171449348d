//! From the text of a schema to the expanded tree.

use std::collections::HashSet;

use apache_avro::Schema as Parsed;
use apache_avro::error::Details;
use apache_avro::schema::{
    FixedSchema, InnerDecimalSchema, Name, NamesRef, RecordField, ResolvedSchema, UuidSchema,
};
use serde_json::{Map, Value};

use super::{Field, Logical, Node, TypeName, Wire};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::names::{NAME_MARK, Names};

/// The root of the schema in `text`.
pub(super) fn parse(text: &str, limits: &Limits) -> Result<Node> {
    let mut json: Value = serde_json::from_str(text).map_err(|error| bad_schema(&error))?;
    let depth = usize::try_from(limits.max_schema_depth).unwrap_or(usize::MAX).saturating_mul(3);
    prepare(&mut json, depth)?;
    let mut names = Names::default();
    names.replace(&mut json, "")?;
    let parsed = Parsed::parse(&json).map_err(|error| match error.details() {
        Details::GetUnionDuplicateNamedSchemas(number) => {
            bad_schema(&format!("type {} is in a union twice", names.full(number)))
        }
        _ => bad_schema(&error),
    })?;
    let resolved = ResolvedSchema::try_from(&parsed).map_err(|error| bad_schema(&error))?;
    let types = resolved.get_names();
    let mut expander =
        Expander { names: &names, types, limits, nodes: 0, text: 0, path: 0, open: Vec::new() };
    expander.expand(&parsed)
}

/// The attribute that carries an array's `logicalType: map` through apache-avro, which drops it.
const MAP_MARK: &str = "lakebed.map";

/// The attributes of fields that are hidden from apache-avro, which refuses some that are legal, each
/// with its name while it is hidden.
const HIDDEN: [(&str, &str); 2] = [("default", DEFAULT_MARK), ("aliases", ALIASES_MARK)];
const DEFAULT_MARK: &str = "lakebed.default";
const ALIASES_MARK: &str = "lakebed.aliases";

/// Whether an attribute is one of lakebed's own.
fn is_mark(key: &str) -> bool {
    key == NAME_MARK || HIDDEN.iter().any(|(_, mark)| *mark == key)
}

/// Bounds the depth of schema JSON and prepares what apache-avro does not know: the logical type
/// `map` of arrays, and `error`, which the specification's protocols use for `record`. Defaults are
/// checked where they are used.
fn prepare(json: &mut Value, depth: usize) -> Result<()> {
    if depth == 0 {
        return Err(Error::new(ErrorKind::Depth, "schema is nested deeper than max_schema_depth"));
    }
    match json {
        Value::Array(items) => items.iter_mut().try_for_each(|item| prepare(item, depth - 1)),
        Value::Object(object) => {
            let word = |object: &Map<String, Value>, key: &str, word: &str| {
                object.get(key).and_then(Value::as_str) == Some(word)
            };
            if word(object, "type", "array") && word(object, "logicalType", "map") {
                object.insert(MAP_MARK.to_owned(), Value::Bool(true));
            }
            if word(object, "type", "error") {
                object.insert("type".to_owned(), Value::String("record".to_owned()));
            }
            if let Some(Value::Array(fields)) = object.get_mut("fields") {
                fields.iter_mut().filter_map(Value::as_object_mut).for_each(hide);
            }
            let values = object.iter_mut().filter(|(key, _)| *key != DEFAULT_MARK);
            values.map(|(_, value)| value).try_for_each(|value| prepare(value, depth - 1))
        }
        _ => Ok(()),
    }
}

fn hide(field: &mut Map<String, Value>) {
    for (name, mark) in HIDDEN {
        if let Some(value) = field.remove(name) {
            field.insert(mark.to_owned(), value);
        }
    }
}

#[cold]
pub(crate) fn bad_schema(error: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Schema, format!("not an Avro schema: {error}"))
}

/// Bytes of names and symbols that a schema may have for each node of `max_schema_nodes`.
const TEXT_PER_NODE: u64 = 256;

/// Copies named types to where they are used, counting nodes and watching for cycles.
struct Expander<'s> {
    names: &'s Names,
    types: &'s NamesRef<'s>,
    limits: &'s Limits,
    nodes: u64,
    /// Bytes of names and symbols that the expanded tree and the paths to its nodes take.
    text: u64,
    /// Bytes of the path to the current node.
    path: u64,
    /// Names of the records around the current node, outermost first.
    open: Vec<&'s str>,
}

impl<'s> Expander<'s> {
    fn expand(&mut self, parsed: &'s Parsed) -> Result<Node> {
        self.nodes += 1;
        if self.nodes > self.limits.max_schema_nodes {
            return Err(Limits::exceeded("max_schema_nodes", self.limits.max_schema_nodes, self.nodes));
        }
        self.spend_text(self.path)?;
        let node = |wire, logical| Ok(Node::plain(wire, logical));
        let timestamp = |per_second, utc| Some(Logical::Timestamp { per_second, utc });
        match parsed {
            Parsed::Null => node(Wire::Null, None),
            Parsed::Boolean => node(Wire::Boolean, None),
            Parsed::Int => node(Wire::Int, None),
            Parsed::Long => node(Wire::Long, None),
            Parsed::Float => node(Wire::Float, None),
            Parsed::Double => node(Wire::Double, None),
            Parsed::Bytes | Parsed::BigDecimal => node(Wire::Bytes, None),
            Parsed::String => node(Wire::String, None),
            Parsed::Date => node(Wire::Int, Some(Logical::Date)),
            Parsed::TimeMillis => node(Wire::Int, Some(Logical::TimeMillis)),
            Parsed::TimeMicros => node(Wire::Long, Some(Logical::TimeMicros)),
            Parsed::TimestampMillis => node(Wire::Long, timestamp(1_000, true)),
            Parsed::TimestampMicros => node(Wire::Long, timestamp(1_000_000, true)),
            Parsed::TimestampNanos => node(Wire::Long, timestamp(1_000_000_000, true)),
            Parsed::LocalTimestampMillis => node(Wire::Long, timestamp(1_000, false)),
            Parsed::LocalTimestampMicros => node(Wire::Long, timestamp(1_000_000, false)),
            Parsed::LocalTimestampNanos => node(Wire::Long, timestamp(1_000_000_000, false)),
            Parsed::Fixed(fixed) | Parsed::Uuid(UuidSchema::Fixed(fixed)) => self.fixed(fixed, None),
            Parsed::Duration(fixed) => self.fixed(fixed, Some(Logical::Duration)),
            Parsed::Uuid(UuidSchema::String) => node(Wire::String, None),
            Parsed::Uuid(UuidSchema::Bytes) => node(Wire::Bytes, None),
            Parsed::Decimal(decimal) => {
                let logical = Logical::Decimal { precision: decimal.precision, scale: decimal.scale };
                match &decimal.inner {
                    InnerDecimalSchema::Bytes => node(Wire::Bytes, Some(logical)),
                    InnerDecimalSchema::Fixed(fixed) => self.fixed(fixed, Some(logical)),
                }
            }
            Parsed::Enum(schema) => {
                self.spend_text(schema.symbols.iter().map(|symbol| symbol.len() as u64 + 24).sum())?;
                let wire = Wire::Enum { symbols: schema.symbols.clone(), default: schema.default.clone() };
                Ok(Node { wire, logical: None, name: self.name(&schema.name)? })
            }
            Parsed::Ref { name } => self.expand_named(name),
            Parsed::Array(_) | Parsed::Map(_) | Parsed::Union(_) | Parsed::Record(_) => {
                self.expand_nested(parsed)
            }
        }
    }

    fn fixed(&mut self, fixed: &FixedSchema, logical: Option<Logical>) -> Result<Node> {
        let name = self.name(&fixed.name)?;
        Ok(Node { wire: Wire::Fixed(fixed.size), logical, name })
    }

    fn name(&mut self, number: &Name) -> Result<Option<Box<TypeName>>> {
        let Some(name) = self.names.get(number.name()) else { return Ok(None) };
        let aliases = name.aliases.iter().map(|alias| alias.len() as u64 + 24);
        self.spend_text(name.full.len() as u64 + aliases.sum::<u64>())?;
        Ok(Some(Box::new(name.clone())))
    }

    /// Bounds the bytes of names: each use of a named type has another copy of them.
    fn spend_text(&mut self, bytes: u64) -> Result<()> {
        self.text = self.text.saturating_add(bytes);
        let most = self.limits.max_schema_nodes.saturating_mul(TEXT_PER_NODE);
        if self.text <= most {
            return Ok(());
        }
        let message =
            format!("expanded names are over {most} bytes, {TEXT_PER_NODE} for each of max_schema_nodes");
        Err(Error::new(ErrorKind::Limit, message))
    }

    fn expand_named(&mut self, name: &Name) -> Result<Node> {
        let named = self.types.get(name).copied();
        self.expand(named.ok_or_else(|| bad_schema(&format!("type {name} is not defined")))?)
    }

    fn expand_nested(&mut self, parsed: &'s Parsed) -> Result<Node> {
        let name = match parsed {
            Parsed::Record(record) => self.names.full(record.name.name()),
            _ => "",
        };
        if !name.is_empty() && self.open.contains(&name) {
            let message = format!("type {name} contains itself: a recursive schema has no Arrow type");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        self.open.push(name);
        if self.open.len() as u64 > self.limits.max_schema_depth {
            return Err(Error::new(ErrorKind::Depth, "schema is nested deeper than max_schema_depth"));
        }
        let node = match parsed {
            Parsed::Array(array) => {
                let items = self.expand(&array.items)?;
                let logical = if array.attributes.contains_key(MAP_MARK) { map_of(&items) } else { None };
                Node::plain(Wire::Array(Box::new(items)), logical)
            }
            Parsed::Map(map) => Node::plain(Wire::Map(Box::new(self.expand(&map.types)?)), None),
            Parsed::Union(union) => {
                let branches = union.variants().iter().map(|branch| self.expand(branch));
                Node::plain(Wire::Union(branches.collect::<Result<_>>()?), None)
            }
            Parsed::Record(record) => {
                let mut seen = HashSet::new();
                let fields = record.fields.iter().map(|field| {
                    let name =
                        field.custom_attributes.get(NAME_MARK).and_then(Value::as_str).unwrap_or_default();
                    if !seen.insert(name) {
                        return Err(bad_schema(&format!("field {name} appears twice")));
                    }
                    self.field(name, field)
                });
                let wire = Wire::Record(fields.collect::<Result<_>>()?);
                Node { wire, logical: None, name: self.name(&record.name)? }
            }
            _ => return self.expand(parsed),
        };
        self.open.pop();
        Ok(node)
    }

    fn field(&mut self, name: &str, field: &'s RecordField) -> Result<Field> {
        let default = field.custom_attributes.get(DEFAULT_MARK);
        let attributes = field.custom_attributes.iter().filter(|(key, _)| !is_mark(key));
        let attributes: Map<String, Value> =
            attributes.map(|(key, value)| (key.clone(), value.clone())).collect();
        let others = attributes.iter().map(|(key, value)| key.len() + value.to_string().len());
        let kept = default.map_or(0, |default| default.to_string().len()) + others.sum::<usize>();
        let aliases = field.custom_attributes.get(ALIASES_MARK).and_then(Value::as_array);
        let aliases = aliases.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        let aliases: Vec<String> = aliases.collect();
        self.spend_text(aliases.iter().map(|alias| alias.len() as u64 + 24).sum::<u64>() + kept as u64)?;
        let step = name.len() as u64 + 1;
        self.path += step;
        let node = self.expand(&field.schema)?;
        self.path -= step;
        Ok(Field { name: name.to_owned(), aliases, default: default.cloned(), attributes, node })
    }
}

/// The logical type `map` holds only for records of exactly a key and a value.
fn map_of(items: &Node) -> Option<Logical> {
    match &items.wire {
        Wire::Record(fields) => match fields.as_slice() {
            [key, value] if key.name == "key" && value.name == "value" => Some(Logical::Map),
            _ => None,
        },
        _ => None,
    }
}
