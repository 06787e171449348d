//! `deletes`: one row per deletion vector of the snapshot.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
    UInt64Array, new_null_array,
};
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef, TimeUnit};
use arrow_select::take::{take, take_record_batch};

use super::super::fields::RANGES;
use super::super::index_files::IndexFiles;
use super::super::partition::PartitionType;
use super::super::paths::DataPaths;
use super::super::schema::TableSchema;
use crate::error::{Error, ErrorKind, Result};
use crate::field::longs;
use crate::notes::Notes;
use crate::record::{column, find, typed};
use crate::view::{batch, project};

/// `content` of rows that are deleted by their position in a data file, as Iceberg numbers it.
pub(crate) const POSITION_DELETES: i32 = 1;
/// `file_format` of deletion vectors.
const FORMAT: &str = "deletion-vector";

/// How a column is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DeletesColumn {
    /// The index file's own column of this name.
    Copy(&'static str),
    /// Null: Paimon has no such field.
    Absent(Absent),
    Content,
    IndexPath,
    Format,
    Partition,
    RecordCount,
    DataPath,
    DataName,
    Offset,
    Length,
    Cardinality,
    Positions,
}

/// The types of columns that are null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Absent {
    Int,
    Long,
    Instant,
}

/// The pinned columns of the common view, then those of deletes.
const DELETES: [(&str, DeletesColumn); 18] = [
    ("content", DeletesColumn::Content),
    ("file_path", DeletesColumn::IndexPath),
    ("file_format", DeletesColumn::Format),
    ("partition", DeletesColumn::Partition),
    ("spec_id", DeletesColumn::Absent(Absent::Int)),
    ("bucket", DeletesColumn::Copy("bucket")),
    ("level", DeletesColumn::Absent(Absent::Int)),
    ("record_count", DeletesColumn::RecordCount),
    ("file_size_in_bytes", DeletesColumn::Copy("file_size")),
    ("schema_id", DeletesColumn::Absent(Absent::Long)),
    ("sequence_number", DeletesColumn::Absent(Absent::Long)),
    ("created_at", DeletesColumn::Absent(Absent::Instant)),
    ("referenced_data_file", DeletesColumn::DataPath),
    ("referenced_file_name", DeletesColumn::DataName),
    ("content_offset", DeletesColumn::Offset),
    ("content_size_in_bytes", DeletesColumn::Length),
    ("cardinality", DeletesColumn::Cardinality),
    ("file_name", DeletesColumn::Copy("file_name")),
];

/// A column that is made only on request: it may be larger than all others together.
const ON_DEMAND: (&str, DeletesColumn) = ("positions", DeletesColumn::Positions);

/// The paths of data files outside the table, by partition row, bucket and name.
pub(crate) type ExternalFiles = HashMap<(Box<[u8]>, i32, Box<str>), String>;

/// The view, projected.
pub(crate) struct DeletesView {
    columns: Vec<(&'static str, DeletesColumn)>,
    schema: SchemaRef,
    partition: PartitionType,
    paths: DataPaths,
}

impl DeletesView {
    /// The view of the table at `location`; `None` for all columns except `positions`.
    ///
    /// # Errors
    /// `UnknownColumn` for a column that the view does not have.
    pub(crate) fn new(
        location: &str,
        schema: &TableSchema,
        columns: Option<&[String]>,
    ) -> Result<DeletesView> {
        let mut known = DELETES.to_vec();
        known.extend(columns.map(|_| ON_DEMAND));
        let columns = project(&known, |(name, _)| name, columns)?;
        let partition = PartitionType::new(schema);
        let fields = columns.iter().map(|(name, make)| Field::new(*name, data_type(*make, &partition), true));
        let schema_of_rows = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
        let paths = DataPaths::new(location, schema);
        Ok(DeletesView { columns, schema: schema_of_rows, partition, paths })
    }

    /// The same, which adds to `notes` what it cannot show.
    pub(crate) fn noting(self, notes: &Notes) -> DeletesView {
        DeletesView { partition: self.partition.noting(notes), ..self }
    }

    /// The schema of the rows.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Whether rows show the full paths of data files, so that paths outside the table must be known.
    pub(crate) fn needs_data_paths(&self) -> bool {
        self.has(DeletesColumn::DataPath)
    }

    /// Whether rows show positions, so that all vectors must be read.
    pub(crate) fn needs_positions(&self) -> bool {
        self.has(DeletesColumn::Positions)
    }

    /// Whether these vectors must be read for their counts, because their writer did not record them.
    pub(crate) fn needs_counts(&self, vectors: &Vectors) -> bool {
        self.has(DeletesColumn::RecordCount) && vectors.cardinalities.null_count() > 0
    }

    fn has(&self, make: DeletesColumn) -> bool {
        self.columns.iter().any(|(_, found)| *found == make)
    }

    /// The rows of `vectors`, with the positions of each where they are needed.
    pub(crate) fn build(
        &self,
        vectors: &Vectors,
        counts: Option<Int64Array>,
        positions: Option<ListArray>,
        external: &ExternalFiles,
    ) -> Result<RecordBatch> {
        let rows = vectors.files.num_rows();
        let columns = self.columns.iter().zip(self.schema.fields()).map(|((name, make), field)| {
            let array: Result<ArrayRef> = match make {
                DeletesColumn::Copy(name) => find(&vectors.files, name),
                DeletesColumn::Absent(_) => Ok(new_null_array(field.data_type(), rows)),
                DeletesColumn::Content => Ok(Arc::new(Int32Array::from_value(POSITION_DELETES, rows))),
                DeletesColumn::IndexPath => Ok(Arc::new(vectors.paths.clone())),
                DeletesColumn::Format => Ok(Arc::new(StringArray::new_repeated(FORMAT, rows))),
                DeletesColumn::Partition => self.partition.decode(column(&vectors.files, "partition")?),
                DeletesColumn::RecordCount => {
                    Ok(Arc::new(counts.as_ref().unwrap_or(&vectors.cardinalities).clone()))
                }
                DeletesColumn::DataPath => Ok(Arc::new(self.data_paths(vectors, external)?)),
                DeletesColumn::DataName => Ok(Arc::new(vectors.data_files.clone())),
                DeletesColumn::Offset => Ok(Arc::new(vectors.offsets.clone())),
                DeletesColumn::Length => Ok(Arc::new(vectors.lengths.clone())),
                DeletesColumn::Cardinality => Ok(Arc::new(vectors.cardinalities.clone())),
                DeletesColumn::Positions => Ok(match &positions {
                    Some(positions) => Arc::new(positions.clone()),
                    None => new_null_array(field.data_type(), rows),
                }),
            };
            array.map_err(|error| error.in_field(name))
        });
        batch(&self.schema, columns.collect::<Result<_>>()?, rows)
    }

    fn data_paths(&self, vectors: &Vectors, external: &ExternalFiles) -> Result<StringArray> {
        let partitions = column::<BinaryArray>(&vectors.files, "partition")?;
        let buckets = column::<Int32Array>(&vectors.files, "bucket")?;
        let outside = (0..vectors.files.num_rows()).map(|row| {
            let name = vectors.data_files.value(row);
            let key = || (Box::from(partitions.value(row)), buckets.value(row), Box::from(name));
            if external.is_empty() { None } else { external.get(&key()) }
        });
        let outside: StringArray = outside.collect();
        let columns = [
            ("partition", find(&vectors.files, "partition")?),
            ("bucket", find(&vectors.files, "bucket")?),
            ("file_name", Arc::new(vectors.data_files.clone()) as ArrayRef),
        ];
        self.paths.of(&RecordBatch::try_from_iter(columns)?, &outside)
    }
}

fn data_type(make: DeletesColumn, partition: &PartitionType) -> DataType {
    match make {
        DeletesColumn::Copy("bucket") | DeletesColumn::Content | DeletesColumn::Absent(Absent::Int) => {
            DataType::Int32
        }
        DeletesColumn::Copy("file_name")
        | DeletesColumn::IndexPath
        | DeletesColumn::Format
        | DeletesColumn::DataPath
        | DeletesColumn::DataName => DataType::Utf8,
        DeletesColumn::Absent(Absent::Instant) => DataType::Timestamp(TimeUnit::Microsecond, None),
        DeletesColumn::Partition => partition.data_type(),
        DeletesColumn::Positions => longs(),
        _ => DataType::Int64,
    }
}

/// The deletion vectors of some index files, in their order.
pub(crate) struct Vectors {
    /// The index file of each vector: partition, bucket, name and size.
    pub(crate) files: RecordBatch,
    /// The path of that index file.
    pub(crate) paths: StringArray,
    /// The name of the data file that each vector applies to.
    pub(crate) data_files: StringArray,
    /// The offset of each vector \[bytes\].
    pub(crate) offsets: Int64Array,
    /// The recorded length of each vector \[bytes\].
    pub(crate) lengths: Int64Array,
    /// The recorded number of rows that each vector deletes.
    pub(crate) cardinalities: Int64Array,
}

impl Vectors {
    /// # Errors
    /// `Required` for a range that is null or has a null field.
    pub(crate) fn of(index_files: &IndexFiles) -> Result<Vectors> {
        let ranges = column::<ListArray>(&index_files.entries, RANGES)?;
        let (mut rows, mut items) = (Vec::new(), Vec::new());
        for (row, bounds) in ranges.offsets().windows(2).enumerate() {
            let &[start, end] = bounds else { continue };
            let found =
                (start..end).filter(|_| ranges.is_valid(row)).map(|item| u64::from(item.unsigned_abs()));
            for item in found {
                rows.push(row as u64);
                items.push(item);
            }
        }
        let (rows, items) = (UInt64Array::from(rows), UInt64Array::from(items));
        let items = take(ranges.values(), &items, None)?;
        let items = typed::<StructArray>(&items, RANGES)?;
        let required = |name: &str| {
            let column = items.column_by_name(name).filter(|column| column.null_count() == 0);
            let column = column.filter(|_| items.null_count() == 0).cloned();
            column.ok_or_else(|| Error::new(ErrorKind::Required, format!("{name} is null")).in_field(RANGES))
        };
        let number = |name| {
            typed::<Int32Array>(&required(name)?, name)
                .map(|numbers| numbers.unary::<_, Int64Type>(i64::from))
        };
        let cardinalities = match items.column_by_name("cardinality") {
            Some(counts) => typed::<Int64Array>(counts, "cardinality")?.clone(),
            None => Int64Array::new_null(items.len()),
        };
        let kept = ["partition", "bucket", "file_name", "file_size"]
            .map(|name| index_files.entries.schema().index_of(name).map_err(Into::into));
        let kept = kept.into_iter().collect::<Result<Vec<_>>>()?;
        let files = index_files.entries.project(&kept)?;
        Ok(Vectors {
            files: take_record_batch(&files, &rows)?,
            paths: typed::<StringArray>(&take(&index_files.paths, &rows, None)?, "file_path")?.clone(),
            data_files: typed::<StringArray>(&required("f0")?, "f0")?.clone(),
            offsets: number("f1")?,
            lengths: number("f2")?,
            cardinalities,
        })
    }
}
