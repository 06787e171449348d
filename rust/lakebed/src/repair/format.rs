//! What a table format says of repairs.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Repair, RepairKind, RowChange};
use crate::error::{Error, Result};
use crate::scan::Format;

/// What can be done about the tables of a format, beside what holds for all. What is provided is for a format of which
/// that is not known.
pub(crate) trait TableRepairs<F: Format>: 'static {
    /// Whether readers miss just the rows of a data file that is taken out.
    fn removes_rows(_table: &F) -> bool {
        true
    }

    /// What readers see where the commit of the table's snapshot is undone.
    ///
    /// # Errors
    /// Those of reading the snapshot.
    fn undone(_table: &F) -> Result<RowChange> {
        Ok(RowChange::UNKNOWN)
    }

    /// The current snapshot, and what is wrong, where the table is on `main` and that is at another one.
    fn wrong_main(_table: &F) -> Option<(i64, Error)> {
        None
    }

    /// The repair of the list of the table's snapshot, where it cannot be read.
    ///
    /// # Errors
    /// Those of the storage.
    fn gone_list(_table: &F, _threads: usize) -> Result<Option<Repair>> {
        Ok(None)
    }

    /// Repairs of other snapshots than the current one whose lists cannot be read.
    ///
    /// # Errors
    /// Those of the storage, and of reading the snapshots.
    fn gone_snapshots(_table: &F, _threads: usize) -> Result<Vec<Repair>> {
        Ok(Vec::new())
    }

    /// The repairs after which the table's snapshot has only the manifests `kept`; the others cannot be read.
    ///
    /// # Errors
    /// Those of reading manifests.
    fn without_manifests(
        table: &F,
        damaged: &[(F::Manifest, Arc<Error>)],
        _kept: &[F::Manifest],
        _threads: usize,
    ) -> Result<Vec<Repair>> {
        Ok(each_left_out(table, damaged, |_| RowChange::UNKNOWN))
    }

    /// Repairs, of these kinds, of deletes in these manifests that are in another partition than the data file that they
    /// are of, or of which a data file has more than the one that it may have.
    ///
    /// # Errors
    /// Those of reading manifests.
    fn misplaced_deletes(
        _table: &F,
        _manifests: &[F::Manifest],
        _kinds: &BTreeSet<RepairKind>,
        _threads: usize,
    ) -> Result<Vec<Repair>> {
        Ok(Vec::new())
    }
}

/// A repair for each of these manifests of a snapshot, which cannot be read: the list names them no more.
pub(crate) fn each_left_out<F: Format>(
    table: &F,
    damaged: &[(F::Manifest, Arc<Error>)],
    change: impl Fn(&F::Manifest) -> RowChange,
) -> Vec<Repair> {
    let repair = |(manifest, error): &(F::Manifest, Arc<Error>)| {
        let (path, size) = (table.path_of(manifest), F::size_of(manifest));
        let size = size.and_then(|size| i64::try_from(size).ok());
        Repair { size, ..Repair::new(RepairKind::Manifests, path, error.message(), change(manifest)) }
    };
    damaged.iter().map(repair).collect()
}
