//! Scan tasks of Iceberg tables, for `lakebed.iceberg.Planner`.

use std::sync::Arc;

use lakebed::iceberg::prune::Names;
use lakebed::iceberg::{self, TasksRequest, TasksShare};
use pyo3::prelude::*;

use crate::arguments::of_attributes;
use crate::boundary::detached;
use crate::iceberg::Form;
use crate::iceberg_commit::iceberg_table;
use crate::stream::warn;
use crate::table::Table;

/// The places of manifests, into how many shares their files are divided, and which of them it is.
type Share = (usize, usize, u32, u32);

/// The scan tasks of a table at its snapshot.
#[pyclass(frozen, module = "lakebed._native")]
pub struct ScanTasks(iceberg::ScanTasks);

#[pymethods]
impl ScanTasks {
    /// Takes the attributes of `_Scan` in `lakebed.iceberg.planning`.
    #[new]
    fn new(py: Python<'_>, table: &Table, asked: &Bound<'_, PyAny>) -> PyResult<ScanTasks> {
        let threads: Option<usize> = asked.getattr("threads")?.extract()?;
        let request = of_attributes!(asked, TasksRequest {
            after, stats, row_limit;
            filter: asked.getattr("where")?.extract()?,
            limit: None,
            threads: threads.unwrap_or(0),
            form: asked.getattr("form")?.extract::<Form>()?.0
        });
        detached(py, || Ok(ScanTasks(iceberg::ScanTasks::new(iceberg_table(table)?, request)?)))
    }

    /// The table with one of its schemas, the current one for `None`, and the id of that schema.
    #[staticmethod]
    fn with_schema(py: Python<'_>, table: &Table, schema_id: Option<i32>) -> PyResult<Table> {
        detached(py, || Ok(Table(Arc::new(iceberg_table(table)?.with_schema(schema_id)?))))
    }

    /// The id of the table's schema.
    #[staticmethod]
    fn schema_id(py: Python<'_>, table: &Table) -> PyResult<i32> {
        detached(py, || Ok(iceberg_table(table)?.schema().schema_id))
    }

    /// The ids of columns.
    #[staticmethod]
    fn field_ids(
        py: Python<'_>,
        table: &Table,
        names: Vec<String>,
        case_sensitive: bool,
    ) -> PyResult<Vec<i32>> {
        let compared = if case_sensitive { Names::Exact } else { Names::AnyCase };
        detached(py, || iceberg_table(table)?.field_ids(&names, compared))
    }

    /// Shares of the manifests at some places.
    fn shares(&self, py: Python<'_>, first: usize, end: usize, most_files: u64) -> PyResult<Vec<Share>> {
        let shares = detached(py, || self.0.shares(first..end, most_files))?;
        warn(py, &self.0.notes())?;
        let share = |share: TasksShare| (share.manifests.start, share.manifests.end, share.of, share.nth);
        Ok(shares.into_iter().map(share).collect())
    }

    /// The JSON text of the tasks of a share, or of all.
    fn text(&self, py: Python<'_>, share: Option<Share>) -> PyResult<String> {
        let share = share.map(|(first, end, of, nth)| TasksShare { manifests: first..end, of, nth });
        let text = detached(py, || self.0.text(share.as_ref()))?;
        warn(py, &self.0.notes())?;
        Ok(text)
    }
}
