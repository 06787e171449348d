//! What each step of a scan keeps, and why.

use std::sync::Arc;

use super::Scan;
use super::gather::file_rows;
use super::plan::Plan;
use super::program::EntryProgram;
use super::stages::MANIFESTS;
use crate::error::Result;
use crate::paimon::manifest_list::ManifestFile;
use crate::paimon::view::Role;
use crate::scan::{Amount, ScanOptions, Step, counted, threads};
use crate::view::View;

impl Scan {
    /// What each step keeps of manifests, entries and files, counted in one pass over the entries without
    /// making rows.
    pub(super) fn steps(&self) -> Result<Vec<Step>> {
        if !self.view.is_of_entries() {
            return Ok(Vec::new());
        }
        let role = match self.view {
            View::Entries => Role::Entries,
            View::Plan => Role::Plan(self.options.deletes),
            _ => Role::Files,
        };
        let columns = Some(vec!["bucket".to_owned()]);
        let options = ScanOptions { columns, stats: None, limit: None, ..self.options.clone() };
        let mut steps = counted(|funnel| {
            let Plan { manifests, pruned } = self.plan()?;
            funnel.pass(&MANIFESTS, || {
                let kept: Amount = manifests.iter().map(of_manifest).sum();
                [kept + pruned.iter().map(of_manifest).sum(), kept]
            });
            let program = EntryProgram::new(role, &self.table, &options)?.counting(funnel.clone())?;
            Ok(file_rows(Arc::new(program), &self.table, manifests, threads(options.threads)))
        })?;
        // The lists do not record how many rows the files of a manifest have.
        if let Some(manifests) = steps.first_mut() {
            (manifests.rows_kept, manifests.rows_total) = (None, None);
        }
        Ok(steps)
    }
}

fn of_manifest(manifest: &ManifestFile) -> Amount {
    Amount { count: 1, rows: 0, bytes: manifest.file_size }
}
