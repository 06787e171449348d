//! The scan tasks that a REST catalog answers with: those of a whole plan, or of a share of it.
//!
//! ```text
//! manifest list ─▶ data manifests that the filter leaves ─▶ shares: a range of manifests, or some files of one
//! share ─▶ keys of its data files ─▶ deletes that may apply to them ─▶ its files, with their deletes
//! ```
//!
//! A share is numbers alone, which mean the same in every process: places of manifests among all data manifests
//! of the snapshot, whatever the filter leaves of them. Of a manifest with more files than a share may have, each
//! share takes those whose paths' hashes leave one remainder.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow_array::{BooleanArray, Int32Array, RecordBatch, StringArray};
use arrow_schema::{Schema as ArrowSchema, SchemaRef};
use arrow_select::filter::filter_record_batch;

use super::deletes::{DeletesBuilder, LiveDeletes, delete_program_with};
use super::planned::PlanRowBuilder;
use super::program::EntryProgram;
use super::rest::{TasksText, delete_columns, metrics_columns, plan_columns};
use super::rows::{entries_of, own_view};
use crate::error::{Error, ErrorKind, Result};
use crate::field::FieldSpec;
use crate::iceberg::deletes::FileKeys;
use crate::iceberg::fields::ENTRY;
use crate::iceberg::manifest::ADDED;
use crate::iceberg::manifest_list::{DATA, ManifestFile};
use crate::iceberg::metadata::Snapshot;
use crate::iceberg::prune::{Pruner, Summaries};
use crate::iceberg::table::{Table, TableTypes};
use crate::iceberg::view::{Role, target_files};
use crate::murmur;
use crate::notes::Notes;
use crate::record::{column, find};
use crate::scan::{Batches, DeletesAs, ExpressionForm, Format, ScanOptions, limited, row_limited, threads};

/// All places of manifests.
const EVERYWHERE: Range<usize> = 0..usize::MAX;

/// What a REST catalog is asked to plan, of a table at a snapshot.
#[derive(Debug, Clone, Default)]
pub struct TasksRequest {
    /// The files that appends added after this snapshot, without deletes; `None`: all live files.
    pub after: Option<i64>,
    /// The filter, as SQL text.
    pub filter: Option<String>,
    /// The ids of the columns whose metrics files have.
    pub stats: Vec<i32>,
    /// Rows that the client needs: the tasks may end with the file that reaches them.
    pub row_limit: Option<u64>,
    /// The most tasks.
    pub limit: Option<usize>,
    /// Threads of the call; 0 for one per processor.
    pub threads: usize,
    /// The form of residual filters.
    pub form: ExpressionForm,
}

/// A share of the data files of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TasksShare {
    /// The places of its manifests among all data manifests.
    pub manifests: Range<usize>,
    /// Into how many shares the files of these manifests are divided.
    pub of: u32,
    /// Which of these it is, from 0.
    pub nth: u32,
}

/// The scan tasks of a table at a snapshot, resolved: nothing is read but its metadata.
pub struct ScanTasks {
    table: Table,
    types: TableTypes,
    request: TasksRequest,
    /// Whose files are planned, for a request that asks for appends.
    appends: Option<Vec<Snapshot>>,
    list: OnceLock<RecordBatch>,
}

impl ScanTasks {
    /// The tasks of a request.
    ///
    /// # Errors
    /// `FilterColumn` and `Predicate` for a filter that does not fit the table; `SnapshotNotFound` where the table's
    /// snapshot was not made from `after`; those of reading the metadata file again.
    pub fn new(table: &Table, request: TasksRequest) -> Result<ScanTasks> {
        ScanTasks::noting(table.clone().noting(), request)
    }

    /// The same with the notes of `table`.
    pub(super) fn noting(table: Table, request: TasksRequest) -> Result<ScanTasks> {
        let types = table.types()?;
        if let Some(text) = &request.filter {
            Pruner::new(text, &types)?;
        }
        let appends = request.after.map(|after| table.appends_after(Some(after))).transpose()?;
        Ok(ScanTasks { table, types, request, appends, list: OnceLock::new() })
    }

    /// What is unusual in the files that were read so far.
    pub fn notes(&self) -> Notes {
        self.table.noted().clone()
    }

    /// Shares of the data manifests at these places that the filter leaves, of so many files each at most where
    /// manifests record how many they have, before the filter is held against single files.
    ///
    /// Reads the manifest list, for appends one list of each.
    ///
    /// # Errors
    /// Those of reading them.
    pub fn shares(&self, within: Range<usize>, most_files: u64) -> Result<Vec<TasksShare>> {
        let most = most_files.max(1);
        let (mut shares, mut last_files): (Vec<TasksShare>, u64) = (Vec::new(), 0);
        let (data, _) = self.manifests()?;
        for (place, manifest) in self.left(data, &within)? {
            // Where nothing is recorded, a manifest is a share.
            let files = match (manifest.added.files, manifest.existing.files) {
                (Some(added), Some(existing)) => added.saturating_add(existing),
                _ => most,
            };
            let of = u32::try_from(files.div_ceil(most)).unwrap_or(u32::MAX).max(1);
            match shares.last_mut() {
                Some(last) if of == 1 && last.of == 1 && last_files.saturating_add(files) <= most => {
                    last.manifests.end = place + 1;
                    last_files += files;
                }
                _ => {
                    shares.extend((0..of).map(|nth| TasksShare { manifests: place..place + 1, of, nth }));
                    last_files = files;
                }
            }
        }
        Ok(shares)
    }

    /// The tasks of a share, or of the whole plan, as the JSON text of an object: `delete-files` and
    /// `file-scan-tasks`.
    ///
    /// Reads the manifest list and the manifests of the share; where the snapshot has deletes, its manifests twice,
    /// and the manifests of deletes that are not older than its files. Memory is that of the text, of the share's paths,
    /// and of the deletes that may apply to them.
    ///
    /// # Errors
    /// Those of a plan's rows; `Unsupported` for a filter that Iceberg's expressions cannot express, and for
    /// values that JSON does not have.
    pub fn text(&self, share: Option<&TasksShare>) -> Result<String> {
        let within = share.map_or(EVERYWHERE, |share| share.manifests.clone());
        let (data, deletes) = self.manifests()?;
        let [data, deletes] = [self.left(data, &within)?, self.left(deletes, &EVERYWHERE)?]
            .map(|left| left.into_iter().map(|(_, manifest)| manifest).collect::<Vec<_>>());
        let deletes = self.deletes(deletes, &data, share)?;
        let (index, deletes) = deletes.map_or((None, Vec::new()), |(live, shown)| (Some(live), shown));
        let mut text = TasksText::new(&self.types, &self.request.stats, self.request.form);
        for rows in self.rows(data, index, share)? {
            text.push(&rows?)?;
        }
        text.finish(&deletes)
    }

    /// The manifest list of the snapshot, which is read once.
    fn list(&self) -> Result<RecordBatch> {
        if let Some(list) = self.list.get() {
            return Ok(list.clone());
        }
        let list = self.table.manifest_list()?;
        Ok(self.list.get_or_init(|| list).clone())
    }

    /// All manifests of the snapshot: those of data, and those of deletes, of which plans of appends have none.
    fn manifests(&self) -> Result<(Vec<ManifestFile>, Vec<ManifestFile>)> {
        let all = match &self.appends {
            None => ManifestFile::all(&self.list()?)?,
            Some(snapshots) => self.table.appended(snapshots, None)?.kept,
        };
        let (data, mut deletes): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|manifest| manifest.content == DATA);
        if self.appends.is_some() {
            deletes.clear();
        }
        Ok((data, deletes))
    }

    /// The manifests at these places that the filter leaves, each with its place among all.
    fn left(&self, all: Vec<ManifestFile>, within: &Range<usize>) -> Result<Vec<(usize, ManifestFile)>> {
        let kept = match &self.request.filter {
            Some(text) => {
                let summaries = Summaries::new(&all, &self.types.specs, &self.types.partition);
                Pruner::new(text, &self.types)?.may_match(&all, &summaries)?
            }
            None => vec![true; all.len()].into(),
        };
        let placed = all.into_iter().enumerate().zip(kept.values().iter());
        let kept = placed
            .filter(|((place, manifest), kept)| *kept && within.contains(place) && manifest.may_be_live());
        Ok(kept.map(|(placed, _)| placed).collect())
    }

    /// Of these manifests the deletes that may apply to the files of a share, and their columns in the answer.
    fn deletes(
        &self,
        mut manifests: Vec<ManifestFile>,
        files: &[ManifestFile],
        share: Option<&TasksShare>,
    ) -> Result<Option<(LiveDeletes, Vec<RecordBatch>)>> {
        let (table, types, filter) = (&self.table, &self.types, self.request.filter.as_deref());
        if manifests.is_empty() {
            return Ok(None);
        }
        let keys = share.map(|share| self.keys(files, share)).transpose()?;
        if let Some(keys) = &keys {
            manifests.retain(|manifest| keys.may_have_of(manifest));
        }
        let columns = delete_columns();
        let program = delete_program_with(types.clone(), filter, table.decoding().clone(), &columns)?;
        let (mut index, mut shown) = (DeletesBuilder::new(types.clone(), false)?, Vec::new());
        for deletes in entries_of(table, program, manifests, threads(self.request.threads)) {
            let mut deletes = deletes?;
            if let Some(keys) = &keys {
                deletes = filter_record_batch(&deletes, &keys.may_apply(&deletes)?)?;
            }
            index.push(&deletes)?;
            shown.push(shown_in_answer(&deletes, &columns)?);
        }
        Ok(Some((index.finish_of(table, types)?, shown)))
    }

    /// By what the deletes of a share's files are found.
    fn keys(&self, files: &[ManifestFile], share: &TasksShare) -> Result<FileKeys> {
        let (types, filter) = (&self.types, self.request.filter.as_deref());
        let view = own_view(Role::LiveData, types, &FileKeys::INPUT, None)?;
        let decoding = self.table.decoding().clone();
        let program = EntryProgram::of_view(Role::LiveData, view, types.clone(), filter, decoding)?;
        let mut keys = FileKeys::new(types.clone())?;
        for entries in entries_of(&self.table, program, files.to_vec(), threads(self.request.threads)) {
            keys.push(&share.of_entries(entries?)?)?;
        }
        Ok(keys)
    }

    /// The rows of the plan, with the columns of the answer.
    fn rows(
        &self,
        manifests: Vec<ManifestFile>,
        deletes: Option<LiveDeletes>,
        share: Option<&TasksShare>,
    ) -> Result<Batches> {
        let (table, types, request) = (&self.table, &self.types, &self.request);
        let options = ScanOptions {
            columns: Some(plan_columns().into_iter().map(str::to_owned).collect()),
            table_filter: request.filter.clone(),
            row_limit: request.row_limit,
            threads: request.threads,
            deletes: DeletesAs::Ids,
            ..ScanOptions::default()
        };
        let program =
            EntryProgram::new(Role::Plan(DeletesAs::Ids), types.clone(), &options, table.decoding().clone())?;
        let carried = if request.stats.is_empty() { Vec::new() } else { metrics_columns() };
        let mut program =
            program.needing(carried.iter().copied(), &request.stats)?.in_process(table, &options);
        let are_added = self.appends.is_some();
        if let Some(snapshots) = &self.appends {
            let ids: HashSet<i64> = Table::ids_of(snapshots).unwrap_or_default();
            program = program.added_by(ids)?.needing(["status"].into_iter(), &[])?;
        }
        let schema = carrying(program.view.schema(), &carried)?;
        let share = share.cloned();
        let kept = move |mut entries: RecordBatch| {
            if are_added {
                let statuses = column::<Int32Array>(&entries, "status")?.values();
                let added: BooleanArray = statuses.iter().map(|status| Some(*status == ADDED)).collect();
                entries = filter_record_batch(&entries, &added)?;
            }
            match &share {
                Some(share) => share.of_entries(entries),
                None => Ok(entries),
            }
        };
        let rows = PlanRowBuilder::new(program, deletes, DeletesAs::Ids)?.carrying(carried);
        limited(request.limit, || {
            row_limited(&options, &schema, true, |options| {
                rows.rows_of(table, types.clone(), manifests, options, kept)
            })
        })
    }
}

impl TasksShare {
    /// The entries of its manifests that are its own.
    fn of_entries(&self, entries: RecordBatch) -> Result<RecordBatch> {
        if self.of <= 1 {
            return Ok(entries);
        }
        let paths = column::<StringArray>(&entries, "file_path")?;
        let own = |path: Option<&str>| {
            let hash = murmur::hash(path.unwrap_or_default().as_bytes(), 0).cast_unsigned();
            Some(hash.checked_rem(self.of) == Some(self.nth))
        };
        Ok(filter_record_batch(&entries, &paths.iter().map(own).collect::<BooleanArray>())?)
    }
}

/// The columns of deletes that the answer shows.
fn shown_in_answer(deletes: &RecordBatch, columns: &[&'static str]) -> Result<RecordBatch> {
    let shown = columns.iter().map(|name| match *name {
        "referenced_data_file" => Ok((*name, Arc::new(target_files(deletes)?) as _)),
        name => Ok((name, find(deletes, name)?)),
    });
    Ok(RecordBatch::try_from_iter(shown.collect::<Result<Vec<_>>>()?)?)
}

/// The schema of rows that carry columns of entries.
fn carrying(schema: &SchemaRef, carried: &[&str]) -> Result<SchemaRef> {
    let entry = |name: &&str| {
        let found = ENTRY.iter().find(|spec| spec.column == *name);
        found
            .map(FieldSpec::arrow)
            .ok_or_else(|| Error::new(ErrorKind::Internal, format!("entries have no column {name}")))
    };
    let more = carried.iter().map(entry).collect::<Result<Vec<_>>>()?;
    let own = schema.fields().iter().map(|field| field.as_ref().clone());
    Ok(Arc::new(ArrowSchema::new(own.chain(more).collect::<Vec<_>>())))
}
