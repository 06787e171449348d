//! Differences as a job: files of manifests that only one of two snapshots has are moved by their identity, of which
//! those of each part are combined first, then the rows of the files follow.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

use super::Change;
use super::columns::ChangeColumns;
use super::stream::{DiffReduce, DiffSide, identities, one_way};
use crate::distributed::{
    Job, LocatedManifests, ManifestMap, Piece, Pieces, PlannedManifest, Process, Reduce, Shuffle, hash,
};
use crate::error::Result;
use crate::scan::{Batches, Format, OpenManifest, RowsJob, ScanOptions, each};

/// The files that only one of two snapshots has.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(crate) struct DiffJob<F: Format> {
    /// The requested columns.
    columns: Option<Vec<String>>,
    /// No manifests: it gives the columns of files.
    files: RowsJob<F>,
    /// How files change, and the role in which rows have their identity last.
    inputs: Vec<(Change, F::Role)>,
    /// Manifests, and the inputs that each belongs to: its entries that add files and those that delete files may be of
    /// different ones.
    manifests: LocatedManifests<(F::Manifest, Vec<usize>)>,
}

impl<F: Format> DiffJob<F> {
    /// The difference of `inputs` in `columns`, each of so many `manifests`, and these as engines get them; `files` gives the
    /// columns of files.
    ///
    /// # Errors
    /// `Location` for a manifest that the storage may not open.
    pub(super) fn planned(
        table: &F,
        columns: Option<Vec<String>>,
        files: RowsJob<F>,
        inputs: Vec<(Change, F::Role)>,
        manifests: &[Arc<[F::Manifest]>],
    ) -> Result<(DiffJob<F>, Vec<PlannedManifest>)> {
        let (mut all, mut places) = (Vec::<(F::Manifest, Vec<usize>)>::new(), HashMap::new());
        for (input, own) in manifests.iter().enumerate() {
            for manifest in own.iter() {
                let place = *places.entry(F::name_of(manifest)).or_insert(all.len());
                match all.get_mut(place) {
                    Some((_, of)) if of.contains(&input) => {}
                    Some((_, of)) => of.push(input),
                    None => all.push((manifest.clone(), vec![input])),
                }
            }
        }
        let (manifests, planned) = LocatedManifests::planned(table, all, |(manifest, _)| manifest)?;
        Ok((DiffJob { columns, files, inputs, manifests }, planned))
    }

    /// Whether files of several inputs may cancel.
    fn cancels(&self) -> bool {
        !one_way(self.inputs.iter().map(|(change, _)| *change))
    }

    fn shown(&self) -> Result<ChangeColumns> {
        let options = ScanOptions { columns: self.columns.clone(), ..ScanOptions::default() };
        Ok(ChangeColumns::new(&options, Job::schema(&self.files)?.as_ref()))
    }
}

impl<F: Format> Job for DiffJob<F> {
    fn schema(&self) -> Result<SchemaRef> {
        Ok(Arc::clone(self.shown()?.schema()))
    }

    fn shuffles(&self) -> Vec<Shuffle> {
        vec![if self.cancels() { Shuffle::ByKey } else { Shuffle::Here }]
    }

    fn map(&self, process: &Process) -> Result<ManifestMap> {
        let (manifests, cancels) = (self.manifests.clone(), self.cancels());
        let inputs = self.inputs.iter().map(|(change, role)| {
            let program = self.files.program(*role, process.decoding.clone())?;
            Ok((cancels.then_some(*change), Arc::new(program)))
        });
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        ManifestMap::of_content(move |path, content| {
            let (recorded, of) = &manifests.at(path)?.1;
            let mut pieces: Vec<Pieces> = Vec::new();
            for (input, (change, program)) in
                of.iter().filter_map(|input| Some((*input, inputs.get(*input)?)))
            {
                let content = content.clone();
                let rows = F::rows(program, OpenManifest { path, recorded, content, threads: 1 })?;
                pieces.push(diff_pieces(rows, input, *change));
            }
            Ok(Box::new(pieces.into_iter().flatten()))
        })
    }

    fn reduce(&self, _step: usize, _process: &Process) -> Result<Box<dyn Reduce>> {
        let changes = self.inputs.iter().map(|(change, _)| *change).collect();
        Ok(Box::new(DiffReduce::new(changes, self.shown()?)))
    }
}

/// The files of a manifest of the input with that number, by their identity. Where nothing can cancel, there is no
/// `change`, and no separate identities are sent.
fn diff_pieces(rows: Batches, input: usize, change: Option<Change>) -> Pieces {
    Box::new(rows.flat_map(move |rows| {
        each(rows.and_then(|rows| {
            let last = rows.num_columns().saturating_sub(1);
            let identity = rows.project(&[last])?;
            let keys: Vec<Option<u64>> = identities(&identity)?.iter().map(|key| key.map(hash)).collect();
            let identities =
                change.map(|change| Piece::keyed(DiffSide::Identities(change), identity, keys.clone()));
            Ok(identities.into_iter().chain([Piece::keyed(DiffSide::Files(input), rows, keys)]).collect())
        }))
    }))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::{BinaryArray, BooleanArray, RecordBatch, StringArray};
    use arrow_schema::{DataType, Field, Schema};

    use super::*;
    use crate::scan::{ScanOptions, once};

    fn files(names: &[&str]) -> RecordBatch {
        let fields =
            [Field::new("file_path", DataType::Utf8, true), Field::new("_identity", DataType::Binary, true)];
        let ids = BinaryArray::from_iter_values(names.iter().map(|name| name.as_bytes()));
        let paths = StringArray::from_iter_values(names);
        RecordBatch::try_new(Arc::new(Schema::new(fields.to_vec())), vec![Arc::new(paths), Arc::new(ids)])
            .expect("two columns")
    }

    fn shown_columns() -> ChangeColumns {
        let shown = Schema::new(vec![Field::new("file_path", DataType::Utf8, true)]);
        ChangeColumns::new(&ScanOptions::default(), &shown)
    }

    /// The rows of a difference whose entries are shuffled by part, as an engine does it.
    fn rows(inputs: &[(Change, &[&str])], parts: u32) -> Vec<String> {
        let changes: Vec<Change> = inputs.iter().map(|(change, _)| *change).collect();
        let cancels = DiffReduce::new(changes.clone(), shown_columns()).cancels();
        let pieces = inputs.iter().enumerate().flat_map(|(number, (change, names))| {
            diff_pieces(once(files(names)), number, cancels.then_some(*change)).collect::<Vec<_>>()
        });
        let mut pieces: Vec<Piece> = pieces.collect::<Result<_>>().expect("pieces");
        pieces.sort_by_key(|piece| piece.side);
        let mut rows = Vec::new();
        for part in 0..parts {
            let mut reduce = DiffReduce::new(changes.clone(), shown_columns());
            for Piece { side, rows: piece, keys } in &pieces {
                let is_own =
                    |key: &Option<u64>| key.is_some_and(|key| key % u64::from(parts) == u64::from(part));
                let of_part: BooleanArray = keys.iter().map(|key| Some(is_own(key))).collect();
                let own = arrow_select::filter::filter_record_batch(piece, &of_part).expect("rows");
                for made in reduce.push(*side, own).expect("rows") {
                    let batch = made.expect("rows").rows;
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
