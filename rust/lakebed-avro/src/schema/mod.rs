//! Avro schemas in the form that the decoder needs: parsed by `apache-avro`, then expanded to a tree in which
//! every named type is written out where it is used.

mod from_arrow;
mod parse;

use std::fmt;

use serde_json::{Map, Value};

pub use from_arrow::from_arrow;
pub(crate) use parse::bad_schema;

use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;

/// The schema of a writer or of a reader.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    root: Node,
}

/// The wire form of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Wire {
    /// No bytes.
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
    /// This number of bytes.
    Fixed(usize),
    /// An `int` with the number of a symbol.
    Enum {
        /// The symbols in the order of their numbers.
        symbols: Vec<String>,
        /// The symbol that a reader uses for an unknown one.
        default: Option<String>,
    },
    /// Items in runs, which the specification calls blocks.
    Array(Box<Node>),
    /// String keys and values in runs, as for arrays.
    Map(Box<Node>),
    /// The fields one after the other.
    Record(Vec<Field>),
    /// The number of a branch, then its value.
    Union(Vec<Node>),
}

/// The logical type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logical {
    /// Unscaled big-endian two's complement in bytes or fixed.
    Decimal {
        /// The total number of digits.
        precision: usize,
        /// Digits after the decimal point.
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

/// A type in the expanded tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// How its values are encoded.
    pub wire: Wire,
    /// Its logical type.
    pub logical: Option<Logical>,
    /// The name of a record, an enum or a fixed.
    pub name: Option<Box<TypeName>>,
}

/// The name of a type, and its aliases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeName {
    /// The name with its namespace.
    pub full: String,
    /// Other names that it had, with or without a namespace.
    pub aliases: Vec<String>,
}

/// One field of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Other names that it had: a reader's field also matches fields with these names.
    pub aliases: Vec<String>,
    /// The JSON of its default, for readers where the writer has no such field.
    pub default: Option<Value>,
    /// Its other attributes, which Avro does not interpret: ids of table formats, comments.
    pub attributes: Map<String, Value>,
    /// Its type.
    pub node: Node,
}

impl Schema {
    /// Parses the text of a schema.
    ///
    /// Text that is not an Avro schema is an error of kind [`ErrorKind::Schema`]; a recursive schema
    /// has no Arrow type and is [`ErrorKind::Unsupported`]. Depth and size are checked against `limits`
    /// before any recursion.
    pub fn parse(text: &str, limits: &Limits) -> Result<Schema> {
        parse::parse(text, limits).map(|root| Schema { root })
    }

    /// Parses the reader's schema that a caller gives. As [`Schema::parse`], but text that is not a schema
    /// is [`ErrorKind::Unresolvable`]: nothing is wrong with the file.
    pub fn parse_reader(text: &str, limits: &Limits) -> Result<Schema> {
        Schema::parse(text, limits).map_err(|error| match error.kind() {
            ErrorKind::Schema => {
                Error::new(ErrorKind::Unresolvable, format!("the reader's schema: {}", error.message()))
            }
            _ => error,
        })
    }

    /// A schema with this tree, for callers that rewrite one.
    pub fn new(root: Node) -> Schema {
        Schema { root }
    }

    /// The tree.
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// The fields of a row and, where the root is a union of null and a record, the number of the null branch.
    ///
    /// `None` for a schema whose root is not a record: its row is one field named `value`.
    pub(crate) fn record(&self) -> Option<(&[Field], Option<u8>)> {
        let (null, node) = match self.root.nullable() {
            Some((null, node)) => (Some(null), node),
            None => (None, &self.root),
        };
        if let Wire::Record(fields) = &node.wire { Some((fields, null)) } else { None }
    }

    /// The names and types of a row's fields.
    pub(crate) fn row(&self) -> Vec<(&str, &Node)> {
        match self.record() {
            Some((fields, _)) => fields.iter().map(|field| (field.name.as_str(), &field.node)).collect(),
            None => vec![("value", &self.root)],
        }
    }

    /// Whether a dotted path names a field of the row.
    pub fn has(&self, path: &str) -> bool {
        self.field(path).is_some()
    }

    /// Whether a dotted path names a map with `int` keys: an array of records of two fields of which the
    /// first is an `int`. It may be in a union with null.
    pub fn has_int_keys(&self, path: &str) -> bool {
        let Some(node) = self.field(path) else { return false };
        let Wire::Array(items) = &node.nullable().map_or(node, |(_, value)| value).wire else { return false };
        matches!(&items.wire, Wire::Record(fields) if fields.len() == 2 && fields[0].node.wire == Wire::Int)
    }

    /// The type of the field at a dotted path.
    fn field(&self, path: &str) -> Option<&Node> {
        let mut fields = self.row();
        let mut parts = path.split('.').peekable();
        while let Some(part) = parts.next() {
            let (_, node) = fields.iter().find(|(name, _)| *name == part)?;
            if parts.peek().is_none() {
                return Some(node);
            }
            fields = node.fields();
        }
        None
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.as_ref().map_or("", |name| name.full.as_str());
        match &self.wire {
            Wire::Null => f.write_str("null"),
            Wire::Boolean => f.write_str("boolean"),
            Wire::Int => f.write_str("int"),
            Wire::Long => f.write_str("long"),
            Wire::Float => f.write_str("float"),
            Wire::Double => f.write_str("double"),
            Wire::Bytes => f.write_str("bytes"),
            Wire::String => f.write_str("string"),
            Wire::Fixed(size) => write!(f, "fixed {name} of {size} bytes"),
            Wire::Enum { .. } => write!(f, "enum {name}"),
            Wire::Array(items) => write!(f, "array of {items}"),
            Wire::Map(values) => write!(f, "map of {values}"),
            Wire::Record(_) => write!(f, "record {name}"),
            Wire::Union(branches) => {
                let separators = std::iter::once("union of ").chain(std::iter::repeat(", "));
                separators.zip(branches).try_for_each(|(separator, branch)| write!(f, "{separator}{branch}"))
            }
        }?;
        self.logical.map_or(Ok(()), |logical| write!(f, " as {logical:?}"))
    }
}

impl Node {
    /// A type without a name.
    pub(crate) fn plain(wire: Wire, logical: Option<Logical>) -> Node {
        Node { wire, logical, name: None }
    }

    /// For a union of null and one other type: the number of the null branch, and the other type.
    pub fn nullable(&self) -> Option<(u8, &Node)> {
        let Wire::Union(branches) = &self.wire else { return None };
        match branches.as_slice() {
            [Node { wire: Wire::Null, .. }, value] => Some((0, value)),
            [value, Node { wire: Wire::Null, .. }] => Some((1, value)),
            _ => None,
        }
    }

    /// The fields of a record, or of the record in a union with null.
    pub(crate) fn fields(&self) -> Vec<(&str, &Node)> {
        let record = self.nullable().map_or(self, |(_, value)| value);
        match &record.wire {
            Wire::Record(fields) => fields.iter().map(|field| (field.name.as_str(), &field.node)).collect(),
            _ => Vec::new(),
        }
    }

    /// The fewest bytes that a value takes: 0 for null, empty records and fixed of size 0.
    pub(crate) fn least_bytes(&self) -> usize {
        match &self.wire {
            Wire::Null => 0,
            Wire::Float => 4,
            Wire::Double => 8,
            Wire::Fixed(size) => *size,
            Wire::Record(fields) => {
                fields.iter().fold(0, |sum, field| sum.saturating_add(field.node.least_bytes()))
            }
            Wire::Union(branches) => {
                branches.iter().map(Node::least_bytes).min().unwrap_or(0).saturating_add(1)
            }
            _ => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Schema> {
        Schema::parse(text, &Limits::DEFAULT)
    }

    #[test]
    fn named_types_are_expanded_where_they_are_used() {
        let schema = parse(
            r#"{"type": "record", "name": "r", "namespace": "n", "fields": [
                {"name": "a", "type": {"type": "fixed", "name": "f", "size": 3}},
                {"name": "b", "type": ["null", "n.f"]},
                {"name": "c", "type": {"type": "record", "name": "x", "fields": [{"name": "d", "type": "f"}]}}]}"#,
        )
        .unwrap();
        assert!(schema.has("c.d") && schema.has("b") && !schema.has("c.e") && !schema.has("a.d"));
        let fields = schema.row();
        assert_eq!(fields[1].1.nullable().unwrap().1.wire, Wire::Fixed(3));
        assert_eq!(schema.root().least_bytes(), 3 + 1 + 3);
    }

    #[test]
    fn arrays_of_key_value_records_are_maps_with_the_logical_type() {
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
    fn fields_keep_their_other_attributes() {
        let schema = parse(
            r#"{"type": "record", "name": "r", "fields": [
                {"name": "a", "type": "int", "default": 1, "aliases": ["b"], "field-id": 7, "x": {"y": [2]}}]}"#,
        );
        let schema = schema.unwrap();
        let field = &schema.record().unwrap().0[0];
        assert_eq!(serde_json::to_string(&field.attributes).unwrap(), r#"{"field-id":7,"x":{"y":[2]}}"#);
        assert_eq!((&field.aliases, field.default.is_some()), (&vec!["b".to_owned()], true));
    }

    #[test]
    fn recursive_schemas_are_unsupported_by_name() {
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
