//! The live files of a table, as manifests tell of them.

use std::sync::Arc;

use super::finding::{Finding, Severity};
use super::inventory::NamedFile;
use super::live::{Live, Met};
use super::manifests::{Entry, Read};
use super::totals::{Claim, Totals};
use crate::error::ErrorKind;

/// The live files, what they come to, and whether all that name them could be read.
pub(super) struct LiveFiles {
    live: Live,
    totals: Totals,
    is_whole: bool,
}

impl LiveFiles {
    pub(super) fn new(is_whole: bool) -> LiveFiles {
        LiveFiles { live: Live::default(), totals: Totals::default(), is_whole }
    }

    /// Takes in a manifest. What could be read is counted, of one that ends early too.
    pub(super) fn add<T>(&mut self, read: &Read<T>, totals: &Totals) {
        self.is_whole &= read.is_whole;
        self.totals.add(totals);
    }

    /// Takes in entries that add a file (1), or take it away (-1).
    pub(super) fn count(&mut self, counts: impl IntoIterator<Item = (u128, i32)>) {
        counts.into_iter().for_each(|(hashed, sign)| self.live.count(hashed, sign));
    }

    /// Whether every file is there once or not at all.
    pub(super) fn is_right(&self) -> bool {
        self.live.is_right()
    }

    /// What the snapshot claims and its live files do not come to, where all of them are known.
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
                Met::First => files.push(NamedFile { path, size, named_by: Arc::clone(&named_by) }),
                Met::Again => {
                    found.push(wrong("duplicate", format!("the file {path:?} is twice in the snapshot")));
                }
                // It may have been added by what could not be read.
                Met::Owed if self.is_whole => {
                    let message = format!("the file {path:?} is deleted, and no manifest adds it");
                    found.push(wrong(ErrorKind::Mismatch.name(), message));
                }
                Met::Owed | Met::Gone => {}
            }
        }
        (found, files)
    }
}
