//! Rows of entries under the names of their columns, for further use in the library.

use std::sync::Arc;

use super::program::EntryProgram;
use crate::error::Result;
use crate::iceberg::manifest_list::ManifestFile;
use crate::iceberg::metrics::MetricsView;
use crate::iceberg::table::{Table, TableTypes};
use crate::iceberg::view::{EntryView, Role};
use crate::scan::{Batches, EntrySource, ManifestStream};

/// The named columns of the entries of `manifests`; `metrics` adds a column of metrics.
pub(in crate::iceberg) fn rows_of(
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
pub(super) fn own_view(
    role: Role,
    types: &TableTypes,
    columns: &[&str],
    metrics: Option<(&'static str, MetricsView)>,
) -> Result<EntryView> {
    let columns: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
    EntryView::of_role(role, &types.partition, Some(&columns), metrics)
}

pub(super) fn entries_of(
    table: &Table,
    program: EntryProgram,
    manifests: Vec<ManifestFile>,
    threads: usize,
) -> Batches {
    let source = EntrySource::new(Arc::new(program), table.clone());
    Box::new(ManifestStream::new(source, manifests, threads))
}
