//! Partitions: their columns, and their folders `dt=2024-01-01/hr=3/` (Paimon's `PartitionPathUtils.java` and
//! `InternalRowPartitionComputer.java`).

mod columns;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use arrow_array::{Array, ArrayRef, BinaryArray, StringArray, StructArray, UInt64Array};
use arrow_select::take::take;

pub use columns::PartitionType;

use super::binary_row::decode_rows;
use super::text::{TextForm, texts};
use super::types::{DataField, TypeKind};
use crate::error::{Error, ErrorKind, Result};

/// The folder value of null, empty and blank partition values, unless option `partition.default-name` sets
/// another.
pub const DEFAULT_PARTITION: &str = "__DEFAULT_PARTITION__";

/// The partition folders of each row: `k1=v1/k2=v2/`, empty without partition columns.
///
/// `partition` has a column for each of `fields`, in the order of the partition keys, of its [storage
/// type](super::types::DataType::storage_type) or as [`PartitionType`] stores it. With `legacy` (option `partition.legacy-name`, default true)
/// values are printed as Java's `toString` does, a DATE as its epoch days; else they are cast to string, LTZ
/// in UTC (Paimon uses the time zone of the writer's machine). Cost is one pass over every column.
///
/// # Errors
/// `ErrorKind::Argument` for columns that do not fit `fields`; `ErrorKind::Unsupported` for types that cannot
/// partition a table, and for bytes with `legacy`, which Java prints as an address in memory, but not for their nulls.
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
    let form = if legacy { TextForm::Java } else { TextForm::Cast };
    for (column, field) in partition.columns().iter().zip(fields) {
        let values = values(column, field, form).map_err(|error| error.in_field(&field.name))?;
        append(&mut folders, &escape(&field.name), &values, &default_value);
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

/// Appends `key=value/` to each row's folders.
fn append(folders: &mut [String], key: &str, values: &StringArray, default_value: &str) {
    for (folder, value) in folders.iter_mut().zip(values) {
        folder.push_str(key);
        folder.push('=');
        match value {
            Some(text) if !text.chars().all(is_java_whitespace) => push_escaped(folder, text),
            _ => folder.push_str(default_value),
        }
        folder.push('/');
    }
}

/// The texts of `column`, a partition column `field`.
fn values(column: &ArrayRef, field: &DataField, form: TextForm) -> Result<StringArray> {
    match field.ty.kind {
        TypeKind::Binary(_) | TypeKind::VarBinary(_)
            if form == TextForm::Java && column.null_count() < column.len() =>
        {
            Err(Error::new(
                ErrorKind::Unsupported,
                format!("a legacy partition folder of {} holds an address in memory", field.ty),
            ))
        }
        TypeKind::Array(_) | TypeKind::Map(..) | TypeKind::Row(_) => {
            Err(Error::new(ErrorKind::Unsupported, format!("{} cannot name a partition folder", field.ty)))
        }
        _ => texts(column, &field.ty, form),
    }
}

/// Java's `Character.isWhitespace`: no-break spaces excluded, the four separators of ASCII included.
fn is_java_whitespace(c: char) -> bool {
    match c {
        '\u{1c}'..='\u{1f}' => true,
        '\u{85}' | '\u{a0}' | '\u{2007}' | '\u{202f}' => false,
        c => c.is_whitespace(),
    }
}

/// The distinct partitions of some rows, each decoded once.
pub(crate) struct DistinctPartitions {
    /// The number of each row's partition.
    pub(crate) numbers: Vec<usize>,
    /// The partitions, as stored.
    pub(crate) stored: StructArray,
}

impl PartitionType {
    /// The partitions of `rows`.
    ///
    /// # Errors
    /// Those of [`decode_rows`], with the row.
    pub(crate) fn partitions_of(&self, rows: &BinaryArray) -> Result<DistinctPartitions> {
        let (numbers, distinct) = distinct(rows);
        // Decoding all rows tells which of them is wrong.
        let placed = |error: Error| decode_rows(rows, &self.stored).err().unwrap_or(error);
        Ok(DistinctPartitions { numbers, stored: decode_rows(&distinct, &self.stored).map_err(placed)? })
    }

    /// The partition of each row as the views show it.
    pub(crate) fn show(&self, partitions: &DistinctPartitions) -> Result<ArrayRef> {
        let numbers = UInt64Array::from_iter_values(partitions.numbers.iter().map(|number| *number as u64));
        take(&self.as_shown(&partitions.stored)?, &numbers, None).map_err(Into::into)
    }
}

/// Numbers distinct values; gives each row's number and the values by number.
pub(crate) fn distinct(values: &BinaryArray) -> (Vec<usize>, BinaryArray) {
    let mut known: HashMap<&[u8], usize> = HashMap::new();
    let mut order: Vec<&[u8]> = Vec::new();
    let mut numbers: Vec<usize> = Vec::with_capacity(values.len());
    for row in 0..values.len() {
        let value = values.value(row);
        let number = match numbers.last() {
            Some(last) if order.get(*last) == Some(&value) => *last,
            _ => *known.entry(value).or_insert_with(|| {
                order.push(value);
                order.len() - 1
            }),
        };
        numbers.push(number);
    }
    (numbers, BinaryArray::from_vec(order))
}
