//! The filter of `file_history`: tests of the view's own columns, and tests of the table's columns.

use arrow_array::BooleanArray;
use arrow_array::RecordBatch;
use arrow_schema::Schema as ArrowSchema;

use crate::error::{Error, ErrorKind, Result};
use crate::predicate::Predicate;

/// The part of a filter that tests the view's own columns.
pub(super) struct OwnFilter {
    predicate: Predicate,
    columns: Vec<String>,
}

impl OwnFilter {
    /// Divides a filter into the part on the view's own columns, which are `all`, and the text of the part on
    /// the table's columns. A name that both have is a column of the view.
    ///
    /// # Errors
    /// `Predicate` for text that does not parse, for a test that does not fit its column, and for an `OR`
    /// over columns of both.
    pub(super) fn divide(text: &str, all: &ArrowSchema) -> Result<(Option<OwnFilter>, Option<String>)> {
        let is_own = |name: &&str| all.fields().find(name).is_some();
        let (mut own, mut files) = (Vec::new(), Vec::new());
        for term in Predicate::parse(text)?.split_conjuncts() {
            let columns = term.columns();
            match (columns.iter().all(is_own), columns.iter().any(is_own)) {
                (true, _) => own.push(term.clone()),
                (false, false) => files.push(term.clone()),
                (false, true) => {
                    let message = format!(
                        "filter: {term}: an OR of columns of the view and of the table cannot be evaluated; \
                        filter by either alone, or join both with AND"
                    );
                    return Err(Error::new(ErrorKind::Predicate, message));
                }
            }
        }
        let files = (!files.is_empty()).then(|| Predicate::and(files).to_string());
        let own = (!own.is_empty()).then(|| Predicate::and(own));
        let own = own.map(|predicate| {
            predicate.bind(all)?;
            let columns = predicate.columns().into_iter().map(str::to_owned).collect();
            Ok::<_, Error>(OwnFilter { predicate, columns })
        });
        Ok((own.transpose()?, files))
    }

    /// The names of the columns that it reads.
    pub(super) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Which rows it keeps.
    ///
    /// # Errors
    /// `Predicate`, which cannot happen after dividing.
    pub(super) fn keeps(&self, rows: &RecordBatch) -> Result<BooleanArray> {
        let bound = self.predicate.bind(rows.schema_ref())?;
        Ok(bound.evaluate(rows.columns(), rows.num_rows())?.into())
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::{DataType, Field};

    use super::*;

    fn divided(text: &str) -> (Option<String>, Option<String>) {
        let fields = [("file_path", DataType::Utf8), ("record_count", DataType::Int64)];
        let all = ArrowSchema::new(fields.map(|(name, kind)| Field::new(name, kind, true)).to_vec());
        let (own, files) = OwnFilter::divide(text, &all).expect("a filter");
        (own.map(|own| own.predicate.to_string()), files)
    }

    #[test]
    fn a_filter_is_divided_at_its_ands() {
        let (own, files) =
            divided("file_path = 'a' and dt > '2026' and record_count > 1 and (x = 1 or y = 2)");
        assert_eq!(own.as_deref(), Some("\"file_path\" = 'a' AND \"record_count\" > 1"));
        assert_eq!(files.as_deref(), Some("\"dt\" > '2026' AND (\"x\" = 1 OR \"y\" = 2)"));
        assert_eq!(divided("TRUE"), (Some("TRUE".to_owned()), None));
        assert_eq!(divided("dt = 1"), (None, Some("\"dt\" = 1".to_owned())));
    }

    #[test]
    fn one_or_over_columns_of_both_is_refused() {
        let all = ArrowSchema::new(vec![Field::new("file_path", DataType::Utf8, true)]);
        let error = OwnFilter::divide("file_path = 'a' or dt = 1", &all).err().expect("an error");
        assert_eq!(error.kind(), ErrorKind::Predicate);
    }
}
