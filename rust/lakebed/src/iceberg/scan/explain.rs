//! What each step of a scan keeps, and why.

use super::Scan;
use super::plan::Plan;
use crate::error::Result;
use crate::iceberg::manifest_list::ManifestFile;
use crate::scan::{Scan as _, ScanOptions, Step};
use crate::view::View;

impl Scan {
    /// What each step keeps of manifests, entries and files.
    pub(super) fn steps(&self) -> Result<Vec<Step>> {
        if !self.view.is_of_entries() && self.view != View::Deletes {
            return Ok(Vec::new());
        }
        let Plan { manifests, pruned, .. } = Plan::new(&self.table, self.options.filter.as_deref())?;
        let bytes =
            |manifests: &[ManifestFile]| manifests.iter().filter_map(|manifest| manifest.length).sum::<u64>();
        let mut steps = vec![Step {
            step: "manifests",
            kept: manifests.len() as u64,
            total: (manifests.len() + pruned.len()) as u64,
            rows_kept: None,
            rows_total: None,
            bytes_kept: Some(bytes(&manifests)),
            bytes_total: Some(bytes(&manifests) + bytes(&pruned)),
            why: "summaries of the partition fields in the manifest list",
        }];
        let count = |view: View| -> Result<u64> {
            let columns = Some(vec!["record_count".to_owned()]);
            let options = ScanOptions { columns, stats: None, limit: None, ..self.options.clone() };
            let scan = Scan::new(self.table.clone(), view, options)?;
            scan.stream()?.map(|batch| Ok(batch?.num_rows() as u64)).sum()
        };
        let matching = count(View::Entries)?;
        let entries = |manifest: &ManifestFile| {
            let counts = [manifest.added, manifest.existing, manifest.deleted].map(|recorded| recorded.files);
            counts.into_iter().sum::<Option<u64>>()
        };
        // Lists of version 1 need not say how many entries there are.
        let all = manifests.iter().map(entries).sum::<Option<u64>>().unwrap_or(matching);
        steps.push(Step::rows("entries", matching, all, "partition tuple of the entry"));
        if self.view != View::Entries {
            let live = count(View::Files)?;
            steps.push(Step::rows("files", live, matching, "added or existing, not deleted"));
            if self.view == View::Plan {
                steps.push(Step::rows("data files", count(View::Plan)?, live, "data, no deletes"));
            }
        }
        Ok(steps)
    }
}
