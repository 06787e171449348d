//! Scanning a view: which manifests must be read, and their rows as a stream.

mod deletes;
mod format;
mod gather;
mod history;
mod jobs;
mod marks;
mod plan;
mod planned;
mod program;
mod rebuilt;
mod repairs;
mod rows;
mod stages;
mod vectors;
mod verify;

use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;

use deletes::delete_rows;
pub(super) use deletes::{know_vectors, vector_counts};
use gather::file_rows;
pub(crate) use jobs::SentSchemas;
use plan::{Plan, bound, keep};
use planned::{Attach, planned_vectors};
use program::EntryProgram;
pub(super) use rebuilt::RebuiltLists;
pub(super) use repairs::gone_snapshots;
pub(super) use rows::{own_rows, read_changes};
pub(super) use stages::BLOCKS;
pub(super) use verify::wrong_hints;

use super::fields::LIST;
use super::index_files::IndexFiles;
use super::manifest_list::ManifestFile;
use super::partition::PartitionType;
use super::prune::{BatchRead, EntryPruner, Rule};
use super::table::Table;
use super::view::{Role, deletes_view, indexes, refs, schemas, snapshots};
use crate::distributed::{Bounds, JobPlan};
use crate::error::{Error, Result};
use crate::record::record_schema;
use crate::scan::{
    Amount, Batches, EntryJob, Format, Funnel, ScanOptions, ViewScan, once, row_limited, threads,
};
use crate::view::{View, select};

type Scan = ViewScan<Table>;

/// The columns of a view that is not made of entries one by one; checks columns and filters. Reads no file.
fn schema_of(table: &Table, view: &View, options: &ScanOptions) -> Result<SchemaRef> {
    let (columns, filter) = (options.columns.as_deref(), options.filter.as_deref());
    let table_filter = options.table_filter.as_deref();
    let none = match view {
        View::Snapshots | View::Changelogs => select(&snapshots(&[])?, columns, filter)?,
        View::Refs => select(&refs(&[])?, columns, filter)?,
        View::Schemas => select(&schemas(&[])?, columns, filter)?,
        View::Deletes => {
            table.check_filter(table_filter)?;
            let deletes = deletes_view(table.location(), table.schema(), columns, table.noted())?;
            return Ok(Arc::clone(deletes.schema()));
        }
        View::Indexes => {
            table.check_filter(table_filter)?;
            let partition = PartitionType::new(table.schema());
            select(&indexes(&IndexFiles::none(), table.schema(), &partition)?, columns, None)?
        }
        _ => {
            let list = RecordBatch::new_empty(record_schema(&LIST.iter().collect::<Vec<_>>()));
            keep(table_filter, table.schema(), &list)?;
            select(&table.manifests_view(&list, &[])?, columns, None)?
        }
    };
    Ok(none.schema())
}

/// The manifests that a view reads.
fn plan_of(scan: &Scan) -> Result<Plan> {
    let read = (matches!(scan.view, View::Plan)).then(|| BatchRead::new(scan.table.schema()));
    Plan::of(&scan.table, scan.options.table_filter.as_deref(), read)
}

/// All rows of a view.
fn rows(scan: &Scan) -> Result<Batches> {
    let ViewScan { table, view, options, schema, program } = scan;
    let (columns, filter) = (options.columns.as_deref(), options.filter.as_deref());
    let table_filter = options.table_filter.as_deref();
    let rows = match view {
        View::Plan => {
            let counts = Rule::new(table.schema()).reads_files_whole();
            return row_limited(options, schema, counts, |options| planned(scan, options));
        }
        View::Deletes => return delete_rows(table, options),
        View::Snapshots => select(&table.snapshots_view()?, columns, filter)?,
        View::Refs => select(&table.refs_view()?, columns, filter)?,
        View::Changelogs => select(&table.changelogs_view()?, columns, filter)?,
        View::Schemas => select(&table.schemas_view()?, columns, filter)?,
        View::Indexes => {
            let pruner = bound(table_filter, table.schema())?;
            let files = IndexFiles::read(table, pruner.as_ref().map(EntryPruner::partitions))?;
            select(&indexes(&files, table.schema(), &table.partition_type())?, columns, None)?
        }
        _ => match program {
            Some(program) => {
                let manifests = plan_of(scan)?.manifests;
                return Ok(file_rows(Arc::clone(program), table, manifests, threads(options.threads)));
            }
            None => {
                let (list, rows) = table.manifest_list()?;
                let kept = keep(table_filter, table.schema(), &list)?;
                let rows: Vec<_> =
                    rows.into_iter().zip(&kept).filter(|(_, kept)| **kept).map(|(row, _)| row).collect();
                let list = filter_record_batch(&list, &BooleanArray::from(kept))?;
                select(&table.manifests_view(&list, &rows)?, columns, None)?
            }
        },
    };
    Ok(once(rows))
}

/// The rows of a plan; the index manifest is read before the first manifest.
fn planned(scan: &Scan, options: &ScanOptions) -> Result<Batches> {
    let (table, deletes) = (&scan.table, options.deletes);
    let program = EntryProgram::new(Role::Plan(deletes), table, options)?;
    let placed = |error: Error| match IndexFiles::manifest_of(table) {
        Some(path) => error.in_file(&path),
        None => error,
    };
    let attach = || planned_vectors(table).and_then(|vectors| Attach::new(deletes, &vectors));
    let attach = program.shows_deletes().then(|| attach().map_err(placed));
    let program = program.attaching(attach.transpose()?.map(Arc::new));
    Ok(file_rows(Arc::new(program), table, plan_of(scan)?.manifests, threads(options.threads)))
}

fn job(scan: &Scan, bounds: &Bounds) -> Result<Option<JobPlan>> {
    let Some(program) = &scan.program else { return Ok(None) };
    let Plan { manifests, .. } = plan_of(scan)?;
    match program.role.is_live() {
        true => {
            let files = jobs::live_files(&scan.table, program, manifests, &scan.options, bounds)?;
            Ok(files.map(|(files, manifests, known)| JobPlan {
                known,
                ..JobPlan::new(EntryJob::<Table>::Own(files), manifests, bounds)
            }))
        }
        false => scan.rows_job(program.role, manifests, bounds),
    }
}

/// The entries of a role, of which `funnel` counts what each step keeps.
fn counting(scan: &Scan, role: Role, funnel: &Funnel) -> Result<Batches> {
    let columns = Some(vec!["bucket".to_owned()]);
    let options = ScanOptions { columns, stats: None, limit: None, ..scan.options.clone() };
    let Plan { manifests, pruned } = plan_of(scan)?;
    funnel.pass(&stages::MANIFESTS, || {
        let amount = |manifest: &ManifestFile| Amount { count: 1, rows: 0, bytes: manifest.file_size };
        let kept: Amount = manifests.iter().map(amount).sum();
        [kept + pruned.iter().map(amount).sum(), kept]
    });
    let program = EntryProgram::new(role, &scan.table, &options)?.counting(funnel.clone())?;
    Ok(file_rows(Arc::new(program), &scan.table, manifests, threads(options.threads)))
}
