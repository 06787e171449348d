//! The files that a table's metadata names, and what is wrong with the files that name them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::finding::{Finding, Severity};
use crate::error::{Error, ErrorKind, Result};
use crate::repair::WrongHint;
use crate::storage::Storage;

/// A manifest, and the first list that names it.
#[derive(Serialize, Deserialize)]
pub(crate) struct NamedManifest<M> {
    pub(crate) manifest: M,
    pub(crate) named_by: Arc<str>,
    /// Whether the table's snapshot reaches it.
    pub(crate) is_live: bool,
}

/// A file other than a manifest, with the file that names it.
#[derive(Debug, Clone)]
pub(crate) struct NamedFile {
    pub(crate) path: String,
    /// Its recorded size \[bytes\].
    pub(crate) size: Option<u64>,
    pub(crate) named_by: Arc<str>,
}

/// The files that must exist.
pub(crate) struct Inventory<M> {
    pub(crate) findings: Vec<Finding>,
    /// All manifests, each once; those that lists record differently once for each record.
    pub(crate) manifests: Vec<NamedManifest<M>>,
    /// Files that are not read as a whole: statistics.
    pub(crate) files: Vec<NamedFile>,
    /// Whether all lists of the table's snapshot could be read.
    pub(crate) is_whole: bool,
    places: HashMap<String, Vec<usize>>,
}

impl<M> Default for Inventory<M> {
    fn default() -> Inventory<M> {
        Inventory {
            findings: Vec::new(),
            manifests: Vec::new(),
            files: Vec::new(),
            is_whole: true,
            places: HashMap::new(),
        }
    }
}

impl<M> Inventory<M> {
    pub(crate) fn find(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Adds an error of reading a file that another file names.
    pub(crate) fn fail(&mut self, error: &Error, path: &str, named_by: &str) {
        self.find(Finding::of(error).in_file(path).named_by(named_by));
    }

    /// Adds hints that name no version of the table; readers do without.
    pub(crate) fn hints(&mut self, wrong: Vec<WrongHint>) {
        for WrongHint { path, problem, .. } in wrong {
            self.find(Finding::new(Severity::Warning, ErrorKind::Missing.name(), problem).in_file(&path));
        }
    }

    /// Adds the manifests that one list names, by path, or the error of reading it; `named_by` is the file that names the
    /// list, and `differ` names the field in which two records of a manifest differ.
    pub(crate) fn list(
        &mut self,
        (list, named_by): (&str, &str),
        manifests: Result<impl IntoIterator<Item = (String, M)>>,
        is_live: bool,
        differ: impl Fn(&M, &M) -> Option<&'static str>,
    ) {
        match manifests {
            Ok(manifests) => self.name(list, manifests, is_live, differ),
            Err(error) => {
                self.is_whole &= !is_live;
                self.fail(&error, list, named_by);
            }
        }
    }

    fn name(
        &mut self,
        list: &str,
        manifests: impl IntoIterator<Item = (String, M)>,
        is_live: bool,
        differ: impl Fn(&M, &M) -> Option<&'static str>,
    ) {
        let (named_by, mut here): (Arc<str>, _) = (Arc::from(list), HashSet::new());
        for (record, (path, manifest)) in manifests.into_iter().enumerate() {
            let wrong = |severity, kind, message: String| {
                Finding::new(severity, kind, message).in_file(list).in_record(record as u64)
            };
            let shown = path.clone();
            if !here.insert(path.clone()) {
                let message = format!("the manifest {shown:?} is named twice");
                self.findings.push(wrong(Severity::Error, "duplicate", message));
                continue;
            }
            let places = self.places.entry(path).or_default();
            let mut first = None;
            let same = places.iter().find(|place| {
                let known = self.manifests.get(**place);
                let what = known.and_then(|known| differ(&known.manifest, &manifest));
                first =
                    first.take().or(known.zip(what).map(|(known, what)| (Arc::clone(&known.named_by), what)));
                what.is_none()
            });
            if let Some(known) = same.and_then(|place| self.manifests.get_mut(*place)) {
                known.is_live |= is_live;
                continue;
            }
            if let Some((other, what)) = first {
                let message = format!("the manifest {shown:?} has another {what} here than in another list");
                let finding = wrong(Severity::Warning, ErrorKind::Mismatch.name(), message);
                self.findings.push(finding.named_by(&other));
            }
            places.push(self.manifests.len());
            self.manifests.push(NamedManifest { manifest, named_by: Arc::clone(&named_by), is_live });
        }
    }
}

/// The result of a read; an interruption is not a finding but an error.
///
/// # Errors
/// The interruption.
pub(crate) fn caught<T>(storage: &dyn Storage, read: Result<T>) -> Result<Result<T>> {
    if read.is_err() {
        storage.interrupted()?;
    }
    Ok(read)
}
