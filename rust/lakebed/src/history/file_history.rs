//! The view `file_history`: one row per snapshot that added or removed a file.

use arrow_schema::SchemaRef;

use super::columns::HistoryColumns;
use super::line::Line;
use super::written_by;
use crate::distributed::Distributed;
use crate::error::Result;
use crate::notes::Notes;
use crate::scan::{Batches, Format, Scan, ScanOptions, Step, limited, threads};

/// The files that commits added and removed, resolved: the schema is known, no list is read.
pub(crate) struct FileHistoryScan<F: Format> {
    history: F,
    /// The options to read the view `files` with.
    options: ScanOptions,
    columns: HistoryColumns,
    limit: Option<usize>,
}

impl<F: Format> FileHistoryScan<F> {
    /// Resolves the view: columns, filter and statistics are checked.
    ///
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`; those of reading the schemas for statistics.
    pub(crate) fn new(history: F, options: ScanOptions) -> Result<FileHistoryScan<F>> {
        let files = ScanOptions { stats: options.stats.clone(), ..ScanOptions::default() };
        let all = HistoryColumns::all(F::columns(written_by(&history, &files)?.program()));
        let columns = HistoryColumns::new(&all, options.columns_and_stats().as_deref())?;
        let (limit, threads) = (options.limit, threads(options.threads));
        let options = columns.of_files(&ScanOptions { threads, ..options });
        written_by(&history, &options)?;
        Ok(FileHistoryScan { history, options, columns, limit })
    }

    fn line(&self) -> Result<Line<F>> {
        Line::read(&self.history, self.options.table_filter.as_deref(), self.options.threads)
    }
}

impl<F: Format> Scan for FileHistoryScan<F> {
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

impl<F: Format> Distributed for FileHistoryScan<F> {}
