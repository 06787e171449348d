//! The views of manifest entries: `entries` as stored, `files` as the common view has them.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray, new_null_array};
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef};

use super::super::fields::ENTRY;
use super::super::identity::{IDENTITY, identities};
use super::super::partition::{DistinctPartitions, PartitionType};
use super::super::paths::DataPaths;
use super::super::schema::TableSchema;
use super::super::stats::{STATS_INPUT, StatsView};
use crate::error::Result;
use crate::field::ints;
use crate::notes::Notes;
use crate::record::{column as read, find};
use crate::scan::{DeletesAs, RESIDUAL};
use crate::view::{batch, planned_deletes, project};

/// Which rows a scan over entries gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
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

/// Name of the column that carries identities to a merge elsewhere.
pub const IDENTITY_COLUMN: &str = "_identity";

/// How a column of a view is made from entries.
#[derive(Debug, Clone, Copy)]
enum Make {
    /// The entry's own column of this name.
    Copy(&'static str),
    /// A constant number.
    Constant(i32),
    /// Null: the format has no such field.
    Absent,
    Partition,
    FilePath,
    FileFormat,
    Manifest,
    Stats,
    Identity,
    /// The column of a plan that this module does not make.
    Planned(&'static str),
}

#[derive(Debug, Clone)]
struct ViewColumn {
    name: &'static str,
    make: Make,
}

const fn column(name: &'static str, make: Make) -> ViewColumn {
    ViewColumn { name, make }
}

/// `files`: the pinned columns of the common view, then Paimon's own.
const FILES: [ViewColumn; 24] = [
    column("content", Make::Constant(0)),
    column("file_path", Make::FilePath),
    column("file_format", Make::FileFormat),
    column("partition", Make::Partition),
    column("spec_id", Make::Absent),
    column("bucket", Make::Copy("bucket")),
    column("level", Make::Copy("level")),
    column("record_count", Make::Copy("row_count")),
    column("file_size_in_bytes", Make::Copy("file_size")),
    column("schema_id", Make::Copy("schema_id")),
    column("sequence_number", Make::Copy("max_sequence_number")),
    column("created_at", Make::Copy("creation_time")),
    column("min_sequence_number", Make::Copy("min_sequence_number")),
    column("total_buckets", Make::Copy("total_buckets")),
    column("file_name", Make::Copy("file_name")),
    column("min_key", Make::Copy("min_key")),
    column("max_key", Make::Copy("max_key")),
    column("extra_files", Make::Copy("extra_files")),
    column("delete_row_count", Make::Copy("delete_row_count")),
    column("embedded_file_index", Make::Copy("embedded_file_index")),
    column("file_source", Make::Copy("file_source")),
    column("external_path", Make::Copy("external_path")),
    column("first_row_id", Make::Copy("first_row_id")),
    column("write_cols", Make::Copy("write_cols")),
];

/// The names of the columns of the view `files`.
pub(crate) fn files_columns() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|column| column.name)
}

/// `entries`: the entry's columns, the partition typed, and the manifest that they are in.
fn entry_columns() -> Vec<ViewColumn> {
    let own = ENTRY.iter().map(|spec| match spec.column {
        "partition" => column("partition", Make::Partition),
        name => column(name, Make::Copy(name)),
    });
    let more = [column("partition_row", Make::Copy("partition")), column("manifest", Make::Manifest)];
    own.chain(more).collect()
}

/// The entry's columns unchanged, with the file's path and format.
fn own_columns() -> Vec<ViewColumn> {
    let own = ENTRY.iter().map(|spec| column(spec.column, Make::Copy(spec.column)));
    let more = [column("file_path", Make::FilePath), column("file_format", Make::FileFormat)];
    own.chain(more).collect()
}

/// One view over entries, compiled: the raw columns that it needs, and how its columns are made.
pub struct EntryView {
    columns: Vec<ViewColumn>,
    raw: Vec<String>,
    schema: SchemaRef,
    partition: PartitionType,
    stats: Option<StatsView>,
    paths: DataPaths,
}

impl EntryView {
    /// The view `role` of the table at `location`, projected to `columns`.
    ///
    /// # Errors
    /// `UnknownColumn` for a column that the view does not have.
    pub fn new(
        role: Role,
        location: &str,
        schema: &TableSchema,
        columns: Option<&[String]>,
        stats: Option<StatsView>,
    ) -> Result<EntryView> {
        let mut known = match role {
            Role::Entries => entry_columns(),
            Role::Files | Role::Appended | Role::History | Role::Added | Role::Removed => FILES.to_vec(),
            Role::Plan(deletes) => {
                let of_plan = [deletes.column(), RESIDUAL].map(|name| column(name, Make::Planned(name)));
                FILES.into_iter().chain(of_plan).collect()
            }
            Role::Live | Role::Changes => own_columns(),
            Role::Deleted => Vec::new(),
        };
        if stats.is_some() {
            known.push(column("stats", Make::Stats));
        }
        let mut columns =
            if role == Role::Deleted { known } else { project(&known, |column| column.name, columns)? };
        if matches!(role, Role::Added | Role::Removed | Role::Deleted) {
            columns.push(column(IDENTITY_COLUMN, Make::Identity));
        }
        let partition = PartitionType::new(schema);
        let fields = columns
            .iter()
            .map(|column| Field::new(column.name, data_type(column, &partition, stats.as_ref()), true));
        Ok(EntryView {
            raw: raw_columns(role, &columns),
            schema: Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>())),
            columns,
            partition,
            stats,
            paths: DataPaths::new(location, schema),
        })
    }

    /// The same, which adds to `notes` what it cannot show.
    pub(crate) fn noting(self, notes: &Notes) -> EntryView {
        let (partition, stats) = (self.partition.noting(notes), self.stats.map(|stats| stats.noting(notes)));
        EntryView { partition, stats, ..self }
    }

    /// The schema of the view's batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Whether it has a column of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column.name == name)
    }

    /// The columns of [`ENTRY`] that the view is made of.
    pub fn raw(&self) -> &[String] {
        &self.raw
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

    /// Makes the view's rows from entries of one manifest.
    pub fn build(&self, entries: &RecordBatch, manifest: &str) -> Result<RecordBatch> {
        let rows = entries.num_rows();
        let mut known = None;
        let columns = self.columns.iter().zip(self.schema.fields()).map(|(column, field)| {
            let array = match column.make {
                Make::Copy(name) | Make::Planned(name) => find(entries, name),
                Make::Constant(number) => Ok(Arc::new(Int32Array::from_value(number, rows)) as ArrayRef),
                Make::Absent => Ok(new_null_array(field.data_type(), rows)),
                Make::Partition => self.partition.show(self.partitions(&mut known, entries)?),
                Make::FilePath => {
                    let external = read(entries, "external_path")?;
                    let partitions = self.partitions(&mut known, entries)?;
                    let paths = self.paths.below(partitions, entries, external)?;
                    Ok(Arc::new(paths) as ArrayRef)
                }
                Make::FileFormat => Ok(file_formats(read(entries, "file_name")?)),
                Make::Manifest => {
                    Ok(Arc::new(StringArray::from_iter_values(std::iter::repeat_n(manifest, rows)))
                        as ArrayRef)
                }
                Make::Identity => Ok(Arc::new(identities(entries)?) as ArrayRef),
                Make::Stats => match &self.stats {
                    Some(stats) => stats.build(entries),
                    None => Ok(new_null_array(field.data_type(), rows)),
                },
            };
            array.map_err(|error| error.in_field(column.name))
        });
        batch(&self.schema, columns.collect::<Result<_>>()?, rows)
    }
}

fn data_type(column: &ViewColumn, partition: &PartitionType, stats: Option<&StatsView>) -> DataType {
    match column.make {
        Make::Copy(name) => {
            ENTRY.iter().find(|spec| spec.column == name).map_or(DataType::Null, |spec| (spec.data_type)())
        }
        Make::Constant(_) | Make::Absent => DataType::Int32,
        Make::Partition => partition.data_type(),
        Make::FilePath | Make::FileFormat | Make::Manifest => DataType::Utf8,
        Make::Stats => stats.map_or(DataType::Null, StatsView::data_type),
        Make::Identity => DataType::Binary,
        Make::Planned(RESIDUAL) => DataType::Utf8,
        Make::Planned(name) if name == DeletesAs::Ids.column() => ints(),
        Make::Planned(_) => {
            DataType::List(Arc::new(Field::new("item", DataType::Struct(planned_deletes()), true)))
        }
    }
}

/// The raw columns that these columns and the merge of a role need.
fn raw_columns(role: Role, columns: &[ViewColumn]) -> Vec<String> {
    let made_of = |make: Make| -> Vec<&'static str> {
        match make {
            Make::Copy(name) => vec![name],
            Make::Constant(_) | Make::Absent | Make::Manifest => vec![],
            Make::Partition => vec!["partition"],
            Make::FilePath => vec!["partition", "bucket", "file_name", "external_path"],
            Make::FileFormat => vec!["file_name"],
            Make::Stats => STATS_INPUT.to_vec(),
            Make::Identity => IDENTITY.to_vec(),
            Make::Planned(_) => vec!["partition", "bucket", "file_name"],
        }
    };
    let mut needed: Vec<&str> = columns.iter().flat_map(|column| made_of(column.make)).collect();
    if role.is_live() {
        needed.extend(IDENTITY);
    }
    if role == Role::History {
        needed.push("kind");
    }
    // In the order of the field table, each once.
    ENTRY.iter().map(|spec| spec.column).filter(|name| needed.contains(name)).map(str::to_owned).collect()
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
