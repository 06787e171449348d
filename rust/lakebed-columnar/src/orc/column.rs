//! The columns of one stripe, decoded some rows at a time.
//!
//! Source: ORC specification, "Column Encodings".

use std::sync::Arc;

use arrow_array::types::{
    Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{ArrayRef, ListArray, MapArray, StructArray};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, FieldRef};
use lakebed_avro::{Error, ErrorKind, Result};

use super::bytes::{Bits, ByteRuns};
use super::integers::Integers;
use super::stripe::{StreamKind, Streams};
use super::text::Texts;
use super::timestamp::Clock;
use super::types::{Kind, Node};
use crate::arrays::{boolean, count_differs, decimal, narrow, primitive, room, shared, valid};
use crate::budget::Budget;
use crate::input::Input;

/// A column of a stripe.
pub(super) struct Column {
    field: FieldRef,
    present: Option<Bits>,
    values: Values,
}

enum Values {
    Boolean(Bits),
    Byte(ByteRuns),
    Short(Integers),
    Int(Integers),
    Long(Integers),
    Date(Integers),
    Float(Input),
    Double(Input),
    Decimal { digits: Input, scales: Integers, precision: u8, scale: i8 },
    Texts(Texts),
    Timestamp { seconds: Integers, nanos: Integers, clock: Arc<Clock> },
    Struct(Vec<Column>),
    List { lengths: Integers, item: Box<Column> },
    Map { lengths: Integers, entries: Box<[Column; 2]> },
}

impl Column {
    /// Opens the streams of a column and of those below it.
    pub(super) fn open(node: &Node, streams: &mut Streams, budget: &mut Budget) -> Result<Column> {
        let values = Column::values(node, streams, budget);
        let values = values.map_err(|error| error.within(node.field.name()))?;
        let present = streams.has(node.id, StreamKind::Present);
        let present = present.then(|| Bits::new(streams.take(node.id, StreamKind::Present)));
        Ok(Column { field: Arc::clone(&node.field), present, values })
    }

    fn values(node: &Node, streams: &mut Streams, budget: &mut Budget) -> Result<Values> {
        let id = node.id;
        let child = |number: usize, streams: &mut Streams, budget: &mut Budget| {
            let node = node.children.get(number).ok_or_else(count_differs)?;
            Column::open(node, streams, budget)
        };
        Ok(match node.kind {
            Kind::Boolean => Values::Boolean(Bits::new(streams.take(id, StreamKind::Data))),
            Kind::Byte => Values::Byte(ByteRuns::new(streams.take(id, StreamKind::Data))),
            Kind::Short => Values::Short(streams.integers(id, StreamKind::Data, true)?),
            Kind::Int => Values::Int(streams.integers(id, StreamKind::Data, true)?),
            Kind::Long => Values::Long(streams.integers(id, StreamKind::Data, true)?),
            Kind::Date => Values::Date(streams.integers(id, StreamKind::Data, true)?),
            Kind::Decimal { precision, scale } => Values::Decimal {
                digits: streams.take(id, StreamKind::Data),
                scales: streams.integers(id, StreamKind::Secondary, true)?,
                precision,
                scale,
            },
            Kind::Float => Values::Float(streams.take(id, StreamKind::Data)),
            Kind::Double => Values::Double(streams.take(id, StreamKind::Data)),
            Kind::Text => Values::Texts(Texts::open(id, true, streams, budget)?),
            Kind::Binary => Values::Texts(Texts::open(id, false, streams, budget)?),
            Kind::Timestamp | Kind::Instant => Values::Timestamp {
                seconds: streams.integers(id, StreamKind::Data, true)?,
                nanos: streams.integers(id, StreamKind::Secondary, false)?,
                clock: if node.kind == Kind::Instant { Arc::new(Clock::UTC) } else { streams.clock()? },
            },
            Kind::Struct => {
                let children = 0..node.children.len();
                Values::Struct(children.map(|number| child(number, streams, budget)).collect::<Result<_>>()?)
            }
            Kind::List => Values::List {
                lengths: streams.integers(id, StreamKind::Length, false)?,
                item: Box::new(child(0, streams, budget)?),
            },
            Kind::Map => Values::Map {
                lengths: streams.integers(id, StreamKind::Length, false)?,
                entries: Box::new([child(0, streams, budget)?, child(1, streams, budget)?]),
            },
            Kind::Other => return Err(count_differs()),
        })
    }

    /// The field of batches.
    pub(super) fn field(&self) -> &FieldRef {
        &self.field
    }

    /// Decodes the next `rows` rows; rows that are null in `parent` are null here too.
    pub(super) fn decode(
        &mut self,
        rows: usize,
        parent: Option<&NullBuffer>,
        budget: &mut Budget,
    ) -> Result<ArrayRef> {
        let decoded = self.nulls(rows, parent, budget).and_then(|nulls| self.array(rows, nulls, budget));
        decoded.map_err(|error| error.within(self.field.name()))
    }

    fn nulls(
        &mut self,
        rows: usize,
        parent: Option<&NullBuffer>,
        budget: &mut Budget,
    ) -> Result<Option<NullBuffer>> {
        let Some(present) = &mut self.present else { return Ok(parent.cloned()) };
        let count = valid(rows, parent);
        let mut bits = room(count, budget)?;
        present.read(count, &mut bits)?;
        let nulls = match parent {
            None => NullBuffer::from(bits),
            Some(parent) => {
                let mut bits = bits.into_iter();
                let of = |there| there && bits.next().unwrap_or(false);
                NullBuffer::new(parent.iter().map(of).collect::<BooleanBuffer>())
            }
        };
        Ok(Some(nulls).filter(|nulls| nulls.null_count() > 0))
    }

    fn array(&mut self, rows: usize, nulls: Option<NullBuffer>, budget: &mut Budget) -> Result<ArrayRef> {
        let count = valid(rows, nulls.as_ref());
        Ok(match &mut self.values {
            Values::Boolean(bits) => {
                let mut values = room(count, budget)?;
                bits.read(count, &mut values)?;
                boolean(values, nulls, budget)?
            }
            Values::Byte(bytes) => {
                let mut values = room(count, budget)?;
                for _ in 0..count {
                    values.push(bytes.next()?.cast_signed());
                }
                Arc::new(primitive::<Int8Type>(values, nulls, budget)?)
            }
            Values::Short(from) => {
                Arc::new(primitive::<Int16Type>(integers(from, count, budget)?, nulls, budget)?)
            }
            Values::Int(from) => {
                Arc::new(primitive::<Int32Type>(integers(from, count, budget)?, nulls, budget)?)
            }
            Values::Long(from) => {
                Arc::new(primitive::<Int64Type>(integers(from, count, budget)?, nulls, budget)?)
            }
            Values::Date(from) => {
                Arc::new(primitive::<Date32Type>(integers(from, count, budget)?, nulls, budget)?)
            }
            Values::Float(from) => {
                let mut values = room(count, budget)?;
                for _ in 0..count {
                    values.push(f32::from_le_bytes(from.array()?));
                }
                Arc::new(primitive::<Float32Type>(values, nulls, budget)?)
            }
            Values::Double(from) => {
                let mut values = room(count, budget)?;
                for _ in 0..count {
                    values.push(f64::from_le_bytes(from.array()?));
                }
                Arc::new(primitive::<Float64Type>(values, nulls, budget)?)
            }
            Values::Decimal { digits, scales, precision, scale } => {
                let mut values = room(count, budget)?;
                for stored in integers::<i64>(scales, count, budget)? {
                    values.push(rescaled(digits.long_zigzag()?, stored, *scale)?);
                }
                decimal(values, (*precision, *scale), nulls, budget)?
            }
            Values::Texts(texts) => texts.array(count, nulls, budget)?,
            Values::Timestamp { seconds, nanos, clock } => {
                let seconds: Vec<i64> = integers(seconds, count, budget)?;
                let nanos: Vec<i64> = integers(nanos, count, budget)?;
                let micros = seconds.iter().zip(&nanos).map(|(second, nano)| clock.micros(*second, *nano));
                let micros = micros.collect::<Result<Vec<i64>>>()?;
                let array = primitive::<TimestampMicrosecondType>(micros, nulls, budget)?;
                let DataType::Timestamp(_, zone) = self.field.data_type() else {
                    return Err(count_differs());
                };
                Arc::new(array.with_timezone_opt(zone.clone()))
            }
            Values::Struct(children) => {
                let DataType::Struct(fields) = self.field.data_type() else { return Err(count_differs()) };
                let children = children.iter_mut().map(|child| child.decode(rows, nulls.as_ref(), budget));
                let children = children.collect::<Result<Vec<_>>>()?;
                shared(StructArray::try_new_with_length(fields.clone(), children, nulls, rows))?
            }
            Values::List { lengths, item } => {
                let (offsets, items) = offsets(lengths, rows, nulls.as_ref(), budget)?;
                let values = item.decode(items, None, budget)?;
                shared(ListArray::try_new(Arc::clone(item.field()), offsets, values, nulls))?
            }
            Values::Map { lengths, entries } => {
                let DataType::Map(field, _) = self.field.data_type() else { return Err(count_differs()) };
                let DataType::Struct(fields) = field.data_type() else { return Err(count_differs()) };
                let (offsets, items) = offsets(lengths, rows, nulls.as_ref(), budget)?;
                let [key, value] = entries.as_mut();
                let entries = vec![key.decode(items, None, budget)?, value.decode(items, None, budget)?];
                let entries = StructArray::try_new_with_length(fields.clone(), entries, None, items);
                let entries = entries.map_err(|error| Error::new(ErrorKind::Required, error.to_string()))?;
                shared(MapArray::try_new(Arc::clone(field), offsets, entries, nulls, false))?
            }
        })
    }
}

/// The next integers, each of which must fit its type.
fn integers<T: TryFrom<i64>>(from: &mut Integers, count: usize, budget: &mut Budget) -> Result<Vec<T>> {
    let mut values = room(count, budget)?;
    from.read(count, |value| {
        values.push(narrow(value)?);
        Ok(())
    })?;
    Ok(values)
}

/// A decimal with the scale `stored` converted to the scale of its column.
fn rescaled(value: i128, stored: i64, scale: i8) -> Result<i128> {
    let more = i64::from(scale).checked_sub(stored).and_then(|more| i32::try_from(more).ok());
    let power = more.and_then(|more| 10_i128.checked_pow(more.unsigned_abs()));
    let rescaled = match (more, power) {
        (Some(0..), Some(power)) => value.checked_mul(power),
        (Some(_), Some(power)) if value.checked_rem(power) == Some(0) => value.checked_div(power),
        _ => None,
    };
    rescaled.ok_or_else(|| {
        Error::new(ErrorKind::Decimal, format!("a value of scale {stored} in a column of scale {scale}"))
    })
}

/// The offsets of each row's items, and their number.
fn offsets(
    lengths: &mut Integers,
    rows: usize,
    nulls: Option<&NullBuffer>,
    budget: &mut Budget,
) -> Result<(OffsetBuffer<i32>, usize)> {
    let mut counts = integers::<u32>(lengths, valid(rows, nulls), budget)?.into_iter();
    let mut offsets: Vec<i32> = room(rows.saturating_add(1), budget)?;
    let mut end = 0_i32;
    offsets.push(end);
    for row in 0..rows {
        let count =
            if nulls.is_none_or(|nulls| nulls.is_valid(row)) { counts.next().unwrap_or(0) } else { 0 };
        let next = i32::try_from(count).ok().and_then(|count| end.checked_add(count));
        end = next.ok_or_else(|| Error::new(ErrorKind::Count, "more than 2^31 items in some lists"))?;
        offsets.push(end);
    }
    let items = end.unsigned_abs() as usize;
    budget.items(items)?;
    Ok((OffsetBuffer::new(offsets.into()), items))
}
