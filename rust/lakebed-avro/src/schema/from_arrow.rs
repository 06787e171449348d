//! The Avro schema for batches of an Arrow schema.

use arrow_schema::{DataType, Field, IntervalUnit, Schema as ArrowSchema, TimeUnit};
use serde_json::{Value, json};

use crate::error::{Error, ErrorKind, Result};
use crate::names::is_name;

/// A record schema, as text, for batches of `arrow`: nullable fields are a union with null, with null as
/// default; times keep their unit (seconds become milliseconds), decimals are bytes, structs are records
/// named after their path, maps without string keys are arrays with `logicalType: map`.
///
/// # Errors
/// [`ErrorKind::Unsupported`] for a type without a corresponding Avro type, [`ErrorKind::Schema`] for a name that
/// Avro does not allow; both with the field's path.
pub fn from_arrow(arrow: &ArrowSchema) -> Result<String> {
    let fields = arrow.fields().iter().map(|field| record_field(field, "record"));
    let fields = fields.collect::<Result<Vec<_>>>()?;
    Ok(json!({"type": "record", "name": "record", "fields": fields}).to_string())
}

fn record_field(field: &Field, parent: &str) -> Result<Value> {
    let name = field.name();
    if !is_name(name) {
        let message =
            format!("Avro does not allow the field name {name:?}: rename the column, or give a schema");
        return Err(Error::new(ErrorKind::Schema, message).within(name));
    }
    let of = field_type(field, &format!("{parent}_{name}")).map_err(|error| error.within(name))?;
    Ok(match field.is_nullable() {
        true => json!({"name": name, "type": of, "default": null}),
        false => json!({"name": name, "type": of}),
    })
}

/// The type of a field, a union with null if it is nullable. `path` names types that need a name.
fn field_type(field: &Field, path: &str) -> Result<Value> {
    let of = data_type(field.data_type(), path)?;
    let is_null = *field.data_type() == DataType::Null;
    Ok(if field.is_nullable() && !is_null { json!(["null", of]) } else { of })
}

fn data_type(data_type: &DataType, path: &str) -> Result<Value> {
    let logical = |of: &str, name: &str| json!({"type": of, "logicalType": name});
    Ok(match data_type {
        DataType::Null => json!("null"),
        DataType::Boolean => json!("boolean"),
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::UInt8 | DataType::UInt16 => {
            json!("int")
        }
        DataType::Int64 | DataType::UInt32 => json!("long"),
        DataType::Float32 => json!("float"),
        DataType::Float64 => json!("double"),
        DataType::Utf8 | DataType::LargeUtf8 => json!("string"),
        DataType::Binary | DataType::LargeBinary => json!("bytes"),
        DataType::FixedSizeBinary(size) => json!({"type": "fixed", "name": path, "size": size}),
        DataType::Date32 => logical("int", "date"),
        DataType::Time32(_) => logical("int", "time-millis"),
        DataType::Time64(TimeUnit::Microsecond) => logical("long", "time-micros"),
        DataType::Timestamp(unit, zone) => logical("long", timestamp(*unit, zone.is_some())),
        DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale) if *scale >= 0 => {
            json!({"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale})
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            json!({"type": "fixed", "name": path, "size": 12, "logicalType": "duration"})
        }
        DataType::List(item) | DataType::LargeList(item) => {
            json!({"type": "array", "items": field_type(item, &format!("{path}_item"))?})
        }
        DataType::Map(entries, _) => map(entries, path)?,
        DataType::Struct(fields) => {
            let fields = fields.iter().map(|field| record_field(field, path)).collect::<Result<Vec<_>>>()?;
            json!({"type": "record", "name": path, "fields": fields})
        }
        other => {
            let message = format!("columns of type {other} have no Avro type: cast them, or give a schema");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
    })
}

fn timestamp(unit: TimeUnit, utc: bool) -> &'static str {
    match (unit, utc) {
        (TimeUnit::Second | TimeUnit::Millisecond, true) => "timestamp-millis",
        (TimeUnit::Second | TimeUnit::Millisecond, false) => "local-timestamp-millis",
        (TimeUnit::Microsecond, true) => "timestamp-micros",
        (TimeUnit::Microsecond, false) => "local-timestamp-micros",
        (TimeUnit::Nanosecond, true) => "timestamp-nanos",
        (TimeUnit::Nanosecond, false) => "local-timestamp-nanos",
    }
}

fn map(entries: &Field, path: &str) -> Result<Value> {
    let DataType::Struct(fields) = entries.data_type() else {
        return Err(Error::new(ErrorKind::Unsupported, "a map without keys and values"));
    };
    let [key, value] = fields.as_ref() else {
        return Err(Error::new(ErrorKind::Unsupported, "a map without keys and values"));
    };
    let values = field_type(value, &format!("{path}_value")).map_err(|error| error.within("value"))?;
    if matches!(key.data_type(), DataType::Utf8 | DataType::LargeUtf8) {
        return Ok(json!({"type": "map", "values": values}));
    }
    let key = data_type(key.data_type(), &format!("{path}_key")).map_err(|error| error.within("key"))?;
    Ok(json!({"type": "array", "logicalType": "map", "items": {
        "type": "record", "name": format!("{path}_entry"),
        "fields": [{"name": "key", "type": key}, {"name": "value", "type": values}]}}))
}
