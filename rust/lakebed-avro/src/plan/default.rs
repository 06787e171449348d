//! Encodes defaults of a reader's fields: from JSON to the bytes that a writer would have written.

use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind, Result};
use crate::schema::{Field, Node, Wire};

/// Appends the default `json` of a field of type `node` in Avro's binary encoding.
///
/// The forms are those of the specification's table of field defaults; the default of a union belongs to its
/// first branch that accepts it.
pub(super) fn encode(node: &Node, json: &Value, bytes: &mut Vec<u8>) -> Result<()> {
    match (&node.wire, json) {
        (Wire::Null, Value::Null) => {}
        (Wire::Boolean, Value::Bool(value)) => bytes.push(u8::from(*value)),
        (Wire::Int | Wire::Long, Value::Number(number)) => {
            let value =
                number.as_i64().filter(|value| node.wire == Wire::Long || i32::try_from(*value).is_ok());
            put_long(bytes, value.ok_or_else(|| invalid_default(node, json))?);
        }
        (Wire::Float, Value::Number(number)) => {
            let value = number.as_f64().ok_or_else(|| invalid_default(node, json))?;
            bytes.extend((value as f32).to_le_bytes());
        }
        (Wire::Double, Value::Number(number)) => {
            bytes.extend(number.as_f64().ok_or_else(|| invalid_default(node, json))?.to_le_bytes());
        }
        (Wire::String, Value::String(text)) => put_bytes(bytes, text.as_bytes()),
        (Wire::Bytes, Value::String(text)) => {
            put_bytes(bytes, &latin1(text).ok_or_else(|| invalid_default(node, json))?);
        }
        (Wire::Fixed(size), Value::String(text)) => {
            let value = latin1(text).filter(|value| value.len() == *size);
            bytes.extend(value.ok_or_else(|| invalid_default(node, json))?);
        }
        (Wire::Enum { symbols, .. }, Value::String(text)) => {
            let number = symbols.iter().position(|symbol| symbol == text);
            put_long(bytes, number.ok_or_else(|| invalid_default(node, json))? as i64);
        }
        (Wire::Array(items), Value::Array(values)) => {
            put_count(bytes, values.len());
            values.iter().try_for_each(|value| encode(items, value, bytes))?;
            bytes.push(0);
        }
        (Wire::Map(values), Value::Object(entries)) => {
            put_count(bytes, entries.len());
            for (key, value) in entries {
                put_bytes(bytes, key.as_bytes());
                encode(values, value, bytes)?;
            }
            bytes.push(0);
        }
        (Wire::Record(fields), Value::Object(values)) => encode_record(fields, values, bytes)?,
        (Wire::Union(branches), _) => encode_union(node, branches, json, bytes)?,
        _ => return Err(invalid_default(node, json)),
    }
    Ok(())
}

/// The fields' values by name; a missing one gets the default of its own field.
fn encode_record(fields: &[Field], values: &Map<String, Value>, bytes: &mut Vec<u8>) -> Result<()> {
    for field in fields {
        let value = values.get(&field.name).or(field.default.as_ref()).ok_or_else(|| {
            let message = format!("the default has no value for field {}", field.name);
            Error::new(ErrorKind::Unresolvable, message)
        })?;
        encode(&field.node, value, bytes).map_err(|error| error.within(&field.name))?;
    }
    Ok(())
}

fn encode_union(node: &Node, branches: &[Node], json: &Value, bytes: &mut Vec<u8>) -> Result<()> {
    let start = bytes.len();
    for (branch, of) in branches.iter().enumerate() {
        put_long(bytes, branch as i64);
        match encode(of, json, bytes) {
            Ok(()) => return Ok(()),
            Err(_) => bytes.truncate(start),
        }
    }
    Err(invalid_default(node, json))
}

/// The bytes of the characters U+0000 to U+00FF.
fn latin1(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|letter| u8::try_from(u32::from(letter)).ok()).collect()
}

fn put_long(bytes: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

fn put_bytes(bytes: &mut Vec<u8>, value: &[u8]) {
    put_long(bytes, value.len() as i64);
    bytes.extend(value);
}

/// Starts a run of items; an empty one is only an end.
fn put_count(bytes: &mut Vec<u8>, count: usize) {
    if count > 0 {
        put_long(bytes, count as i64);
    }
}

#[cold]
fn invalid_default(node: &Node, json: &Value) -> Error {
    Error::new(ErrorKind::Unresolvable, format!("default {json} is not a value of type {node}"))
}
