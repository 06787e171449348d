//! Scanning a view: which manifests must be read, and their rows as a stream.

mod applied;
mod deletes;
mod format;
mod history;
mod jobs;
mod marks;
mod misplaced;
mod plan;
mod planned;
mod program;
mod rebuilt;
mod repairs;
mod residual;
mod rest;
mod rows;
mod tasks;
mod vectors;
mod verify;

use std::sync::Arc;

use arrow_schema::SchemaRef;

pub(super) use deletes::equality_fields;
pub(super) use plan::Plan;
use program::EntryProgram;
pub(super) use rebuilt::RebuiltList;
pub(super) use rows::rows_of;
pub use tasks::{ScanTasks, TasksRequest, TasksShare};

use super::table::Table;
use super::view::{DATA_FILE_COUNT, DATA_FILES, EntryView, POSITIONS, refs, schemas, snapshots};
use crate::distributed::{Bounds, JobPlan};
use crate::error::{Error, ErrorKind, Result};
use crate::scan::{
    Batches, EntrySource, Funnel, ManifestStream, ScanOptions, ViewScan, once, row_limited, selected, threads,
};
use crate::view::{View, select};

type Scan = ViewScan<Table>;

/// The columns of a view that is not made of entries one by one; checks columns and filters.
fn schema_of(table: &Table, view: &View, options: &ScanOptions) -> Result<SchemaRef> {
    let (columns, filter) = (options.columns.as_deref(), options.filter.as_deref());
    let none = match view {
        View::Plan => return planned::schema(table, options),
        View::Snapshots => select(&snapshots(&[])?, columns, filter)?,
        View::Refs => select(&refs(std::iter::empty())?, columns, filter)?,
        View::Schemas => select(&schemas(&[], 0)?, columns, filter)?,
        View::Manifests => {
            Plan::empty(table, options.table_filter.as_deref())?.manifests_view(table, columns)?
        }
        View::Changelogs => return Err(no_view("changelogs")),
        _ => return Err(no_view("indexes")),
    };
    Ok(none.schema())
}

#[cold]
fn no_view(name: &str) -> Error {
    Error::new(ErrorKind::UnknownView, format!("Iceberg tables have no view {name:?}")).in_field(name)
}

/// All rows of a view.
fn rows(scan: &Scan) -> Result<Batches> {
    let ViewScan { table, view, options, schema, program } = scan;
    let (columns, filter) = (options.columns.as_deref(), options.filter.as_deref());
    if let Some(program) = program {
        return rows_of_entries(table, program, options);
    }
    Ok(match view {
        View::Plan => row_limited(options, schema, true, |options| planned::stream(table, options))?,
        View::Snapshots => selected(table.snapshots_view()?.into_iter().map(Ok), options),
        View::Refs => once(select(&table.refs_view()?, columns, filter)?),
        View::Schemas => once(select(&table.schemas_view()?, columns, filter)?),
        _ => {
            let plan = Plan::of_list(table, table.manifest_list()?, options.table_filter.as_deref())?;
            once(plan.manifests_view(table, columns)?)
        }
    })
}

fn rows_of_entries(table: &Table, program: &Arc<EntryProgram>, options: &ScanOptions) -> Result<Batches> {
    if program.view.has(DATA_FILES) || program.view.has(DATA_FILE_COUNT) {
        return applied::stream(table, program, options);
    }
    let plan = Plan::new(table, options.table_filter.as_deref())?;
    let source = EntrySource::new(Arc::clone(program), table.clone());
    // Threads that read vectors read the manifests one by one.
    let threads = if program.view.has(POSITIONS) { 1 } else { threads(options.threads) };
    Ok(Box::new(ManifestStream::new(source, plan.of_role(program.role), threads)))
}

fn job(scan: &Scan, bounds: &Bounds) -> Result<Option<JobPlan>> {
    if matches!(scan.view, View::Plan) {
        return scan.plan_job(bounds);
    }
    // Positions and data files of deletes are in other files than their manifests.
    let needs_files = |program: &&Arc<EntryProgram>| {
        [POSITIONS, DATA_FILES, DATA_FILE_COUNT].iter().any(|name| program.view.has(name))
    };
    let Some(program) = scan.program.as_ref().filter(|program| !needs_files(program)) else {
        return Ok(None);
    };
    let manifests = Plan::new(&scan.table, scan.options.table_filter.as_deref())?.of_role(program.role);
    scan.rows_job(program.role, manifests, bounds)
}

/// The entries of a role, of which `funnel` counts what each step keeps.
fn counting(scan: &Scan, role: super::view::Role, funnel: &Funnel) -> Result<Batches> {
    let (table, filter) = (&scan.table, scan.options.table_filter.as_deref());
    let plan = Plan::new(table, filter)?;
    plan.count(role, funnel);
    let types = table.types()?;
    let view = EntryView::of_role(role, &types.partition, Some(&[]), None)?;
    let program =
        EntryProgram::counting(role, view, types, filter, table.decoding().clone(), funnel.clone())?;
    Ok(EntrySource::new(Arc::new(program), table.clone()).stream(plan.of_role(role), &scan.options))
}
