//! The rows of a plan, made of the deletes and data files of a part.

use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch, StringArray, UInt32Array};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;

use crate::distributed::{Pieces, Reduce, foreign, nothing, rows, sides};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::deletes::{DeleteIndex, DeleteIndexBuilder};
use crate::iceberg::scan::deletes::DeletesBuilder;
use crate::iceberg::scan::planned::PlanRowBuilder;
use crate::iceberg::scan::program::EntryProgram;
use crate::iceberg::table::TableTypes;
use crate::iceberg::types::Schema;
use crate::record::column;
use crate::scan::DeletesAs;

sides! {
    pub(super) enum PlanSide {
        /// Rows are made of this side and the next one.
        Deletes,
        Data,
        /// Deletes of one file each, moved by the path of the file.
        DeletesByPath,
        /// Data files, moved by their path.
        DataByPath,
    }
}

/// The column with the position of a delete among those of the snapshot: the number of its manifest, then its
/// own. Deletes are numbered in this order, and listed in it where no other order is defined.
pub(super) const PLACE: &str = "_place";

/// The rows of a part: deletes are added before the first data file.
pub(super) struct PlanReduce {
    shown_as: DeletesAs,
    /// Deletes, in any order.
    waiting: Vec<RecordBatch>,
    /// What `matching` is built from: the program that shows data files, and, where deletes are requested,
    /// the builder of deletes with the table's schemas.
    made_of: Option<(EntryProgram, Option<Taking>)>,
    /// Set once there is a data file.
    matching: Option<PlanRowBuilder>,
    /// Deletes of one file each, moved by the path of the file; set until the first data file that was moved so.
    of_one: Option<DeleteIndexBuilder>,
    /// The same from then on. A delete of another spec or partition than its file is in another part than that, where it
    /// applies to nothing.
    by_path: Option<DeleteIndex>,
}

type Taking = (DeletesBuilder, Vec<Arc<Schema>>);

impl PlanReduce {
    pub(super) fn new(
        program: EntryProgram,
        deletes: Option<Taking>,
        types: TableTypes,
        shown_as: DeletesAs,
    ) -> Result<PlanReduce> {
        let (made_of, of_one) = (Some((program, deletes)), Some(DeleteIndexBuilder::new(types)?));
        Ok(PlanReduce { shown_as, waiting: Vec::new(), made_of, matching: None, of_one, by_path: None })
    }
}

impl Reduce for PlanReduce {
    fn push(&mut self, side: i32, entries: RecordBatch) -> Result<Pieces> {
        match PlanSide::of(side)? {
            side @ (PlanSide::DeletesByPath | PlanSide::DataByPath) => {
                // The rows of the part are complete, so its deletes need no more memory.
                (self.matching, self.made_of) = (None, None);
                self.check(side, &entries).map_err(|error| error.in_field(self.shown_as.column()))?;
                nothing()
            }
            PlanSide::Deletes if self.matching.is_none() => {
                self.waiting.push(entries);
                nothing()
            }
            PlanSide::Deletes => {
                Err(Error::new(ErrorKind::Argument, "deletes after the files that they apply to"))
            }
            PlanSide::Data => Ok(rows(self.matching()?.rows(entries))),
        }
    }
}

impl PlanReduce {
    /// What rows are made with, once all deletes are there.
    fn matching(&mut self) -> Result<&PlanRowBuilder> {
        if let Some((program, deletes)) = self.made_of.take() {
            let deletes = deletes.map(|(mut deletes, schemas)| {
                if let Some(waiting) = in_place(&std::mem::take(&mut self.waiting))? {
                    deletes.push(&waiting)?;
                }
                deletes.finish(&schemas)
            });
            self.matching = Some(PlanRowBuilder::new(program, deletes.transpose()?, self.shown_as)?);
        }
        self.matching.as_ref().ok_or_else(|| Error::new(ErrorKind::Argument, "rows of a plan are complete"))
    }

    /// Checks deletes of one file each against the files.
    ///
    /// # Errors
    /// `Unsupported` for a file with a delete of another spec or partition; those of the index.
    fn check(&mut self, side: PlanSide, entries: &RecordBatch) -> Result<()> {
        if side == PlanSide::DeletesByPath {
            let deletes = self.of_one.as_mut().ok_or_else(|| foreign("deletes after data files"))?;
            return deletes.push(entries);
        }
        if let Some(deletes) = self.of_one.take() {
            self.by_path = Some(deletes.finish(Vec::new())?);
        }
        let index = self.by_path.as_ref().ok_or_else(|| foreign("data files after an error"))?;
        let (files, paths) = (index.files(entries)?, column::<StringArray>(entries, "file_path")?);
        for row in 0..entries.num_rows() {
            if index.has_foreign(&files, row)? {
                let message = format!(
                    "a delete of {} alone is of another spec or partition: deletes=\"ids\" plans it, as one \
                    process does",
                    paths.value(row)
                );
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        }
        Ok(())
    }
}

/// Deletes in the order of the snapshot.
fn in_place(deletes: &[RecordBatch]) -> Result<Option<RecordBatch>> {
    let Some(first) = deletes.first() else { return Ok(None) };
    let deletes = concat_batches(&first.schema(), deletes)?;
    let places = column::<Int64Array>(&deletes, PLACE)?.values();
    let rows = u32::try_from(places.len())
        .map_err(|_| Error::new(ErrorKind::Unsupported, "more than 2^32 deletes"))?;
    let mut order: Vec<u32> = (0..rows).collect();
    order.sort_unstable_by_key(|row| places.get(*row as usize));
    take_record_batch(&deletes, &UInt32Array::from(order)).map(Some).map_err(Into::into)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::ArrayRef;

    use super::*;
    use crate::record::mistyped;

    #[test]
    fn deletes_are_put_in_their_places() {
        let places: ArrayRef = Arc::new(Int64Array::from(vec![7, 1, 4]));
        let deletes = RecordBatch::try_from_iter([(PLACE, places)]).expect("deletes");
        let sorted = in_place(std::slice::from_ref(&deletes)).expect("places").expect("deletes");
        assert_eq!(column::<Int64Array>(&sorted, PLACE).expect("places").values(), &[1, 4, 7]);
        for (name, deletes) in mistyped(&deletes) {
            let error = in_place(&[deletes]).expect_err(&name);
            assert_eq!(
                (error.kind(), error.location().field.as_deref()),
                (ErrorKind::Mismatch, Some(&*name))
            );
        }
    }
}
