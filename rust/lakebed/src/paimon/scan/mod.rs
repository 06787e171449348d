//! Scanning a view: which manifests must be read, and their rows as a stream.

mod deletes;
mod explain;
mod program;
mod stream;
mod task;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;

use deletes::DeleteRows;
pub use explain::Step;
use program::EntryProgram;
use stream::EntryStream;
pub use stream::ScanStream;
pub use task::Task;

use super::fields::LIST;
use super::filter::PartitionFilter;
use super::index_files::IndexFiles;
use super::manifest_list::{ManifestFile, manifest_files};
use super::record::record_schema;
use super::schema::TableSchema;
use super::table::Table;
use super::view::{DeletesView, Role, View, indexes, refs, schemas, select, snapshots};
use crate::error::{Error, ErrorKind, Result};

/// What of a view is wanted.
#[derive(Debug, Clone, Default)]
pub struct ScanOptions {
    /// Columns, in this order; `None` for all.
    pub columns: Option<Vec<String>>,
    /// A filter: on partition columns and the bucket of manifests, entries and files, on the view's own
    /// columns of views that are made without manifests.
    pub filter: Option<String>,
    /// Columns of the table whose typed statistics become the column `stats`.
    pub stats: Option<Vec<String>>,
    /// The most rows to give.
    pub limit: Option<usize>,
    /// Threads inside each call; 0 for one per processor.
    pub threads: usize,
}

/// One view of a table, resolved: its schema is known, nothing of its rows is read.
pub struct Scan {
    table: Table,
    view: View,
    options: ScanOptions,
    schema: SchemaRef,
    /// How entries become rows, for the views that are made of them.
    program: Option<Arc<EntryProgram>>,
}

/// The manifests of a snapshot, sorted by whether they must be read.
struct Plan {
    manifests: Vec<ManifestFile>,
    pruned: Vec<ManifestFile>,
}

impl Scan {
    /// Resolves `view` of `table`: columns, filter and statistics are checked, no file is read but, for
    /// statistics, the schemas.
    ///
    /// # Errors
    /// `UnknownColumn`, `Predicate`; `Argument` for statistics of a view that has none.
    pub fn new(table: Table, view: View, options: ScanOptions) -> Result<Scan> {
        let columns = options.columns.as_deref();
        let filter = options.filter.as_deref();
        let entries = matches!(view, View::Entries | View::Files);
        if options.stats.is_some() && !entries {
            return Err(Error::new(ErrorKind::Argument, "stats= is for the views entries and files"));
        }
        if entries {
            let role = if view == View::Files { Role::Files } else { Role::Entries };
            let schemas = if options.stats.is_some() { table.schemas()? } else { BTreeMap::new() };
            let program = EntryProgram::new(role, &table, schemas, &options)?;
            let schema = Arc::clone(program.view.schema());
            return Ok(Scan { table, view, options, schema, program: Some(Arc::new(program)) });
        }
        let empty = match view {
            View::Snapshots | View::Changelogs => select(&snapshots(&[])?, columns, filter)?,
            View::Refs => select(&refs(&[])?, columns, filter)?,
            View::Schemas => select(&schemas(&[])?, columns, filter)?,
            View::Deletes | View::Indexes => {
                filter.map(|text| PartitionFilter::new(text, table.schema())).transpose()?;
                if view == View::Deletes {
                    let deletes = DeletesView::new(table.location(), table.schema(), columns)?;
                    RecordBatch::new_empty(Arc::clone(deletes.schema()))
                } else {
                    select(&indexes(&IndexFiles::none(), table.schema())?, columns, None)?
                }
            }
            _ => {
                let list = RecordBatch::new_empty(record_schema(&LIST.iter().collect::<Vec<_>>()));
                keep(filter, table.schema(), &list)?;
                select(&table.manifests_view(&list, &[])?, columns, None)?
            }
        };
        Ok(Scan { table, view, options, schema: empty.schema(), program: None })
    }

    /// The schema of the rows.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// What the scan makes of entries.
    pub fn role(&self) -> Role {
        if self.view == View::Files { Role::Files } else { Role::Entries }
    }

    /// The manifests to read, with their full paths; none for views that are made without them. Reads the
    /// manifest lists.
    ///
    /// # Errors
    /// Those of reading the lists.
    pub fn manifests(&self) -> Result<Vec<(String, ManifestFile)>> {
        if self.program.is_none() {
            return Ok(Vec::new());
        }
        let path = |manifest: ManifestFile| (self.table.manifest_path(&manifest.file_name), manifest);
        Ok(self.plan()?.manifests.into_iter().map(path).collect())
    }

    /// Starts reading: small views are made whole, for the others the manifest lists are read.
    ///
    /// # Errors
    /// Those of reading the view's files, or the lists.
    pub fn stream(&self) -> Result<ScanStream> {
        let mut stream = ScanStream {
            schema: Arc::clone(&self.schema),
            ready: VecDeque::new(),
            rows: None,
            left: self.options.limit.unwrap_or(usize::MAX),
        };
        match &self.program {
            None if self.view == View::Deletes => {
                stream.rows = Some(Box::new(DeleteRows::open(&self.table, &self.options)?));
            }
            None => stream.ready.push_back(self.whole()?),
            Some(program) => {
                let (program, table) = (Arc::clone(program), self.table.clone());
                let manifests = self.plan()?.manifests;
                let threads = threads(self.options.threads);
                stream.rows = Some(Box::new(EntryStream::new(program, table, manifests, threads)));
            }
        }
        Ok(stream)
    }

    fn plan(&self) -> Result<Plan> {
        let (list, _) = self.table.manifest_list()?;
        let mut kept = keep(self.options.filter.as_deref(), self.table.schema(), &list)?.into_iter();
        let mut pruned = manifest_files(&list)?;
        let manifests = pruned.extract_if(.., |_| kept.next().unwrap_or(true)).collect();
        Ok(Plan { manifests, pruned })
    }

    /// A view that is not made of entries.
    fn whole(&self) -> Result<RecordBatch> {
        let (columns, filter) = (self.options.columns.as_deref(), self.options.filter.as_deref());
        match self.view {
            View::Snapshots => select(&self.table.snapshots_view()?, columns, filter),
            View::Refs => select(&self.table.refs_view()?, columns, filter),
            View::Changelogs => select(&self.table.changelogs_view()?, columns, filter),
            View::Schemas => select(&self.table.schemas_view()?, columns, filter),
            View::Indexes => {
                let filter =
                    filter.map(|text| PartitionFilter::new(text, self.table.schema())).transpose()?;
                let files = IndexFiles::read(&self.table, filter.as_ref())?;
                select(&indexes(&files, self.table.schema())?, columns, None)
            }
            _ => {
                let (list, rows) = self.table.manifest_list()?;
                let kept = keep(filter, self.table.schema(), &list)?;
                let rows: Vec<_> =
                    rows.into_iter().zip(&kept).filter(|(_, kept)| **kept).map(|(row, _)| row).collect();
                let list = filter_record_batch(&list, &BooleanArray::from(kept)).map_err(internal)?;
                select(&self.table.manifests_view(&list, &rows)?, columns, None)
            }
        }
    }
}

/// How many threads are meant.
pub(super) fn threads(wanted: usize) -> usize {
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
