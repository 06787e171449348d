//! Rows of entries under their own names, for use within the library.

use std::sync::Arc;

use super::gather::file_rows;
use super::plan::Plan;
use super::program::EntryProgram;
use crate::error::Result;
use crate::grouping::FileGroups as _;
use crate::paimon::groups::{BucketGroups, KIND};
use crate::paimon::table::Table;
use crate::paimon::view::Role;
use crate::scan::{Batches, ScanOptions, threads};

/// The live files of a table, or every entry for [`Role::Changes`], under their own names, with the filter
/// and statistics of `options`. Reads the manifest lists.
pub(in crate::paimon) fn own_rows(
    role: Role,
    table: &Table,
    columns: &[&str],
    options: &ScanOptions,
) -> Result<Batches> {
    let columns = columns.iter().map(|name| (*name).to_owned()).collect();
    let options = ScanOptions { columns: Some(columns), ..options.clone() };
    let program = EntryProgram::new(role, table, &options)?;
    let Plan { manifests, .. } = Plan::new(table, options.table_filter.as_deref())?;
    Ok(file_rows(Arc::new(program), table, manifests, threads(options.threads)))
}

/// The buckets of a table as the engine's own tables sum them up: additions less deletions, and the newest
/// time of any file, deleted or not. Groups without a live file are included.
pub(in crate::paimon) fn read_changes(table: &Table, threads: usize) -> Result<BucketGroups> {
    let columns: Vec<&str> = BucketGroups::INPUT.iter().copied().chain([KIND]).collect();
    let options = ScanOptions { threads, ..ScanOptions::default() };
    let mut groups = BucketGroups::default();
    for entries in own_rows(Role::Changes, table, &columns, &options)? {
        groups.extend(&entries?)?;
    }
    Ok(groups)
}
