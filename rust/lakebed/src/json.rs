//! Parses JSON text to typed values: limits and helpers for all metadata files.

use std::collections::HashSet;
use std::sync::Mutex;
use std::thread::{Builder, scope};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind, Result};

/// The largest JSON file that is read: a schema of 100,000 columns takes a tenth of it.
const MAX_BYTES: usize = 128 << 20;

/// How deep types of columns may nest: far deeper than tables have, and so that a stack of 1 MiB, half of what threads of
/// Rust have, has room for all that is done with them.
pub(crate) const MAX_TYPE_DEPTH: usize = 150;

/// The most levels of JSON that a type within another adds: those of a struct, its list of fields and a field.
pub(crate) const LEVELS: usize = 3;

/// How deep JSON may nest.
const MAX_DEPTH: usize = LEVELS * MAX_TYPE_DEPTH + 100;

/// JSON that nests deeper has a stack of its own: any thread's is large enough for as much.
const PLAIN_DEPTH: usize = 60;

/// The size of that stack.
const DEEP_STACK: usize = 16 << 20;

/// Parses a whole file, and NULs after it, as Jackson does: a file may be longer than its text where a machine
/// crashed. Nesting is bounded.
pub(crate) fn parse<T: DeserializeOwned + Send>(json: &[u8]) -> Result<T> {
    if json.len() > MAX_BYTES {
        return Err(invalid(format!("{} bytes of JSON are more than {MAX_BYTES}", json.len())));
    }
    parse_within(without_nuls(json))
}

/// Parses a text whose length is within limits.
pub(crate) fn parse_within<'j, T: Deserialize<'j> + Send>(json: &'j [u8]) -> Result<T> {
    match serde_json::from_slice(json) {
        Err(error) if is_deep(&error) => deep(json),
        parsed => parsed.map_err(|error| invalid(words(&error))),
    }
}

/// The text of a JSON file, without the NULs after it.
///
/// # Errors
/// `Json` for a file that is not UTF-8.
pub fn json_text(json: &[u8]) -> Result<&str> {
    std::str::from_utf8(without_nuls(json)).map_err(|_| invalid("file is not UTF-8"))
}

/// JSON without the NULs after it.
pub(crate) fn without_nuls(json: &[u8]) -> &[u8] {
    let end = json.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    json.get(..end).unwrap_or_default()
}

/// Whether JSON was refused because it nests deeper than serde_json takes by itself.
pub(crate) fn is_deep(error: &serde_json::Error) -> bool {
    error.is_syntax() && error.to_string().starts_with("recursion limit exceeded")
}

/// Parses one value that nests deep, on a stack that is large enough for it.
///
/// # Errors
/// `Json`, also for deeper nesting than types of columns may have.
pub(crate) fn deep<'j, T: Deserialize<'j> + Send>(json: &'j [u8]) -> Result<T> {
    check_depth(json)?;
    let parsed = on_large_stack(|| {
        let mut json = serde_json::Deserializer::from_slice(json);
        json.disable_recursion_limit();
        let value = T::deserialize(&mut json)?;
        json.end().map(|()| value)
    });
    parsed?.map_err(|error| invalid(words(&error)))
}

/// # Errors
/// `Json` for JSON that nests deeper than types of columns may.
pub(crate) fn check_depth(json: &[u8]) -> Result<()> {
    match depth(json) > MAX_DEPTH {
        true => Err(invalid(format!("JSON nests deeper than {MAX_DEPTH} levels"))),
        false => Ok(()),
    }
}

/// The fields of one schema or struct, whose names must differ.
///
/// # Errors
/// `Json` for a name that appears twice.
pub(crate) fn named_once<T>(fields: Vec<T>, name: impl Fn(&T) -> &str) -> Result<Vec<T>> {
    let mut names = HashSet::with_capacity(fields.len());
    match fields.iter().map(name).find(|name| !names.insert(*name)) {
        Some(twice) => Err(invalid(format!("the field name {twice:?} appears twice"))),
        None => Ok(fields),
    }
}

/// What `work` makes of JSON of this depth, on a stack that is large enough for it.
///
/// # Errors
/// Those of `work`.
pub(crate) fn roomy<T: Send>(depth: usize, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    if depth > PLAIN_DEPTH { on_large_stack(work)? } else { work() }
}

fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T> {
    let work = Mutex::new(Some(work));
    let run = || {
        let work = work.lock().ok().and_then(|mut work| work.take());
        work.map(|work| work()).ok_or_else(|| Error::new(ErrorKind::Internal, "work without a thread"))
    };
    scope(|scope| match Builder::new().stack_size(DEEP_STACK).spawn_scoped(scope, run) {
        Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        // Where no thread can be started, this one's stack has to do.
        Err(_) => run(),
    })
}

/// How deep objects and arrays nest in some values.
pub(crate) fn depth_of<'v>(values: impl IntoIterator<Item = &'v Value>) -> usize {
    let mut waiting: Vec<(&Value, usize)> = values.into_iter().map(|value| (value, 0)).collect();
    let mut most = 0;
    while let Some((value, depth)) = waiting.pop() {
        most = most.max(depth);
        match value {
            Value::Array(items) => waiting.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(members) => waiting.extend(members.values().map(|member| (member, depth + 1))),
            _ => {}
        }
    }
    most
}

/// How many objects and arrays are open at once at most.
pub(crate) fn depth(json: &[u8]) -> usize {
    let (mut open, mut most) = (0_usize, 0);
    let (mut is_text, mut is_escaped) = (false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'{' | b'[' if !is_text => {
                open += 1;
                most = most.max(open);
            }
            b'}' | b']' if !is_text => open = open.saturating_sub(1),
            _ => {}
        }
    }
    most
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

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(levels: usize) -> String {
        format!("{}{}", r#"{"a[\"{":["#.repeat(levels / 2), "]}".repeat(levels / 2))
    }

    #[test]
    fn json_nests_as_deep_as_types_do_and_no_deeper() {
        for levels in [2, 126, 128, 200, MAX_DEPTH] {
            assert_eq!(depth(nested(levels).as_bytes()), levels);
            assert!(parse::<Value>(nested(levels).as_bytes()).is_ok(), "{levels}");
        }
        for levels in [MAX_DEPTH + 2, 1 << 20] {
            let refused = parse::<Value>(nested(levels).as_bytes()).expect_err("deep");
            let message = format!("JSON nests deeper than {MAX_DEPTH} levels");
            assert_eq!((refused.kind(), refused.message()), (ErrorKind::Json, message.as_str()));
        }
        let cut = nested(400).replace("]}", "");
        assert_eq!(parse::<Value>(cut.as_bytes()).expect_err("cut").kind(), ErrorKind::Json);
        let longer = format!("{} 1", nested(400));
        assert_eq!(parse::<Value>(longer.as_bytes()).expect_err("longer").kind(), ErrorKind::Json);
    }

    #[test]
    fn nuls_after_a_text_are_no_part_of_it() {
        assert_eq!(parse::<Value>(b"[1]\n\0\0\0").expect("a list"), Value::from(vec![1]));
        for wrong in [&b"\0[1]"[..], b"[1\0]", b"[1\0\0", b"\0\0", b"[1]\0]", b"\xef\xbb\xbf[1]"] {
            assert_eq!(parse::<Value>(wrong).expect_err("refused").kind(), ErrorKind::Json, "{wrong:?}");
        }
    }
}
