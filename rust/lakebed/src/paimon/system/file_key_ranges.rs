//! `$file_key_ranges` (Paimon's `FileKeyRangesTable.java`): the key range of each live file.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, RecordBatch};
use arrow_schema::DataType::{Int32, Int64, Utf8};
use arrow_schema::{Field, Schema as ArrowSchema, SchemaRef};

use super::planned::planned_files;
use super::rows::{KeyTypes, partition_texts};
use crate::error::Result;
use crate::paimon::partition::PartitionType;
use crate::paimon::schema::TableSchema;
use crate::paimon::table::Table;
use crate::record::{column, find};
use crate::scan::Batches;
use crate::scan::ScanOptions;
use crate::system::{Request, SystemTable, optional, required};
use crate::view::batch;

pub(super) const TABLE: SystemTable<Table> =
    SystemTable { name: "file_key_ranges", columns: |_| Ok(columns()), rows };

/// The columns of live files from which this table's columns are made.
pub(super) const INPUT: [&str; 11] = [
    "partition",
    "bucket",
    "file_path",
    "file_format",
    "schema_id",
    "level",
    "row_count",
    "file_size",
    "min_key",
    "max_key",
    "first_row_id",
];

pub(super) fn columns() -> Vec<Field> {
    vec![
        optional("partition", Utf8),
        required("bucket", Int32),
        required("file_path", Utf8),
        required("file_format", Utf8),
        required("schema_id", Int64),
        required("level", Int32),
        required("record_count", Int64),
        required("file_size_in_bytes", Int64),
        optional("min_key", Utf8),
        optional("max_key", Utf8),
        optional("first_row_id", Int64),
    ]
}

fn rows(table: &Table, request: &Request) -> Result<Batches> {
    let rows = KeyRanges::new(table, &table.schemas()?);
    let schema: SchemaRef = Arc::new(ArrowSchema::new(columns()));
    let files =
        planned_files(table, &INPUT, &ScanOptions { threads: request.threads, ..ScanOptions::default() })?;
    Ok(Box::new(files.map(move |files| {
        let files = files?;
        let columns = schema.fields().iter().map(|field| rows.column(&files, field.name()));
        batch(&schema, columns.collect::<Result<_>>()?, files.num_rows())
    })))
}

/// Makes the columns of this table from live files.
pub(super) struct KeyRanges {
    partition: PartitionType,
    keys: KeyTypes,
}

impl KeyRanges {
    /// For files of `table` with these schemas.
    pub(super) fn new(table: &Table, schemas: &BTreeMap<i64, TableSchema>) -> KeyRanges {
        KeyRanges { partition: PartitionType::new(table.schema()), keys: KeyTypes::new(schemas) }
    }

    /// The column `name` for `files`, which have the columns of [`INPUT`]; where it is not computed, the
    /// column of that name in `files`.
    pub(super) fn column(&self, files: &RecordBatch, name: &str) -> Result<ArrayRef> {
        match name {
            "partition" => partition_texts(column::<BinaryArray>(files, name)?, &self.partition),
            "min_key" | "max_key" => self.keys.texts(files, name).map_err(|error| error.in_field(name)),
            "record_count" => find(files, "row_count"),
            "file_size_in_bytes" => find(files, "file_size"),
            name => find(files, name),
        }
    }
}
