//! The views of manifest entries: `entries` as stored, `files` as the common view has them.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray, new_null_array};
use arrow_schema::{DataType, Field};

use super::super::fields::ENTRY;
use super::super::identity::{IDENTITY, identities};
use super::super::partition::{DistinctPartitions, PartitionType};
use super::super::paths::DataPaths;
use super::super::schema::TableSchema;
use super::super::stats::{STATS_INPUT, StatsView};
use crate::error::Result;
use crate::field::{int32, ints, utf8};
use crate::notes::Notes;
use crate::record::column as read;
use crate::scan::{DeletesAs, RESIDUAL};
use crate::view::{
    self, ColumnRecipe, IDENTITY_COLUMN, OwnColumns, column, copy, given, planned_deletes, project,
};

/// Which rows a scan over entries gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// Every entry, as stored.
    Entries,
    /// Live files.
    Files,
    /// Live files under the entries' own names, with rows as stored: the input of other views.
    Live,
    /// Every entry under those names.
    Changes,
    /// Added files, even if they were deleted later.
    Appended,
    /// Added and deleted files.
    History,
    /// Added files with their identity, for a merge elsewhere.
    Added,
    /// Deleted files with their identity, as the deleting entries show them.
    Removed,
    /// Identities of deleted files, for a merge elsewhere.
    Deleted,
    /// Live files that batch reads need, each with the deletes that apply to it, in the given form.
    Plan(DeletesAs),
}

impl Role {
    /// Whether the rows are live files, so that deleting entries must be merged in.
    pub(crate) fn is_live(self) -> bool {
        matches!(self, Role::Files | Role::Live | Role::Plan(_))
    }

    /// How the rows of a plan show deletes; `None` for other views.
    pub(crate) fn deletes(self) -> Option<DeletesAs> {
        match self {
            Role::Plan(deletes) => Some(deletes),
            _ => None,
        }
    }
}

/// A column that only Paimon's views have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Own {
    Constant(i32),
    Partition,
    FilePath,
    FileFormat,
    Stats,
    Identity,
}

pub(super) type ViewColumn = view::ViewColumn<Own>;

/// A column that Paimon makes itself.
pub(super) const fn own(name: &'static str, own: Own) -> ViewColumn {
    column(name, ColumnRecipe::Own(own))
}

/// `files`: the pinned columns of the common view, then Paimon's own.
const FILES: [ViewColumn; 24] = [
    own("content", Own::Constant(0)),
    own("file_path", Own::FilePath),
    own("file_format", Own::FileFormat),
    own("partition", Own::Partition),
    column("spec_id", ColumnRecipe::Absent(int32)),
    copy("bucket"),
    copy("level"),
    column("record_count", ColumnRecipe::Copy("row_count")),
    column("file_size_in_bytes", ColumnRecipe::Copy("file_size")),
    copy("schema_id"),
    column("sequence_number", ColumnRecipe::Copy("max_sequence_number")),
    column("created_at", ColumnRecipe::Copy("creation_time")),
    copy("min_sequence_number"),
    copy("total_buckets"),
    copy("file_name"),
    copy("min_key"),
    copy("max_key"),
    copy("extra_files"),
    copy("delete_row_count"),
    copy("embedded_file_index"),
    copy("file_source"),
    copy("external_path"),
    copy("first_row_id"),
    copy("write_cols"),
];

/// The names of the columns of the view `files`.
pub(crate) fn files_columns() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|column| column.name)
}

fn columns_of(role: Role) -> Vec<ViewColumn> {
    let entry = ENTRY.iter().map(|spec| copy(spec.column));
    match role {
        // The partition is typed.
        Role::Entries => {
            let more = [
                column("partition_row", ColumnRecipe::Copy("partition")),
                column("manifest", ColumnRecipe::Manifest),
            ];
            let typed = |copied: ViewColumn| match copied.name {
                "partition" => own("partition", Own::Partition),
                _ => copied,
            };
            entry.map(typed).chain(more).collect()
        }
        Role::Files | Role::Appended | Role::History | Role::Added | Role::Removed => FILES.to_vec(),
        Role::Plan(deletes) => {
            let data_type = if deletes == DeletesAs::Ids { ints } else { deletes_of_files };
            let of_plan = [given(deletes.column(), data_type), given(RESIDUAL, utf8)];
            FILES.into_iter().chain(of_plan).collect()
        }
        Role::Live | Role::Changes => {
            let more = [own("file_path", Own::FilePath), own("file_format", Own::FileFormat)];
            entry.chain(more).collect()
        }
        Role::Deleted => Vec::new(),
    }
}

fn deletes_of_files() -> DataType {
    DataType::List(Arc::new(Field::new("item", DataType::Struct(planned_deletes()), true)))
}

/// A view of Paimon's entries.
pub(crate) type EntryView = view::EntryView<PaimonColumns>;

impl EntryView {
    /// The view `role` of the table at `location`, projected to `columns`, which adds to `notes` what it cannot show.
    ///
    /// # Errors
    /// `UnknownColumn` for a column that the view does not have.
    pub(crate) fn of_role(
        role: Role,
        location: &str,
        schema: &TableSchema,
        columns: Option<&[String]>,
        stats: Option<StatsView>,
        notes: &Notes,
    ) -> Result<EntryView> {
        let mut known = columns_of(role);
        known.extend(stats.as_ref().map(|_| own("stats", Own::Stats)));
        let mut columns =
            if role == Role::Deleted { known } else { project(&known, |column| column.name, columns)? };
        if matches!(role, Role::Added | Role::Removed | Role::Deleted) {
            columns.push(own(IDENTITY_COLUMN, Own::Identity));
        }
        let mut needed = Vec::new();
        if role.is_live() {
            needed.extend(IDENTITY);
        }
        needed.extend((role == Role::History).then_some("kind"));
        Ok(EntryView::new(&ENTRY, PaimonColumns::new(location, schema, stats, notes), columns, &needed))
    }
}

/// What Paimon's own columns are made of besides entries.
pub(crate) struct PaimonColumns {
    partition: PartitionType,
    stats: Option<StatsView>,
    paths: DataPaths,
}

impl PaimonColumns {
    pub(super) fn new(
        location: &str,
        schema: &TableSchema,
        stats: Option<StatsView>,
        notes: &Notes,
    ) -> PaimonColumns {
        PaimonColumns {
            partition: PartitionType::new(schema).noting(notes),
            stats: stats.map(|stats| stats.noting(notes)),
            paths: DataPaths::new(location, schema),
        }
    }

    /// The partitions of `entries`, computed for the first column that needs them.
    fn partitions<'k>(
        &self,
        known: &'k mut Option<DistinctPartitions>,
        entries: &RecordBatch,
    ) -> Result<&'k DistinctPartitions> {
        match known {
            Some(partitions) => Ok(partitions),
            None => Ok(known.insert(self.partition.partitions_of(read(entries, "partition")?)?)),
        }
    }
}

impl OwnColumns for PaimonColumns {
    type Own = Own;
    type Cache = Option<DistinctPartitions>;

    fn data_type(&self, own: Own) -> DataType {
        match own {
            Own::Constant(_) => DataType::Int32,
            Own::Partition => self.partition.data_type(),
            Own::FilePath | Own::FileFormat => DataType::Utf8,
            Own::Stats => self.stats.as_ref().map_or(DataType::Null, StatsView::data_type),
            Own::Identity => DataType::Binary,
        }
    }

    fn input(&self, own: Own) -> Vec<&'static str> {
        match own {
            Own::Constant(_) => vec![],
            Own::Partition => vec!["partition"],
            Own::FilePath => vec!["partition", "bucket", "file_name", "external_path"],
            Own::FileFormat => vec!["file_name"],
            Own::Stats => STATS_INPUT.to_vec(),
            Own::Identity => IDENTITY.to_vec(),
        }
    }

    fn build(
        &self,
        own: Own,
        entries: &RecordBatch,
        partitions: &mut Option<DistinctPartitions>,
    ) -> Result<ArrayRef> {
        Ok(match own {
            Own::Constant(number) => Arc::new(Int32Array::from_value(number, entries.num_rows())),
            Own::Partition => self.partition.show(self.partitions(partitions, entries)?)?,
            Own::FilePath => {
                let external = read(entries, "external_path")?;
                let partitions = self.partitions(partitions, entries)?;
                Arc::new(self.paths.below(partitions, entries, external)?)
            }
            Own::FileFormat => file_formats(read(entries, "file_name")?),
            Own::Identity => Arc::new(identities(entries)?),
            Own::Stats => match &self.stats {
                Some(stats) => stats.build(entries)?,
                None => new_null_array(&DataType::Null, entries.num_rows()),
            },
        })
    }
}

/// A data file's format is the extension of its name.
fn file_formats(names: &StringArray) -> ArrayRef {
    Arc::new(names.iter().map(|name| extension(name?)).collect::<StringArray>())
}

/// The part after the last dot. It is short: searching backwards byte by byte is faster than a search of the
/// whole name.
fn extension(name: &str) -> Option<&str> {
    let dot = name.bytes().rposition(|byte| byte == b'.')?;
    name.get(dot + 1..)
}
