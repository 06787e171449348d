//! The live files of a table, from the entries of manifests.

use std::sync::Arc;

use arrow_array::RecordBatch;

use super::finding::{Finding, Severity};
use super::inventory::NamedFile;
use super::links::Targets;
use super::live::{FileState, IdentityCounts};
use super::manifests::{Entry, ManifestFindings};
use super::totals::{Claim, ContentTotals};
use crate::error::{ErrorKind, Result};

/// The live files, their totals, and whether all that names them could be read.
pub(super) struct LiveFiles {
    live: IdentityCounts,
    totals: ContentTotals,
    targets: Targets,
    is_whole: bool,
}

impl LiveFiles {
    pub(super) fn new(is_whole: bool) -> LiveFiles {
        LiveFiles {
            live: IdentityCounts::default(),
            totals: ContentTotals::default(),
            targets: Targets::default(),
            is_whole,
        }
    }

    /// Adds deletes and data files, as rows of [`super::Links`]; all deletes are before the first data file, or with
    /// it.
    ///
    /// # Errors
    /// `Required` for other rows.
    pub(super) fn link(&mut self, links: &[RecordBatch]) -> Result<()> {
        links.iter().try_for_each(|rows| self.targets.add_deletes(rows))?;
        links.iter().try_for_each(|rows| self.targets.add_files(rows))
    }

    /// What is wrong with deletes of one data file each, once all were added.
    pub(super) fn misplaced_deletes(&mut self) -> Vec<Finding> {
        self.targets.wrong(self.is_whole)
    }

    /// Adds the totals of a manifest: those of the entries that could be read.
    pub(super) fn add(&mut self, read: &ManifestFindings) {
        self.is_whole &= read.is_whole;
        self.totals.add(&read.taken.totals);
    }

    /// Counts entries that add a file (1) or delete it (-1).
    pub(super) fn count(&mut self, counts: impl IntoIterator<Item = (u128, i32)>) {
        counts.into_iter().for_each(|(hashed, sign)| self.live.count(hashed, sign));
    }

    /// Whether every file is live once or not at all.
    pub(super) fn is_right(&self) -> bool {
        self.live.is_right()
    }

    /// The totals that the snapshot records and its live files do not have; none where some files are unknown.
    pub(super) fn contradicted(&self, claims: &[Claim]) -> Vec<Finding> {
        if self.is_whole && self.is_right() { self.totals.contradicted(claims) } else { Vec::new() }
    }

    /// What is wrong with the live files of a manifest, and those that are met for the first time. All entries of
    /// all manifests were counted.
    pub(super) fn meet(
        &mut self,
        manifest: &str,
        entries: impl IntoIterator<Item = Entry>,
    ) -> (Vec<Finding>, Vec<NamedFile>) {
        let (mut found, mut files) = (Vec::new(), Vec::new());
        let named_by: Arc<str> = Arc::from(manifest);
        for Entry { hashed, sign, record, path, size } in entries {
            let wrong = |kind, message: String| {
                Finding::new(Severity::Error, kind, message).in_file(&named_by).in_record(record)
            };
            match self.live.meet(hashed, sign) {
                FileState::First => files.push(NamedFile { path, size, named_by: Arc::clone(&named_by) }),
                FileState::Again => {
                    found.push(wrong("duplicate", format!("the file {path:?} is twice in the snapshot")));
                }
                // A manifest that could not be read may have added it.
                FileState::Owed if self.is_whole => {
                    let message = format!("the file {path:?} is deleted, and no manifest adds it");
                    found.push(wrong(ErrorKind::Mismatch.name(), message));
                }
                FileState::Owed | FileState::Gone => {}
            }
        }
        (found, files)
    }
}
