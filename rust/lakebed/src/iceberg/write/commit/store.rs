//! Writes the manifests and manifest list of a commit.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch};

use super::base::Base;
use super::head::ListContent;
use super::summary::Summary;
use super::tally::Tally;
use super::uncommitted::UncommittedFiles;
use crate::error::{Result, fitting};
use crate::iceberg::manifest_list::{DATA, DELETES, ManifestFile, manifest_rows};
use crate::iceberg::partition::PartitionSpec;
use crate::iceberg::write::{
    FormatVersion, ListHeader, ManifestContent, ManifestLayout, write_in_front, write_manifest,
    write_manifest_list,
};
use crate::record::{carried, column};

/// An encoded manifest that has no file yet.
pub(super) struct EncodedManifest {
    /// Its row in the list, without the path.
    pub(super) file: ManifestFile,
    pub(super) bytes: Vec<u8>,
    /// The number of manifests of the snapshot before that it replaces.
    pub(super) replaces: usize,
}

impl EncodedManifest {
    /// Writes it. Returns its row in the list.
    pub(super) fn store(self, base: &Base, uncommitted: &mut UncommittedFiles) -> Result<ManifestFile> {
        let path = base.path(&uncommitted.manifest_name()?);
        uncommitted.write(&path, &self.bytes)?;
        Ok(ManifestFile { path, ..self.file })
    }
}

/// Encodes a manifest of entries; there must be at least one.
pub(super) fn encode_manifest(
    base: &Base,
    uncommitted: &UncommittedFiles,
    spec: &PartitionSpec,
    content: ManifestContent,
    entries: &RecordBatch,
) -> Result<EncodedManifest> {
    let options = uncommitted.manifest_options(base.manifest_codec()?, base.table.decoding().limits);
    let layout = ManifestLayout::new(base.version, content, &base.schema_of(spec)?, spec, &entries.schema())?;
    let commit = base.next_sequence_number()?;
    let mut tally = Tally::new(layout.tuples().types().iter())?;
    tally.add(entries, &layout.tuples().values(entries)?, commit)?;
    let stored = stored_entries(base.version, entries)?;
    let bytes = write_manifest(&stored.schema(), std::iter::once(Ok(stored)), &layout, Vec::new(), options)?;
    let (added, existing, deleted) = tally.recorded();
    let file = ManifestFile {
        path: String::new(),
        length: u64::try_from(bytes.len()).ok(),
        spec_id: spec.spec_id,
        content: if content == ManifestContent::Data { DATA } else { DELETES },
        sequence_number: commit,
        min_sequence_number: tally.min_sequence_number(commit),
        added_snapshot_id: Some(uncommitted.snapshot_id()),
        added,
        existing,
        deleted,
        partitions: Some(tally.summaries()),
        first_row_id: None,
        key: None,
    };
    Ok(EncodedManifest { file, bytes, replaces: 0 })
}

/// The same, as several manifests if one would be larger than the table's target size.
pub(super) fn encode_manifests(
    base: &Base,
    uncommitted: &UncommittedFiles,
    spec: &PartitionSpec,
    content: ManifestContent,
    entries: &RecordBatch,
) -> Result<Vec<EncodedManifest>> {
    let whole = encode_manifest(base, uncommitted, spec, content, entries)?;
    let parts = (whole.bytes.len() as u64).div_ceil(base.merging().target_bytes);
    let parts = usize::try_from(parts).unwrap_or(usize::MAX).min(entries.num_rows());
    if parts <= 1 {
        return Ok(vec![whole]);
    }
    let rows = entries.num_rows().div_ceil(parts);
    let part = |start: usize| entries.slice(start, rows.min(entries.num_rows().saturating_sub(start)));
    let starts = (0..entries.num_rows()).step_by(rows);
    starts.map(|start| encode_manifest(base, uncommitted, spec, content, &part(start))).collect()
}

/// Writes a manifest of entries, at least one. Returns its row in the list.
pub(super) fn write_entries(
    base: &Base,
    uncommitted: &mut UncommittedFiles,
    spec: &PartitionSpec,
    content: ManifestContent,
    entries: &RecordBatch,
) -> Result<ManifestFile> {
    encode_manifest(base, uncommitted, spec, content, entries)?.store(base, uncommitted)
}

/// Entries without the columns that the version does not have and readers fill in.
fn stored_entries(version: FormatVersion, entries: &RecordBatch) -> Result<RecordBatch> {
    let dropped: &[&str] = match version {
        FormatVersion::V1 => &["sequence_number", "file_sequence_number", "first_row_id"],
        FormatVersion::V2 => &["first_row_id"],
        FormatVersion::V3 => &[],
    };
    let schema = entries.schema();
    let kept = (0..schema.fields().len()).filter(|at| !dropped.contains(&schema.field(*at).name().as_str()));
    entries.project(&kept.collect::<Vec<_>>()).map_err(Into::into)
}

/// The manifests of the new snapshot: those that the commit wrote, then the kept ones.
pub(super) fn joined(new: &[ManifestFile], kept: &RecordBatch) -> Result<RecordBatch> {
    carried::joined(&[manifest_rows(new)?, kept.clone()])
}

/// The row ids that a commit's list assigns: the first one, and their number (version 3).
pub(super) struct RowIds {
    pub(super) first: i64,
    pub(super) count: i64,
}

/// Writes the list of the new snapshot. Returns its path and the assigned row ids.
pub(super) fn write_list(
    base: &Base,
    uncommitted: &mut UncommittedFiles,
    attempt: u32,
    listing: ListContent,
) -> Result<(String, Option<RowIds>)> {
    let (manifests, before) = match listing {
        ListContent::Rows(manifests) => (manifests, None),
        ListContent::InFront(manifests, before) => (manifests, Some(before)),
    };
    let (manifests, row_ids) = match base.version {
        FormatVersion::V3 => {
            let (manifests, row_ids) = with_row_ids(manifests, base.metadata.next_row_id.unwrap_or(0))?;
            (manifests, Some(row_ids))
        }
        _ => (without_row_ids(&manifests)?, None),
    };
    let header = ListHeader {
        version: base.version,
        snapshot_id: uncommitted.snapshot_id(),
        parent_snapshot_id: base.head(),
        sequence_number: base.next_sequence_number()?,
        first_row_id: row_ids.as_ref().map(|ids| ids.first),
    };
    let decoding = base.table.decoding();
    let options = uncommitted.list_options(decoding.limits);
    let bytes = match &before {
        Some(before) => write_in_front(&manifests, before, &header, options, decoding)?,
        None => {
            let schema = manifests.schema();
            write_manifest_list(&schema, std::iter::once(Ok(manifests)), &header, Vec::new(), options)?
        }
    };
    let name = format!("snap-{}-{attempt}-{}.avro", uncommitted.snapshot_id(), uncommitted.identity().text());
    let path = base.path(&name);
    uncommitted.write(&path, &bytes)?;
    Ok((path, row_ids))
}

fn without_row_ids(manifests: &RecordBatch) -> Result<RecordBatch> {
    let schema = manifests.schema();
    let kept = (0..schema.fields().len()).filter(|at| schema.field(*at).name() != "first_row_id");
    manifests.project(&kept.collect::<Vec<_>>()).map_err(Into::into)
}

/// What does not fit where row ids are forged.
pub(super) const ROW_IDS: &str = "a row id of the table";

/// Assigns a first row id to each data manifest without one, in the order of the list (Iceberg's
/// `ManifestListWriter.java`); delete manifests have none.
fn with_row_ids(manifests: RecordBatch, first: i64) -> Result<(RecordBatch, RowIds)> {
    let longs = |name: &str| column::<Int64Array>(&manifests, name);
    let (content, known) = (column::<Int32Array>(&manifests, "content")?, longs("first_row_id")?);
    let rows = [longs("existing_rows_count")?, longs("added_rows_count")?];
    let mut next = first;
    let id = |row: usize| -> Result<Option<i64>> {
        if content.value(row) == DELETES {
            return Ok(None);
        }
        if known.is_valid(row) {
            return Ok(Some(known.value(row)));
        }
        let id = next;
        for rows in rows.iter().filter(|rows| rows.is_valid(row)) {
            // Ids after a negative count would be given twice.
            let rows = u64::try_from(rows.value(row)).ok();
            next = fitting(rows.and_then(|rows| next.checked_add_unsigned(rows)), ROW_IDS)?;
        }
        Ok(Some(id))
    };
    let ids: Int64Array = (0..manifests.num_rows()).map(id).collect::<Result<_>>()?;
    let columns = manifests.schema_ref().fields().iter().zip(manifests.columns()).map(|(field, column)| {
        if field.name() == "first_row_id" { Arc::new(ids.clone()) as ArrayRef } else { Arc::clone(column) }
    });
    let columns = columns.collect();
    let batch = RecordBatch::try_new(manifests.schema(), columns)?;
    Ok((batch, RowIds { first, count: fitting(next.checked_sub(first), ROW_IDS)? }))
}

/// Counts files that a commit adds or removes, with the values of their tuples.
pub(super) fn count_files(
    base: &Base,
    summary: &mut Summary,
    spec: &PartitionSpec,
    files: &RecordBatch,
    added: bool,
) -> Result<()> {
    let content = ManifestContent::Data;
    let layout =
        ManifestLayout::new(FormatVersion::V2, content, &base.schema_of(spec)?, spec, &files.schema())?;
    let tuples = layout.tuples().values(files)?;
    if added {
        summary.add(spec.spec_id, files, &tuples)
    } else {
        summary.remove(spec.spec_id, files, &tuples)
    }
}

/// Refuses tuples that do not fit their spec.
pub(super) fn check_tuples(base: &Base, spec: &PartitionSpec, files: &RecordBatch) -> Result<()> {
    count_files(base, &mut Summary::default(), spec, files, true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::iceberg::manifest_list::RecordedCounts;

    fn manifest(content: i32, existing: u64, added: u64, first_row_id: Option<i64>) -> ManifestFile {
        let rows = |rows| RecordedCounts { files: Some(1), rows: Some(rows) };
        let (existing, added) = (rows(existing), rows(added));
        ManifestFile { content, existing, added, first_row_id, ..ManifestFile::default() }
    }

    /// Iceberg specification, "First Row ID Assignment": the example, and manifests that need no ids.
    #[test]
    fn manifests_take_row_ids_in_the_order_of_the_list() {
        let manifests = [
            manifest(DATA, 25, 100, None),
            manifest(DELETES, 0, 7, Some(5)),
            manifest(DATA, 100, 0, None),
            manifest(DATA, 3, 3, Some(900)),
            manifest(DATA, 25, 125, None),
        ];
        let (rows, ids) = with_row_ids(manifest_rows(&manifests).unwrap(), 1000).unwrap();
        let first: Vec<_> = column::<Int64Array>(&rows, "first_row_id").unwrap().iter().collect();
        assert_eq!(first, [Some(1000), None, Some(1125), Some(900), Some(1225)]);
        assert_eq!((ids.first, ids.count), (1000, 375));
        let most = manifest(DATA, 0, i64::MAX.unsigned_abs(), None);
        let beyond = with_row_ids(manifest_rows(&[most]).unwrap(), 1000);
        assert_eq!(beyond.err().map(|error| error.kind()), Some(ErrorKind::Mismatch));
        let below = manifest_rows(&manifests[..1]).unwrap();
        let columns = below.schema_ref().fields().iter().zip(below.columns()).map(|(field, column)| {
            let count = Arc::new(Int64Array::from(vec![-1])) as ArrayRef;
            (field.name(), if field.name() == "added_rows_count" { count } else { Arc::clone(column) })
        });
        let below = with_row_ids(RecordBatch::try_from_iter(columns).unwrap(), 1000);
        assert_eq!(below.err().map(|error| error.kind()), Some(ErrorKind::Mismatch));
    }
}
