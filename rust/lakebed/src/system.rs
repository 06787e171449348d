//! Metadata tables of the engines, as each format lists them.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef};

use crate::distributed::Distributed;
use crate::error::{Error, ErrorKind, Result};
use crate::notes::Notes;
use crate::predicate::Predicate;
use crate::scan::{Batches, Scan, ScanOptions, limited, once, threads};
use crate::table::LakeTable;
use crate::view::{batch, select};

/// One of an engine's metadata tables over a table of type `T`.
pub(crate) struct SystemTable<T> {
    /// The engine's name of the table.
    pub(crate) name: &'static str,
    /// The columns, in the engine's order, with the nullability that it declares.
    pub(crate) columns: fn(&T) -> Result<Vec<Field>>,
    /// The rows; every batch has the requested columns, and may have others.
    pub(crate) rows: fn(&T, &Request) -> Result<Batches>,
}

/// What is requested of a metadata table.
pub(crate) struct Request {
    /// Threads inside each call.
    pub(crate) threads: usize,
    /// The columns that the rows or the filter need; `None` for all.
    columns: Option<BTreeSet<String>>,
}

impl Request {
    fn new(options: &ScanOptions) -> Result<Request> {
        let mut columns =
            options.columns.as_ref().map(|names| names.iter().cloned().collect::<BTreeSet<_>>());
        if let (Some(columns), Some(text)) = (&mut columns, &options.filter) {
            columns.extend(Predicate::parse(text)?.columns().into_iter().map(str::to_owned));
        }
        Ok(Request { threads: threads(options.threads), columns })
    }

    /// Whether a column is requested: others need not be decoded.
    pub(crate) fn needs(&self, column: &str) -> bool {
        self.columns.as_ref().is_none_or(|columns| columns.contains(column))
    }
}

/// The names of metadata tables.
pub(crate) fn names<T>(tables: &[SystemTable<T>]) -> Vec<&'static str> {
    tables.iter().map(|table| table.name).collect()
}

/// A metadata table, resolved: its schema is known, none of its rows is read.
pub(crate) struct MetadataScan<T: 'static> {
    table: T,
    system: &'static SystemTable<T>,
    options: ScanOptions,
    schema: SchemaRef,
}

impl<T: LakeTable> MetadataScan<T> {
    /// Resolves the metadata table `name`, one of `tables`, of `table`; columns and filter are checked, no
    /// file is read.
    ///
    /// # Errors
    /// `UnknownView` for a table and `UnknownColumn` for a column that does not exist, with the known names;
    /// `Predicate`, `FilterColumn`.
    pub(crate) fn new(
        table: T,
        tables: &'static [SystemTable<T>],
        name: &str,
        options: ScanOptions,
    ) -> Result<MetadataScan<T>> {
        let system = tables.iter().find(|system| system.name == name).ok_or_else(|| {
            let known = names(tables).join(", ");
            let message = match tables.is_empty() {
                true => format!("{} tables have no metadata table {name:?}", table.format()),
                false => format!("no metadata table {name:?}; there are {known}"),
            };
            Error::new(ErrorKind::UnknownView, message).in_field(name)
        })?;
        let none = RecordBatch::new_empty(Arc::new(ArrowSchema::new((system.columns)(&table)?)));
        let none = select(&none, options.columns.as_deref(), options.filter.as_deref())?;
        Ok(MetadataScan { table, system, options, schema: none.schema() })
    }
}

impl<T: LakeTable> Scan for MetadataScan<T> {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn stream(&self) -> Result<Batches> {
        limited(self.options.limit, || {
            let rows = (self.system.rows)(&self.table, &Request::new(&self.options)?)?;
            let options = self.options.clone();
            let select = move |rows: Result<RecordBatch>| {
                select(&rows?, options.columns.as_deref(), options.filter.as_deref())
            };
            Ok(Box::new(rows.map(select)))
        })
    }

    fn notes(&self) -> Notes {
        self.table.notes()
    }
}

impl<T: LakeTable> Distributed for MetadataScan<T> {
    fn is_light(&self) -> bool {
        true
    }
}

/// The rows of a metadata table that is read at once.
pub(crate) fn whole(columns: Vec<Field>, arrays: Vec<ArrayRef>, rows: usize) -> Result<Batches> {
    Ok(once(batch(&Arc::new(ArrowSchema::new(columns)), arrays, rows)?))
}

pub(crate) fn required(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, false)
}

pub(crate) fn optional(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, true)
}
