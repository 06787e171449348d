//! The rows of a diff: the reduce of one process, and of each part.

use arrow_array::cast::AsArray;
use arrow_array::{BinaryArray, RecordBatch};
use arrow_select::filter::filter_record_batch;

use super::columns::ChangeColumns;
use super::net::NetCounts;
use super::{Change, DiffInput};
use crate::distributed::{Piece, Pieces, Reduce, batches, foreign, nothing, one, reduced_here};
use crate::error::{Error, ErrorKind, Result};
use crate::scan::Batches;

/// The sides: the identities of removed and of added files, then the files of each input.
#[derive(Debug, Clone, Copy)]
pub(super) enum DiffSide {
    Identities(Change),
    Files(usize),
}

/// The number of the side of the first input.
const FILES: i32 = 2;

impl From<DiffSide> for i32 {
    fn from(side: DiffSide) -> i32 {
        match side {
            DiffSide::Identities(Change::Removed) => 0,
            DiffSide::Identities(Change::Added) => 1,
            DiffSide::Files(input) => FILES.saturating_add(i32::try_from(input).unwrap_or(i32::MAX)),
        }
    }
}

impl DiffSide {
    fn of(number: i32) -> Result<DiffSide> {
        match number {
            0 => Ok(DiffSide::Identities(Change::Removed)),
            1 => Ok(DiffSide::Identities(Change::Added)),
            input => Ok(DiffSide::Files(usize::try_from(input.saturating_sub(FILES)).map_err(foreign)?)),
        }
    }
}

/// The difference in one part, or of all files.
pub(super) struct DiffReduce {
    changes: Vec<Change>,
    columns: ChangeColumns,
    /// The difference; `None` where nothing can cancel and all files differ.
    net: Option<NetCounts>,
    /// The input whose files are taken, and how many of them are still to be found.
    left: Option<(usize, u64)>,
}

impl DiffReduce {
    /// The difference of inputs with these changes.
    pub(super) fn new(changes: Vec<Change>, columns: ChangeColumns) -> DiffReduce {
        let net = (!one_way(changes.iter().copied())).then(NetCounts::default);
        DiffReduce { changes, columns, net, left: None }
    }

    /// Whether it needs identities first.
    pub(super) fn cancels(&self) -> bool {
        self.net.is_some()
    }

    /// How an input's files change.
    fn change_of(&self, input: usize) -> Result<Change> {
        self.changes.get(input).copied().ok_or_else(|| foreign(format!("input {input}")))
    }
}

impl Reduce for DiffReduce {
    fn push(&mut self, side: i32, rows: RecordBatch) -> Result<Pieces> {
        let input = match DiffSide::of(side)? {
            DiffSide::Identities(change) => {
                let net = self.net.as_mut().ok_or_else(|| foreign("identities where nothing cancels"))?;
                net.count(identities(&rows)?, change);
                return nothing();
            }
            DiffSide::Files(input) => input,
        };
        let (change, mut rows) = (self.change_of(input)?, rows);
        if let Some(net) = &mut self.net {
            rows = filter_record_batch(&rows, &net.claim(identities(&rows)?, change))?;
        }
        if let Some((_, left)) = &mut self.left {
            *left = left.saturating_sub(rows.num_rows() as u64);
        }
        match rows.num_rows() {
            0 => nothing(),
            _ => one(Piece::rows(self.columns.build(&rows, change.name())?)),
        }
    }

    fn is_done(&mut self, side: i32) -> bool {
        let (Some(net), Ok(DiffSide::Files(input))) = (&self.net, DiffSide::of(side)) else { return false };
        let Ok(change) = self.change_of(input) else { return false };
        let known = self.left.filter(|(known, _)| *known == input);
        self.left = Some(known.unwrap_or_else(|| (input, net.left(change))));
        self.left.is_some_and(|(_, left)| left == 0)
    }
}

/// The rows of the files that do not cancel, one input after another: the job's reduce in this process, where each input
/// is read for its identities alone before, and no further than its last difference.
pub(super) fn differences(inputs: &[DiffInput], columns: ChangeColumns) -> Batches {
    let changes: Vec<Change> = inputs.iter().map(|input| input.change).collect();
    let reduce = DiffReduce::new(changes, columns);
    let counted = inputs.iter().filter(|_| reduce.cancels());
    let counted = counted.map(|input| (DiffSide::Identities(input.change), (input.identities)()));
    let rows = inputs.iter().enumerate().map(|(number, input)| (DiffSide::Files(number), (input.rows)()));
    let sides: Vec<_> = counted.chain(rows).map(|(side, batches)| Ok((side.into(), batches))).collect();
    batches(reduced_here(sides, reduce))
}

/// Whether all inputs have the same change, so that nothing can cancel.
pub(super) fn one_way(mut changes: impl Iterator<Item = Change>) -> bool {
    let first = changes.next();
    changes.all(|change| Some(change) == first)
}

/// Reads the identities of all inputs. Returns the difference, and the number of entries.
pub(super) fn count<'l>(inputs: impl IntoIterator<Item = &'l DiffInput>) -> Result<(NetCounts, u64)> {
    let (mut net, mut entries) = (NetCounts::default(), 0);
    for input in inputs {
        for files in (input.identities)() {
            let files = files?;
            net.count(identities(&files)?, input.change);
            entries += files.num_rows() as u64;
        }
    }
    Ok((net, entries))
}

/// The last column, which has the identities of the files.
pub(super) fn identities(files: &RecordBatch) -> Result<&BinaryArray> {
    let last = files.columns().last().and_then(|column| column.as_binary_opt::<i32>());
    last.ok_or_else(|| Error::new(ErrorKind::Argument, "files come without their identities"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::StringArray;
    use arrow_schema::{DataType, Field, Schema};

    use super::*;
    use crate::diff::Reader;
    use crate::scan::ScanOptions;

    fn batch(names: &[&str]) -> RecordBatch {
        let fields =
            [Field::new("file_path", DataType::Utf8, true), Field::new("_id", DataType::Binary, true)];
        let ids = BinaryArray::from_iter_values(names.iter().map(|name| name.as_bytes()));
        let paths = StringArray::from_iter_values(names);
        RecordBatch::try_new(Arc::new(Schema::new(fields.to_vec())), vec![Arc::new(paths), Arc::new(ids)])
            .expect("two columns")
    }

    /// Gives a batch for each of `batches`, then an error.
    fn reader(batches: &'static [&'static [&'static str]]) -> Reader {
        Box::new(move || {
            let behind = std::iter::once_with(|| Err(Error::new(ErrorKind::Io, "read too far")));
            Box::new(batches.iter().map(|names| Ok(batch(names))).chain(behind))
        })
    }

    fn whole(batches: &'static [&'static [&'static str]]) -> Reader {
        Box::new(move || Box::new(batches.iter().map(|names| Ok(batch(names)))))
    }

    fn rows(inputs: &[DiffInput]) -> Vec<String> {
        let files = Schema::new(vec![Field::new("file_path", DataType::Utf8, true)]);
        let columns = ChangeColumns::new(&ScanOptions::default(), &files);
        let mut rows = Vec::new();
        for batch in differences(inputs, columns) {
            let batch = batch.expect("rows");
            let (changes, paths) = (batch.column(0).as_string::<i32>(), batch.column(1).as_string::<i32>());
            let both = changes.iter().zip(paths).filter_map(|(change, path)| change.zip(path));
            rows.extend(both.map(|(change, path)| format!("{change} {path}")));
        }
        rows
    }

    #[test]
    fn equal_files_cancel_and_reading_stops_after_the_last_difference() {
        let removed: &[&[&str]] = &[&["a", "kept"], &["b"]];
        let added: &[&[&str]] = &[&["kept"], &["c", "c"]];
        let inputs = [
            DiffInput { change: Change::Removed, identities: whole(removed), rows: reader(removed) },
            DiffInput { change: Change::Added, identities: whole(added), rows: reader(added) },
        ];
        assert_eq!(rows(&inputs), ["removed a", "removed b", "added c", "added c"]);
    }

    #[test]
    fn where_nothing_can_cancel_identities_are_not_read() {
        let added: &[&[&str]] = &[&["a"], &[], &["b"]];
        let inputs = [DiffInput { change: Change::Added, identities: reader(&[]), rows: whole(added) }];
        assert_eq!(rows(&inputs), ["added a", "added b"]);
        assert!(rows(&[]).is_empty());
    }

    #[test]
    fn rewritten_manifests_are_read_for_identities_alone() {
        let files: &[&[&str]] = &[&["a", "b"]];
        let inputs = [
            DiffInput { change: Change::Removed, identities: whole(files), rows: reader(&[]) },
            DiffInput { change: Change::Added, identities: whole(files), rows: reader(&[]) },
        ];
        assert!(rows(&inputs).is_empty());
    }
}
