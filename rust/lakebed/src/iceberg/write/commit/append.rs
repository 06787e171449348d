//! Data files that come to a table (Iceberg's `FastAppend.java`).

use arrow_array::RecordBatch;

use super::attempt::{Change, Outcome, Snapshot};
use super::base::Base;
use super::given::{Given, entries_of};
use super::scratch::Scratch;
use super::store::{count_files, joined, write_entries};
use super::summary::Summary;
use crate::error::Result;
use crate::iceberg::write::ManifestContent;

/// Adds data files: one new manifest a spec, in front of all that are there.
pub(super) struct Append {
    files: Given,
}

impl Append {
    /// Of the files in one batch.
    pub(super) fn new(files: RecordBatch) -> Result<Append> {
        Ok(Append { files: Given::new(files)? })
    }
}

impl Change for Append {
    fn apply(&self, base: &Base, scratch: &mut Scratch) -> Result<Option<Outcome>> {
        let kept = base.manifests()?;
        let (mut summary, mut new) = (Summary::default(), Vec::new());
        for (spec_id, entries) in entries_of(&self.files, base)? {
            let spec = base.spec(spec_id)?;
            new.push(write_entries(base, scratch, spec, ManifestContent::Data, &entries)?);
            count_files(base, &mut summary, spec, &entries, true)?;
        }
        summary.manifests = [new.len(), kept.num_rows(), 0];
        let manifests = joined(&new, &kept)?;
        Ok(Some(Outcome::Snapshot(Snapshot { operation: "append", manifests, summary })))
    }
}
