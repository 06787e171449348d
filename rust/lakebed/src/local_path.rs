//! Paths of the local file system in metadata.

use crate::error::{Error, ErrorKind, Result};
use crate::location::is_scheme;

/// A path without Hadoop's scheme for local paths: external paths are `file:/a/b`.
///
/// # Errors
/// `Unsupported` for a URI of another scheme.
pub(crate) fn local_path(path: &str) -> Result<&str> {
    let plain = without_file_scheme(path);
    if plain.starts_with('/') {
        return Ok(plain);
    }
    if path.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme)) {
        let message = "not on the local file system: say where it is now, or what reads it";
        return Err(Error::new(ErrorKind::Unsupported, message).in_file(path));
    }
    Ok(path)
}

/// A path without the scheme of the local file system, in any of its spellings: some writers record `file:///a`,
/// some `file:/a`, others `/a`.
pub(crate) fn without_file_scheme(path: &str) -> &str {
    let local = path.split_at_checked(5).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("file:"));
    local.map_or(path, |(_, path)| path.strip_prefix("//").unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hadoop_paths_are_local() {
        for path in ["/a/b", "file:/a/b", "FILE:/a/b", "file:///a/b"] {
            assert_eq!(local_path(path).expect("local"), "/a/b");
        }
        for path in ["a/b", "file:a", "é", "", "/a/x=://", "0://"] {
            assert_eq!(local_path(path).expect("local"), path);
        }
        for path in ["s3://a/b", "HDFS://a", "abfss://c@a/b"] {
            assert_eq!(local_path(path).expect_err("elsewhere").kind(), ErrorKind::Unsupported);
        }
    }
}
