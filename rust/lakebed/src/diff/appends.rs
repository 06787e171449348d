//! Scans the files that appends added.

use arrow_schema::SchemaRef;

use crate::distributed::{Bounds, Distributed, Planned};
use crate::error::Result;
use crate::notes::Notes;
use crate::scan::{Batches, Scan, ScanOptions, Step, limited};

/// What a format provides about the appends between two snapshots.
pub(crate) trait Appends: Send + Sync + Sized {
    /// The schema of the rows: the requested columns of the view `files`.
    fn schema(&self) -> &SchemaRef;

    /// The requested rows and columns.
    fn options(&self) -> &ScanOptions;

    /// The same appends with other columns.
    ///
    /// # Errors
    /// `UnknownColumn`.
    fn with(&self, options: ScanOptions) -> Result<Self>;

    /// Reads the manifest lists of the appends. Returns how many manifests the filter leaves, and their rows.
    ///
    /// # Errors
    /// Those of reading the lists.
    fn read(&self) -> Result<(Step, Batches)>;

    /// The work for several processes. Reads the manifest lists of the appends.
    ///
    /// # Errors
    /// Those of reading the lists and schemas.
    fn job(&self, bounds: &Bounds) -> Result<Planned>;

    /// What is unusual about the manifests that were read.
    fn notes(&self) -> Notes {
        Notes::default()
    }
}

/// The files that appends added, resolved: the snapshots are known, no manifest list is read.
pub(crate) struct AppendScan<A>(pub(crate) A);

impl<A: Appends> Scan for AppendScan<A> {
    fn schema(&self) -> &SchemaRef {
        self.0.schema()
    }

    fn stream(&self) -> Result<Batches> {
        limited(self.0.options().limit, || Ok(self.0.read()?.1))
    }

    fn notes(&self) -> Notes {
        self.0.notes()
    }

    fn explain(&self) -> Result<Vec<Step>> {
        let columns = Some(vec!["record_count".to_owned()]);
        let options = ScanOptions { columns, stats: None, limit: None, ..self.0.options().clone() };
        let (manifests, files) = self.0.with(options)?.read()?;
        let files = files.map(|files| Ok(files?.num_rows() as u64)).sum::<Result<u64>>()?;
        Ok(vec![manifests, Step::rows("files", files, files, "added by an append")])
    }
}

impl<A: Appends> Distributed for AppendScan<A> {
    fn job(&self, bounds: &Bounds) -> Result<Option<Planned>> {
        self.0.job(bounds).map(|planned| bounds.unless_small(planned))
    }

    fn is_light(&self) -> bool {
        true
    }
}

/// The funnel's step for the manifests that appends wrote: those that are read, and those that are pruned.
pub(crate) fn appended_step<M>(read: &[M], pruned: &[M], bytes: fn(&M) -> u64, why: &'static str) -> Step {
    let size = |manifests: &[M]| (manifests.len(), manifests.iter().map(bytes).sum::<u64>());
    let (read, others) = (size(read), size(pruned));
    manifests_step(read, (read.0 + others.0, read.1 + others.1), why)
}

/// The funnel's step for manifests: how many of how many are read, and their bytes.
pub(super) fn manifests_step(read: (usize, u64), all: (usize, u64), why: &'static str) -> Step {
    let step = Step::rows("manifests", read.0 as u64, all.0 as u64, why);
    Step { bytes_kept: Some(read.1), bytes_total: Some(all.1), ..step }
}
