//! A table pinned to a snapshot: what its paths, snapshots and schemas say.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_buffer::Buffer;
use arrow_select::concat::concat_batches;

use super::filter::PartitionType;
use super::manifest::check_size;
use super::manifest_list::read_manifest_list;
use super::paths::{manifest_file, schema_file, schema_ids, snapshot_file, snapshot_ids};
use super::schema::TableSchema;
use super::snapshot::Snapshot;
use super::view::{ManifestRow, manifests, schemas, snapshots};
use crate::columnar::Decoding;
use crate::error::{Error, ErrorKind, Result};
use crate::storage::Storage;

/// A Paimon table at one of its snapshots, or at none where nothing was committed yet.
#[derive(Clone)]
pub struct Table {
    location: String,
    storage: Arc<dyn Storage>,
    decoding: Decoding,
    snapshot: Option<Arc<Snapshot>>,
    schema: Arc<TableSchema>,
}

impl Table {
    /// Opens the table at `location` at its latest snapshot.
    ///
    /// The latest snapshot is the hint's where the next one is not there (Paimon's
    /// `HintFileUtils.java`) and the hinted one is, else the largest that listing finds. The schema is
    /// the table's latest, which may be younger than the snapshot. Reads one snapshot and one schema file.
    ///
    /// # Errors
    /// `TableNotFound` where the folder holds no schema of a Paimon table; `Json`, `Type`; what
    /// storage gives.
    pub fn open(location: &str, storage: Arc<dyn Storage>, decoding: impl Into<Decoding>) -> Result<Table> {
        let location = location.trim_end_matches('/');
        let files = Files { location, storage: storage.as_ref() };
        let ids = schema_ids(&storage.list(&files.path("schema"))?);
        let Some(latest) = ids.last() else {
            let message = format!("no Paimon table at {location:?}: there is no schema/schema-N below it");
            return Err(Error::new(ErrorKind::TableNotFound, message).in_file(location));
        };
        let snapshot = files.latest_snapshot()?;
        let schema = Arc::new(files.schema(*latest)?);
        let snapshot = snapshot.map(Arc::new);
        let mut decoding = decoding.into();
        decoding.limits = decoding.limits.capped();
        Ok(Table { location: location.to_owned(), storage, decoding, snapshot, schema })
    }

    /// The same table at another of its snapshots, with the schema of that snapshot.
    ///
    /// # Errors
    /// `SnapshotNotFound`, naming the range that is there.
    pub fn at_snapshot(&self, id: i64) -> Result<Table> {
        let files = self.files();
        let snapshot = files.snapshot(id).map_err(|error| match error.kind() {
            ErrorKind::Missing => files.no_snapshot(id),
            _ => error,
        })?;
        let schema = Arc::new(files.schema(snapshot.schema_id)?);
        Ok(Table { snapshot: Some(Arc::new(snapshot)), schema, ..self.clone() })
    }

    /// The same table at the latest snapshot.
    pub(crate) fn latest(&self) -> Result<Table> {
        Ok(Table { snapshot: self.files().latest_snapshot()?.map(Arc::new), ..self.clone() })
    }

    /// Where the table is, without a slash at the end.
    pub fn location(&self) -> &str {
        &self.location
    }

    /// How the table's manifests are decoded, and what each may cost.
    pub fn decoding(&self) -> &Decoding {
        &self.decoding
    }

    /// The snapshot, if there is one.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_deref()
    }

    /// The schema that the rows are read with: the table's latest, or that of the snapshot asked for.
    pub fn schema(&self) -> &TableSchema {
        &self.schema
    }

    pub(crate) fn storage(&self) -> &dyn Storage {
        self.storage.as_ref()
    }

    fn files(&self) -> Files<'_> {
        Files { location: &self.location, storage: self.storage.as_ref() }
    }

    /// The full path of a manifest.
    pub(crate) fn manifest_path(&self, file_name: &str) -> String {
        self.files().path(&manifest_file(file_name))
    }

    /// Every schema version that is there.
    pub(crate) fn schemas(&self) -> Result<BTreeMap<i64, TableSchema>> {
        let files = self.files();
        let ids = schema_ids(&self.storage.list(&files.path("schema"))?);
        ids.into_iter().map(|id| Ok((id, files.schema(id)?))).collect()
    }

    /// The text of one schema file.
    pub(crate) fn schema_text(&self, id: i64) -> Result<String> {
        let bytes = self.storage.read(&self.files().path(&schema_file(id)))?;
        String::from_utf8(bytes.to_vec()).map_err(|_| Error::new(ErrorKind::Json, "schema is not UTF-8"))
    }

    /// The texts of every schema file that is there.
    pub(crate) fn schema_texts(&self) -> Result<BTreeMap<i64, String>> {
        let ids = schema_ids(&self.storage.list(&self.files().path("schema"))?);
        ids.into_iter().map(|id| Ok((id, self.schema_text(id)?))).collect()
    }

    /// The records of the snapshot's base list, then of its delta list, and which is which.
    ///
    /// The sizes that the snapshot records are compared with the files'.
    pub(crate) fn manifest_list(&self) -> Result<(RecordBatch, Vec<ManifestRow>)> {
        let mut lists = Vec::new();
        let mut rows = Vec::new();
        if let Some(snapshot) = &self.snapshot {
            let named = [
                ("base", &snapshot.base_manifest_list, snapshot.base_manifest_list_size),
                ("delta", &snapshot.delta_manifest_list, snapshot.delta_manifest_list_size),
            ];
            for (role, name, size) in named {
                let path = self.manifest_path(name);
                let list = self.read_list(&path, size).map_err(|error| error.in_file(&path))?;
                rows.extend(self.list_rows(&list, role)?);
                lists.push(list);
            }
        }
        let schema = super::record::record_schema(&super::fields::LIST.iter().collect::<Vec<_>>());
        let list = concat_batches(&schema, &lists);
        Ok((list.map_err(|error| Error::new(ErrorKind::Required, error.to_string()))?, rows))
    }

    /// The records of the snapshot's base, delta and changelog lists. The manifests of the last hold
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

    fn read_list(&self, path: &str, size: Option<i64>) -> Result<RecordBatch> {
        let bytes: Buffer = self.storage.read(path)?;
        if let Some(size) = size.and_then(|size| u64::try_from(size).ok()) {
            check_size(bytes.len() as u64, size)?;
        }
        read_manifest_list(bytes, None, &self.decoding)
    }

    fn list_rows(&self, list: &RecordBatch, role: &'static str) -> Result<Vec<ManifestRow>> {
        let names = super::record::find(list, "file_name")?;
        let names = arrow_array::cast::AsArray::as_string::<i32>(&names);
        let row = |row: usize| ManifestRow { path: self.manifest_path(names.value(row)), role };
        Ok((0..names.len()).map(row).collect())
    }

    /// The view `snapshots`: every snapshot file that is there, in ascending order.
    pub(crate) fn snapshots_view(&self) -> Result<RecordBatch> {
        let files = self.files();
        let ids = snapshot_ids(&self.storage.list(&files.path("snapshot"))?);
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            match files.snapshot(id) {
                Ok(snapshot) => found.push(snapshot),
                // Expired between listing and reading.
                Err(error) if error.kind() == ErrorKind::Missing => {}
                Err(error) => return Err(error),
            }
        }
        snapshots(&found)
    }

    /// The view `schemas`: every version that is there, in ascending order.
    pub(crate) fn schemas_view(&self) -> Result<RecordBatch> {
        schemas(&self.schemas()?.into_values().collect::<Vec<_>>())
    }

    /// The view `manifests` of the rows of the list that are kept.
    pub(crate) fn manifests_view(&self, list: &RecordBatch, rows: &[ManifestRow]) -> Result<RecordBatch> {
        manifests(list, rows, &PartitionType::new(&self.schema))
    }
}

/// The files of a table by what they are.
struct Files<'t> {
    location: &'t str,
    storage: &'t dyn Storage,
}

impl Files<'_> {
    fn path(&self, relative: &str) -> String {
        format!("{}/{relative}", self.location)
    }

    fn snapshot(&self, id: i64) -> Result<Snapshot> {
        let path = self.path(&snapshot_file(id));
        let read = || Snapshot::from_json(self.storage.read(&path)?.as_slice());
        read().map_err(|error| error.in_file(&path))
    }

    fn schema(&self, id: i64) -> Result<TableSchema> {
        let path = self.path(&schema_file(id));
        let read = || TableSchema::from_json(self.storage.read(&path)?.as_slice());
        read().map_err(|error| error.in_file(&path))
    }

    fn latest_snapshot(&self) -> Result<Option<Snapshot>> {
        if let Some(hint) = self.hint("LATEST")? {
            match (self.snapshot(hint + 1), self.snapshot(hint)) {
                (Err(next), Ok(hinted)) if next.kind() == ErrorKind::Missing => return Ok(Some(hinted)),
                _ => {}
            }
        }
        let ids = snapshot_ids(&self.storage.list(&self.path("snapshot"))?);
        ids.last().map(|id| self.snapshot(*id)).transpose()
    }

    /// The number in a hint file; hints are only hints, so one that is not there or no number is none.
    fn hint(&self, name: &str) -> Result<Option<i64>> {
        match self.storage.read(&self.path(&format!("snapshot/{name}"))) {
            Ok(bytes) => {
                let number =
                    std::str::from_utf8(&bytes).ok().and_then(|text| text.trim().parse::<i64>().ok());
                Ok(number.filter(|number| (1..i64::MAX).contains(number)))
            }
            Err(error) if error.kind() == ErrorKind::Missing => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn no_snapshot(&self, id: i64) -> Error {
        let names = self.storage.list(&self.path("snapshot")).unwrap_or_default();
        let ids = snapshot_ids(&names);
        let range = match (ids.first(), ids.last()) {
            (Some(first), Some(last)) => format!("the table has {first} to {last}"),
            _ => "the table has none".to_owned(),
        };
        Error::new(ErrorKind::SnapshotNotFound, format!("no snapshot {id}; {range}")).in_file(self.location)
    }
}
