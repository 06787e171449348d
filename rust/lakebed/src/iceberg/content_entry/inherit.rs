//! What entries of a leaf inherit from its entry in the root (Iceberg's `V4ManifestReader.java`, `TrackingStruct.java`).

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Int32Array, Int64Array};

use super::fields::{ADDED, EXISTING, MODIFIED};
use super::mumbling::MumblingBitmap;
use crate::error::{Error, ErrorKind, Result};

/// A leaf manifest as its root lists it.
#[derive(Debug, Clone, Default)]
pub struct ListedLeaf {
    /// The snapshot that added it.
    pub snapshot_id: Option<i64>,
    /// The sequence number of that snapshot.
    pub sequence_number: Option<i64>,
    /// The row id from which files without one are counted.
    pub first_row_id: Option<i64>,
    /// The number of its entries.
    pub record_count: Option<i64>,
    /// The positions of entries that are no longer live.
    pub dv: Option<MumblingBitmap>,
}

/// Whether an entry counts, by its status alone.
pub(super) fn is_live(status: i32) -> bool {
    matches!(status, EXISTING | ADDED | MODIFIED)
}

impl ListedLeaf {
    pub(super) fn snapshot_ids(&self, stored: &Int64Array) -> ArrayRef {
        Arc::new(stored.iter().map(|id| id.or(self.snapshot_id)).collect::<Int64Array>())
    }

    /// Added files inherit the number, all of them where it is 0, which it is in tables that were of version 1.
    pub(super) fn sequence_numbers(&self, stored: &Int64Array, statuses: &Int32Array) -> ArrayRef {
        let number = |(number, status): (Option<i64>, &i32)| {
            let inherited = self.sequence_number.filter(|inherited| *status == ADDED || *inherited == 0);
            number.or(inherited)
        };
        Arc::new(stored.iter().zip(statuses.values()).map(number).collect::<Int64Array>())
    }

    /// Which entries of a batch count, whose first is at `first` in the manifest.
    pub(super) fn live(&self, statuses: &Int32Array, first: u64) -> BooleanArray {
        let is_deleted = |position| self.dv.as_ref().is_some_and(|dv| dv.has(position));
        let live = (first..).zip(statuses.values());
        live.map(|(position, status)| Some(is_live(*status) && !is_deleted(position))).collect()
    }

    /// Compares what the root says of the manifest with the number of its entries; whether there are more.
    ///
    /// # Errors
    /// `Mismatch` for fewer entries than listed, and for a deletion vector with a position behind the last.
    pub(super) fn check(&self, entries: u64) -> Result<bool> {
        let listed = self.record_count.and_then(|count| u64::try_from(count).ok());
        if let Some(listed) = listed.filter(|listed| *listed > entries) {
            let message = format!("the manifest holds {entries} entries, its root lists {listed}");
            return Err(Error::new(ErrorKind::Mismatch, message));
        }
        match self.dv.as_ref().and_then(MumblingBitmap::last) {
            Some(last) if u64::from(last) >= entries => {
                let message =
                    format!("the manifest holds {entries} entries, its root deletes the one at {last}");
                Err(Error::new(ErrorKind::Mismatch, message).in_field("dv"))
            }
            _ => Ok(listed.is_some_and(|listed| listed < entries)),
        }
    }
}

/// Counts row ids over the batches of a manifest.
pub(super) struct InheritedRowIds(Option<i64>);

impl InheritedRowIds {
    /// From what the root lists; without it, ids that are not stored are unknown.
    pub(super) fn of(listed: Option<&ListedLeaf>) -> InheritedRowIds {
        InheritedRowIds(listed.and_then(|leaf| leaf.first_row_id))
    }

    /// The ids of the first rows of a batch. Live entries without one begin where the one before ends: equality deletes
    /// and manifests too, and entries that a deletion vector of the manifest deletes, which had been counted before it
    /// was made.
    pub(super) fn next(
        &mut self,
        stored: &Int64Array,
        statuses: &Int32Array,
        rows: &Int64Array,
    ) -> Result<ArrayRef> {
        let Some(mut next) = self.0 else {
            return Ok(arrow_array::new_null_array(stored.data_type(), stored.len()));
        };
        let entries = stored.iter().zip(statuses.values()).zip(rows.values()).enumerate();
        let ids = entries.map(|(row, ((id, status), rows))| {
            if id.is_some() || !is_live(*status) {
                return Ok(id);
            }
            let id = next;
            let after = if *rows >= 0 { id.checked_add(*rows) } else { None };
            next = after.ok_or_else(|| {
                let message = format!("row ids cannot be counted from {id}: record_count is {rows}");
                Error::new(ErrorKind::Mismatch, message).in_field("record_count").in_row(row)
            })?;
            Ok(Some(id))
        });
        let ids = ids.collect::<Result<Int64Array>>()?;
        self.0 = Some(next);
        Ok(Arc::new(ids))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn longs(column: &ArrayRef) -> Vec<Option<i64>> {
        crate::record::typed::<Int64Array>(column, "longs").unwrap().iter().collect()
    }

    #[test]
    fn only_added_entries_inherit_a_sequence_number_unless_it_is_0() {
        let stored = Int64Array::from(vec![None, None, None, None, None, Some(7)]);
        let statuses = Int32Array::from(vec![0, 1, 2, 3, 4, 1]);
        let of = |number| ListedLeaf { sequence_number: Some(number), ..ListedLeaf::default() };
        let nine = longs(&of(9).sequence_numbers(&stored, &statuses));
        assert_eq!(nine, [None, Some(9), None, None, None, Some(7)]);
        let zero = longs(&of(0).sequence_numbers(&stored, &statuses));
        assert_eq!(zero, [Some(0), Some(0), Some(0), Some(0), Some(0), Some(7)]);
        let none = longs(&ListedLeaf::default().sequence_numbers(&stored, &statuses));
        assert_eq!(none, [None, None, None, None, None, Some(7)]);
    }

    #[test]
    fn live_entries_have_row_ids_whatever_the_deletion_vector_says() {
        let dv = MumblingBitmap::of([1]).unwrap();
        let listed = ListedLeaf { first_row_id: Some(100), dv: Some(dv), ..ListedLeaf::default() };
        let (stored, rows) =
            (Int64Array::from(vec![None, None, Some(5), None, None]), vec![10, 20, 30, 40, 50]);
        let (statuses, rows) = (Int32Array::from(vec![1, 0, 4, 2, 4]), Int64Array::from(rows));
        let mut ids = InheritedRowIds::of(Some(&listed));
        let found = longs(&ids.next(&stored, &statuses, &rows).unwrap());
        assert_eq!(found, [Some(100), Some(110), Some(5), None, Some(130)]);
        let one = Int64Array::from(vec![None]);
        let more = ids.next(&one, &Int32Array::from(vec![1]), &Int64Array::from(vec![1])).unwrap();
        assert_eq!(longs(&more), [Some(180)]);
        let live = listed.live(&statuses, 0);
        assert_eq!(live, BooleanArray::from(vec![true, false, true, false, true]));
        assert_eq!(listed.live(&Int32Array::from(vec![1]), 1), BooleanArray::from(vec![false]));
        for rows in [-1, i64::MAX] {
            let mut ids = InheritedRowIds::of(Some(&listed));
            let error =
                ids.next(&one, &Int32Array::from(vec![1]), &Int64Array::from(vec![rows])).unwrap_err();
            assert_eq!((error.kind(), error.location().record), (ErrorKind::Mismatch, Some(0)));
        }
    }

    #[test]
    fn what_the_root_lists_is_compared_with_the_entries() {
        let listed = |count| ListedLeaf { record_count: Some(count), ..ListedLeaf::default() };
        assert!(!listed(3).check(3).unwrap());
        assert!(listed(2).check(3).unwrap());
        assert_eq!(listed(4).check(3).unwrap_err().kind(), ErrorKind::Mismatch);
        let dv = MumblingBitmap::of([3]).unwrap();
        let deleting = ListedLeaf { dv: Some(dv), ..ListedLeaf::default() };
        assert!(!deleting.check(4).unwrap());
        assert_eq!(deleting.check(3).unwrap_err().kind(), ErrorKind::Mismatch);
    }
}
