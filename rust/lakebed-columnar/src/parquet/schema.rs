//! The schema of a file: its columns, their Arrow types, and the levels at which their values are defined.
//!
//! Source: Parquet specification, "Logical Types" and "Nested Encoding".

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, TimeUnit};
use lakebed_avro::{Error, ErrorKind, Limits, Result};

use super::footer::{Element, Logical};
use crate::projection::FieldSelection;

/// A column and those below it.
pub(super) struct Column {
    pub(super) field: FieldRef,
    /// The definition level from which on it is not null.
    pub(super) defined: u8,
    pub(super) shape: Shape,
}

/// The structure of a column.
pub(super) enum Shape {
    Leaf(Leaf),
    Struct(Vec<Column>),
    List { items: Nesting, item: Box<Column> },
    Map { items: Nesting, entries: Box<[Column; 2]> },
}

/// The levels of the items of a list or map.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Nesting {
    /// The definition level from which on there is an item.
    pub(super) defined: u8,
    /// The repetition level up to which an entry begins another item.
    pub(super) repeated: u8,
}

impl Nesting {
    /// The levels below an element that is optional, or `repeated` (1).
    fn deeper(self, repeated: u8) -> Result<Nesting> {
        let levels = self.defined.checked_add(1).zip(self.repeated.checked_add(repeated));
        let levels = levels.map(|(defined, repeated)| Nesting { defined, repeated });
        levels.ok_or_else(|| Error::new(ErrorKind::Depth, "more levels than fit 8 bits"))
    }
}

/// A leaf column, which has values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaf {
    /// Its number among the column chunks of a row group.
    pub(super) number: usize,
    pub(super) physical: Physical,
    pub(super) defined: u8,
    pub(super) repeated: u8,
}

/// The physical type of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Physical {
    Boolean,
    Int32,
    Int64,
    Int96,
    Float,
    Double,
    Bytes,
    /// Byte arrays of this length.
    Fixed(usize),
}

impl Column {
    /// The columns of a footer's schema, without those of unsupported types, and the number of its leaves.
    ///
    /// # Errors
    /// `Schema` where the elements do not form a tree, `Depth` where it is too deep.
    pub(super) fn all(elements: &[Element], limits: &Limits) -> Result<(Vec<Column>, usize)> {
        let mut walk = Walk { elements: elements.iter(), leaves: 0 };
        let root = walk.next()?;
        let level = Nesting::default();
        let columns = walk.columns(root.children, level, limits.max_schema_depth)?;
        if walk.elements.next().is_some() {
            return Err(wrong("trailing elements after the schema"));
        }
        Ok((columns, walk.leaves))
    }

    /// The column with its wanted children only; `None` where nothing of it is wanted.
    pub(super) fn wanted(self, wanted: &FieldSelection) -> Option<Column> {
        match self.shape {
            Shape::Struct(children) if !wanted.is_all() => {
                let of = |child: Column| {
                    let wanted = wanted.field(child.field.name())?;
                    child.wanted(wanted)
                };
                let children: Vec<Column> = children.into_iter().filter_map(of).collect();
                if children.is_empty() {
                    return None;
                }
                let field = self.field.as_ref().clone().with_data_type(DataType::Struct(fields(&children)));
                Some(Column { field: Arc::new(field), defined: self.defined, shape: Shape::Struct(children) })
            }
            _ => wanted.is_all().then_some(self),
        }
    }

    /// The dotted path of a leaf column, if it is this one or below it.
    pub(super) fn path_of(&self, leaf: usize) -> Option<String> {
        let name = self.field.name();
        let below = |children: &[Column]| {
            let path = children.iter().find_map(|child| child.path_of(leaf))?;
            Some(format!("{name}.{path}"))
        };
        match &self.shape {
            Shape::Leaf(here) => (here.number == leaf).then(|| name.clone()),
            Shape::Struct(children) => below(children),
            Shape::List { item, .. } => below(std::slice::from_ref(item)),
            Shape::Map { entries, .. } => below(entries.as_slice()),
        }
    }

    /// Adds this column if it is a leaf, or the leaf columns below it.
    pub(super) fn leaves<'c>(&'c self, leaves: &mut Vec<&'c Column>) {
        match &self.shape {
            Shape::Leaf(_) => leaves.push(self),
            Shape::Struct(children) => children.iter().for_each(|child| child.leaves(leaves)),
            Shape::List { item, .. } => item.leaves(leaves),
            Shape::Map { entries, .. } => entries.iter().for_each(|child| child.leaves(leaves)),
        }
    }
}

/// The fields of columns.
pub(super) fn fields(columns: &[Column]) -> Fields {
    columns.iter().map(|column| Arc::clone(&column.field)).collect()
}

/// Walks the elements in order.
struct Walk<'e> {
    elements: std::slice::Iter<'e, Element>,
    leaves: usize,
}

/// Values of `repetition_type`.
const REQUIRED: i64 = 0;
const REPEATED: i64 = 2;

impl<'e> Walk<'e> {
    fn next(&mut self) -> Result<&'e Element> {
        self.elements.next().ok_or_else(|| wrong("the schema ends before its last field"))
    }

    fn columns(&mut self, children: i64, level: Nesting, depth: u64) -> Result<Vec<Column>> {
        let mut columns = Vec::new();
        for _ in 0..children {
            let element = self.next()?;
            columns.extend(self.column(element, level, depth)?);
        }
        Ok(columns)
    }

    /// A column below an element with these levels; `None` for an unsupported type.
    fn column(&mut self, element: &Element, level: Nesting, depth: u64) -> Result<Option<Column>> {
        let depth = depth.checked_sub(1);
        let depth = depth.ok_or_else(|| {
            Error::new(ErrorKind::Depth, "the schema is nested deeper than max_schema_depth")
        })?;
        if element.repetition != REPEATED {
            let optional = if element.repetition == REQUIRED { level } else { level.deeper(0)? };
            return self.single(element, optional, depth);
        }
        // A repeated element outside a list is a list that is never null, of items that are never null.
        let items = level.deeper(1)?;
        let item = self.single(element, items, depth)?;
        Ok(item.map(|item| list(element, item, items, level.defined)))
    }

    /// A column that is not repeated.
    fn single(&mut self, element: &Element, level: Nesting, depth: u64) -> Result<Option<Column>> {
        if element.physical.is_some() && element.children == 0 {
            return self.leaf(element, level);
        }
        let annotated = annotation(element);
        let below = self.elements.as_slice().first();
        let repeated = below.filter(|below| element.children == 1 && below.repetition == REPEATED);
        let items = level.deeper(1)?;
        match (annotated, repeated) {
            (Some(Logical::List), Some(below)) => {
                self.next()?;
                let depth = depth.saturating_sub(1);
                let item = if is_item(element, below) {
                    self.single(below, items, depth)?
                } else {
                    self.columns(1, items, depth)?.pop()
                };
                Ok(item.map(|item| list(element, item, items, level.defined)))
            }
            (Some(Logical::Map), Some(below)) if below.children == 2 => {
                self.next()?;
                let entries = self.columns(2, items, depth.saturating_sub(1))?;
                let entries = <[Column; 2]>::try_from(entries).ok();
                Ok(entries.map(|entries| map(element, entries, items, level.defined)))
            }
            _ => {
                let children = self.columns(element.children, level, depth)?;
                Ok(Some(record(element, children, level.defined)).filter(|_| element.children > 0))
            }
        }
    }

    fn leaf(&mut self, element: &Element, level: Nesting) -> Result<Option<Column>> {
        let number = self.leaves;
        self.leaves = number.checked_add(1).ok_or_else(|| wrong("too many columns"))?;
        let physical = match element.physical {
            Some(0) => Physical::Boolean,
            Some(1) => Physical::Int32,
            Some(2) => Physical::Int64,
            Some(3) => Physical::Int96,
            Some(4) => Physical::Float,
            Some(5) => Physical::Double,
            Some(6) => Physical::Bytes,
            Some(7) => match usize::try_from(element.type_length) {
                Ok(length) if length > 0 => Physical::Fixed(length),
                _ => return Err(wrong("fixed-length values without a valid length")),
            },
            _ => return Err(wrong("an unknown physical type")),
        };
        let leaf = Leaf { number, physical, defined: level.defined, repeated: level.repeated };
        let of = |data_type| column(element, data_type, level.defined, Shape::Leaf(leaf));
        Ok(data_type(element, physical).map(of))
    }
}

/// Whether the repeated element of a list is its item, as in legacy forms, and not a group around the item.
fn is_item(list: &Element, repeated: &Element) -> bool {
    let tuple = repeated.name.strip_suffix("_tuple").is_some_and(|name| name == list.name);
    repeated.children != 1 || repeated.name == "array" || tuple
}

/// The key of a field's id in its metadata, as in Arrow's other readers of Parquet.
const FIELD_ID: &str = "PARQUET:field_id";

fn column(element: &Element, data_type: DataType, defined: u8, shape: Shape) -> Column {
    let metadata = element.field_id.map(|id| (FIELD_ID.to_owned(), id.to_string()));
    let field = Field::new(&element.name, data_type, true)
        .with_metadata(metadata.into_iter().collect::<HashMap<_, _>>());
    Column { field: Arc::new(field), defined, shape }
}

fn record(element: &Element, children: Vec<Column>, defined: u8) -> Column {
    column(element, DataType::Struct(fields(&children)), defined, Shape::Struct(children))
}

fn list(element: &Element, item: Column, items: Nesting, defined: u8) -> Column {
    let data_type = DataType::List(Arc::clone(&item.field));
    column(element, data_type, defined, Shape::List { items, item: Box::new(item) })
}

fn map(element: &Element, entries: [Column; 2], items: Nesting, defined: u8) -> Column {
    let [key, value] = &entries;
    let key = key.field.as_ref().clone().with_nullable(false);
    let pair = DataType::Struct(vec![Arc::new(key), Arc::clone(&value.field)].into());
    let pairs = Arc::new(Field::new("entries", pair, false));
    column(element, DataType::Map(pairs, false), defined, Shape::Map { items, entries: Box::new(entries) })
}

/// What an element is annotated with, in the words of today where a writer used the old ones.
#[allow(clippy::arithmetic_side_effects, reason = "the numbers were matched just before")]
pub(super) fn annotation(element: &Element) -> Option<Logical> {
    let decimal = Logical::Decimal { precision: element.precision, scale: element.scale };
    let converted = match element.converted {
        Some(0 | 4 | 19) => Some(Logical::Text),
        Some(1 | 2) => Some(Logical::Map),
        Some(3) => Some(Logical::List),
        Some(5) => Some(decimal),
        Some(6) => Some(Logical::Date),
        Some(unit @ (7 | 8)) => Some(Logical::Time { unit: unit - 6 }),
        Some(unit @ (9 | 10)) => Some(Logical::Timestamp { unit: unit - 8, utc: true }),
        Some(width @ 11..=14) => Some(Logical::Integer { bits: 8 << (width - 11), signed: false }),
        Some(width @ 15..=18) => Some(Logical::Integer { bits: 8 << (width - 15), signed: true }),
        _ => None,
    };
    element.logical.or(converted)
}

/// The Arrow type of a leaf column; `None` for unsupported types.
fn data_type(element: &Element, physical: Physical) -> Option<DataType> {
    let logical = annotation(element);
    if let Some(Logical::Decimal { precision, scale }) = logical {
        let precision = u8::try_from(precision).ok().filter(|precision| (1..=38).contains(precision))?;
        let scale =
            i8::try_from(scale).ok().filter(|scale| scale.unsigned_abs() <= precision && *scale >= 0)?;
        let stored =
            !matches!(physical, Physical::Boolean | Physical::Int96 | Physical::Float | Physical::Double);
        return stored.then_some(DataType::Decimal128(precision, scale));
    }
    let zone = |utc: bool| utc.then(|| "UTC".into());
    let unit = |unit| match unit {
        1 => Some(TimeUnit::Millisecond),
        2 => Some(TimeUnit::Microsecond),
        3 => Some(TimeUnit::Nanosecond),
        _ => None,
    };
    Some(match (physical, logical) {
        (Physical::Boolean, _) => DataType::Boolean,
        (Physical::Int32, Some(Logical::Date)) => DataType::Date32,
        (Physical::Int32, Some(Logical::Time { .. })) => DataType::Time32(TimeUnit::Millisecond),
        (Physical::Int32, Some(Logical::Integer { bits: 8, signed: true })) => DataType::Int8,
        (Physical::Int32, Some(Logical::Integer { bits: 16, signed: true })) => DataType::Int16,
        (Physical::Int32, Some(Logical::Integer { bits: 32, signed: false })) => DataType::Int64,
        (Physical::Int32, _) => DataType::Int32,
        (Physical::Int64, Some(Logical::Time { unit: of })) => DataType::Time64(unit(of)?),
        (Physical::Int64, Some(Logical::Timestamp { unit: of, utc })) => {
            DataType::Timestamp(unit(of)?, zone(utc))
        }
        (Physical::Int64, _) => DataType::Int64,
        (Physical::Int96, _) => DataType::Timestamp(TimeUnit::Microsecond, None),
        (Physical::Float, _) => DataType::Float32,
        (Physical::Double, _) => DataType::Float64,
        (Physical::Bytes, Some(Logical::Text)) => DataType::Utf8,
        (Physical::Bytes | Physical::Fixed(_), _) => DataType::Binary,
    })
}

#[cold]
fn wrong(message: &str) -> Error {
    Error::new(ErrorKind::Schema, message)
}
