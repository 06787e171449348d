//! The types by which a table's rows are read.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Table;
use crate::error::Result;
use crate::iceberg::metadata::TableMetadata;
use crate::iceberg::partition::{PartitionSpec, PartitionType};
use crate::iceberg::paths::TableFormat;
use crate::iceberg::types::Schema;

/// The schema and partition specs by which a table's rows are read.
#[derive(Debug, Clone)]
pub(crate) struct TableTypes {
    /// The schema.
    pub(crate) schema: Arc<Schema>,
    /// Every spec of the table.
    pub(crate) specs: Arc<[PartitionSpec]>,
    /// The partition type of all specs.
    pub(crate) partition: Arc<PartitionType>,
    /// Older schemas, for specs with source columns that `schema` lacks.
    others: Vec<Arc<Schema>>,
    /// The table's format version and location.
    pub(crate) format: TableFormat,
}

impl TableTypes {
    /// `others` give the types of source columns that `schema` lacks: the first that has the column.
    pub(crate) fn new(
        schema: Arc<Schema>,
        specs: Arc<[PartitionSpec]>,
        others: Vec<Arc<Schema>>,
        format: TableFormat,
    ) -> TableTypes {
        let all: Vec<&Schema> = std::iter::once(&schema).chain(&others).map(Arc::as_ref).collect();
        let partition = Arc::new(PartitionType::unify(&specs, &all));
        TableTypes { schema, specs, partition, others, format }
    }
}

/// [`TableTypes`] in the form in which they are sent, as JSON of table metadata.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredTypes {
    schema: Value,
    specs: Vec<Value>,
    others: Vec<Value>,
    format: TableFormat,
}

impl From<&TableTypes> for StoredTypes {
    fn from(types: &TableTypes) -> StoredTypes {
        StoredTypes {
            schema: types.schema.to_json(),
            specs: types.specs.iter().map(PartitionSpec::to_json).collect(),
            others: types.others.iter().map(|schema| schema.to_json()).collect(),
            format: types.format.clone(),
        }
    }
}

impl TryFrom<&StoredTypes> for TableTypes {
    type Error = crate::error::Error;

    fn try_from(stored: &StoredTypes) -> Result<TableTypes> {
        let schema = |json: &Value| Schema::from_json(json).map(Arc::new);
        let specs = stored.specs.iter().map(PartitionSpec::from_json).collect::<Result<Vec<_>>>()?;
        let others = stored.others.iter().map(schema).collect::<Result<_>>()?;
        Ok(TableTypes::new(schema(&stored.schema)?, specs.into(), others, stored.format.clone()))
    }
}

impl Table {
    /// The format version and location, by which files of metadata are read.
    pub(crate) fn format(&self) -> TableFormat {
        let TableMetadata { format_version, location, .. } = self.metadata();
        TableFormat { version: *format_version, location: location.clone() }
    }

    /// The types by which rows are read. Older schemas are read where a partition spec has source columns
    /// that the table's schema lacks.
    ///
    /// # Errors
    /// Those of [`Table::schemas`].
    pub(crate) fn types(&self) -> Result<TableTypes> {
        let specs: Arc<[PartitionSpec]> = self.metadata().partition_specs.clone().into();
        let mut sources = specs.iter().flat_map(|spec| &spec.fields).flat_map(|field| &field.source_ids);
        let others = match sources.all(|id| self.schema().field_by_id(*id).is_some()) {
            true => Vec::new(),
            // The newest first: the latest type of a column counts.
            false => self.schemas()?.into_values().rev().collect(),
        };
        Ok(TableTypes::new(Arc::clone(self.schema()), specs, others, self.format()))
    }

    /// The types of the engine's own tables, whichever snapshot the table is at: the current schema, and the
    /// partition fields whose source that schema has.
    ///
    /// # Errors
    /// `Required` where the current schema is missing.
    pub(crate) fn current_types(&self) -> Result<TableTypes> {
        let schema = super::current_schema(self.metadata())?;
        let metadata = self.metadata();
        let specs = metadata.partition_specs.clone().into();
        Ok(TableTypes::new(schema, specs, Vec::new(), self.format()))
    }
}
