//! The kinds of work of each format, and how text is turned back into work.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::{Exchange, GroupTask, ManifestTask};
use crate::error::{Error, ErrorKind, Result};
use crate::json::parse_within;

/// How text with this name is turned back into work.
pub struct WorkType<T: ?Sized> {
    pub(crate) name: &'static str,
    pub(crate) read: fn(&RawValue) -> Result<Box<T>>,
}

/// The entry of [`WorkTypes`] for a type of work.
macro_rules! work_type {
    ($work:ty) => {
        $crate::distributed::WorkType {
            name: <$work as $crate::distributed::NamedWork>::NAME,
            read: |text| Ok(Box::new($crate::json::parse_within::<$work>(text.get().as_bytes())?)),
        }
    };
}
pub(crate) use work_type;

/// All kinds of work of a format.
#[derive(Clone, Copy)]
pub struct WorkTypes {
    /// Work that makes rows of manifests one by one.
    pub tasks: &'static [WorkType<dyn ManifestTask>],
    /// Work that aggregates files.
    pub groups: &'static [WorkType<dyn GroupTask>],
    /// Work on entries of several manifests together.
    pub exchanges: &'static [WorkType<dyn Exchange>],
}

/// The work that `text` describes, by the name in front; `what` is the kind of work for messages.
///
/// # Errors
/// `Argument` for text that is not the form of such work.
pub(crate) fn from_text<'r, T: ?Sized + 'r>(
    text: &str,
    what: &str,
    rows: impl IntoIterator<Item = &'r WorkType<T>>,
) -> Result<Box<T>> {
    let wrong = |error: String| Error::new(ErrorKind::Argument, format!("not {what}: {error}"));
    let parsed: Result<BTreeMap<String, &RawValue>> = parse_within(text.as_bytes());
    let framed = parsed.map_err(|error| wrong(error.message().to_owned()))?;
    let mut named = framed.into_iter();
    let (Some((name, work)), None) = (named.next(), named.next()) else {
        return Err(wrong("its name is missing".to_owned()));
    };
    let row = rows.into_iter().find(|row| row.name == name);
    let row = row.ok_or_else(|| wrong(format!("unknown name {name:?}")))?;
    (row.read)(work).map_err(|error| wrong(error.message().to_owned()))
}

#[cfg(test)]
mod tests {
    use crate::format::FORMATS;

    #[test]
    fn text_that_is_not_work_is_refused_with_the_reason() {
        for (text, words) in [
            ("", "not a task: EOF"),
            ("{}", "not a task: its name is missing"),
            (r#"{"paimon": 1, "iceberg": 2}"#, "not a task: its name is missing"),
            (r#"{"hudi": {}}"#, r#"not a task: unknown name "hudi""#),
            (r#"{"paimon": {}}"#, "not a task: missing field `role`"),
        ] {
            let error = FORMATS.task(text).err().expect("no task");
            assert!(error.message().starts_with(words), "{error}");
        }
        let error = FORMATS.exchange(r#"{"paimon": {}}"#).err().expect("no exchange");
        assert!(error.message().starts_with("not an exchange: unknown name"), "{error}");
        assert!(FORMATS.group_task("{}").is_err());
    }
}
