//! What each step of a scan keeps, and why.

use super::{Plan, Scan};
use crate::error::Result;
use crate::paimon::manifest_list::ManifestFile;
use crate::scan::{Scan as _, ScanOptions, Step};
use crate::view::View;

impl Scan {
    /// What each step keeps of manifests, entries and files.
    pub(super) fn steps(&self) -> Result<Vec<Step>> {
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
            rows_kept: None,
            rows_total: None,
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
