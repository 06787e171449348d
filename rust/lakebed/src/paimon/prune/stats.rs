//! Tests files by their statistics, many at a time.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, Int64Array, RecordBatch, StringArray, StructArray, UInt64Array,
};
use arrow_buffer::BooleanBuffer;
use arrow_select::take::{take, take_record_batch};

use super::bind::{BoundFilter, ColumnSource, conjuncts, projected};
use super::evolution::{OverlappingFiles, Provider, RowRanges, rows_of};
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::partition::PartitionType;
use crate::paimon::schema::TableSchema;
use crate::paimon::stats::{BoundsConversion, StatsView};
use crate::predicate::{BoundPredicate, ColumnRanges, Contents, Counts, Node, Reader, Value};
use crate::record::{column, find, typed};

/// The first character after U+D7FF: the code points between are surrogates.
const AFTER_SURROGATES: char = '\u{e000}';

/// Where the range of a column is taken from.
#[derive(Debug)]
enum Evidence {
    /// A column of the statistics: its place among them, and its id.
    Stats(usize, i32),
    /// A partition column: its value.
    Partition(usize),
    Bucket,
}

/// The part of a filter on columns with statistics, and those statistics; partition columns and the bucket
/// count as columns with one value.
#[derive(Debug)]
pub(super) struct StatsPredicate {
    predicate: BoundPredicate,
    known: Vec<Evidence>,
    stats: StatsView,
    partition: PartitionType,
}

impl StatsPredicate {
    /// The terms of `bound` on partition columns, the bucket and the columns that `kept` has; `None` where no
    /// term needs statistics.
    pub(super) fn new(
        bound: &BoundFilter,
        schema: &TableSchema,
        schemas: &BTreeMap<i64, TableSchema>,
        kept: &dyn Fn(i32) -> bool,
    ) -> Result<Option<StatsPredicate>> {
        let partition = PartitionType::new(schema);
        let mut names = Vec::new();
        let mut known = Vec::new();
        let mut places = Vec::with_capacity(bound.sources.len());
        for source in &bound.sources {
            let found = match source {
                ColumnSource::Nested => None,
                ColumnSource::Bucket => Some(Evidence::Bucket),
                ColumnSource::Field(field) => {
                    match partition.fields.iter().position(|known| known.id == field.id) {
                        Some(position) => Some(Evidence::Partition(position)),
                        None => kept(field.id).then(|| {
                            names.push(field.name.clone());
                            Evidence::Stats(names.len() - 1, field.id)
                        }),
                    }
                }
            };
            places.push(found.as_ref().map(|_| known.len()));
            known.extend(found);
        }
        let node = projected(&bound.node, &|number| places.get(number).copied().flatten())?;
        let needs_stats = |term: &&Node| {
            let mut needs = false;
            term.for_each_leaf(&mut |leaf| {
                needs |= matches!(known.get(leaf.column.index), Some(Evidence::Stats(..)));
            });
            needs
        };
        let terms: Vec<Node> = conjuncts(&node).iter().filter(needs_stats).cloned().collect();
        if terms.is_empty() {
            return Ok(None);
        }
        let stats =
            StatsView::new(&names, schema, schemas.clone(), BoundsConversion::Sound)?.with_stored_bounds();
        Ok(Some(StatsPredicate { predicate: BoundPredicate::new(Node::and(terms)), known, stats, partition }))
    }

    /// The same on the statistics of keys.
    pub(super) fn of_keys(self) -> StatsPredicate {
        StatsPredicate { stats: self.stats.of_keys(), ..self }
    }

    /// The columns of entries that it reads.
    pub(super) fn input(&self) -> impl Iterator<Item = &'static str> {
        self.stats.input().iter().copied().chain(["partition", "bucket"])
    }

    /// Whether each file of `entries` may hold rows that match.
    pub(super) fn may_match(&self, entries: &RecordBatch) -> Result<BooleanBuffer> {
        let stats = self.stats.build(entries)?;
        let stats: &StructArray = typed(&stats, "stats")?;
        let of_stats = |position: usize, _| of_stats(stats.column(position));
        self.predicate.may_match(&self.ranges(entries, of_stats)?, entries.num_rows())
    }

    /// Whether each of `groups` of files, which hold the rows of their range together, may hold rows that
    /// match.
    pub(super) fn may_match_groups(
        &self,
        files: &RecordBatch,
        ranges: &RowRanges<'_>,
        groups: &[OverlappingFiles],
    ) -> Result<BooleanBuffer> {
        let stats = self.stats.build(files)?;
        let stats: &StructArray = typed(&stats, "stats")?;
        let of_stats = |position: usize, column: i32| {
            let providers: Vec<Provider> =
                groups.iter().map(|group| ranges.provider(group, column)).collect();
            let stats = take(stats.column(position), &rows_of(&providers), None)?;
            let stats: &StructArray = typed(&stats, "stats")?;
            let nulls: &Int64Array = typed(stats.column(1), "null_count")?;
            let nulls = providers.iter().zip(groups).zip(nulls).map(|((provider, group), nulls)| {
                if *provider == Provider::Absent { Some(group.rows) } else { nulls }
            });
            let (rows, nulls) = (groups.iter().map(|group| Some(group.rows)).collect(), nulls.collect());
            let nans = typed(stats.column(2), "nan_count")?;
            let counts = Counts { values: Some(&rows), nulls: Some(&nulls), nans: Some(nans) };
            let contents = Contents::from_counts(groups.len(), counts);
            let [lower, upper] = [4, 5].map(|bound| stats.column(bound));
            Ok(ColumnRanges { lower: Arc::clone(lower), upper: not_below_cut_texts(upper), contents })
        };
        let first = groups.iter().map(|group| group.files.first().map(|file| *file as u64));
        let firsts = take_record_batch(files, &first.collect::<UInt64Array>())?;
        self.predicate.may_match(&self.ranges(&firsts, of_stats)?, groups.len())
    }

    /// The known ranges of each column, for each file of `entries`; `of_stats` gives those of statistics.
    fn ranges(
        &self,
        entries: &RecordBatch,
        of_stats: impl Fn(usize, i32) -> Result<ColumnRanges>,
    ) -> Result<Vec<Option<ColumnRanges>>> {
        let mut partition = None;
        let mut columns = vec![None; self.known.len()];
        for number in self.predicate.columns() {
            let ranges = match self.known.get(*number) {
                Some(Evidence::Stats(position, column)) => of_stats(*position, *column)?,
                Some(Evidence::Partition(position)) => {
                    let decoded: &StructArray = match &mut partition {
                        Some(values) => values,
                        None => {
                            let rows = column::<BinaryArray>(entries, "partition")?;
                            partition.insert(self.partition.values(rows)?)
                        }
                    };
                    exactly(Arc::clone(decoded.column(*position)))
                }
                Some(Evidence::Bucket) => exactly(find(entries, "bucket")?),
                None => return Err(Error::new(ErrorKind::Argument, "a filter on an unknown column")),
            };
            if let Some(column) = columns.get_mut(*number) {
                *column = Some(ranges);
            }
        }
        Ok(columns)
    }
}

/// Ranges of columns that have a single value in each group of rows.
fn exactly(values: ArrayRef) -> ColumnRanges {
    let reader = Reader::new(values.as_ref());
    let contents = Contents::new(values.len(), |group| {
        let value = reader.get(group);
        let nan = value.as_ref().is_some_and(Value::is_nan);
        [value.is_none(), nan, value.is_some() && !nan]
    });
    ColumnRanges { lower: Arc::clone(&values), upper: values, contents }
}

fn of_stats(stats: &ArrayRef) -> Result<ColumnRanges> {
    let stats: &StructArray = typed(stats, "stats")?;
    let [values, nulls, nans] = [0, 1, 2].map(|position| typed(stats.column(position), "stats"));
    let [lower, upper] = [4, 5].map(|position| stats.column(position));
    let counts = Counts { values: Some(values?), nulls: Some(nulls?), nans: Some(nans?) };
    let contents = Contents::from_counts(stats.len(), counts);
    Ok(ColumnRanges { lower: Arc::clone(lower), upper: not_below_cut_texts(upper), contents })
}

/// Upper bounds as Paimon meant them. To cut a text, Paimon increments its last character; after U+D7FF that
/// gives half a character, which its `BinaryString` writes as `?`: a bound below the texts it is of.
fn not_below_cut_texts(upper: &ArrayRef) -> ArrayRef {
    let Some(texts) = upper.as_any().downcast_ref::<StringArray>() else { return Arc::clone(upper) };
    if !texts.iter().flatten().any(|text| text.ends_with('?')) {
        return Arc::clone(upper);
    }
    let meant = |text: &str| match text.strip_suffix('?') {
        Some(start) => format!("{start}{AFTER_SURROGATES}"),
        None => text.to_owned(),
    };
    Arc::new(texts.iter().map(|text| text.map(meant)).collect::<StringArray>())
}
