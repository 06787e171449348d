//! Which snapshots and changelogs expire by a table's options (Paimon's `ExpireSnapshotsImpl.java`,
//! `ExpireChangelogImpl.java`, `ExpireConfig.java`).

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use super::snapshot_roots::{RootKind, SnapshotRoot};
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::consumer::Consumer;
use crate::paimon::paths::consumer_file;
use crate::paimon::schema::TableSchema;
use crate::paimon::table::Table;
use crate::reach::{Retention, ReviewedRemovals};

/// The engine's default where the option is not set.
pub(in crate::paimon) const RETAIN_MIN: i64 = 10;
pub(in crate::paimon) const RETAIN_MAX: i64 = i32::MAX as i64;
const TIME_RETAINED_MS: i64 = 60 * 60 * 1000;
const EXPIRE_LIMIT: i64 = 50;

/// Units of Paimon's durations, in nanoseconds (`TimeUtils.java`).
const UNITS: [(&[&str], i128); 7] = [
    (&["d", "day", "days"], 86_400_000_000_000),
    (&["h", "hour", "hours"], 3_600_000_000_000),
    (&["min", "m", "minute", "minutes"], 60_000_000_000),
    (&["s", "sec", "secs", "second", "seconds"], 1_000_000_000),
    (&["", "ms", "milli", "millis", "millisecond", "milliseconds"], 1_000_000),
    (&["µs", "micro", "micros", "microsecond", "microseconds"], 1_000),
    (&["ns", "nano", "nanos", "nanosecond", "nanoseconds"], 1),
];

/// How many are kept, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RetentionLimits {
    max: i64,
    min: i64,
    time_ms: i64,
}

/// Marks what expires of the branch that the table is on, and adds the changelogs that expired snapshots
/// leave behind; these expire by rules of their own. What was not reviewed stays, and whatever is later. Reads the
/// consumers.
///
/// # Errors
/// `Mismatch` for an option that is not a number or duration, `Argument` where the maximum to keep is below
/// the minimum; those of reading the consumers.
pub(super) fn expire(
    table: &Table,
    roots: &mut Vec<SnapshotRoot>,
    retention: &Retention,
    reviewed: Option<&ReviewedRemovals>,
) -> Result<()> {
    let rules = RetentionRules::new(table, retention)?;
    let of_branch = |roots: &[SnapshotRoot], kind: RootKind| -> BTreeMap<i64, i64> {
        let of = roots.iter().filter(|one| one.kind == kind && one.is_of(table.branch()));
        of.map(|one| (one.snapshot.id, one.snapshot.time_millis)).collect()
    };
    let snapshots = of_branch(roots, RootKind::Snapshot);
    let Some((&latest, _)) = snapshots.last_key_value() else { return Ok(()) };
    let end = rules.end_of_snapshots(&snapshots, latest);
    let end = reviewed.map_or(end, |reviewed| end.min(first_other(&snapshots, &reviewed.snapshots)));
    let mut made = Vec::new();
    let own = roots.iter_mut().filter(|one| one.is_of(table.branch()));
    for one in own.filter(|one| one.kind == RootKind::Snapshot && one.snapshot.id < end) {
        one.root.is_removed = true;
        made.push(one.changelog_of());
    }
    if !rules.is_decoupled() {
        return Ok(());
    }
    roots.append(&mut made);
    let changelogs = of_branch(roots, RootKind::Changelog);
    let end = rules.end_of_changelogs(&changelogs, latest);
    let end = reviewed.map_or(end, |reviewed| end.min(first_other(&changelogs, &reviewed.changelogs)));
    let own = roots.iter_mut().filter(|one| one.is_of(table.branch()));
    for one in own.filter(|one| one.kind == RootKind::Changelog && one.snapshot.id < end) {
        one.root.is_removed = true;
    }
    Ok(())
}

/// The first that was not reviewed. There are no gaps between what is kept.
fn first_other(times: &BTreeMap<i64, i64>, reviewed: &BTreeSet<i64>) -> i64 {
    times.keys().find(|id| !reviewed.contains(id)).copied().unwrap_or(i64::MAX)
}

/// What a table's options say of how much is kept.
struct ExpireConfig {
    snapshots: RetentionLimits,
    changelogs: RetentionLimits,
    /// The most snapshots that expire at a time.
    at_a_time: i64,
}

impl ExpireConfig {
    fn new(schema: &TableSchema, retention: &Retention) -> Result<ExpireConfig> {
        let time_ms = match retention.older_than_ms {
            Some(time) => retention.now_ms.saturating_sub(time),
            None => duration(schema, "snapshot.time-retained")?.unwrap_or(TIME_RETAINED_MS),
        };
        let min = match retention.retain_last {
            Some(least) => i64::from(least),
            None => number(schema, "snapshot.num-retained.min")?.unwrap_or(RETAIN_MIN),
        };
        let max = number(schema, "snapshot.num-retained.max")?.unwrap_or(RETAIN_MAX);
        let snapshots = RetentionLimits { max, min, time_ms };
        let changelogs = RetentionLimits {
            max: number(schema, "changelog.num-retained.max")?.unwrap_or(max),
            min: number(schema, "changelog.num-retained.min")?.unwrap_or(min),
            time_ms: duration(schema, "changelog.time-retained")?.unwrap_or(time_ms),
        };
        for (what, RetentionLimits { max, min, .. }) in [("snapshot", snapshots), ("changelog", changelogs)] {
            if max < min {
                let message =
                    format!("{what}.num-retained.max is {max}, fewer than the {min} that are kept at least");
                return Err(Error::new(ErrorKind::Argument, message));
            }
        }
        let at_a_time = number(schema, "snapshot.expire.limit")?.unwrap_or(EXPIRE_LIMIT);
        Ok(ExpireConfig { snapshots, changelogs, at_a_time })
    }
}

/// Checks the options by which snapshots and changelogs expire.
///
/// # Errors
/// Those of [`expire`] for the options.
pub(in crate::paimon) fn check_options(schema: &TableSchema) -> Result<()> {
    let by_options = Retention { older_than_ms: None, retain_last: None, now_ms: 0 };
    ExpireConfig::new(schema, &by_options).map(|_| ())
}

/// Ids and times beyond 64 bits are bounds that nothing is behind: they saturate.
struct RetentionRules {
    snapshots: RetentionLimits,
    changelogs: RetentionLimits,
    /// The most snapshots that expire at a time.
    limit: i64,
    /// The first snapshot that a consumer has not read.
    consumed: i64,
    /// Whether consumers keep only changelogs.
    consumers_keep_changelogs: bool,
    now: i64,
}

impl RetentionRules {
    fn new(table: &Table, retention: &Retention) -> Result<RetentionRules> {
        let schema = table.latest_schema()?;
        let ExpireConfig { snapshots, changelogs, at_a_time } = ExpireConfig::new(&schema, retention)?;
        let files = table.files();
        let consumers = files.each(files.consumer_ids()?, |id| consumer_file(id), Consumer::from_json)?;
        Ok(RetentionRules {
            snapshots,
            changelogs,
            limit: at_a_time,
            consumed: consumers.iter().map(|(_, consumer)| consumer.next_snapshot).min().unwrap_or(i64::MAX),
            consumers_keep_changelogs: schema
                .option("consumer.changelog-only")
                .is_some_and(|value| value.eq_ignore_ascii_case("true")),
            now: retention.now_ms,
        })
    }

    /// Whether expired snapshots leave their changelogs behind.
    fn is_decoupled(&self) -> bool {
        let (one, other) = (self.changelogs, self.snapshots);
        one.max > other.max || one.min > other.min || one.time_ms > other.time_ms
    }

    /// The first snapshot that is kept.
    fn end_of_snapshots(&self, times: &BTreeMap<i64, i64>, latest: i64) -> i64 {
        let Some((&earliest, _)) = times.first_key_value() else { return i64::MIN };
        let kept = self.snapshots;
        let mut end = latest.saturating_sub(kept.min).saturating_add(1);
        if !self.consumers_keep_changelogs {
            end = end.min(self.consumed);
        }
        end = end.min(earliest.saturating_add(self.limit));
        let start = latest.saturating_sub(kept.max).saturating_add(1).max(earliest);
        self.first_young(times, start, end, kept).unwrap_or(end)
    }

    /// The first changelog that is kept.
    fn end_of_changelogs(&self, times: &BTreeMap<i64, i64>, latest: i64) -> i64 {
        let (Some((&earliest, _)), Some((&last, _))) = (times.first_key_value(), times.last_key_value())
        else {
            return i64::MIN;
        };
        let kept = self.changelogs;
        let mut end = latest.saturating_sub(kept.min).saturating_add(1).min(self.consumed);
        end = end.min(earliest.saturating_add(self.limit)).min(last);
        if end <= earliest {
            return i64::MIN;
        }
        let start = latest.saturating_sub(kept.max).saturating_add(1).max(earliest);
        self.first_young(times, start, end.saturating_add(1), kept).unwrap_or(end)
    }

    /// The first of these that is too young to expire.
    fn first_young(
        &self,
        times: &BTreeMap<i64, i64>,
        start: i64,
        end: i64,
        kept: RetentionLimits,
    ) -> Option<i64> {
        let older_than = self.now.saturating_sub(kept.time_ms);
        if start >= end {
            return None;
        }
        times.range(start..end).find(|(_, time)| older_than <= **time).map(|(id, _)| *id)
    }
}

fn number(schema: &TableSchema, key: &str) -> Result<Option<i64>> {
    let Some(value) = schema.option(key) else { return Ok(None) };
    i32::from_str(value.trim()).map(|number| Some(number.into())).map_err(|_| wrong(key, "number", value))
}

/// The value of an option, in milliseconds.
///
/// # Errors
/// `Mismatch` for a value that is not a duration.
pub(in crate::paimon) fn duration(schema: &TableSchema, key: &str) -> Result<Option<i64>> {
    let Some(value) = schema.option(key) else { return Ok(None) };
    millis(value).map(Some).ok_or_else(|| wrong(key, "duration", value))
}

/// The milliseconds of a text such as `1 h`; what does not fit 64 bits is for ever.
fn millis(text: &str) -> Option<i64> {
    let text = text.trim();
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let (number, unit) = (number.parse::<i64>().ok()?, unit.trim().to_lowercase());
    let (_, nanos) = UNITS.iter().find(|(labels, _)| labels.contains(&unit.as_str()))?;
    Some(i64::try_from(i128::from(number) * nanos / 1_000_000).unwrap_or(i64::MAX))
}

#[cold]
fn wrong(key: &str, kind: &str, value: &str) -> Error {
    Error::new(ErrorKind::Mismatch, format!("`{key}` is not a {kind}: {value:?}")).in_field(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(kept: RetentionLimits) -> RetentionRules {
        let (limit, consumed, now) = (50, i64::MAX, 1_000);
        RetentionRules {
            snapshots: kept,
            changelogs: kept,
            limit,
            consumed,
            consumers_keep_changelogs: false,
            now,
        }
    }

    /// Snapshots 3 to 9, committed at 300 to 900.
    fn times() -> BTreeMap<i64, i64> {
        (3..=9).map(|id| (id, id * 100)).collect()
    }

    #[test]
    fn the_first_that_is_kept_is_the_engines() {
        let all = RetentionLimits { max: RETAIN_MAX, min: 1, time_ms: 0 };
        let end = |rules: RetentionRules| rules.end_of_snapshots(&times(), 9);
        assert_eq!(end(rules(all)), 9);
        assert_eq!(end(rules(RetentionLimits { min: 3, ..all })), 7);
        assert_eq!(end(rules(RetentionLimits { time_ms: 400, ..all })), 6, "as old as the time is young");
        assert_eq!(
            end(rules(RetentionLimits { max: 2, time_ms: 900, ..all })),
            8,
            "beyond the maximum, the oldest expire at any age"
        );
        assert_eq!(end(RetentionRules { limit: 2, ..rules(all) }), 5);
        assert_eq!(end(RetentionRules { consumed: 4, ..rules(all) }), 4);
        assert_eq!(end(RetentionRules { consumed: 4, consumers_keep_changelogs: true, ..rules(all) }), 9);
        assert_eq!(rules(all).end_of_changelogs(&times(), 20), 9, "the last changelog is kept");
    }

    #[test]
    fn durations_are_read_as_in_java() {
        for (text, expected) in [
            ("1 h", Some(3_600_000)),
            ("10min", Some(600_000)),
            (" 7 Days ", Some(604_800_000)),
            ("1500", Some(1500)),
            ("1999 µs", Some(1)),
            ("9223372036854775807 d", Some(i64::MAX)),
            ("h", None),
            ("1 week", None),
            ("", None),
            ("-1 h", None),
        ] {
            assert_eq!(millis(text), expected, "{text:?}");
        }
    }
}
