//! Reads the keys of JSON objects; errors name the key.

use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind, Result};
use crate::json::invalid;

/// A JSON object, and its name in messages.
#[derive(Clone, Copy)]
pub(crate) struct Object<'a> {
    map: &'a Map<String, Value>,
    what: &'a str,
}

impl<'a> Object<'a> {
    /// `json` as an object; `what` is its name in messages: "a field".
    pub(crate) fn new(json: &'a Value, what: &'a str) -> Result<Object<'a>> {
        match json {
            Value::Object(map) => Ok(Object { map, what }),
            _ => Err(invalid(format!("{what} is not a JSON object"))),
        }
    }

    /// The value of `key`; null counts as absent.
    pub(crate) fn get(self, key: &str) -> Option<&'a Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    /// The value of `key`; an error if it is missing.
    pub(crate) fn required(self, key: &str) -> Result<&'a Value> {
        self.get(key).ok_or_else(|| Error::new(ErrorKind::Required, format!("{} has no `{key}`", self.what)))
    }

    /// The integer of 32 bits under `key`.
    pub(crate) fn int(self, key: &str) -> Result<i32> {
        int(self.required(key)?).ok_or_else(|| self.wrong(key, "an integer of 32 bits"))
    }

    /// The integer of 32 bits under `key`, if there is one.
    pub(crate) fn optional_int(self, key: &str) -> Result<Option<i32>> {
        self.get(key).map(|_| self.int(key)).transpose()
    }

    /// The boolean under `key`.
    pub(crate) fn bool(self, key: &str) -> Result<bool> {
        self.required(key)?.as_bool().ok_or_else(|| self.wrong(key, "a boolean"))
    }

    /// The string under `key`.
    pub(crate) fn text(self, key: &str) -> Result<&'a str> {
        self.required(key)?.as_str().ok_or_else(|| self.wrong(key, "a string"))
    }

    /// The string under `key`, if there is one.
    pub(crate) fn optional_text(self, key: &str) -> Result<Option<&'a str>> {
        self.get(key).map(|_| self.text(key)).transpose()
    }

    /// The array under `key`.
    pub(crate) fn array(self, key: &str) -> Result<&'a [Value]> {
        match self.required(key)? {
            Value::Array(items) => Ok(items),
            _ => Err(self.wrong(key, "an array")),
        }
    }

    /// The array of integers of 32 bits under `key`; empty without the key.
    pub(crate) fn ints(self, key: &str) -> Result<Vec<i32>> {
        if self.get(key).is_none() {
            return Ok(Vec::new());
        }
        let ints = self.array(key)?.iter().map(int).collect::<Option<Vec<i32>>>();
        ints.ok_or_else(|| self.wrong(key, "an array of integers of 32 bits"))
    }

    fn wrong(self, key: &str, wanted: &str) -> Error {
        invalid(format!("`{key}` of {} is not {wanted}", self.what))
    }
}

fn int(json: &Value) -> Option<i32> {
    json.as_i64().and_then(|value| i32::try_from(value).ok())
}
