//! Builds the index of deletes from entries.

use std::collections::HashMap;

use arrow_array::{Array, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_select::filter::filter_record_batch;

use super::equality::{EqualityBuilder, EqualityDelete};
use super::sequence::{Member, SequencedDeletes};
use super::stats::EqualityField;
use super::{DeleteIndex, Vector};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::fields::{EQUALITY_DELETES, PUFFIN};
use crate::iceberg::partition::PartitionNumbers;
use crate::iceberg::table::TableTypes;
use crate::iceberg::view::target_files;
use crate::record::{column, find};

/// The columns of entries from which the index is built.
pub(crate) const DELETE_INPUT: [&str; 13] = [
    "content",
    "file_path",
    "file_format",
    "spec_id",
    "partition",
    "sequence_number",
    "value_counts",
    "null_value_counts",
    "nan_value_counts",
    "lower_bounds",
    "upper_bounds",
    "equality_ids",
    "referenced_data_file",
];

/// Takes the deletes of a snapshot batch by batch, and numbers them in that order.
pub(crate) struct DeleteIndexBuilder {
    types: TableTypes,
    partitions: PartitionNumbers,
    paths: HashMap<Box<str>, usize>,
    vectors: Vec<Option<Vector>>,
    by_path: Vec<Member>,
    by_partition: Vec<Member>,
    equality: EqualityBuilder,
    partition_of: Vec<usize>,
}

impl DeleteIndexBuilder {
    /// No deletes yet.
    ///
    /// # Errors
    /// `Unsupported` for a partition field of a type that cannot be compared.
    pub(crate) fn new(types: TableTypes) -> Result<DeleteIndexBuilder> {
        Ok(DeleteIndexBuilder {
            partitions: PartitionNumbers::new(&types.partition)?,
            types,
            paths: HashMap::new(),
            vectors: Vec::new(),
            by_path: Vec::new(),
            by_partition: Vec::new(),
            equality: EqualityBuilder::default(),
            partition_of: Vec::new(),
        })
    }

    /// Adds live entries of delete files, with the columns of [`DELETE_INPUT`].
    ///
    /// # Errors
    /// `Duplicate` for a second deletion vector of one data file; `Required` for a vector that refers to no
    /// file, and for an equality delete without columns or of an unknown spec; `Unsupported` for an equality
    /// delete whose partition the table's schemas do not describe; with the path of the delete.
    pub(crate) fn push(&mut self, entries: &RecordBatch) -> Result<()> {
        let rows = DeleteRows::new(entries)?;
        let tuples = column(entries, "partition")?;
        let partitions = self.partitions.number(&find(entries, "spec_id")?, tuples)?;
        let mut equality = Vec::new();
        for (row, partition) in partitions.into_iter().enumerate() {
            let delete = self.next_number()?;
            self.partition_of.push(partition);
            let sequence = rows.sequences.value(row);
            let pushed = if rows.contents.value(row) == EQUALITY_DELETES {
                is_global(&self.types, rows.spec_ids.value(row)).map(|global| {
                    let partition = (!global).then_some(partition);
                    equality.push(EqualityDelete { delete, sequence, partition });
                })
            } else {
                self.push_positions(&rows, row, partition, Vector { delete, sequence })
            };
            pushed.map_err(|error| error.in_file(rows.paths.value(row)))?;
        }
        if equality.is_empty() {
            return Ok(());
        }
        let are_equality = rows.contents.iter().map(|content| Some(content == Some(EQUALITY_DELETES)));
        let entries = filter_record_batch(entries, &are_equality.collect::<BooleanArray>())?;
        self.equality.push(&entries, &equality)
    }

    /// A deletion vector, or a file of position deletes.
    fn push_positions(
        &mut self,
        rows: &DeleteRows,
        row: usize,
        partition: usize,
        vector: Vector,
    ) -> Result<()> {
        let Vector { delete, sequence } = vector;
        let is_vector = rows.is_vector(row);
        let Some(target) = rows.target(row)? else {
            self.by_partition.push(Member { group: partition, sequence, delete });
            return Ok(());
        };
        let path = self.path_number(target);
        if !is_vector {
            self.by_path.push(Member { group: path, sequence, delete });
            return Ok(());
        }
        if self.vectors.len() <= path {
            self.vectors.resize(path + 1, None);
        }
        match self.vectors.get_mut(path) {
            Some(none @ None) => *none = Some(vector),
            _ => {
                let message = format!("{target} has more than one deletion vector");
                return Err(Error::new(ErrorKind::Avro(lakebed_avro::ErrorKind::Duplicate), message));
            }
        }
        Ok(())
    }

    fn path_number(&mut self, path: &str) -> usize {
        if let Some(number) = self.paths.get(path) {
            return *number;
        }
        let number = self.paths.len();
        self.paths.insert(path.into(), number);
        number
    }

    fn next_number(&self) -> Result<i32> {
        i32::try_from(self.partition_of.len()).map_err(|_| {
            Error::new(ErrorKind::Unsupported, "a snapshot with more than 2^31 deletes cannot be planned")
        })
    }

    /// The ids of the columns that equality deletes compare.
    pub(crate) fn equality_ids(&self) -> Vec<i32> {
        self.equality.field_ids().into_iter().collect()
    }

    /// The index, given the columns of [`DeleteIndexBuilder::equality_ids`] that are known. Unknown columns
    /// exclude no delete.
    ///
    /// Cost: sorts the deletes.
    pub(crate) fn finish(self, fields: Vec<EqualityField>) -> Result<DeleteIndex> {
        let fields = if self.equality.is_empty() { Vec::new() } else { fields };
        Ok(DeleteIndex {
            by_path: SequencedDeletes::new(self.paths.len(), self.by_path),
            by_partition: SequencedDeletes::new(self.partitions.len(), self.by_partition),
            equality: self.equality.finish(self.partitions.len(), fields)?,
            partitions: self.partitions,
            paths: self.paths,
            vectors: self.vectors,
            partition_of: self.partition_of,
        })
    }
}

/// Whether equality deletes of a spec apply to files of all specs, as those of unpartitioned specs do.
///
/// # Errors
/// `Required` for an unknown spec, `Unsupported` for one whose tuples the table's schemas do not describe.
pub(super) fn is_global(types: &TableTypes, spec_id: i32) -> Result<bool> {
    let spec = types.specs.iter().find(|spec| spec.spec_id == spec_id).ok_or_else(|| {
        Error::new(ErrorKind::Required, format!("partition spec {spec_id} is not among the table's"))
    })?;
    // Without one of the fields, deletes of different partitions could not be distinguished.
    match types.partition.missing_of(spec) {
        Some(field) => {
            let message = format!(
                "equality deletes of partition spec {spec_id} cannot be matched: no schema of the table \
                has the source of its field {:?}",
                field.name
            );
            Err(Error::new(ErrorKind::Unsupported, message))
        }
        None => Ok(spec.is_unpartitioned()),
    }
}

/// The columns of deletes, typed.
pub(super) struct DeleteRows {
    pub(super) contents: Int32Array,
    pub(super) spec_ids: Int32Array,
    pub(super) sequences: Int64Array,
    pub(super) paths: StringArray,
    formats: StringArray,
    targets: StringArray,
}

impl DeleteRows {
    pub(super) fn new(entries: &RecordBatch) -> Result<DeleteRows> {
        let int = |name| column::<Int32Array>(entries, name).cloned();
        let text = |name| column::<StringArray>(entries, name).cloned();
        Ok(DeleteRows {
            contents: int("content")?,
            spec_ids: int("spec_id")?,
            sequences: column::<Int64Array>(entries, "sequence_number")?.clone(),
            paths: text("file_path")?,
            formats: text("file_format")?,
            targets: target_files(entries)?,
        })
    }

    /// Whether a delete in `row` is a deletion vector.
    pub(super) fn is_vector(&self, row: usize) -> bool {
        self.formats.value(row).eq_ignore_ascii_case(PUFFIN)
    }

    /// The only data file that the delete in `row` applies to; `None` for position deletes of several files.
    ///
    /// # Errors
    /// `Required` for a deletion vector that refers to no file.
    pub(super) fn target(&self, row: usize) -> Result<Option<&str>> {
        let target = self.targets.is_valid(row).then(|| self.targets.value(row));
        if target.is_none() && self.is_vector(row) {
            let error = Error::new(ErrorKind::Required, "a deletion vector refers to no data file");
            return Err(error.in_field("referenced_data_file"));
        }
        Ok(target)
    }
}
