//! Equality deletes of a partition and global ones, without those that a file's metrics exclude.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use arrow_array::{Array, Int32Array, ListArray, RecordBatch};

use super::sequence::{Member, SequencedDeletes};
use super::spans::SpanTree;
use super::stats::{ColumnStats, EqualityField, StoredStats};
use crate::error::{Error, ErrorKind, Result, fitting};
use crate::record::{column, typed};

/// Takes equality deletes batch by batch.
#[derive(Default)]
pub(super) struct EqualityBuilder {
    /// For each delete its number among all deletes, and its set of columns.
    deletes: Vec<i32>,
    sets: Vec<usize>,
    /// The number of each set of compared columns.
    set_numbers: HashMap<Vec<i32>, usize>,
    by_partition: Vec<Member>,
    global: Vec<Member>,
    /// For each batch its number of deletes, and the metrics of their columns.
    stats: Vec<(usize, BTreeMap<i32, StoredStats>)>,
}

/// An equality delete in the form that the builder takes.
pub(super) struct EqualityDelete {
    /// Its number among all deletes.
    pub(super) delete: i32,
    pub(super) sequence: i64,
    /// Its partition; `None` for a delete of an unpartitioned spec, which applies to all files.
    pub(super) partition: Option<usize>,
}

impl EqualityBuilder {
    /// Adds `rows`, which are entries of equality deletes; `deletes` describes each of them.
    ///
    /// # Errors
    /// `Required` for a delete without columns.
    pub(super) fn push(&mut self, rows: &RecordBatch, deletes: &[EqualityDelete]) -> Result<()> {
        let lists = column(rows, "equality_ids")?;
        let mut columns = BTreeSet::new();
        for (row, delete) in deletes.iter().enumerate() {
            let ids = compared(lists, row)?;
            columns.extend(ids.iter().copied());
            let next = self.set_numbers.len();
            self.sets.push(*self.set_numbers.entry(ids).or_insert(next));
            let number = fitting(i32::try_from(self.deletes.len()).ok(), "the number of equality deletes")?;
            let members = if delete.partition.is_some() { &mut self.by_partition } else { &mut self.global };
            let group = delete.partition.unwrap_or(0);
            members.push(Member { group, sequence: delete.sequence, delete: number });
            self.deletes.push(delete.delete);
        }
        let columns: Vec<i32> = columns.into_iter().collect();
        let stats = StoredStats::of(rows, &columns)?;
        self.stats.push((deletes.len(), columns.into_iter().zip(stats).collect()));
        Ok(())
    }

    /// Whether there are no equality deletes.
    pub(super) fn is_empty(&self) -> bool {
        self.deletes.is_empty()
    }

    /// The ids of the columns that the deletes compare.
    pub(super) fn field_ids(&self) -> BTreeSet<i32> {
        self.set_numbers.keys().flatten().copied().collect()
    }

    /// The equality deletes of this many partitions; `fields` are the known columns.
    pub(super) fn finish(self, partitions: usize, fields: Vec<EqualityField>) -> Result<EqualityDeletes> {
        let stats = fields.iter().map(|field| {
            let of_batch = |(deletes, stats): &(usize, BTreeMap<i32, StoredStats>)| {
                stats.get(&field.id).cloned().unwrap_or_else(|| StoredStats::unknown(*deletes))
            };
            let parts: Vec<StoredStats> = self.stats.iter().map(of_batch).collect();
            StoredStats::concat(&parts)?.interpret(field)
        });
        let stats = stats.collect::<Result<Vec<_>>>()?;
        let place = |id: &i32| fields.iter().position(|field| field.id == *id);
        let mut sets = vec![Vec::new(); self.set_numbers.len()];
        for (ids, number) in &self.set_numbers {
            if let Some(set) = sets.get_mut(*number) {
                *set = ids.iter().filter_map(place).collect();
            }
        }
        let mut deletes = EqualityDeletes {
            by_partition: DeleteGroups::new(partitions, self.by_partition),
            global: DeleteGroups::new(1, self.global),
            deletes: self.deletes,
            set_of: self.sets,
            sets,
            fields,
            stats,
        };
        let spans = |groups: &DeleteGroups| groups.spans(&deletes);
        let (by_partition, global) = (spans(&deletes.by_partition), spans(&deletes.global));
        (deletes.by_partition.spans, deletes.global.spans) = (by_partition, global);
        Ok(deletes)
    }
}

/// The ids of the columns that an equality delete compares.
///
/// # Errors
/// `Required` for a delete without columns.
pub(super) fn compared(lists: &ListArray, row: usize) -> Result<Vec<i32>> {
    let ids = if lists.is_valid(row) { lists.value(row) } else { Arc::new(Int32Array::new_null(0)) };
    let ids = typed::<Int32Array>(&ids, "equality_ids")?.values().to_vec();
    if ids.is_empty() {
        let error = Error::new(ErrorKind::Required, "an equality delete names no columns");
        return Err(error.in_field("equality_ids"));
    }
    Ok(ids)
}

/// Equality deletes, by partition and sequence number.
#[derive(Debug, Default)]
pub(super) struct EqualityDeletes {
    by_partition: DeleteGroups,
    global: DeleteGroups,
    /// The number of each among all deletes.
    deletes: Vec<i32>,
    /// For each the number of its set in `sets`.
    set_of: Vec<usize>,
    /// The sets of columns that deletes compare, as positions in `fields`.
    sets: Vec<Vec<usize>>,
    fields: Vec<EqualityField>,
    /// The metrics of the deletes, by column.
    stats: Vec<ColumnStats>,
}

impl EqualityDeletes {
    /// The columns whose metrics are compared.
    pub(super) fn fields(&self) -> &[EqualityField] {
        &self.fields
    }

    /// The metrics of these columns, of the files of entries.
    ///
    /// # Errors
    /// `Required` for a missing column; `Mismatch` for metrics of another type.
    pub(super) fn stats_of(&self, entries: &RecordBatch) -> Result<Vec<ColumnStats>> {
        if self.fields.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<i32> = self.fields.iter().map(|field| field.id).collect();
        let stats = StoredStats::of(entries, &ids)?;
        self.fields.iter().zip(stats).map(|(field, stats)| stats.interpret(field)).collect()
    }

    /// Adds to `found` the deletes that apply to a file: those of its partition, then global ones. `stats`
    /// has the metrics of the columns in [`EqualityDeletes::fields`], those of the file in its row `row`.
    pub(super) fn append(
        &self,
        partition: Option<usize>,
        sequence: i64,
        (stats, row): (&[ColumnStats], usize),
        found: &mut Vec<i32>,
    ) {
        for (groups, group, least) in self.groups_of(partition, sequence).into_iter().flatten() {
            groups.each_since(group, least, stats, row, |number| {
                if let Some(delete) = self.deletes.get(number).filter(|_| self.may_match(number, stats, row))
                {
                    found.push(*delete);
                }
            });
        }
    }

    /// The groups whose deletes may apply to a file, and the least sequence number of those that do.
    fn groups_of(&self, partition: Option<usize>, sequence: i64) -> [Option<(&DeleteGroups, usize, i64)>; 2] {
        // Equality deletes apply to older files only, not to those of the same commit.
        let least = sequence.checked_add(1);
        let of = |groups, group: Option<usize>| Some((groups, group?, least?));
        [of(&self.by_partition, partition), of(&self.global, Some(0))]
    }

    /// Where nothing is marked.
    pub(super) fn no_marks(&self) -> EqualityMarks {
        let ends = |DeleteGroups { deletes, .. }: &DeleteGroups| -> Vec<usize> {
            (0..deletes.groups()).map(|group| deletes.places(group).end).collect()
        };
        EqualityMarks([ends(&self.by_partition), ends(&self.global)])
    }

    /// Marks the deletes that apply to a file, see [`EqualityDeletes::append`], by their numbers among all.
    pub(super) fn mark(
        &self,
        partition: Option<usize>,
        sequence: i64,
        (stats, row): (&[ColumnStats], usize),
        (EqualityMarks(ends), marked): (&mut EqualityMarks, &mut [bool]),
    ) {
        let among_all = |number: usize| usize::try_from(*self.deletes.get(number)?).ok();
        for (found, ends) in self.groups_of(partition, sequence).into_iter().zip(ends) {
            let Some((groups, group, least)) = found else { continue };
            let Some(end) = ends.get_mut(group) else { continue };
            let start = groups.deletes.places_since(group, least).start;
            let is_marked = |place: usize| {
                let number = groups.deletes.at(place).and_then(among_all);
                number.and_then(|number| marked.get(number)).copied().unwrap_or(true)
            };
            while *end > start && is_marked(*end - 1) {
                *end -= 1;
            }
            if *end <= start {
                continue;
            }
            groups.each_since(group, least, stats, row, |number| {
                let found = among_all(number).filter(|_| self.may_match(number, stats, row));
                found.and_then(|number| marked.get_mut(number)).into_iter().for_each(|marked| *marked = true);
            });
        }
    }

    /// The columns that a delete compares.
    fn columns_of(&self, number: usize) -> &[usize] {
        let set = self.set_of.get(number).and_then(|set| self.sets.get(*set));
        set.map(Vec::as_slice).unwrap_or_default()
    }

    fn may_match(&self, number: usize, stats: &[ColumnStats], row: usize) -> bool {
        self.columns_of(number).iter().all(|column| match (stats.get(*column), self.stats.get(*column)) {
            (Some(file), Some(deletes)) => file.may_meet(row, deletes, number),
            _ => true,
        })
    }
}

/// For each group of deletes of a partition, and for that of all partitions, the place from which on all are marked:
/// files that only those apply to are not compared with them.
#[derive(Debug)]
pub(super) struct EqualityMarks([Vec<usize>; 2]);

/// Groups with more deletes than this are searched by the ranges of values.
const FEW: usize = 16;

/// Equality deletes in groups.
#[derive(Debug, Default)]
struct DeleteGroups {
    deletes: SequencedDeletes,
    /// The ranges of large groups.
    spans: HashMap<usize, Spans>,
}

/// The ranges of the values that the deletes of a large group delete, in one column.
#[derive(Debug)]
struct Spans {
    column: usize,
    tree: SpanTree,
    /// The positions of the deletes that are not in the tree.
    others: Vec<usize>,
}

impl DeleteGroups {
    fn new(groups: usize, members: Vec<Member>) -> DeleteGroups {
        DeleteGroups { deletes: SequencedDeletes::new(groups, members), spans: HashMap::new() }
    }

    /// Trees for the large groups, each of the first column that the group's first delete compares.
    fn spans(&self, all: &EqualityDeletes) -> HashMap<usize, Spans> {
        let of_group = |group: usize| {
            let places = self.deletes.places(group);
            let first = self.deletes.at(places.start).filter(|_| places.len() > FEW)?;
            let column = *all.columns_of(first).first()?;
            let stats = all.stats.get(column)?;
            let (mut spans, mut others) = (Vec::new(), Vec::new());
            for place in places {
                let number = self.deletes.at(place)?;
                let ranged = all.columns_of(number).contains(&column) && !stats.may_be_outside(number);
                match stats.span(number).filter(|_| ranged) {
                    Some((low, high)) => spans.push((low, high, place)),
                    None => others.push(place),
                }
            }
            (spans.len() > FEW).then(|| (group, Spans { column, tree: SpanTree::new(spans), others }))
        };
        (0..self.deletes.groups()).filter_map(of_group).collect()
    }

    /// Calls `each` for the deletes of a group from a sequence number on, in that order, without some whose
    /// values cannot be in the file in `row`.
    fn each_since(
        &self,
        group: usize,
        least: i64,
        stats: &[ColumnStats],
        row: usize,
        mut each: impl FnMut(usize),
    ) {
        let places = self.deletes.places_since(group, least);
        let spans = self.spans.get(&group).filter(|_| places.len() > FEW);
        let spans = spans.and_then(|spans| Some((spans, stats.get(spans.column)?.span(row)?)));
        let Some((spans, (low, high))) = spans else {
            places.filter_map(|place| self.deletes.at(place)).for_each(each);
            return;
        };
        let others = spans.others.partition_point(|place| *place < places.start);
        let mut found = spans.others.get(others..).unwrap_or_default().to_vec();
        spans.tree.meeting(low, high, &mut found);
        found.retain(|place| *place >= places.start);
        found.sort_unstable();
        found.into_iter().filter_map(|place| self.deletes.at(place)).for_each(&mut each);
    }
}
