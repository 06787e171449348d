//! A view of a table before its rows are read.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::plan::Plan;
use super::planned;
use super::program::{EntryProgram, program};
use crate::error::{Error, ErrorKind, Result};
use crate::health;
use crate::iceberg::groups::Groups;
use crate::iceberg::table::Table;
use crate::iceberg::view::{Role, buckets, partitions, refs, schemas, snapshots};
use crate::notes::Notes;
use crate::scan::ScanOptions;
use crate::view::{GroupBy, View, select};

/// A view of a table, resolved: its schema is known, and none of its rows are read.
pub struct Scan {
    pub(super) table: Table,
    pub(super) view: View,
    pub(super) options: ScanOptions,
    pub(super) schema: SchemaRef,
    /// How entries are decoded to rows, for views that are made from entries.
    pub(super) program: Option<Arc<EntryProgram>>,
    pub(super) notes: Notes,
}

impl Scan {
    /// Resolves `view` of `table`: columns, filter and statistics are checked.
    ///
    /// # Errors
    /// `UnknownColumn`; `UnknownView` for a view that Iceberg tables do not have; `FilterColumn`, `Predicate`;
    /// `Argument` for statistics of a view that has none.
    pub fn new(table: Table, view: View, options: ScanOptions) -> Result<Scan> {
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
        let schema = match &view {
            View::Plan => planned::schema(&table, &options)?,
            view => empty(&table, view, &options)?.schema(),
        };
        Ok(Scan { table, view, options, schema, program: None, notes: Notes::default() })
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
