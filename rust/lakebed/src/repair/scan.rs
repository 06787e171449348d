//! The view of repairs.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{Array, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;
use lakebed_avro::ErrorKind as AvroKind;

use super::described::{Described, described};
use super::duplicates::duplicates;
use super::{Repair, RepairKind, RowChange, TableRepairs, rows};
use crate::dangling::DeleteMarks;
use crate::distributed::Distributed;
use crate::error::{Error, ErrorKind, Result};
use crate::field::{DATA, POSITION_DELETES};
use crate::notes::Notes;
use crate::pipeline::read_each;
use crate::reach::PlanColumns;
use crate::record::column;
use crate::scan::{Batches, EntrySource, Format, OpenManifest, Scan, ScanOptions, limited};
use crate::storage::{Storage, present};
use crate::verify::caught;
use crate::view::View;

/// The columns of files, and of deletes, that repairs are made of.
pub(super) const OF_FILES: [&str; 3] = ["file_path", "record_count", "file_size_in_bytes"];
pub(super) const CONTENT: &str = "content";
pub(super) const OFFSET: &str = "content_offset";

const ABSENT: &str = "the file is not there";

/// What can be done about a table.
pub(crate) struct RepairPlan<F> {
    table: F,
    kinds: BTreeSet<RepairKind>,
    described: Option<Described>,
    now_ms: i64,
    options: ScanOptions,
    schema: SchemaRef,
}

/// What is wrong with the manifests of a state: the error of each that cannot be read, by its name.
type Damage = HashMap<String, Option<Arc<Error>>>;

impl<F: Format> RepairPlan<F> {
    /// Columns and filter are checked; no file is read. `described` finds repairs by what data files say of themselves,
    /// and `now_ms` is what rows say of when they were planned.
    ///
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`.
    pub(crate) fn new(
        table: F,
        kinds: BTreeSet<RepairKind>,
        described: Option<Described>,
        now_ms: i64,
        options: ScanOptions,
    ) -> Result<RepairPlan<F>> {
        let schema = PlanColumns::unread().selected(&rows(&[])?, &options)?.schema();
        // What is missing or damaged is what is asked.
        let table = table.uncached();
        Ok(RepairPlan { table, kinds, described, now_ms, options, schema })
    }

    fn repairs(&self) -> Result<Vec<Repair>> {
        let asked = |kind| self.kinds.contains(&kind);
        let mut found = Vec::new();
        if asked(RepairKind::Hints) {
            found.extend(self.table.wrong_hints()?.into_iter().map(|hint| {
                let change = if hint.text.is_some() { RowChange::NONE } else { RowChange::UNKNOWN };
                Repair::new(RepairKind::Hints, hint.path, &hint.problem, change)
            }));
        }
        if asked(RepairKind::Main) {
            let wrong = F::Repairs::wrong_main(&self.table);
            found.extend(
                wrong.map(|(id, error)| Repair::back_to(RepairKind::Main, id, &error, RowChange::NONE)),
            );
        }
        if asked(RepairKind::Lists) {
            found.extend(F::Repairs::gone_list(&self.table, self.options.threads)?);
        }
        let mut known = Damage::new();
        if asked(RepairKind::Rollback) {
            found.extend(self.rollback(&mut known)?);
        }
        if asked(RepairKind::Snapshots) {
            found.extend(F::Repairs::gone_snapshots(&self.table, self.options.threads)?);
        }
        let manifests = match asked(RepairKind::Manifests) {
            true => self.manifests(&mut known, &mut found)?,
            false if RepairKind::OF_ENTRIES.into_iter().any(asked) => {
                self.table.manifests_at(&self.table, None)?.kept
            }
            false => Vec::new(),
        };
        if asked(RepairKind::Duplicates) {
            found.extend(duplicates(&self.table, &manifests, self.options.threads)?);
        }
        if asked(RepairKind::Vectors) || asked(RepairKind::ForeignDeletes) {
            found.extend(F::Repairs::misplaced_deletes(
                &self.table,
                &manifests,
                &self.kinds,
                self.options.threads,
            )?);
        }
        if asked(RepairKind::DataFiles) {
            self.data_files(&manifests, &mut found)?;
        }
        if asked(RepairKind::DeleteFiles) {
            self.delete_files(&mut found)?;
        }
        if let Some(how) = &self.described
            && (asked(RepairKind::Sizes) || asked(RepairKind::Metrics))
        {
            described(&self.table, &manifests, how, self.options.threads, &mut found)?;
        }
        Ok(found)
    }

    /// The way back to the last snapshot that is whole, where the table's own is not.
    fn rollback(&self, known: &mut Damage) -> Result<Option<Repair>> {
        let (mut change, mut damage) = (RowChange::NONE, None::<Arc<Error>>);
        for (commit, snapshot) in self.table.line()?.into_iter().rev() {
            let state = self.table.at_state(&snapshot)?;
            let Some(error) = self.first_damage(&state, known)? else {
                let back = |error: Arc<Error>| {
                    Repair::back_to(RepairKind::Rollback, commit.snapshot_id, &error, change)
                };
                return Ok(damage.map(back));
            };
            change = change.and(F::Repairs::undone(&state)?);
            damage.get_or_insert(error);
        }
        Ok(None)
    }

    /// What is wrong with a state of the table.
    fn first_damage(&self, state: &F, known: &mut Damage) -> Result<Option<Arc<Error>>> {
        let storage = self.table.core().storage().as_ref();
        let listed = match damage(storage, state.manifests_at(state, None))? {
            Err(error) => return Ok(Some(Arc::new(error))),
            Ok(listed) => listed.kept,
        };
        self.read(state, &listed, known)?;
        let error = |manifest| known.get(F::name_of(manifest)).and_then(Option::as_ref);
        if let Some(error) = listed.iter().find_map(error) {
            return Ok(Some(Arc::clone(error)));
        }
        // Deletes may be named elsewhere.
        let deletes = damage(storage, F::Deletes::read(state, &ScanOptions::default()))?;
        Ok(deletes.err().map(Arc::new))
    }

    /// Reads the manifests of a state that are not known yet.
    fn read(&self, state: &F, manifests: &[F::Manifest], known: &mut Damage) -> Result<()> {
        let new = manifests.iter().filter(|manifest| !known.contains_key(F::name_of(manifest)));
        let new: Vec<F::Manifest> = new.cloned().collect();
        let (table, program) = (state.clone(), Arc::new(state.program(F::FILES, &ScanOptions::default())?));
        let decoded = move |manifest: &F::Manifest| -> Result<()> {
            let (content, path) = (table.read_manifest(&program, manifest)?, table.path_of(manifest));
            let open = OpenManifest { path: &path, recorded: manifest, content, threads: 1 };
            F::rows(&program, open)?.try_for_each(|rows| rows.map(drop))
        };
        let of_state = state.clone();
        let read = move |storage: &dyn Storage, manifest: &F::Manifest| {
            let decoded = decoded(manifest).map_err(|error| error.in_file(&of_state.path_of(manifest)));
            Ok(damage(storage, decoded)?.err().map(Arc::new))
        };
        let names: Vec<String> = new.iter().map(|manifest| F::name_of(manifest).to_owned()).collect();
        known.extend(names.into_iter().zip(read_each(
            self.table.core().storage(),
            new,
            self.options.threads,
            read,
        )?));
        Ok(())
    }

    /// The manifests of the table's snapshot that can be read; repairs of the others are added to `found`.
    fn manifests(&self, known: &mut Damage, found: &mut Vec<Repair>) -> Result<Vec<F::Manifest>> {
        let listed = self.table.manifests_at(&self.table, None)?.kept;
        self.read(&self.table, &listed, known)?;
        let (mut kept, mut damaged) = (Vec::new(), Vec::new());
        for manifest in listed {
            match known.get(F::name_of(&manifest)).and_then(Option::as_ref) {
                Some(error) => damaged.push((manifest, Arc::clone(error))),
                None => kept.push(manifest),
            }
        }
        if !damaged.is_empty() {
            found.extend(F::Repairs::without_manifests(&self.table, &damaged, &kept, self.options.threads)?);
        }
        Ok(kept)
    }

    /// Live data files of these manifests that are not there.
    fn data_files(&self, manifests: &[F::Manifest], found: &mut Vec<Repair>) -> Result<()> {
        let columns = [&OF_FILES[..], &[CONTENT]].concat();
        let (mut live, before) = (0, found.len());
        for files in listed_files(&self.table, manifests, &columns, self.options.threads)? {
            let files = files?;
            let contents = column::<Int32Array>(&files, CONTENT)?;
            let is_data = contents.iter().map(|one| Some(one == Some(DATA))).collect();
            let files = filter_record_batch(&files, &is_data)?;
            let absent = self.absent(column(&files, "file_path")?)?;
            let records = column::<Int64Array>(&files, "record_count")?;
            let removed = F::Repairs::removes_rows(&self.table);
            let change = |row| RowChange::lost(Some(records.value(row)).filter(|_| removed));
            found.extend(of_files(&files, &absent, RepairKind::DataFiles, change)?);
            live += files.num_rows();
        }
        // As where a disk is not mounted.
        if live > 1 && found.len() - before == live {
            let message = format!(
                "none of the {live} data files is there: is this the storage that has them? delete_files() takes \
                files out of a table that has lost all"
            );
            return Err(Error::new(ErrorKind::Location, message).in_file(self.table.location()));
        }
        Ok(())
    }

    /// Delete files, or deletion vectors, of the table's snapshot that are not there.
    fn delete_files(&self, found: &mut Vec<Repair>) -> Result<()> {
        let columns = [&OF_FILES[..], &[CONTENT, OFFSET]].concat();
        let options = ScanOptions::of_columns(&columns, self.options.threads);
        for deletes in self.table.scan(View::Deletes, options)?.stream()? {
            let deletes = deletes?;
            let absent = self.absent(column(&deletes, "file_path")?)?;
            let contents = column::<Int32Array>(&deletes, CONTENT)?;
            let records = column::<Int64Array>(&deletes, "record_count")?;
            let change = |row| match contents.value(row) {
                POSITION_DELETES => RowChange::back(records.is_valid(row).then(|| records.value(row))),
                _ => RowChange::UNKNOWN,
            };
            found.extend(of_files(&deletes, &absent, RepairKind::DeleteFiles, change)?);
        }
        Ok(())
    }

    /// Which of these files are not there.
    fn absent(&self, paths: &StringArray) -> Result<HashSet<String>> {
        let distinct: HashSet<String> = paths.iter().flatten().map(str::to_owned).collect();
        let is_absent = |storage: &dyn Storage, path: &String| {
            let first = present(storage.read_range(path, 0, 1)).map_err(|error| error.in_file(path))?;
            Ok(first.is_none().then(|| path.clone()))
        };
        let distinct = distinct.into_iter().collect();
        let looked = read_each(self.table.core().storage(), distinct, self.options.threads, is_absent)?;
        Ok(looked.into_iter().flatten().collect())
    }
}

/// The live files of these manifests, with columns of the view `files`.
///
/// # Errors
/// Those of reading the schemas.
pub(crate) fn listed_files<F: Format>(
    table: &F,
    manifests: &[F::Manifest],
    columns: &[&str],
    threads: usize,
) -> Result<Batches> {
    let options = ScanOptions::of_columns(columns, threads);
    let program = Arc::new(table.program(F::FILES, &options)?);
    Ok(EntrySource::new(program, table.clone()).stream(manifests.to_vec(), &options))
}

/// The result of a read, where its error is that a file is absent or damaged.
///
/// # Errors
/// All others.
pub(crate) fn damage<T>(storage: &dyn Storage, read: Result<T>) -> Result<Result<T>> {
    match caught(storage, read)? {
        Err(error) if is_damage(&error) => Ok(Err(error)),
        read => read.map(Ok),
    }
}

/// Whether an error of reading a file is that it is not there, or not as it was written: of none of these does another
/// key, another version of lakebed or another try read it.
fn is_damage(error: &Error) -> bool {
    use AvroKind::{Depth, Encryption, Foreign, Limit, Unsupported};
    let reader = matches!(
        error.kind(),
        ErrorKind::Io
            | ErrorKind::Location
            | ErrorKind::Unsupported
            | ErrorKind::Version
            | ErrorKind::Internal
            | ErrorKind::Avro(Depth | Encryption | Foreign | Limit | Unsupported | AvroKind::Io)
            | ErrorKind::Avro(AvroKind::UnknownCodec)
    );
    !reader && !error.is_interruption()
}

/// A number, if it is not null.
pub(super) fn long(numbers: &Int64Array, row: usize) -> Option<i64> {
    numbers.is_valid(row).then(|| numbers.value(row))
}

/// Repairs of those of some files that are absent.
fn of_files(
    files: &RecordBatch,
    absent: &HashSet<String>,
    kind: RepairKind,
    change: impl Fn(usize) -> RowChange,
) -> Result<Vec<Repair>> {
    let paths = column::<StringArray>(files, "file_path")?;
    let sizes = column::<Int64Array>(files, "file_size_in_bytes")?;
    let offsets = files.column_by_name(OFFSET).map(|_| column::<Int64Array>(files, OFFSET));
    let offsets = offsets.transpose()?;
    let gone = (0..files.num_rows()).filter(|row| absent.contains(paths.value(*row)));
    let repair = |row| Repair {
        content_offset: offsets.and_then(|offsets| long(offsets, row)),
        size: long(sizes, row),
        ..Repair::new(kind, paths.value(row).to_owned(), ABSENT, change(row))
    };
    Ok(gone.map(repair).collect())
}

impl<F: Format> Scan for RepairPlan<F> {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn stream(&self) -> Result<Batches> {
        limited(self.options.limit, || {
            let plan = PlanColumns::of_repair(&self.table, &self.kinds, self.now_ms)?;
            let rows = plan.selected(&rows(&self.repairs()?)?, &self.options)?;
            Ok(Box::new(std::iter::once(Ok(rows))))
        })
    }

    fn notes(&self) -> Notes {
        self.table.notes()
    }
}

impl<F: Format> Distributed for RepairPlan<F> {}
