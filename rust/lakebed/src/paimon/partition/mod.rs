//! Partition folders: `dt=2024-01-01/hr=3/` (Paimon's `PartitionPathUtils.java` and
//! `InternalRowPartitionComputer.java`).

#[cfg(test)]
mod tests;

use std::fmt::{self, Write};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::{DataType as ArrowType, TimeUnit};

use super::text::{WallClock, write_date, write_decimal, write_float, write_time};
use super::types::{DataField, TypeKind};
use crate::error::{Error, ErrorKind, Result};

/// The folder value of null, empty and blank partition values, unless option
/// `partition.default-name` says otherwise.
pub const DEFAULT_PARTITION: &str = "__DEFAULT_PARTITION__";

/// The partition folders of each row: `k1=v1/k2=v2/`, empty without partition columns.
///
/// `partition` has a column for each of `fields`, in partition-key order, of its
/// [storage type](super::types::DataType::storage_type). With `legacy` (option
/// `partition.legacy-name`, default true) values are what Java's `toString` prints, a DATE its
/// epoch days; else they are cast to string, LTZ in UTC (Paimon takes the zone of the writer's
/// machine). Cost is one pass over every column.
///
/// # Errors
/// `ErrorKind::Argument` for columns that do not fit `fields`; `ErrorKind::Unsupported` for types
/// that cannot partition a table, and for bytes with `legacy`, which Java prints by their address.
pub fn partition_folders(
    partition: &StructArray,
    fields: &[DataField],
    default_name: &str,
    legacy: bool,
) -> Result<Vec<String>> {
    if partition.num_columns() != fields.len() {
        let message = format!("{} columns for {} partition keys", partition.num_columns(), fields.len());
        return Err(Error::new(ErrorKind::Argument, message));
    }
    let mut folders = vec![String::new(); partition.len()];
    let default_value = escape(default_name);
    for (column, field) in partition.columns().iter().zip(fields) {
        if *column.data_type() != field.ty.storage_type() {
            let message = format!("{} is not the storage type of {}", column.data_type(), field.ty);
            return Err(Error::new(ErrorKind::Argument, message).in_field(&field.name));
        }
        let mut values = Values {
            folders: &mut folders,
            key: escape(&field.name),
            default_value: &default_value,
            text: String::new(),
        };
        append(&mut values, column, &field.ty.kind, legacy).map_err(|error| error.in_field(&field.name))?;
    }
    Ok(folders)
}

/// `text` as part of a path: control characters and `"#%'*/:=?\{}[]^` as `%` and two hex digits.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    push_escaped(&mut escaped, text);
    escaped
}

/// The inverse of [`escape`]; a `%` without two hex digits stays.
pub fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('%') {
        plain.push_str(before);
        let hex = behind.get(..2).filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(code) => {
                plain.push(char::from(code));
                rest = behind.get(2..).unwrap_or_default();
            }
            None => {
                plain.push('%');
                rest = behind;
            }
        }
    }
    plain + rest
}

fn push_escaped(out: &mut String, text: &str) {
    for c in text.chars() {
        if c.is_ascii_control() || "\"#%'*/:=?\\{}[]^".contains(c) {
            out.push_str(&format!("%{:02X}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
}

/// Where the values of one column go.
struct Values<'a> {
    folders: &'a mut [String],
    key: String,
    default_value: &'a str,
    text: String,
}

impl Values<'_> {
    /// Appends `key=value/` to each row's folders; `write` makes the text of a value.
    fn extend<T>(
        &mut self,
        values: impl IntoIterator<Item = Option<T>>,
        write: impl Fn(&mut String, T) -> fmt::Result,
    ) -> Result<()> {
        for (folder, value) in self.folders.iter_mut().zip(values) {
            self.text.clear();
            if let Some(value) = value {
                write(&mut self.text, value).map_err(|error| {
                    Error::new(ErrorKind::Argument, "a partition value has no text").caused_by(error)
                })?;
            }
            folder.push_str(&self.key);
            folder.push('=');
            if self.text.chars().all(is_java_whitespace) {
                folder.push_str(self.default_value);
            } else {
                push_escaped(folder, &self.text);
            }
            folder.push('/');
        }
        Ok(())
    }
}

/// Appends the texts of `column`, whose Arrow type is the storage type of `kind`.
fn append(values: &mut Values<'_>, column: &ArrayRef, kind: &TypeKind, legacy: bool) -> Result<()> {
    match kind {
        TypeKind::Boolean => values.extend(column.as_boolean(), |out, value| write!(out, "{value}")),
        TypeKind::TinyInt => {
            values.extend(column.as_primitive::<Int8Type>(), |out, value| write!(out, "{value}"))
        }
        TypeKind::SmallInt => {
            values.extend(column.as_primitive::<Int16Type>(), |out, value| write!(out, "{value}"))
        }
        TypeKind::Int => {
            values.extend(column.as_primitive::<Int32Type>(), |out, value| write!(out, "{value}"))
        }
        TypeKind::BigInt => {
            values.extend(column.as_primitive::<Int64Type>(), |out, value| write!(out, "{value}"))
        }
        TypeKind::Float => values.extend(column.as_primitive::<Float32Type>(), write_float),
        TypeKind::Double => values.extend(column.as_primitive::<Float64Type>(), write_float),
        TypeKind::Decimal { scale, .. } => {
            let scale = usize::from(scale.unsigned_abs());
            values.extend(column.as_primitive::<Decimal128Type>(), |out, value| {
                write_decimal(out, value, scale)
            })
        }
        TypeKind::Char(_) | TypeKind::VarChar(_) => {
            values.extend(column.as_string::<i32>(), |out, value| out.write_str(value))
        }
        TypeKind::Binary(_) | TypeKind::VarBinary(_) if !legacy => values
            .extend(column.as_binary::<i32>(), |out, bytes| out.write_str(&String::from_utf8_lossy(bytes))),
        TypeKind::Date => values.extend(column.as_primitive::<Date32Type>(), |out, days| {
            if legacy { write!(out, "{days}") } else { write_date(out, i64::from(days)) }
        }),
        TypeKind::Time(precision) => {
            values.extend(column.as_primitive::<Time32MillisecondType>(), |out, millis| {
                if legacy { write!(out, "{millis}") } else { write_time(out, millis, *precision) }
            })
        }
        TypeKind::Timestamp(precision) | TypeKind::LocalZonedTimestamp(precision) => {
            append_timestamps(values, column, (!legacy).then_some(*precision))
        }
        _ => Err(Error::new(ErrorKind::Unsupported, format!("no partition folder is made of {kind}"))),
    }
}

/// Appends timestamps, as a cast to string of a precision or as Java's `toString`.
fn append_timestamps(values: &mut Values<'_>, column: &ArrayRef, cast: Option<u8>) -> Result<()> {
    let write = |per_second: i64| {
        move |out: &mut String, value: i64| {
            let clock = WallClock::from_epoch(value, per_second);
            match cast {
                Some(precision) => clock.write_cast(out, precision),
                None => clock.write_iso(out),
            }
        }
    };
    match column.data_type() {
        ArrowType::Timestamp(TimeUnit::Millisecond, _) => {
            values.extend(column.as_primitive::<TimestampMillisecondType>(), write(1_000))
        }
        ArrowType::Timestamp(TimeUnit::Microsecond, _) => {
            values.extend(column.as_primitive::<TimestampMicrosecondType>(), write(1_000_000))
        }
        _ => values.extend(column.as_primitive::<TimestampNanosecondType>(), write(1_000_000_000)),
    }
}

/// Java's `Character.isWhitespace`: without the no-break spaces, with the four separators of ASCII.
fn is_java_whitespace(c: char) -> bool {
    match c {
        '\u{1c}'..='\u{1f}' => true,
        '\u{85}' | '\u{a0}' | '\u{2007}' | '\u{202f}' => false,
        c => c.is_whitespace(),
    }
}
