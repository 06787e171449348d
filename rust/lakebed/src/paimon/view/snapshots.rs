//! `snapshots`, `refs` and `schemas`: one row per commit, per branch and tag, and per version of the schema.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, Int64Builder, MapBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::DataType;

use super::super::schema::TableSchema;
use crate::error::Result;
use crate::paimon::snapshot::{Snapshot, Tag};
use crate::view::{Rows, ShownField, field_lists, map_names, maps, whole, writer};

/// The rows of `snapshots`, ascending by id.
pub(crate) fn snapshots(snapshots: &[Snapshot]) -> Result<RecordBatch> {
    let rows = Rows(snapshots.iter());
    let parent = |snapshot: &Snapshot| {
        let parent = snapshot.id.checked_sub(1)?;
        snapshots.binary_search_by_key(&parent, |other| other.id).ok().map(|_| parent)
    };
    let columns_of_view: Vec<(&str, ArrayRef)> = vec![
        ("snapshot_id", rows.longs(|s| s.id)),
        ("parent_id", rows.longs(parent)),
        ("committed_at", rows.instants(|s| s.time_millis)?),
        ("operation", rows.texts(|s| s.commit_kind.name())),
        ("schema_id", rows.longs(|s| s.schema_id)),
        ("total_record_count", rows.longs(|s| s.total_record_count)),
        // A Paimon snapshot has two lists, in later columns.
        ("manifest_list", rows.absent(&DataType::Utf8)),
        ("summary", maps(snapshots.iter().map(|s| s.properties.as_deref()))?),
        ("engine", rows.texts(|s| writer::engine(s.properties.as_deref()))),
        (
            "engine_version",
            rows.texts(|s| writer::engine_version(s.properties.as_deref()).or(s.writer_version.as_deref())),
        ),
        ("application", rows.texts(|s| writer::application(s.properties.as_deref()))),
        ("user", rows.texts(|s| writer::chosen_user(&s.commit_user))),
        ("version", rows.ints(|s| s.version)),
        ("commit_user", rows.texts(|s| s.commit_user.as_str())),
        ("commit_identifier", rows.longs(|s| s.commit_identifier)),
        ("base_manifest_list", rows.texts(|s| s.base_manifest_list.as_str())),
        ("base_manifest_list_size", rows.longs(|s| s.base_manifest_list_size)),
        ("delta_manifest_list", rows.texts(|s| s.delta_manifest_list.as_str())),
        ("delta_manifest_list_size", rows.longs(|s| s.delta_manifest_list_size)),
        ("changelog_manifest_list", rows.texts(|s| s.changelog_manifest_list.as_deref())),
        ("changelog_manifest_list_size", rows.longs(|s| s.changelog_manifest_list_size)),
        ("index_manifest", rows.texts(|s| s.index_manifest.as_deref())),
        ("delta_record_count", rows.longs(|s| s.delta_record_count)),
        ("changelog_record_count", rows.longs(|s| s.changelog_record_count)),
        ("watermark", rows.longs(|s| s.watermark)),
        ("statistics", rows.texts(|s| s.statistics.as_deref())),
        ("next_row_id", rows.longs(|s| s.next_row_id)),
        ("uuid", rows.texts(|s| s.uuid.as_deref())),
        // `operation` is the kind of the commit; what newer writers call `operation` is here.
        ("commit_operation", rows.texts(|s| s.operation.as_deref())),
        ("writer_version", rows.texts(|s| s.writer_version.as_deref())),
        ("log_offsets", log_offsets(snapshots)?),
    ];
    whole(columns_of_view, snapshots.len())
}

/// The offsets of log systems by bucket, which writers up to Paimon 1.3 record.
fn log_offsets(snapshots: &[Snapshot]) -> Result<ArrayRef> {
    let mut builder = MapBuilder::new(Some(map_names()), Int32Builder::new(), Int64Builder::new());
    for offsets in snapshots.iter().map(|snapshot| snapshot.log_offsets.as_ref()) {
        for (bucket, offset) in offsets.into_iter().flatten() {
            builder.keys().append_value(*bucket);
            builder.values().append_value(*offset);
        }
        builder.append(offsets.is_some())?;
    }
    Ok(Arc::new(builder.finish()))
}

/// A name of a snapshot.
pub(crate) enum Ref {
    /// A branch, at its latest snapshot if it has one.
    Branch(String, Option<Snapshot>),
    /// A tag, which holds its snapshot.
    Tag(String, Tag),
}

impl Ref {
    fn name(&self) -> &str {
        match self {
            Ref::Branch(name, _) | Ref::Tag(name, _) => name,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Ref::Branch(..) => "branch",
            Ref::Tag(..) => "tag",
        }
    }

    fn snapshot(&self) -> Option<&Snapshot> {
        match self {
            Ref::Branch(_, snapshot) => snapshot.as_ref(),
            Ref::Tag(_, tag) => Some(&tag.snapshot),
        }
    }

    fn tag(&self) -> Option<&Tag> {
        match self {
            Ref::Branch(..) => None,
            Ref::Tag(_, tag) => Some(tag),
        }
    }

    /// How long a tag is kept, in milliseconds rounded down.
    fn retained(&self) -> Option<i64> {
        // A time that does not fit 64 bits of milliseconds is for ever.
        self.tag()?.time_retained.map(|kept| i64::try_from(kept.as_millis()).unwrap_or(i64::MAX))
    }
}

/// The rows of `refs`. The retention columns are those of Iceberg's table of the same name; Paimon has a
/// retention time for tags only.
pub(crate) fn refs(refs: &[Ref]) -> Result<RecordBatch> {
    let rows = Rows(refs.iter());
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("name", rows.texts(Ref::name)),
        ("type", rows.texts(Ref::kind)),
        ("snapshot_id", rows.longs(|one| Some(one.snapshot()?.id))),
        ("max_reference_age_in_ms", rows.longs(Ref::retained)),
        ("min_snapshots_to_keep", rows.absent(&DataType::Int32)),
        ("max_snapshot_age_in_ms", rows.absent(&DataType::Int64)),
        ("schema_id", rows.longs(|one| Some(one.snapshot()?.schema_id))),
        ("committed_at", rows.instants(|one| Some(one.snapshot()?.time_millis))?),
        ("created_at", rows.wall_clocks(|one| one.tag()?.create_time_micros)),
    ];
    whole(columns, refs.len())
}

/// The rows of `schemas`, ascending by id.
pub(crate) fn schemas(schemas: &[TableSchema]) -> Result<RecordBatch> {
    let rows = Rows(schemas.iter());
    let columns_of_view: Vec<(&str, ArrayRef)> = vec![
        ("schema_id", rows.longs(|schema| schema.id)),
        ("fields", fields(schemas)?),
        ("partition_keys", rows.text_lists(|schema| &schema.partition_keys)?),
        ("primary_keys", rows.text_lists(|schema| &schema.primary_keys)?),
        ("options", maps(schemas.iter().map(|schema| Some(schema.options.as_slice())))?),
        ("comment", rows.texts(|schema| schema.comment.as_deref())),
        ("updated_at", rows.instants(|schema| schema.time_millis)?),
        ("highest_field_id", rows.ints(|schema| schema.highest_field_id)),
        ("version", rows.ints(|schema| schema.version)),
    ];
    whole(columns_of_view, schemas.len())
}

/// The columns of each schema; types as Paimon writes them, constructed ones as JSON.
fn fields(schemas: &[TableSchema]) -> Result<ArrayRef> {
    let fields = schemas.iter().flat_map(|schema| &schema.fields);
    let depth = fields.clone().map(|field| field.ty.depth()).max().unwrap_or(0);
    let fields = fields.map(|field| ShownField {
        id: field.id,
        name: &field.name,
        ty: field.ty.to_json(),
        required: !field.ty.nullable,
        doc: field.description.as_deref(),
    });
    field_lists(depth, schemas.iter().map(|schema| schema.fields.len()), fields)
}
