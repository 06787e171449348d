//! A metadata file's JSON in the form in which a commit changes it: long lists stay text, and snapshots that
//! are kept are not parsed.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::metadata::members;
use crate::iceberg::write::metadata::in_order;
use crate::json::parse_within;

/// The lists that grow with every commit.
const LONG: [&str; 2] = ["snapshots", "snapshot-log"];

/// The metadata of a table: its long lists as the stored text, everything else as values.
#[derive(Debug, Clone)]
pub(super) struct Document {
    /// All values except the long lists, which are null here.
    values: Map<String, Value>,
    lists: [LongList; 2],
}

/// The elements of a long list.
#[derive(Debug, Clone, Default)]
struct LongList {
    /// The text between the brackets.
    text: Arc<str>,
    /// Elements after it.
    added: Vec<Value>,
}

impl Document {
    /// Parses the text of metadata.
    ///
    /// # Errors
    /// `Json`.
    pub(super) fn parse(text: &str) -> Result<Document> {
        let StoredMembers { values, lists } = match members(text) {
            Ok(members) => StoredMembers::of(members)?,
            // What is odd, serde_json reads or refuses.
            Err(_) => parse_within(text.as_bytes())?,
        };
        let list = |(text, key): (Option<&str>, &str)| -> Result<LongList> {
            let text = text.unwrap_or("null");
            if text == "null" {
                return Ok(LongList::default());
            }
            let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
            let inner = inner.ok_or_else(|| not_a(key, "list"))?;
            Ok(LongList { text: inner.trim().into(), added: Vec::new() })
        };
        let [snapshots, log] = lists;
        Ok(Document { values, lists: [list((snapshots, LONG[0]))?, list((log, LONG[1]))?] })
    }

    /// All values except the long lists.
    pub(super) fn values(&self) -> &Map<String, Value> {
        &self.values
    }

    /// The same, mutable.
    pub(super) fn values_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.values
    }

    /// A list; empty where it is missing.
    pub(super) fn list(&mut self, key: &str) -> Result<&mut Vec<Value>> {
        let list = self.values.entry(key).or_insert(Value::Null);
        if list.is_null() {
            *list = Value::Array(Vec::new());
        }
        list.as_array_mut().ok_or_else(|| not_a(key, "list"))
    }

    /// An object; empty where it is missing.
    pub(super) fn object(&mut self, key: &str) -> Result<&mut Map<String, Value>> {
        let object = self.values.entry(key).or_insert(Value::Null);
        if object.is_null() {
            *object = Value::Object(Map::new());
        }
        object.as_object_mut().ok_or_else(|| not_a(key, "object"))
    }

    /// Appends a snapshot.
    pub(super) fn push_snapshot(&mut self, snapshot: Value) {
        self.push(0, snapshot);
    }

    /// Appends an entry to the snapshot log.
    pub(super) fn push_log(&mut self, entry: Value) {
        self.push(1, entry);
    }

    /// Removes log entries that were appended of snapshots which nobody ever saw as the current one.
    pub(super) fn forget_log(&mut self, is_unseen: impl Fn(i64) -> bool) {
        let [_, log] = &mut self.lists;
        let id = |entry: &Value| entry.get("snapshot-id").and_then(Value::as_i64);
        log.added.retain(|entry| !id(entry).is_some_and(&is_unseen));
    }

    fn push(&mut self, place: usize, value: Value) {
        if let (Some(list), Some(key)) = (self.lists.get_mut(place), LONG.get(place)) {
            list.added.push(value);
            self.values.entry(*key).or_insert(Value::Null);
        }
    }

    /// Removes snapshots, and all entries of the log up to the last removed one: entries before a gap would
    /// seem to have been current in it.
    ///
    /// # Errors
    /// `Json` for elements without a snapshot.
    pub(super) fn remove_snapshots(&mut self, is_removed: impl Fn(i64) -> bool) -> Result<()> {
        let [snapshots, log] = &mut self.lists;
        snapshots.keep(LONG[0], |ids| ids.iter().map(|id| !is_removed(*id)).collect())?;
        log.keep(LONG[1], |ids| {
            let last = ids.iter().rposition(|id| is_removed(*id));
            (0..ids.len()).map(|place| last.is_none_or(|last| place > last)).collect()
        })
    }

    /// The text, compact except for copied parts, with its keys in the order of Java's library.
    ///
    /// # Errors
    /// As [`in_order`].
    pub(super) fn into_text(self) -> Result<String> {
        let Document { values, lists } = self;
        let long: usize = lists.iter().map(|list| list.text.len()).sum();
        let mut out = String::with_capacity(long.saturating_add(long >> 4).saturating_add(4096));
        out.push('{');
        for (key, value) in in_order(values)? {
            if out.len() > 1 {
                out.push(',');
            }
            out.push_str(&Value::from(key.as_str()).to_string());
            out.push(':');
            match LONG.iter().zip(&lists).find(|(long, _)| **long == key) {
                Some((_, list)) => list.write(&mut out),
                None => out.push_str(&value.to_string()),
            }
        }
        out.push('}');
        Ok(out)
    }
}

impl LongList {
    /// Keeps the elements that `keep` selects, given the ids of their snapshots.
    fn keep(&mut self, key: &str, keep: impl FnOnce(&[i64]) -> Vec<bool>) -> Result<()> {
        let all = format!("[{}]", self.text);
        let mut elements: Vec<&RawValue> = parsed(&all, key)?;
        let mut ids = elements.iter().map(|raw| of_snapshot(raw, key)).collect::<Result<Vec<i64>>>()?;
        let added = self.added.iter().map(|value| value.get("snapshot-id").and_then(Value::as_i64));
        ids.extend(added.map(Option::unwrap_or_default));
        let kept = keep(&ids);
        let mut flags = kept.iter().copied();
        elements.retain(|_| flags.next().unwrap_or(true));
        self.added.retain(|_| flags.next().unwrap_or(true));
        let texts: Vec<&str> = elements.iter().map(|raw| raw.get()).collect();
        let text = texts.join(",").into();
        self.text = text;
        Ok(())
    }

    fn write(&self, out: &mut String) {
        out.push('[');
        out.push_str(&self.text);
        for value in &self.added {
            if !out.ends_with('[') {
                out.push(',');
            }
            out.push_str(&value.to_string());
        }
        out.push(']');
    }
}

fn of_snapshot(raw: &RawValue, key: &str) -> Result<i64> {
    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    struct DocumentHead {
        snapshot_id: i64,
    }
    parsed::<DocumentHead>(raw.get(), key).map(|head| head.snapshot_id)
}

fn parsed<'t, T: Deserialize<'t> + Send>(text: &'t str, key: &str) -> Result<T> {
    parse_within(text.as_bytes()).map_err(|error| error.in_field(key))
}

/// The members of the metadata; of keys that appear twice the last one counts.
struct StoredMembers<'t> {
    values: Map<String, Value>,
    lists: [Option<&'t str>; 2],
}

impl<'t> StoredMembers<'t> {
    /// Of members, each with its key in quotes and its value.
    fn of(members: Vec<(&'t str, &'t str)>) -> Result<StoredMembers<'t>> {
        let (mut values, mut lists) = (Map::new(), [None; 2]);
        for (key, text) in members {
            let key: String = parse_within(key.as_bytes())?;
            let place = LONG.iter().position(|long| *long == key);
            let value = match place.and_then(|place| lists.get_mut(place)) {
                Some(list) => {
                    *list = Some(text);
                    Value::Null
                }
                None => parse_within(text.as_bytes())?,
            };
            values.insert(key, value);
        }
        Ok(StoredMembers { values, lists })
    }
}

impl<'t> Deserialize<'t> for StoredMembers<'t> {
    fn deserialize<D: Deserializer<'t>>(from: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'t> Visitor<'t> for Members {
            type Value = StoredMembers<'t>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<StoredMembers<'t>, A::Error> {
                let (mut values, mut lists) = (Map::new(), [None; 2]);
                while let Some(key) = map.next_key::<String>()? {
                    match LONG.iter().position(|long| *long == key).and_then(|place| lists.get_mut(place)) {
                        Some(list) => {
                            *list = Some(map.next_value::<&RawValue>()?.get());
                            values.insert(key, Value::Null);
                        }
                        None => _ = values.insert(key, map.next_value()?),
                    }
                }
                Ok(StoredMembers { values, lists })
            }
        }
        from.deserialize_map(Members)
    }
}

#[cold]
fn not_a(key: &str, what: &str) -> Error {
    Error::new(ErrorKind::Json, format!("{key} is not a JSON {what}")).in_field(key)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document(text: &str) -> Document {
        Document::parse(text).unwrap()
    }

    #[test]
    fn long_lists_stay_as_they_are_stored() {
        let stored = r#"{"snapshots": [ {"snapshot-id":1, "n": 1.0e2} ],"x":[1,2],"format-version":2}"#;
        let mut one = document(stored);
        one.push_snapshot(json!({ "snapshot-id": 2 }));
        one.push_log(json!({ "snapshot-id": 2 }));
        let text = concat!(
            r#"{"format-version":2,"snapshots":[{"snapshot-id":1, "n": 1.0e2},{"snapshot-id":2}],"#,
            r#""snapshot-log":[{"snapshot-id":2}],"x":[1,2]}"#
        );
        assert_eq!(one.into_text().expect("a text"), text);
        for empty in [r#"{"snapshots":[]}"#, r#"{"snapshots":null}"#, r#"{"snapshots":[ ]}"#] {
            assert_eq!(document(empty).into_text().expect("a text"), r#"{"snapshots":[]}"#);
        }
        assert_eq!(
            document(r#"{"snapshots":[{}],"snapshots":[{"a":1}]}"#).into_text().expect("a text"),
            r#"{"snapshots":[{"a":1}]}"#
        );
        assert_eq!(Document::parse(r#"{"snapshots":{}}"#).unwrap_err().kind(), ErrorKind::Json);
        assert_eq!(Document::parse("[]").unwrap_err().kind(), ErrorKind::Json);
    }

    #[test]
    fn removing_snapshots_removes_the_log_up_to_the_last_of_them() {
        let list = r#"[{"snapshot-id":1},{"snapshot-id":2},{"snapshot-id":3}]"#;
        let mut one = document(&format!(r#"{{"snapshots":{list},"snapshot-log":{list}}}"#));
        one.push_log(json!({ "snapshot-id": 1 }));
        one.remove_snapshots(|id| id == 2).unwrap();
        let text = concat!(
            r#"{"snapshots":[{"snapshot-id":1},{"snapshot-id":3}],"#,
            r#""snapshot-log":[{"snapshot-id":3},{"snapshot-id":1}]}"#
        );
        one.push_log(json!({ "snapshot-id": 4 }));
        one.forget_log(|id| id == 3 || id == 4);
        // What was stored has been seen.
        assert_eq!(one.into_text().expect("a text"), text);
        let mut none = document("{}");
        none.remove_snapshots(|_| true).unwrap();
        assert_eq!(none.into_text().expect("a text"), "{}");
    }
}
