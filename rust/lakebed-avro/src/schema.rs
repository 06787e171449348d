//! Avro schemas as the decoder needs them: parsed by `apache-avro`, then expanded into one tree in
//! which every named type stands where it is used.

use std::collections::HashMap;

use apache_avro::Schema as Parsed;
use apache_avro::schema::{InnerDecimalSchema, Name, NamesRef, ResolvedSchema};
use serde_json::Value;

use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::names::accept_any_namespace;

/// A writer's schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    root: Node,
}

/// What a value looks like in bytes.
#[derive(Debug, Clone, PartialEq)]
pub enum Wire {
    /// Nothing at all.
    Null,
    /// One byte.
    Boolean,
    /// A zigzag varint of 32 bits.
    Int,
    /// A zigzag varint of 64 bits.
    Long,
    /// Four bytes, little-endian.
    Float,
    /// Eight bytes, little-endian.
    Double,
    /// A length and that many bytes.
    Bytes,
    /// A length and that many bytes of UTF-8.
    String,
    /// So many bytes.
    Fixed(usize),
    /// An `int` that numbers one of these symbols.
    Enum(Vec<String>),
    /// Runs of items.
    Array(Box<Node>),
    /// Runs of string keys and values.
    Map(Box<Node>),
    /// The fields one behind the other, by name.
    Record(Vec<(String, Node)>),
    /// The number of a branch, then its value.
    Union(Vec<Node>),
}

/// What a value means beyond its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logical {
    /// Unscaled big-endian two's complement in bytes or fixed.
    Decimal {
        /// Digits in all.
        precision: usize,
        /// Digits behind the point.
        scale: usize,
    },
    /// Days since 1970-01-01 in an int.
    Date,
    /// Milliseconds of the day in an int.
    TimeMillis,
    /// Microseconds of the day in a long.
    TimeMicros,
    /// Time since 1970-01-01T00:00:00 in a long.
    Timestamp {
        /// Ticks of the long per second.
        per_second: u32,
        /// Whether it is an instant (`timestamp-*`) or a wall clock (`local-timestamp-*`).
        utc: bool,
    },
    /// Months, days and milliseconds in a fixed of 12 bytes, little-endian.
    Duration,
    /// An array of key-value records, as Paimon and Iceberg write maps without string keys.
    Map,
}

/// One type in the expanded tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its bytes.
    pub wire: Wire,
    /// Its meaning.
    pub logical: Option<Logical>,
}

impl Schema {
    /// Parses the text of a schema.
    ///
    /// A schema that is not Avro's is an error of kind [`ErrorKind::Schema`]; one that contains
    /// itself has no Arrow type and is [`ErrorKind::Unsupported`]; depth and size are bounded by
    /// `limits` before anything recursive runs.
    pub fn parse(text: &str, limits: &Limits) -> Result<Schema> {
        let mut json: Value = serde_json::from_str(text).map_err(|error| bad_schema(&error))?;
        prepare(&mut json, usize::try_from(limits.max_schema_depth).unwrap_or(usize::MAX).saturating_mul(3))?;
        accept_any_namespace();
        let parsed = Parsed::parse(&json).map_err(|error| bad_schema(&error))?;
        let resolved = ResolvedSchema::try_from(&parsed).map_err(|error| bad_schema(&error))?;
        let mut expander =
            Expander { names: resolved.get_names(), limits, nodes: 0, text: 0, path: 0, open: Vec::new() };
        Ok(Schema { root: expander.expand(&parsed)? })
    }

    /// The tree.
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// The fields of a row and, where the top is a union of null and a record, the null's branch.
    ///
    /// A schema whose top is not a record is a row of one field named `value`.
    pub(crate) fn row(&self) -> (Vec<(&str, &Node)>, Option<u8>) {
        match &self.root.wire {
            Wire::Record(fields) => (fields.iter().map(|(name, node)| (name.as_str(), node)).collect(), None),
            Wire::Union(_) => match self.root.nullable() {
                Some((null, Node { wire: Wire::Record(fields), .. })) => {
                    (fields.iter().map(|(name, node)| (name.as_str(), node)).collect(), Some(null))
                }
                _ => (vec![("value", &self.root)], None),
            },
            _ => (vec![("value", &self.root)], None),
        }
    }

    /// Whether a dotted path names a field of the row.
    pub fn has(&self, path: &str) -> bool {
        let mut fields = self.row().0;
        let mut parts = path.split('.').peekable();
        while let Some(part) = parts.next() {
            let Some((_, node)) = fields.iter().find(|(name, _)| *name == part) else { return false };
            if parts.peek().is_none() {
                return true;
            }
            fields = node.fields();
        }
        false
    }
}

impl Node {
    /// For a union of null and one other type: the null's branch, and the other type.
    pub(crate) fn nullable(&self) -> Option<(u8, &Node)> {
        let Wire::Union(branches) = &self.wire else { return None };
        match branches.as_slice() {
            [Node { wire: Wire::Null, .. }, value] => Some((0, value)),
            [value, Node { wire: Wire::Null, .. }] => Some((1, value)),
            _ => None,
        }
    }

    /// The named fields directly below, seen through a nullable union.
    pub(crate) fn fields(&self) -> Vec<(&str, &Node)> {
        let record = self.nullable().map_or(self, |(_, value)| value);
        match &record.wire {
            Wire::Record(fields) => fields.iter().map(|(name, node)| (name.as_str(), node)).collect(),
            _ => Vec::new(),
        }
    }

    /// The fewest bytes a value takes: 0 for null, empty records and fixed of size 0.
    pub(crate) fn least_bytes(&self) -> usize {
        match &self.wire {
            Wire::Null => 0,
            Wire::Float => 4,
            Wire::Double => 8,
            Wire::Fixed(size) => *size,
            Wire::Record(fields) => {
                fields.iter().fold(0, |sum, (_, node)| sum.saturating_add(node.least_bytes()))
            }
            Wire::Union(branches) => {
                branches.iter().map(Node::least_bytes).min().unwrap_or(0).saturating_add(1)
            }
            _ => 1,
        }
    }
}

/// The attribute that carries an array's `logicalType: map` through apache-avro, which drops it.
const MAP_MARK: &str = "lakebed.map";

/// Bounds the depth of schema JSON and prepares what apache-avro does not know: the logical type
/// `map` of arrays, and `error`, which the specification's protocols use for `record`.
fn prepare(json: &mut Value, depth: usize) -> Result<()> {
    if depth == 0 {
        return Err(Error::new(ErrorKind::Depth, "schema is nested deeper than max_schema_depth"));
    }
    match json {
        Value::Array(items) => items.iter_mut().try_for_each(|item| prepare(item, depth - 1)),
        Value::Object(object) => {
            let word = |object: &serde_json::Map<String, Value>, key: &str, word: &str| {
                object.get(key).and_then(Value::as_str) == Some(word)
            };
            if word(object, "type", "array") && word(object, "logicalType", "map") {
                object.insert(MAP_MARK.to_owned(), Value::Bool(true));
            }
            if word(object, "type", "error") {
                object.insert("type".to_owned(), Value::String("record".to_owned()));
            }
            object.values_mut().try_for_each(|value| prepare(value, depth - 1))
        }
        _ => Ok(()),
    }
}

#[cold]
fn bad_schema(error: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Schema, format!("not an Avro schema: {error}"))
}

/// Bytes of names and symbols that a schema may have per node it may have.
const TEXT_PER_NODE: u64 = 256;

/// Copies named types to where they are used, counting nodes and watching for cycles.
struct Expander<'s> {
    names: &'s NamesRef<'s>,
    limits: &'s Limits,
    nodes: u64,
    /// Bytes of names and symbols that the expanded tree and the paths to its nodes take.
    text: u64,
    /// Bytes of the path to the current node.
    path: u64,
    /// Names of the records around the current node, outermost first.
    open: Vec<String>,
}

impl<'s> Expander<'s> {
    fn expand(&mut self, parsed: &'s Parsed) -> Result<Node> {
        self.nodes += 1;
        if self.nodes > self.limits.max_schema_nodes {
            return Err(Limits::exceeded("max_schema_nodes", self.limits.max_schema_nodes, self.nodes));
        }
        self.spend_text(self.path)?;
        let node = |wire, logical| Ok(Node { wire, logical });
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
            Parsed::Fixed(fixed) => node(Wire::Fixed(fixed.size), None),
            Parsed::Duration(fixed) => node(Wire::Fixed(fixed.size), Some(Logical::Duration)),
            Parsed::Uuid(apache_avro::schema::UuidSchema::String) => node(Wire::String, None),
            Parsed::Uuid(apache_avro::schema::UuidSchema::Bytes) => node(Wire::Bytes, None),
            Parsed::Uuid(apache_avro::schema::UuidSchema::Fixed(fixed)) => {
                node(Wire::Fixed(fixed.size), None)
            }
            Parsed::Decimal(decimal) => {
                let logical = Logical::Decimal { precision: decimal.precision, scale: decimal.scale };
                match &decimal.inner {
                    InnerDecimalSchema::Bytes => node(Wire::Bytes, Some(logical)),
                    InnerDecimalSchema::Fixed(fixed) => node(Wire::Fixed(fixed.size), Some(logical)),
                }
            }
            Parsed::Enum(schema) => {
                self.spend_text(schema.symbols.iter().map(|symbol| symbol.len() as u64 + 24).sum())?;
                node(Wire::Enum(schema.symbols.clone()), None)
            }
            Parsed::Ref { name } => self.expand_named(name),
            Parsed::Array(_) | Parsed::Map(_) | Parsed::Union(_) | Parsed::Record(_) => {
                self.expand_nested(parsed)
            }
        }
    }

    /// Bounds what reuse makes of long names: each use of a type holds its names once more.
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
        let named = self.names.get(name).copied();
        let named = named.ok_or_else(|| bad_schema(&format!("type {name} is not defined")))?;
        self.expand(named)
    }

    fn expand_nested(&mut self, parsed: &'s Parsed) -> Result<Node> {
        let name = match parsed {
            Parsed::Record(record) => record.name.fullname(None),
            _ => String::new(),
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
                Node { wire: Wire::Array(Box::new(items)), logical }
            }
            Parsed::Map(map) => Node { wire: Wire::Map(Box::new(self.expand(&map.types)?)), logical: None },
            Parsed::Union(union) => {
                let branches = union.variants().iter().map(|branch| self.expand(branch));
                Node { wire: Wire::Union(branches.collect::<Result<_>>()?), logical: None }
            }
            Parsed::Record(record) => {
                let mut seen = HashMap::new();
                let fields = record.fields.iter().map(|field| {
                    if seen.insert(field.name.as_str(), ()).is_some() {
                        return Err(bad_schema(&format!("field {} is there twice", field.name)));
                    }
                    let step = field.name.len() as u64 + 1;
                    self.path += step;
                    let node = self.expand(&field.schema)?;
                    self.path -= step;
                    Ok((field.name.clone(), node))
                });
                Node { wire: Wire::Record(fields.collect::<Result<_>>()?), logical: None }
            }
            _ => return self.expand(parsed),
        };
        self.open.pop();
        Ok(node)
    }
}

/// The logical type `map` holds only for records of exactly a key and a value.
fn map_of(items: &Node) -> Option<Logical> {
    match &items.wire {
        Wire::Record(fields) => match fields.as_slice() {
            [(key, _), (value, _)] if key == "key" && value == "value" => Some(Logical::Map),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Schema> {
        Schema::parse(text, &Limits::DEFAULT)
    }

    #[test]
    fn named_types_stand_where_they_are_used() {
        let schema = parse(
            r#"{"type": "record", "name": "r", "namespace": "n", "fields": [
                {"name": "a", "type": {"type": "fixed", "name": "f", "size": 3}},
                {"name": "b", "type": ["null", "n.f"]},
                {"name": "c", "type": {"type": "record", "name": "x", "fields": [{"name": "d", "type": "f"}]}}]}"#,
        )
        .unwrap();
        assert!(schema.has("c.d") && schema.has("b") && !schema.has("c.e") && !schema.has("a.d"));
        let fields = schema.row().0;
        assert_eq!(fields[1].1.nullable().unwrap().1.wire, Wire::Fixed(3));
        assert_eq!(schema.root().least_bytes(), 3 + 1 + 3);
    }

    #[test]
    fn arrays_of_key_value_records_are_maps_where_the_writer_says_so() {
        let array = |mark: &str| {
            format!(
                r#"{{"type": "array", {mark} "items": {{"type": "record", "name": "kv", "fields": [
                    {{"name": "key", "type": "int"}}, {{"name": "value", "type": "bytes"}}]}}}}"#
            )
        };
        assert_eq!(parse(&array(r#""logicalType": "map","#)).unwrap().root().logical, Some(Logical::Map));
        assert_eq!(parse(&array("")).unwrap().root().logical, None);
    }

    #[test]
    fn what_contains_itself_is_unsupported_by_name() {
        let error = parse(
            r#"{"type": "record", "name": "list", "fields": [{"name": "next", "type": ["null", "list"]}]}"#,
        )
        .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains("list"));
    }

    #[test]
    fn depth_and_expanded_size_are_bounded() {
        let deep = format!("{}\"int\"{}", r#"{"type": "array", "items": "#.repeat(60), "}".repeat(60));
        assert!(parse(&deep).is_ok());
        let deeper = format!("{}\"int\"{}", r#"{"type": "array", "items": "#.repeat(66), "}".repeat(66));
        assert_eq!(parse(&deeper).unwrap_err().kind(), ErrorKind::Depth);
        let few = Limits { max_schema_nodes: 3, ..Limits::DEFAULT };
        let wide = r#"["null", "int", "string", "long"]"#;
        assert_eq!(Schema::parse(wide, &few).unwrap_err().kind(), ErrorKind::Limit);
    }
}
