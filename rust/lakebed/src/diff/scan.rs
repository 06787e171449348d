//! A diff as a scan.

use arrow_schema::SchemaRef;

use super::columns::ChangeColumns;
use super::stream::{Differences, count};
use super::{Change, DiffInputs, Sides};
use crate::distributed::{Bounds, Distributed, Planned};
use crate::error::Result;
use crate::notes::Notes;
use crate::scan::{Batches, Scan, Step, limited};

/// The difference of two snapshots, resolved: the schema is known, no manifest list is read.
pub(crate) struct DiffScan<S> {
    sides: S,
    columns: ChangeColumns,
    limit: Option<usize>,
}

impl<S: Sides> DiffScan<S> {
    /// The difference of `sides` in `columns`, at most `limit` rows.
    pub(crate) fn new(sides: S, columns: ChangeColumns, limit: Option<usize>) -> DiffScan<S> {
        DiffScan { sides, columns, limit }
    }
}

impl<S: Sides> Scan for DiffScan<S> {
    fn schema(&self) -> &SchemaRef {
        self.columns.schema()
    }

    fn stream(&self) -> Result<Batches> {
        limited(self.limit, || {
            let DiffInputs { inputs, .. } = self.sides.inputs()?;
            Ok(Box::new(Differences::new(inputs, self.columns.clone())))
        })
    }

    fn notes(&self) -> Notes {
        self.sides.notes()
    }

    fn explain(&self) -> Result<Vec<Step>> {
        let DiffInputs { inputs, manifests } = self.sides.inputs()?;
        let (net, entries) = count(&inputs)?;
        let files = net.left(Change::Removed) + net.left(Change::Added);
        Ok(vec![manifests, Step::rows("files", files, entries, "live in one snapshot only")])
    }
}

impl<S: Sides> Distributed for DiffScan<S> {
    fn job(&self, bounds: &Bounds) -> Result<Option<Planned>> {
        self.sides.job(bounds).map(|planned| bounds.unless_small(planned))
    }

    fn is_light(&self) -> bool {
        true
    }
}
