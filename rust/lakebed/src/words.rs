//! What the messages of every format say alike.

use std::fmt::{self, Debug, Display, Formatter};

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

/// Writes items with commas between them.
pub(crate) fn write_list<T: Display>(f: &mut Formatter<'_>, items: &[T]) -> fmt::Result {
    for (position, item) in items.iter().enumerate() {
        let comma = if position == 0 { "" } else { ", " };
        write!(f, "{comma}{item}")?;
    }
    Ok(())
}

/// Milliseconds since 1970 as text: `2026-11-21T08:33:08.882Z`.
pub(crate) fn instant(millis: i64) -> Result<String> {
    let mut text = String::new();
    let written = WallClock::from_epoch(millis, 1000).write_iso(&mut text);
    written.map_err(|_| Error::new(ErrorKind::Timestamp, format!("{millis} ms is out of range")))?;
    Ok(text + "Z")
}

/// What a message says where a name is none of those known: that, the known name it may be a slip of, and all of
/// those known.
pub(crate) fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let meant = closest(name, &known).map(|near| format!(" (did you mean {near:?}?)")).unwrap_or_default();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    format!("no {what} {name:?}{meant}; there are {known}")
}

/// The longest name that is compared letter by letter.
const LONGEST_COMPARED: usize = 64;

/// The first name of which it is a part; else the one that differs least, in no more than a third of its letters.
pub(crate) fn closest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let slips = |near: &&&str| near.len() <= LONGEST_COMPARED && name.len() <= LONGEST_COMPARED;
    let most = 1.max(name.chars().count() / 3);
    let distances = known.iter().filter(slips).map(|near| (distance(name, near), *near));
    let nearest = distances.filter(|(distance, _)| *distance <= most).min_by_key(|(distance, _)| *distance);
    // Of few letters there is a part in many names.
    let whole = known.iter().copied().find(|near| name.len() > 3 && near.contains(name));
    whole.or_else(|| nearest.map(|(_, near)| near))
}

/// How many letters are to be added, taken away or changed to make one text of the other, without regard to case.
fn distance(a: &str, b: &str) -> usize {
    let letters: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (1..=letters.len()).collect();
    for (before, x) in a.to_lowercase().chars().enumerate() {
        let (mut diagonal, mut left) = (before, before + 1);
        for (above, y) in row.iter_mut().zip(&letters) {
            let least = (diagonal + usize::from(x != *y)).min(*above + 1).min(left + 1);
            diagonal = std::mem::replace(above, least);
            left = least;
        }
    }
    row.last().copied().unwrap_or_else(|| a.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelling_differs_from_another_name() {
        let known = ["file_path", "file_format", "record_count", "file_size_in_bytes"];
        for (name, meant) in [
            ("file_pth", Some("file_path")),
            ("FILE_PATH", Some("file_path")),
            ("file_size", Some("file_size_in_bytes")),
            ("fileformat", Some("file_format")),
            ("size_in_bytes", Some("file_size_in_bytes")),
            ("bucket", None),
            ("", None),
        ] {
            assert_eq!(closest(name, &known), meant, "{name}");
        }
        assert_eq!(unknown("column", "a", []), "no column \"a\"; there are none");
        assert_eq!(unknown("tag", "v1", ["v2"]), "no tag \"v1\" (did you mean \"v2\"?); there are v2");
    }
}
