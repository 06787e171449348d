//! `manifests` and `all_manifests` (Iceberg's `ManifestsTable.java`, `AllManifestsTable.java`).

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, ListBuilder, StringBuilder, StructBuilder};
use arrow_array::{Array, ArrayRef, BinaryArray, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Fields};

use super::rows::{Scope, lists};
use crate::error::Result;
use crate::iceberg::manifest_list::{DATA, DELETES, FieldSummary, ManifestFile};
use crate::iceberg::partition::PartitionField;
use crate::iceberg::table::{Table, TableTypes};
use crate::iceberg::types::Type;
use crate::iceberg::value::decode_bounds;
use crate::record::{self, find};
use crate::scan::Batches;
use crate::system::{SystemTable, optional, required, whole};

pub(super) const MANIFESTS: SystemTable<Table> = SystemTable {
    name: "manifests",
    columns: |_| Ok(columns()),
    rows: |table, _| rows(table, columns(), Scope::Snapshot),
};
pub(super) const ALL_MANIFESTS: SystemTable<Table> = SystemTable {
    name: "all_manifests",
    columns: |_| Ok(columns_of_all()),
    rows: |table, _| rows(table, columns_of_all(), Scope::All),
};

/// The fields of one partition field's summary.
fn summary_fields() -> Fields {
    Fields::from(vec![
        required("contains_null", DataType::Boolean),
        optional("contains_nan", DataType::Boolean),
        optional("lower_bound", DataType::Utf8),
        optional("upper_bound", DataType::Utf8),
    ])
}

/// Counts and summaries that old lists leave out are null, even where the engine declares them required.
fn columns() -> Vec<Field> {
    use DataType::{Int32, Int64, Utf8};
    let summary = Field::new("item", DataType::Struct(summary_fields()), true);
    vec![
        required("content", Int32),
        required("path", Utf8),
        optional("length", Int64),
        required("partition_spec_id", Int32),
        optional("added_snapshot_id", Int64),
        optional("added_data_files_count", Int32),
        optional("existing_data_files_count", Int32),
        optional("deleted_data_files_count", Int32),
        optional("added_delete_files_count", Int32),
        optional("existing_delete_files_count", Int32),
        optional("deleted_delete_files_count", Int32),
        optional("partition_summaries", DataType::List(Arc::new(summary))),
    ]
}

fn columns_of_all() -> Vec<Field> {
    let mut fields = columns();
    fields.push(required("reference_snapshot_id", DataType::Int64));
    fields.push(optional("key_metadata", DataType::Binary));
    fields
}

fn rows(table: &Table, fields: Vec<Field>, scope: Scope) -> Result<Batches> {
    let types = table.current_types()?;
    let lists = lists(table, scope)?.into_iter().map(|(snapshot_id, list)| {
        let arrays = fields.iter().map(|field| column(field.name(), snapshot_id, &list, &types));
        whole(fields.clone(), arrays.collect::<Result<_>>()?, list.num_rows())
    });
    Ok(Box::new(lists.collect::<Result<Vec<_>>>()?.into_iter().flatten()))
}

fn column(name: &str, snapshot_id: i64, list: &RecordBatch, types: &TableTypes) -> Result<ArrayRef> {
    match name {
        "path" => find(list, "manifest_path"),
        "length" => find(list, "manifest_length"),
        "partition_summaries" => summaries(&ManifestFile::all(list)?, types),
        "reference_snapshot_id" => Ok(Arc::new(Int64Array::from_value(snapshot_id, list.num_rows()))),
        name => match name
            .split_once('_')
            .and_then(|(status, rest)| Some((status, rest.strip_suffix("_files_count")?)))
        {
            Some((status, "data")) => count(list, status, DATA),
            Some((status, "delete")) => count(list, status, DELETES),
            _ => find(list, name),
        },
    }
}

/// The counts of one status for manifests of that content, and 0 for others.
fn count(list: &RecordBatch, status: &str, content: i32) -> Result<ArrayRef> {
    let counts = record::column::<Int32Array>(list, &format!("{status}_files_count"))?;
    let contents = record::column::<Int32Array>(list, "content")?;
    let count =
        counts.iter().zip(contents).map(|(count, of)| if of == Some(content) { count } else { Some(0) });
    Ok(Arc::new(count.collect::<Int32Array>()))
}

/// The summaries of manifests, with bounds as text, for the fields of each manifest's own spec.
fn summaries(manifests: &[ManifestFile], types: &TableTypes) -> Result<ArrayRef> {
    let mut texts = Vec::new();
    for spec in types.specs.iter() {
        for (position, field) in spec.fields.iter().enumerate() {
            let of_spec = |manifest: &ManifestFile| manifest.spec_id == spec.spec_id;
            let summaries = manifests
                .iter()
                .map(|manifest| manifest.partitions.as_ref().filter(|_| of_spec(manifest))?.get(position));
            let bounds = bounds(&summaries.collect::<Vec<_>>(), field, types)?;
            texts.push(((spec.spec_id, position), bounds));
        }
    }
    let item = Field::new("item", DataType::Struct(summary_fields()), true);
    let mut builder = ListBuilder::new(StructBuilder::from_fields(summary_fields(), 0)).with_field(item);
    for (row, manifest) in manifests.iter().enumerate() {
        for (position, summary) in manifest.partitions.iter().flatten().enumerate() {
            let bounds = texts.iter().find(|(place, _)| *place == (manifest.spec_id, position));
            append(builder.values(), summary, bounds.map(|(_, bounds)| bounds), row);
        }
        builder.append(manifest.partitions.is_some());
    }
    Ok(Arc::new(builder.finish()))
}

fn append(
    builder: &mut StructBuilder,
    summary: &FieldSummary,
    bounds: Option<&[StringArray; 2]>,
    row: usize,
) {
    let flags = [Some(summary.contains_null), summary.contains_nan];
    for (place, flag) in flags.into_iter().enumerate() {
        if let Some(builder) = builder.field_builder::<BooleanBuilder>(place) {
            builder.append_option(flag);
        }
    }
    for (place, of_bounds) in [(2, 0), (3, 1)] {
        let text = bounds.and_then(|bounds| bounds.get(of_bounds)).filter(|texts| texts.is_valid(row));
        if let Some(builder) = builder.field_builder::<StringBuilder>(place) {
            builder.append_option(text.map(|texts| texts.value(row)));
        }
    }
    builder.append(true);
}

/// The lower and upper bounds of one partition field as text; `null` where there is none.
fn bounds(
    summaries: &[Option<&FieldSummary>],
    field: &PartitionField,
    types: &TableTypes,
) -> Result<[StringArray; 2]> {
    let source = field.source_ids.first().and_then(|id| types.schema.field_by_id(*id));
    let result = field.transform.result_type(source.map_or(&Type::Unknown, |source| &source.ty));
    let texts = |bound: fn(&FieldSummary) -> Option<&[u8]>| -> Result<StringArray> {
        let bytes: BinaryArray = summaries.iter().map(|summary| bound((*summary)?)).collect();
        field.transform.texts(&decode_bounds(&bytes, &result), &result)
    };
    Ok([texts(|summary| summary.lower_bound.as_deref())?, texts(|summary| summary.upper_bound.as_deref())?])
}
