//! Paths of version 4, which are relative to the table's location where they have no scheme (Iceberg specification,
//! "Paths in Metadata"; Iceberg's `LocationUtil.java`). Whether they are is a question of the file that has them: a
//! table of version 4 keeps files of older versions, in which `/warehouse/t/f` is absolute.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::location::is_scheme_or_drive;
use crate::record::typed;

/// The first version whose paths may be relative.
pub(in crate::iceberg) const RELATIVE_PATHS: i32 = 4;

/// The table that files of metadata belong to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableFormat {
    /// Its format version.
    pub version: i32,
    /// Its location, without a slash at the end.
    pub location: String,
}

impl TableFormat {
    /// The location that relative paths begin with, in a file whose header records this version.
    pub(in crate::iceberg) fn base(&self, header: Option<i64>) -> Option<&str> {
        header.filter(|version| *version >= i64::from(RELATIVE_PATHS)).map(|_| self.location.as_str())
    }
}

/// Whether a path begins with the scheme of a URI. A drive counts as one, as in the specification.
pub(in crate::iceberg) fn has_scheme(path: &str) -> bool {
    path.split_once(':').is_some_and(|(scheme, _)| is_scheme_or_drive(scheme))
}

/// The path as it is, or behind the location: joined by a slash, without any other change.
pub(in crate::iceberg) fn resolved<'p>(path: &'p str, location: &str) -> Cow<'p, str> {
    if has_scheme(path) { Cow::Borrowed(path) } else { Cow::Owned(format!("{location}/{path}")) }
}

/// A column of paths, with the relative ones behind the location.
pub(in crate::iceberg) fn resolved_column(paths: &ArrayRef, name: &str, location: &str) -> Result<ArrayRef> {
    let texts = typed::<StringArray>(paths, name)?;
    if texts.iter().flatten().all(has_scheme) {
        return Ok(Arc::clone(paths));
    }
    let resolved = texts.iter().map(|path| path.map(|path| resolved(path, location)));
    Ok(Arc::new(resolved.collect::<StringArray>()))
}

/// The path without the location in front, where it is below it and what is left is read as what it was.
fn relative<'p>(path: &'p str, location: &str) -> &'p str {
    let below = path.strip_prefix(location).and_then(|rest| rest.strip_prefix('/'));
    let is_plain = |rest: &&str| {
        !rest.is_empty() && !has_scheme(rest) && !rest.split('/').any(|part| matches!(part, "." | ".."))
    };
    below.filter(is_plain).unwrap_or(path)
}

/// A column of paths, with those below the location without it.
pub(in crate::iceberg) fn relative_column(paths: &ArrayRef, name: &str, location: &str) -> Result<ArrayRef> {
    let relative =
        typed::<StringArray>(paths, name)?.iter().map(|path| path.map(|path| relative(path, location)));
    Ok(Arc::new(relative.collect::<StringArray>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_without_a_scheme_begin_with_the_location() {
        let location = "s3://bucket/db/table";
        for path in ["data:1/x", "a:b", "C:\\x", "S3://X", "s3a://bucket/x", "a+b-c.d:x"] {
            assert_eq!(resolved(path, location), path);
        }
        for path in ["data/f", "/data/f", "", "../x", "s_3://x", "1s3://x", "é:x", " s3://x", ":x", "a/b:c"]
        {
            assert_eq!(resolved(path, location), format!("{location}/{path}"));
        }
    }

    #[test]
    fn a_path_below_the_location_is_stored_without_it() {
        let location = "s3://bucket/db/table";
        for rest in ["data/f", "/data/f", "data/ts=10:00/f", "é:x"] {
            let path = resolved(rest, location);
            assert_eq!(
                (relative(&path, location), resolved(relative(&path, location), location)),
                (rest, path.clone())
            );
        }
        for path in [
            "s3://bucket/db/table",
            "s3://bucket/db/table/",
            "s3://bucket/db/table2/f",
            "s3a://bucket/db/table/f",
            "s3://bucket/db/table/a:b",
            "s3://bucket/db/table/a/../b",
        ] {
            assert_eq!(relative(path, location), path);
        }
    }
}
