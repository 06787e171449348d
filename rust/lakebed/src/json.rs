//! Parses JSON text to typed values: limits and helpers for all metadata files.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind, Result};

/// The largest JSON file that is read: a schema of 100,000 columns takes a tenth of it.
const MAX_BYTES: usize = 128 << 20;

/// Parses a whole file; nesting is bounded at 128 by serde_json.
pub(crate) fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T> {
    if json.len() > MAX_BYTES {
        return Err(invalid(format!("{} bytes of JSON are more than {MAX_BYTES}", json.len())));
    }
    serde_json::from_slice(json).map_err(|error| invalid(words(&error)))
}

/// The parser's message without the unexpected text, which may be a secret.
#[cold]
pub(crate) fn words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let Some((before, rest)) = text.split_once("string \"") else { return text };
    let after = rest.rsplit_once('"').map_or("", |(_, after)| after);
    format!("{before}a string{after}")
}

/// An error of kind [`ErrorKind::Json`].
#[cold]
pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Json, message)
}

/// Deserialises an object of strings in its order; numbers and booleans become text, as in Jackson.
pub(crate) fn strings<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(String, String)>, D::Error> {
    let object = Map::deserialize(from)?;
    let text = |(key, value): (String, Value)| match value {
        Value::String(text) => Ok((key, text)),
        Value::Number(_) | Value::Bool(_) => Ok((key, value.to_string())),
        _ => Err(serde::de::Error::custom(format!("the value of {key:?} is not a string"))),
    };
    object.into_iter().map(text).collect()
}
