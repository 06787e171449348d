//! `$table_indexes` (Paimon's `TableIndexesTable.java`): one row per index file of the snapshot.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, ListArray, StringArray, StructArray};
use arrow_schema::DataType::{Int32, Int64, List, Struct, Utf8};
use arrow_schema::{Field, FieldRef, Fields};

use crate::error::{Error, ErrorKind, Result};
use crate::paimon::binary_row::decode_rows;
use crate::paimon::fields::RANGES;
use crate::paimon::index_files::IndexFiles;
use crate::paimon::partition::PartitionType;
use crate::paimon::schema::TableSchema;
use crate::paimon::table::Table;
use crate::paimon::text::partition_texts;
use crate::record::{below, column, find, typed};
use crate::scan::Batches;
use crate::system::{Request, SystemTable, optional, required, whole};

pub(super) const TABLE: SystemTable<Table> =
    SystemTable { name: "table_indexes", columns: |_| Ok(columns()), rows };

fn columns() -> Vec<Field> {
    vec![
        optional("partition", Utf8),
        required("bucket", Int32),
        required("index_type", Utf8),
        required("file_name", Utf8),
        required("file_size", Int64),
        required("row_count", Int64),
        optional("dv_ranges", List(range())),
        // Of Paimon 2.0: what a global index covers.
        optional("row_range_start", Int64),
        optional("row_range_end", Int64),
        optional("index_field_id", Int32),
        optional("index_field_name", Utf8),
    ]
}

/// The fields of a range in the engine's table, in the order of [`INDEX`](crate::paimon::fields::INDEX).
fn range_fields() -> Fields {
    Fields::from(vec![
        required("f0", Utf8),
        required("f1", Int32),
        required("f2", Int32),
        optional("_CARDINALITY", Int64),
    ])
}

fn range() -> FieldRef {
    Arc::new(optional("item", Struct(range_fields())))
}

fn rows(table: &Table, _request: &Request) -> Result<Batches> {
    let files = IndexFiles::read(table, None)?;
    let partition = PartitionType::new(table.schema());
    let columns = columns();
    let arrays = columns.iter().map(|column| match column.name().as_str() {
        "partition" => {
            let rows =
                decode_rows(typed(&find(&files.entries, "partition")?, "partition")?, &partition.stored)?;
            Ok(Arc::new(partition_texts(&rows, &partition.fields)?) as ArrayRef)
        }
        "dv_ranges" => ranges(&find(&files.entries, RANGES)?),
        name @ ("row_range_start" | "row_range_end" | "index_field_id") => covered(&files, name),
        "index_field_name" => field_names(&files, table.schema()),
        name => find(&files.entries, name),
    });
    let arrays = arrays.collect::<Result<_>>()?;
    whole(columns, arrays, files.len())
}

/// What of a global index the column `name` has; null for other index files.
fn covered(files: &IndexFiles, name: &str) -> Result<ArrayRef> {
    let global = column::<StructArray>(&files.entries, "global_index")?;
    let child = global.column_by_name(name).ok_or_else(|| {
        Error::new(ErrorKind::Required, format!("{name} is not a field of a global index")).in_field(name)
    })?;
    below(global, child)
}

/// The names of the fields that each global index is of, with commas between; null where the schema has one
/// of them no more.
fn field_names(files: &IndexFiles, schema: &TableSchema) -> Result<ArrayRef> {
    let first = covered(files, "index_field_id")?;
    let first = typed::<Int32Array>(&first, "index_field_id")?;
    let others = covered(files, "extra_field_ids")?;
    let others: &ListArray = typed(&others, "extra_field_ids")?;
    let names = first.iter().enumerate().map(|(row, id)| {
        let mut ids: Vec<i32> = id.into_iter().collect();
        if others.is_valid(row) && id.is_some() {
            ids.extend(typed::<Int32Array>(&others.value(row), "extra_field_ids")?.iter().flatten());
        }
        let names = ids.iter().map(|id| schema.field_by_id(*id).map(|field| field.name.as_str()));
        Ok(names.collect::<Option<Vec<_>>>().filter(|names| !names.is_empty()).map(|names| names.join(",")))
    });
    Ok(Arc::new(names.collect::<Result<StringArray>>()?))
}

/// Ranges with the engine's field names.
fn ranges(ranges: &ArrayRef) -> Result<ArrayRef> {
    let ranges: &ListArray = typed(ranges, "dv_ranges")?;
    let (_, columns, nulls) = typed::<StructArray>(ranges.values(), "dv_ranges")?.clone().into_parts();
    let renamed = StructArray::try_new(range_fields(), columns, nulls).and_then(|items| {
        ListArray::try_new(range(), ranges.offsets().clone(), Arc::new(items), ranges.nulls().cloned())
    });
    let renamed = renamed.map_err(|error| Error::new(ErrorKind::Required, error.to_string()));
    renamed.map(|array| Arc::new(array) as ArrayRef)
}
