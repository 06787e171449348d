//! What each step of a scan keeps, and why.

use serde::Serialize;

use super::{Plan, Scan, ScanOptions};
use crate::error::Result;
use crate::paimon::manifest_list::ManifestFile;
use crate::paimon::view::View;

impl Scan {
    /// The funnel: what each step keeps of manifests, entries and files. Reads what the scan reads, but
    /// decodes no column that only the rows need.
    ///
    /// # Errors
    /// Those of the scan.
    pub fn explain(&self) -> Result<Vec<Step>> {
        if !self.view.is_of_entries() {
            return Ok(Vec::new());
        }
        let Plan { manifests, pruned } = self.plan()?;
        let bytes =
            |manifests: &[ManifestFile]| manifests.iter().map(|manifest| manifest.file_size).sum::<u64>();
        let entries = |manifests: &[ManifestFile]| -> u64 {
            manifests.iter().map(|manifest| manifest.added + manifest.deleted).sum()
        };
        let mut steps = vec![Step {
            step: "manifests",
            kept: manifests.len() as u64,
            total: (manifests.len() + pruned.len()) as u64,
            bytes_kept: Some(bytes(&manifests)),
            bytes_total: Some(bytes(&manifests) + bytes(&pruned)),
            why: "bounds of partition and bucket in the manifest list",
        }];
        let options = |filter| ScanOptions {
            columns: Some(vec!["bucket".to_owned()]),
            stats: None,
            limit: None,
            filter,
            ..self.options.clone()
        };
        let count = |view: View| -> Result<u64> {
            let scan = Scan::new(self.table.clone(), view, options(self.options.filter.clone()))?;
            scan.stream()?.map(|batch| Ok(batch?.num_rows() as u64)).sum()
        };
        let matching = count(View::Entries)?;
        steps.push(Step::rows("entries", matching, entries(&manifests), "partition and bucket of the entry"));
        if self.view != View::Entries {
            let why = "added, and deleted by no entry of the snapshot";
            steps.push(Step::rows("files", count(View::Files)?, matching, why));
        }
        Ok(steps)
    }
}

/// One step of a scan's funnel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// What is counted.
    pub step: &'static str,
    /// How many are left.
    pub kept: u64,
    /// How many there were.
    pub total: u64,
    /// Bytes of those left, where they are counted.
    pub bytes_kept: Option<u64>,
    /// Bytes of all, where they are counted.
    pub bytes_total: Option<u64>,
    /// What decided.
    pub why: &'static str,
}

impl Step {
    fn rows(step: &'static str, kept: u64, total: u64, why: &'static str) -> Step {
        Step { step, kept, total, bytes_kept: None, bytes_total: None, why }
    }
}
