//! Checks files that are not read: whether they exist and have the recorded length.

use std::sync::Arc;

use super::finding::{Finding, Severity};
use super::inventory::{NamedFile, caught};
use crate::error::{ErrorKind, Result};
use crate::pipeline::read_each;
use crate::storage::Storage;

/// The finding for a file, if any. Requests two bytes: the last one, and one after it.
///
/// # Errors
/// An interruption.
pub(super) fn check(storage: &dyn Storage, file: &NamedFile) -> Result<Option<Finding>> {
    let end = match file.size {
        Some(size) if size > 0 => storage.read_range(&file.path, size - 1, 2),
        _ => storage.read_range(&file.path, 0, 1),
    };
    let end = caught(storage, end)?;
    let wrong = |message: String| Finding::new(Severity::Error, ErrorKind::Mismatch.name(), message);
    let found = match (end, file.size) {
        (Err(error), _) => Some(Finding::of(&error)),
        (Ok(_), None) => None,
        (Ok(bytes), Some(0)) => {
            (!bytes.is_empty()).then(|| wrong("no bytes are recorded, and there are some".to_owned()))
        }
        (Ok(bytes), Some(size)) => match bytes.len() {
            1 => None,
            0 => Some(wrong(format!("{size} bytes are recorded, and there are fewer"))),
            _ => Some(wrong(format!("{size} bytes are recorded, and there are more"))),
        },
    };
    Ok(found.map(|finding| finding.in_file(&file.path).named_by(&file.named_by)))
}

/// The findings for files, several of which are looked for at a time.
pub(super) fn looked_for(
    storage: &Arc<dyn Storage>,
    files: Vec<NamedFile>,
    threads: usize,
) -> Result<Vec<Finding>> {
    Ok(read_each(storage, files, threads, check)?.into_iter().flatten().collect())
}
