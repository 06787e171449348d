//! Rows of files and the roots that reach them.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;

use super::kind::Kind;
use super::plan_columns::PlanColumns;
use super::walk::Root;
use crate::error::Result;
use crate::scan::ScanOptions;
use crate::view::{select, whole};

/// A builder of rows.
#[derive(Default)]
pub(super) struct FileRows {
    paths: StringBuilder,
    kinds: StringBuilder,
    sizes: Int64Builder,
    first_ids: Int64Builder,
    last_ids: Int64Builder,
    first: StringBuilder,
    last: StringBuilder,
    current: BooleanBuilder,
    count: usize,
}

impl FileRows {
    pub(super) fn push(
        &mut self,
        path: Option<&str>,
        kind: Kind,
        size: Option<i64>,
        first: Option<&Root>,
        last: Option<&Root>,
        is_current: bool,
    ) {
        self.paths.append_option(path);
        self.kinds.append_value(kind.name());
        self.sizes.append_option(size);
        self.first_ids.append_option(first.and_then(|root| root.snapshot_id));
        self.last_ids.append_option(last.and_then(|root| root.snapshot_id));
        self.first.append_option(first.map(|root| root.name.as_str()));
        self.last.append_option(last.map(|root| root.name.as_str()));
        self.current.append_value(is_current);
        self.count += 1;
    }

    pub(super) fn finish(mut self) -> Result<RecordBatch> {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("file_path", Arc::new(self.paths.finish())),
            ("kind", Arc::new(self.kinds.finish())),
            ("file_size_in_bytes", Arc::new(self.sizes.finish())),
            ("first_snapshot_id", Arc::new(self.first_ids.finish())),
            ("last_snapshot_id", Arc::new(self.last_ids.finish())),
            ("first_reached_by", Arc::new(self.first.finish())),
            ("last_reached_by", Arc::new(self.last.finish())),
            ("is_current", Arc::new(self.current.finish())),
        ];
        whole(columns, self.count)
    }
}

/// No rows.
///
/// # Errors
/// None that depends on input.
pub(super) fn nothing() -> Result<RecordBatch> {
    FileRows::default().finish()
}

/// The columns of rows of a plan, with those of other rows of files among them.
///
/// # Errors
/// None that depends on input.
pub(super) fn plan_schema() -> Result<SchemaRef> {
    Ok(PlanColumns::unread().of_rows(&nothing()?)?.schema())
}

/// The schema of the rows that `options` ask for.
pub(super) fn schema(options: &ScanOptions) -> Result<SchemaRef> {
    Ok(select(&nothing()?, options.columns.as_deref(), options.filter.as_deref())?.schema())
}
