//! Files that are live in a snapshot (Paimon's `FileEntry.mergeEntries`).

use std::collections::{HashMap, HashSet};

use arrow_array::cast::AsArray;
use arrow_array::types::Int8Type;
use arrow_array::{BooleanArray, RecordBatch, UInt64Array};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take_record_batch;

use super::base::Base;
use super::prune::may_hold;
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::identity::identities;
use crate::paimon::manifest::{ADD, entry_columns};
use crate::record::find;

/// The entries that add live files, of those that `keep` keeps, in the order in which they stand; `keep` must
/// keep all entries of one file or none. `columns` are those wanted, which have the identity; `None` for all.
/// Manifests without files of `partitions`, as far as their lists tell, are not read.
///
/// Memory is that of the kept entries.
///
/// # Errors
/// Those of reading; `Mismatch` for a file that is added twice.
pub(super) fn live_entries(
    base: &Base,
    partitions: Option<&HashSet<Vec<u8>>>,
    columns: Option<&[&str]>,
    mut keep: impl FnMut(&RecordBatch) -> Result<BooleanArray>,
) -> Result<RecordBatch> {
    let mut merged = Merged::default();
    let columns: Option<Vec<String>> =
        columns.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
    let wanted = entry_columns(columns.as_deref())?;
    let read = match partitions {
        Some(partitions) => may_hold(base, partitions)?,
        None => vec![true; base.manifests.len()],
    };
    for (manifest, _) in base.manifests.iter().zip(read).filter(|(_, read)| *read) {
        let path = base.table.manifest_path(&manifest.file_name);
        for entries in base.entries(manifest, columns.as_deref())? {
            let kept = entries
                .and_then(|entries| filter_record_batch(&entries, &keep(&entries)?).map_err(Into::into));
            merged
                .extend(kept.map_err(|error| error.in_file(&path))?)
                .map_err(|error| error.in_file(&path))?;
        }
    }
    merged.finish(wanted.schema())
}

/// Entries, by the file that they speak of.
#[derive(Default)]
struct Merged {
    batches: Vec<RecordBatch>,
    /// Where the entry that adds a live file stands.
    live: HashMap<Box<[u8]>, (usize, usize)>,
}

impl Merged {
    fn extend(&mut self, entries: RecordBatch) -> Result<()> {
        if entries.num_rows() == 0 {
            return Ok(());
        }
        let kinds = find(&entries, "kind")?;
        let kinds = kinds.as_primitive::<Int8Type>();
        for (row, identity) in identities(&entries)?.iter().flatten().enumerate() {
            if kinds.value(row) != ADD {
                // Where it deletes what is not there, it is without effect, as for readers.
                self.live.remove(identity);
            } else if self.live.insert(identity.into(), (self.batches.len(), row)).is_some() {
                let message = "the file is added by two entries";
                return Err(Error::new(ErrorKind::Mismatch, message).in_row(row));
            }
        }
        self.batches.push(entries);
        Ok(())
    }

    fn finish(self, schema: &SchemaRef) -> Result<RecordBatch> {
        let mut places: Vec<(usize, usize)> = self.live.into_values().collect();
        places.sort_unstable();
        let live = places.chunk_by(|one, next| one.0 == next.0).map(|places| {
            let rows = UInt64Array::from_iter_values(places.iter().map(|(_, row)| *row as u64));
            take_record_batch(&self.batches[places[0].0], &rows)
        });
        Ok(concat_batches(schema, &live.collect::<Result<Vec<_>, _>>()?)?)
    }
}
