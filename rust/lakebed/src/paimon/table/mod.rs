//! A table on a branch at a snapshot: its paths, snapshots and schemas.

mod files;
mod lineage;
mod lists;
#[cfg(test)]
mod tests;
mod travel;
mod views;

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

pub(crate) use files::{BranchFiles, Hint};
pub(crate) use lists::ListFile;
use travel::Latest;

use super::partition::PartitionType;
use super::paths::{MAIN, manifest_file, schema_file};
use super::schema::TableSchema;
use super::snapshot::Snapshot;
use crate::columnar::Decoding;
use crate::credentials::without_credentials;
use crate::error::{Error, ErrorKind, Result};
use crate::storage::Storage;
use crate::table::{HintAhead, TableCore, capped};

/// A Paimon table on one of its branches, at one of its snapshots, or at none before the first commit.
///
/// Branches have snapshots, schemas, tags, changelogs and consumers of their own; manifests, statistics,
/// index and data files of all branches are in the table's own folders.
#[derive(Clone)]
pub struct Table {
    pub(in crate::paimon) core: TableCore,
    snapshot: Option<Arc<Snapshot>>,
    schema: Arc<TableSchema>,
}

impl Deref for Table {
    type Target = TableCore;

    fn deref(&self) -> &TableCore {
        &self.core
    }
}

/// The types of tables of Paimon's catalogs that have no snapshots of Paimon's (`TableType.java`).
const WITHOUT_SNAPSHOTS: [&str; 3] = ["format-table", "lance-table", "iceberg-table"];

/// Refuses a schema that says its table has no snapshots of Paimon's.
fn check_type(schema: &TableSchema) -> Result<()> {
    let ty = schema.option("type").map(|ty| ty.trim().to_ascii_lowercase());
    match ty.filter(|ty| WITHOUT_SNAPSHOTS.contains(&ty.as_str())) {
        Some(ty) => {
            let message =
                format!("a Paimon table of type {ty} has no snapshots and manifests of Paimon's to read");
            Err(Error::new(ErrorKind::Unsupported, message))
        }
        None => Ok(()),
    }
}

impl Table {
    /// Opens the table at `location` at the latest snapshot of its branch `main`.
    ///
    /// The latest snapshot is that of the hint if that file exists and the next one does not (Paimon's
    /// `HintFileUtils.java`), else the largest one listed. The schema is the table's latest, which may be
    /// newer than the snapshot. Reads one snapshot file and one schema file.
    ///
    /// # Errors
    /// `TableNotFound` where the folder has no schema of a Paimon table; `Unsupported` for a table of another
    /// type, such as a format table; `Json`, `Type`; those of the storage.
    pub fn open(location: &str, storage: Arc<dyn Storage>, decoding: impl Into<Decoding>) -> Result<Table> {
        let hint = Table::hint(location, &storage, 1);
        Table::open_hinted(location, storage, decoding, hint)
    }

    /// Begins to read the hint of the table at `location`, while so many other requests are made.
    pub(crate) fn hint(location: &str, storage: &Arc<dyn Storage>, others: usize) -> HintAhead {
        let location = location.trim_end_matches('/');
        BranchFiles { location, branch: MAIN, storage }.latest_hint(others)
    }

    /// The same, by what is read ahead of the table's hint.
    ///
    /// # Errors
    /// As [`Table::open`].
    pub(crate) fn open_hinted(
        location: &str,
        storage: Arc<dyn Storage>,
        decoding: impl Into<Decoding>,
        hint: HintAhead,
    ) -> Result<Table> {
        let location = location.trim_end_matches('/');
        let files = BranchFiles { location, branch: MAIN, storage: &storage };
        let Some(Latest { snapshot, schema, .. }) = files.latest(hint)? else {
            let shown = without_credentials(location);
            let message = format!("no Paimon table at {shown:?}: there is no schema/schema-N below it");
            return Err(Error::new(ErrorKind::TableNotFound, message).in_file(location));
        };
        check_type(&schema).map_err(|error| error.in_file(location))?;
        Ok(Table {
            core: TableCore::new(location, storage, capped(decoding)),
            snapshot: snapshot.map(Arc::new),
            schema: Arc::new(schema),
        })
    }

    /// Whether there is a table at `location`, which may be incomplete. Lists the schemas.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn is_at(location: &str, storage: &Arc<dyn Storage>) -> Result<bool> {
        let files = BranchFiles { location, branch: MAIN, storage };
        Ok(!files.schema_ids()?.is_empty())
    }

    /// The snapshot, if there is one.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_deref()
    }

    /// The schema by which rows are read: the branch's latest, or that of the requested snapshot.
    pub fn schema(&self) -> &TableSchema {
        &self.schema
    }

    pub(crate) fn files(&self) -> BranchFiles<'_> {
        BranchFiles { location: &self.location, branch: &self.branch, storage: &self.storage }
    }

    /// The table's partition columns, whose notes are the table's.
    pub(crate) fn partition_type(&self) -> PartitionType {
        PartitionType::new(self.schema()).noting(&self.notes)
    }

    /// The full path of a manifest.
    pub(crate) fn manifest_path(&self, file_name: &str) -> String {
        self.files().shared(&manifest_file(file_name))
    }

    /// Every schema version of the branch.
    pub(crate) fn schemas(&self) -> Result<BTreeMap<i64, TableSchema>> {
        let files = self.files();
        let found = files.each(files.schema_ids()?, |id| schema_file(*id), TableSchema::from_json)?;
        Ok(found.into_iter().collect())
    }

    /// The branch's latest schema, which may be newer than the one by which rows are read.
    pub(crate) fn latest_schema(&self) -> Result<TableSchema> {
        let files = self.files();
        let latest = files.schema_ids()?.pop();
        latest.map_or_else(|| Ok(self.schema().clone()), |id| files.schema(id))
    }

    /// The text of one schema file.
    pub(crate) fn schema_text(&self, id: i64) -> Result<String> {
        let bytes = self.read_recorded(&self.files().own(&schema_file(id)), None)?;
        String::from_utf8(bytes.to_vec()).map_err(|_| Error::new(ErrorKind::Json, "schema is not UTF-8"))
    }

    /// The texts of every schema file of the branch.
    pub(crate) fn schema_texts(&self) -> Result<BTreeMap<i64, String>> {
        let ids = self.files().schema_ids()?;
        ids.into_iter().map(|id| Ok((id, self.schema_text(id)?))).collect()
    }
}
