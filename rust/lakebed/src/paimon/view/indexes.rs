//! `indexes`: one row per index file of the snapshot.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray, StructArray};

use super::super::index_files::IndexFiles;
use super::super::partition::PartitionType;
use super::super::schema::TableSchema;
use crate::error::{Error, ErrorKind, Result};
use crate::record::{column, find, typed};
use crate::view::whole;

/// The rows of `files`; `schema` gives the names of the columns that global indexes cover.
pub(crate) fn indexes(
    files: &IndexFiles,
    schema: &TableSchema,
    partition: &PartitionType,
) -> Result<RecordBatch> {
    let entries = &files.entries;
    let global = column::<StructArray>(entries, "global_index")?;
    let covered = |name: &str| -> Result<ArrayRef> {
        // Where the struct is null its columns need not be.
        let (_, columns, nulls) = global.clone().into_parts();
        let absent = || Error::new(ErrorKind::Argument, format!("no {name} in global_index"));
        let position = global.column_names().iter().position(|found| *found == name);
        let column = position.and_then(|position| columns.get(position)).ok_or_else(absent)?;
        let nulls = arrow_buffer::NullBuffer::union(nulls.as_ref(), column.nulls());
        let data = column.to_data().into_builder().nulls(nulls).build();
        Ok(arrow_array::make_array(data?))
    };
    let field_ids = covered("index_field_id")?;
    let name = |id: Option<i32>| Some(schema.field_by_id(id?)?.name.as_str());
    let names: StringArray = typed::<Int32Array>(&field_ids, "index_field_id")?.iter().map(name).collect();
    let columns_of_view: Vec<(&str, ArrayRef)> = vec![
        ("file_path", Arc::new(files.paths.clone())),
        ("index_type", find(entries, "index_type")?),
        ("partition", partition.decode(column(entries, "partition")?)?),
        ("bucket", find(entries, "bucket")?),
        ("file_size_in_bytes", find(entries, "file_size")?),
        ("row_count", find(entries, "row_count")?),
        ("row_range_start", covered("row_range_start")?),
        ("row_range_end", covered("row_range_end")?),
        ("index_field_id", field_ids),
        ("index_field_name", Arc::new(names)),
        ("extra_field_ids", covered("extra_field_ids")?),
        ("file_name", find(entries, "file_name")?),
        ("external_path", find(entries, "external_path")?),
    ];
    whole(columns_of_view, files.len())
}
