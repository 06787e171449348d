//! `snapshots`, `refs` and `schemas`: one row per commit, per branch and tag, and per version of the schema.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};

use crate::error::Result;
use crate::iceberg::metadata::{MAIN, RefKind, Snapshot, SnapshotRef};
use crate::iceberg::types::Schema;
use crate::view::{Rows, ShownField, field_lists, lists, maps, whole, writer};

/// The rows of `snapshots`, in the order of the metadata, which is that of the commits.
pub(crate) fn snapshots(snapshots: &[Snapshot]) -> Result<RecordBatch> {
    let rows = Rows(snapshots.iter());
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("snapshot_id", rows.longs(|one| one.snapshot_id)),
        ("parent_id", rows.longs(|one| one.parent_id)),
        ("committed_at", rows.instants(|one| one.timestamp_ms)?),
        ("operation", rows.texts(|one| one.operation.as_deref())),
        ("schema_id", rows.longs(|one| one.schema_id.map(i64::from))),
        ("total_record_count", rows.longs(total_records)),
        ("manifest_list", rows.texts(|one| one.manifest_list.as_deref())),
        ("summary", maps(snapshots.iter().map(|one| one.summary.as_deref()))?),
        ("engine", rows.texts(|one| writer::engine(one.summary.as_deref()))),
        ("engine_version", rows.texts(|one| writer::engine_version(one.summary.as_deref()))),
        ("application", rows.texts(|one| writer::application(one.summary.as_deref()))),
        ("user", rows.texts(|one| writer::user(one.summary.as_deref()))),
        ("sequence_number", rows.longs(|one| one.sequence_number)),
        ("first_row_id", rows.longs(|one| one.first_row_id)),
        ("added_rows", rows.longs(|one| one.added_rows)),
        ("key_id", rows.texts(|one| one.key_id.as_deref())),
        ("manifests", rows.text_lists(|one| &one.manifests)?),
    ];
    whole(columns, snapshots.len())
}

/// Rows of all data files, including deleted ones, as the writer counted them.
fn total_records(snapshot: &Snapshot) -> Option<i64> {
    let pairs = snapshot.summary.as_deref()?;
    pairs.iter().find(|(key, _)| key == "total-records").and_then(|(_, value)| value.parse().ok())
}

/// A branch or tag.
pub(crate) struct Ref<'m> {
    /// Its name.
    pub(crate) name: &'m str,
    /// Its snapshot id and retention rules.
    pub(crate) named: &'m SnapshotRef,
    /// Its snapshot, if it exists.
    pub(crate) snapshot: Option<&'m Snapshot>,
}

/// The rows of `refs`: `main`, the other branches, then the tags, each in the given order.
pub(crate) fn refs<'m>(refs: impl Iterator<Item = Ref<'m>>) -> Result<RecordBatch> {
    let mut refs: Vec<Ref<'_>> = refs.collect();
    refs.sort_by_key(|one| (one.named.kind == RefKind::Tag, one.name != MAIN));
    let rows = Rows(refs.iter());
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("name", rows.texts(|one| one.name)),
        ("type", rows.texts(|one| one.named.kind.name())),
        ("snapshot_id", rows.longs(|one| one.named.snapshot_id)),
        ("max_reference_age_in_ms", rows.longs(|one| one.named.max_ref_age_ms)),
        ("min_snapshots_to_keep", rows.ints(|one| one.named.min_snapshots_to_keep)),
        ("max_snapshot_age_in_ms", rows.longs(|one| one.named.max_snapshot_age_ms)),
        ("schema_id", rows.longs(|one| one.snapshot?.schema_id.map(i64::from))),
        ("committed_at", rows.instants(|one| Some(one.snapshot?.timestamp_ms))?),
    ];
    whole(columns, refs.len())
}

/// The rows of `schemas`, in the given order, with a mark for the table's current one.
pub(crate) fn schemas(schemas: &[Arc<Schema>], current: i32) -> Result<RecordBatch> {
    let rows = Rows(schemas.iter());
    let names =
        schemas.iter().flat_map(|schema| schema.identifier_field_ids.iter().map(|id| schema.name_of(*id)));
    let lengths = schemas.iter().map(|schema| schema.identifier_field_ids.len());
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("schema_id", rows.longs(|schema| i64::from(schema.schema_id))),
        ("fields", fields(schemas)?),
        ("identifier_field_ids", rows.int_lists(|schema| &schema.identifier_field_ids)?),
        ("identifier_fields", lists(lengths, Arc::new(names.collect::<StringArray>()))?),
        ("is_current", rows.booleans(|schema| schema.schema_id == current)),
    ];
    whole(columns, schemas.len())
}

/// The columns of each schema; types as the specification writes them, nested ones as JSON.
fn fields(schemas: &[Arc<Schema>]) -> Result<ArrayRef> {
    let depth = schemas.iter().map(|schema| schema.depth()).max().unwrap_or(0);
    let fields = schemas.iter().flat_map(|schema| &schema.fields).map(|field| ShownField {
        id: field.id,
        name: &field.name,
        ty: field.ty.to_json(),
        required: field.required,
        doc: field.doc.as_deref(),
    });
    field_lists(depth, schemas.iter().map(|schema| schema.fields.len()), fields)
}
