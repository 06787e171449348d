//! What of a filter is left to test in the rows of a file that is planned.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, new_null_array};
use arrow_schema::DataType;

use crate::error::Result;
use crate::predicate::Predicate;

/// The residuals of files under one filter, as the text of the filter; `None`: nothing is left to test.
pub(super) struct Residuals {
    filter: Option<String>,
}

impl Residuals {
    /// Of the filter that `text` is, or of none.
    ///
    /// # Errors
    /// `Predicate` for a text that does not parse.
    pub(super) fn new(text: Option<&str>) -> Result<Residuals> {
        let filter = text.map(Predicate::parse).transpose()?;
        Ok(Residuals { filter: filter.map(|filter| filter.to_string()) })
    }

    /// The residual of each of `entries`.
    pub(super) fn of(&self, entries: &RecordBatch) -> ArrayRef {
        let rows = entries.num_rows();
        match &self.filter {
            Some(filter) => {
                Arc::new(StringArray::from_iter_values(std::iter::repeat_n(filter.as_str(), rows)))
            }
            None => new_null_array(&DataType::Utf8, rows),
        }
    }
}
