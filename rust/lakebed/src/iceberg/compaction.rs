//! Which data files Iceberg's `rewrite_data_files` rewrites, by its options and the properties of the table.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
};
use arrow_select::nullif::nullif;

use super::Table;
use crate::error::{Error, ErrorKind, Result, fitting};
use crate::record::{column, typed};
use crate::scan::Batches;
use crate::view::{ChosenFile, Compaction, FileDeletes, OptionTexts, View, groups};

const TARGET: &str = "target-file-size-bytes";
const TARGET_PROPERTY: &str = "write.target-file-size-bytes";
const MIN: &str = "min-file-size-bytes";
const MAX: &str = "max-file-size-bytes";
const MIN_INPUT_FILES: &str = "min-input-files";
const REWRITE_ALL: &str = "rewrite-all";
const GROUP_BYTES: &str = "max-file-group-size-bytes";
const GROUP_FILES: &str = "max-file-group-input-files";
const DELETE_FILES: &str = "delete-file-threshold";
const DELETE_RATIO: &str = "delete-ratio-threshold";

/// The options that choose files, then those that say how they are rewritten.
const OPTIONS: [&str; 18] = [
    TARGET,
    MIN,
    MAX,
    MIN_INPUT_FILES,
    REWRITE_ALL,
    GROUP_BYTES,
    GROUP_FILES,
    DELETE_FILES,
    DELETE_RATIO,
    "compression-factor",
    "max-concurrent-file-group-rewrites",
    "output-spec-id",
    "partial-progress.enabled",
    "partial-progress.max-commits",
    "partial-progress.max-failed-commits",
    "remove-dangling-deletes",
    "rewrite-job-order",
    "use-starting-sequence-number",
];

const TARGET_DEFAULT: i64 = 512 << 20;
const GROUP_BYTES_DEFAULT: i64 = 100 << 30;

/// The columns of deletes that say which of them are of one data file alone.
const DELETES: [&str; 3] = ["file_path", "content_offset", "referenced_data_file"];

/// How files are chosen by size and deletes, and packed in the order of the plan.
///
/// Source: `BinPackRewriteFilePlanner.java`, `SizeBasedFileRewritePlanner.java`, `BinPacking.java`.
struct BinPack {
    /// The spec whose partitions are groups; files of other specs are in one.
    spec_id: i32,
    /// The size that files are written with, in bytes.
    target: i64,
    /// Smaller files are rewritten.
    min: i64,
    /// Larger files are rewritten.
    max: i64,
    /// As many files of a group are rewritten, whatever their size is in all.
    min_input_files: usize,
    rewrite_all: bool,
    /// The bytes of a group at most.
    group_bytes: i64,
    /// The files of a group at most.
    group_files: i64,
    /// Files with as many deletes are rewritten.
    delete_files: usize,
    /// Files with such a part of their rows deleted by deletes of their own are rewritten.
    delete_ratio: f64,
}

/// A file that is rewritten where its group is.
struct Candidate {
    file: ChosenFile,
    bytes: i64,
    /// Whether its group is rewritten for its sake.
    has_deletes: bool,
}

impl BinPack {
    fn candidate(&self, row: usize, bytes: i64, records: i64, deletes: FileDeletes) -> Option<Candidate> {
        let many = deletes.files >= self.delete_files;
        let deleted = deletes.records.min(records) as f64 / records as f64;
        let is_deleted = deletes.files > 0 && deleted >= self.delete_ratio;
        let reasons = [
            (bytes < self.min, "small"),
            (bytes > self.max, "large"),
            (many, "delete files"),
            (is_deleted, "deleted rows"),
            (self.rewrite_all, "all"),
        ];
        let reason = reasons.iter().find(|(is_so, _)| *is_so).map(|(_, reason)| *reason)?;
        let file = ChosenFile { row, reason, deletes };
        Some(Candidate { file, bytes, has_deletes: many || is_deleted })
    }

    /// The files of a partition in groups, each filled before the next is begun.
    fn packed(&self, files: Vec<Candidate>) -> Result<Vec<Vec<Candidate>>> {
        let mut groups: Vec<Vec<Candidate>> = Vec::new();
        let (mut bytes, mut count) = (0_i64, 0_i64);
        for file in files {
            let with = fitting(bytes.checked_add(file.bytes), "the bytes of a group")?;
            match groups.last_mut() {
                Some(group) if with <= self.group_bytes && count < self.group_files => {
                    (bytes, count) = (with, count.saturating_add(1));
                    group.push(file);
                }
                _ => {
                    (bytes, count) = (file.bytes, 1);
                    groups.push(vec![file]);
                }
            }
        }
        groups.retain(|group| self.is_worth_it(group));
        Ok(groups)
    }

    fn is_worth_it(&self, group: &[Candidate]) -> bool {
        // Each group's bytes were added up before.
        let bytes: i64 = group.iter().fold(0, |sum, file| sum.saturating_add(file.bytes));
        let several = group.len() > 1;
        self.rewrite_all
            || (several && group.len() >= self.min_input_files)
            || (several && bytes > self.target)
            || bytes > self.max
            || group.iter().any(|file| file.has_deletes)
    }

    /// The rows of each partition, in the order of their first files. Files of other specs are in that of nulls alone.
    fn partitions(&self, files: &RecordBatch) -> Result<Vec<Vec<usize>>> {
        let specs: &Int32Array = column(files, "spec_id")?;
        let is_other: BooleanArray = specs.iter().map(|spec| Some(spec != Some(self.spec_id))).collect();
        let partition: &StructArray = column(files, "partition")?;
        let values = partition.columns().iter().map(|values| nullif(values, &is_other));
        let values = values.collect::<std::result::Result<Vec<_>, _>>()?;
        let fields = partition.fields().clone();
        let own = StructArray::try_new_with_length(fields, values, None, files.num_rows())?;
        groups(&[Arc::new(own)])
    }
}

impl Compaction for BinPack {
    fn place(&self) -> (View, &'static [&'static str]) {
        (View::Plan, &["partition", "spec_id"])
    }

    fn columns(&self) -> (&'static [&'static str], &'static [&'static str]) {
        (&["delete_files"], &DELETES)
    }

    fn groups(
        &self,
        files: &RecordBatch,
        deletes: &dyn Fn() -> Result<Batches>,
    ) -> Result<Vec<Vec<ChosenFile>>> {
        let lists: &ListArray = column(files, "delete_files")?;
        // A plan without deletes needs no second look at them.
        let own = if lists.values().is_empty() { OwnDeletes::new() } else { own_deletes(deletes()?)? };
        let deletes = file_deletes(lists, &own)?;
        let sizes: &Int64Array = column(files, "file_size_in_bytes")?;
        let records: &Int64Array = column(files, "record_count")?;
        let mut found = Vec::new();
        for rows in self.partitions(files)? {
            let files = rows.into_iter().filter_map(|row| {
                self.candidate(row, sizes.value(row), records.value(row), *deletes.get(row)?)
            });
            let packed = self.packed(files.collect())?;
            found.extend(packed.into_iter().map(|group| group.into_iter().map(|one| one.file).collect()));
        }
        Ok(found)
    }
}

/// Deletes of one data file alone, by path and, of vectors, their offset.
type OwnDeletes = HashSet<(String, Option<i64>)>;

fn own_deletes(deletes: Batches) -> Result<OwnDeletes> {
    let mut own = OwnDeletes::new();
    for rows in deletes {
        let rows = rows?;
        let [paths, targets] = [column::<StringArray>(&rows, DELETES[0])?, column(&rows, DELETES[2])?];
        let offsets: &Int64Array = column(&rows, DELETES[1])?;
        let offset = |row| offsets.is_valid(row).then(|| offsets.value(row));
        let of_one = (0..rows.num_rows()).filter(|row| targets.is_valid(*row));
        own.extend(of_one.map(|row| (paths.value(row).to_owned(), offset(row))));
    }
    Ok(own)
}

/// The deletes of each data file of a plan.
fn file_deletes(lists: &ListArray, own: &OwnDeletes) -> Result<Vec<FileDeletes>> {
    let deletes = |list: ArrayRef| -> Result<FileDeletes> {
        let list: &StructArray = typed(&list, "delete_files")?;
        let list = RecordBatch::from(list.clone());
        let (paths, offsets) =
            (column::<StringArray>(&list, "file_path")?, column::<Int64Array>(&list, "content_offset")?);
        let records: &Int64Array = column(&list, "record_count")?;
        let mut found = FileDeletes { files: list.num_rows(), ..FileDeletes::default() };
        for row in 0..list.num_rows() {
            let offset = offsets.is_valid(row).then(|| offsets.value(row));
            found.vectors = found.vectors.saturating_add(usize::from(offset.is_some()));
            if own.contains(&(paths.value(row).to_owned(), offset)) {
                found.records =
                    fitting(found.records.checked_add(records.value(row)), "the deleted rows of a file")?;
            }
        }
        Ok(found)
    };
    let is_there = |row: &usize| lists.is_valid(*row);
    let of_row = |row| if is_there(&row) { deletes(lists.value(row)) } else { Ok(FileDeletes::default()) };
    (0..lists.len()).map(of_row).collect()
}

impl Table {
    /// What the engine chooses by. Source: `SizeBasedFileRewritePlanner.java`, `BinPackRewriteFilePlanner.java`.
    ///
    /// # Errors
    /// `Argument` for an option that the engine does not know, or refuses; `Unsupported` for `max-files-to-rewrite`, whose
    /// files depend on the order in which Spark's threads read manifests.
    pub(super) fn bin_pack(&self, options: &[(String, String)]) -> Result<Box<dyn Compaction>> {
        if options.iter().any(|(name, _)| name == "max-files-to-rewrite") {
            let message =
                "max-files-to-rewrite takes files in the order in which the engine's threads read manifests";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let given = OptionTexts(options);
        given.check_names(&OPTIONS)?;
        let properties = &self.metadata().properties;
        let target = given
            .number(TARGET, || OptionTexts(properties).number(TARGET_PROPERTY, || Ok(TARGET_DEFAULT)))?;
        let part = |ratio: f64| (target as f64 * ratio) as i64;
        let (min, max) = (given.number(MIN, || Ok(part(0.75)))?, given.number(MAX, || Ok(part(1.8)))?);
        given.check(TARGET, target > 0, "more than 0")?;
        given.check(MIN, (0..target).contains(&min), &format!("from 0 to less than {TARGET}, {target}"))?;
        given.check(MAX, max > target, &format!("more than {TARGET}, {target}"))?;
        let above_0 = |name, default| {
            let found = given.number(name, || Ok(default))?;
            given.check(name, found > 0, "more than 0")?;
            Ok::<i64, Error>(found)
        };
        let (min_input_files, delete_files) =
            (above_0(MIN_INPUT_FILES, 5)?, given.number(DELETE_FILES, || Ok(i64::from(i32::MAX)))?);
        given.check(DELETE_FILES, delete_files >= 0, "0 or more")?;
        let delete_ratio = given.ratio(DELETE_RATIO, 0.3)?;
        let size = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
        Ok(Box::new(BinPack {
            spec_id: self.metadata().default_spec_id,
            target,
            min,
            max,
            min_input_files: size(min_input_files),
            rewrite_all: given.is_true(REWRITE_ALL),
            group_bytes: above_0(GROUP_BYTES, GROUP_BYTES_DEFAULT)?,
            group_files: above_0(GROUP_FILES, i64::MAX)?,
            delete_files: size(delete_files),
            delete_ratio,
        }))
    }
}
