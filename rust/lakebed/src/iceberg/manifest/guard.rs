//! Guards that drop entries in the middle of decoding, before their metrics: by status, then by partition
//! tuple.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_schema::DataType;
use lakebed_avro::{Guard, GuardFactory, Peek, Program, Slot};

use super::partition::{PartitionLayout, by_ids};
use super::status::{Counter, Statuses, Tally};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::fields::{PARTITION_ON_DISK, RECORD_COUNT_ON_DISK};
use crate::predicate::{BoundLeaf, BoundPredicate, Node, Value};
use crate::record::field_at;

/// Makes guards that drop entries whose status is not `wanted`, and those whose tuple of this layout cannot
/// match the filter. They count all entries.
pub(super) fn guard(
    program: &Program,
    wanted: Statuses,
    filter: Option<(&BoundPredicate, &PartitionLayout)>,
    tally: &Arc<Tally>,
) -> GuardFactory {
    let (status, tally) = (program.slots().first().copied(), Arc::clone(tally));
    let tuples = filter.and_then(|(filter, layout)| TupleTest::new(program, filter, layout)).map(Arc::new);
    Arc::new(move || {
        let (tuples, counter, tally) = (tuples.clone(), Counter::of(&tally), Arc::clone(&tally));
        Box::new(EntryGuard { status, wanted, tuples, counter, tally })
    })
}

struct EntryGuard {
    status: Option<Slot>,
    wanted: Statuses,
    tuples: Option<Arc<TupleTest>>,
    counter: Counter,
    tally: Arc<Tally>,
}

impl EntryGuard {
    fn judge(&mut self, record: Peek<'_>) -> Result<bool> {
        let status = self.status.and_then(|slot| record.number(slot)).ok_or_else(no_status)?;
        self.counter.count(status)?;
        if !i32::try_from(status).is_ok_and(|status| self.wanted.has(status)) {
            return Ok(false);
        }
        let Some(tuples) = &self.tuples else { return Ok(true) };
        let kept = tuples.may_match(&tuples.filter.node, record);
        if !kept {
            self.counter.drop_rows(status, record.number(tuples.rows));
        }
        Ok(kept)
    }
}

impl Guard for EntryGuard {
    fn keep(&mut self, record: Peek<'_>) -> bool {
        self.judge(record).unwrap_or_else(|error| {
            self.tally.fail(error);
            false
        })
    }
}

/// A filter on stored partition tuples.
struct TupleTest {
    filter: BoundPredicate,
    /// By the positions of the fields in the table's partition type.
    fields: Vec<StoredField>,
    /// The slot of the file's row count.
    rows: Slot,
}

/// How a manifest stores a field of its tuples.
enum StoredField {
    /// Not stored: it is null.
    Absent,
    /// In the type of the table.
    Same(Slot),
    /// In another type: values must be converted before they can be compared.
    Other,
}

impl TupleTest {
    /// `None` where tuples or row counts are not decoded before the guard runs.
    fn new(program: &Program, filter: &BoundPredicate, layout: &PartitionLayout) -> Option<TupleTest> {
        let DataType::Struct(tuple) = field_at(program.schema(), PARTITION_ON_DISK)? else { return None };
        let slot =
            |path: &str, below: Option<&str>| program.slot(&path.split('.').chain(below).collect::<Vec<_>>());
        let named = by_ids(tuple, Some(layout));
        let stored = |position: usize| {
            let place = layout.unified.position_in(position, &layout.spec);
            let own = place.and_then(|place| layout.spec.fields.get(place));
            let found = own.and_then(|own| named.find(&own.field_id.to_string()));
            let field = found.and_then(|(at, field)| Some((tuple.get(at)?.name(), field.data_type())));
            match (field, layout.unified.fields.get(position)) {
                (Some((name, held)), Some(shown)) if *held == shown.ty.arrow() && is_plain(held) => {
                    slot(PARTITION_ON_DISK, Some(name)).map_or(StoredField::Other, StoredField::Same)
                }
                (None, Some(_)) => StoredField::Absent,
                _ => StoredField::Other,
            }
        };
        let fields = (0..layout.unified.fields.len()).map(stored).collect();
        Some(TupleTest { filter: filter.clone(), fields, rows: slot(RECORD_COUNT_ON_DISK, None)? })
    }

    fn may_match(&self, node: &Node, record: Peek<'_>) -> bool {
        match node {
            Node::Constant(value) => *value,
            Node::Leaf(leaf) => self.leaf_may_match(leaf, record),
            Node::And(terms) => terms.iter().all(|term| self.may_match(term, record)),
            Node::Or(terms) => terms.iter().any(|term| self.may_match(term, record)),
        }
    }

    fn leaf_may_match(&self, leaf: &BoundLeaf, record: Peek<'_>) -> bool {
        let slot = match self.fields.get(leaf.column.index) {
            Some(StoredField::Absent) => return leaf.matches(None),
            Some(StoredField::Same(slot)) => *slot,
            Some(StoredField::Other) | None => return true,
        };
        if record.is_null(slot) {
            return leaf.matches(None);
        }
        let number = record.number(slot).map(Value::Int);
        let value = number.or_else(|| Some(Value::Bytes(Cow::Borrowed(record.bytes(slot)?))));
        value.is_none_or(|value| leaf.matches(Some(value)))
    }
}

/// Whether values of this type compare like the stored numbers and bytes.
fn is_plain(data_type: &DataType) -> bool {
    use DataType::{Binary, Date32, Int32, Int64, Time64, Timestamp, Utf8};
    matches!(data_type, Int32 | Int64 | Date32 | Time64(_) | Timestamp(..) | Utf8 | Binary)
}

#[cold]
pub(super) fn no_status() -> Error {
    Error::new(ErrorKind::Avro(lakebed_avro::ErrorKind::Schema), "status is not an int")
}
