//! Scanning a view: which manifests must be read, and their rows as a stream.

mod deletes;
mod explain;
mod format;
mod gather;
mod grouping;
mod history;
mod jobs;
mod plan;
mod planned;
mod program;
mod rows;
mod stages;
mod vectors;
mod verify;

use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;

use deletes::delete_rows;
use gather::file_rows;
pub(crate) use jobs::PaimonJob;
use plan::{Plan, bound, keep};
use planned::{Attach, planned_vectors};
use program::EntryProgram;
pub(super) use rows::{own_rows, read_changes};

use super::fields::LIST;
use super::groups::{GROUP_INPUT, Groups};
use super::index_files::IndexFiles;
use super::partition::PartitionType;
use super::prune::{BatchRead, EntryPruner, Rule};
use super::table::Table;
use super::view::{DeletesView, Role, buckets, indexes, partitions, refs, schemas, snapshots, totals};
use crate::distributed::{Bounds, Distributed, Planned};
use crate::error::{Error, ErrorKind, Result};
use crate::health::{self, HealthTask};
use crate::notes::Notes;
use crate::record::record_schema;
use crate::scan::{
    self, Batches, EntryJob, Format, Numbered, RowsJob, ScanOptions, Step, limited, once, row_limited,
    threads,
};
use crate::view::{GroupBy, View, select};

/// One view of a table, resolved: its schema is known, none of its rows is read.
pub(in crate::paimon) struct Scan {
    table: Table,
    view: View,
    options: ScanOptions,
    schema: SchemaRef,
    /// How entries become rows, for the views that are made of them.
    program: Option<Arc<EntryProgram>>,
}

impl Scan {
    /// Resolves `view` of `table` and checks columns, filter and statistics. Reads no file except, for
    /// statistics, the schemas.
    ///
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`; `Argument` for statistics of a view that has none.
    pub(in crate::paimon) fn new(table: Table, view: View, options: ScanOptions) -> Result<Scan> {
        let table = table.noting();
        let columns = options.columns.as_deref();
        let (table_filter, filter) = (options.table_filter.as_deref(), options.filter.as_deref());
        let role = match &view {
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
        let empty = match &view {
            View::Snapshots | View::Changelogs => select(&snapshots(&[])?, columns, filter)?,
            View::Refs => select(&refs(&[])?, columns, filter)?,
            View::Schemas => select(&schemas(&[])?, columns, filter)?,
            View::Partitions | View::Buckets => {
                bound(table_filter, table.schema())?;
                let partition = PartitionType::new(table.schema());
                let by = view.group_by().unwrap_or(GroupBy::Partition);
                select(&grouped(by, &Groups::default(), &partition, None)?, columns, None)?
            }
            View::Health => {
                bound(table_filter, table.schema())?;
                RecordBatch::new_empty(health::schema(columns)?)
            }
            View::Deletes | View::Indexes => {
                bound(table_filter, table.schema())?;
                if matches!(view, View::Deletes) {
                    let deletes = DeletesView::new(table.location(), table.schema(), columns)?;
                    RecordBatch::new_empty(Arc::clone(deletes.schema()))
                } else {
                    let partition = PartitionType::new(table.schema());
                    select(&indexes(&IndexFiles::none(), table.schema(), &partition)?, columns, None)?
                }
            }
            _ => {
                let list = RecordBatch::new_empty(record_schema(&LIST.iter().collect::<Vec<_>>()));
                keep(table_filter, table.schema(), &list)?;
                select(&table.manifests_view(&list, &[])?, columns, None)?
            }
        };
        Ok(Scan { table, view, options, schema: empty.schema(), program: None })
    }

    /// How entries become live files.
    fn live(&self) -> Result<Arc<EntryProgram>> {
        if self.view.group_by().is_some() {
            let columns = Some(GROUP_INPUT.map(str::to_owned).to_vec());
            let options = ScanOptions { columns, ..self.options.clone() };
            return EntryProgram::new(Role::Live, &self.table, &options).map(Arc::new);
        }
        let program = self.program.as_ref().filter(|program| program.role.is_live()).cloned();
        program.ok_or_else(|| Error::new(ErrorKind::Argument, "this view is not made of live files"))
    }

    fn plan(&self) -> Result<Plan> {
        let filter = self.options.table_filter.as_deref();
        let read = (matches!(self.view, View::Plan)).then(|| BatchRead::new(self.table.schema()));
        Plan::of(&self.table, filter, read)
    }
}

/// A view of groups.
pub(super) fn grouped(
    by: GroupBy,
    groups: &Groups,
    partition: &PartitionType,
    health: Option<&HealthTask>,
) -> Result<RecordBatch> {
    match by {
        GroupBy::Bucket => buckets(groups, partition),
        GroupBy::Table => totals(groups, health.map(HealthTask::bounds), partition)?.to_batch(),
        GroupBy::Partition => partitions(groups, partition),
    }
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
}

impl Distributed for Scan {
    fn deletes(&self) -> Result<Box<dyn Distributed>> {
        if !matches!(self.view, View::Plan) {
            return Err(Error::new(ErrorKind::Argument, "only plans have deletes"));
        }
        let options = ScanOptions { threads: self.options.threads, ..ScanOptions::default() };
        Ok(Box::new(Numbered::new(Scan::new(self.table.clone(), View::Deletes, options)?)))
    }

    fn job(&self, bounds: &Bounds) -> Result<Option<Planned>> {
        if let Some(by) = self.view.group_by() {
            return self.groups_job(by, bounds);
        }
        let Some(program) = &self.program else { return Ok(None) };
        if program.role.is_live() {
            return self.files_job(bounds);
        }
        let manifests = self.plan()?.manifests;
        let inputs = scan::planned(&self.table, &manifests)?;
        let job = RowsJob::new(program.role, &self.table, &self.options, manifests)?;
        Ok(bounds.unless_small(Planned::new(EntryJob::Rows(job), inputs, bounds)))
    }

    fn is_light(&self) -> bool {
        true
    }
}

impl Scan {
    /// All rows.
    fn rows(&self) -> Result<Batches> {
        Ok(match &self.program {
            Some(_) if matches!(self.view, View::Plan) => {
                let counts = Rule::new(self.table.schema()).reads_files_whole();
                row_limited(&self.options, &self.schema, counts, |options| self.planned(options))?
            }
            None if matches!(self.view, View::Deletes) => delete_rows(&self.table, &self.options)?,
            None => once(self.whole()?),
            Some(program) => {
                let (program, table) = (Arc::clone(program), self.table.clone());
                let (manifests, threads) = (self.plan()?.manifests, threads(self.options.threads));
                file_rows(program, &table, manifests, threads)
            }
        })
    }

    /// The rows of a plan; the index manifest is read before the first manifest.
    fn planned(&self, options: &ScanOptions) -> Result<Batches> {
        let deletes = options.deletes;
        let program = EntryProgram::new(Role::Plan(deletes), &self.table, options)?;
        let placed = |error: Error| match IndexFiles::manifest_of(&self.table) {
            Some(path) => error.in_file(&path),
            None => error,
        };
        let vectors = || planned_vectors(&self.table);
        let attach = || vectors().and_then(|vectors| Attach::new(deletes, &vectors)).map_err(placed);
        let attach = program.shows_deletes().then(attach);
        let program = program.attaching(attach.transpose()?.map(Arc::new));
        let (manifests, threads) = (self.plan()?.manifests, threads(options.threads));
        Ok(file_rows(Arc::new(program), &self.table, manifests, threads))
    }

    /// A view that is not made of entries.
    fn whole(&self) -> Result<RecordBatch> {
        let (columns, filter) = (self.options.columns.as_deref(), self.options.filter.as_deref());
        let table_filter = self.options.table_filter.as_deref();
        if let Some(by) = self.view.group_by() {
            return self.groups(by);
        }
        match self.view {
            View::Snapshots => select(&self.table.snapshots_view()?, columns, filter),
            View::Refs => select(&self.table.refs_view()?, columns, filter),
            View::Changelogs => select(&self.table.changelogs_view()?, columns, filter),
            View::Schemas => select(&self.table.schemas_view()?, columns, filter),
            View::Indexes => {
                let pruner = bound(table_filter, self.table.schema())?;
                let files = IndexFiles::read(&self.table, pruner.as_ref().map(EntryPruner::partitions))?;
                let rows = indexes(&files, self.table.schema(), &self.table.partition_type())?;
                select(&rows, columns, None)
            }
            _ => {
                let (list, rows) = self.table.manifest_list()?;
                let kept = keep(table_filter, self.table.schema(), &list)?;
                let rows: Vec<_> =
                    rows.into_iter().zip(&kept).filter(|(_, kept)| **kept).map(|(row, _)| row).collect();
                let list = filter_record_batch(&list, &BooleanArray::from(kept))?;
                select(&self.table.manifests_view(&list, &rows)?, columns, None)
            }
        }
    }
}
