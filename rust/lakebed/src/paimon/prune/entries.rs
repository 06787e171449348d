//! A filter prepared for the entries of manifests.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use arrow_array::{BooleanArray, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_select::concat::concat_batches;

use super::bind::{BoundFilter, ColumnSource, conjuncts};
use super::bucket::BucketSelector;
use super::evolution::{RowRanges, files_of};
use super::groups::merged;
use super::index::IndexPredicate;
use super::partitions::PartitionPredicate;
use super::rule::Rule;
use super::stats::StatsPredicate;
use crate::error::Result;
use crate::paimon::schema::TableSchema;
use crate::predicate::{Node, Predicate};

/// A filter bound to the entries of one table's manifests.
#[derive(Debug)]
pub(crate) struct EntryPruner {
    partitions: PartitionPredicate,
    buckets: Option<BucketChoice>,
    keys: Option<StatsPredicate>,
    values: Option<StatsPredicate>,
    index: Option<IndexPredicate>,
    rule: Rule,
    /// All versions of the schema, for the files of a range of rows.
    schemas: BTreeMap<i64, TableSchema>,
}

/// What of a single file is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Test {
    /// The statistics of its keys.
    Keys,
    /// Those of its columns.
    Values,
    /// The indexes in its entry.
    Index,
}

/// How the bucket numbers of matching rows are found.
#[derive(Debug)]
struct BucketChoice {
    selector: BucketSelector,
    /// Hashes of the keys, where they are the same in every partition.
    everywhere: Option<BTreeSet<i64>>,
}

impl EntryPruner {
    /// Parses and binds `text`; `schemas` are all versions that files may have, or none where only partitions
    /// and buckets are of interest.
    ///
    /// # Errors
    /// `FilterColumn` for a column that the table does not have; `Predicate` for a text that does not parse, and
    /// a literal that does not fit its column.
    pub(crate) fn new(
        text: &str,
        schema: &TableSchema,
        schemas: &BTreeMap<i64, TableSchema>,
    ) -> Result<EntryPruner> {
        let bound = BoundFilter::new(&Predicate::parse(text)?, schema)?;
        let partitions = PartitionPredicate::new(&bound, schema)?;
        let (mut buckets, mut keys, mut values) = (None, None, None);
        if !schemas.is_empty() {
            buckets = BucketChoice::new(&bound, schema, schemas)?;
            let key_ids: BTreeSet<i32> = schema.trimmed_primary_keys().iter().map(|key| key.id).collect();
            let of_keys = StatsPredicate::new(&bound, schema, schemas, &|id| key_ids.contains(&id))?;
            keys = of_keys.map(StatsPredicate::of_keys);
            values = StatsPredicate::new(&bound, schema, schemas, &|_| true)?;
        }
        let rule = Rule::new(schema);
        let index = (values.is_some() && rule != Rule::Evolution)
            .then(|| IndexPredicate::new(&bound, schema, schemas))
            .flatten();
        Ok(EntryPruner { partitions, buckets, keys, values, index, rule, schemas: schemas.clone() })
    }

    /// Whether a filter asks for more than partitions and buckets, so that schemas are needed.
    ///
    /// # Errors
    /// Those of [`EntryPruner::new`].
    pub(crate) fn needs_schemas(text: &str, schema: &TableSchema) -> Result<bool> {
        let bound = BoundFilter::new(&Predicate::parse(text)?, schema)?;
        let is_value = |source: &ColumnSource| match source {
            ColumnSource::Field(field) => !schema.partition_keys.contains(&field.name),
            ColumnSource::Nested | ColumnSource::Bucket => false,
        };
        Ok(bound.sources.iter().any(is_value))
    }

    /// The filter on partitions and buckets.
    pub(crate) fn partitions(&self) -> &PartitionPredicate {
        &self.partitions
    }

    /// Which files may be dropped for their values; `None` where the filter tests no values.
    pub(crate) fn rule(&self) -> Option<Rule> {
        self.values.as_ref().map(|_| self.rule)
    }

    /// The columns of entries that it reads, besides those that are read before.
    pub(crate) fn input(&self) -> Vec<&'static str> {
        let stats = [&self.keys, &self.values].into_iter().flatten();
        let mut input: Vec<&str> = stats.flat_map(StatsPredicate::input).collect();
        input.extend(self.index.iter().flat_map(IndexPredicate::input));
        match self.rule() {
            Some(Rule::Merge { .. }) => input.extend(["partition", "bucket", "level"]),
            Some(Rule::Evolution) => {
                input.extend(["file_name", "first_row_id", "max_sequence_number", "write_cols"]);
            }
            Some(Rule::Append) | None => {}
        }
        input
    }

    /// The tests of single files, the cheapest first; [`EntryPruner::may_match`] does the rest.
    pub(crate) fn tests(&self) -> Vec<Test> {
        let alone = self.rule() == Some(Rule::Append);
        let keys = self.keys.as_ref().map(|_| Test::Keys);
        let values = self.values.as_ref().filter(|_| alone).map(|_| Test::Values);
        let index = self.index.as_ref().filter(|_| alone).map(|_| Test::Index);
        [keys, values, index].into_iter().flatten().collect()
    }

    /// Whether each file of `entries` may be needed, by `test` alone.
    pub(crate) fn passes(&self, test: Test, entries: &RecordBatch) -> Result<BooleanBuffer> {
        let all = || Ok(BooleanBuffer::new_set(entries.num_rows()));
        match test {
            Test::Keys => self.keys.as_ref().map_or_else(all, |keys| keys.may_match(entries)),
            Test::Values => self.values.as_ref().map_or_else(all, |values| values.may_match(entries)),
            Test::Index => self.index.as_ref().map_or_else(all, |index| index.may_match(entries)),
        }
    }

    /// Whether each file of `entries` may hold matching rows, looked at on its own.
    pub(crate) fn may_match(&self, entries: &RecordBatch) -> Result<BooleanBuffer> {
        let values = self.passes(Test::Values, entries)?;
        Ok(&values & &self.passes(Test::Index, entries)?)
    }

    /// Which files of `batches` are kept. `batches` are all files that are left of the table, each with the
    /// answer of [`EntryPruner::may_match`].
    pub(crate) fn decide(&self, batches: &[(RecordBatch, BooleanBuffer)]) -> Result<Vec<BooleanArray>> {
        match (self.rule, &self.values) {
            (Rule::Merge { combines, skips_level_0 }, _) => merged(batches, combines, skips_level_0),
            (Rule::Evolution, Some(values)) => {
                let Some((first, _)) = batches.first() else { return Ok(Vec::new()) };
                let files = concat_batches(&first.schema(), batches.iter().map(|(files, _)| files));
                let files = files?;
                let ranges = RowRanges::new(&files, &self.schemas)?;
                let groups = ranges.groups()?;
                let kept = values.may_match_groups(&files, &ranges, &groups)?;
                let kept = files_of(&groups, &kept, files.num_rows());
                let mut start = 0;
                let masks = batches.iter().map(|(files, _)| {
                    start += files.num_rows();
                    BooleanArray::from(kept.slice(start - files.num_rows(), files.num_rows()))
                });
                Ok(masks.collect())
            }
            (_, _) => Ok(batches.iter().map(|(_, may_match)| may_match.clone().into()).collect()),
        }
    }

    /// Whether it drops entries for their partition or bucket.
    pub(crate) fn can_prune_buckets(&self) -> bool {
        self.partitions.can_prune() || self.hashes_keys()
    }

    /// Whether it drops entries for the bucket that keys hash to.
    pub(crate) fn hashes_keys(&self) -> bool {
        self.buckets.is_some()
    }

    /// Whether it may keep entries of one bucket and drop those of another bucket of the same partition.
    fn depends_on_bucket(&self) -> bool {
        self.hashes_keys() || self.partitions.tests_bucket()
    }

    /// Whether files of a partition and bucket may be needed. `total_buckets` is that of entries that add a
    /// file: keys were hashed to as many.
    fn keeps_bucket(&self, partition: &[u8], bucket: i64, total_buckets: Option<i32>) -> Result<bool> {
        if !self.partitions.matches(partition, bucket)? {
            return Ok(false);
        }
        let (Some(choice), Some(total)) = (&self.buckets, total_buckets.filter(|total| *total > 0)) else {
            return Ok(true);
        };
        // Rows without a bucket yet may have any keys.
        if bucket < 0 {
            return Ok(true);
        }
        let chosen =
            |hashes: &BTreeSet<i64>| hashes.iter().any(|hash| choice.selector.bucket(*hash, total) == bucket);
        match &choice.everywhere {
            Some(hashes) => Ok(chosen(hashes)),
            None => {
                let open = self.partitions.rest(partition, bucket)?;
                Ok(choice.selector.hashes(&open)?.as_ref().is_none_or(chosen))
            }
        }
    }
}

impl BucketChoice {
    fn new(
        bound: &BoundFilter,
        schema: &TableSchema,
        schemas: &BTreeMap<i64, TableSchema>,
    ) -> Result<Option<BucketChoice>> {
        let keeps_type = |id: i32| {
            let kind = |schema: &TableSchema| schema.field_by_id(id).map(|field| field.ty.kind.clone());
            let now = kind(schema);
            schemas.values().all(|schema| kind(schema).is_none_or(|kind| Some(kind) == now))
        };
        let Some(selector) = BucketSelector::new(&bound.sources, schema, keeps_type) else { return Ok(None) };
        let is_partition = |number: usize| match bound.sources.get(number) {
            Some(ColumnSource::Field(field)) => schema.partition_keys.contains(&field.name),
            source => source == Some(&ColumnSource::Bucket),
        };
        let mixes = |term: &Node| {
            let mut kinds = BTreeSet::new();
            term.for_each_leaf(&mut |leaf| {
                kinds.insert(is_partition(leaf.column.index));
            });
            kinds.len() > 1
        };
        let independent = !conjuncts(&bound.node).iter().any(mixes);
        let everywhere = if independent { selector.hashes(&bound.node)? } else { None };
        if independent && everywhere.is_none() {
            return Ok(None);
        }
        Ok(Some(BucketChoice { selector, everywhere }))
    }
}

/// A bucket of a partition, with the number of buckets where that counts; `None` for all buckets.
type Bucket = Option<(i64, Option<i32>)>;

/// Answers of a filter, kept because many entries are of one partition.
#[derive(Default)]
pub(crate) struct BucketMemo {
    /// By partition and then by bucket, so that a lookup copies no bytes of the partition.
    known: HashMap<Box<[u8]>, HashMap<Bucket, bool>>,
    answers: usize,
    /// The partition, bucket and answer of the last entry; the buffer of the partition is reused.
    last_partition: Vec<u8>,
    last: Option<(Bucket, bool)>,
}

/// The memory is emptied when it holds this many answers.
const MEMO_ENTRIES: usize = 1 << 16;

impl BucketMemo {
    /// Whether `pruner` keeps entries of this partition and bucket; see [`EntryPruner`] for `total_buckets`.
    pub(crate) fn keeps(
        &mut self,
        pruner: &EntryPruner,
        partition: &[u8],
        bucket: i64,
        total_buckets: Option<i32>,
    ) -> Result<bool> {
        let key = pruner.depends_on_bucket().then_some((bucket, total_buckets));
        if let Some((last, answer)) = self.last
            && last == key
            && self.last_partition == partition
        {
            return Ok(answer);
        }
        let known = self.known.get(partition).and_then(|buckets| buckets.get(&key));
        let answer = match known {
            Some(answer) => *answer,
            None => {
                let answer = pruner.keeps_bucket(partition, bucket, total_buckets)?;
                self.keep(partition, key, answer);
                answer
            }
        };
        self.last_partition.clear();
        self.last_partition.extend_from_slice(partition);
        self.last = Some((key, answer));
        Ok(answer)
    }

    fn keep(&mut self, partition: &[u8], bucket: Bucket, answer: bool) {
        if self.answers >= MEMO_ENTRIES {
            self.known.clear();
            self.answers = 0;
        }
        self.known.entry(partition.into()).or_default().insert(bucket, answer);
        self.answers += 1;
    }
}
