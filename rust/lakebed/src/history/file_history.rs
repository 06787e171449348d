//! The view `file_history`: one row per snapshot that added or removed a file.

use arrow_schema::SchemaRef;

use super::History;
use super::columns::HistoryColumns;
use super::line::Line;
use crate::distributed::Distributed;
use crate::error::Result;
use crate::notes::Notes;
use crate::scan::{Batches, Scan, ScanOptions, Step, limited, threads};

/// The files that commits added and removed, resolved: the schema is known, no list is read.
pub(crate) struct FileHistoryScan<H> {
    history: H,
    /// The options to read the view `files` with.
    options: ScanOptions,
    columns: HistoryColumns,
    limit: Option<usize>,
}

impl<H: History> FileHistoryScan<H> {
    /// Resolves the view: columns, filter and statistics are checked.
    ///
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`; those of reading the schemas for statistics.
    pub(crate) fn new(history: H, options: ScanOptions) -> Result<FileHistoryScan<H>> {
        let files = ScanOptions { stats: options.stats.clone(), ..ScanOptions::default() };
        let all = HistoryColumns::all(&history.changes(&files)?.0);
        let columns = HistoryColumns::new(&all, options.columns_and_stats().as_deref())?;
        let (limit, threads) = (options.limit, threads(options.threads));
        let options = columns.of_files(&ScanOptions { threads, ..options });
        history.changes(&options)?;
        Ok(FileHistoryScan { history, options, columns, limit })
    }

    fn line(&self) -> Result<Line<H>> {
        Line::read(&self.history, self.options.table_filter.as_deref(), self.options.threads)
    }
}

impl<H: History> Scan for FileHistoryScan<H> {
    fn schema(&self) -> &SchemaRef {
        self.columns.schema()
    }

    fn stream(&self) -> Result<Batches> {
        limited(self.limit, || self.line()?.changes(&self.history, &self.options, &self.columns))
    }

    fn notes(&self) -> Notes {
        self.history.notes()
    }

    fn explain(&self) -> Result<Vec<Step>> {
        Ok(self.line()?.steps())
    }
}

impl<H: History> Distributed for FileHistoryScan<H> {}
