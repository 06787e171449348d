//! `$files` (Paimon's `FilesTable.java`): one row per live file, with statistics as text.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::DataType::{Int32, Int64, List, Utf8};
use arrow_schema::{Field, Schema as ArrowSchema, SchemaRef};

use super::TIMESTAMP;
use super::file_key_ranges::{INPUT, KeyRanges};
use super::planned::planned_files;
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::fields::texts_at;
use crate::paimon::schema::TableSchema;
use crate::paimon::table::Table;
use crate::paimon::text::{TextForm, texts};
use crate::paimon::types::{DataField, DataType, TypeKind};
use crate::record::{column, find, typed};
use crate::scan::Batches;
use crate::scan::ScanOptions;
use crate::system::{Request, SystemTable, optional, required};
use crate::view::batch;

pub(super) const TABLE: SystemTable<Table> = SystemTable { name: "files", columns: |_| Ok(columns()), rows };

/// The columns of live files that only this table has.
const MORE_INPUT: [&str; 7] = [
    "min_sequence_number",
    "max_sequence_number",
    "creation_time",
    "delete_row_count",
    "file_source",
    "value_stats_cols",
    "write_cols",
];

fn columns() -> Vec<Field> {
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
        required("null_value_counts", Utf8),
        required("min_value_stats", Utf8),
        required("max_value_stats", Utf8),
        optional("min_sequence_number", Int64),
        optional("max_sequence_number", Int64),
        optional("creation_time", TIMESTAMP),
        optional("deleteRowCount", Int64),
        optional("file_source", Utf8),
        optional("first_row_id", Int64),
        optional("write_cols", List(Arc::new(Field::new("item", Utf8, true)))),
    ]
}

/// The columns that print statistics.
const STATS: [&str; 3] = ["null_value_counts", "min_value_stats", "max_value_stats"];

fn rows(table: &Table, request: &Request) -> Result<Batches> {
    let schemas = table.schemas()?;
    let ranges = KeyRanges::new(table, &schemas);
    let stats = StatsTexts::new(table.schema(), schemas);
    let columns: Vec<&str> = INPUT.into_iter().chain(MORE_INPUT).collect();
    let names = table.schema().fields.iter().map(|field| field.name.clone());
    let stats_of = STATS.iter().any(|column| request.needs(column)).then(|| names.collect());
    let options = ScanOptions { stats: stats_of, threads: request.threads, ..ScanOptions::default() };
    let files = planned_files(table, &columns, &options)?;
    let mut needed = self::columns();
    needed.retain(|column| request.needs(column.name()));
    let schema: SchemaRef = Arc::new(ArrowSchema::new(needed));
    Ok(Box::new(files.map(move |files| {
        let files = files?;
        let columns = schema.fields().iter().map(|field| match field.name().as_str() {
            "null_value_counts" => stats.maps(&files, "null_count"),
            "min_value_stats" => stats.maps(&files, "lower_bound"),
            "max_value_stats" => stats.maps(&files, "upper_bound"),
            "deleteRowCount" => find(&files, "delete_row_count"),
            "file_source" => file_sources(crate::record::column(&files, "file_source")?),
            name => ranges.column(&files, name),
        });
        batch(&schema, columns.collect::<Result<_>>()?, files.num_rows())
    })))
}

/// How each file was written, in words.
fn file_sources(sources: &Int32Array) -> Result<ArrayRef> {
    let name = |source: Option<i32>| match source {
        None => Ok(None),
        Some(0) => Ok(Some("APPEND")),
        Some(1) => Ok(Some("COMPACT")),
        Some(other) => {
            let error = Error::new(ErrorKind::Unsupported, format!("unknown file source {other}"));
            Err(error.in_field("file_source"))
        }
    };
    let names = sources.iter().map(name);
    Ok(Arc::new(names.collect::<Result<StringArray>>()?))
}

/// Prints the statistics of files as `{column=value, …}`.
struct StatsTexts {
    /// The table's columns, sorted by name as Java sorts strings.
    columns: Vec<DataField>,
    schemas: BTreeMap<i64, TableSchema>,
}

impl StatsTexts {
    fn new(schema: &TableSchema, schemas: BTreeMap<i64, TableSchema>) -> StatsTexts {
        let mut columns = schema.fields.clone();
        columns.sort_by(|left, right| left.name.encode_utf16().cmp(right.name.encode_utf16()));
        StatsTexts { columns, schemas }
    }

    /// One part of the column `stats` of `files`, for every column of the table.
    fn maps(&self, files: &RecordBatch, part: &str) -> Result<ArrayRef> {
        let stats = column::<StructArray>(files, "stats")?;
        let values = self.columns.iter().map(|column| {
            let absent = || Error::new(ErrorKind::Argument, "statistics lack a column");
            let of_column = stats.column_by_name(&column.name).ok_or_else(absent)?;
            let values =
                typed::<StructArray>(of_column, &column.name)?.column_by_name(part).ok_or_else(absent)?;
            value_texts(values, &column.ty).map_err(|error| error.in_field(&column.name))
        });
        let values = values.collect::<Result<Vec<_>>>()?;
        let shown = self.shown(files)?;
        let map = |row: usize| {
            let shown = shown.get(row).and_then(Option::as_deref);
            let columns = self.columns.iter().zip(&values);
            let columns = columns.filter(|(column, _)| shown.is_none_or(|ids| ids.contains(&column.id)));
            let mut text = String::from("{");
            for (number, (column, values)) in columns.enumerate() {
                let value = if values.is_valid(row) { values.value(row) } else { "null" };
                let comma = if number == 0 { "" } else { ", " };
                // Writing to a String cannot fail.
                let _ = write!(text, "{comma}{}={value}", column.name);
            }
            text + "}"
        };
        Ok(Arc::new(StringArray::from_iter_values((0..files.num_rows()).map(map))))
    }

    /// The ids of the columns that each file shows; `None` for all. A file with only some columns that does
    /// not name those with statistics shows its own columns.
    fn shown(&self, files: &RecordBatch) -> Result<Vec<Option<Vec<i32>>>> {
        let (stats_cols, write_cols) = (find(files, "value_stats_cols")?, column(files, "write_cols")?);
        let schema_ids = column::<Int64Array>(files, "schema_id")?;
        let shown = |row: usize| {
            let Some(schema) = self.schemas.get(&schema_ids.value(row)) else { return Ok(None) };
            let names = if stats_cols.is_valid(row) { None } else { texts_at(write_cols, row)? };
            let field = |name: Option<&str>| schema.field_by_name(name?).map(|field| field.id);
            Ok(names.map(|names| names.iter().filter_map(field).collect()))
        };
        (0..files.num_rows()).map(shown).collect()
    }
}

/// Bounds of a column of type `ty`, or null counts, as Java prints them.
fn value_texts(values: &ArrayRef, ty: &DataType) -> Result<StringArray> {
    if values.null_count() == values.len() {
        return Ok(StringArray::new_null(values.len()));
    }
    if values.data_type() == &Int64 {
        return texts(values, &DataType { kind: TypeKind::BigInt, nullable: true }, TextForm::Java);
    }
    texts(values, ty, TextForm::Java)
}
