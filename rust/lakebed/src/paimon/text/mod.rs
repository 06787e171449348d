//! Prints arrays as text: a printer per type, composed for nested types.

#[cfg(test)]
mod tests;

use std::fmt::{self, Write};

use arrow_array::builder::StringBuilder;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, Time32MillisecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, ListArray, MapArray, PrimitiveArray, StringArray, StructArray,
};
use arrow_schema::{DataType as ArrowType, TimeUnit};

use crate::error::{Error, ErrorKind, Result};
use crate::paimon::fields::VALUES;
use crate::paimon::types::{DataField, DataType, TypeKind};
use crate::record::typed;
use crate::text::{WallClock, write_date, write_decimal, write_float, write_time};

/// Paimon has two texts for a value. Numbers, booleans and strings are the same in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextForm {
    /// Cast to STRING (Paimon's `CastExecutors.resolveToString`), LTZ in UTC where Paimon uses the zone of
    /// the machine: `2024-02-29`, `10:00:00`, `2024-02-29 10:00:00.000`. Used for partitions as `{…}` in the
    /// engine's own tables, for partition folders that are not legacy, and for the names in `$partitions`.
    Cast,
    /// `toString` of Paimon's values in memory: a DATE as its days since 1970, a TIME as its milliseconds,
    /// timestamps as `2024-02-29T10:00`. Used for bounds and keys of `$files`, and for legacy partition
    /// folders. Bytes, which Java prints as an address in memory, are printed as when cast.
    Java,
}

/// Each value of `array`, which is of the storage type or the exact type of `ty`, as text; null stays null.
///
/// Constructed values are `[1, null]`, `{key -> value}` and `{1, null}` in both forms. Cost is one pass.
///
/// # Errors
/// `ErrorKind::Argument` for an array of another type; `ErrorKind::Unsupported` for a value, not a
/// null, of a type that Paimon does not cast to STRING: MULTISET, VECTOR, VARIANT, BLOB, GEOMETRY and
/// GEOGRAPHY.
pub(crate) fn texts(array: &ArrayRef, ty: &DataType, form: TextForm) -> Result<StringArray> {
    if ![ty.exact_type(), ty.storage_type()].contains(array.data_type()) {
        let message = format!("{} is not the storage type of {ty}", array.data_type());
        return Err(Error::new(ErrorKind::Argument, message));
    }
    if array.null_count() == array.len() {
        return Ok(StringArray::new_null(array.len()));
    }
    let printer = Printer::new(array, &ty.kind, form)?;
    print(array.len(), |row| array.is_valid(row).then_some(row), |out, row| (printer.write)(out, row))
}

/// Rows as the engine shows partitions: `{2024, null}`, cast; `{}` without columns.
///
/// # Errors
/// As [`texts`], and `ErrorKind::Argument` where `rows` has not as many columns as `fields`.
pub(crate) fn partition_texts(rows: &StructArray, fields: &[DataField]) -> Result<StringArray> {
    row_texts(rows, fields, TextForm::Cast, ["{", "}"])
}

/// Rows as the engine shows keys: `[Alice, 1]`, in the form of Java.
///
/// # Errors
/// As [`partition_texts`].
pub(crate) fn key_texts(rows: &StructArray, fields: &[DataField]) -> Result<StringArray> {
    row_texts(rows, fields, TextForm::Java, ["[", "]"])
}

fn row_texts(
    rows: &StructArray,
    fields: &[DataField],
    form: TextForm,
    [open, close]: [&str; 2],
) -> Result<StringArray> {
    if rows.num_columns() != fields.len() {
        let message = format!("{} columns for {} fields", rows.num_columns(), fields.len());
        return Err(Error::new(ErrorKind::Argument, message));
    }
    let columns = rows.columns().iter().zip(fields);
    let columns = columns
        .map(|(column, field)| texts(column, &field.ty, form).map_err(|error| error.in_field(&field.name)));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let write = |out: &mut String, row: usize| {
        out.push_str(open);
        join(out, &columns, |out, column| {
            out.write_str(if column.is_valid(row) { column.value(row) } else { "null" })
        })?;
        out.write_str(close)
    };
    print(rows.len(), |row| rows.is_valid(row).then_some(row), write)
}

/// The texts of `rows` values; `at` gives the index of a row's value, `write` prints it.
fn print(
    rows: usize,
    at: impl Fn(usize) -> Option<usize>,
    write: impl Fn(&mut String, usize) -> fmt::Result,
) -> Result<StringArray> {
    let mut built = StringBuilder::with_capacity(rows, rows * 8);
    let mut text = String::new();
    for row in 0..rows {
        text.clear();
        let Some(value) = at(row) else {
            built.append_null();
            continue;
        };
        write(&mut text, value)
            .map_err(|error| Error::new(ErrorKind::Argument, "a value has no text").caused_by(error))?;
        built.append_value(&text);
    }
    Ok(built.finish())
}

/// Appends the value of a row that is not null.
type WriteRow<'a> = Box<dyn Fn(&mut String, usize) -> fmt::Result + 'a>;

/// Prints the values of one array.
struct Printer<'a> {
    array: &'a dyn Array,
    write: WriteRow<'a>,
}

impl<'a> Printer<'a> {
    /// `array` is of the storage type of `kind`.
    fn new(array: &'a ArrayRef, kind: &'a TypeKind, form: TextForm) -> Result<Printer<'a>> {
        let java = form == TextForm::Java;
        Ok(match kind {
            TypeKind::Boolean => {
                let values: &BooleanArray = typed(array, VALUES)?;
                Printer::at(array, move |out, row| write!(out, "{}", values.value(row)))
            }
            TypeKind::TinyInt => Printer::plain::<Int8Type>(array)?,
            TypeKind::SmallInt => Printer::plain::<Int16Type>(array)?,
            TypeKind::Int => Printer::plain::<Int32Type>(array)?,
            TypeKind::BigInt => Printer::plain::<Int64Type>(array)?,
            TypeKind::Float => Printer::primitive::<Float32Type>(array, write_float)?,
            TypeKind::Double => Printer::primitive::<Float64Type>(array, write_float)?,
            TypeKind::Decimal { scale, .. } => {
                let scale = usize::from(scale.unsigned_abs());
                Printer::primitive::<Decimal128Type>(array, move |out, value| {
                    write_decimal(out, value, scale)
                })?
            }
            TypeKind::Char(_) | TypeKind::VarChar(_) => {
                let values: &StringArray = typed(array, VALUES)?;
                Printer::at(array, |out, row| out.write_str(values.value(row)))
            }
            TypeKind::Binary(_) | TypeKind::VarBinary(_) => {
                let values: &BinaryArray = typed(array, VALUES)?;
                Printer::at(array, |out, row| out.write_str(&String::from_utf8_lossy(values.value(row))))
            }
            TypeKind::Date if java => Printer::plain::<Date32Type>(array)?,
            TypeKind::Date => {
                Printer::primitive::<Date32Type>(array, |out, days| write_date(out, i64::from(days)))?
            }
            TypeKind::Time(_) if java => Printer::plain::<Time32MillisecondType>(array)?,
            TypeKind::Time(precision) => {
                Printer::primitive::<Time32MillisecondType>(array, |out, millis| {
                    write_time(out, millis, *precision)
                })?
            }
            TypeKind::Timestamp(precision) | TypeKind::LocalZonedTimestamp(precision) => {
                Printer::timestamps(array, (!java).then_some(*precision))?
            }
            TypeKind::Array(element) => Printer::list(array, &element.kind, form)?,
            TypeKind::Map(key, value) => Printer::map(array, &key.kind, &value.kind, form)?,
            TypeKind::Row(fields) => Printer::row(array, fields, form)?,
            _ => {
                let message = format!("Paimon has no text for values of {kind}");
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        })
    }

    fn at(array: &'a ArrayRef, write: impl Fn(&mut String, usize) -> fmt::Result + 'a) -> Printer<'a> {
        Printer { array, write: Box::new(write) }
    }

    fn primitive<T: ArrowPrimitiveType>(
        array: &'a ArrayRef,
        write: impl Fn(&mut String, T::Native) -> fmt::Result + 'a,
    ) -> Result<Printer<'a>> {
        let values: &PrimitiveArray<T> = typed(array, VALUES)?;
        Ok(Printer::at(array, move |out, row| write(out, values.value(row))))
    }

    fn plain<T: ArrowPrimitiveType<Native: fmt::Display>>(array: &'a ArrayRef) -> Result<Printer<'a>> {
        Printer::primitive::<T>(array, |out, value| write!(out, "{value}"))
    }

    /// Timestamps, cast with a precision, or in the form of Java.
    fn timestamps(array: &'a ArrayRef, cast: Option<u8>) -> Result<Printer<'a>> {
        let text = move |out: &mut String, clock: WallClock| match cast {
            Some(precision) => clock.write(out, ' ', precision),
            None => clock.write_iso(out),
        };
        let write = |per_second: i64| {
            move |out: &mut String, value: i64| text(out, WallClock::from_epoch(value, per_second))
        };
        match array.data_type() {
            ArrowType::Decimal256(..) => Printer::primitive::<Decimal256Type>(array, move |out, nanos| {
                text(out, WallClock::from_nanos(nanos.to_i128().ok_or(fmt::Error)?).ok_or(fmt::Error)?)
            }),
            ArrowType::Timestamp(TimeUnit::Millisecond, _) => {
                Printer::primitive::<TimestampMillisecondType>(array, write(1_000))
            }
            ArrowType::Timestamp(TimeUnit::Microsecond, _) => {
                Printer::primitive::<TimestampMicrosecondType>(array, write(1_000_000))
            }
            _ => Printer::primitive::<TimestampNanosecondType>(array, write(1_000_000_000)),
        }
    }

    fn list(array: &'a ArrayRef, element: &'a TypeKind, form: TextForm) -> Result<Printer<'a>> {
        let list: &ListArray = typed(array, VALUES)?;
        let items = Printer::new(list.values(), element, form)?;
        Ok(Printer::at(array, move |out, row| {
            out.push('[');
            join(out, span(list.value_offsets(), row), |out, item| items.push(out, item))?;
            out.write_char(']')
        }))
    }

    fn map(
        array: &'a ArrayRef,
        key: &'a TypeKind,
        value: &'a TypeKind,
        form: TextForm,
    ) -> Result<Printer<'a>> {
        let map: &MapArray = typed(array, VALUES)?;
        let (keys, values) = (Printer::new(map.keys(), key, form)?, Printer::new(map.values(), value, form)?);
        Ok(Printer::at(array, move |out, row| {
            out.push('{');
            join(out, span(map.value_offsets(), row), |out, entry| {
                keys.push(out, entry)?;
                out.push_str(" -> ");
                values.push(out, entry)
            })?;
            out.write_char('}')
        }))
    }

    fn row(array: &'a ArrayRef, fields: &'a [DataField], form: TextForm) -> Result<Printer<'a>> {
        let columns = typed::<StructArray>(array, VALUES)?.columns().iter().zip(fields);
        let columns = columns.map(|(column, field)| Printer::new(column, &field.ty.kind, form));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Ok(Printer::at(array, move |out, row| {
            out.push('{');
            join(out, &columns, |out, column| column.push(out, row))?;
            out.write_char('}')
        }))
    }

    /// Appends the value of a row, `null` where it is null.
    fn push(&self, out: &mut String, row: usize) -> fmt::Result {
        if self.array.is_valid(row) { (self.write)(out, row) } else { out.write_str("null") }
    }
}

/// Appends `parts` with `, ` between them.
fn join<T>(
    out: &mut String,
    parts: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut String, T) -> fmt::Result,
) -> fmt::Result {
    for (number, part) in parts.into_iter().enumerate() {
        out.push_str(if number == 0 { "" } else { ", " });
        write(out, part)?;
    }
    Ok(())
}

/// The range of a row's items, by its offsets.
fn span(offsets: &[i32], row: usize) -> std::ops::Range<usize> {
    offsets[row] as usize..offsets[row + 1] as usize
}
