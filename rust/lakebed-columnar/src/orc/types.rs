//! The types of a file, a tree in pre-order, and their Arrow types.
//!
//! Source: ORC specification, "Type Information".

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Metadata, TimeUnit};
use lakebed_avro::{Error, ErrorKind, Limits, Result};

use super::message::Message;
use crate::projection::FieldSelection;

/// A type of the footer.
#[derive(Default)]
pub(super) struct TypeMessage {
    pub(super) kind: u64,
    pub(super) subtypes: Vec<u64>,
    pub(super) names: Vec<String>,
    pub(super) attributes: HashMap<String, String>,
    pub(super) precision: u64,
    pub(super) scale: u64,
}

impl TypeMessage {
    pub(super) fn read(mut message: Message) -> Result<TypeMessage> {
        let mut read = TypeMessage::default();
        while let Some((number, value)) = message.field()? {
            match number {
                1 => read.kind = value.number()?,
                2 => value.numbers(&mut read.subtypes)?,
                3 => read.names.push(value.text()?),
                5 => read.precision = value.number()?,
                6 => read.scale = value.number()?,
                7 => read.attributes.extend(attribute(value.message()?)?),
                _ => {}
            }
        }
        Ok(read)
    }
}

/// A key and a value; `None` where either is missing.
fn attribute(mut message: Message) -> Result<Option<(String, String)>> {
    let (mut key, mut text) = (None, None);
    while let Some((number, value)) = message.field()? {
        match number {
            1 => key = Some(value.text()?),
            2 => text = Some(value.text()?),
            _ => {}
        }
    }
    Ok(key.zip(text))
}

/// The kind of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Boolean,
    Byte,
    Short,
    Int,
    Long,
    Float,
    Double,
    Text,
    Binary,
    Date,
    Decimal {
        precision: u8,
        scale: i8,
    },
    /// A wall-clock time, stored in the time zone of its writer.
    Timestamp,
    Instant,
    List,
    Map,
    Struct,
    /// Types that no metadata uses: such columns are left out.
    Other,
}

/// A decimal; for old writers, which record no precision, of 38 digits.
fn decimal(precision: u64, scale: u64) -> Kind {
    let (precision, scale) = if precision == 0 { (38, 10) } else { (precision, scale) };
    match (u8::try_from(precision), i8::try_from(scale)) {
        (Ok(precision @ 1..=38), Ok(scale)) if scale.unsigned_abs() <= precision => {
            Kind::Decimal { precision, scale }
        }
        _ => Kind::Other,
    }
}

/// A column and its children.
pub(super) struct Node {
    /// Its number: its position in pre-order.
    pub(super) id: u32,
    pub(super) kind: Kind,
    /// The column in Arrow.
    pub(super) field: FieldRef,
    pub(super) children: Vec<Node>,
}

impl Node {
    /// The tree of a footer's types, without columns of unsupported types.
    ///
    /// # Errors
    /// `Schema` where they are not a tree in pre-order, `Depth` where it is too deep.
    pub(super) fn tree(types: &[TypeMessage], limits: &Limits) -> Result<Node> {
        let mut next = 0;
        let root = grow(types, &mut next, "", limits.max_schema_depth)?;
        let root = root.filter(|root| root.kind == Kind::Struct);
        root.ok_or_else(|| wrong("the file's type is not a struct"))
    }

    /// A column with these children; `None` for an unsupported type.
    fn new(id: u32, name: &str, attributes: &Metadata, kind: Kind, children: Vec<Node>) -> Option<Node> {
        let below = |number: usize| children.get(number).map(|child| Arc::clone(&child.field));
        let data_type = match kind {
            Kind::Boolean => DataType::Boolean,
            Kind::Byte => DataType::Int8,
            Kind::Short => DataType::Int16,
            Kind::Int => DataType::Int32,
            Kind::Long => DataType::Int64,
            Kind::Float => DataType::Float32,
            Kind::Double => DataType::Float64,
            Kind::Text => DataType::Utf8,
            Kind::Binary => DataType::Binary,
            Kind::Date => DataType::Date32,
            Kind::Decimal { precision, scale } => DataType::Decimal128(precision, scale),
            Kind::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            Kind::Instant => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Kind::Struct => DataType::Struct(children.iter().map(|child| Arc::clone(&child.field)).collect()),
            Kind::List => DataType::List(below(0)?),
            Kind::Map => {
                let (key, value) = (below(0)?, below(1)?);
                let key = Arc::new(key.as_ref().clone().with_nullable(false));
                let entries = DataType::Struct(vec![key, value].into());
                DataType::Map(Arc::new(Field::new("entries", entries, false)), false)
            }
            Kind::Other => return None,
        };
        let field = Arc::new(Field::new(name, data_type, true).with_metadata(attributes.clone()));
        Some(Node { id, kind, field, children })
    }

    /// The fields of a struct in Arrow.
    pub(super) fn fields(&self) -> Fields {
        self.children.iter().map(|child| Arc::clone(&child.field)).collect()
    }

    /// The tree with only the requested columns; `None` where there are none.
    pub(super) fn wanted(self, wanted: &FieldSelection) -> Option<Node> {
        if self.kind != Kind::Struct || wanted.is_all() {
            return wanted.is_all().then_some(self);
        }
        let of = |child: Node| {
            let wanted = wanted.field(child.field.name())?;
            child.wanted(wanted)
        };
        let children: Vec<Node> = self.children.into_iter().filter_map(of).collect();
        let (name, attributes) = (self.field.name(), self.field.metadata());
        if children.is_empty() { None } else { Node::new(self.id, name, attributes, self.kind, children) }
    }

    /// The number of columns with values, including this one.
    pub(super) fn leaves(&self) -> usize {
        if self.children.is_empty() { 1 } else { self.children.iter().map(Node::leaves).sum() }
    }
}

fn grow(types: &[TypeMessage], next: &mut u32, name: &str, depth: u64) -> Result<Option<Node>> {
    if depth == 0 {
        return Err(Error::new(ErrorKind::Depth, "types are nested deeper than max_schema_depth"));
    }
    let id = *next;
    let of = types.get(id as usize).ok_or_else(|| wrong("a type that does not exist"))?;
    *next = next.checked_add(1).ok_or_else(|| wrong("too many types"))?;
    let kind = match of.kind {
        0 => Kind::Boolean,
        1 => Kind::Byte,
        2 => Kind::Short,
        3 => Kind::Int,
        4 => Kind::Long,
        5 => Kind::Float,
        6 => Kind::Double,
        7 | 16 | 17 => Kind::Text,
        8 => Kind::Binary,
        9 => Kind::Timestamp,
        10 => Kind::List,
        11 => Kind::Map,
        12 => Kind::Struct,
        14 => decimal(of.precision, of.scale),
        15 => Kind::Date,
        18 => Kind::Instant,
        _ => Kind::Other,
    };
    let children = match kind {
        Kind::Struct => Some(of.names.len()),
        Kind::List => Some(1),
        Kind::Map => Some(2),
        Kind::Other => None,
        _ => Some(0),
    };
    if children.is_some_and(|children| children != of.subtypes.len()) {
        return Err(wrong("a type has another number of subtypes than its kind"));
    }
    let inner = match kind {
        Kind::Map => ["key", "value"],
        _ => ["item", ""],
    };
    let mut grown = Vec::new();
    for (number, subtype) in of.subtypes.iter().enumerate() {
        if *subtype != u64::from(*next) {
            return Err(wrong("the types are not a tree in pre-order"));
        }
        let name = match kind {
            Kind::Struct => of.names.get(number).map(String::as_str),
            _ => inner.get(number).copied(),
        };
        grown.extend(grow(types, next, name.unwrap_or_default(), depth.saturating_sub(1))?);
    }
    let is_whole = kind == Kind::Struct || grown.len() == of.subtypes.len();
    Ok(if is_whole { Node::new(id, name, &of.attributes.clone().into(), kind, grown) } else { None })
}

#[cold]
fn wrong(message: &str) -> Error {
    Error::new(ErrorKind::Schema, message)
}
