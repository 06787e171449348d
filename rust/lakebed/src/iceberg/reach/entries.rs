//! The files that live entries of manifests name.

use std::sync::Arc;

use arrow_array::{Array, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_buffer::Buffer;
use serde::{Deserialize, Serialize};

use crate::columnar::Decoding;
use crate::error::Result;
use crate::iceberg::fields::{DATA, EQUALITY_DELETES, POSITION_DELETES, PUFFIN};
use crate::iceberg::manifest::{EntryColumns, EntryReader, ManifestContext, Statuses};
use crate::iceberg::manifest_list::{DELETES, ManifestFile};
use crate::iceberg::paths::TableFormat;
use crate::notes::Notes;
use crate::reach::{EntryFile, Fact, Kind, Kinds, Partitioner, SetId};
use crate::record::column;
use crate::scan::Batches;

/// The columns of entries that are decoded.
const COLUMNS: [&str; 4] = ["content", "file_path", "file_format", "file_size_in_bytes"];

/// The kinds of files that delete manifests name.
const OF_DELETES: [Kind; 3] = [Kind::PositionDeletes, Kind::EqualityDeletes, Kind::DeletionVectors];

/// A manifest and the roots that reach it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ReachedManifest {
    pub(in crate::iceberg) manifest: ManifestFile,
    pub(in crate::iceberg) set: SetId,
}

impl ReachedManifest {
    /// Whether its entries may name files of these kinds.
    pub(super) fn is_of(&self, kinds: Kinds) -> bool {
        kinds.any(if self.manifest.content == DELETES { &OF_DELETES } else { &[Kind::Data] })
    }
}

/// Decodes entries for the files that they name.
pub(crate) struct Program {
    table: TableFormat,
    columns: Arc<EntryColumns>,
    partitioner: Arc<Partitioner>,
    notes: Notes,
    decoding: Decoding,
}

impl Program {
    pub(super) fn new(
        table: TableFormat,
        partitioner: Arc<Partitioner>,
        notes: Notes,
        decoding: Decoding,
    ) -> Result<Program> {
        let columns = Arc::new(EntryColumns::new(Some(&COLUMNS.map(str::to_owned)))?);
        Ok(Program { table, columns, partitioner, notes, decoding })
    }

    /// The files that the live entries of a manifest name.
    pub(super) fn open(
        &self,
        reached: &ReachedManifest,
        path: String,
        bytes: Buffer,
        threads: usize,
    ) -> Result<Batches> {
        let set = reached.set;
        let known = ManifestContext {
            manifest: Some(reached.manifest.clone()),
            table: Some(self.table.clone()),
            notes: self.notes.clone(),
            ..ManifestContext::default()
        };
        let entries = EntryReader::open(bytes, &self.columns, known, Statuses::LIVE, &self.decoding, threads)
            .map_err(|error| error.in_file(&path))?;
        let partitioner = Arc::clone(&self.partitioner);
        Ok(Box::new(entries.map(move |entries| {
            let named = entries.and_then(|entries| named(&entries, set, &partitioner));
            named.map_err(|error| error.in_file(&path))
        })))
    }
}

/// The files of some live entries; the same path is the same file.
fn named(entries: &RecordBatch, set: SetId, partitioner: &Arc<Partitioner>) -> Result<RecordBatch> {
    let [contents, paths, formats, sizes] = COLUMNS;
    let (contents, sizes) = (column::<Int32Array>(entries, contents)?, column::<Int64Array>(entries, sizes)?);
    let [paths, formats] = [paths, formats].map(|name| column::<StringArray>(entries, name));
    let (paths, formats) = (paths?, formats?);
    let mut records = partitioner.new_records();
    for row in 0..entries.num_rows() {
        let content = if contents.is_valid(row) { contents.value(row) } else { DATA };
        let is_puffin = formats.is_valid(row) && formats.value(row).eq_ignore_ascii_case(PUFFIN);
        let kind = match content {
            POSITION_DELETES if is_puffin => Kind::DeletionVectors,
            POSITION_DELETES => Kind::PositionDeletes,
            EQUALITY_DELETES => Kind::EqualityDeletes,
            _ => Kind::Data,
        };
        let size = if sizes.is_valid(row) { sizes.value(row) } else { -1 };
        records.push(EntryFile {
            path: paths.value(row),
            kind,
            fact: Fact::Reached,
            set,
            size,
            identity: 0,
        })?;
    }
    records.finish()
}
