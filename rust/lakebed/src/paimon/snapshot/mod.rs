//! `snapshot-<N>`, `changelog-<N>` and `tag-<name>` files (Paimon's `Snapshot.java`, `Tag.java`).
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::paths::is_file_name;
use crate::error::Result;
use crate::json::{self, invalid};
use crate::text::days_from_civil;

/// One commit: the manifest lists that make up the table, who wrote them, and when.
///
/// Keys that are absent and keys that are `null` both become `None`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// Version of the file format: 1 where the file has none, 3 since Paimon 0.4.
    #[serde(default = "version_one", deserialize_with = "version")]
    pub version: i32,
    /// Identity of this snapshot (Paimon ≥ 2.0).
    pub uuid: Option<String>,
    /// The number in the file's name, from 1.
    pub id: i64,
    /// The schema to read with; 0 where the file has none.
    #[serde(default)]
    pub schema_id: i64,
    /// File name of the manifest list of everything live before this commit.
    pub base_manifest_list: String,
    /// Its size in bytes.
    pub base_manifest_list_size: Option<i64>,
    /// File name of the manifest list of this commit's changes.
    pub delta_manifest_list: String,
    /// Its size in bytes.
    pub delta_manifest_list_size: Option<i64>,
    /// File name of the manifest list of changelog files.
    pub changelog_manifest_list: Option<String>,
    /// Its size in bytes.
    pub changelog_manifest_list_size: Option<i64>,
    /// File name of the index manifest: all live index files.
    pub index_manifest: Option<String>,
    /// Who committed. Together with `commit_identifier` it makes commits idempotent.
    pub commit_user: String,
    /// Version text of the writer (Paimon ≥ 2.1).
    pub writer_version: Option<String>,
    /// Checkpoint id of a streaming writer, `i64::MAX` of a batch writer.
    pub commit_identifier: i64,
    /// The kind of the commit.
    pub commit_kind: CommitKind,
    /// When committed, milliseconds since 1970 UTC.
    pub time_millis: i64,
    /// Rows of all live files.
    pub total_record_count: Option<i64>,
    /// Rows of added files minus rows of deleted files.
    pub delta_record_count: Option<i64>,
    /// Rows of changelog files.
    pub changelog_record_count: Option<i64>,
    /// The event time before which all rows have arrived, `i64::MIN` for none yet.
    pub watermark: Option<i64>,
    /// File name of the statistics, in the folder `statistics`.
    pub statistics: Option<String>,
    /// User-defined key-value pairs, in file order.
    #[serde(default, deserialize_with = "properties", serialize_with = "object")]
    pub properties: Option<Vec<(String, String)>>,
    /// The first unused row id.
    pub next_row_id: Option<i64>,
    /// The offsets of a log system that the commit includes, by bucket (Paimon ≤ 1.3).
    pub log_offsets: Option<BTreeMap<i32, i64>>,
    /// What the commit did, such as `WRITE` or `MERGE` (Paimon ≥ 2.0).
    pub operation: Option<String>,
}

/// The kind of a commit (Paimon's `Snapshot.CommitKind`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum CommitKind {
    /// New files.
    Append,
    /// Files rewritten with the same rows.
    Compact,
    /// Partitions replaced, or rows deleted.
    Overwrite,
    /// Statistics computed.
    Analyze,
}

impl CommitKind {
    /// The name in the file, in upper case.
    pub const fn name(self) -> &'static str {
        match self {
            CommitKind::Append => "APPEND",
            CommitKind::Compact => "COMPACT",
            CommitKind::Overwrite => "OVERWRITE",
            CommitKind::Analyze => "ANALYZE",
        }
    }
}

impl Snapshot {
    /// Reads a snapshot or long-lived changelog file.
    ///
    /// Unknown keys are ignored.
    ///
    /// # Errors
    /// `ErrorKind::Json` for JSON that does not parse, a missing key (named in the message) of
    /// `id`, `baseManifestList`, `deltaManifestList`, `commitUser`, `commitIdentifier`,
    /// `commitKind` and `timeMillis`, an unknown commit kind, a negative id or size, and a file
    /// name with a path in it.
    pub fn from_json(json: &[u8]) -> Result<Snapshot> {
        let snapshot: Snapshot = json::parse(json)?;
        snapshot.check()?;
        Ok(snapshot)
    }

    fn check(&self) -> Result<()> {
        let numbers = [
            ("id", Some(self.id)),
            ("schemaId", Some(self.schema_id)),
            ("baseManifestListSize", self.base_manifest_list_size),
            ("deltaManifestListSize", self.delta_manifest_list_size),
            ("changelogManifestListSize", self.changelog_manifest_list_size),
        ];
        if let Some((key, Some(number))) = numbers.into_iter().find(|(_, n)| n.is_some_and(|n| n < 0)) {
            return Err(invalid(format!("`{key}` is negative: {number}")));
        }
        let names = [
            ("baseManifestList", Some(&self.base_manifest_list)),
            ("deltaManifestList", Some(&self.delta_manifest_list)),
            ("changelogManifestList", self.changelog_manifest_list.as_ref()),
            ("indexManifest", self.index_manifest.as_ref()),
            ("statistics", self.statistics.as_ref()),
        ];
        match names.into_iter().find(|(_, name)| name.is_some_and(|name| !is_file_name(name))) {
            Some((key, Some(name))) => Err(invalid(format!("`{key}` is not a file name: {name:?}"))),
            _ => Ok(()),
        }
    }
}

/// A tag: a snapshot that is kept under a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Tag {
    /// The snapshot.
    pub snapshot: Snapshot,
    /// When the tag was made, by the writer's wall clock, as microseconds since 1970-01-01T00:00; only where
    /// a retention was given.
    pub create_time_micros: Option<i64>,
    /// How long the tag is kept; only where a retention was given.
    pub time_retained: Option<Duration>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Retention {
    tag_create_time: Option<Vec<i64>>,
    tag_time_retained: Option<f64>,
}

impl Tag {
    /// Reads a tag file.
    ///
    /// # Errors
    /// As [`Snapshot::from_json`]; also `ErrorKind::Json` for a create time that is not
    /// `[year, month, day, hour, minute(, second(, nanosecond))]`, and for a retention that is
    /// not a number of seconds from 0.
    pub fn from_json(json: &[u8]) -> Result<Tag> {
        let snapshot = Snapshot::from_json(json)?;
        let Retention { tag_create_time, tag_time_retained } = json::parse(json)?;
        let create_time = |fields: Vec<i64>| {
            wall_clock_micros(&fields)
                .ok_or_else(|| invalid(format!("`tagCreateTime` is not a wall clock: {fields:?}")))
        };
        let retained = |seconds| {
            Duration::try_from_secs_f64(seconds)
                .map_err(|_| invalid(format!("`tagTimeRetained` is not a duration: {seconds}")))
        };
        Ok(Tag {
            snapshot,
            create_time_micros: tag_create_time.map(create_time).transpose()?,
            time_retained: tag_time_retained.map(retained).transpose()?,
        })
    }
}

/// Jackson's array form of a `LocalDateTime` as microseconds since 1970-01-01T00:00.
#[allow(clippy::arithmetic_side_effects, reason = "each number is compared with its range first")]
fn wall_clock_micros(fields: &[i64]) -> Option<i64> {
    let &[year, month, day, hour, minute, ref rest @ ..] = fields else { return None };
    let (second, nano) = match *rest {
        [] => (0, 0),
        [second] => (second, 0),
        [second, nano] => (second, nano),
        _ => return None,
    };
    let in_range = (-9999..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..60).contains(&second)
        && (0..1_000_000_000).contains(&nano);
    let seconds = || ((days_from_civil(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    in_range.then(|| seconds() * 1_000_000 + nano / 1000)
}

/// The version of a file that has none.
fn version_one() -> i32 {
    1
}

/// Null is not a version.
fn version<'de, D: Deserializer<'de>>(from: D) -> Result<i32, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_else(version_one))
}

fn properties<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<(String, String)>>, D::Error> {
    #[derive(Deserialize)]
    struct Strings(#[serde(deserialize_with = "json::strings")] Vec<(String, String)>);
    Ok(Option::<Strings>::deserialize(from)?.map(|Strings(pairs)| pairs))
}

/// Pairs as a JSON object.
#[allow(clippy::ref_option)] // what serde passes
fn object<S: Serializer>(pairs: &Option<Vec<(String, String)>>, to: S) -> Result<S::Ok, S::Error> {
    match pairs {
        Some(pairs) => to.collect_map(pairs.iter().map(|(key, value)| (key, value))),
        None => to.serialize_none(),
    }
}
