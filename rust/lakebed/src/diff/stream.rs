//! The rows of a diff.

use std::collections::VecDeque;

use arrow_array::cast::AsArray;
use arrow_array::{BinaryArray, RecordBatch};
use arrow_select::filter::filter_record_batch;

use super::columns::ChangeColumns;
use super::net::Net;
use super::{Change, Leg, internal};
use crate::error::{Error, ErrorKind, Result};
use crate::scan::Batches;

/// The rows of legs, leg by leg: of the files that do not cancel.
pub(super) struct Differences {
    legs: VecDeque<Leg>,
    columns: ChangeColumns,
    /// What differs; `None` where all files do, since nothing can cancel.
    net: Option<Net>,
    started: bool,
    open: Option<Open>,
}

/// The leg that is being read.
struct Open {
    change: Change,
    rows: Batches,
    /// Files that are still to be found.
    left: u64,
}

impl Differences {
    pub(super) fn new(legs: Vec<Leg>, columns: ChangeColumns) -> Differences {
        Differences { legs: legs.into(), columns, net: None, started: false, open: None }
    }

    fn read_batch(&mut self) -> Result<Option<RecordBatch>> {
        if !self.started {
            self.started = true;
            self.net = if one_way(&self.legs) { None } else { Some(count(&self.legs)?.0) };
        }
        loop {
            let Some(open) = &mut self.open else {
                let Some(leg) = self.legs.pop_front() else { return Ok(None) };
                let left = self.net.as_ref().map_or(u64::MAX, |net| net.left(leg.change));
                self.open = Some(Open { change: leg.change, rows: (leg.rows)(), left });
                continue;
            };
            let files = if open.left == 0 { None } else { open.rows.next().transpose()? };
            let Some(mut files) = files else {
                self.open = None;
                continue;
            };
            if let Some(net) = &mut self.net {
                let claimed = net.claim(identities(&files)?, open.change);
                files = filter_record_batch(&files, &claimed).map_err(internal)?;
                open.left = open.left.saturating_sub(files.num_rows() as u64);
            }
            if files.num_rows() > 0 {
                return self.columns.build(&files, open.change.name()).map(Some);
            }
        }
    }
}

impl Iterator for Differences {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        self.read_batch().transpose()
    }
}

/// Whether no leg can take away what another one says.
fn one_way(legs: &VecDeque<Leg>) -> bool {
    let mut changes = legs.iter().map(|leg| leg.change);
    let first = changes.next();
    changes.all(|change| Some(change) == first)
}

/// Reads the identities of all legs: what differs, and how many entries there are.
pub(super) fn count<'l>(legs: impl IntoIterator<Item = &'l Leg>) -> Result<(Net, u64)> {
    let (mut net, mut entries) = (Net::default(), 0);
    for leg in legs {
        for files in (leg.identities)() {
            let files = files?;
            net.count(identities(&files)?, leg.change);
            entries += files.num_rows() as u64;
        }
    }
    Ok((net, entries))
}

fn identities(files: &RecordBatch) -> Result<&BinaryArray> {
    let last = files.columns().last().and_then(|column| column.as_binary_opt::<i32>());
    last.ok_or_else(|| Error::new(ErrorKind::Argument, "files come without their identities"))
}
