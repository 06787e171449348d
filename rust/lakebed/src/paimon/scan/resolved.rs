//! One view of a table, before anything of its rows is read.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::plan::{Plan, bound, keep};
use super::program::EntryProgram;
use crate::error::{Error, ErrorKind, Result};
use crate::health::{self, HealthTask};
use crate::paimon::fields::LIST;
use crate::paimon::groups::{GROUP_INPUT, Groups};
use crate::paimon::index_files::IndexFiles;
use crate::paimon::partition::PartitionType;
use crate::paimon::prune::BatchRead;
use crate::paimon::table::Table;
use crate::paimon::view::{
    DeletesView, Role, buckets, indexes, partitions, refs, schemas, snapshots, totals,
};
use crate::record::record_schema;
use crate::scan::ScanOptions;
use crate::view::{GroupBy, View, select};

/// One view of a table, resolved: its schema is known, none of its rows is read.
pub struct Scan {
    pub(super) table: Table,
    pub(super) view: View,
    pub(super) options: ScanOptions,
    pub(super) schema: SchemaRef,
    /// How entries become rows, for the views that are made of them.
    pub(super) program: Option<Arc<EntryProgram>>,
}

impl Scan {
    /// Resolves `view` of `table` and checks columns, filter and statistics. Reads no file except, for
    /// statistics, the schemas.
    ///
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`; `Argument` for statistics of a view that has none.
    pub fn new(table: Table, view: View, options: ScanOptions) -> Result<Scan> {
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
    pub(super) fn live(&self) -> Result<Arc<EntryProgram>> {
        if self.view.group_by().is_some() {
            let columns = Some(GROUP_INPUT.map(str::to_owned).to_vec());
            let options = ScanOptions { columns, ..self.options.clone() };
            return EntryProgram::new(Role::Live, &self.table, &options).map(Arc::new);
        }
        let program = self.program.as_ref().filter(|program| program.role.is_live()).cloned();
        program.ok_or_else(|| Error::new(ErrorKind::Argument, "this view is not made of live files"))
    }

    pub(super) fn plan(&self) -> Result<Plan> {
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
