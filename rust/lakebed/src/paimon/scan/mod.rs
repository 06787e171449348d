//! Scanning a view: which manifests must be read, and their rows as a stream.

mod explain;
mod program;
mod stream;
mod task;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;

pub use explain::Step;
use program::EntryProgram;
use stream::EntryStream;
pub use stream::ScanStream;
pub use task::Task;

use super::filter::PartitionFilter;
use super::manifest_list::{ManifestFile, manifest_files};
use super::schema::TableSchema;
use super::table::Table;
use super::view::{Role, View, select};
use crate::error::{Error, ErrorKind, Result};

/// What of a view is wanted.
#[derive(Debug, Clone, Default)]
pub struct ScanOptions {
    /// Columns, in this order; `None` for all.
    pub columns: Option<Vec<String>>,
    /// A filter: on partition columns and the bucket of manifests, entries and files, on the view's own
    /// columns of snapshots and schemas.
    pub filter: Option<String>,
    /// Columns of the table whose typed statistics become the column `stats`.
    pub stats: Option<Vec<String>>,
    /// The most rows to give.
    pub limit: Option<usize>,
    /// Threads inside each call; 0 for one per processor.
    pub threads: usize,
}

/// One view of a table, resolved: its schema is known and its manifests are chosen.
pub struct Scan {
    table: Table,
    view: View,
    options: ScanOptions,
    rows: Rows,
    schema: SchemaRef,
}

enum Rows {
    /// A small view, made whole.
    Whole(RecordBatch),
    /// Entries of manifests.
    Entries { program: Arc<EntryProgram>, manifests: Vec<ManifestFile>, pruned: Vec<ManifestFile> },
}

impl Scan {
    /// Resolves `view` of `table`.
    ///
    /// Reads the manifest lists (entries, files, manifests) or the small files the view shows; no
    /// manifest is read yet.
    ///
    /// # Errors
    /// `UnknownColumn`, `Predicate`, and those of reading the lists.
    pub fn new(table: Table, view: View, options: ScanOptions) -> Result<Scan> {
        let columns = options.columns.as_deref();
        let entries = matches!(view, View::Entries | View::Files);
        if options.stats.is_some() && !entries {
            return Err(Error::new(ErrorKind::Argument, "stats= is for the views entries and files"));
        }
        let filter = options.filter.as_deref();
        let rows = match view {
            View::Snapshots => Rows::Whole(select(&table.snapshots_view()?, columns, filter)?),
            View::Schemas => Rows::Whole(select(&table.schemas_view()?, columns, filter)?),
            View::Manifests => {
                let (list, paths) = table.manifest_list()?;
                let kept = keep(options.filter.as_deref(), table.schema(), &list)?;
                let list = filter_record_batch(&list, &BooleanArray::from(kept.clone())).map_err(internal)?;
                let paths: Vec<_> =
                    paths.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(row, _)| row).collect();
                Rows::Whole(select(&table.manifests_view(&list, &paths)?, columns, None)?)
            }
            View::Entries | View::Files => {
                let role = if view == View::Files { Role::Files } else { Role::Entries };
                let schemas = if options.stats.is_some() { table.schemas()? } else { BTreeMap::new() };
                let program = Arc::new(EntryProgram::new(role, &table, schemas, &options)?);
                let (list, _) = table.manifest_list()?;
                let kept = keep(options.filter.as_deref(), table.schema(), &list)?;
                let mut pruned = manifest_files(&list)?;
                let mut kept = kept.into_iter();
                let manifests = pruned.extract_if(.., |_| kept.next().unwrap_or(true)).collect();
                Rows::Entries { program, manifests, pruned }
            }
        };
        let schema = match &rows {
            Rows::Whole(batch) => batch.schema(),
            Rows::Entries { program, .. } => Arc::clone(program.view.schema()),
        };
        Ok(Scan { table, view, options, rows, schema })
    }

    /// The schema of the rows.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// What the scan makes of entries.
    pub fn role(&self) -> Role {
        if self.view == View::Files { Role::Files } else { Role::Entries }
    }

    /// The manifests to read, with their full paths; none for views that are made without them.
    pub fn manifests(&self) -> Vec<(String, ManifestFile)> {
        match &self.rows {
            Rows::Whole(_) => Vec::new(),
            Rows::Entries { manifests, .. } => {
                let path = |manifest: &ManifestFile| self.table.manifest_path(&manifest.file_name);
                manifests.iter().map(|manifest| (path(manifest), manifest.clone())).collect()
            }
        }
    }

    /// Starts reading.
    pub fn stream(&self) -> ScanStream {
        let ready: VecDeque<RecordBatch> = match &self.rows {
            Rows::Whole(batch) => VecDeque::from([batch.clone()]),
            Rows::Entries { .. } => VecDeque::new(),
        };
        let entries = match &self.rows {
            Rows::Whole(_) => None,
            Rows::Entries { program, manifests, .. } => Some(EntryStream::new(
                Arc::clone(program),
                self.table.clone(),
                manifests.clone(),
                threads(self.options.threads),
            )),
        };
        ScanStream {
            schema: Arc::clone(&self.schema),
            ready,
            entries,
            left: self.options.limit.unwrap_or(usize::MAX),
        }
    }
}

fn threads(wanted: usize) -> usize {
    match wanted {
        0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        wanted => wanted,
    }
}

fn keep(filter: Option<&str>, schema: &TableSchema, list: &RecordBatch) -> Result<Vec<bool>> {
    match filter {
        Some(text) => PartitionFilter::new(text, schema)?.may_match(list),
        None => Ok(vec![true; list.num_rows()]),
    }
}

#[cold]
fn internal(error: arrow_schema::ArrowError) -> Error {
    Error::new(ErrorKind::Argument, error.to_string())
}
