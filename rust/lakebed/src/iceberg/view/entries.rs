//! The views of manifest entries: `entries` as stored, `files` and `deletes` as the common view has them.

use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::{
    Array, ArrayRef, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, new_null_array,
};
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef, TimeUnit};

use crate::error::Result;
use crate::field::{int64, ints, longs, texts, utf8};
use crate::iceberg::content::Content;
use crate::iceberg::deletion_vector::VECTOR_INPUT;
use crate::iceberg::fields::{ENTRY, PARTITION};
use crate::iceberg::manifest::Statuses;
use crate::iceberg::metrics::MetricsView;
use crate::iceberg::partition::PartitionType;
use crate::iceberg::view::target::{TARGET_INPUT, target_files};
use crate::record::{column as read, find};
use crate::scan::{DeletesAs, RESIDUAL};
use crate::view::{batch, project};

/// Which rows a scan over entries gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// Every entry, with its stored and inherited values.
    Entries,
    /// Live files, of data and of deletes.
    Files,
    /// Live files with their identity, by which those of two snapshots are compared.
    Identified,
    /// Files that the manifest's own commit added.
    Added,
    /// Files that the manifest's own commit added or deleted.
    History,
    /// Live delete files, including deletion vectors.
    Deletes,
    /// Live files under the entries' own names: the input of other views.
    Live,
    /// The data files among them.
    LiveData,
    /// The delete files among them, including deletion vectors.
    LiveDeletes,
    /// Live data files, each with the deletes that apply to it, in the given form.
    Plan(DeletesAs),
}

impl Role {
    /// Whether DELETED entries are left out.
    pub(crate) fn is_live(self) -> bool {
        !matches!(self, Role::Entries | Role::History)
    }

    /// The statuses of the entries that are shown.
    pub(crate) fn statuses(self) -> Statuses {
        match self {
            Role::Entries => Statuses::ALL,
            Role::Added => Statuses { existing: false, ..Statuses::LIVE },
            Role::History => Statuses { existing: false, ..Statuses::ALL },
            _ => Statuses::LIVE,
        }
    }

    /// The content of the files that are shown.
    pub(crate) fn content(self) -> Content {
        match self {
            Role::Entries | Role::Files | Role::Identified | Role::Added | Role::History | Role::Live => {
                Content::Both
            }
            Role::Deletes | Role::LiveDeletes => Content::Deletes,
            Role::LiveData | Role::Plan(_) => Content::Data,
        }
    }
}

/// Columns of `deletes` that are made only on request: deleted rows, the number of data files that each
/// delete applies to, and these files.
pub(crate) const POSITIONS: &str = "positions";
pub(crate) const DATA_FILE_COUNT: &str = "data_file_count";
pub(crate) const DATA_FILES: &str = "data_files";

/// How a column of a view is made from entries.
#[derive(Debug, Clone, Copy)]
enum Make {
    /// The entry's own column of this name.
    Copy(&'static str),
    /// Null: the format has no such field.
    Absent(fn() -> DataType),
    Manifest,
    Metrics,
    TargetFile,
    Cardinality,
    Identity,
    Positions,
    /// A column that the scan adds to the entries, under the same name.
    Given(fn() -> DataType),
}

#[derive(Debug, Clone, Copy)]
struct ViewColumn {
    name: &'static str,
    make: Make,
}

const fn column(name: &'static str, make: Make) -> ViewColumn {
    ViewColumn { name, make }
}

const fn copy(name: &'static str) -> ViewColumn {
    column(name, Make::Copy(name))
}

fn int() -> DataType {
    DataType::Int32
}
fn long() -> DataType {
    DataType::Int64
}
fn instant() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, None)
}

/// The pinned columns of the common view.
const COMMON: [ViewColumn; 12] = [
    copy("content"),
    copy("file_path"),
    copy("file_format"),
    copy(PARTITION),
    copy("spec_id"),
    column("bucket", Make::Absent(int)),
    column("level", Make::Absent(int)),
    copy("record_count"),
    copy("file_size_in_bytes"),
    column("schema_id", Make::Absent(long)),
    copy("sequence_number"),
    column("created_at", Make::Absent(instant)),
];

/// Iceberg's own columns of `files`.
const OF_FILES: [ViewColumn; 10] = [
    copy("file_sequence_number"),
    copy("snapshot_id"),
    copy("sort_order_id"),
    copy("split_offsets"),
    copy("equality_ids"),
    copy("key_metadata"),
    copy("first_row_id"),
    copy("referenced_data_file"),
    copy("content_offset"),
    copy("content_size_in_bytes"),
];

/// The columns of `deletes` after the common ones.
const OF_DELETES: [ViewColumn; 7] = [
    column("referenced_data_file", Make::TargetFile),
    copy("content_offset"),
    copy("content_size_in_bytes"),
    column("cardinality", Make::Cardinality),
    copy("equality_ids"),
    copy("file_sequence_number"),
    copy("snapshot_id"),
];

/// Columns of `deletes` that are made only on request: each may be larger than all others together, or cost
/// as much as a plan.
const ON_DEMAND: [ViewColumn; 3] = [
    column(POSITIONS, Make::Positions),
    column(DATA_FILE_COUNT, Make::Given(int64)),
    column(DATA_FILES, Make::Given(texts)),
];

fn columns_of(role: Role) -> Vec<ViewColumn> {
    match role {
        Role::Entries => {
            ENTRY.iter().map(|spec| copy(spec.column)).chain([column("manifest", Make::Manifest)]).collect()
        }
        Role::Files | Role::Identified | Role::Added | Role::History => {
            COMMON.into_iter().chain(OF_FILES).collect()
        }
        Role::Deletes => COMMON.into_iter().chain(OF_DELETES).collect(),
        Role::Live | Role::LiveData | Role::LiveDeletes => {
            ENTRY.iter().map(|spec| copy(spec.column)).collect()
        }
        Role::Plan(deletes) => {
            let of_plan = [column(deletes.column(), Make::Given(ints)), column(RESIDUAL, Make::Given(utf8))];
            COMMON.into_iter().chain(OF_FILES).chain(of_plan).collect()
        }
    }
}

/// One view over entries, compiled: the columns of entries that it needs, and how its columns are made.
pub(crate) struct EntryView {
    columns: Vec<ViewColumn>,
    raw: Vec<String>,
    schema: SchemaRef,
    metrics: Option<(&'static str, MetricsView)>,
}

impl EntryView {
    /// The view `role`, projected to `columns`, with metrics of columns under the given name.
    ///
    /// # Errors
    /// `UnknownColumn` for a column that the view does not have.
    pub(crate) fn new(
        role: Role,
        partition: &PartitionType,
        columns: Option<&[String]>,
        metrics: Option<(&'static str, MetricsView)>,
    ) -> Result<EntryView> {
        let mut known = columns_of(role);
        known.extend(metrics.as_ref().map(|(name, _)| column(name, Make::Metrics)));
        if columns.is_some() && role == Role::Deletes {
            known.extend(ON_DEMAND);
        }
        let mut columns = project(&known, |column| column.name, columns)?;
        columns.extend((role == Role::Identified).then_some(column("_identity", Make::Identity)));
        let fields = columns.iter().map(|column| {
            let data_type = data_type(*column, partition, metrics.as_ref().map(|(_, metrics)| metrics));
            Field::new(column.name, data_type, true)
        });
        Ok(EntryView {
            schema: Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>())),
            raw: raw_columns(role, &columns, metrics.as_ref().map(|(_, metrics)| metrics)),
            columns,
            metrics,
        })
    }

    /// The schema of the view's batches.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Whether it has a column of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column.name == name)
    }

    /// The columns of [`ENTRY`] that the view needs.
    pub(crate) fn raw(&self) -> &[String] {
        &self.raw
    }

    /// The ids of the columns whose metrics are needed; `None` where maps are shown as a whole.
    pub(crate) fn metrics_of(&self) -> Option<Vec<i32>> {
        let shown = self.columns.iter().any(|column| match column.make {
            Make::Copy(name) => ENTRY
                .iter()
                .any(|spec| spec.column == name && matches!((spec.data_type)(), DataType::Map(..))),
            Make::TargetFile => true,
            _ => false,
        });
        let of_metrics = || self.metrics.as_ref().map(|(_, metrics)| metrics.field_ids());
        (!shown).then(|| of_metrics().unwrap_or_default())
    }

    /// Whether rows show positions, so that deletion vectors must be read.
    pub(crate) fn needs_positions(&self) -> bool {
        self.columns.iter().any(|column| matches!(column.make, Make::Positions))
    }

    /// Makes the view's rows from entries of one manifest, with the positions of each where they are needed.
    pub(crate) fn build(
        &self,
        entries: &RecordBatch,
        manifest: &str,
        positions: Option<&ListArray>,
    ) -> Result<RecordBatch> {
        let rows = entries.num_rows();
        let columns = self.columns.iter().zip(self.schema.fields()).map(|(column, field)| {
            let array = match column.make {
                Make::Copy(name) => find(entries, name),
                Make::Absent(_) => Ok(new_null_array(field.data_type(), rows)),
                Make::Manifest => {
                    Ok(Arc::new(StringArray::from_iter_values(std::iter::repeat_n(manifest, rows)))
                        as ArrayRef)
                }
                Make::Metrics => match &self.metrics {
                    Some((_, metrics)) => metrics.build(entries),
                    None => Ok(new_null_array(field.data_type(), rows)),
                },
                Make::TargetFile => target_files(entries).map(|files| Arc::new(files) as ArrayRef),
                Make::Cardinality => cardinalities(entries),
                Make::Identity => identities(entries),
                Make::Given(_) => find(entries, column.name),
                Make::Positions => Ok(match positions {
                    Some(positions) => Arc::new(positions.clone()),
                    None => new_null_array(field.data_type(), rows),
                }),
            };
            array.map_err(|error| error.in_field(column.name))
        });
        batch(&self.schema, columns.collect::<Result<_>>()?, rows)
    }
}

fn data_type(column: ViewColumn, partition: &PartitionType, metrics: Option<&MetricsView>) -> DataType {
    match column.make {
        Make::Copy(PARTITION) => partition.arrow(),
        Make::Copy(name) => {
            ENTRY.iter().find(|spec| spec.column == name).map_or(DataType::Null, |spec| (spec.data_type)())
        }
        Make::Absent(data_type) | Make::Given(data_type) => data_type(),
        Make::Manifest | Make::TargetFile => DataType::Utf8,
        Make::Metrics => metrics.map_or(DataType::Null, MetricsView::data_type),
        Make::Cardinality => DataType::Int64,
        Make::Identity => DataType::Binary,
        Make::Positions => longs(),
    }
}

fn raw_columns(role: Role, columns: &[ViewColumn], metrics: Option<&MetricsView>) -> Vec<String> {
    let mut raw: Vec<&str> = Vec::new();
    for column in columns {
        match column.make {
            Make::Copy(name) => raw.push(name),
            Make::Metrics => raw.extend(metrics.into_iter().flat_map(MetricsView::input)),
            Make::TargetFile => raw.extend(TARGET_INPUT),
            Make::Cardinality => raw.extend(["content_offset", "record_count"]),
            Make::Identity => raw.extend(IDENTITY),
            Make::Positions => raw.extend(VECTOR_INPUT),
            Make::Absent(_) | Make::Manifest | Make::Given(_) => {}
        }
    }
    if role.content() != Content::Both {
        raw.push("content");
    }
    let mut once: Vec<String> = Vec::with_capacity(raw.len());
    for name in raw {
        if !once.iter().any(|known| known == name) {
            once.push(name.to_owned());
        }
    }
    once
}

/// The number of rows that a deletion vector deletes; null for delete files, which may name a row twice.
fn cardinalities(entries: &RecordBatch) -> Result<ArrayRef> {
    let counts = read::<Int64Array>(entries, "record_count")?;
    let vectors = find(entries, "content_offset")?;
    let cardinality = |row: usize| (vectors.is_valid(row) && counts.is_valid(row)).then(|| counts.value(row));
    Ok(Arc::new((0..entries.num_rows()).map(cardinality).collect::<Int64Array>()))
}

/// The identity of a file, as in `DataFileSet.java` and `DeleteFileSet.java`; deletion vectors in one file are told
/// apart by their offset.
const IDENTITY: [&str; 3] = ["content", "content_offset", "file_path"];

/// The identities as bytes. Content and offset have a fixed length, so the path can follow them without its own.
pub(crate) fn identities(entries: &RecordBatch) -> Result<ArrayRef> {
    let [content, offset, path] = IDENTITY;
    let content = read::<Int32Array>(entries, content)?;
    let (offset, path) = (read::<Int64Array>(entries, offset)?, read::<StringArray>(entries, path)?);
    let mut identities = BinaryBuilder::with_capacity(entries.num_rows(), path.value_data().len());
    let mut key = Vec::new();
    for row in 0..entries.num_rows() {
        key.clear();
        key.extend(content.value(row).to_le_bytes());
        key.push(u8::from(offset.is_valid(row)));
        key.extend(if offset.is_valid(row) { offset.value(row) } else { 0 }.to_le_bytes());
        key.extend(path.value(row).as_bytes());
        identities.append_value(&key);
    }
    Ok(Arc::new(identities.finish()))
}
