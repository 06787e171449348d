//! Tags, branches, rollbacks, expiry and schema changes of `lakebed.paimon`.

use std::time::Duration;

use arrow_array::RecordBatch;
use lakebed::Result;
use lakebed::paimon;
use lakebed::paimon::write::{self, Freed, RollbackTo, SchemaChange, TableDefinition};
use lakebed::reach::Retention;
use pyo3::prelude::*;

use crate::arrow::import_schema;
use crate::error::to_python;
use crate::paimon_commit::{CommitArguments, committed, options, run};
use crate::stream::BatchStream;
use crate::table::Table;

/// Runs an operation that frees files. Returns the table and these files.
fn freeing(
    py: Python<'_>,
    table: &Table,
    free: impl FnOnce(&paimon::Table) -> Result<Freed> + Send,
) -> PyResult<(Table, BatchStream)> {
    let Freed { table, files } = run(py, table, free)?;
    let schema = files
        .first()
        .map(RecordBatch::schema)
        .unwrap_or_else(|| std::sync::Arc::new(arrow_schema::Schema::empty()));
    let files = BatchStream::new(schema, Box::new(files.into_iter().map(Ok)));
    Ok((Table::warned(py, Box::new(table))?, files))
}

#[pyfunction]
pub fn paimon_create_tag(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    name: &str,
    retained_micros: Option<u64>,
    arguments: CommitArguments,
) -> PyResult<Table> {
    let retained = retained_micros.map(Duration::from_micros);
    committed(py, table.get(), |table| write::create_tag(table, name, retained, &options(arguments)))
}

#[pyfunction]
pub fn paimon_delete_tag(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    name: &str,
) -> PyResult<(Table, BatchStream)> {
    freeing(py, table.get(), |table| write::delete_tag(table, name))
}

#[pyfunction]
pub fn paimon_create_branch(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    name: &str,
    tag: Option<&str>,
) -> PyResult<Table> {
    committed(py, table.get(), |table| write::create_branch(table, name, tag))
}

#[pyfunction]
pub fn paimon_delete_branch(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    name: &str,
) -> PyResult<(Table, BatchStream)> {
    freeing(py, table.get(), |table| write::delete_branch(table, name))
}

#[pyfunction]
pub fn paimon_fast_forward(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    branch: &str,
) -> PyResult<(Table, BatchStream)> {
    freeing(py, table.get(), |table| write::fast_forward(table, branch))
}

/// The target of a rollback.
#[derive(FromPyObject)]
pub enum Target {
    Snapshot(i64),
    Tag(String),
}

#[pyfunction]
pub fn paimon_rollback_to(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    target: Target,
) -> PyResult<(Table, BatchStream)> {
    let target = match target {
        Target::Snapshot(id) => RollbackTo::Snapshot(id),
        Target::Tag(name) => RollbackTo::Tag(name),
    };
    freeing(py, table.get(), |table| write::rollback_to(table, &target))
}

#[pyfunction]
pub fn paimon_expire_snapshots(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    older_than_ms: Option<i64>,
    retain_last: Option<i32>,
    now_ms: i64,
) -> PyResult<(Table, BatchStream)> {
    let retention = Retention { older_than_ms, retain_last, now_ms };
    freeing(py, table.get(), |table| write::expire_snapshots(table, &retention))
}

#[pyfunction]
pub fn paimon_alter_table(py: Python<'_>, table: &Bound<'_, Table>, changes: &str) -> PyResult<Table> {
    let changes = SchemaChange::from_json(changes).map_err(|error| to_python(py, error))?;
    committed(py, table.get(), |table| write::alter_table(table, &changes))
}

/// The columns of a schema as `fields` of a schema file, without ids.
#[pyfunction]
pub fn paimon_fields(py: Python<'_>, schema: &Bound<'_, PyAny>) -> PyResult<String> {
    let fields = TableDefinition::fields_from_arrow(&import_schema(schema)?);
    let fields = fields.map_err(|error| to_python(py, error))?;
    Ok(serde_json::Value::Array(fields).to_string())
}
