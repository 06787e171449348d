//! What the messages of every format say alike.

use std::fmt::Debug;

use crate::error::{Error, ErrorKind, Result};
use crate::text::WallClock;

/// How many names a message lists.
const NAMES_SHOWN: usize = 20;

/// Names or ids as a message gives them, behind `there`.
pub(crate) fn listed<T: Debug>(names: &[T]) -> String {
    let shown: Vec<String> = names.iter().take(NAMES_SHOWN).map(|name| format!("{name:?}")).collect();
    match (names.len(), names.len().saturating_sub(NAMES_SHOWN)) {
        (0, _) => "is none".to_owned(),
        (1, _) => format!("is only {}", shown.join("")),
        (_, 0) => format!("are {}", shown.join(", ")),
        (_, more) => format!("are {} and {more} more", shown.join(", ")),
    }
}

/// Milliseconds since 1970 as text: `2026-11-21T08:33:08.882Z`.
pub(crate) fn instant(millis: i64) -> Result<String> {
    let mut text = String::new();
    let written = WallClock::from_epoch(millis, 1000).write_iso(&mut text);
    written.map_err(|_| Error::new(ErrorKind::Timestamp, format!("{millis} ms is out of range")))?;
    Ok(text + "Z")
}
