//! Defaults of missing keys, and what must be consistent (Iceberg specification, "Table Metadata Fields" and
//! appendix E; `TableMetadataParser.java`).

use std::sync::Arc;

use super::logs::SortOrder;
use super::read::Draft;
use super::snapshot::{Lineage, Snapshot, SnapshotRef};
use super::stored::required;
use super::{MAIN, TableMetadata};
use crate::credentials::without_credentials;
use crate::error::{Error, ErrorKind, Location, Result};
use crate::iceberg::partition::{NO_PARTITION_ID, PartitionSpec};
use crate::iceberg::paths::{RELATIVE_PATHS, has_scheme, resolved};
use crate::iceberg::types::Schema;

impl Draft<'_> {
    /// The complete metadata, after the current elements are found.
    ///
    /// Version 1 may have only the current schema and partition fields, and no sort orders. Later versions
    /// have the plural keys; leftover singular ones are ignored.
    pub(super) fn finish(mut self, folder: &str) -> Result<TableMetadata> {
        if self.is_view() {
            let message =
                "this is the metadata of a view, which has a query and no files: only tables are read";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let format_version = required(self.format_version, "format-version")?;
        let is_first = format_version == 1;
        if !is_first {
            required(self.table_uuid.as_ref(), "table-uuid")?;
        }
        let last_sequence_number = self.last_sequence_number(is_first)?;
        let (schemas, current_schema_id) = self.schemas(is_first)?;
        let (partition_specs, default_spec_id) = self.partition_specs(is_first)?;
        let last_partition_id = self.last_partition_id(is_first, &partition_specs)?;
        let (sort_orders, default_sort_order_id) = self.sort_orders(is_first)?;
        let oddities = self.oddities();
        let mut refs = self.refs.unwrap_or_default();
        if let Some(id) = self.current.snapshot {
            refs.entry(MAIN.to_owned()).or_insert_with(|| SnapshotRef::branch(id));
        }
        let location = location(self.location, format_version)?;
        let has_location = location.is_some();
        let mut metadata = TableMetadata {
            format_version,
            table_uuid: self.table_uuid,
            location: location.unwrap_or_else(|| folder.to_owned()),
            has_location,
            last_sequence_number,
            last_updated_ms: required(self.last_updated_ms, "last-updated-ms")?,
            last_column_id: required(self.last_column_id, "last-column-id")?,
            current_schema_id,
            schemas,
            partition_specs,
            default_spec_id,
            last_partition_id,
            sort_orders,
            default_sort_order_id,
            properties: self.properties.unwrap_or_default().0,
            current_snapshot_id: self.current.snapshot,
            snapshots: self.snapshots.take_kept(),
            lineage: self.lineage,
            refs,
            snapshot_log: self.snapshot_log,
            metadata_log: self.metadata_log,
            statistics: self.statistics,
            partition_statistics: self.partition_statistics,
            next_row_id: self.next_row_id,
            encryption_keys: self.encryption_keys.unwrap_or_default(),
            oddities,
        };
        metadata.resolve_paths();
        Ok(metadata)
    }

    /// The table's last sequence number; no snapshot may have a higher one.
    fn last_sequence_number(&self, is_first: bool) -> Result<i64> {
        let key = "last-sequence-number";
        let last = if is_first { 0 } else { required(self.last_sequence_number, key)? };
        match self.latest {
            Some((Lineage { snapshot_id, sequence_number, .. }, offset)) if sequence_number > last => {
                let message = format!(
                    "snapshot {snapshot_id} has sequence number {sequence_number}, the table's last is {last}"
                );
                let place = Location { offset: Some(offset), ..Location::default() };
                Err(Error::new(ErrorKind::Mismatch, message).in_field(key).at(place))
            }
            _ => Ok(last),
        }
    }

    fn schemas(&mut self, is_first: bool) -> Result<(Vec<Arc<Schema>>, i32)> {
        let (mut schemas, key) = (self.schemas.take_kept(), "current-schema-id");
        let of_first = || -> Result<Arc<Schema>> {
            let stored = required(self.schema.as_ref(), "schema")?;
            Schema::parse(stored.get().as_bytes()).map(Arc::new).map_err(|error| error.within("schema"))
        };
        if is_first && !self.has_schemas {
            let schema = of_first()?;
            let id = schema.schema_id;
            return Ok((vec![schema], id));
        }
        if !self.has_schemas {
            return required(None, "schemas");
        }
        let id = match self.current.schema {
            None if is_first && self.schema.is_some() => {
                let schema = of_first()?;
                let id = schema.schema_id;
                // The one of that number, even if the list was not requested.
                match schemas.iter_mut().find(|known| known.schema_id == id) {
                    Some(known) => *known = schema,
                    None => schemas.push(schema),
                }
                id
            }
            id => required(id, key)?,
        };
        named(schemas.iter().any(|schema| schema.schema_id == id), key, id, "schemas")?;
        Ok((schemas, id))
    }

    fn partition_specs(&mut self, is_first: bool) -> Result<(Vec<PartitionSpec>, i32)> {
        let key = "default-spec-id";
        let specs = match (self.partition_specs.take(), &self.partition_spec) {
            (None, fields) if is_first => {
                let fields = required(fields.as_ref(), "partition-spec")?;
                let spec = PartitionSpec::from_fields(0, fields);
                return Ok((vec![spec.map_err(|error| error.within("partition-spec"))?], 0));
            }
            (specs, _) => required(specs, "partition-specs")?,
        };
        let id = required(self.default_spec_id, key)?;
        named(specs.iter().any(|spec| spec.spec_id == id), key, id, "partition-specs")?;
        Ok((specs, id))
    }

    fn last_partition_id(&self, is_first: bool, specs: &[PartitionSpec]) -> Result<i32> {
        let ids = specs.iter().flat_map(|spec| &spec.fields).map(|field| field.field_id);
        match self.last_partition_id {
            None if is_first => Ok(ids.max().unwrap_or(NO_PARTITION_ID)),
            id => required(id, "last-partition-id"),
        }
    }

    fn sort_orders(&mut self, is_first: bool) -> Result<(Vec<SortOrder>, i32)> {
        let key = "default-sort-order-id";
        let unsorted = SortOrder::UNSORTED;
        let (orders, id) = match (self.sort_orders.take(), self.default_sort_order_id) {
            (None, _) if is_first => return Ok((vec![unsorted], SortOrder::UNSORTED.order_id)),
            (orders, id) => (required(orders, "sort-orders")?, id.or(is_first.then_some(unsorted.order_id))),
        };
        let id = required(id, key)?;
        let known = id == unsorted.order_id || orders.iter().any(|order| order.order_id == id);
        named(known, key, id, "sort-orders")?;
        Ok((orders, id))
    }
}

/// Refuses an id that no element of a list has.
fn named(known: bool, key: &str, id: i32, list: &str) -> Result<()> {
    if known {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Required, format!("`{key}` is {id}, which `{list}` does not have"))
        .in_field(key))
}

/// The location of the table, which only version 4 may leave out. There it has a scheme, since a path without one would
/// be relative to it.
fn location(stored: Option<String>, format_version: i32) -> Result<Option<String>> {
    let may_be_relative = format_version >= RELATIVE_PATHS;
    let Some(location) = stored else {
        return if may_be_relative { Ok(None) } else { required(None, "location") };
    };
    if may_be_relative && !has_scheme(&location) {
        let message = format!(
            "the table's location {:?} must be absolute, with a scheme",
            without_credentials(&location)
        );
        return Err(Error::new(ErrorKind::Location, message).in_field("location"));
    }
    Ok(Some(location.trim_end_matches('/').to_owned()))
}

impl TableMetadata {
    /// The location that relative paths of the file begin with; `None` where all are absolute.
    pub(in crate::iceberg) fn base(&self) -> Option<&str> {
        (self.format_version >= RELATIVE_PATHS).then_some(self.location.as_str())
    }

    /// Puts the location before relative paths.
    fn resolve_paths(&mut self) {
        let Some(location) = self.base().map(str::to_owned) else { return };
        self.snapshots.iter_mut().for_each(|snapshot| snapshot.resolve_paths(&location));
        let others = self.metadata_log.iter_mut().map(|entry| &mut entry.metadata_file);
        let others = others.chain(self.statistics.iter_mut().map(|file| &mut file.statistics_path));
        let others = others.chain(self.partition_statistics.iter_mut().map(|file| &mut file.statistics_path));
        others.for_each(|path| *path = resolved(path, &location).into_owned());
    }
}

impl Snapshot {
    /// Puts the location before relative paths.
    pub(super) fn resolve_paths(&mut self, location: &str) {
        let paths = self.manifest_list.iter_mut().chain(&mut self.manifests);
        paths.for_each(|path| *path = resolved(path, location).into_owned());
    }
}
