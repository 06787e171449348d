//! Which entries may have rows that match a filter, by partition and by typed statistics (Iceberg's
//! `InclusiveStatsEvaluator.java`).

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, StructArray, new_null_array,
};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;

use super::EntryContext;
use super::fields::stats::{LOWER_BOUND, NAN_VALUE_COUNT, NULL_VALUE_COUNT, UPPER_BOUND, VALUE_COUNT};
use super::fields::{CONTENT_STATS, PARTITION, RECORD_COUNT, SPEC_ID};
use super::stats::ContentStats;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::prune::{MetricsEvaluator, Mode, Names, RowFilter, StoredMetrics, project};
use crate::predicate::{BoundPredicate, Logic, Predicate};
use crate::record::{below, column, typed};

/// A filter on a table's rows, for entries of its manifests.
pub(super) struct EntryFilter {
    metrics: MetricsEvaluator,
    /// By the id of the spec.
    projections: Vec<(i32, BoundPredicate)>,
    stats: ContentStats,
}

impl EntryFilter {
    /// The columns of entries that it reads.
    pub(super) const INPUT: [&str; 4] = [PARTITION, SPEC_ID, CONTENT_STATS, RECORD_COUNT];

    /// Parses `text` and binds it to the table's columns; entries have statistics of `stats_of`.
    ///
    /// # Errors
    /// `Predicate`, `FilterColumn`; `Argument` where the table's schema or specs are unknown.
    pub(super) fn new(text: &str, known: &EntryContext) -> Result<EntryFilter> {
        let unknown =
            || Error::new(ErrorKind::Argument, "a filter needs the table's schemas and partition specs");
        let schema = known.schema.as_deref().ok_or_else(unknown)?;
        let (specs, partition) = known.partition.as_ref().ok_or_else(unknown)?;
        let predicate = Predicate::parse(text)?;
        let filter = RowFilter::new(&predicate, schema, partition, Names::Exact, Logic::TwoValued)?;
        let of_spec = |spec: &crate::iceberg::partition::PartitionSpec| {
            Ok((spec.spec_id, project(&filter, spec, partition, Mode::Inclusive)?))
        };
        Ok(EntryFilter {
            projections: specs.iter().map(of_spec).collect::<Result<_>>()?,
            metrics: MetricsEvaluator::new(&filter),
            stats: ContentStats::of_schema(schema, known.stats_of.as_deref()),
        })
    }

    /// The ids of the columns whose statistics it reads.
    pub(super) fn field_ids(&self) -> &[i32] {
        self.metrics.field_ids()
    }

    /// Entries have the statistics of `stats_of` alone.
    pub(super) fn read_only_its_own(&mut self, known: &EntryContext) {
        if let Some(schema) = &known.schema {
            self.stats = ContentStats::of_schema(schema, known.stats_of.as_deref());
        }
    }

    /// Whether each file may have rows that match; true where too little is known, and for files without a spec.
    pub(super) fn files(&self, entries: &RecordBatch) -> Result<BooleanBuffer> {
        let rows = column::<Int64Array>(entries, RECORD_COUNT)?;
        let mut kept = self.metrics.may_match_by(&self.stored(entries)?, rows)?;
        let tuples = column::<StructArray>(entries, PARTITION)?;
        let columns = tuples.columns().iter().map(|child| below(tuples, child));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let spec_ids = column::<Int32Array>(entries, SPEC_ID)?;
        for (spec_id, projection) in &self.projections {
            let matching = projection.evaluate(&columns, entries.num_rows())?;
            let is_of = |row| spec_ids.is_valid(row) && spec_ids.value(row) == *spec_id;
            let of_others =
                BooleanBuffer::collect_bool(entries.num_rows(), |row| !is_of(row) || matching.value(row));
            kept = &kept & &of_others;
        }
        Ok(kept)
    }

    /// Whether each leaf may list files whose rows match, by its own statistics. Its record count is that of its
    /// entries, so that nothing is known of rows that nobody counted.
    pub(super) fn leaves(&self, entries: &RecordBatch) -> Result<BooleanArray> {
        let rows = Int64Array::from_value(i64::MAX, entries.num_rows());
        Ok(self.metrics.may_match_by(&self.stored(entries)?, &rows)?.into())
    }

    /// The statistics of the filter's columns.
    fn stored(&self, entries: &RecordBatch) -> Result<StoredMetrics> {
        let stats = column::<StructArray>(entries, CONTENT_STATS)?;
        // Rows that are not counted are null, whatever the column.
        let mut metrics = StoredMetrics { is_partial: true, ..StoredMetrics::default() };
        for id in self.metrics.field_ids() {
            let of_column = self.stats.position(*id).and_then(|place| stats.columns().get(place));
            let of_column = of_column.map(|column| below(stats, column)).transpose()?;
            let member = |name: &str, absent: DataType| -> Result<ArrayRef> {
                let parent =
                    of_column.as_ref().map(|column| typed::<StructArray>(column, name)).transpose()?;
                match parent.and_then(|parent| Some((parent, parent.column_by_name(name)?))) {
                    Some((parent, values)) => below(parent, values),
                    None => Ok(new_null_array(&absent, entries.num_rows())),
                }
            };
            metrics.values.push(member(VALUE_COUNT.1, DataType::Int64)?);
            metrics.nulls.push(member(NULL_VALUE_COUNT.1, DataType::Int64)?);
            metrics.nans.push(member(NAN_VALUE_COUNT.1, DataType::Int64)?);
            // Corners of boxes are no bounds that a filter compares with.
            let bound = |(_, name)| {
                let values = member(name, DataType::Binary)?;
                Ok(match values.as_struct_opt() {
                    Some(_) => new_null_array(&DataType::Binary, entries.num_rows()),
                    None => values,
                })
            };
            let (lower, upper): (Result<_>, Result<_>) = (bound(LOWER_BOUND), bound(UPPER_BOUND));
            metrics.lower.push(lower?);
            metrics.upper.push(upper?);
        }
        Ok(metrics)
    }
}
