//! Tags (Paimon's `TagManager.java`).

use std::time::Duration;

use serde_json::Value;

use super::{CommitOutcome, LONGEST_NAME, after, remove};
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::jackson;
use crate::paimon::paths::{is_file_name, tag_file};
use crate::paimon::reach::{BranchRemoval, RootKind, duration};
use crate::paimon::table::Table;
use crate::paimon::write::CommitOptions;
use crate::paimon::write::commit::base::carried_of;
use crate::paimon::write::json::snapshot_object;
use crate::text::civil_from_days;
use crate::time::{MICROS_PER_SECOND, SECONDS_PER_DAY};
use crate::write::{ExistingFile, publish_new};

/// Creates or replaces a tag at the table's snapshot. Returns the table at the tag.
pub(super) fn create_tag(
    table: &Table,
    name: &str,
    retained: Option<Duration>,
    replace: bool,
    options: &CommitOptions,
) -> Result<Table> {
    let Some(snapshot) = table.snapshot() else {
        let message = "the table has no snapshot that a tag could name";
        return Err(Error::new(ErrorKind::SnapshotNotFound, message).in_file(table.location()));
    };
    let storage = table.storage().as_ref();
    if name.trim().is_empty() || !is_file_name(name) || name.len() > LONGEST_NAME {
        return Err(Error::new(
            ErrorKind::Argument,
            format!("not the name of a tag, which is a file's of at most {LONGEST_NAME} bytes: {name:?}"),
        ));
    }
    let retained = match retained {
        Some(retained) => Some(retained),
        None => default_retention(table)?,
    };
    let mut object = snapshot_object(snapshot, &carried_of(table)?)?;
    if let Some(retained) = retained {
        object.insert("tagCreateTime".to_owned(), wall_clock(options.wall_clock()?));
        object.insert("tagTimeRetained".to_owned(), retained.as_secs_f64().into());
    }
    let path = table.files().own(&tag_file(name));
    let text = jackson::pretty(&object)?;
    if replace {
        table.at_tag(name)?;
        storage.publish(&path, ExistingFile::Replace, text.as_bytes())?;
    } else {
        publish_new(storage, &path, text.as_bytes())?;
    }
    table.at_tag(name)
}

pub(super) fn delete_tag(table: &Table, name: &str) -> Result<CommitOutcome> {
    table.at_tag(name)?;
    let files = table.files();
    let path = files.own(&tag_file(name));
    let removal =
        BranchRemoval::of(&files, |root| root.kind == RootKind::Tag && root.path.as_ref() == Some(&path))?;
    let freed = removal.freed(table)?;
    remove(files.storage.as_ref(), &path)?;
    after(table, freed.rows()?)
}

/// How long tags are kept by default.
fn default_retention(table: &Table) -> Result<Option<Duration>> {
    let millis = duration(&table.latest_schema()?, "tag.default-time-retained")?;
    Ok(millis.and_then(|millis| u64::try_from(millis).ok()).map(Duration::from_millis))
}

/// Jackson's array form of a `LocalDateTime`: trailing seconds and nanoseconds that are 0 are left out.
fn wall_clock(micros: i64) -> Value {
    let seconds = micros.div_euclid(MICROS_PER_SECOND);
    let (year, month, day) = civil_from_days(seconds.div_euclid(SECONDS_PER_DAY));
    let of_day = seconds.rem_euclid(SECONDS_PER_DAY);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let nanos = micros.rem_euclid(MICROS_PER_SECOND) * 1000;
    let mut parts = vec![year, month, day, hour, minute];
    if (second, nanos) != (0, 0) {
        parts.push(second);
    }
    if nanos != 0 {
        parts.push(nanos);
    }
    parts.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_at_the_end_of_a_wall_clock_are_left_out() {
        let text = |micros| wall_clock(micros).to_string();
        assert_eq!(text(0), "[1970,1,1,0,0]");
        assert_eq!(text(61_000_000), "[1970,1,1,0,1,1]");
        assert_eq!(text(60_000_001), "[1970,1,1,0,1,0,1000]");
        assert_eq!(text(-1), "[1969,12,31,23,59,59,999999000]");
    }
}
