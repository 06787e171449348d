//! Tests files by the indexes in their entries.

use std::collections::BTreeMap;

use arrow_array::{Array, BinaryArray, Int64Array, RecordBatch};
use arrow_buffer::BooleanBuffer;

use super::bind::{BoundFilter, ColumnSource};
use crate::error::Result;
use crate::paimon::file_index::FileIndex;
use crate::paimon::schema::TableSchema;
use crate::paimon::types::{DataField, TypeKind};
use crate::predicate::Node;
use crate::record::column;

/// A filter, and its columns in files of each schema.
#[derive(Debug)]
pub(super) struct IndexPredicate {
    node: Node,
    /// By the id of the schema and the number of the column; `None` where the column had another type.
    columns: BTreeMap<i64, Vec<Option<(String, TypeKind)>>>,
}

impl IndexPredicate {
    /// `None` where option `file-index.read.enabled` turns indexes off.
    pub(super) fn new(
        bound: &BoundFilter,
        schema: &TableSchema,
        schemas: &BTreeMap<i64, TableSchema>,
    ) -> Option<IndexPredicate> {
        let disabled = schema.option("file-index.read.enabled");
        if disabled.is_some_and(|value| value.eq_ignore_ascii_case("false")) {
            return None;
        }
        let in_schema = |field: &DataField, schema: &TableSchema| {
            let written = schema.field_by_id(field.id).filter(|written| written.ty.kind == field.ty.kind);
            written.map(|written| (written.name.clone(), written.ty.kind.clone()))
        };
        let column = |source: &ColumnSource, schema: &TableSchema| match source {
            ColumnSource::Field(field) => in_schema(field, schema),
            ColumnSource::Nested | ColumnSource::Bucket => None,
        };
        let columns = schemas
            .iter()
            .map(|(id, schema)| (*id, bound.sources.iter().map(|source| column(source, schema)).collect()));
        Some(IndexPredicate { node: bound.node.clone(), columns: columns.collect() })
    }

    /// The columns of entries that it reads.
    pub(super) fn input(&self) -> [&'static str; 2] {
        ["schema_id", "embedded_file_index"]
    }

    /// Whether each file of `entries` may hold rows that match.
    pub(super) fn may_match(&self, entries: &RecordBatch) -> Result<BooleanBuffer> {
        let indexes = column::<BinaryArray>(entries, "embedded_file_index")?;
        let schema_ids = column::<Int64Array>(entries, "schema_id")?;
        if indexes.null_count() == indexes.len() {
            return Ok(BooleanBuffer::new_set(entries.num_rows()));
        }
        let by_index = |row: usize| {
            let Some(columns) = self.columns.get(&schema_ids.value(row)) else { return true };
            let column = |number: usize| {
                columns.get(number).and_then(Option::as_ref).map(|(name, kind)| (name.as_str(), kind))
            };
            let index = indexes.is_valid(row).then(|| FileIndex::parse(indexes.value(row))).flatten();
            index.is_none_or(|index| index.may_match(&self.node, &column))
        };
        Ok(BooleanBuffer::collect_bool(entries.num_rows(), by_index))
    }
}
