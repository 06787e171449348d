//! How the flat columns of a program are assembled to Arrow arrays.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, IntervalUnit, TimeUnit, UnionFields, UnionMode};

use crate::error::{Error, ErrorKind, Result};
use crate::schema::{Logical, Node, Wire};

/// One Arrow array to build, over columns named by their numbers.
#[derive(Debug, Clone)]
pub(crate) enum Layout {
    Leaf { leaf: Leaf, column: u32, data_type: DataType },
    Enum { column: u32, symbols: Arc<[String]> },
    Nullable { valid: u32, value: Box<Layout> },
    Union { types: u32, fields: UnionFields, branches: Vec<Layout> },
    List { list: u32, field: FieldRef, items: Box<Layout> },
    Map { list: u32, field: FieldRef, entries: Box<Layout> },
    Struct { fields: Fields, children: Vec<Layout> },
}

/// The pool a leaf's column lives in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaf {
    Null,
    Boolean,
    Int,
    Long,
    /// Longs in milliseconds that become microseconds.
    Millis,
    Float,
    Double,
    Bytes,
    Fixed,
}

impl Layout {
    pub(crate) fn data_type(&self) -> DataType {
        match self {
            Layout::Leaf { data_type, .. } => data_type.clone(),
            Layout::Enum { .. } => DataType::Utf8,
            Layout::Nullable { value, .. } => value.data_type(),
            Layout::Union { fields, .. } => DataType::Union(fields.clone(), UnionMode::Dense),
            Layout::List { field, .. } => DataType::List(Arc::clone(field)),
            Layout::Map { field, .. } => DataType::Map(Arc::clone(field), false),
            Layout::Struct { fields, .. } => DataType::Struct(fields.clone()),
        }
    }

    pub(crate) fn field(&self, name: &str) -> Field {
        let nullable = match self {
            Layout::Nullable { .. } | Layout::Leaf { leaf: Leaf::Null, .. } => true,
            // A union has no validity of its own: its null branch is a child.
            Layout::Union { branches, .. } => {
                branches.iter().any(|branch| matches!(branch, Layout::Leaf { leaf: Leaf::Null, .. }))
            }
            _ => false,
        };
        Field::new(name, self.data_type(), nullable)
    }

    /// A dense union over its branches, named by their numbers, in branch order.
    pub(crate) fn union(types: u32, branches: Vec<Layout>) -> Result<Layout> {
        let fields =
            branches.iter().enumerate().map(|(index, branch)| branch.field(&format!("member{index}")));
        let ids = (0..=i8::MAX).take(branches.len());
        if branches.len() > i8::MAX as usize {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "a union of more than 127 branches has no Arrow type",
            ));
        }
        let fields = UnionFields::try_new(ids, fields)
            .map_err(|error| Error::new(ErrorKind::Unsupported, error.to_string()))?;
        Ok(Layout::Union { types, fields, branches })
    }

    pub(crate) fn list(list: u32, items: Layout) -> Layout {
        Layout::List { list, field: Arc::new(items.field("item")), items: Box::new(items) }
    }

    /// A map; Arrow requires the names `entries`, `key` and `value`, and keys that are never null.
    pub(crate) fn map(list: u32, key: Layout, value: Layout) -> Layout {
        let fields = Fields::from(vec![key.field("key").with_nullable(false), value.field("value")]);
        let entries = Layout::Struct { fields, children: vec![key, value] };
        let field = Arc::new(Field::new("entries", entries.data_type(), false));
        Layout::Map { list, field, entries: Box::new(entries) }
    }

    pub(crate) fn record(children: Vec<(String, Layout)>) -> Layout {
        let fields = children.iter().map(|(name, child)| child.field(name)).collect();
        Layout::Struct { fields, children: children.into_iter().map(|(_, child)| child).collect() }
    }
}

/// The pool and the Arrow type of a leaf.
pub(crate) fn leaf_type(node: &Node) -> (Leaf, DataType) {
    match (&node.wire, node.logical) {
        (Wire::Boolean, _) => (Leaf::Boolean, DataType::Boolean),
        (Wire::Int, Some(Logical::Date)) => (Leaf::Int, DataType::Date32),
        (Wire::Int, Some(Logical::TimeMillis)) => (Leaf::Int, DataType::Time32(TimeUnit::Millisecond)),
        (Wire::Int, _) => (Leaf::Int, DataType::Int32),
        (Wire::Long, Some(Logical::TimeMicros)) => (Leaf::Long, DataType::Time64(TimeUnit::Microsecond)),
        (Wire::Long, Some(Logical::Timestamp { per_second, utc })) => {
            // Spark only accepts microseconds, so milliseconds are converted; nanoseconds are kept.
            let (leaf, unit) = match per_second {
                1_000 => (Leaf::Millis, TimeUnit::Microsecond),
                1_000_000 => (Leaf::Long, TimeUnit::Microsecond),
                _ => (Leaf::Long, TimeUnit::Nanosecond),
            };
            (leaf, DataType::Timestamp(unit, utc.then(|| "UTC".into())))
        }
        (Wire::Long, _) => (Leaf::Long, DataType::Int64),
        (Wire::Float, _) => (Leaf::Float, DataType::Float32),
        (Wire::Double, _) => (Leaf::Double, DataType::Float64),
        (Wire::Bytes, logical) => (Leaf::Bytes, decimal_type(logical).unwrap_or(DataType::Binary)),
        (Wire::String, _) => (Leaf::Bytes, DataType::Utf8),
        (Wire::Fixed(12), Some(Logical::Duration)) => {
            (Leaf::Fixed, DataType::Interval(IntervalUnit::MonthDayNano))
        }
        (Wire::Fixed(_), logical) => (Leaf::Fixed, decimal_type(logical).unwrap_or(DataType::Binary)),
        // Nested types have no leaf: it is null.
        _ => (Leaf::Null, DataType::Null),
    }
}

/// The Arrow decimal for a logical one; wider or malformed declarations stay bytes, as the specification
/// requires for logical types that are not understood.
fn decimal_type(logical: Option<Logical>) -> Option<DataType> {
    let Some(Logical::Decimal { precision, scale }) = logical else { return None };
    let scale = i8::try_from(scale).ok().filter(|scale| *scale as usize <= precision)?;
    match u8::try_from(precision).ok()? {
        0 => None,
        precision @ 1..=38 => Some(DataType::Decimal128(precision, scale)),
        precision @ 39..=76 => Some(DataType::Decimal256(precision, scale)),
        _ => None,
    }
}
