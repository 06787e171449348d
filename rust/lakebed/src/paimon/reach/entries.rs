//! The files that entries of manifests name.

use std::sync::Arc;

use arrow_array::{Int8Array, Int64Array, ListArray, RecordBatch, StringArray};
use arrow_buffer::Buffer;
use serde::{Deserialize, Serialize};

use crate::columnar::Decoding;
use crate::error::Result;
use crate::notes::Notes;
use crate::paimon::identity::{IDENTITY, identities};
use crate::paimon::manifest::{ADD, EntryFilter, EntryReader, entry_columns};
use crate::paimon::manifest_list::ManifestFile;
use crate::paimon::paths::{DataPaths, is_file_name};
use crate::reach::{EntryFile, Fact, Kind, Kinds, Partitioner, SetId};
use crate::record::{RecordResolver, column, typed};
use crate::scan::Batches;

/// The identity of files that changes read, which no entry cancels; identities of live files are even.
const CHANGES: i64 = 1;

/// A manifest, and what reaches it and its files.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ReachedManifest {
    pub(in crate::paimon) manifest: ManifestFile,
    /// Names of files beside it.
    pub(super) extra_files: Vec<String>,
    /// The roots whose live files its entries describe.
    pub(super) live: SetId,
    /// The roots that read all files which its entries add, even if other entries delete them.
    pub(super) changes: SetId,
    /// The roots that keep the manifest, but none of its files.
    pub(super) kept: SetId,
    /// Whether its entries are of changelog files.
    pub(super) is_changelog: bool,
}

impl ReachedManifest {
    /// Whether no root needs its entries, so that the manifest may be missing.
    pub(in crate::paimon) fn may_be_gone(&self) -> bool {
        self.live == SetId::NONE && self.changes == SetId::NONE
    }

    /// The kind of the files that its entries name.
    fn kind(&self) -> Kind {
        if self.is_changelog { Kind::ChangelogData } else { Kind::Data }
    }

    /// Whether its entries may name files of these kinds.
    pub(super) fn is_of(&self, kinds: Kinds) -> bool {
        kinds.any(&[self.kind(), Kind::Extra])
    }

    fn uses(&self) -> EntryScope {
        EntryScope { live: self.live, changes: self.changes, kind: self.kind() }
    }
}

/// How the roots that reach a manifest use its entries.
#[derive(Clone, Copy)]
struct EntryScope {
    live: SetId,
    changes: SetId,
    kind: Kind,
}

/// Decodes entries for the files that they name.
pub(crate) struct Program {
    shared: Arc<RecordContext>,
    columns: RecordResolver,
    decoding: Decoding,
    notes: Notes,
}

struct RecordContext {
    paths: DataPaths,
    partitioner: Arc<Partitioner>,
}

impl Program {
    pub(super) fn new(
        paths: DataPaths,
        partitioner: Arc<Partitioner>,
        decoding: Decoding,
        notes: Notes,
    ) -> Result<Program> {
        let names: Vec<String> =
            IDENTITY.iter().chain(&["kind", "file_size"]).map(|name| (*name).to_owned()).collect();
        let shared = Arc::new(RecordContext { paths, partitioner });
        Ok(Program { shared, columns: entry_columns(Some(&names))?, decoding, notes })
    }

    /// The files that the manifest at `path` names.
    pub(super) fn open(
        &self,
        reached: &ReachedManifest,
        path: String,
        bytes: Buffer,
        threads: usize,
    ) -> Result<Batches> {
        let (filter, expected) = (EntryFilter::default(), Some(reached.manifest.clone()));
        let entries = EntryReader::open(bytes, &self.columns, filter, expected, &self.decoding, threads)
            .map_err(|error| error.in_file(&path))?
            .noting(&self.notes);
        let (shared, uses) = (Arc::clone(&self.shared), reached.uses());
        Ok(Box::new(entries.map(move |entries| {
            let named = entries.and_then(|entries| shared.named(&entries, uses));
            named.map_err(|error| error.in_file(&path))
        })))
    }
}

/// What decoding needs of a table, as it is sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TableTypes {
    pub(super) location: String,
    /// The text of the schema.
    pub(super) schema: String,
}

impl RecordContext {
    /// The files that entries name, and the extra files beside them.
    fn named(&self, entries: &RecordBatch, uses: EntryScope) -> Result<RecordBatch> {
        let kinds = column::<Int8Array>(entries, "kind")?;
        let sizes = column::<Int64Array>(entries, "file_size")?;
        let paths = self.paths.of(entries, column(entries, "external_path")?)?;
        let extra = column::<ListArray>(entries, "extra_files")?;
        let identities = identities(entries)?;
        let mut records = self.partitioner.new_records();
        for row in 0..entries.num_rows() {
            let hash = self.partitioner.hash(identities.value(row)).cast_signed() & !CHANGES;
            let mut add = |path: &str, kind, size| {
                let mut facts = uses.facts(kinds.value(row) == ADD, hash);
                facts.try_for_each(|(fact, set, identity)| {
                    records.push(EntryFile { path, kind, fact, set, size, identity })
                })
            };
            let path = paths.value(row);
            add(path, uses.kind, sizes.value(row))?;
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let names = extra.value(row);
            for name in typed::<StringArray>(&names, "extra_files")?
                .iter()
                .flatten()
                .filter(|name| is_file_name(name))
            {
                add(&format!("{folder}/{name}"), Kind::Extra, -1)?;
            }
        }
        records.finish()
    }
}

impl EntryScope {
    /// The facts of an entry about its file, which it adds or deletes.
    fn facts(self, is_add: bool, identity: i64) -> impl Iterator<Item = (Fact, SetId, i64)> {
        let fact = if is_add { Fact::Reached } else { Fact::Deleted };
        let live = (self.live != SetId::NONE).then_some((fact, self.live, identity));
        let changes = is_add && self.changes != SetId::NONE;
        let changes = changes.then_some((Fact::Reached, self.changes, CHANGES));
        let neither = (live.is_none() && changes.is_none()).then_some((Fact::Deleted, SetId::NONE, identity));
        live.into_iter().chain(changes).chain(neither)
    }
}
