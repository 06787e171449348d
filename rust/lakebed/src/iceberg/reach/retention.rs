//! Which snapshots and refs a table's retention rules keep (Iceberg's `RemoveSnapshots.java`).

use std::collections::{HashMap, HashSet};
use std::str::FromStr;

use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::metadata::{MAIN, RefKind, SnapshotRef, TableMetadata};
use crate::reach::Retention;

/// The properties of the rules, and the engine's defaults.
const MAX_SNAPSHOT_AGE_MS: (&str, i64) = ("history.expire.max-snapshot-age-ms", 5 * 24 * 60 * 60 * 1000);
const MIN_SNAPSHOTS_TO_KEEP: (&str, i32) = ("history.expire.min-snapshots-to-keep", 1);
const MAX_REF_AGE_MS: (&str, i64) = ("history.expire.max-ref-age-ms", i64::MAX);
const GC_ENABLED: &str = "gc.enabled";

/// The kept snapshots, and the expired refs.
pub(in crate::iceberg) struct Kept {
    pub(in crate::iceberg) snapshots: HashSet<i64>,
    /// The names of expired branches and tags.
    pub(in crate::iceberg) gone: Vec<String>,
}

/// # Errors
/// `Unsupported` for a table whose files may belong to other tables too, so that none may be deleted; `Mismatch` for
/// one whose refs do not say which snapshots live, as `TableMetadata.java` refuses it.
pub(in crate::iceberg) fn check_deletable(metadata: &TableMetadata) -> Result<()> {
    // As `PropertyUtil.propertyAsBoolean` reads it.
    if metadata.property(GC_ENABLED).is_some_and(|value| !value.eq_ignore_ascii_case("true")) {
        let message = format!("{GC_ENABLED} is false: files of the table may belong to other tables too");
        return Err(Error::new(ErrorKind::Unsupported, message).in_field(GC_ENABLED));
    }
    let (main, current) = (metadata.refs.get(MAIN), metadata.current_snapshot_id);
    if let Some(main) = main.filter(|main| current != Some(main.snapshot_id)) {
        let current = current.map_or_else(|| "no snapshot".to_owned(), |id| format!("snapshot {id}"));
        let message = format!("branch {MAIN} is at snapshot {}, but {current} is current", main.snapshot_id);
        return Err(Error::new(ErrorKind::Mismatch, message).in_field("refs.main.snapshot-id"));
    }
    match metadata.lost.as_ref() {
        None => Ok(()),
        Some((name, id)) => {
            let message =
                format!("{name} is at snapshot {id}, which is not among the table's: its files are unknown");
            Err(Error::new(ErrorKind::Mismatch, message).in_field("refs"))
        }
    }
}

/// What is kept of `snapshots` (id, parent and commit time, in file order) and of the refs of `metadata`.
///
/// # Errors
/// `Mismatch` for a property that is not a number.
pub(in crate::iceberg) fn kept(
    metadata: &TableMetadata,
    snapshots: &[(i64, Option<i64>, i64)],
    retention: &Retention,
) -> Result<Kept> {
    let age = property(metadata, MAX_SNAPSHOT_AGE_MS)?;
    let rules = Rules {
        parents: snapshots.iter().map(|(id, parent, time)| (*id, (*parent, *time))).collect(),
        now: retention.now_ms,
        older_than: retention.older_than_ms.unwrap_or(retention.now_ms.saturating_sub(age)),
        least: match retention.retain_last {
            Some(least) => least,
            None => property(metadata, MIN_SNAPSHOTS_TO_KEEP)?,
        },
        max_ref_age: property(metadata, MAX_REF_AGE_MS)?,
    };
    let (stay, go): (Vec<_>, Vec<_>) =
        metadata.refs.iter().partition(|(name, one)| rules.keeps_ref(name, one));
    let (mut kept, mut referenced) = (HashSet::new(), HashSet::new());
    for (_, one) in stay {
        kept.insert(one.snapshot_id);
        if one.kind == RefKind::Branch {
            kept.extend(rules.of_branch(one));
            referenced.extend(rules.ancestors(one.snapshot_id).map(|(id, _)| id));
        } else {
            referenced.insert(one.snapshot_id);
        }
    }
    let young = snapshots.iter().filter(|(_, _, time)| *time >= rules.older_than).map(|(id, ..)| *id);
    kept.extend(young.filter(|id| !referenced.contains(id)));
    Ok(Kept { snapshots: kept, gone: go.into_iter().map(|(name, _)| name.clone()).collect() })
}

/// The errors of [`kept`] for the properties of a table, whichever are used.
pub(in crate::iceberg) fn wrong_properties(metadata: &TableMetadata) -> impl Iterator<Item = Error> {
    let ages = [MAX_SNAPSHOT_AGE_MS, MAX_REF_AGE_MS].map(|age| property(metadata, age).err());
    ages.into_iter().chain([property(metadata, MIN_SNAPSHOTS_TO_KEEP).err()]).flatten()
}

struct Rules {
    /// The parent and commit time of each snapshot.
    parents: HashMap<i64, (Option<i64>, i64)>,
    now: i64,
    older_than: i64,
    least: i32,
    max_ref_age: i64,
}

impl Rules {
    fn keeps_ref(&self, name: &str, one: &SnapshotRef) -> bool {
        let time = self.parents.get(&one.snapshot_id).map(|(_, time)| *time);
        let young =
            |time: i64| self.now.saturating_sub(time) <= one.max_ref_age_ms.unwrap_or(self.max_ref_age);
        name == MAIN || time.is_some_and(young)
    }

    /// The snapshots that a branch keeps: a minimum number, then those that are young enough.
    fn of_branch(&self, branch: &SnapshotRef) -> impl Iterator<Item = i64> + use<'_> {
        let older_than = branch.max_snapshot_age_ms.map(|age| self.now.saturating_sub(age));
        let older_than = older_than.unwrap_or(self.older_than);
        let least = branch.min_snapshots_to_keep.unwrap_or(self.least);
        let least = usize::try_from(least).unwrap_or(0);
        let ancestors = self.ancestors(branch.snapshot_id).enumerate();
        ancestors.take_while(move |(at, (_, time))| *at < least || *time >= older_than).map(|(_, (id, _))| id)
    }

    /// A snapshot and its existing ancestors, with their commit times.
    fn ancestors(&self, id: i64) -> impl Iterator<Item = (i64, i64)> + use<'_> {
        let mut next = Some(id);
        let lineage = std::iter::from_fn(move || {
            let id = next?;
            let (parent, time) = self.parents.get(&id)?;
            next = *parent;
            Some((id, *time))
        });
        // A path with more snapshots than exist is a cycle.
        lineage.take(self.parents.len())
    }
}

fn property<T: FromStr + Copy>(metadata: &TableMetadata, (key, default): (&str, T)) -> Result<T> {
    let Some(value) = metadata.property(key) else { return Ok(default) };
    value.trim().parse().map_err(|_| {
        Error::new(ErrorKind::Mismatch, format!("`{key}` is not a number: {value:?}")).in_field(key)
    })
}
