//! Adds and removes files in one snapshot (Iceberg's `MergingSnapshotProducer.java`, with `FastAppend.java`,
//! `StreamingDelete.java`, `BaseOverwriteFiles.java`, `BaseRowDelta.java`, `BaseRewriteFiles.java`).

use arrow_array::{Array, BooleanArray, Int32Array, Int64Array, StringArray};

use super::attempt::{Outcome, PendingSnapshot, StateChange};
use super::base::Base;
use super::described::DescribedFiles;
use super::entries::{CommitEntries, rows_where, with_status};
use super::filter::FileFilter;
use super::history::History;
use super::input_files::{InputFiles, entries_of, written_path};
use super::merge::{SnapshotManifest, merge, stored};
use super::select::{ManifestSelection, Paths, Removals, Targets};
use super::store::{EncodedManifest, count_files, encode_manifest, encode_manifests};
use super::summary::Summary;
use super::uncommitted::UncommittedFiles;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::fields::POSITION_DELETES;
use crate::iceberg::manifest::{DELETED, EXISTING};
use crate::iceberg::manifest_list::DELETES;
use crate::iceberg::table::TableTypes;
use crate::iceberg::write::{FormatVersion, ManifestContent};

/// The purpose of a change of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileChangeKind {
    /// Data files are added.
    Append,
    /// Data files are removed.
    Delete,
    /// Data files are replaced.
    Overwrite,
    /// Rows are deleted, and others added.
    RowDelta,
    /// The same rows are put into other files.
    Replace,
}

/// Which concurrent changes are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// None that the change would have had to read.
    Serializable,
    /// New deletes in the removed files are not allowed.
    Snapshot,
    /// All but deletion vectors for, and removals of, files that the change adds deletes for.
    None,
}

/// Files to add and remove.
#[derive(Debug)]
pub struct FileChange {
    /// The purpose.
    pub kind: FileChangeKind,
    /// Data files to add.
    pub data: Option<InputFiles>,
    /// Delete files and deletion vectors to add.
    pub deletes: Option<InputFiles>,
    /// Data files to remove, by path.
    pub removed: Vec<String>,
    /// Delete files to remove, by path.
    pub removed_deletes: Vec<String>,
    /// Deletion vectors to remove, by path and offset, of data files that are not live. Others are removed with their
    /// data file, or when a new vector replaces them.
    pub removed_vectors: Vec<(String, i64)>,
    /// What is wrong in the manifests, and is repaired.
    pub repairs: Repairs,
    /// Data files all of whose rows match are removed.
    pub filter: Option<String>,
    /// The data sequence number of the added data files, if it is not the commit's.
    pub data_sequence_number: Option<i64>,
    /// The snapshot that the change started from; `None` before the first.
    pub since: Option<i64>,
    /// Which changes since then are allowed.
    pub isolation: Isolation,
    /// The rows that the change depends on, to find conflicts; `None` for the filter, or all rows.
    pub conflict_filter: Option<String>,
    /// Whether small manifests are merged, by the table's properties.
    pub merge: bool,
    /// Additional keys of the snapshot's summary.
    pub properties: Vec<(String, String)>,
}

/// Repairs of manifests. What they drop leaves no trace: an entry of a deleted file would be one of a file that is live,
/// which engines may remove. Paths but those of manifests are those in the table's entries.
#[derive(Debug, Default)]
pub struct Repairs {
    /// Whether rows may be read again that removed vectors of live files delete.
    pub restores_rows: bool,
    /// Manifests to leave out of the list, by path: those that cannot be read.
    pub left_out: Vec<String>,
    /// Files that are listed more than once, by path, and for deletion vectors by offset: of their entries the one with
    /// the lowest sequence number stays.
    pub duplicates: Vec<FileName>,
    /// Deletes of a single data file that are listed in another partition or spec than it, and are listed in its.
    pub moved: Vec<FileName>,
    /// Data files with more than one deletion vector, which get one with the positions of all.
    pub merged: Vec<String>,
    /// What live data files say of themselves, in place of what is recorded: size, number of rows and metrics.
    pub described: Option<InputFiles>,
}

/// The path of a file, and for a deletion vector in it its offset.
pub type FileName = (String, Option<i64>);

impl FileChange {
    /// The operation of the snapshot.
    fn operation(&self) -> &'static str {
        let some = |given: &Option<InputFiles>| given.as_ref().is_some_and(|given| !given.is_empty());
        let (adds, deletes) = (some(&self.data), some(&self.deletes));
        let removes = !self.removed.is_empty() || self.filter.is_some();
        match self.kind {
            FileChangeKind::Append => "append",
            FileChangeKind::Delete => "delete",
            FileChangeKind::Replace => "replace",
            FileChangeKind::Overwrite if removes && !adds => "delete",
            FileChangeKind::Overwrite if adds && !removes => "append",
            FileChangeKind::RowDelta if adds && !deletes && !removes => "append",
            FileChangeKind::RowDelta if deletes && !adds => "delete",
            FileChangeKind::Overwrite | FileChangeKind::RowDelta => "overwrite",
        }
    }

    /// The data files that added delete files apply to.
    fn targets(&self, base: &Base) -> Result<Targets> {
        let mut targets = Targets::new();
        let Some(deletes) = &self.deletes else { return Ok(targets) };
        let names: StringArray = deletes.column("referenced_data_file")?;
        let vectors: Int64Array = deletes.column("content_offset")?;
        let rows: Int64Array = deletes.column("record_count")?;
        for row in (0..names.len()).filter(|row| names.is_valid(*row)) {
            let marked = vectors.is_valid(row).then(|| rows.value(row));
            let path = written_path(base, names.value(row));
            let twice = targets.get(&path).is_some_and(|(_, known)| known.is_some() && marked.is_some());
            if twice {
                let message = format!("{path:?} has two new deletion vectors");
                let error = Error::new(ErrorKind::Argument, message).in_field("referenced_data_file");
                return Err(error.in_row(row));
            }
            targets.entry(path).and_modify(|known| known.1 = known.1.or(marked)).or_insert((row, marked));
        }
        Ok(targets)
    }

    /// Refuses a replacement of nothing.
    fn check_replaces(&self) -> Result<()> {
        let adds = self.data.as_ref().is_some_and(|data| !data.is_empty());
        let removes_deletes = !(self.removed_deletes.is_empty() && self.removed_vectors.is_empty());
        let removes = !self.removed.is_empty() || !adds && removes_deletes;
        if self.kind != FileChangeKind::Replace || removes {
            return Ok(());
        }
        let message = "there is nothing to replace: name the files to remove";
        Err(Error::new(ErrorKind::Argument, message))
    }

    /// Refuses delete files that the format version does not have.
    fn check_version(&self, base: &Base) -> Result<()> {
        if base.version == FormatVersion::V1 && self.data_sequence_number.is_some() {
            return Err(refused(
                "format version 1 has no sequence numbers: upgrade the table",
                "data_sequence_number",
            ));
        }
        if self
            .data_sequence_number
            .is_some_and(|number| !(0..=base.metadata.last_sequence_number).contains(&number))
        {
            let message = format!("it must be 0 to {}, the last one", base.metadata.last_sequence_number);
            return Err(Error::new(ErrorKind::Argument, message).in_field("data_sequence_number"));
        }
        let Some(deletes) = self.deletes.as_ref().filter(|deletes| !deletes.is_empty()) else {
            return Ok(());
        };
        let content: Int32Array = deletes.column("content")?;
        let offsets: Int64Array = deletes.column("content_offset")?;
        let wrong = |row: &usize| match base.version {
            FormatVersion::V1 => true,
            FormatVersion::V2 => offsets.is_valid(*row),
            FormatVersion::V3 => content.value(*row) == POSITION_DELETES && !offsets.is_valid(*row),
        };
        let message = match base.version {
            FormatVersion::V1 => "format version 1 has no delete files: upgrade the table",
            FormatVersion::V2 => "format version 2 has no deletion vectors: upgrade the table",
            FormatVersion::V3 => "in format version 3 position deletes can only be added as deletion vectors",
        };
        let first = (0..deletes.len()).find(wrong);
        first.map_or(Ok(()), |row| Err(refused(message, "content").in_row(row)))
    }

    /// The commits since the change started, if they matter.
    fn history<'b>(
        &self,
        base: &'b Base,
        types: &'b TableTypes,
        targets: &Targets,
    ) -> Result<Option<History<'b>>> {
        let asks =
            self.isolation != Isolation::None || self.kind == FileChangeKind::Replace || !targets.is_empty();
        asks.then(|| History::new(base, types, self.since)).transpose()
    }

    /// Refuses concurrent changes that conflict with this one.
    fn check_history(
        &self,
        history: &History<'_>,
        types: &TableTypes,
        selected: &ManifestSelection,
    ) -> Result<()> {
        let some = self.isolation != Isolation::None;
        let bound = |text: Option<&str>| text.map(|text| FileFilter::new(text, types)).transpose();
        let named = self.conflict_filter.as_deref();
        let about = bound(named.or(self.filter.as_deref()))?;
        if self.isolation == Isolation::Serializable {
            // Files removed by path do not tell which rows others may not add.
            let all = named.is_none() && !self.removed.is_empty();
            history.check_no_new_data(about.as_ref().filter(|_| !all))?;
        }
        if some && self.filter.is_some() {
            history.check_no_new_deletes(about.as_ref())?;
            history.check_none_removed(about.as_ref())?;
        }
        if some && self.kind == FileChangeKind::RowDelta && self.data.is_some() {
            history.check_no_new_deletes(about.as_ref())?;
        }
        if (some || self.kind == FileChangeKind::Replace) && selected.removes_data() {
            history.check_undeleted(selected, self.data_sequence_number.is_none())?;
        }
        Ok(())
    }
}

impl StateChange for FileChange {
    fn apply(&self, base: &Base, uncommitted: &mut UncommittedFiles) -> Result<Option<Outcome>> {
        self.check_replaces()?;
        self.check_version(base)?;
        let types = base.table.types()?;
        let filter = self.filter.as_deref().map(|text| FileFilter::new(text, &types)).transpose()?;
        let targets = self.targets(base)?;
        let given = |given: &Option<InputFiles>| match given {
            Some(given) => entries_of(given, base, uncommitted.snapshot_id(), self.data_sequence_number),
            None => Ok(Vec::new()),
        };
        let (data, deletes) = (given(&self.data)?, given(&self.deletes)?);
        let removals = Removals {
            data: &Paths::new(&self.removed)?,
            deletes: &Paths::new(&self.removed_deletes)?,
            vectors: &self.removed_vectors,
            restores_rows: self.repairs.restores_rows,
            left_out: &Paths::new(&self.repairs.left_out)?,
            duplicates: &self.repairs.duplicates,
            filter: filter.as_ref(),
            targets: &targets,
            with_files: self.isolation != Isolation::None || self.kind == FileChangeKind::Replace,
        };
        let history = self.history(base, &types, &targets)?;
        history.iter().try_for_each(|history| history.check_targets(&targets))?;
        let mut selected = removals.select(base, &types)?;
        let misplaced = self.repairs.misplaced_deletes(base, &mut selected)?;
        let described = self.repairs.described.as_ref();
        let described =
            described.map(|given| DescribedFiles::select(given, base, &mut selected)).transpose()?;
        history.iter().try_for_each(|history| self.check_history(history, &types, &selected))?;
        let mut summary = Summary::new(&self.properties);
        selected.left_out().try_for_each(|manifest| summary.leave_out(manifest))?;
        let mut new = Vec::new();
        for (content, of_specs) in [(ManifestContent::Data, data), (ManifestContent::Deletes, deletes)] {
            for (spec_id, entries) in of_specs.into_iter().filter(|(_, entries)| entries.num_rows() > 0) {
                let spec = base.spec(spec_id)?;
                count_files(base, &mut summary, spec, &entries, true)?;
                new.extend(
                    encode_manifests(base, uncommitted, spec, content, &entries)?
                        .into_iter()
                        .map(SnapshotManifest::new),
                );
            }
        }
        new.extend(misplaced.written(base, uncommitted, &mut summary)?);
        new.extend(rewritten(base, uncommitted, &selected, described.as_ref(), &mut summary)?);
        if self.kind == FileChangeKind::Replace && summary.has_more_rows() {
            let message = "the added files have more rows than the removed files: they cannot be the same \
                rows";
            return Err(Error::new(ErrorKind::Argument, message).in_field("record_count"));
        }
        let merged = if self.merge { merge(base, uncommitted, &selected, new)? } else { new };
        let manifests = stored(base, uncommitted, &selected, merged, &mut summary)?;
        Ok(Some(Outcome::Snapshot(Box::new(PendingSnapshot {
            operation: self.operation(),
            manifests,
            summary,
        }))))
    }
}

/// The kept manifests, and rewritten ones in which removed files have DELETED entries, and `described` ones what they
/// say of themselves.
pub(super) fn rewritten(
    base: &Base,
    uncommitted: &UncommittedFiles,
    selected: &ManifestSelection,
    described: Option<&DescribedFiles>,
    summary: &mut Summary,
) -> Result<Vec<SnapshotManifest>> {
    let entries = CommitEntries::all(base)?;
    let mut rest = Vec::with_capacity(selected.manifests.len());
    // A manifest without live files is dropped, since its entries belong to an older snapshot.
    for (row, manifest) in selected.live() {
        if selected.hit.get(row) != Some(&true) {
            rest.push(SnapshotManifest::Kept(row));
            continue;
        }
        let (live, spec) = (entries.live(manifest)?, base.spec(manifest.spec_id)?);
        let dropped = selected.dropped(row, live.num_rows());
        count_files(base, summary, spec, &rows_where(&live, &BooleanArray::from(dropped.clone()))?, false)?;
        let live = rows_where(&live, &BooleanArray::from(!&dropped))?;
        if live.num_rows() == 0 {
            continue;
        }
        let live = described.map_or(Ok(live.clone()), |files| files.recorded(base, &live, summary))?;
        let removed = selected.removed(&live)?;
        count_files(base, summary, spec, &rows_where(&live, &removed)?, false)?;
        let status = removed.iter().map(|removed| if removed == Some(true) { DELETED } else { EXISTING });
        let status: Int32Array = status.collect::<Vec<_>>().into();
        let written = with_status(&live, &status, uncommitted.snapshot_id())?;
        let is_deletes = manifest.content == DELETES;
        let content = if is_deletes { ManifestContent::Deletes } else { ManifestContent::Data };
        let written = encode_manifest(base, uncommitted, spec, content, &written)?;
        rest.push(SnapshotManifest::new(EncodedManifest { replaces: 1, ..written }));
    }
    Ok(rest)
}

#[cold]
fn refused(message: &str, field: &str) -> Error {
    Error::new(ErrorKind::Unsupported, message).in_field(field)
}
