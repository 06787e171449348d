//! `$file_indexes` (Paimon 2.0's `FileIndexesTable.java`): the indexes of columns that each live file has, in its manifest
//! entry or in a file beside it.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Int64Array, ListArray, RecordBatch, StringArray, UInt32Array,
};
use arrow_schema::DataType::{Boolean, Int32, Int64, Utf8};
use arrow_schema::{Field, Schema as ArrowSchema, SchemaRef};
use arrow_select::take::take;

use super::file_key_ranges::KeyRanges;
use super::planned::planned_files;
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::fields::texts_at;
use crate::paimon::file_index::{PREFIX_BYTES, head_size, places};
use crate::paimon::table::Table;
use crate::record::column;
use crate::scan::{Batches, ScanOptions};
use crate::storage::Storage;
use crate::system::{Request, SystemTable, optional, required};
use crate::view::batch;

pub(super) const TABLE: SystemTable<Table> =
    SystemTable { name: "file_indexes", columns: |_| Ok(columns()), rows };

/// The columns of live files from which this table's columns are made.
const INPUT: [&str; 8] = [
    "partition",
    "bucket",
    "file_path",
    "file_size",
    "row_count",
    "schema_id",
    "embedded_file_index",
    "extra_files",
];
/// The first columns, which are those of the file.
const OF_FILE: usize = 6;
const ENDING: &str = ".index";

fn columns() -> Vec<Field> {
    vec![
        optional("partition", Utf8),
        required("bucket", Int32),
        required("file_path", Utf8),
        required("file_size_in_bytes", Int64),
        required("record_count", Int64),
        required("schema_id", Int64),
        required("column_name", Utf8),
        required("index_type", Utf8),
        required("storage_type", Utf8),
        optional("index_file_path", Utf8),
        required("index_size_in_bytes", Int64),
        required("index_container_size_in_bytes", Int64),
        required("is_empty", Boolean),
    ]
}

fn rows(table: &Table, request: &Request) -> Result<Batches> {
    let ranges = KeyRanges::new(table, &table.schemas()?);
    let schema: SchemaRef = Arc::new(ArrowSchema::new(columns()));
    let options = ScanOptions { threads: request.threads, ..ScanOptions::default() };
    let storage = Arc::clone(table.storage());
    let files = planned_files(table, &INPUT, &options)?;
    Ok(Box::new(files.map(move |files| {
        let files = files?;
        let mut indexes = Indexes::default();
        for row in 0..files.num_rows() {
            storage.interrupted()?;
            indexes.add_file(&files, row, storage.as_ref())?;
        }
        let places = UInt32Array::from(indexes.rows.clone());
        let of_file = schema.fields().iter().take(OF_FILE);
        let of_file = of_file.map(|field| Ok(take(&ranges.column(&files, field.name())?, &places, None)?));
        let columns = of_file.chain(indexes.columns().into_iter().map(Ok)).collect::<Result<_>>()?;
        batch(&schema, columns, indexes.rows.len())
    })))
}

/// The indexes of some files.
#[derive(Default)]
struct Indexes {
    /// The row of each one's file.
    rows: Vec<u32>,
    names: Vec<String>,
    kinds: Vec<String>,
    /// The file beside the data file that each is in; `None` for those in manifest entries.
    paths: Vec<Option<String>>,
    sizes: Vec<i64>,
    /// The size of all indexes of the file \[bytes\].
    container_sizes: Vec<i64>,
    empty: Vec<bool>,
}

impl Indexes {
    fn add_file(&mut self, files: &RecordBatch, row: usize, storage: &dyn Storage) -> Result<()> {
        let path = column::<StringArray>(files, "file_path")?.value(row);
        let embedded = column::<BinaryArray>(files, "embedded_file_index")?;
        if embedded.is_valid(row) {
            let bytes = embedded.value(row);
            return self.add(row, None, bytes, bytes.len() as u64).map_err(|error| error.in_file(path));
        }
        let names = texts_at(column::<ListArray>(files, "extra_files")?, row)?;
        let mut names = names.iter().flatten().flatten().filter(|name| name.ends_with(ENDING));
        let Some(name) = names.next() else { return Ok(()) };
        if names.next().is_some() {
            let error = Error::new(ErrorKind::Mismatch, "the data file names several files of indexes");
            return Err(error.in_file(path).in_field("extra_files"));
        }
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let path = format!("{folder}/{name}");
        self.add_side_file(row, &path, storage).map_err(|error| error.in_file(&path))
    }

    /// The indexes of a file beside the data file, of which the head is read alone.
    fn add_side_file(&mut self, row: usize, path: &str, storage: &dyn Storage) -> Result<()> {
        let Some(size) = storage.details(path)?.and_then(|details| details.size) else {
            // It is gone, which reading says, or the storage does not say how large files are.
            let bytes = storage.read(path)?;
            return self.add(row, Some(path), &bytes, bytes.len() as u64);
        };
        let prefix = storage.read_range(path, 0, PREFIX_BYTES.min(size))?;
        let head = head_size(&prefix).ok_or_else(malformed)?;
        if head > size {
            return Err(malformed());
        }
        self.add(row, Some(path), &storage.read_range(path, 0, head)?, size)
    }

    fn add(&mut self, row: usize, path: Option<&str>, head: &[u8], size: u64) -> Result<()> {
        let too_large = |_| Error::new(ErrorKind::Mismatch, "sizes of indexes do not fit 64 bits");
        let (row, size) = (u32::try_from(row).map_err(too_large)?, i64::try_from(size).map_err(too_large)?);
        for place in places(head).ok_or_else(malformed)? {
            self.rows.push(row);
            self.names.push(place.column.to_owned());
            self.kinds.push(place.kind.to_owned());
            self.paths.push(path.map(str::to_owned));
            self.sizes.push(place.size.into());
            self.container_sizes.push(size);
            self.empty.push(place.is_empty());
        }
        Ok(())
    }

    fn columns(&self) -> Vec<ArrayRef> {
        let storage = self.paths.iter().map(|path| if path.is_some() { "FILE" } else { "EMBEDDED" });
        vec![
            Arc::new(StringArray::from_iter_values(&self.names)),
            Arc::new(StringArray::from_iter_values(&self.kinds)),
            Arc::new(StringArray::from_iter_values(storage)),
            Arc::new(self.paths.iter().map(Option::as_deref).collect::<StringArray>()),
            Arc::new(Int64Array::from(self.sizes.clone())),
            Arc::new(Int64Array::from(self.container_sizes.clone())),
            Arc::new(BooleanArray::from(self.empty.clone())),
        ]
    }
}

#[cold]
fn malformed() -> Error {
    Error::new(ErrorKind::Length, "the head of the indexes of columns is cut, or no such head")
}
