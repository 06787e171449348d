//! A column of a batch, bound to its type in the schema.

use arrow_array::types::IntervalMonthDayNano;
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};

use super::output::Output;
use crate::error::{Error, ErrorKind, Result};

/// How the value of each row is written.
pub(crate) enum Column {
    Null,
    Boolean(BooleanBuffer),
    /// An int, a long or the number of an enum's symbol.
    Long(ScalarBuffer<i64>),
    Float(ScalarBuffer<f32>),
    Double(ScalarBuffer<f64>),
    /// A length and bytes.
    Bytes(Slices),
    /// Bytes alone, as many as the schema requires.
    Fixed {
        size: usize,
        bytes: Slices,
    },
    /// Unscaled big-endian numbers of this many bytes.
    Decimal {
        width: usize,
        unscaled: Vec<u8>,
        form: DecimalForm,
    },
    Duration(ScalarBuffer<IntervalMonthDayNano>),
    /// One branch for null, the other for the value.
    Nullable {
        null: u8,
        nulls: Option<NullBuffer>,
        value: Box<Column>,
    },
    /// A column with nulls in Arrow, where the schema allows none.
    Required {
        nulls: NullBuffer,
        value: Box<Column>,
    },
    Record(Vec<(String, Column)>),
    /// Arrays, and maps, whose items are keys and values.
    List {
        offsets: OffsetBuffer<i64>,
        items: Box<Column>,
        least_bytes: usize,
    },
    Union {
        types: ScalarBuffer<i8>,
        offsets: Option<ScalarBuffer<i32>>,
        branches: Vec<Column>,
    },
}

/// How a decimal's bytes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecimalForm {
    /// A length, then the fewest bytes.
    Bytes,
    /// A fixed number of bytes.
    Fixed(usize),
}

/// Runs of bytes.
pub(crate) enum Slices {
    Offsets(OffsetBuffer<i64>, Buffer),
    Width(usize, Buffer),
}

impl Slices {
    fn get(&self, row: usize) -> &[u8] {
        match self {
            Slices::Offsets(offsets, bytes) => &bytes[offsets[row] as usize..offsets[row + 1] as usize],
            Slices::Width(width, bytes) => &bytes[row * width..(row + 1) * width],
        }
    }
}

impl Column {
    /// Appends the value of `row`.
    ///
    /// # Errors
    /// [`ErrorKind::Required`], [`ErrorKind::Decimal`], [`ErrorKind::Length`], with the field's path.
    pub(crate) fn encode(&self, row: usize, out: &mut Output) -> Result<()> {
        match self {
            Column::Null => {}
            Column::Boolean(values) => out.buffer.push(u8::from(values.value(row))),
            Column::Long(values) => out.long(values[row]),
            Column::Float(values) => out.buffer.extend_from_slice(&values[row].to_le_bytes()),
            Column::Double(values) => out.buffer.extend_from_slice(&values[row].to_le_bytes()),
            Column::Bytes(slices) => out.bytes(slices.get(row))?,
            Column::Fixed { size, bytes } => {
                let value = bytes.get(row);
                if value.len() != *size {
                    return Err(wrong_length(value.len(), *size));
                }
                out.buffer.extend_from_slice(value);
            }
            Column::Decimal { width, unscaled, form } => {
                decimal(&unscaled[row * width..(row + 1) * width], *form, out)?;
            }
            Column::Duration(values) => duration(values[row], out)?,
            Column::Nullable { null, nulls, value } => {
                if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                    out.buffer.push(null << 1);
                } else {
                    out.buffer.push((1 - null) << 1);
                    value.encode(row, out)?;
                }
            }
            Column::Required { nulls, value } => {
                if nulls.is_null(row) {
                    return Err(Error::new(ErrorKind::Required, "null, where the schema has none"));
                }
                value.encode(row, out)?;
            }
            Column::Record(fields) => {
                for (name, field) in fields {
                    field.encode(row, out).map_err(|error| error.within(name))?;
                }
            }
            Column::List { offsets, items, least_bytes } => {
                let range = offsets[row]..offsets[row + 1];
                if !range.is_empty() {
                    out.items(range.end - range.start, *least_bytes)?;
                    for item in range {
                        items.encode(item as usize, out)?;
                    }
                }
                out.buffer.push(0);
            }
            Column::Union { types, offsets, branches } => {
                let branch = types[row];
                out.long(i64::from(branch));
                let row = offsets.as_ref().map_or(row, |offsets| offsets[row] as usize);
                branches[branch as usize].encode(row, out)?;
            }
        }
        Ok(())
    }
}

/// In big-endian two's complement, redundant leading bytes are left out or added.
fn decimal(unscaled: &[u8], form: DecimalForm, out: &mut Output) -> Result<()> {
    let sign = if unscaled[0] & 0x80 == 0 { 0 } else { 0xff };
    let idle = unscaled.windows(2).take_while(|pair| pair[0] == sign && (pair[1] ^ sign) & 0x80 == 0).count();
    let least = &unscaled[idle..];
    match form {
        DecimalForm::Bytes => out.bytes(least)?,
        DecimalForm::Fixed(size) => {
            let Some(padding) = size.checked_sub(least.len()) else {
                let message = format!("the decimal takes {} bytes, its fixed has {size}", least.len());
                return Err(Error::new(ErrorKind::Decimal, message));
            };
            out.buffer.extend(std::iter::repeat_n(sign, padding));
            out.buffer.extend_from_slice(least);
        }
    }
    Ok(())
}

/// Months, days and milliseconds, which are unsigned in Avro.
fn duration(value: IntervalMonthDayNano, out: &mut Output) -> Result<()> {
    let millis = (value.nanoseconds % 1_000_000 == 0).then_some(value.nanoseconds / 1_000_000);
    let parts = [
        u32::try_from(value.months).ok(),
        u32::try_from(value.days).ok(),
        millis.and_then(|millis| u32::try_from(millis).ok()),
    ];
    for part in parts {
        let part = part.ok_or_else(|| {
            let message = "durations are of months, days and milliseconds, none below 0";
            Error::new(ErrorKind::IntRange, message)
        })?;
        out.buffer.extend_from_slice(&part.to_le_bytes());
    }
    Ok(())
}

#[cold]
fn wrong_length(found: usize, wanted: usize) -> Error {
    Error::new(ErrorKind::Length, format!("{found} bytes, where the schema has {wanted}"))
}
