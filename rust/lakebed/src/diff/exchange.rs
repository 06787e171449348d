//! Computes differences in parts: identities are combined first, then the rows of the files follow.

use arrow_array::RecordBatch;

use super::Change;
use super::columns::ChangeColumns;
use super::net::Net;
use super::stream::{claimed, identities, one_way};
use crate::distributed::{Gather, Pieces, hash, with_parts};
use crate::error::{Error, ErrorKind, Result};
use crate::scan::{Batches, once};

/// The sides of a diff: identities of removed files and of added files, then the rows of each input.
const INPUTS: i32 = 2;

/// The entries of a manifest of the input with that number in `changes`, as [`super::DiffInput::rows`] gives
/// them, divided by their identity. Where nothing can cancel, no separate identities are sent.
pub(crate) fn diff_pieces(rows: Batches, input: usize, changes: &[Change], parts: u32) -> Pieces {
    let alone = one_way(changes.iter().copied());
    let change = changes.get(input).copied().filter(|_| !alone).map(side_of);
    let input = INPUTS.saturating_add(i32::try_from(input).unwrap_or(i32::MAX));
    Box::new(rows.flat_map(move |rows| {
        let pieces = rows.and_then(|rows| {
            let last = rows.num_columns().saturating_sub(1);
            let identity = rows.project(&[last])?;
            let partitioned = |rows: &RecordBatch| {
                let keys = identities(&identity)?.iter().map(|key| key.map(hash));
                with_parts(rows, keys, parts)
            };
            let identities =
                change.map(|side| partitioned(&identity).map(|rows| (side, rows))).transpose()?;
            Ok(identities.into_iter().chain([(input, partitioned(&rows)?)]).collect::<Vec<_>>())
        });
        match pieces {
            Ok(pieces) => pieces.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        }
    }))
}

fn side_of(change: Change) -> i32 {
    match change {
        Change::Removed => 0,
        Change::Added => 1,
    }
}

/// The difference in one part.
pub(crate) struct DiffGather {
    changes: Vec<Change>,
    columns: ChangeColumns,
    /// The difference; `None` where nothing can cancel and all files differ.
    net: Option<Net>,
}

impl DiffGather {
    /// The difference of inputs with these changes, in these columns.
    pub(crate) fn new(changes: Vec<Change>, columns: ChangeColumns) -> DiffGather {
        let net = (!one_way(changes.iter().copied())).then(Net::default);
        DiffGather { changes, columns, net }
    }
}

impl Gather for DiffGather {
    fn push(&mut self, side: i32, rows: RecordBatch) -> Result<Batches> {
        let identified = [Change::Removed, Change::Added].into_iter().find(|change| side_of(*change) == side);
        if let (Some(change), Some(net)) = (identified, &mut self.net) {
            net.count(identities(&rows)?, change);
            return Ok(Box::new(std::iter::empty()));
        }
        let input = side.checked_sub(INPUTS).and_then(|input| usize::try_from(input).ok());
        let change = input.and_then(|input| self.changes.get(input)).copied();
        let change =
            change.ok_or_else(|| Error::new(ErrorKind::Argument, format!("a diff has no side {side}")))?;
        let rows = match &mut self.net {
            Some(net) => claimed(net, &rows, change)?,
            None => rows,
        };
        Ok(once(self.columns.build(&rows, change.name())?))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::{BinaryArray, StringArray};
    use arrow_schema::{DataType, Field, Schema};

    use super::*;
    use crate::scan::ScanOptions;

    fn files(names: &[&str]) -> RecordBatch {
        let fields =
            [Field::new("file_path", DataType::Utf8, true), Field::new("_identity", DataType::Binary, true)];
        let ids = BinaryArray::from_iter_values(names.iter().map(|name| name.as_bytes()));
        let paths = StringArray::from_iter_values(names);
        RecordBatch::try_new(Arc::new(Schema::new(fields.to_vec())), vec![Arc::new(paths), Arc::new(ids)])
            .expect("two columns")
    }

    /// The rows of a difference whose entries are shuffled by part, as an engine does it.
    fn rows(inputs: &[(Change, &[&str])], parts: u32) -> Vec<String> {
        let changes: Vec<Change> = inputs.iter().map(|(change, _)| *change).collect();
        let pieces = inputs.iter().enumerate().flat_map(|(number, (_, names))| {
            diff_pieces(once(files(names)), number, &changes, parts).collect::<Vec<_>>()
        });
        let mut pieces: Vec<(i32, RecordBatch)> = pieces.collect::<Result<_>>().expect("pieces");
        pieces.sort_by_key(|(side, _)| *side);
        let shown = Schema::new(vec![Field::new("file_path", DataType::Utf8, true)]);
        let mut rows = Vec::new();
        for part in 0..i32::try_from(parts).expect("few parts") {
            let columns = ChangeColumns::new(&ScanOptions::default(), &shown);
            let mut gather = DiffGather::new(changes.clone(), columns);
            for (side, piece) in &pieces {
                let (last, piece) = (piece.num_columns() - 1, piece.clone());
                let numbers = piece.column(last).as_primitive::<arrow_array::types::Int32Type>();
                let of_part = numbers.iter().map(|number| Some(number == Some(part))).collect();
                let own = arrow_select::filter::filter_record_batch(&piece, &of_part).expect("rows");
                let own = own.project(&(0..last).collect::<Vec<_>>()).expect("columns");
                for batch in gather.push(*side, own).expect("rows") {
                    let batch = batch.expect("rows");
                    let columns = [0, 1].map(|number| batch.column(number).as_string::<i32>().clone());
                    let both = columns[0].iter().zip(&columns[1]).filter_map(|(one, two)| one.zip(two));
                    rows.extend(both.map(|(change, path)| format!("{change} {path}")));
                }
            }
        }
        rows.sort();
        rows
    }

    #[test]
    fn parts_give_the_difference_of_the_whole() {
        use Change::{Added, Removed};
        let (gone, new): (&[&str], &[&str]) = (&["a", "kept", "b", "moved"], &["kept", "c", "c"]);
        let inputs = [(Removed, gone), (Added, new), (Removed, &["c"]), (Added, &["moved"])];
        for parts in [1, 2, 7] {
            assert_eq!(rows(&inputs, parts), ["added c", "removed a", "removed b"], "{parts} parts");
        }
        assert_eq!(rows(&inputs[1..2], 3), ["added c", "added c", "added kept"]);
    }
}
