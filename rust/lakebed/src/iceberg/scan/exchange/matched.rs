//! The rows of a plan, made of the deletes and data files of a part.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{RecordBatch, UInt32Array};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;

use super::by_path::ByPath;
use crate::distributed::Gather;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::scan::deletes::DeletesBuilder;
use crate::iceberg::scan::planned::Matching;
use crate::iceberg::scan::program::EntryProgram;
use crate::iceberg::types::Schema;
use crate::record::find;
use crate::scan::{Batches, DeletesAs};

/// The sides of a plan. Rows are made of the first two.
pub(super) const DELETES: i32 = 0;
pub(super) const DATA: i32 = 1;
/// Deletes of one file each, and data files, both distributed by the path of the file.
pub(super) const DELETES_BY_PATH: i32 = 2;
pub(super) const DATA_BY_PATH: i32 = 3;

/// The column with the position of a delete among those of the snapshot: the number of its manifest, then its
/// own. Deletes are numbered in this order, and listed in it where no other order is defined.
pub(super) const PLACE: &str = "_place";

/// The rows of a part: deletes are added before the first data file.
pub(super) struct PlanGather {
    shown_as: DeletesAs,
    /// Deletes, in any order.
    waiting: Vec<RecordBatch>,
    /// What `matching` is built from: the program that shows data files, and, where deletes are requested,
    /// the builder of deletes with the table's schemas.
    made_of: Option<(EntryProgram, Option<Taking>)>,
    /// Set once there is a data file.
    matching: Option<Matching>,
    /// `None` after a delete that did not fit.
    by_path: Option<ByPath>,
}

type Taking = (DeletesBuilder, Vec<Arc<Schema>>);

impl PlanGather {
    pub(super) fn new(
        program: EntryProgram,
        deletes: Option<Taking>,
        by_path: ByPath,
        shown_as: DeletesAs,
    ) -> PlanGather {
        let (made_of, by_path) = (Some((program, deletes)), Some(by_path));
        PlanGather { shown_as, waiting: Vec::new(), made_of, matching: None, by_path }
    }
}

impl Gather for PlanGather {
    fn push(&mut self, side: i32, rows: RecordBatch) -> Result<Batches> {
        if side == DELETES_BY_PATH || side == DATA_BY_PATH {
            // The rows of the part are complete, so its deletes need no more memory.
            self.matching = None;
            self.hold(side, &rows).map_err(|error| error.in_field(self.shown_as.column()))?;
            return Ok(Box::new(std::iter::empty()));
        }
        match (side, self.made_of.take()) {
            (DELETES, Some(made_of)) => {
                self.made_of = Some(made_of);
                self.waiting.push(rows);
                return Ok(Box::new(std::iter::empty()));
            }
            (DATA, Some((program, deletes))) => {
                let deletes = deletes.map(|(mut deletes, schemas)| {
                    if let Some(waiting) = in_place(&std::mem::take(&mut self.waiting))? {
                        deletes.push(&waiting)?;
                    }
                    deletes.finish(&schemas)
                });
                self.matching = Some(Matching::new(program, deletes.transpose()?, self.shown_as)?);
            }
            (_, _) => {}
        }
        match &self.matching {
            Some(matching) if side == DATA => Ok(matching.rows(rows)),
            _ => Err(Error::new(ErrorKind::Argument, format!("side {side} of a plan is not expected now"))),
        }
    }
}

impl PlanGather {
    /// Checks deletes of one file each against the files.
    fn hold(&mut self, side: i32, rows: &RecordBatch) -> Result<()> {
        let by_path = self.by_path.take();
        let mut by_path = by_path.ok_or_else(|| {
            Error::new(ErrorKind::Argument, "deletes come after the rows that they are matched with")
        })?;
        match side {
            DELETES_BY_PATH => by_path.deletes(rows)?,
            _ => by_path = by_path.files(rows)?,
        }
        self.by_path = Some(by_path);
        Ok(())
    }
}

/// Deletes in the order of the snapshot.
fn in_place(deletes: &[RecordBatch]) -> Result<Option<RecordBatch>> {
    let Some(first) = deletes.first() else { return Ok(None) };
    let deletes = concat_batches(&first.schema(), deletes)?;
    let places = find(&deletes, PLACE)?;
    let places = places.as_primitive::<Int64Type>().values();
    let rows = u32::try_from(places.len())
        .map_err(|_| Error::new(ErrorKind::Unsupported, "more than 2^32 deletes"))?;
    let mut order: Vec<u32> = (0..rows).collect();
    order.sort_unstable_by_key(|row| places.get(*row as usize));
    take_record_batch(&deletes, &UInt32Array::from(order)).map(Some).map_err(Into::into)
}
