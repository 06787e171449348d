//! Repairs deletes of single data files: those that are listed in another partition than their file, and vectors of
//! which a file has more than one (Iceberg specification, "Deletion Vectors": one for each data file at most, in the
//! partition of the file).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, new_null_array};

use super::base::Base;
use super::entries::{CommitEntries, with_status};
use super::files::{FileName, Repairs};
use super::merge::SnapshotManifest;
use super::select::ManifestSelection;
use super::store::{count_files, encode_manifest};
use super::summary::Summary;
use super::uncommitted::UncommittedFiles;
use crate::deletion_vector::DeletionVector;
use crate::error::{Error, ErrorKind, Result, fitting};
use crate::iceberg::deletion_vector::{PuffinWriter, VectorEntry};
use crate::iceberg::fields::PARTITION;
use crate::iceberg::manifest::{ADDED, EXISTING};
use crate::iceberg::manifest_list::DELETES;
use crate::iceberg::view::target_files;
use crate::iceberg::write::ManifestContent;
use crate::record::{carried, column, find};

/// Deletes that are listed anew.
#[derive(Default)]
pub(super) struct MisplacedDeletes {
    /// Entries that are listed in another partition.
    moved: Vec<Target>,
    /// The vectors of each data file, which become one.
    merged: Vec<Target>,
}

/// A data file and its deletes.
#[derive(Default)]
struct Target {
    path: String,
    /// Entries of its deletes, a row each.
    deletes: Vec<RecordBatch>,
    /// Its spec, and its tuple in an array of one row.
    partition: Option<(i32, ArrayRef)>,
}

impl Repairs {
    /// Selects the deletes to be listed anew, and drops or removes their entries.
    ///
    /// # Errors
    /// `Argument` for a delete that is not listed or has no single data file, for a data file that is not live or has
    /// no two vectors; those of reading manifests.
    pub(super) fn misplaced_deletes(
        &self,
        base: &Base,
        selected: &mut ManifestSelection,
    ) -> Result<MisplacedDeletes> {
        if self.moved.is_empty() && self.merged.is_empty() {
            return Ok(MisplacedDeletes::default());
        }
        let names: HashMap<&FileName, usize> = self.moved.iter().zip(0..).collect();
        let paths: HashMap<&str, usize> = self.merged.iter().map(String::as_str).zip(0..).collect();
        let mut moved: Vec<Target> = self.moved.iter().map(|_| Target::default()).collect();
        let mut merged: Vec<Target> = self.merged.iter().map(|_| Target::default()).collect();
        let entries = CommitEntries::all(base)?;
        let manifests: Vec<_> = selected.live().map(|(place, one)| (place, one.clone())).collect();
        for (place, manifest) in manifests.iter().filter(|(_, manifest)| manifest.content == DELETES) {
            let batch = entries.live(manifest)?;
            let (targets, offsets) = (target_files(&batch)?, column::<Int64Array>(&batch, "content_offset")?);
            let own = column::<StringArray>(&batch, "file_path")?;
            for row in (0..batch.num_rows()).filter(|row| targets.is_valid(*row)) {
                let offset = offsets.is_valid(row).then(|| offsets.value(row));
                let target = match (paths.get(targets.value(row)), offset) {
                    (Some(given), Some(_)) => {
                        selected.hit(vec![*place]);
                        merged.get_mut(*given)
                    }
                    _ => match names.get(&(own.value(row).to_owned(), offset)) {
                        Some(given) => {
                            selected.drop_entry(*place, row);
                            moved.get_mut(*given)
                        }
                        None => None,
                    },
                };
                if let Some(target) = target {
                    target.path = targets.value(row).to_owned();
                    target.deletes.push(batch.slice(row, 1));
                }
            }
        }
        let refused = |message: String, field, row| {
            Err(Error::new(ErrorKind::Argument, message).in_field(field).in_row(row))
        };
        if let Some(row) = moved.iter().position(|target| target.deletes.is_empty()) {
            let message = format!("{:?} is no live delete of a single data file", self.moved[row].0);
            return refused(message, "moved", row);
        }
        if let Some(row) = merged.iter().position(|target| target.deletes.len() < 2) {
            let message = format!("{:?} has not more than one deletion vector", self.merged[row]);
            return refused(message, "merged", row);
        }
        let mut of_files: HashMap<String, Vec<&mut Target>> = HashMap::new();
        for target in moved.iter_mut().chain(&mut merged) {
            of_files.entry(target.path.clone()).or_default().push(target);
        }
        let entries = CommitEntries::of(base, &["file_path", PARTITION])?;
        for (_, manifest) in manifests.iter().filter(|(_, manifest)| manifest.content != DELETES) {
            let batch = entries.live(manifest)?;
            let (files, tuples) = (column::<StringArray>(&batch, "file_path")?, find(&batch, PARTITION)?);
            for row in 0..batch.num_rows() {
                for target in of_files.get_mut(files.value(row)).into_iter().flatten() {
                    target.partition = Some((manifest.spec_id, tuples.slice(row, 1)));
                }
            }
        }
        drop(of_files);
        selected.unmarked.extend(merged.iter().map(|target| target.path.clone()));
        Ok(MisplacedDeletes { moved, merged })
    }
}

impl MisplacedDeletes {
    /// The manifests that list them, and a Puffin file of merged vectors.
    ///
    /// # Errors
    /// `Argument` for deletes of a data file that is not live; `Unsupported` for merged vectors that are encrypted; those of
    /// reading vectors and of writing.
    pub(super) fn written(
        self,
        base: &Base,
        uncommitted: &mut UncommittedFiles,
        summary: &mut Summary,
    ) -> Result<Vec<SnapshotManifest>> {
        let mut of_specs: BTreeMap<(i32, bool), Vec<RecordBatch>> = BTreeMap::new();
        for target in self.moved {
            let (spec_id, tuple) = target.partition()?;
            for entry in &target.deletes {
                let entry = replaced(entry, &placed(spec_id, &tuple))?;
                let entry = with_status(&entry, &Int32Array::from(vec![EXISTING]), 0)?;
                of_specs.entry((spec_id, false)).or_default().push(entry);
            }
        }
        let mut puffin = PuffinWriter::new();
        let mut merged = Vec::with_capacity(self.merged.len());
        for target in &self.merged {
            let vector = target.union(base)?;
            let range = puffin.add(&vector, &target.path)?;
            merged.push((target, vector.cardinality(), range));
        }
        if !merged.is_empty() {
            let path = base.path(&format!("{}-deletes.puffin", uncommitted.identity().text()));
            let bytes = puffin.finish()?;
            uncommitted.write(&path, &bytes)?;
            let long = |number: u64| -> Result<ArrayRef> {
                let number = fitting(i64::try_from(number).ok(), "a number of a deletion vector")?;
                Ok(Arc::new(Int64Array::from(vec![number])))
            };
            for (target, cardinality, range) in merged {
                let (spec_id, tuple) = target.partition()?;
                let none = new_null_array(&arrow_schema::DataType::Int64, 1);
                let mut columns = placed(spec_id, &tuple);
                columns.extend([
                    ("file_path", Arc::new(StringArray::from(vec![path.as_str()])) as ArrayRef),
                    ("record_count", long(cardinality)?),
                    ("file_size_in_bytes", long(bytes.len() as u64)?),
                    ("content_offset", long(range.offset)?),
                    ("content_size_in_bytes", long(range.length)?),
                    ("sequence_number", Arc::clone(&none)),
                    ("file_sequence_number", none),
                ]);
                let entry = replaced(&target.deletes[0], &columns)?;
                let entry = with_status(&entry, &Int32Array::from(vec![ADDED]), uncommitted.snapshot_id())?;
                count_files(base, summary, base.spec(spec_id)?, &entry, true)?;
                of_specs.entry((spec_id, true)).or_default().push(entry);
            }
        }
        let written = of_specs.into_iter().map(|((spec_id, _), entries)| {
            let (spec, entries) = (base.spec(spec_id)?, carried::joined(&entries)?);
            let encoded = encode_manifest(base, uncommitted, spec, ManifestContent::Deletes, &entries)?;
            Ok(SnapshotManifest::new(encoded))
        });
        written.collect()
    }
}

impl Target {
    fn partition(&self) -> Result<(i32, ArrayRef)> {
        self.partition.clone().ok_or_else(|| {
            let message =
                format!("{:?}, whose deletes are repaired, is not a live file of the table", self.path);
            Error::new(ErrorKind::Argument, message)
        })
    }

    /// The positions of all its vectors.
    fn union(&self, base: &Base) -> Result<DeletionVector> {
        let mut union = DeletionVector::default();
        for entry in &self.deletes {
            if find(entry, "key_metadata")?.is_valid(0) {
                let message = "vectors that are encrypted are not merged";
                return Err(Error::new(ErrorKind::Unsupported, message).in_file(&self.path));
            }
            for vector in VectorEntry::of(entry)?.into_iter().flatten() {
                union.extend(vector.read(base.table.storage().as_ref())?);
            }
        }
        Ok(union)
    }
}

/// The columns that say in which partition an entry is.
fn placed(spec_id: i32, tuple: &ArrayRef) -> Vec<(&'static str, ArrayRef)> {
    vec![("spec_id", Arc::new(Int32Array::from(vec![spec_id]))), (PARTITION, Arc::clone(tuple))]
}

/// Entries with other values in some columns.
pub(super) fn replaced(entry: &RecordBatch, values: &[(&str, ArrayRef)]) -> Result<RecordBatch> {
    let columns = entry.schema_ref().fields().iter().zip(entry.columns()).map(|(field, column)| {
        let other = values.iter().find(|(name, _)| name == field.name());
        let column = Arc::clone(other.map_or(column, |(_, other)| other));
        (field.as_ref().clone().with_data_type(column.data_type().clone()), column)
    });
    let (fields, columns): (Vec<_>, Vec<_>) = columns.unzip();
    RecordBatch::try_new(Arc::new(arrow_schema::Schema::new(fields)), columns).map_err(Into::into)
}
