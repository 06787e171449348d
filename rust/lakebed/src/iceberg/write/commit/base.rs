//! The state of a table that a commit is based on.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use lakebed_avro::{Codec, Limits};
use serde_json::Value;

use super::document::Document;
use super::head::HeadList;
use crate::error::{Error, ErrorKind, Result, fitting};
use crate::iceberg::discovery::FOLDER;
use crate::iceberg::encryption::KEY_PROPERTY;
use crate::iceberg::metadata::{
    ElementFilter, METADATA_PATH, Snapshot, SnapshotRef, TableMetadata, WantedElements,
};
use crate::iceberg::partition::PartitionSpec;
use crate::iceberg::table::Table;
use crate::iceberg::types::Schema;
use crate::iceberg::write::FormatVersion;
use crate::iceberg::write::metadata::{METADATA_CODEC, metadata_ending};
use crate::local_path::local_path;
use crate::storage::Storage;
use crate::table::{Place, id_at};
use crate::write::MANIFEST_TARGET_BYTES;

/// What a commit reads of the metadata: the current snapshot, and only the parents of the others.
const WANTED: WantedElements =
    WantedElements { schemas: ElementFilter::All, lineage: true, ..WantedElements::CURRENT };

/// A table's metadata that a change is based on: the latest, with the earlier changes of the same commit.
pub(super) struct Base {
    /// The table at the head of the branch that is committed to.
    pub(super) table: Table,
    /// The parts of the metadata in [`WANTED`].
    pub(super) metadata: Arc<TableMetadata>,
    /// The metadata as stored, including unknown keys.
    pub(super) json: Document,
    /// All snapshots, once one other than the current is needed.
    snapshots: OnceCell<HashMap<i64, Snapshot>>,
    /// The version of its format.
    pub(super) version: FormatVersion,
    /// The snapshots that earlier changes of the same commit have made.
    own: Vec<i64>,
    /// Whether an earlier change of the same commit has moved the branch.
    is_moved: bool,
}

/// Which snapshot a change is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotChoice {
    /// Where it is, among what earlier changes of the same commit leave.
    pub at: Option<Place>,
    /// The one of the table that the change was begun at. `at` is first, then the head of a branch that an earlier
    /// change of the same commit has moved.
    pub own: Option<i64>,
}

/// How a table's manifests are merged (`TableProperties.java`).
pub(super) struct MergeOptions {
    pub(super) enabled: bool,
    /// The largest size of a merged manifest \[bytes\].
    pub(super) target_bytes: u64,
    /// A bin with the newest manifest is merged only if it has at least this many manifests.
    pub(super) least: u64,
}

impl Base {
    /// The latest metadata of the table at `location`, its folder or one of its metadata files, on a branch.
    ///
    /// # Errors
    /// Those of [`Table::open`] and [`Table::at_branch`]; `Unsupported` for a table whose metadata has
    /// another location, or that keeps its files elsewhere.
    pub(super) fn read(
        location: &str,
        branch: &str,
        storage: Arc<dyn Storage>,
        limits: Limits,
    ) -> Result<Base> {
        let (table, text) = Table::open_whole(location, storage, limits, &WANTED)?;
        let json = Document::parse(&text).map_err(|error| error.in_file(table.metadata_file()))?;
        Base::new(&table, branch, json, Vec::new())
    }

    /// The state that a change of this one leaves, which is in no file yet: `json`, of which `snapshot` is new.
    ///
    /// # Errors
    /// As [`Base::read`].
    pub(super) fn after(&self, json: Document, snapshot: Option<i64>) -> Result<Base> {
        let table = self.table.with_metadata(json.clone().into_text()?, &WANTED)?;
        let own = self.own.iter().copied().chain(snapshot).collect();
        let mut after = Base::new(&table, self.branch(), json, own)?;
        after.is_moved = self.is_moved || after.head() != self.head();
        Ok(after)
    }

    fn new(table: &Table, branch: &str, json: Document, own: Vec<i64>) -> Result<Base> {
        let (metadata, table) = (table.shared_metadata(), table.at_branch(branch)?);
        let version = FormatVersion::try_from(metadata.format_version)?;
        let base = Base { table, metadata, json, version, snapshots: OnceCell::new(), own, is_moved: false };
        base.check_place()?;
        Ok(base)
    }

    /// Whether an earlier change of the same commit has made a snapshot.
    pub(super) fn is_own(&self, snapshot_id: i64) -> bool {
        self.own.contains(&snapshot_id)
    }

    /// Refuses encrypted tables, and tables whose new files would be outside of their location.
    fn check_place(&self) -> Result<()> {
        if !self.metadata.encryption_keys.is_empty() || self.metadata.property(KEY_PROPERTY).is_some() {
            let message = "the table is encrypted: commits would write metadata that is not";
            return Err(Error::new(ErrorKind::Unsupported, message).in_file(self.table.metadata_file()));
        }
        if self.metadata.property(METADATA_PATH).is_some() {
            let message = format!("{METADATA_PATH} is set: commits write below the table's location");
            return Err(Error::new(ErrorKind::Unsupported, message).in_file(self.table.metadata_file()));
        }
        if self.is_at_its_location() {
            return Ok(());
        }
        let message = format!(
            "the table is at {}, but its metadata has the location {}: a commit would write paths that \
            point elsewhere",
            self.table.location(),
            self.metadata.location
        );
        Err(Error::new(ErrorKind::Unsupported, message).in_file(self.table.metadata_file()))
    }

    /// Whether the table's metadata has the location where the table is.
    fn is_at_its_location(&self) -> bool {
        let (here, there) = (self.table.location(), self.metadata.location.trim_end_matches('/'));
        let canonical =
            |place: &str| -> Option<PathBuf> { Path::new(local_path(place).ok()?).canonicalize().ok() };
        here == there
            || self.table.storage().is_local()
                && canonical(here).is_some_and(|here| canonical(there) == Some(here))
    }

    /// The number in the metadata file's name, if it is one of a table without a catalog.
    pub(super) fn number(&self) -> Option<u64> {
        let name = self.table.metadata_file().rsplit('/').next()?;
        let (number, _) = name.strip_prefix('v')?.split_once('.')?;
        number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok())?
    }

    /// The path of the metadata file with that number, with the table's own location.
    ///
    /// It is compressed if the table's property requires it, as in `TableMetadataParser.java`.
    pub(super) fn metadata_path(&self, number: u64) -> String {
        let ending = metadata_ending(self.metadata.property(METADATA_CODEC));
        self.path(&format!("v{number}{ending}"))
    }

    /// The path of a file in the metadata folder, with the table's own location.
    pub(super) fn path(&self, name: &str) -> String {
        format!("{}/{FOLDER}/{name}", self.metadata.location.trim_end_matches('/'))
    }

    /// The branch that is committed to.
    pub(super) fn branch(&self) -> &str {
        self.table.branch()
    }

    /// The snapshot that the branch is at.
    pub(super) fn head(&self) -> Option<i64> {
        self.table.snapshot_id()
    }

    /// Whether the table has a snapshot.
    pub(super) fn has_snapshot(&self, id: i64) -> bool {
        self.metadata.lineage.iter().any(|one| one.snapshot_id == id)
    }

    /// A snapshot of the table, if it exists; the first one that is not current costs reading all.
    ///
    /// # Errors
    /// Those of [`Table::read`].
    pub(super) fn snapshot(&self, id: i64) -> Result<Option<&Snapshot>> {
        if let Some(known) = self.metadata.snapshot(id) {
            return Ok(Some(known));
        }
        if self.snapshots.get().is_none() {
            let all = self
                .table
                .read(&WantedElements { snapshots: ElementFilter::All, ..WantedElements::CURRENT })?
                .snapshots;
            _ = self.snapshots.set(all.into_iter().map(|one| (one.snapshot_id, one)).collect());
        }
        Ok(self.snapshots.get().and_then(|all| all.get(&id)))
    }

    /// The id of a snapshot; one that is given by its id is not looked for. `by` is what names it, for people.
    ///
    /// # Errors
    /// Those of [`id_at`]; `SnapshotNotFound` where there is none.
    pub(super) fn chosen(&self, choice: &SnapshotChoice, by: &str) -> Result<i64> {
        let id = match &choice.at {
            Some(place) => id_at(&self.table, place)?,
            None if self.is_moved => self.head(),
            None => choice.own,
        };
        id.ok_or_else(|| {
            let message = format!("there is no snapshot that a {by} could name");
            Error::new(ErrorKind::SnapshotNotFound, message).in_file(self.table.metadata_file())
        })
    }

    /// The branch at another snapshot, with its retention rules.
    pub(super) fn head_ref(&self, snapshot_id: i64) -> SnapshotRef {
        match self.metadata.refs.get(self.branch()) {
            Some(one) => SnapshotRef { snapshot_id, ..one.clone() },
            None => SnapshotRef::branch(snapshot_id),
        }
    }

    /// A snapshot and its existing ancestors, the newest first.
    pub(super) fn ancestors(&self, id: Option<i64>) -> impl Iterator<Item = i64> + use<> {
        let lineage = self.metadata.lineage.iter();
        let parents: HashMap<i64, Option<i64>> =
            lineage.map(|one| (one.snapshot_id, one.parent_id)).collect();
        // A path with more snapshots than exist is a cycle.
        let (most, mut next) = (parents.len(), id);
        let path = std::iter::from_fn(move || {
            let id = next?;
            next = *parents.get(&id)?;
            Some(id)
        });
        path.take(most)
    }

    /// The sequence number of the next commit.
    ///
    /// # Errors
    /// `Mismatch` where there is none after the last.
    pub(super) fn next_sequence_number(&self) -> Result<i64> {
        if self.version == FormatVersion::V1 {
            return Ok(0);
        }
        let next = fitting(self.metadata.last_sequence_number.checked_add(1), "the next sequence number");
        next.map_err(|error| error.in_file(self.table.metadata_file()))
    }

    /// The table's current schema.
    pub(super) fn current_schema(&self) -> Result<&Schema> {
        let schema = self.metadata.schema(self.metadata.current_schema_id);
        schema
            .map(Arc::as_ref)
            .ok_or_else(|| Error::new(ErrorKind::Required, "the table has no current schema"))
    }

    /// The spec of that id.
    pub(super) fn spec(&self, id: i32) -> Result<&PartitionSpec> {
        let spec = self.metadata.partition_specs.iter().find(|spec| spec.spec_id == id);
        spec.ok_or_else(|| {
            let message = format!("the table has no partition spec {id}");
            Error::new(ErrorKind::Argument, message).in_field("spec_id")
        })
    }

    /// The schema, as JSON, with which a manifest of `spec` is written: the current one or, if that lacks a
    /// source column of the spec, the newest that has them all.
    pub(super) fn schema_of(&self, spec: &PartitionSpec) -> Result<Value> {
        let has_all = |schema: &Schema| {
            spec.fields.iter().flat_map(|field| &field.source_ids).all(|id| schema.field_by_id(*id).is_some())
        };
        let current = self.metadata.schema(self.metadata.current_schema_id);
        let newest = || self.metadata.schemas.iter().rev().find(|schema| has_all(schema));
        let schema = current.filter(|schema| has_all(schema)).or_else(newest).or(current);
        let schema = schema.ok_or_else(|| Error::new(ErrorKind::Required, "the table has no schema"))?;
        let stored = self.json.values().get("schemas").and_then(Value::as_array).into_iter().flatten();
        let same =
            |json: &&Value| json.get("schema-id").and_then(Value::as_i64) == Some(schema.schema_id.into());
        Ok(stored.clone().find(same).cloned().unwrap_or_else(|| schema.to_json()))
    }

    /// The codec and level of the table's manifests.
    ///
    /// # Errors
    /// `Unsupported` for an unknown codec and a level that is not a number.
    pub(super) fn manifest_codec(&self) -> Result<(Codec, Option<i32>)> {
        const CODEC: &str = "write.manifest.compression-codec";
        const LEVEL: &str = "write.manifest.compression-level";
        // Values of properties are kept out of messages: some are keys to a storage.
        let unknown = |key: &str| {
            Error::new(ErrorKind::Unsupported, format!("tables with this value of {key:?} cannot be written"))
        };
        let name = self.metadata.property(CODEC).unwrap_or("gzip");
        let codec = match name.to_ascii_lowercase().as_str() {
            "gzip" => Codec::Deflate,
            "uncompressed" | "none" => Codec::Null,
            "zstd" => Codec::Zstandard,
            other => Codec::named(other).map_err(|_| unknown(CODEC))?,
        };
        let level = self.metadata.property(LEVEL);
        let level = level.map(|level| level.parse::<i32>().map_err(|_| unknown(LEVEL)));
        Ok((codec, level.transpose()?.filter(|_| codec != Codec::Null && codec != Codec::Snappy)))
    }

    /// How manifests are merged, and how large they become.
    pub(super) fn merging(&self) -> MergeOptions {
        let property = |key: &str| self.metadata.property(key).map(str::trim);
        let number =
            |key: &str, default: u64| property(key).and_then(|text| text.parse().ok()).unwrap_or(default);
        let enabled = property("commit.manifest-merge.enabled");
        MergeOptions {
            enabled: enabled.is_none_or(|value| value.eq_ignore_ascii_case("true")),
            target_bytes: number("commit.manifest.target-size-bytes", MANIFEST_TARGET_BYTES).max(1),
            least: number("commit.manifest.min-count-to-merge", 100),
        }
    }

    /// The manifest list of the branch's head, with unknown fields of other writers.
    ///
    /// # Errors
    /// Those of reading the list.
    pub(super) fn manifests(&self) -> Result<RecordBatch> {
        HeadList::read(self)?.rows()
    }
}
