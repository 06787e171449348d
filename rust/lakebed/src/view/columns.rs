//! Columns that views of every format have.

use std::sync::Arc;

use arrow_array::builder::{MapBuilder, MapFieldNames, StringBuilder};
use arrow_array::{ArrayRef, TimestampMicrosecondArray};
use arrow_schema::ArrowError;

use crate::error::{Error, ErrorKind, Result};

/// Milliseconds since 1970 UTC as instants in microseconds.
pub(crate) fn instants(millis: impl Iterator<Item = impl Into<Option<i64>>>) -> Result<ArrayRef> {
    let micros = millis.map(|millis| {
        let Some(millis) = millis.into() else { return Ok(None) };
        let micros = millis.checked_mul(1000);
        micros.map(Some).ok_or_else(|| {
            Error::new(ErrorKind::Timestamp, format!("{millis} ms since 1970 is out of range"))
        })
    });
    let array: TimestampMicrosecondArray = micros.collect::<Result<Vec<_>>>()?.into();
    Ok(Arc::new(array.with_timezone("UTC")))
}

/// What Arrow calls the parts of a map.
pub(crate) fn map_names() -> MapFieldNames {
    MapFieldNames { entry: "entries".to_owned(), key: "key".to_owned(), value: "value".to_owned() }
}

#[cold]
fn argument(error: ArrowError) -> Error {
    Error::new(ErrorKind::Argument, error.to_string())
}

/// Free key-value pairs; `None` is a null map.
pub(crate) fn maps<'a>(rows: impl Iterator<Item = Option<&'a [(String, String)]>>) -> Result<ArrayRef> {
    let mut builder = MapBuilder::new(Some(map_names()), StringBuilder::new(), StringBuilder::new());
    for row in rows {
        for (key, value) in row.unwrap_or_default() {
            builder.keys().append_value(key);
            builder.values().append_value(value);
        }
        builder.append(row.is_some()).map_err(argument)?;
    }
    Ok(Arc::new(builder.finish()))
}
