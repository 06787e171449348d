//! Rows as Java writes them, unusual rows, and invalid ones.

mod cases;
mod malformed;
mod nested;
mod scalar;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, BinaryArray, StructArray};
use arrow_schema::{DataType, Field, Fields, TimeUnit};
use serde_json::{Value, json};

use super::*;
use crate::error::ErrorKind;

/// The bytes of `hex`; blanks and bars are ignored.
fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

fn binary(rows: &[Vec<u8>]) -> BinaryArray {
    BinaryArray::from_iter_values(rows)
}

/// Fields `f0`, `f1`, … of these types, all nullable.
fn fields(types: &[DataType]) -> Fields {
    let fields = types.iter().enumerate();
    fields.map(|(index, data_type)| Field::new(format!("f{index}"), data_type.clone(), true)).collect()
}

fn timestamp(unit: TimeUnit) -> DataType {
    DataType::Timestamp(unit, None)
}

/// The Arrow type of an atomic Paimon type.
fn sql(name: &str) -> DataType {
    let (head, arguments) = name.split_once('(').unwrap_or((name, ""));
    let arguments = arguments.trim_end_matches(')').split(',');
    let numbers: Vec<u8> = arguments.filter_map(|number| number.trim().parse().ok()).collect();
    match (head, numbers.as_slice()) {
        ("BOOLEAN", _) => DataType::Boolean,
        ("TINYINT", _) => DataType::Int8,
        ("SMALLINT", _) => DataType::Int16,
        ("INT", _) => DataType::Int32,
        ("BIGINT", _) => DataType::Int64,
        ("FLOAT", _) => DataType::Float32,
        ("DOUBLE", _) => DataType::Float64,
        ("DATE", _) => DataType::Date32,
        ("STRING", _) => DataType::Utf8,
        ("BYTES", _) => DataType::Binary,
        ("DECIMAL", [precision, scale]) => DataType::Decimal128(*precision, *scale as i8),
        ("TIMESTAMP", [0..=3]) => timestamp(TimeUnit::Millisecond),
        ("TIMESTAMP", [4..=6]) => timestamp(TimeUnit::Microsecond),
        ("TIMESTAMP", [_]) => timestamp(TimeUnit::Nanosecond),
        ("TIMESTAMP_LTZ", _) => match sql(&name.replace("_LTZ", "")) {
            DataType::Timestamp(unit, _) => DataType::Timestamp(unit, Some("UTC".into())),
            other => other,
        },
        _ => panic!("no type {name}"),
    }
}

fn sql_fields(names: &str) -> Fields {
    fields(&names.split_whitespace().map(sql).collect::<Vec<_>>())
}

/// One value as JSON: bytes in hexadecimal, decimals as text, maps as pairs.
fn value(array: &ArrayRef, row: usize) -> Value {
    let values = |array: &ArrayRef| (0..array.len()).map(|row| value(array, row)).collect::<Vec<_>>();
    let instant = |ticks: i64, per_milli: i64| {
        let nanos = ticks.rem_euclid(per_milli) * (1_000_000 / per_milli);
        json!({"millis": ticks.div_euclid(per_milli), "nanos_of_milli": nanos})
    };
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        DataType::Boolean => json!(array.as_boolean().value(row)),
        DataType::Int8 => json!(array.as_primitive::<Int8Type>().value(row)),
        DataType::Int16 => json!(array.as_primitive::<Int16Type>().value(row)),
        DataType::Int32 => json!(array.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => json!(array.as_primitive::<Int64Type>().value(row)),
        DataType::Float32 => json!(f64::from(array.as_primitive::<Float32Type>().value(row))),
        DataType::Float64 => json!(array.as_primitive::<Float64Type>().value(row)),
        DataType::Date32 => json!(array.as_primitive::<Date32Type>().value(row)),
        DataType::Time32(_) => json!(array.as_primitive::<Time32MillisecondType>().value(row)),
        DataType::Decimal128(..) => json!(array.as_primitive::<Decimal128Type>().value_as_string(row)),
        DataType::Utf8 => json!(array.as_string::<i32>().value(row)),
        DataType::Binary => {
            let hex = array.as_binary::<i32>().value(row).iter().map(|byte| format!("{byte:02x}"));
            json!(hex.collect::<String>())
        }
        DataType::Timestamp(unit, _) => match unit {
            TimeUnit::Second => json!(array.as_primitive::<TimestampSecondType>().value(row)),
            TimeUnit::Millisecond => instant(array.as_primitive::<TimestampMillisecondType>().value(row), 1),
            TimeUnit::Microsecond => {
                instant(array.as_primitive::<TimestampMicrosecondType>().value(row), 1000)
            }
            TimeUnit::Nanosecond => {
                instant(array.as_primitive::<TimestampNanosecondType>().value(row), 1_000_000)
            }
        },
        DataType::List(_) => json!(values(&array.as_list::<i32>().value(row))),
        DataType::FixedSizeList(..) => json!(values(&array.as_fixed_size_list().value(row))),
        DataType::Map(..) => {
            let entries: ArrayRef = Arc::new(array.as_map().value(row));
            json!(values(&entries))
        }
        DataType::Struct(_) => {
            json!(array.as_struct().columns().iter().map(|column| value(column, row)).collect::<Vec<_>>())
        }
        other => panic!("no JSON for {other}"),
    }
}

/// All rows as JSON.
fn values(rows: StructArray) -> Vec<Value> {
    let rows: ArrayRef = Arc::new(rows);
    (0..rows.len()).map(|row| value(&rows, row)).collect()
}

fn decode(row: &[u8], fields: &Fields) -> Result<Value> {
    let rows = decode_rows(&binary(&[row.to_vec()]), fields)?;
    Ok(values(rows).remove(0))
}

/// Checks that `hex` and `row` are the same row: decoded as a whole and by column, and encoded.
#[track_caller]
fn both_ways(fields: &Fields, hex: &str, row: Value) {
    reads_as(fields, hex, row);
    let stored = bytes(hex);
    let rows = decode_rows(&binary(std::slice::from_ref(&stored)), fields).unwrap();
    let encoded = encode_rows(&rows, fields).unwrap();
    assert_eq!(encoded.value(0), stored, "encoded");
}

/// Checks that `hex` decodes to `row`, as a whole and by column.
#[track_caller]
fn reads_as(fields: &Fields, hex: &str, row: Value) {
    let stored = bytes(hex);
    assert_eq!(decode(&stored, fields).unwrap(), row, "decoded");
    let stored = binary(&[stored]);
    for (position, field) in fields.iter().enumerate() {
        let column = decode_column(&stored, |_| Some(position), field).unwrap();
        assert_eq!(value(&column, 0), row[position], "column {position}");
    }
}

/// The kind of the error that decoding `row` gives.
#[track_caller]
fn refusal(row: &[u8], fields: &Fields) -> ErrorKind {
    decode(row, fields).unwrap_err().kind()
}
