//! Compares Arrow arrays with the values of the reference decoder, one by one.

use apache_avro::types::Value;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, RecordBatch};
use arrow_buffer::i256;
use arrow_schema::DataType;

/// Compares a whole table with the records of the reference decoder; struct fields that were not projected may be
/// absent.
///
/// Returns the first difference as a message.
pub fn table(batches: &[RecordBatch], values: &[&Value]) -> Result<(), String> {
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    if rows != values.len() {
        return Err(format!("{rows} rows, expected {}", values.len()));
    }
    let mut values = values.iter();
    for batch in batches {
        for (row, value) in (0..batch.num_rows()).zip(values.by_ref()) {
            for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
                let expected = field_of(value, field.name());
                compare(column.as_ref(), row, expected)
                    .map_err(|why| format!("column {} row {row}: {why}", field.name()))?;
            }
        }
    }
    Ok(())
}

/// A field of a record; a value that is not a record is a row of one column named `value`.
fn field_of<'v>(value: &'v Value, name: &str) -> &'v Value {
    match value {
        Value::Record(fields) => &fields.iter().find(|(field, _)| field == name).expect("field").1,
        Value::Union(_, record) if name != "value" => field_of(record, name),
        other => other,
    }
}

fn compare(array: &dyn Array, row: usize, value: &Value) -> Result<(), String> {
    match (value, array.data_type()) {
        (Value::Union(branch, value), DataType::Union(_, _)) => {
            let union = array.as_union();
            let id = union.type_id(row);
            if id as u32 != *branch {
                return Err(format!("branch {id}, expected {branch}"));
            }
            compare(union.child(id).as_ref(), union.value_offset(row), value)
        }
        (Value::Union(_, value), _) if **value == Value::Null => {
            if array.is_null(row) {
                Ok(())
            } else {
                Err("a value, expected null".to_owned())
            }
        }
        (Value::Union(_, value), _) => compare(array, row, value),
        (Value::Null, DataType::Null) => Ok(()),
        (value, _) if array.is_null(row) => Err(format!("null, expected {value:?}")),
        (Value::Record(_), _) => {
            let record = array.as_struct();
            for (field, column) in record.fields().iter().zip(record.columns()) {
                compare(column.as_ref(), row, field_of(value, field.name()))
                    .map_err(|why| format!("{}: {why}", field.name()))?;
            }
            Ok(())
        }
        (Value::Array(items), DataType::Map(_, _)) => {
            items_equal(&array.as_map().value(row), &items.iter().collect::<Vec<_>>())
        }
        (Value::Array(items), _) => {
            items_equal(array.as_list::<i32>().value(row).as_ref(), &items.iter().collect::<Vec<_>>())
        }
        (Value::Map(entries), _) => {
            let found = array.as_map().value(row);
            let keys = found.column(0).as_string::<i32>();
            if keys.len() != entries.len() {
                return Err(format!("{} entries, expected {}", keys.len(), entries.len()));
            }
            (0..keys.len()).try_for_each(|at| {
                let expected = entries.get(keys.value(at)).ok_or("an unexpected key")?;
                compare(found.column(1).as_ref(), at, expected)
            })
        }
        (leaf, data_type) => {
            if scalar_equal(array, row, leaf) {
                Ok(())
            } else {
                Err(format!("{data_type} differs from the expected {leaf:?}"))
            }
        }
    }
}

fn items_equal(items: &dyn Array, expected: &[&Value]) -> Result<(), String> {
    if items.len() != expected.len() {
        return Err(format!("{} items, expected {}", items.len(), expected.len()));
    }
    expected
        .iter()
        .enumerate()
        .try_for_each(|(at, value)| compare(items, at, value).map_err(|why| format!("item {at}: {why}")))
}

fn scalar_equal(array: &dyn Array, row: usize, value: &Value) -> bool {
    macro_rules! number {
        ($type:ty) => {
            array.as_primitive::<$type>().value(row)
        };
    }
    match value {
        Value::Boolean(value) => array.as_boolean().value(row) == *value,
        Value::Int(value) => number!(Int32Type) == *value,
        Value::Long(value) => number!(Int64Type) == *value,
        Value::Float(value) => number!(Float32Type).to_bits() == value.to_bits(),
        Value::Double(value) => number!(Float64Type).to_bits() == value.to_bits(),
        Value::Bytes(value) | Value::Fixed(_, value) => array.as_binary::<i32>().value(row) == value,
        Value::String(value) | Value::Enum(_, value) => array.as_string::<i32>().value(row) == value,
        Value::Uuid(value) => array.as_string::<i32>().value(row) == value.to_string(),
        Value::Date(value) => number!(Date32Type) == *value,
        Value::TimeMillis(value) => number!(Time32MillisecondType) == *value,
        Value::TimeMicros(value) => number!(Time64MicrosecondType) == *value,
        Value::TimestampMillis(value) | Value::LocalTimestampMillis(value) => {
            number!(TimestampMicrosecondType) == value * 1000
        }
        Value::TimestampMicros(value) | Value::LocalTimestampMicros(value) => {
            number!(TimestampMicrosecondType) == *value
        }
        Value::TimestampNanos(value) | Value::LocalTimestampNanos(value) => {
            number!(TimestampNanosecondType) == *value
        }
        Value::Duration(value) => {
            let found = number!(IntervalMonthDayNanoType);
            let millis = i64::from(u32::from(value.millis()));
            found.months as u32 == u32::from(value.months())
                && found.days as u32 == u32::from(value.days())
                && found.nanoseconds == millis * 1_000_000
        }
        Value::Decimal(value) => decimal_equal(array, row, &Vec::try_from(value).expect("decimal")),
        other => panic!("the generator makes no {other:?}"),
    }
}

fn decimal_equal(array: &dyn Array, row: usize, bytes: &[u8]) -> bool {
    let fill = if bytes.first().is_some_and(|byte| *byte >= 0x80) { 0xff } else { 0 };
    let mut wide = [fill; 32];
    let kept = &bytes[bytes.len().saturating_sub(32)..];
    wide[32 - kept.len()..].copy_from_slice(kept);
    let number = i256::from_be_bytes(wide);
    match array.data_type() {
        DataType::Decimal128(_, _) => {
            i256::from_i128(array.as_primitive::<Decimal128Type>().value(row)) == number
        }
        DataType::Decimal256(_, _) => array.as_primitive::<Decimal256Type>().value(row) == number,
        _ => array.as_binary::<i32>().value(row) == bytes,
    }
}
