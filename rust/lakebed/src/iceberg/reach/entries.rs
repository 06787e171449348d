//! The files that live entries of manifests name.

use std::sync::Arc;

use arrow_array::{Array, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_buffer::Buffer;
use serde::{Deserialize, Serialize};

use crate::columnar::Decoding;
use crate::distributed::{LocatedManifest, PlannedManifest};
use crate::error::Result;
use crate::iceberg::fields::{DATA, EQUALITY_DELETES, POSITION_DELETES, PUFFIN};
use crate::iceberg::manifest::{EntryColumns, EntryReader, ManifestContext, Statuses};
use crate::iceberg::manifest_list::{DELETES, ManifestFile};
use crate::iceberg::table::Table;
use crate::notes::Notes;
use crate::reach::{
    Fact, Kind, Kinds, ManifestsByLocation, Named, Partitioner, Records, SentManifests, SetId,
};
use crate::record::column;
use crate::scan::{Batches, ManifestSource, planned};
use crate::storage::Storage;

/// The columns of entries that are decoded.
const COLUMNS: [&str; 4] = ["content", "file_path", "file_format", "file_size_in_bytes"];

/// The kinds of files that delete manifests name.
const OF_DELETES: [Kind; 3] = [Kind::PositionDeletes, Kind::EqualityDeletes, Kind::DeletionVectors];

/// A manifest and the roots that reach it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::iceberg) struct Reached {
    pub(in crate::iceberg) manifest: ManifestFile,
    pub(in crate::iceberg) set: SetId,
}

impl Reached {
    /// Whether its entries may name files of these kinds.
    pub(super) fn is_of(&self, kinds: Kinds) -> bool {
        kinds.any(if self.manifest.content == DELETES { &OF_DELETES } else { &[Kind::Data] })
    }
}

/// Reads manifests for the files that they name.
pub(super) struct Entries {
    table: Table,
    program: Program,
}

impl Entries {
    pub(super) fn new(table: Table, partitioner: Arc<Partitioner>, notes: Notes) -> Result<Entries> {
        let (version, decoding) = (table.metadata().format_version, table.decoding().clone());
        let program = Program::new(version, partitioner, notes, decoding)?;
        Ok(Entries { table, program })
    }
}

/// Decodes entries for the files that they name.
struct Program {
    format_version: i32,
    columns: Arc<EntryColumns>,
    partitioner: Arc<Partitioner>,
    notes: Notes,
    decoding: Decoding,
}

impl Program {
    fn new(
        format_version: i32,
        partitioner: Arc<Partitioner>,
        notes: Notes,
        decoding: Decoding,
    ) -> Result<Program> {
        let columns = Arc::new(EntryColumns::new(Some(&COLUMNS.map(str::to_owned)))?);
        Ok(Program { format_version, columns, partitioner, notes, decoding })
    }

    /// The files that the live entries of a manifest name.
    fn open(&self, reached: &Reached, bytes: Buffer, threads: usize) -> Result<Batches> {
        let (path, set) = (reached.manifest.path.clone(), reached.set);
        let known = ManifestContext {
            manifest: Some(reached.manifest.clone()),
            format_version: Some(self.format_version),
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

/// Manifests to be read elsewhere.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NamedFiles {
    format_version: i32,
    manifests: Vec<LocatedManifest<Reached>>,
}

impl NamedFiles {
    /// The work on these manifests of a table, and the manifests in the form that engines get.
    ///
    /// # Errors
    /// `Location` for a manifest that the storage may not open.
    pub(super) fn of(table: &Table, manifests: Vec<Reached>) -> Result<(NamedFiles, Vec<PlannedManifest>)> {
        let storage = table.storage().as_ref();
        let planned = planned(table, manifests.iter().map(|reached| &reached.manifest))?;
        let located = |manifest: Reached| {
            Ok(LocatedManifest { location: storage.place(&manifest.manifest.path)?, manifest })
        };
        let manifests = manifests.into_iter().map(located).collect::<Result<_>>()?;
        Ok((NamedFiles { format_version: table.metadata().format_version, manifests }, planned))
    }
}

impl SentManifests for NamedFiles {
    fn records(&self, partitioner: &Arc<Partitioner>, decoding: Decoding) -> Result<Records> {
        let program = Program::new(self.format_version, Arc::clone(partitioner), Notes::default(), decoding)?;
        let manifests = ManifestsByLocation::new(&self.manifests);
        Ok(Box::new(move |path, bytes| {
            let reached = manifests.find(path)?;
            program.open(reached, bytes, 1)
        }))
    }
}

impl ManifestSource for Entries {
    type Manifest = Reached;

    fn storage(&self) -> &dyn Storage {
        self.table.storage().as_ref()
    }

    fn size(&self, reached: &Reached) -> u64 {
        reached.manifest.length.unwrap_or(0)
    }

    fn read(&self, reached: &Reached) -> Result<Buffer> {
        self.table.read_recorded(&reached.manifest.path, reached.manifest.length)
    }

    fn open(&self, reached: &Reached, bytes: Buffer, threads: usize) -> Result<Batches> {
        self.program.open(reached, bytes, threads)
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
        records.push(Named { path: paths.value(row), kind, fact: Fact::Reached, set, size, identity: 0 })?;
    }
    records.finish()
}
