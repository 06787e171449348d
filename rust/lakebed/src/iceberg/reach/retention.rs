//! Which snapshots and refs a table's retention rules keep (Iceberg's `RemoveSnapshots.java`).

use std::collections::{HashMap, HashSet};
use std::str::FromStr;

use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::metadata::{MAIN, RefKind, SnapshotRef, TableMetadata};
use crate::reach::{Retention, ReviewedRemovals};

/// The properties of the rules, and the engine's defaults.
const MAX_SNAPSHOT_AGE_MS: (&str, i64) = ("history.expire.max-snapshot-age-ms", 5 * 24 * 60 * 60 * 1000);
const MIN_SNAPSHOTS_TO_KEEP: (&str, i32) = ("history.expire.min-snapshots-to-keep", 1);
const MAX_REF_AGE_MS: (&str, i64) = ("history.expire.max-ref-age-ms", i64::MAX);
const GC_ENABLED: &str = "gc.enabled";

/// The kept snapshots, and the expired refs.
pub(in crate::iceberg) struct KeptSnapshots {
    pub(in crate::iceberg) snapshots: HashSet<i64>,
    /// The names of expired branches and tags.
    pub(in crate::iceberg) gone: Vec<String>,
}

/// # Errors
/// `Unsupported` for a table whose files may belong to other tables too, so that none may be deleted; `Mismatch` for
/// one whose refs do not say which snapshots live, as `TableMetadata.java` refuses it. Both name `file`, which the
/// metadata is of.
pub(in crate::iceberg) fn check_deletable(metadata: &TableMetadata, file: &str) -> Result<()> {
    check_enabled(metadata).map_err(|error| error.in_file(file))?;
    // Those of a kind are about what is current and where the refs are.
    metadata.oddities.iter().find(|odd| odd.kind.is_some()).map_or(Ok(()), |odd| {
        let message = format!("{}: which files are in use is unknown", odd.message);
        Err(Error::new(ErrorKind::Mismatch, message).in_file(file).in_field("refs"))
    })
}

/// # Errors
/// `Unsupported` for a table whose files may belong to other tables too.
pub(super) fn check_enabled(metadata: &TableMetadata) -> Result<()> {
    // As `PropertyUtil.propertyAsBoolean` reads it.
    if metadata.property(GC_ENABLED).is_none_or(|value| value.eq_ignore_ascii_case("true")) {
        return Ok(());
    }
    let message = format!("{GC_ENABLED} is false: files of the table may belong to other tables too");
    Err(Error::new(ErrorKind::Unsupported, message).in_field(GC_ENABLED))
}

/// What is kept of `snapshots` (id, parent and commit time, in file order) and of the refs of `metadata`; of what was
/// reviewed, no more is removed.
///
/// # Errors
/// `Mismatch` for a property that is not a number.
pub(in crate::iceberg) fn kept(
    metadata: &TableMetadata,
    snapshots: &[(i64, Option<i64>, i64)],
    retention: &Retention,
    reviewed: Option<&ReviewedRemovals>,
) -> Result<KeptSnapshots> {
    let age = property(metadata, MAX_SNAPSHOT_AGE_MS)?;
    let rules = RetentionRules {
        parents: snapshots.iter().map(|(id, parent, time)| (*id, (*parent, *time))).collect(),
        now: retention.now_ms,
        older_than: retention.older_than_ms.unwrap_or(retention.now_ms.saturating_sub(age)),
        least: match retention.retain_last {
            Some(least) => least,
            None => property(metadata, MIN_SNAPSHOTS_TO_KEEP)?,
        },
        max_ref_age: property(metadata, MAX_REF_AGE_MS)?,
    };
    let may_go = |name: &String| reviewed.is_none_or(|reviewed| reviewed.refs.contains(name));
    let (stay, go): (Vec<_>, Vec<_>) =
        metadata.refs.iter().partition(|(name, one)| rules.keeps_ref(name, one) || !may_go(name));
    let mut kept: HashSet<i64> = stay.iter().map(|(_, one)| one.snapshot_id).collect();
    let is_branch = |(_, one): &&(&String, &SnapshotRef)| one.kind == RefKind::Branch;
    let branches: Vec<&SnapshotRef> = stay.iter().filter(is_branch).map(|(_, one)| *one).collect();
    // The ancestors of a snapshot that was reached were reached with it.
    let mut referenced = HashSet::new();
    for branch in &branches {
        let ancestors = rules.ancestors(branch.snapshot_id);
        ancestors.map(|(id, _)| id).take_while(|id| referenced.insert(*id)).for_each(drop);
    }
    referenced.extend(kept.iter().copied());
    rules.keep_of_branches(&branches, &mut kept);
    let young = snapshots.iter().filter(|(_, _, time)| *time >= rules.older_than).map(|(id, ..)| *id);
    kept.extend(young.filter(|id| !referenced.contains(id)));
    if let Some(reviewed) = reviewed {
        kept.extend(snapshots.iter().map(|(id, ..)| *id).filter(|id| !reviewed.snapshots.contains(id)));
    }
    Ok(KeptSnapshots { snapshots: kept, gone: go.into_iter().map(|(name, _)| name.clone()).collect() })
}

/// The errors of [`kept`] for the properties of a table, whichever are used.
pub(super) fn wrong_properties(metadata: &TableMetadata) -> impl Iterator<Item = Error> {
    let ages = [MAX_SNAPSHOT_AGE_MS, MAX_REF_AGE_MS].map(|age| property(metadata, age).err());
    ages.into_iter().chain([property(metadata, MIN_SNAPSHOTS_TO_KEEP).err()]).flatten()
}

/// Ages and times beyond 64 bits are bounds that nothing is behind: they saturate.
struct RetentionRules {
    /// The parent and commit time of each snapshot.
    parents: HashMap<i64, (Option<i64>, i64)>,
    now: i64,
    older_than: i64,
    least: i32,
    max_ref_age: i64,
}

impl RetentionRules {
    fn keeps_ref(&self, name: &str, one: &SnapshotRef) -> bool {
        let time = self.parents.get(&one.snapshot_id).map(|(_, time)| *time);
        let young =
            |time: i64| self.now.saturating_sub(time) <= one.max_ref_age_ms.unwrap_or(self.max_ref_age);
        name == MAIN || time.is_some_and(young)
    }

    /// Adds the snapshots that branches keep: of each a minimum number, then those that are young enough.
    ///
    /// Branches share most of their snapshots. Of those with the same rules the ones with fewer ancestors are
    /// walked first; where another one meets a snapshot later in its walk, it keeps no more from there on.
    fn keep_of_branches(&self, branches: &[&SnapshotRef], kept: &mut HashSet<i64>) {
        let mut heads: HashMap<(i64, usize), Vec<i64>> = HashMap::new();
        for branch in branches {
            let older_than = branch.max_snapshot_age_ms.map(|age| self.now.saturating_sub(age));
            let least = usize::try_from(branch.min_snapshots_to_keep.unwrap_or(self.least)).unwrap_or(0);
            let rule = (older_than.unwrap_or(self.older_than), least.min(self.parents.len()));
            heads.entry(rule).or_default().push(branch.snapshot_id);
        }
        let depths = self.depths();
        for ((older_than, least), mut heads) in heads {
            heads.sort_unstable_by_key(|head| depths.get(head));
            let mut reached: HashMap<i64, usize> = HashMap::new();
            for head in heads {
                let mut walk = self.ancestors(head).enumerate();
                while let Some((at, (id, time))) = walk.next()
                    && (at < least || time >= older_than)
                    && reached.get(&id).is_none_or(|earlier| at < *earlier)
                {
                    reached.insert(id, at);
                }
            }
            kept.extend(reached.into_keys());
        }
    }

    /// How many existing ancestors each snapshot has; fewer in a cycle.
    fn depths(&self) -> HashMap<i64, usize> {
        let mut depths = HashMap::with_capacity(self.parents.len());
        for id in self.parents.keys() {
            let (mut path, mut first) = (Vec::new(), 0_usize);
            for (id, _) in self.ancestors(*id) {
                if let Some(depth) = depths.get(&id) {
                    first = depth + 1;
                    break;
                }
                // Known from now on, for a cycle.
                depths.insert(id, 0);
                path.push(id);
            }
            depths.extend(path.into_iter().rev().zip(first..));
        }
        depths
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers below `end` that look random, the same in each run.
    fn numbers(mut state: u64) -> impl FnMut(u64) -> u64 {
        move |end| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % end
        }
    }

    /// What each branch keeps, walked alone.
    fn walked_alone(rules: &RetentionRules, branches: &[SnapshotRef]) -> HashSet<i64> {
        let of_branch = |branch: &SnapshotRef| {
            let least = usize::try_from(branch.min_snapshots_to_keep.unwrap_or(rules.least)).unwrap_or(0);
            let older_than = branch.max_snapshot_age_ms.map_or(rules.older_than, |age| rules.now - age);
            let ancestors = rules.ancestors(branch.snapshot_id).enumerate();
            let kept = ancestors.take_while(move |(at, (_, time))| *at < least || *time >= older_than);
            kept.map(|(_, (id, _))| id).collect::<Vec<_>>()
        };
        branches.iter().flat_map(of_branch).collect()
    }

    #[test]
    fn branches_that_share_snapshots_keep_what_each_keeps_alone() {
        for seed in 0..500 {
            let mut next = numbers(seed);
            let count = 1 + next(30) as i64;
            let parent = |id: i64, next: &mut dyn FnMut(u64) -> u64| match next(20) {
                0 => None,
                // A snapshot that expired, one that follows, and so perhaps a cycle.
                1 => Some(count + 1),
                2 => Some(next(count as u64) as i64),
                _ => Some((id - 1 - next(3) as i64).max(0)),
            };
            let parents = (0..count).map(|id| (id, (parent(id, &mut next), next(100) as i64))).collect();
            let (now, older_than, least) = (100, next(100) as i64, next(5) as i32);
            let rules = RetentionRules { parents, now, older_than, least, max_ref_age: i64::MAX };
            let rule = |next: &mut dyn FnMut(u64) -> u64| (next(3) == 0).then(|| next(40));
            let branch = |_| SnapshotRef {
                min_snapshots_to_keep: rule(&mut next).map(|least| least as i32),
                max_snapshot_age_ms: rule(&mut next).map(|age| age as i64),
                ..SnapshotRef::branch(next(count as u64) as i64)
            };
            let branches: Vec<SnapshotRef> = (0..8).map(branch).collect();
            let mut kept = HashSet::new();
            rules.keep_of_branches(&branches.iter().collect::<Vec<_>>(), &mut kept);
            assert_eq!(kept, walked_alone(&rules, &branches), "seed {seed}");
        }
    }
}
