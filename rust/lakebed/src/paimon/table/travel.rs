//! Time travel: the same table on another branch, at another snapshot, tag or time.

use std::sync::Arc;

use super::Table;
use super::files::{BranchFiles, Hint, not_found, subject};
use crate::error::Result;
use crate::paimon::paths::{MAIN, is_file_name, snapshot_file};
use crate::paimon::schema::TableSchema;
use crate::paimon::snapshot::Snapshot;
use crate::pipeline::both;
use crate::storage::present;
use crate::table::HintAhead;
use crate::words::{instant, listed};

/// How many snapshots are read at once for their time.
const PROBES: usize = 16;

impl Table {
    /// The table on another branch, at that branch's latest snapshot with its latest schema; `main` is the
    /// table itself.
    ///
    /// # Errors
    /// `SnapshotNotFound` for a branch without a schema, with the names of existing branches; those of
    /// [`Table::open`].
    pub fn at_branch(&self, branch: &str) -> Result<Table> {
        self.at_branch_hinted(branch).map(|(table, _)| table)
    }

    /// The same, and the hint that the branch had.
    fn at_branch_hinted(&self, branch: &str) -> Result<(Table, Hint)> {
        let files = self.files().of_branch(branch);
        let latest = if is_file_name(branch) { files.latest(files.latest_hint(1))? } else { None };
        let Some(Latest { snapshot, schema, hint }) = latest else {
            let mut names = vec![MAIN.to_owned()];
            names.extend(files.branch_names()?);
            return Err(not_found(&files, format!("no branch {branch:?}; there {}", listed(&names))));
        };
        let (snapshot, schema) = (snapshot.map(Arc::new), Arc::new(schema));
        Ok((Table { core: self.core.at(branch, None), snapshot, schema }, hint))
    }

    /// The table at another snapshot of its branch, with the schema of that snapshot. As in Paimon, tags and
    /// long-lived changelogs do not replace an expired snapshot.
    ///
    /// # Errors
    /// `SnapshotNotFound`, with the range of existing snapshots.
    pub fn at_snapshot(&self, id: i64) -> Result<Table> {
        let files = self.files();
        match present(files.snapshot(id))? {
            Some(snapshot) => self.pinned_at(None, snapshot),
            None => Err(not_found(&files, format!("no snapshot {id}; {}", range(&files)?))),
        }
    }

    /// The table at a tag of its branch, with the schema of the tag's snapshot. The snapshot may have
    /// expired: the tag holds it.
    ///
    /// # Errors
    /// `SnapshotNotFound`, with the names of existing tags.
    pub fn at_tag(&self, name: &str) -> Result<Table> {
        let files = self.files();
        let tag = if is_file_name(name) { present(files.tag(name))? } else { None };
        match tag {
            Some(tag) => self.pinned_at(Some(name), tag.snapshot),
            None => {
                let names = files.tag_names()?;
                let on = if files.branch == MAIN {
                    String::new()
                } else {
                    format!(" on {}", subject(files.branch))
                };
                Err(not_found(&files, format!("no tag {name:?}{on}; there {}", listed(&names))))
            }
        }
    }

    /// The table at the latest snapshot of its branch with a commit time of at most `millis` since 1970 UTC,
    /// with the schema of that snapshot.
    ///
    /// Lists the snapshots and reads some of them. Commit times ascend with the ids: several snapshots at
    /// equal distances are read in parallel, then the search continues between two of them.
    ///
    /// # Errors
    /// `SnapshotNotFound` for a time before the first snapshot, with the range of existing ones.
    pub fn at_timestamp(&self, millis: i64) -> Result<Table> {
        let files = self.files();
        match files.snapshot_at(millis)? {
            Some(snapshot) => self.pinned_at(None, snapshot),
            None => {
                let (asked, there) = (instant(millis)?, range(&files)?);
                Err(not_found(&files, format!("no snapshot at {asked} or before; {there}")))
            }
        }
    }

    /// The table at the earliest snapshot of its branch whose watermark is at least `watermark`, with the
    /// schema of that snapshot: the first one that has all rows until then. Snapshots without a watermark are
    /// skipped.
    ///
    /// Reads the snapshots from the earliest on, a growing number at once.
    ///
    /// # Errors
    /// `SnapshotNotFound` where no snapshot has such a watermark.
    pub fn at_watermark(&self, watermark: i64) -> Result<Table> {
        let files = self.files();
        for snapshot in files.snapshots_from_earliest()? {
            // A missing one has expired since it was listed.
            let Some(snapshot) = snapshot? else { continue };
            if snapshot.watermark.is_some_and(|has| has != i64::MIN && has >= watermark) {
                return self.pinned_at(None, snapshot);
            }
        }
        let there = range(&files)?;
        Err(not_found(&files, format!("no snapshot with a watermark of {watermark} or later; {there}")))
    }

    /// The table at a snapshot that was committed just now.
    pub(crate) fn standing_at(&self, snapshot: Snapshot) -> Result<Table> {
        self.pinned_at(None, snapshot)
    }

    /// The same table with the manifest lists of another snapshot, read by the table's schema.
    pub(crate) fn at_lists_of(&self, snapshot: &Snapshot) -> Table {
        Table { snapshot: Some(Arc::new(snapshot.clone())), ..self.clone() }
    }

    /// The table at the latest snapshot of its branch, with the branch's latest schema.
    pub(crate) fn latest(&self) -> Result<Table> {
        self.at_branch(&self.branch)
    }

    /// The same, and the hint that the branch had.
    pub(crate) fn latest_hinted(&self) -> Result<(Table, Hint)> {
        self.at_branch_hinted(&self.branch)
    }

    fn pinned_at(&self, tag: Option<&str>, snapshot: Snapshot) -> Result<Table> {
        let schema = Arc::new(self.files().schema(snapshot.schema_id)?);
        Ok(Table { core: self.core.at(&self.branch, tag), snapshot: Some(Arc::new(snapshot)), schema })
    }
}

/// The latest version of a branch, and the hint that led to it.
pub(super) struct Latest {
    pub(super) snapshot: Option<Snapshot>,
    pub(super) schema: TableSchema,
    hint: Hint,
}

impl BranchFiles<'_> {
    /// The branch's latest snapshot, by its hint, and latest schema; `None` without a schema.
    pub(super) fn latest(&self, hint: HintAhead) -> Result<Option<Latest>> {
        let Some(latest) = self.schema_ids()?.pop() else {
            hint.end(self.storage.as_ref())?;
            return Ok(None);
        };
        let (files, hint) = (self.owned(), Hint::of(hint.result(self.storage.as_ref())??));
        let snapshot = move || files.borrowed().snapshot_from(hint);
        let (schema, snapshot) = both(self.storage.as_ref(), || self.schema(latest), snapshot)?;
        Ok(Some(Latest { snapshot: snapshot?, schema, hint }))
    }

    /// The latest snapshot with a commit time of at most `millis`.
    fn snapshot_at(&self, millis: i64) -> Result<Option<Snapshot>> {
        let mut ids = self.snapshot_ids()?;
        let probes = self.storage.concurrent_reads().unwrap_or(1).min(PROBES);
        let mut found = None;
        while !ids.is_empty() {
            let asked = spread(&ids, probes);
            ids.retain(|id| !asked.contains(id));
            // Some of them may have expired since they were listed.
            for (id, snapshot) in self.each(asked, |id| snapshot_file(*id), Snapshot::from_json)? {
                if snapshot.time_millis > millis {
                    ids.retain(|other| *other < id);
                    break;
                }
                ids.retain(|other| *other > id);
                found = Some(snapshot);
            }
        }
        Ok(found)
    }
}

/// At most `count` of `ids`, at equal distances.
fn spread(ids: &[i64], count: usize) -> Vec<i64> {
    let place = |number: usize| ids.get((number + 1) * ids.len() / (count + 1)).copied();
    let mut spread: Vec<i64> = (0..count).filter_map(place).collect();
    spread.dedup();
    spread
}

/// The range of existing snapshots, and the time of the first, in words.
pub(super) fn range(files: &BranchFiles<'_>) -> Result<String> {
    let (ids, subject) = (files.snapshot_ids()?, subject(files.branch));
    let (Some(first), Some(last)) = (ids.first(), ids.last()) else {
        return Ok(format!("{subject} has none"));
    };
    let since = match present(files.snapshot(*first))? {
        Some(snapshot) => format!(", the first committed at {}", instant(snapshot.time_millis)?),
        None => String::new(),
    };
    Ok(format!("{subject} has {first} to {last}{since}"))
}
