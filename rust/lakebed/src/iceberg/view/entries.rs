//! The views of manifest entries: `entries` as stored, `files` and `deletes` as the common view has them.

use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::{
    Array, ArrayRef, BinaryArray, Int32Array, Int64Array, RecordBatch, StringArray, new_null_array,
};
use arrow_schema::DataType;

use crate::error::Result;
use crate::field::{int32, int64, ints, longs, texts, utf8, wall_clock};
use crate::iceberg::deletion_vector::VECTOR_INPUT;
use crate::iceberg::fields::{ENTRY, FILE_PATH_ID, PARTITION, POSITION_DELETES};
use crate::iceberg::manifest::Statuses;
use crate::iceberg::manifest_list::Content;
use crate::iceberg::metrics::{MetricsView, metric_values};
use crate::iceberg::partition::PartitionType;
use crate::record::{column as read, find, typed};
use crate::scan::{DeletesAs, RESIDUAL};
use crate::view::{self, ColumnRecipe, IDENTITY_COLUMN, OwnColumns, column, copy, given, project};

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

/// A column that only Iceberg's views have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Own {
    Partition,
    Metrics,
    TargetFile,
    Cardinality,
    Identity,
}

type ViewColumn = view::ViewColumn<Own>;

const TUPLE: ViewColumn = column(PARTITION, ColumnRecipe::Own(Own::Partition));

/// The pinned columns of the common view.
const COMMON: [ViewColumn; 12] = [
    copy("content"),
    copy("file_path"),
    copy("file_format"),
    TUPLE,
    copy("spec_id"),
    column("bucket", ColumnRecipe::Absent(int32)),
    column("level", ColumnRecipe::Absent(int32)),
    copy("record_count"),
    copy("file_size_in_bytes"),
    column("schema_id", ColumnRecipe::Absent(int64)),
    copy("sequence_number"),
    column("created_at", ColumnRecipe::Absent(wall_clock)),
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
    column("referenced_data_file", ColumnRecipe::Own(Own::TargetFile)),
    copy("content_offset"),
    copy("content_size_in_bytes"),
    column("cardinality", ColumnRecipe::Own(Own::Cardinality)),
    copy("equality_ids"),
    copy("file_sequence_number"),
    copy("snapshot_id"),
];

/// Columns of `deletes` that are made only on request: each may be larger than all others together, or cost
/// as much as a plan.
const ON_DEMAND: [ViewColumn; 3] =
    [given(POSITIONS, longs), given(DATA_FILE_COUNT, int64), given(DATA_FILES, texts)];

fn columns_of(role: Role) -> Vec<ViewColumn> {
    let entry = ENTRY.iter().map(|spec| if spec.column == PARTITION { TUPLE } else { copy(spec.column) });
    match role {
        Role::Entries => entry.chain([column("manifest", ColumnRecipe::Manifest)]).collect(),
        Role::Files | Role::Identified | Role::Added | Role::History => {
            COMMON.into_iter().chain(OF_FILES).collect()
        }
        Role::Deletes => COMMON.into_iter().chain(OF_DELETES).collect(),
        Role::Live | Role::LiveData | Role::LiveDeletes => entry.collect(),
        Role::Plan(deletes) => {
            let of_plan = [given(deletes.column(), ints), given(RESIDUAL, utf8)];
            COMMON.into_iter().chain(OF_FILES).chain(of_plan).collect()
        }
    }
}

/// A view of Iceberg's entries.
pub(crate) type EntryView = view::EntryView<IcebergColumns>;

impl EntryView {
    /// The view `role`, projected to `columns`, with metrics of columns under the given name.
    ///
    /// # Errors
    /// `UnknownColumn` for a column that the view does not have.
    pub(crate) fn of_role(
        role: Role,
        partition: &PartitionType,
        columns: Option<&[String]>,
        metrics: Option<(&'static str, MetricsView)>,
    ) -> Result<EntryView> {
        let mut known = columns_of(role);
        known.extend(metrics.as_ref().map(|(name, _)| column(name, ColumnRecipe::Own(Own::Metrics))));
        if columns.is_some() && role == Role::Deletes {
            known.extend(ON_DEMAND);
        }
        let mut columns = project(&known, |column| column.name, columns)?;
        columns.extend(
            (role == Role::Identified).then_some(column(IDENTITY_COLUMN, ColumnRecipe::Own(Own::Identity))),
        );
        let mut needed = Vec::new();
        needed.extend((role.content() != Content::Both).then_some("content"));
        if columns.iter().any(|column| column.name == POSITIONS) {
            needed.extend(VECTOR_INPUT);
        }
        let own =
            IcebergColumns { partition: partition.arrow(), metrics: metrics.map(|(_, metrics)| metrics) };
        Ok(EntryView::new(&ENTRY, own, columns, &needed))
    }

    /// The ids of the columns whose metrics are needed; `None` where maps are shown as a whole.
    pub(crate) fn metrics_of(&self) -> Option<Vec<i32>> {
        let shown = self.columns().iter().zip(self.schema().fields()).any(|(column, field)| {
            matches!(column.make, ColumnRecipe::Copy(_)) && matches!(field.data_type(), DataType::Map(..))
                || matches!(column.make, ColumnRecipe::Own(Own::TargetFile))
        });
        let of_metrics = || self.own().metrics.as_ref().map(MetricsView::field_ids);
        (!shown).then(|| of_metrics().unwrap_or_default())
    }
}

/// What Iceberg's own columns are made of besides entries.
pub(crate) struct IcebergColumns {
    /// The type of partition tuples.
    partition: DataType,
    metrics: Option<MetricsView>,
}

impl OwnColumns for IcebergColumns {
    type Own = Own;
    type Cache = ();

    fn data_type(&self, own: Own) -> DataType {
        match own {
            Own::Partition => self.partition.clone(),
            Own::Metrics => self.metrics.as_ref().map_or(DataType::Null, MetricsView::data_type),
            Own::TargetFile => DataType::Utf8,
            Own::Cardinality => DataType::Int64,
            Own::Identity => DataType::Binary,
        }
    }

    fn input(&self, own: Own) -> Vec<&'static str> {
        match own {
            Own::Partition => vec![PARTITION],
            Own::Metrics => self.metrics.iter().flat_map(MetricsView::input).collect(),
            Own::TargetFile => TARGET_INPUT.to_vec(),
            Own::Cardinality => vec!["content_offset", "record_count"],
            Own::Identity => IDENTITY.to_vec(),
        }
    }

    fn build(&self, own: Own, entries: &RecordBatch, _: &mut ()) -> Result<ArrayRef> {
        match own {
            Own::Partition => find(entries, PARTITION),
            Own::Metrics => match &self.metrics {
                Some(metrics) => metrics.build(entries),
                None => Ok(new_null_array(&DataType::Null, entries.num_rows())),
            },
            Own::TargetFile => Ok(Arc::new(target_files(entries)?)),
            Own::Cardinality => cardinalities(entries),
            Own::Identity => identities(entries),
        }
    }
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

/// The entry's columns that determine it.
pub(crate) const TARGET_INPUT: [&str; 4] =
    ["content", "referenced_data_file", "lower_bounds", "upper_bounds"];

/// The data file that each position delete file or deletion vector deletes from, if it is a single one: the
/// one it refers to, or the path that both of its bounds have (Iceberg's
/// `ContentFileUtil.referencedDataFile`). Null for all other files.
pub(crate) fn target_files(entries: &RecordBatch) -> Result<StringArray> {
    let [content, stored, lower, upper] = TARGET_INPUT;
    let (content, stored) = (read::<Int32Array>(entries, content)?, read::<StringArray>(entries, stored)?);
    let bounds = |map| -> Result<BinaryArray> {
        typed::<BinaryArray>(&metric_values(entries, map, &[FILE_PATH_ID])?.remove(0), map).cloned()
    };
    let (lower, upper) = (bounds(lower)?, bounds(upper)?);
    let target = |row: usize| {
        if stored.is_valid(row) {
            return Some(stored.value(row));
        }
        if content.value(row) != POSITION_DELETES {
            return None;
        }
        let is_single = lower.is_valid(row) && upper.is_valid(row) && lower.value(row) == upper.value(row);
        std::str::from_utf8(is_single.then(|| lower.value(row))?).ok()
    };
    Ok((0..entries.num_rows()).map(target).collect())
}
