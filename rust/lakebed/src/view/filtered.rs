//! The two filters of a view: `where` tests the table's columns and selects files, `filter` tests the view's own
//! columns and selects rows.

use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};

use super::{View, matching, only};
use crate::distributed::{Bounds, Distributed, JobPlan, RowFilter};
use crate::error::{Error, ErrorKind, Result};
use crate::notes::Notes;
use crate::predicate::{BoundPredicate, Predicate};
use crate::scan::{Batches, ExpressionForm, Scan, ScanOptions, Step, limited};

/// Resolves a view with both filters. `resolve` applies one of them: the filter on the table's columns where rows are
/// made from the table's files, else the one on the view's own columns. `rows` are the columns of the table's rows.
///
/// # Errors
/// Those of `resolve`, whose message begins with the name of the filter at fault and names the other filter where that
/// knows the column; `Argument` for a filter on the table's columns of a view that has none.
pub(crate) fn filtered(
    view: View,
    mut options: ScanOptions,
    rows: &Schema,
    resolve: &dyn Fn(View, ScanOptions) -> Result<Box<dyn Distributed>>,
) -> Result<Box<dyn Distributed>> {
    if !view.is_of_table_rows() {
        return resolve(view, options).map_err(|error| of_filter(error, "filter", |_| None));
    }
    let all = |view| {
        let (stats, deletes) = (options.stats.clone(), options.deletes);
        resolve(view, ScanOptions { stats, deletes, ..ScanOptions::default() })
    };
    let Some(text) = options.filter.clone() else {
        return resolve(view.clone(), options.clone()).map_err(|error| {
            of_filter(error, "where", |column| {
                let view = all(view.clone()).ok()?;
                view.schema().column_with_name(column).map(|_| "the view has such a column: filter tests it")
            })
        });
    };
    let known =
        |column: &str| rows.column_with_name(column).map(|_| "the table has such a column: where tests it");
    let predicate = Predicate::parse(&text).map_err(|error| of_filter(error, "filter", known))?;
    let (asked, limit) = (options.columns.take(), options.limit.take());
    // Rows that the filter drops count neither as rows of the view nor as rows of the table.
    (options.filter, options.row_limit) = (None, None);
    let with = |columns| filtered(view.clone(), ScanOptions { columns, ..options.clone() }, rows, resolve);
    let bound = |scan: &dyn Distributed| {
        predicate.bind(scan.schema()).map_err(|error| of_filter(error, "filter", known))
    };
    let Some(asked) = asked else {
        let scan = with(None)?;
        let (filter, schema) = (Arc::new(bound(&*scan)?), Arc::clone(scan.schema()));
        return Ok(Box::new(FilteredView { scan, text, filter, schema, limit }));
    };
    let mut tested = predicate.columns();
    tested.retain(|name| !asked.iter().any(|column| column == name));
    let needed = asked.iter().map(String::as_str).chain(tested.iter().copied()).map(str::to_owned).collect();
    let scan = with(Some(needed)).or_else(|error| {
        // A column that the view does not have is one that is asked for, or one that the filter tests.
        with(Some(asked))?;
        bound(&*all(view.clone())?)?;
        Err(error)
    })?;
    let filter = Arc::new(bound(&*scan)?);
    let is_asked = |name: &str| !tested.contains(name) || name == "stats" && options.stats.is_some();
    let fields = scan.schema().fields().iter().filter(|field| is_asked(field.name()));
    let schema = Arc::new(Schema::new_with_metadata(
        fields.cloned().collect::<Vec<_>>(),
        scan.schema().metadata().clone(),
    ));
    Ok(Box::new(FilteredView { scan, text, filter, schema, limit }))
}

/// The same error; of a filter, it says of which, and what `known` knows of a column that the filter does not.
fn of_filter(error: Error, name: &str, known: impl Fn(&str) -> Option<&'static str>) -> Error {
    let hint = match (error.kind(), error.location().field.as_deref()) {
        (ErrorKind::FilterColumn, Some(column)) => known(column),
        (ErrorKind::FilterColumn | ErrorKind::Predicate, _) => None,
        _ => return error,
    };
    let error = error.about(name);
    match hint {
        Some(hint) => error.adding(&format!("; {hint}")),
        None => error,
    }
}

/// Rows of a view that a filter on its own columns keeps.
struct FilteredView {
    /// The view with the columns that are asked for, and those that the filter tests.
    scan: Box<dyn Distributed>,
    text: String,
    filter: Arc<BoundPredicate>,
    schema: SchemaRef,
    limit: Option<usize>,
}

impl Scan for FilteredView {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn stream(&self) -> Result<Batches> {
        limited(self.limit, || {
            let (filter, schema) = (Arc::clone(&self.filter), Arc::clone(&self.schema));
            let kept = self.scan.stream()?.map(move |rows| only(&matching(&rows?, &filter)?, &schema));
            Ok(Box::new(kept))
        })
    }

    fn notes(&self) -> Notes {
        self.scan.notes()
    }

    fn explain(&self) -> Result<Vec<Step>> {
        self.scan.explain()
    }
}

impl Distributed for FilteredView {
    fn job(&self, bounds: &Bounds) -> Result<Option<JobPlan>> {
        let Some(planned) = self.scan.job(bounds)? else { return Ok(None) };
        if planned.is_question {
            return Ok(Some(planned));
        }
        let columns = self.schema.fields().iter().map(|field| field.name().clone()).collect();
        let filter = Some(RowFilter { condition: self.text.clone(), columns });
        Ok(Some(JobPlan { filter, ..planned }))
    }

    fn is_light(&self) -> bool {
        self.scan.is_light()
    }

    fn deletes(&self) -> Result<Box<dyn Distributed>> {
        self.scan.deletes()
    }

    fn scan_tasks(&self, _form: ExpressionForm) -> Result<String> {
        let message = "a plan of a filter on the view's own columns is none that a REST catalog answers";
        Err(Error::new(ErrorKind::Unsupported, message))
    }
}
