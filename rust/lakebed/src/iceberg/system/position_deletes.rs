//! `position_deletes`: the rows that live position delete files and deletion vectors delete (Iceberg's
//! `PositionDeletesTable.java`).

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, Int32Array, Int64Array, RecordBatch, StringArray, UInt64Array,
    new_null_array,
};
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef};
use arrow_select::take::take;

use super::rows::{Scope, entries};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::delete_file::{DeleteFileReader, DeletedRows};
use crate::iceberg::deletion_vector::VectorEntry;
use crate::iceberg::encryption::plain_named;
use crate::iceberg::fields::{PARTITION, POSITION_DELETES, ROW};
use crate::iceberg::manifest_list::Content;
use crate::iceberg::table::{Table, TableTypes};
use crate::iceberg::types::Type;
use crate::iceberg::view::Role;
use crate::record::{column, find};
use crate::scan::{Batches, each};
use crate::system::{Request, SystemTable, optional, required};
use crate::view::batch;

pub(super) const TABLE: SystemTable<Table> = SystemTable { name: "position_deletes", columns, rows };

/// The most rows of a batch.
const ROWS_PER_BATCH: usize = 1 << 16;
/// The first version of the format that has deletion vectors.
const VERSION_OF_VECTORS: i32 = 3;

/// The columns that are read of entries of delete files.
const INPUT: [&str; 10] = [
    "content",
    "file_path",
    "spec_id",
    PARTITION,
    "record_count",
    "file_size_in_bytes",
    "referenced_data_file",
    "content_offset",
    "content_size_in_bytes",
    "key_metadata",
];

fn columns(table: &Table) -> Result<Vec<Field>> {
    let types = table.current_types()?;
    let mut fields = vec![
        required("file_path", DataType::Utf8),
        required("pos", DataType::Int64),
        optional(ROW, row_type(&types).arrow()),
    ];
    if !types.partition.fields.is_empty() {
        fields.push(required(PARTITION, types.partition.arrow()));
    }
    fields.extend([required("spec_id", DataType::Int32), required("delete_file_path", DataType::Utf8)]);
    if table.metadata().format_version >= VERSION_OF_VECTORS {
        let places = ["content_offset", "content_size_in_bytes"];
        fields.extend(places.map(|name| optional(name, DataType::Int64)));
    }
    Ok(fields)
}

fn row_type(types: &TableTypes) -> Type {
    Type::Struct(types.schema.fields.clone())
}

fn rows(table: &Table, request: &Request) -> Result<Batches> {
    let types = table.current_types()?;
    let mut fields = columns(table)?;
    fields.retain(|field| request.needs(field.name()));
    let row = request.needs(ROW).then(|| types.schema.fields.clone());
    let reader = DeleteFileReader::new(row)?;
    let deletes =
        Arc::new(DeleteFileRows { table: table.clone(), reader, schema: Arc::new(ArrowSchema::new(fields)) });
    let scope = (Role::Live, Scope::Snapshot, Content::Deletes);
    let files = entries(table, request, scope, INPUT.to_vec())?.flat_map(|entries| {
        let files = entries.and_then(|entries| position_deletes(&entries));
        files.map_or_else(|error| vec![Err(error)], |files| files.into_iter().map(Ok).collect())
    });
    Ok(Box::new(files.flat_map(move |file| {
        let rows = file.and_then(|file| deletes.open(file));
        rows.unwrap_or_else(|error| Box::new(std::iter::once(Err(error))))
    })))
}

/// The entries that delete by position, one batch each.
fn position_deletes(entries: &RecordBatch) -> Result<Vec<RecordBatch>> {
    let contents = column::<Int32Array>(entries, "content")?;
    let deletes = (0..entries.num_rows()).filter(|row| contents.value(*row) == POSITION_DELETES);
    Ok(deletes.map(|row| entries.slice(row, 1)).collect())
}

/// What is needed to make rows of the table from delete files.
struct DeleteFileRows {
    table: Table,
    reader: DeleteFileReader,
    /// The requested columns.
    schema: SchemaRef,
}

impl DeleteFileRows {
    /// The rows of the delete file or deletion vector of this entry; errors name the file.
    fn open(self: &Arc<DeleteFileRows>, entry: RecordBatch) -> Result<Batches> {
        let path = column::<StringArray>(&entry, "file_path")?.value(0).to_owned();
        let rows: Box<dyn Iterator<Item = Result<DeletedRows>> + Send> =
            match VectorEntry::of(&entry)?.pop().flatten() {
                Some(vector) => Box::new(self.of_vector(&vector, &entry)?),
                None => {
                    let length = column::<Int64Array>(&entry, "file_size_in_bytes")?.value(0);
                    let length = u64::try_from(length).ok();
                    let opened = self.table.read_recorded(&path, length).and_then(|bytes| {
                        let keys = column::<BinaryArray>(&entry, "key_metadata")?;
                        let key = keys.is_valid(0).then(|| keys.value(0));
                        let (bytes, decoding) = plain_named(bytes, key, self.table.decoding())?;
                        self.reader.open(bytes, &decoding)
                    });
                    let rows = opened.map_err(|error| error.in_file(&path))?;
                    Box::new(rows.flat_map(|rows| each(rows.map(|rows| rows.pieces(ROWS_PER_BATCH)))))
                }
            };
        let deletes = Arc::clone(self);
        Ok(Box::new(rows.map(move |rows| {
            let rows = rows.and_then(|rows| deletes.rows(rows, &entry));
            rows.map_err(|error| error.in_file(&path))
        })))
    }

    /// The rows of a deletion vector, which are all of one data file.
    fn of_vector(
        &self,
        vector: &VectorEntry,
        entry: &RecordBatch,
    ) -> Result<impl Iterator<Item = Result<DeletedRows>> + Send + use<>> {
        let decoded = vector.read(self.table.storage().as_ref())?;
        let positions = decoded.positions(&self.table.decoding().limits);
        let positions = positions.map_err(|error| error.in_file(&vector.path))?;
        let data_file = column::<StringArray>(entry, "referenced_data_file")?;
        if data_file.is_null(0) {
            let error = Error::new(ErrorKind::Required, "a deletion vector names no data file");
            return Err(error.in_file(&vector.path).in_field("referenced_data_file"));
        }
        let data_file = data_file.value(0).to_owned();
        let starts = (0..positions.len()).step_by(ROWS_PER_BATCH);
        Ok(starts.map(move |start| {
            let positions = positions.slice(start, ROWS_PER_BATCH.min(positions.len() - start));
            let data_files = StringArray::new_repeated(&data_file, positions.len());
            DeletedRows::new(Arc::new(data_files), Arc::new(positions))
        }))
    }

    /// Deleted rows with the columns of their file's entry.
    fn rows(&self, deleted: DeletedRows, entry: &RecordBatch) -> Result<RecordBatch> {
        let count = deleted.positions.num_rows();
        let of_entry = |name: &str| -> Result<ArrayRef> {
            let first = UInt64Array::from_value(0, count);
            take(&find(entry, name)?, &first, None).map_err(Into::into)
        };
        let columns = self.schema.fields().iter().map(|field| match field.name().as_str() {
            name @ ("file_path" | "pos") => find(&deleted.positions, name),
            ROW => Ok(match &deleted.rows {
                Some(rows) => Arc::clone(rows),
                None => new_null_array(field.data_type(), count),
            }),
            "delete_file_path" => of_entry("file_path"),
            name => of_entry(name),
        });
        batch(&self.schema, columns.collect::<Result<_>>()?, count)
    }
}
