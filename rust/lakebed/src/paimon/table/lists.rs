//! The manifest lists of a table's snapshot.

use arrow_array::{Array, RecordBatch};
use arrow_buffer::Buffer;
use arrow_select::concat::concat_batches;

use super::Table;
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::fields::LIST;
use crate::paimon::manifest::check_size;
use crate::paimon::manifest_list::{read_carrying, read_manifest_list};
use crate::paimon::snapshot::Snapshot;
use crate::paimon::view::ManifestRow;
use crate::pipeline::both;
use crate::record::{carried, find, record_schema};

/// Reads the bytes of a list.
type ReadList<'a> = &'a dyn Fn(Buffer) -> Result<RecordBatch>;

/// A manifest list of a snapshot.
#[derive(Clone)]
pub(crate) struct ListFile {
    /// `base` or `delta`.
    role: &'static str,
    pub(crate) path: String,
    pub(crate) bytes: Buffer,
}

impl Table {
    /// The records of the snapshot's base list, then of its delta list, and which record is of which list.
    ///
    /// The files' sizes are compared with those that the snapshot records.
    pub(crate) fn manifest_list(&self) -> Result<(RecordBatch, Vec<ManifestRow>)> {
        let read = |bytes: Buffer| read_manifest_list(bytes, None, &self.decoding);
        self.lists(self.list_files()?, &read)
    }

    /// The snapshot's base list and delta list as bytes; none where there is no snapshot.
    ///
    /// The files' sizes are compared with those that the snapshot records.
    pub(crate) fn list_files(&self) -> Result<Vec<ListFile>> {
        let Some(snapshot) = &self.snapshot else { return Ok(Vec::new()) };
        let base = self.manifest_path(&snapshot.base_manifest_list);
        let delta = self.manifest_path(&snapshot.delta_manifest_list);
        let read = |table: &Table, role, path: String, size| match table.list_bytes(&path, size) {
            Ok(bytes) => Ok(ListFile { role, path, bytes }),
            Err(error) => Err(error.in_file(&path)),
        };
        let (table, size) = (self.clone(), snapshot.delta_manifest_list_size);
        let (base, delta) = both(
            self.storage.as_ref(),
            || read(self, "base", base, snapshot.base_manifest_list_size),
            move || read(&table, "delta", delta, size),
        )?;
        Ok(vec![base, delta?])
    }

    /// The base list and the delta list of a snapshot, where all of their records can be read.
    pub(crate) fn whole_lists(&self, snapshot: &Snapshot) -> [Result<ListFile>; 2] {
        let Snapshot { base_manifest_list: base, delta_manifest_list: delta, .. } = snapshot;
        let sizes = [snapshot.base_manifest_list_size, snapshot.delta_manifest_list_size];
        let [base_size, delta_size] = sizes;
        [("base", base, base_size), ("delta", delta, delta_size)].map(|(role, name, size)| {
            let path = self.manifest_path(name);
            let read = || {
                let bytes = self.list_bytes(&path, size)?;
                read_manifest_list(bytes.clone(), None, &self.decoding).map(|_| bytes)
            };
            let bytes = read().map_err(|error| error.in_file(&path))?;
            Ok(ListFile { role, path, bytes })
        })
    }

    /// The records of lists with unknown fields of other writers, which a commit keeps.
    pub(crate) fn carrying_list(&self, files: Vec<ListFile>) -> Result<RecordBatch> {
        Ok(self.lists(files, &|bytes| read_carrying(bytes, &self.decoding))?.0)
    }

    fn lists(&self, files: Vec<ListFile>, read: ReadList<'_>) -> Result<(RecordBatch, Vec<ManifestRow>)> {
        let mut lists = Vec::new();
        let mut rows = Vec::new();
        for ListFile { role, path, bytes } in files {
            let list = read(bytes).map_err(|error| error.in_file(&path))?;
            rows.extend(self.list_rows(&list, role)?);
            lists.push(list);
        }
        let schema = record_schema(&LIST.iter().collect::<Vec<_>>());
        lists.push(RecordBatch::new_empty(schema));
        Ok((carried::joined(&lists)?, rows))
    }

    /// The records of the snapshot's base, delta and changelog lists. Manifests of the changelog list hold
    /// changes of rows, not live files.
    pub(crate) fn every_manifest_list(&self) -> Result<RecordBatch> {
        let (live, _) = self.manifest_list()?;
        let Some((snapshot, name)) =
            self.snapshot.as_ref().and_then(|it| Some((it, it.changelog_manifest_list.as_ref()?)))
        else {
            return Ok(live);
        };
        let path = self.manifest_path(name);
        let changes = self.read_list(&path, snapshot.changelog_manifest_list_size);
        let changes = changes.map_err(|error| error.in_file(&path))?;
        concat_batches(&live.schema(), [&live, &changes])
            .map_err(|error| Error::new(ErrorKind::Required, error.to_string()))
    }

    /// The records of a snapshot's delta list: its changes.
    pub(crate) fn delta_list(&self, snapshot: &Snapshot) -> Result<RecordBatch> {
        self.list_of(&snapshot.delta_manifest_list, snapshot.delta_manifest_list_size)
    }

    /// The records of a snapshot's base list: what was live before its changes.
    pub(crate) fn base_list(&self, snapshot: &Snapshot) -> Result<RecordBatch> {
        self.list_of(&snapshot.base_manifest_list, snapshot.base_manifest_list_size)
    }

    /// The records of a list with this recorded size \[bytes\].
    pub(crate) fn list_of(&self, name: &str, size: Option<i64>) -> Result<RecordBatch> {
        let path = self.manifest_path(name);
        self.read_list(&path, size).map_err(|error| error.in_file(&path))
    }

    fn read_list(&self, path: &str, size: Option<i64>) -> Result<RecordBatch> {
        read_manifest_list(self.list_bytes(path, size)?, None, &self.decoding)
    }

    /// The bytes of a list, whose recorded size is checked.
    pub(crate) fn list_bytes(&self, path: &str, size: Option<i64>) -> Result<Buffer> {
        let size = size.and_then(|size| u64::try_from(size).ok());
        let bytes = self.read_recorded(path, size)?;
        if let Some(size) = size {
            check_size(bytes.len() as u64, size)?;
        }
        Ok(bytes)
    }

    /// The path of each manifest of a list, which has this role.
    ///
    /// # Errors
    /// `Required` for a list without names.
    pub(crate) fn list_rows(&self, list: &RecordBatch, role: &'static str) -> Result<Vec<ManifestRow>> {
        let names = find(list, "file_name")?;
        let names = arrow_array::cast::AsArray::as_string::<i32>(&names);
        let row = |row: usize| ManifestRow { path: self.manifest_path(names.value(row)), role };
        Ok((0..names.len()).map(row).collect())
    }
}
