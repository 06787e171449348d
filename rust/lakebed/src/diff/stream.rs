//! The rows of a diff.

use arrow_array::cast::AsArray;
use arrow_array::{BinaryArray, RecordBatch};

use super::columns::ChangeColumns;
use super::job::{DiffReduce, DiffSide};
use super::net::Net;
use super::{Change, DiffInput};
use crate::distributed::{batches, reduced_here};
use crate::error::{Error, ErrorKind, Result};
use crate::scan::Batches;

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
pub(super) fn count<'l>(inputs: impl IntoIterator<Item = &'l DiffInput>) -> Result<(Net, u64)> {
    let (mut net, mut entries) = (Net::default(), 0);
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
