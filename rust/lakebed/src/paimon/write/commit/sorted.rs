//! Sorts the entries of manifests (Paimon's `ManifestFileSorter.java`). Manifests whose keys overlap are a section; sections
//! are sorted one after another, each in memory if it fits.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, RecordBatch};
use arrow_row::{RowConverter, SortField};
use arrow_select::nullif::nullif;

use super::live::live_files;
use super::manifest_writer::CHECKED_EVERY;
use crate::error::{Result, fitting};
use crate::paimon::binary_row::decode_rows;
use crate::paimon::fields::SimpleStats;
use crate::paimon::identity::DeletedIdentities;
use crate::paimon::manifest_list::ManifestFile;
use crate::paimon::partition::PartitionType;
use crate::paimon::paths::POSTPONE_BUCKET;
use crate::paimon::schema::TableSchema;
use crate::paimon::sections::sections;
use crate::paimon::table::Table;
use crate::paimon::write::options::is_on;
use crate::pipeline::{Pipeline, Sink, Source, Width};
use crate::record::{column, find};
use crate::spill::HELD_BYTES;
use crate::storage::total_size;
use crate::write::sorter::{KeyMaker, Sorter};

/// How many entries are sorted at once: a multiple of the number after which the size of a manifest is
/// checked.
const SORTED_ROWS: usize = 8 * CHECKED_EVERY;

/// How many sections are in progress: one is sorted while another is written.
const AT_ONCE: usize = 2;

/// Sections are joined up to so many bytes of manifests: those of one section are read at once, which is less to wait for
/// behind a network.
const JOINED_BYTES: u64 = 4 << 20;

/// The live entries of manifests, sorted by the values of their partition, then by bucket, or by bucket first; the order
/// within a bucket is kept. `list` has the records of the manifests; up to `memory_bytes` of entries are held, the others
/// on disk. A list that is wrong about the bounds of a manifest, or that it adds files, costs the order, but no entry.
///
/// # Errors
/// Those of reading entries.
pub(super) fn sorted(
    table: &Table,
    list: &RecordBatch,
    manifests: &[ManifestFile],
    deleted: &Arc<DeletedIdentities>,
    memory_bytes: Option<usize>,
) -> impl Iterator<Item = Result<RecordBatch>> {
    let adds = |place: &usize| manifests.get(*place).is_some_and(|manifest| manifest.added > 0);
    let (adding, others): (Vec<usize>, Vec<usize>) = (0..manifests.len()).partition(adds);
    // Statistics that cannot be read are bounds that are not known: nothing is apart.
    let of_list = bounds(table.schema(), list).and_then(|bounds| overlapping(&bounds, adding.clone()));
    let adding = of_list.unwrap_or_else(|_| vec![adding]);
    let of_place = |place: usize| manifests.get(place).cloned();
    let of_places = |places: Vec<usize>| places.into_iter().filter_map(of_place).collect();
    let sections = joined(adding.into_iter().map(of_places));
    let most = memory_bytes.unwrap_or(HELD_BYTES);
    let memory_bytes = if sections.len() > 1 { most / AT_ONCE } else { most };
    let source = SectionSource { table: table.clone(), deleted: Arc::clone(deleted), memory_bytes };
    // Others have no files to sort, and would overlap with many. They are read all the same: a list may be wrong.
    let sections = std::iter::once(of_places(others)).chain(sections).collect();
    Pipeline::new(source, sections, Width { reads: 1, threads: AT_ONCE })
}

/// Sections, small ones that follow each other as one.
fn joined(sections: impl Iterator<Item = Vec<ManifestFile>>) -> Vec<Vec<ManifestFile>> {
    let (mut joined, mut held) = (Vec::<Vec<ManifestFile>>::new(), 0_u64);
    for section in sections {
        let bytes = total_size(section.iter().map(|manifest| manifest.file_size));
        held = held.saturating_add(bytes);
        match joined.last_mut().filter(|_| held <= JOINED_BYTES) {
            Some(last) => last.extend(section),
            None => {
                joined.push(section);
                held = bytes;
            }
        }
    }
    joined
}

/// Reads the manifests of a section and sorts their entries.
struct SectionSource {
    table: Table,
    deleted: Arc<DeletedIdentities>,
    memory_bytes: usize,
}

impl Source for SectionSource {
    type Request = Vec<ManifestFile>;
    type Bytes = ();
    type Output = RecordBatch;

    fn read(&self, _section: &Vec<ManifestFile>) -> Result<()> {
        Ok(())
    }

    fn make(&self, section: &Vec<ManifestFile>, (): (), give: Sink<'_, RecordBatch>) -> Result<()> {
        let mut sorter = Sorter::new(sort_keys(self.table.schema()), Some(self.memory_bytes));
        for entries in live_files(&self.table, section.clone(), &self.deleted) {
            let entries = entries?;
            // Tells whether this is still wanted, long before there is something to give.
            if !give(RecordBatch::new_empty(entries.schema())) {
                return Ok(());
            }
            sorter.push(entries)?;
        }
        for entries in sorter.sorted(SORTED_ROWS)? {
            if !give(entries?) {
                break;
            }
        }
        Ok(())
    }

    fn held(&self, entries: &RecordBatch) -> u64 {
        entries.get_array_memory_size() as u64
    }

    fn interrupted(&self) -> Result<()> {
        self.table.storage().interrupted()
    }
}

/// The values of the partition, then the bucket, or the bucket first.
fn sort_keys(schema: &TableSchema) -> impl KeyMaker {
    let (partition, bucket_first) = (PartitionType::new(schema), is_bucket_first(schema));
    move |entries: &RecordBatch| {
        let values = decode_rows(column::<BinaryArray>(entries, "partition")?, &partition.stored)?;
        let mut columns = values.columns().to_vec();
        let place = if bucket_first { 0 } else { columns.len() };
        columns.insert(place, find(entries, "bucket")?);
        Ok(columns)
    }
}

/// Whether the engine sorts the table's manifests by bucket before partition: tables with fixed or postponed buckets whose
/// options ask for sorted manifests.
fn is_bucket_first(schema: &TableSchema) -> bool {
    let is_bucketed = schema.bucket() > 0 || schema.bucket() == POSTPONE_BUCKET;
    is_bucketed
        && is_on(schema, "manifest-sort.enabled", false)
        && !is_on(schema, "data-evolution.enabled", false)
}

/// The bounds of the first sort column in each manifest, null where they are not known; a null value is the lowest.
fn bounds(schema: &TableSchema, list: &RecordBatch) -> Result<[ArrayRef; 2]> {
    let partition = PartitionType::new(schema);
    if partition.stored.is_empty() || is_bucket_first(schema) {
        return Ok([find(list, "min_bucket")?, find(list, "max_bucket")?]);
    }
    let stats = SimpleStats::of(list, "partition_stats")?;
    let first = |rows: &BinaryArray| {
        let columns = partition.decode_bounds(rows)?;
        fitting(columns.into_iter().next(), "the number of partition columns")
    };
    let may_be_null = (0..list.num_rows()).map(|row| Some(stats.null_count(row, 0) != Some(0)));
    Ok([nullif(&first(stats.lower)?, &may_be_null.collect::<BooleanArray>())?, first(stats.upper)?])
}

/// The places of manifests, those whose keys overlap together: sections in the order of their keys, each in the order of
/// the list.
fn overlapping([lower, upper]: &[ArrayRef; 2], mut places: Vec<usize>) -> Result<Vec<Vec<usize>>> {
    let order = RowConverter::new(vec![SortField::new(lower.data_type().clone())])?;
    let keys = |bounds: &ArrayRef| order.convert_columns(std::slice::from_ref(bounds));
    let (lowest, highest) = (keys(lower)?, keys(upper)?);
    places.sort_by_key(|place| lowest.row(*place));
    let end = |place: usize| upper.is_valid(place).then(|| highest.row(place));
    let mut sections = sections(places, |place| (lowest.row(place), end(place)));
    sections.iter_mut().for_each(|section| section.sort_unstable());
    Ok(sections)
}

#[cfg(test)]
mod tests {
    use arrow_array::Int32Array;

    use super::*;

    #[test]
    fn a_bound_that_is_not_known_is_below_or_above_all() {
        let of = |lower: [Option<i32>; 3], upper: [Option<i32>; 3]| {
            let bounds = [lower, upper].map(|keys| Arc::new(Int32Array::from(keys.to_vec())) as ArrayRef);
            overlapping(&bounds, vec![0, 1, 2]).expect("integers")
        };
        assert_eq!(of([Some(5), Some(1), Some(3)], [Some(6), Some(2), Some(4)]), [[1], [2], [0]]);
        // An equal key of two manifests is in the order of the list.
        assert_eq!(of([Some(3), Some(1), Some(5)], [Some(4), Some(3), Some(6)]), [vec![0, 1], vec![2]]);
        assert_eq!(of([Some(5), None, Some(-3)], [Some(6), Some(2), Some(1)]), [vec![1, 2], vec![0]]);
        assert_eq!(of([Some(5), None, Some(1)], [Some(6), None, Some(2)]), [[0, 1, 2]]);
        assert_eq!(of([Some(5), Some(3), Some(1)], [Some(6), None, Some(2)]), [vec![2], vec![0, 1]]);
    }
}
