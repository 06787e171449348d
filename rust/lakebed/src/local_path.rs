//! Paths of the local file system in metadata.

use crate::error::{Error, ErrorKind, Result};

/// A path without Hadoop's scheme for local paths: external paths are `file:/a/b`.
///
/// # Errors
/// `Unsupported` for a URI of another scheme.
pub(crate) fn local_path(path: &str) -> Result<&str> {
    let uri = path.split_at_checked(5).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("file:"));
    match uri.map(|(_, path)| path.strip_prefix("//").unwrap_or(path)) {
        Some(absolute) if absolute.starts_with('/') => Ok(absolute),
        _ if is_uri(path) => {
            let message = "not on the local file system: say where it is now, or what reads it";
            Err(Error::new(ErrorKind::Unsupported, message).in_file(path))
        }
        _ => Ok(path),
    }
}

/// Whether a path begins with a scheme: a letter, then letters, digits and `+-.`, then `://`.
fn is_uri(path: &str) -> bool {
    path.split_once("://").is_some_and(|(scheme, _)| {
        let tail = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && scheme.bytes().all(tail)
    })
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
