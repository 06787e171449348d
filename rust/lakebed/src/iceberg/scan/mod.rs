//! Scanning a view: which manifests must be read, and their rows as a stream.

mod appends;
mod applied;
mod deletes;
mod diff;
mod exchange;
mod explain;
mod grouping;
mod plan;
mod planned;
mod program;
mod residual;
mod task;
mod vectors;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

pub(crate) use appends::Appended;
pub(crate) use diff::diff;
use exchange::{DiffExchange, PlanExchange};
use grouping::IcebergGroupTask;
pub(crate) use grouping::read_groups;
use plan::{EntrySource, Plan};
use program::EntryProgram;
use task::IcebergTask;
use vectors::VectorReader;

use super::groups::Groups;
use super::manifest_list::ManifestFile;
use super::metrics::MetricsView;
use super::table::{Table, TableTypes};
use super::view::{
    DATA_FILE_COUNT, DATA_FILES, EntryView, Role, buckets, partitions, refs, schemas, snapshots,
};
use crate::distributed::{
    Distributed, Exchanged, GroupTask, ManifestTask, Part, PlannedManifest, Works, row,
};
use crate::error::{Error, ErrorKind, Result};
use crate::health;
use crate::notes::Notes;
use crate::scan::{
    self, Batches, ManifestStream, Numbered, ScanOptions, Step, limited, once, row_limited, threads,
};
use crate::view::{View, select};

/// The work of the scans that engines spread.
pub(crate) const WORKS: Works = Works {
    tasks: &[row!(IcebergTask)],
    groups: &[row!(IcebergGroupTask)],
    exchanges: &[row!(PlanExchange), row!(DiffExchange)],
};

/// One view of a table, resolved: its schema is known, nothing of its rows is read.
pub struct Scan {
    table: Table,
    view: View,
    options: ScanOptions,
    schema: SchemaRef,
    /// How entries become rows, for the views that are made of them.
    program: Option<Arc<EntryProgram>>,
    notes: Notes,
}

impl Scan {
    /// Resolves `view` of `table`: columns, filter and statistics are checked.
    ///
    /// # Errors
    /// `UnknownColumn`, also for a view that Iceberg tables do not have; `Predicate`; `Argument` for
    /// statistics of a view that has none.
    pub fn new(table: Table, view: View, options: ScanOptions) -> Result<Scan> {
        if options.stats.is_some() && !matches!(view, View::Entries | View::Files | View::Plan) {
            return Err(Error::new(ErrorKind::Argument, "stats= is for the views entries, files and plan"));
        }
        let role = match view {
            View::Entries => Some(Role::Entries),
            View::Files => Some(Role::Files),
            View::Deletes => Some(Role::Deletes),
            _ => None,
        };
        if let Some(role) = role {
            let program = Arc::new(program(role, &table, &options)?);
            let schema = Arc::clone(program.view.schema());
            return Ok(Scan {
                table,
                view,
                options,
                schema,
                program: Some(program),
                notes: Notes::default(),
            });
        }
        let schema = match view {
            View::Plan => planned::schema(&table, &options)?,
            _ => empty(&table, view, &options)?.schema(),
        };
        Ok(Scan { table, view, options, schema, program: None, notes: Notes::default() })
    }

    /// A view that is not made of entries one by one.
    fn whole(&self) -> Result<RecordBatch> {
        let (columns, filter) = (self.options.columns.as_deref(), self.options.filter.as_deref());
        match self.view {
            View::Refs => select(&self.table.refs_view()?, columns, filter),
            View::Schemas => select(&self.table.schemas_view()?, columns, filter),
            View::Manifests => {
                select(&Plan::new(&self.table, filter)?.manifests_view(&self.table)?, columns, None)
            }
            _ => self.groups(),
        }
    }
}

/// A view that is made whole, without rows; checks its columns and filter.
fn empty(table: &Table, view: View, options: &ScanOptions) -> Result<RecordBatch> {
    let (columns, filter) = (options.columns.as_deref(), options.filter.as_deref());
    match view {
        View::Snapshots => select(&snapshots(&[])?, columns, filter),
        View::Refs => select(&refs(std::iter::empty())?, columns, filter),
        View::Schemas => select(&schemas(&[], 0)?, columns, filter),
        View::Manifests => select(&Plan::empty(table, filter)?.manifests_view(table)?, columns, None),
        View::Partitions | View::Buckets => {
            Plan::empty(table, filter)?;
            let groups = Groups::new(&table.types()?.partition, Default::default())?;
            select(&grouped(view, &groups)?, columns, None)
        }
        View::Health => {
            Plan::empty(table, filter)?;
            Ok(RecordBatch::new_empty(health::schema(columns)?))
        }
        other => {
            let message = format!("Iceberg tables have no view {:?}", other.name());
            Err(Error::new(ErrorKind::UnknownColumn, message))
        }
    }
}

fn grouped(view: View, groups: &Groups) -> Result<RecordBatch> {
    if view == View::Buckets { buckets(groups) } else { partitions(groups) }
}

fn program(role: Role, table: &Table, options: &ScanOptions) -> Result<EntryProgram> {
    let decoding = table.decoding();
    let vectors = VectorReader {
        storage: Arc::clone(table.storage()),
        limits: decoding.limits,
        threads: threads(options.threads),
    };
    Ok(EntryProgram::new(role, table.types()?, options, decoding.clone())?.reading(vectors))
}

/// The columns of entries that are named, of `manifests`, with metrics where they are given a column.
pub(super) fn rows_of(
    table: &Table,
    role: Role,
    types: TableTypes,
    columns: &[&str],
    metrics: Option<(&'static str, MetricsView)>,
    manifests: Vec<ManifestFile>,
    threads: usize,
) -> Result<Batches> {
    let view = own_view(role, &types, columns, metrics)?;
    let program = EntryProgram::of_view(role, view, types, None, table.decoding().clone())?;
    Ok(entries_of(table, program, manifests, threads))
}

/// The columns of entries that are named, under their own names.
fn own_view(
    role: Role,
    types: &TableTypes,
    columns: &[&str],
    metrics: Option<(&'static str, MetricsView)>,
) -> Result<EntryView> {
    let columns: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
    EntryView::new(role, &types.partition, Some(&columns), metrics)
}

fn entries_of(table: &Table, program: EntryProgram, manifests: Vec<ManifestFile>, threads: usize) -> Batches {
    let source = EntrySource::new(Arc::new(program), table.clone(), Notes::default());
    Box::new(ManifestStream::new(source, manifests, threads))
}

impl Scan {
    /// All rows.
    fn rows(&self) -> Result<Batches> {
        Ok(match &self.program {
            None if self.view == View::Snapshots => {
                let options = self.options.clone();
                let select = move |rows: RecordBatch| {
                    select(&rows, options.columns.as_deref(), options.filter.as_deref())
                };
                Box::new(self.table.snapshots_view()?.into_iter().map(select))
            }
            None if self.view == View::Plan => row_limited(&self.options, &self.schema, true, |options| {
                planned::stream(&self.table, options, self.notes.clone())
            })?,
            None => once(self.whole()?),
            Some(program) if program.view.has(DATA_FILES) || program.view.has(DATA_FILE_COUNT) => {
                applied::stream(&self.table, program, &self.options, self.notes.clone())?
            }
            Some(program) => {
                let plan = Plan::new(&self.table, self.options.filter.as_deref())?;
                let source = EntrySource::new(Arc::clone(program), self.table.clone(), self.notes.clone());
                // Threads that read vectors go through the manifests one by one.
                let threads = if program.view.needs_positions() { 1 } else { threads(self.options.threads) };
                Box::new(ManifestStream::new(source, plan.of_role(program.role), threads))
            }
        })
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
        self.notes.clone()
    }

    fn explain(&self) -> Result<Vec<Step>> {
        self.steps()
    }

    fn deletes(&self) -> Result<Box<dyn scan::Scan>> {
        if self.view != View::Plan {
            return Err(Error::new(ErrorKind::Argument, "only plans have deletes"));
        }
        let options = ScanOptions {
            threads: self.options.threads,
            filter: self.options.filter.clone(),
            ..ScanOptions::default()
        };
        Ok(Box::new(Numbered::new(Scan::new(self.table.clone(), View::Deletes, options)?)))
    }
}

impl Distributed for Scan {
    fn manifests(&self) -> Result<Vec<PlannedManifest>> {
        let role = match &self.program {
            Some(program) => program.role,
            None if self.view.is_of_groups() => Role::Live,
            None => return Ok(Vec::new()),
        };
        let manifests = Plan::new(&self.table, self.options.filter.as_deref())?.of_role(role);
        plan::planned(&manifests, self.table.storage().as_ref())
    }

    fn task(&self, part: Part) -> Result<Box<dyn ManifestTask>> {
        Ok(Box::new(self.task_of(part)?))
    }

    fn exchange(&self, equality_ids: &[i32]) -> Result<Exchanged> {
        match self.view {
            View::Plan => self.plan_exchange(equality_ids),
            _ => Err(Error::new(ErrorKind::Argument, "only plans bring manifests together")),
        }
    }

    fn side(&self, side: i32) -> Result<Batches> {
        match self.view {
            View::Plan => self.plan_side(side),
            _ => Err(Error::new(ErrorKind::Argument, "only plans have sides")),
        }
    }

    fn group_task(&self) -> Result<Box<dyn GroupTask>> {
        Ok(Box::new(self.group_task_of()?))
    }
}
