//! What the footer says of the values of each column.
//!
//! Source: ORC specification, "Column Statistics".

use lakebed_avro::Result;

use super::message::{Message, Value};
use crate::input::zigzag;
use crate::summary::{Bound, Statistics};

const NANOS_PER_MILLI: i128 = 1_000_000;
/// The most nanoseconds behind a millisecond, which are meant where the file has none (ORC's
/// `TimestampStatisticsImpl`).
const MOST_NANOS: i128 = NANOS_PER_MILLI - 1;

/// The statistics of one column as they are stored.
#[derive(Default)]
pub(super) struct Stored {
    /// The number of values that are not null.
    values: u64,
    /// `None` where the writer did not count them.
    bytes: Option<u64>,
    lower: Option<Bound>,
    upper: Option<Bound>,
}

impl Stored {
    /// Reads the statistics of a column. Texts that the writer cut are no bounds here.
    ///
    /// # Errors
    /// `Truncated`, `Varint`, `Utf8`, `Codec`.
    pub(super) fn read(mut message: Message) -> Result<Stored> {
        let mut read = Stored::default();
        let mut trues = None;
        while let Some((number, value)) = message.field()? {
            match number {
                1 => read.values = value.number()?,
                2 | 7 => read.bounds(value, |value| Ok(Bound::Integer(zigzag(value.number()?).into())))?,
                3 => read.bounds(value, |value| Ok(Bound::Float(f64::from_le_bytes(value.eight()?))))?,
                4 | 6 => read.bounds(value, |value| Ok(Bound::Text(value.text()?)))?,
                5 => trues = first_count(value.message()?)?,
                9 => (read.lower, read.upper) = timestamps(value.message()?)?,
                11 => read.bytes = Some(value.number()?),
                _ => {}
            }
        }
        if let Some(trues) = trues.filter(|_| read.values > 0) {
            read.lower = Some(Bound::Boolean(trues >= read.values));
            read.upper = Some(Bound::Boolean(trues > 0));
        }
        Ok(read)
    }

    /// What they say of a column of so many rows. What nothing is in, such as a field of a struct that is null, counts
    /// as null.
    pub(super) fn of(self, rows: u64) -> Statistics {
        let Some(nulls) = rows.checked_sub(self.values) else {
            return Statistics { bytes: self.bytes, ..Statistics::default() };
        };
        let (lower, upper) = if self.values > 0 { (self.lower, self.upper) } else { (None, None) };
        Statistics { values: Some(rows), nulls: Some(nulls), bytes: self.bytes, lower, upper }
    }

    /// Reads the first two fields of a message.
    fn bounds(&mut self, value: Value, bound: impl Fn(Value) -> Result<Bound>) -> Result<()> {
        let mut message = value.message()?;
        while let Some((number, value)) = message.field()? {
            match number {
                1 => self.lower = Some(bound(value)?),
                2 => self.upper = Some(bound(value)?),
                _ => {}
            }
        }
        Ok(())
    }
}

/// The first number of a repeated field: how many values are true.
fn first_count(mut message: Message) -> Result<Option<u64>> {
    let mut counts = Vec::new();
    while let Some((number, value)) = message.field()? {
        if number == 1 {
            value.numbers(&mut counts)?;
        }
    }
    Ok(counts.first().copied())
}

/// The bounds in UTC; none of writers that only know those of their own time zone.
fn timestamps(mut message: Message) -> Result<(Option<Bound>, Option<Bound>)> {
    let (mut lower, mut upper, mut least, mut most) = (None, None, Some(0), Some(MOST_NANOS));
    while let Some((number, value)) = message.field()? {
        match number {
            3 => lower = Some(i128::from(zigzag(value.number()?))),
            4 => upper = Some(i128::from(zigzag(value.number()?))),
            5 => least = nanos(value.number()?),
            6 => most = nanos(value.number()?),
            _ => {}
        }
    }
    let bound = |(millis, nanos): (i128, i128)| {
        Bound::Integer(millis.saturating_mul(NANOS_PER_MILLI).saturating_add(nanos))
    };
    Ok((lower.zip(least).map(bound), upper.zip(most).map(bound)))
}

/// Nanoseconds behind a millisecond, stored plus one. Of times before 1970 some writers, such as ORC's C++, round
/// milliseconds towards zero, and then these are negative.
fn nanos(stored: u64) -> Option<i128> {
    let nanos = i128::from(stored.cast_signed()).saturating_sub(1);
    (-MOST_NANOS..=MOST_NANOS).contains(&nanos).then_some(nanos)
}
