//! Scanning a view: which manifests must be read, and their rows as a stream.

mod applied;
mod deletes;
mod explain;
mod format;
mod grouping;
mod history;
mod jobs;
mod plan;
mod planned;
mod program;
mod residual;
mod rest;
mod rows;
mod vectors;
mod verify;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

pub(super) use deletes::equality_fields;
pub(crate) use grouping::read_groups;
pub(crate) use jobs::IcebergJob;
use plan::Plan;
use program::EntryProgram;
pub(super) use rows::rows_of;

use super::groups::Groups;
use super::table::Table;
use super::view::{
    DATA_FILE_COUNT, DATA_FILES, POSITIONS, Role, buckets, partitions, refs, schemas, snapshots,
};
use crate::distributed::{Bounds, Distributed, Planned};
use crate::error::{Error, ErrorKind, Result};
use crate::health;
use crate::notes::Notes;
use crate::scan::{
    self, Batches, EntryJob, EntrySource, Format, ManifestStream, Numbered, RowsJob, ScanOptions, Step,
    limited, once, planned, row_limited, threads,
};
use crate::view::{GroupBy, View, select};

/// A view of a table, resolved: its schema is known, and none of its rows are read.
pub(in crate::iceberg) struct Scan {
    table: Table,
    view: View,
    options: ScanOptions,
    schema: SchemaRef,
    /// How entries are decoded to rows, for views that are made from entries.
    program: Option<Arc<EntryProgram>>,
}

impl Scan {
    /// Resolves `view` of `table`: columns, filter and statistics are checked.
    ///
    /// # Errors
    /// `UnknownColumn`; `UnknownView` for a view that Iceberg tables do not have; `FilterColumn`, `Predicate`;
    /// `Argument` for statistics of a view that has none.
    pub(in crate::iceberg) fn new(table: Table, view: View, options: ScanOptions) -> Result<Scan> {
        let table = table.noting();
        if options.stats.is_some() && !matches!(view, View::Entries | View::Files | View::Plan) {
            return Err(Error::new(ErrorKind::Argument, "stats= is for the views entries, files and plan"));
        }
        let role = match &view {
            View::Entries => Some(Role::Entries),
            View::Files => Some(Role::Files),
            View::Deletes => Some(Role::Deletes),
            _ => None,
        };
        if let Some(role) = role {
            let program = Arc::new(table.program(role, &options)?);
            let schema = Arc::clone(program.view.schema());
            return Ok(Scan { table, view, options, schema, program: Some(program) });
        }
        let schema = match &view {
            View::Plan => planned::schema(&table, &options)?,
            view => empty(&table, view, &options)?.schema(),
        };
        Ok(Scan { table, view, options, schema, program: None })
    }
}

/// The columns of a view that is made whole, without rows; checks columns and filter.
fn empty(table: &Table, view: &View, options: &ScanOptions) -> Result<RecordBatch> {
    let (columns, filter) = (options.columns.as_deref(), options.filter.as_deref());
    let table_filter = options.table_filter.as_deref();
    match view {
        View::Snapshots => select(&snapshots(&[])?, columns, filter),
        View::Refs => select(&refs(std::iter::empty())?, columns, filter),
        View::Schemas => select(&schemas(&[], 0)?, columns, filter),
        View::Manifests => Plan::empty(table, table_filter)?.manifests_view(table, columns),
        View::Partitions | View::Buckets => {
            Plan::empty(table, table_filter)?;
            let groups = Groups::new(&table.types()?.partition, Default::default())?;
            select(&grouped(view.group_by().unwrap_or(GroupBy::Partition), &groups)?, columns, None)
        }
        View::Health => {
            Plan::empty(table, table_filter)?;
            Ok(RecordBatch::new_empty(health::schema(columns)?))
        }
        View::Changelogs => Err(no_view("changelogs")),
        _ => Err(no_view("indexes")),
    }
}

#[cold]
fn no_view(name: &str) -> Error {
    Error::new(ErrorKind::UnknownView, format!("Iceberg tables have no view {name:?}")).in_field(name)
}

pub(super) fn grouped(by: GroupBy, groups: &Groups) -> Result<RecordBatch> {
    if by == GroupBy::Bucket { buckets(groups) } else { partitions(groups) }
}

impl Scan {
    /// A view that is not made from entries one by one.
    fn whole(&self) -> Result<RecordBatch> {
        let (columns, filter) = (self.options.columns.as_deref(), self.options.filter.as_deref());
        if let Some(by) = self.view.group_by() {
            return self.groups(by);
        }
        match self.view {
            View::Refs => select(&self.table.refs_view()?, columns, filter),
            View::Schemas => select(&self.table.schemas_view()?, columns, filter),
            _ => Plan::new(&self.table, self.options.table_filter.as_deref())?
                .manifests_view(&self.table, columns),
        }
    }
}

impl Scan {
    /// All rows.
    fn rows(&self) -> Result<Batches> {
        Ok(match &self.program {
            None if matches!(self.view, View::Snapshots) => {
                let options = self.options.clone();
                let select = move |rows: RecordBatch| {
                    select(&rows, options.columns.as_deref(), options.filter.as_deref())
                };
                Box::new(self.table.snapshots_view()?.into_iter().map(select))
            }
            None if matches!(self.view, View::Plan) => {
                row_limited(&self.options, &self.schema, true, |options| {
                    planned::stream(&self.table, options)
                })?
            }
            None => once(self.whole()?),
            Some(program) if program.view.has(DATA_FILES) || program.view.has(DATA_FILE_COUNT) => {
                applied::stream(&self.table, program, &self.options)?
            }
            Some(program) => {
                let plan = Plan::new(&self.table, self.options.table_filter.as_deref())?;
                let source = EntrySource::new(Arc::clone(program), self.table.clone());
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
        let options = ScanOptions {
            threads: self.options.threads,
            table_filter: self.options.table_filter.clone(),
            ..ScanOptions::default()
        };
        Ok(Box::new(Numbered::new(Scan::new(self.table.clone(), View::Deletes, options)?)))
    }

    fn scan_tasks(&self) -> Result<serde_json::Value> {
        self.answer()
    }

    fn job(&self, bounds: &Bounds) -> Result<Option<Planned>> {
        if let Some(by) = self.view.group_by() {
            return self.groups_job(by, bounds);
        }
        if matches!(self.view, View::Plan) {
            return self.plan_job(bounds);
        }
        // Positions and data files of deletes are in other files than their manifests.
        let needs_files = |program: &&Arc<EntryProgram>| {
            [POSITIONS, DATA_FILES, DATA_FILE_COUNT].iter().any(|name| program.view.has(name))
        };
        let Some(program) = self.program.as_ref().filter(|program| !needs_files(program)) else {
            return Ok(None);
        };
        let manifests = Plan::new(&self.table, self.options.table_filter.as_deref())?.of_role(program.role);
        let inputs = planned(&self.table, &manifests)?;
        let job = RowsJob::new(program.role, &self.table, &self.options, manifests)?;
        Ok(bounds.unless_small(Planned::new(EntryJob::Rows(job), inputs, bounds)))
    }

    fn is_light(&self) -> bool {
        true
    }
}
