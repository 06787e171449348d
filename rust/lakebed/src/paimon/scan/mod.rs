//! Scanning a view: which manifests must be read, and their rows as a stream.

mod appends;
mod deletes;
mod diff;
mod exchange;
mod explain;
mod gather;
mod grouping;
mod planned;
mod program;
mod stream;
mod task;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;

pub(crate) use appends::Appended;
use deletes::delete_rows;
pub(crate) use diff::diff;
use exchange::{DiffExchange, FilesExchange};
use gather::file_rows;
use grouping::{PaimonGroupTask, grouped};
use planned::{Attach, planned_vectors};
use program::EntryProgram;
use task::PaimonTask;

use super::fields::LIST;
use super::groups::{GROUP_INPUT, Groups, KIND};
use super::index_files::IndexFiles;
use super::manifest_list::{ManifestFile, manifest_files};
use super::prune::{BatchRead, EntryPruner, Rule};
use super::schema::TableSchema;
use super::table::Table;
use super::view::{DeletesView, Role, indexes, refs, schemas, snapshots};
use crate::distributed::{
    Beforehand, Distributed, Exchanged, GroupTask, ManifestTask, Part, PlannedManifest, Works, row,
};
use crate::error::{Error, ErrorKind, Result};
use crate::health;
use crate::notes::Notes;
use crate::record::record_schema;
use crate::scan::{self, Batches, Numbered, ScanOptions, Step, limited, once, row_limited, threads};
use crate::view::{View, select};

/// The work of the scans that engines spread.
pub(crate) const WORKS: Works = Works {
    tasks: &[row!(PaimonTask)],
    groups: &[row!(PaimonGroupTask)],
    exchanges: &[row!(FilesExchange), row!(DiffExchange)],
};

/// One view of a table, resolved: its schema is known, nothing of its rows is read.
pub struct Scan {
    table: Table,
    view: View,
    options: ScanOptions,
    schema: SchemaRef,
    /// How entries become rows, for the views that are made of them.
    program: Option<Arc<EntryProgram>>,
}

impl scan::Scan for Scan {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn stream(&self) -> Result<Batches> {
        limited(self.options.limit, || self.rows())
    }

    fn notes(&self) -> Notes {
        self.table.noted().clone()
    }

    fn explain(&self) -> Result<Vec<Step>> {
        self.steps()
    }

    fn deletes(&self) -> Result<Box<dyn scan::Scan>> {
        if self.view != View::Plan {
            return Err(Error::new(ErrorKind::Argument, "only plans have deletes"));
        }
        let options = ScanOptions { threads: self.options.threads, ..ScanOptions::default() };
        Ok(Box::new(Numbered::new(Scan::new(self.table.clone(), View::Deletes, options)?)))
    }
}

impl Distributed for Scan {
    fn manifests(&self) -> Result<Vec<PlannedManifest>> {
        if self.program.is_none() && !self.view.is_of_groups() {
            return Ok(Vec::new());
        }
        planned(&self.table, &self.plan()?.manifests)
    }

    fn task(&self, part: Part) -> Result<Box<dyn ManifestTask>> {
        Ok(Box::new(self.task_of(part)?))
    }

    fn group_task(&self) -> Result<Box<dyn GroupTask>> {
        Ok(Box::new(self.group_task_of()?))
    }

    fn beforehand(&self, what: Beforehand) -> Result<RecordBatch> {
        self.known_of(what)
    }

    fn decides_together(&self) -> bool {
        self.live().is_ok_and(|program| program.gathers())
    }

    fn exchange(&self, _equality_ids: &[i32]) -> Result<Exchanged> {
        self.files_exchange()
    }

    fn side(&self, side: i32) -> Result<Batches> {
        self.files_side(side)
    }
}

/// The manifests of a snapshot, sorted by whether they must be read.
struct Plan {
    manifests: Vec<ManifestFile>,
    pruned: Vec<ManifestFile>,
}

impl Scan {
    /// Resolves `view` of `table`: columns, filter and statistics are checked, no file is read but, for
    /// statistics, the schemas.
    ///
    /// # Errors
    /// `UnknownColumn`, `Predicate`; `Argument` for statistics of a view that has none.
    pub fn new(table: Table, view: View, options: ScanOptions) -> Result<Scan> {
        let table = table.noting();
        let columns = options.columns.as_deref();
        let filter = options.filter.as_deref();
        let role = match view {
            View::Entries => Some(Role::Entries),
            View::Files => Some(Role::Files),
            View::Plan => Some(Role::Plan(options.deletes)),
            _ => None,
        };
        if options.stats.is_some() && role.is_none() {
            return Err(Error::new(ErrorKind::Argument, "stats= is for the views entries, files and plan"));
        }
        if let Some(role) = role {
            let program = EntryProgram::new(role, &table, &options)?;
            let schema = Arc::clone(program.view.schema());
            return Ok(Scan { table, view, options, schema, program: Some(Arc::new(program)) });
        }
        let empty = match view {
            View::Snapshots | View::Changelogs => select(&snapshots(&[])?, columns, filter)?,
            View::Refs => select(&refs(&[])?, columns, filter)?,
            View::Schemas => select(&schemas(&[])?, columns, filter)?,
            View::Partitions | View::Buckets => {
                bound(filter, table.schema())?;
                select(&grouped(view, &Groups::default(), table.schema())?, columns, None)?
            }
            View::Health => {
                bound(filter, table.schema())?;
                RecordBatch::new_empty(health::schema(columns)?)
            }
            View::Deletes | View::Indexes => {
                bound(filter, table.schema())?;
                if view == View::Deletes {
                    let deletes = DeletesView::new(table.location(), table.schema(), columns)?;
                    RecordBatch::new_empty(Arc::clone(deletes.schema()))
                } else {
                    select(&indexes(&IndexFiles::none(), table.schema())?, columns, None)?
                }
            }
            _ => {
                let list = RecordBatch::new_empty(record_schema(&LIST.iter().collect::<Vec<_>>()));
                keep(filter, table.schema(), &list)?;
                select(&table.manifests_view(&list, &[])?, columns, None)?
            }
        };
        Ok(Scan { table, view, options, schema: empty.schema(), program: None })
    }

    /// What the scan makes of entries.
    pub fn role(&self) -> Role {
        if self.view == View::Files { Role::Files } else { Role::Entries }
    }

    /// How entries become live files.
    fn live(&self) -> Result<Arc<EntryProgram>> {
        if self.view.is_of_groups() {
            let columns = Some(GROUP_INPUT.map(str::to_owned).to_vec());
            let options = ScanOptions { columns, ..self.options.clone() };
            return EntryProgram::new(Role::Live, &self.table, &options).map(Arc::new);
        }
        let program = self.program.as_ref().filter(|program| program.role.is_live()).cloned();
        program.ok_or_else(|| Error::new(ErrorKind::Argument, "this view is not made of live files"))
    }

    /// All rows.
    fn rows(&self) -> Result<Batches> {
        Ok(match &self.program {
            Some(_) if self.view == View::Plan => {
                let counts = Rule::new(self.table.schema()).reads_files_whole();
                row_limited(&self.options, &self.schema, counts, |options| self.planned(options))?
            }
            None if self.view == View::Deletes => delete_rows(&self.table, &self.options)?,
            None => once(self.whole()?),
            Some(program) => {
                let (program, table) = (Arc::clone(program), self.table.clone());
                let (manifests, threads) = (self.plan()?.manifests, threads(self.options.threads));
                file_rows(program, &table, manifests, threads)
            }
        })
    }

    fn plan(&self) -> Result<Plan> {
        let filter = self.options.filter.as_deref();
        let read = (self.view == View::Plan).then(|| BatchRead::new(self.table.schema()));
        Plan::of(&self.table, filter, read)
    }

    /// The rows of a plan; the index manifest is read before the first manifest.
    fn planned(&self, options: &ScanOptions) -> Result<Batches> {
        let deletes = options.deletes;
        let program = EntryProgram::new(Role::Plan(deletes), &self.table, options)?;
        let attach = || Attach::new(deletes, &planned_vectors(&self.table)?);
        let attach = program.shows_deletes().then(attach);
        let program = program.attaching(attach.transpose()?.map(Arc::new));
        let (manifests, threads) = (self.plan()?.manifests, threads(options.threads));
        Ok(file_rows(Arc::new(program), &self.table, manifests, threads))
    }

    /// A view that is not made of entries.
    fn whole(&self) -> Result<RecordBatch> {
        let (columns, filter) = (self.options.columns.as_deref(), self.options.filter.as_deref());
        match self.view {
            View::Snapshots => select(&self.table.snapshots_view()?, columns, filter),
            View::Refs => select(&self.table.refs_view()?, columns, filter),
            View::Changelogs => select(&self.table.changelogs_view()?, columns, filter),
            View::Schemas => select(&self.table.schemas_view()?, columns, filter),
            View::Partitions | View::Buckets | View::Health => self.groups(),
            View::Indexes => {
                let pruner = bound(filter, self.table.schema())?;
                let files = IndexFiles::read(&self.table, pruner.as_ref().map(EntryPruner::partitions))?;
                select(&indexes(&files, self.table.schema())?, columns, None)
            }
            _ => {
                let (list, rows) = self.table.manifest_list()?;
                let kept = keep(filter, self.table.schema(), &list)?;
                let rows: Vec<_> =
                    rows.into_iter().zip(&kept).filter(|(_, kept)| **kept).map(|(row, _)| row).collect();
                let list = filter_record_batch(&list, &BooleanArray::from(kept))?;
                select(&self.table.manifests_view(&list, &rows)?, columns, None)
            }
        }
    }
}

impl Plan {
    fn new(table: &Table, filter: Option<&str>) -> Result<Plan> {
        Plan::of(table, filter, None)
    }

    /// The plan of a filter, and for a batch read of what that passes over.
    fn of(table: &Table, filter: Option<&str>, read: Option<BatchRead>) -> Result<Plan> {
        let (list, _) = table.manifest_list()?;
        let kept = keep(filter, table.schema(), &list)?;
        let read = read.map_or_else(|| Ok(vec![true; kept.len()]), |read| read.may_read(&list))?;
        let mut kept = kept.into_iter().zip(read).map(|(kept, read)| kept && read);
        let mut pruned = manifest_files(&list)?;
        let manifests = pruned.extract_if(.., |_| kept.next().unwrap_or(true)).collect();
        Ok(Plan { manifests, pruned })
    }
}

/// The live files of a table, or every entry for [`Role::Changes`], under their own names as `options`
/// filter them and give them statistics. Reads the manifest lists.
pub(super) fn own_rows(
    role: Role,
    table: &Table,
    columns: &[&str],
    options: &ScanOptions,
) -> Result<Batches> {
    let columns = columns.iter().map(|name| (*name).to_owned()).collect();
    let options = ScanOptions { columns: Some(columns), ..options.clone() };
    let program = EntryProgram::new(role, table, &options)?;
    let Plan { manifests, .. } = Plan::new(table, options.filter.as_deref())?;
    Ok(file_rows(Arc::new(program), table, manifests, threads(options.threads)))
}

/// The buckets of a table as the engine's own tables sum them up: additions less deletions, the time of
/// whichever file is the newest, deleted or not. Groups without a file are among them.
pub(super) fn read_changes(table: &Table, threads: usize) -> Result<Groups> {
    let columns: Vec<&str> = GROUP_INPUT.into_iter().chain([KIND]).collect();
    let options = ScanOptions { threads, ..ScanOptions::default() };
    Groups::read(own_rows(Role::Changes, table, &columns, &options)?)
}

/// Manifests as engines read them.
fn planned<'m>(
    table: &Table,
    manifests: impl IntoIterator<Item = &'m ManifestFile>,
) -> Result<Vec<PlannedManifest>> {
    let planned = |manifest: &ManifestFile| {
        let path = table.storage().place(&table.manifest_path(&manifest.file_name))?;
        let (size, added, deleted) = (manifest.file_size, manifest.added, manifest.deleted);
        Ok(PlannedManifest { path, size, added, deleted, divisible: true })
    };
    manifests.into_iter().map(planned).collect()
}

fn keep(filter: Option<&str>, schema: &TableSchema, list: &RecordBatch) -> Result<Vec<bool>> {
    match bound(filter, schema)? {
        Some(pruner) => pruner.partitions().may_match(list),
        None => Ok(vec![true; list.num_rows()]),
    }
}

/// A filter on partitions and buckets; what it asks of other columns is checked and left open.
fn bound(filter: Option<&str>, schema: &TableSchema) -> Result<Option<EntryPruner>> {
    filter.map(|text| EntryPruner::new(text, schema, &BTreeMap::new())).transpose()
}
