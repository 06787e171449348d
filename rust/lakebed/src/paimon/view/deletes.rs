//! `deletes`: one row per deletion vector of the snapshot.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
    UInt64Array,
};
use arrow_select::take::{take, take_record_batch};

use super::super::fields::{ENTRY, RANGES};
use super::super::index_files::IndexFiles;
use super::super::schema::TableSchema;
use super::entries::{EntryView, Own, PaimonColumns, ViewColumn, own};
use crate::error::{Error, ErrorKind, Result};
use crate::field::{POSITION_DELETES, int32, int64, longs, utf8, wall_clock};
use crate::notes::Notes;
use crate::record::{column as read, find, typed};
use crate::view::{ColumnRecipe, column, copy, given, project, whole};

/// `file_format` of deletion vectors.
const FORMAT: &str = "deletion-vector";

/// A column that is made only on request: it may be larger than all others together.
pub(crate) const POSITIONS: &str = "positions";
/// The full path of a vector's data file, for which paths outside the table must be known.
pub(crate) const DATA_PATH: &str = "referenced_data_file";

/// The pinned columns of the common view, then those of deletes.
const DELETES: [ViewColumn; 18] = [
    own("content", Own::Constant(POSITION_DELETES)),
    given("file_path", utf8),
    given("file_format", utf8),
    own("partition", Own::Partition),
    column("spec_id", ColumnRecipe::Absent(int32)),
    copy("bucket"),
    column("level", ColumnRecipe::Absent(int32)),
    given("record_count", int64),
    column("file_size_in_bytes", ColumnRecipe::Copy("file_size")),
    column("schema_id", ColumnRecipe::Absent(int64)),
    column("sequence_number", ColumnRecipe::Absent(int64)),
    column("created_at", ColumnRecipe::Absent(wall_clock)),
    own(DATA_PATH, Own::FilePath),
    column("referenced_file_name", ColumnRecipe::Copy("file_name")),
    given("content_offset", int64),
    given("content_size_in_bytes", int64),
    given("cardinality", int64),
    column("file_name", ColumnRecipe::Given("index_file_name", utf8)),
];

/// The paths of data files outside the table, by partition row, bucket and name.
pub(crate) type ExternalFiles = HashMap<(Box<[u8]>, i32, Box<str>), String>;

/// The view `deletes` of the table at `location`, which adds to `notes` what it cannot show; `None` for all columns
/// except [`POSITIONS`].
///
/// # Errors
/// `UnknownColumn` for a column that the view does not have.
pub(crate) fn deletes_view(
    location: &str,
    schema: &TableSchema,
    columns: Option<&[String]>,
    notes: &Notes,
) -> Result<EntryView> {
    let mut known = DELETES.to_vec();
    known.extend(columns.map(|_| given(POSITIONS, longs)));
    let columns = project(&known, |column| column.name, columns)?;
    Ok(EntryView::new(&ENTRY, PaimonColumns::new(location, schema, None, notes), columns, &[]))
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
    /// The rows of a view for the vectors, with how many rows each deletes where their writer did not record it, and the
    /// positions of each where they are shown.
    ///
    /// # Errors
    /// Those of decoding partitions.
    pub(crate) fn rows(
        &self,
        view: &EntryView,
        counts: Option<Int64Array>,
        positions: Option<ListArray>,
        external: &ExternalFiles,
    ) -> Result<RecordBatch> {
        let rows = self.files.num_rows();
        let mut columns: Vec<(&str, ArrayRef)> = vec![
            ("file_path", Arc::new(self.paths.clone())),
            ("file_format", Arc::new(StringArray::new_repeated(FORMAT, rows))),
            ("partition", find(&self.files, "partition")?),
            ("bucket", find(&self.files, "bucket")?),
            ("record_count", Arc::new(counts.unwrap_or_else(|| self.cardinalities.clone()))),
            ("file_size", find(&self.files, "file_size")?),
            ("file_name", Arc::new(self.data_files.clone())),
            ("external_path", Arc::new(self.outside(external)?)),
            ("content_offset", Arc::new(self.offsets.clone())),
            ("content_size_in_bytes", Arc::new(self.lengths.clone())),
            ("cardinality", Arc::new(self.cardinalities.clone())),
            ("index_file_name", find(&self.files, "file_name")?),
        ];
        columns.extend(positions.map(|positions| (POSITIONS, Arc::new(positions) as ArrayRef)));
        view.build(&whole(columns, rows)?, "")
    }

    /// The path of each data file that is outside the table.
    fn outside(&self, external: &ExternalFiles) -> Result<StringArray> {
        if external.is_empty() {
            return Ok(StringArray::new_null(self.files.num_rows()));
        }
        let partitions = read::<BinaryArray>(&self.files, "partition")?;
        let buckets = read::<Int32Array>(&self.files, "bucket")?;
        let outside = (0..self.files.num_rows()).map(|row| {
            let name = Box::from(self.data_files.value(row));
            external.get(&(Box::from(partitions.value(row)), buckets.value(row), name))
        });
        Ok(outside.collect())
    }

    /// # Errors
    /// `Required` for a range that is null or has a null field.
    pub(crate) fn of(index_files: &IndexFiles) -> Result<Vectors> {
        let ranges = read::<ListArray>(&index_files.entries, RANGES)?;
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
