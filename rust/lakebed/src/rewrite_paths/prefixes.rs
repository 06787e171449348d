//! Old and new prefixes of paths.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, StringArray};

use crate::error::{Error, ErrorKind, Result};
use crate::relocate::{longest_first, moved};

/// Old prefixes with new ones. A prefix matches whole path segments; the longest match counts.
pub(crate) struct Prefixes(Vec<(String, String)>);

impl Prefixes {
    /// # Errors
    /// `Argument` without prefixes, and for an empty one.
    pub(crate) fn new(pairs: &[(String, String)]) -> Result<Prefixes> {
        if pairs.is_empty() || pairs.iter().any(|(old, new)| old.is_empty() || new.is_empty()) {
            let message = "prefixes are pairs of what paths begin with and what they will begin with, \
                neither of them empty";
            return Err(Error::new(ErrorKind::Argument, message));
        }
        Ok(Prefixes(longest_first(pairs.to_vec())))
    }

    /// The new path.
    ///
    /// # Errors
    /// `Location` for a path that no prefix covers: its new path is unknown.
    pub(crate) fn moved(&self, path: &str) -> Result<String> {
        self.covered(path).ok_or_else(|| {
            let message = "no prefix covers a path that the metadata has: give its new prefix, or {prefix: \
                the same prefix} where it stays";
            Error::new(ErrorKind::Location, message).in_file(path)
        })
    }

    /// The new path; `None` for a path that no prefix covers.
    pub(crate) fn covered(&self, path: &str) -> Option<String> {
        moved(path, &self.0).map(std::borrow::Cow::into_owned)
    }

    /// The new paths of a column, which may have nulls.
    ///
    /// # Errors
    /// As [`Prefixes::moved`]; `Required` for a column that is not text.
    pub(crate) fn moved_column(&self, paths: &ArrayRef) -> Result<ArrayRef> {
        let texts = paths.as_string_opt::<i32>();
        let texts = texts.ok_or_else(|| Error::new(ErrorKind::Required, "paths are not text"))?;
        let moved = texts.iter().map(|path| path.map(|path| self.moved(path)).transpose());
        Ok(Arc::new(moved.collect::<Result<StringArray>>()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_without_a_prefix_are_an_error() {
        let pairs = [("s3://a/t", "s3://b/u"), ("s3://a/t/kept", "s3://a/t/kept")];
        let pairs = pairs.map(|(old, new)| (old.to_owned(), new.to_owned()));
        let prefixes = Prefixes::new(&pairs).unwrap();
        assert_eq!(prefixes.moved("s3://a/t/x").unwrap(), "s3://b/u/x");
        assert_eq!(prefixes.moved("s3://a/t/kept/x").unwrap(), "s3://a/t/kept/x");
        assert_eq!(prefixes.moved("s3://a/t2/x").unwrap_err().kind(), ErrorKind::Location);
        assert_eq!(Prefixes::new(&[]).err().unwrap().kind(), ErrorKind::Argument);
    }
}
