//! Which deletes apply to some live data file, by the rules of plans; memory is some bytes for each delete.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Int8Array, Int32Array, Int64Array, RecordBatch, StringArray, UInt32Array,
};
use arrow_schema::Schema as ArrowSchema;
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take;

use super::build::{DeleteRows, is_global};
use super::equality::{EqualityBuilder, EqualityDelete, EqualityDeletes, EqualityMarks, compared};
use super::stats::{EqualityField, STATS_INPUT};
use crate::dangling::{DELETES, DeleteKind, PositionMarks};
use crate::distributed::{foreign, hash};
use crate::error::Result;
use crate::iceberg::fields::{DATA, EQUALITY_DELETES};
use crate::iceberg::partition::PartitionNumbers;
use crate::iceberg::table::TableTypes;
use crate::iceberg::types::{NestedField, Schema};
use crate::record::{column, find, typed};
use crate::view::{whole, with_columns};

const EQUALITY_IDS: &str = "equality_ids";

/// The key of the metadata with the columns that equality deletes compare: a schema's JSON.
const COMPARED: &str = "lakebed.compared";

/// Live entries of delete files, with the columns of [`DELETE_INPUT`](super::DELETE_INPUT), in the form in which every
/// process gets them.
///
/// # Errors
/// `Required` for a missing column.
pub(crate) fn sent_deletes(
    types: &TableTypes,
    partitions: &PartitionNumbers,
    entries: &RecordBatch,
) -> Result<RecordBatch> {
    let (rows, lists) = (DeleteRows::new(entries)?, column(entries, EQUALITY_IDS)?);
    let hashes = partitions.hashes(&find(entries, "spec_id")?, column(entries, "partition")?)?;
    let keyed = |(row, partition): (usize, u64)| {
        if rows.contents.value(row) == EQUALITY_DELETES {
            return match (compared(lists, row), is_global(types, rows.spec_ids.value(row))) {
                (Ok(_), Ok(true)) => (DeleteKind::GlobalEquality, 0),
                (Ok(_), Ok(false)) => (DeleteKind::Equality, partition),
                _ => (DeleteKind::Unknown, 0),
            };
        }
        match rows.target(row) {
            Ok(Some(file)) if rows.is_vector(row) => (DeleteKind::Vector, hash(file.as_bytes())),
            Ok(Some(file)) => (DeleteKind::File, hash(file.as_bytes())),
            Ok(None) => (DeleteKind::Partition, partition),
            Err(_) => (DeleteKind::Unknown, 0),
        }
    };
    let (kinds, keys): (Vec<_>, Vec<_>) = hashes.into_iter().enumerate().map(keyed).unzip();
    let [kind, key, sequence] = DELETES;
    let keys = Int64Array::from_iter_values(keys.into_iter().map(u64::cast_signed));
    let sequences: ArrayRef = Arc::new(rows.sequences.clone());
    let codes = Int8Array::from_iter_values(kinds.iter().map(|kind| kind.code()));
    let columns: Vec<(&str, ArrayRef)> =
        vec![(kind, Arc::new(codes)), (key, Arc::new(keys)), (sequence, sequences)];
    let sent = whole(columns, kinds.len())?;
    // Other deletes have metrics too, which nothing compares.
    let of_equality = (0u32..).zip(&kinds).map(|(row, kind)| is_equality(*kind).then_some(row));
    let of_equality: UInt32Array = of_equality.collect();
    let more = [EQUALITY_IDS].into_iter().chain(STATS_INPUT);
    let more = more.map(|name| Ok((name, take(&find(entries, name)?, &of_equality, None)?)));
    with_columns(&sent, more.collect::<Result<_>>()?)
}

fn is_equality(kind: DeleteKind) -> bool {
    matches!(kind, DeleteKind::Equality | DeleteKind::GlobalEquality)
}

/// The columns that equality deletes among [`sent_deletes`] compare.
///
/// # Errors
/// `Required` and `Mismatch` for a batch of another shape.
pub(crate) fn compared_ids(deletes: &RecordBatch) -> Result<Vec<i32>> {
    let lists = column(deletes, EQUALITY_IDS)?;
    let kinds = column::<Int8Array>(deletes, DELETES[0])?.values();
    let mut ids = Vec::new();
    for (row, _) in kinds.iter().enumerate().filter(|(_, kind)| is_equality_code(**kind)) {
        ids.extend(compared(lists, row)?);
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

fn is_equality_code(code: i8) -> bool {
    [DeleteKind::Equality, DeleteKind::GlobalEquality].iter().any(|kind| kind.code() == code)
}

/// The same deletes with the columns that equality deletes compare; without what only those have where there are none.
///
/// # Errors
/// `Json` for a column that appears twice.
pub(crate) fn comparing(deletes: &RecordBatch, fields: Option<Vec<EqualityField>>) -> Result<RecordBatch> {
    let Some(fields) = fields else { return Ok(deletes.project(&[0, 1, 2])?) };
    let field = |field: EqualityField| {
        Arc::new(NestedField::new(field.id, field.id.to_string(), field.required, field.ty))
    };
    let schema = Schema::new(0, fields.into_iter().map(field).collect(), Vec::new())?;
    let metadata = HashMap::from([(COMPARED.to_owned(), schema.to_json().to_string())]);
    let of_deletes = ArrowSchema::new_with_metadata(deletes.schema().fields().clone(), metadata);
    Ok(deletes.clone().with_schema(Arc::new(of_deletes))?)
}

/// The deletes of a snapshot, of which those are marked that apply to some data file.
pub(crate) struct MarkedDeletes {
    partitions: PartitionNumbers,
    positions: PositionMarks,
    equality: Option<MarkedEquality>,
}

/// The equality deletes among them.
struct MarkedEquality {
    deletes: EqualityDeletes,
    /// The number of each partition that has some, by its hash.
    groups: HashMap<u64, usize>,
    marks: EqualityMarks,
}

impl MarkedDeletes {
    /// Marks none of `deletes` yet, which [`comparing`] returned.
    ///
    /// # Errors
    /// `Required`, `Mismatch` and `Argument` for a batch of another shape.
    pub(crate) fn new(types: &TableTypes, deletes: &RecordBatch) -> Result<MarkedDeletes> {
        let equality = match deletes.schema().metadata().get(COMPARED) {
            Some(fields) => Some(MarkedEquality::new(deletes, &Schema::parse(fields.as_bytes())?)?),
            None => None,
        };
        let partitions = PartitionNumbers::new(&types.partition)?;
        Ok(MarkedDeletes { partitions, positions: PositionMarks::new(deletes)?, equality })
    }

    /// The columns of entries that [`MarkedDeletes::mark`] needs.
    pub(crate) fn input(&self) -> Vec<&'static str> {
        let mut columns = vec!["content", "file_path", "spec_id", "partition", "sequence_number"];
        let fields = self.equality.as_ref().map_or(&[] as &[_], |equality| equality.deletes.fields());
        columns.extend(STATS_INPUT.iter().filter(|_| !fields.is_empty()));
        columns
    }

    /// Marks the deletes that apply to some of the data files among these entries.
    ///
    /// # Errors
    /// `Required` for a missing column; `Mismatch` for metrics of another type.
    pub(crate) fn mark(&mut self, entries: &RecordBatch) -> Result<()> {
        let contents = column::<Int32Array>(entries, "content")?;
        // Of files of deletes nothing is asked but that they are.
        let needed = self.input().into_iter().map(|name| entries.schema_ref().index_of(name));
        let files = entries.project(&needed.collect::<std::result::Result<Vec<_>, _>>()?)?;
        let is_data: BooleanArray = contents.iter().map(|content| Some(content == Some(DATA))).collect();
        let files = if is_data.true_count() == files.num_rows() {
            files
        } else {
            filter_record_batch(&files, &is_data)?
        };
        let (paths, sequences) =
            (column::<StringArray>(&files, "file_path")?, column::<Int64Array>(&files, "sequence_number")?);
        let by_partition = self.positions.has_partitions()
            || self.equality.as_ref().is_some_and(|equality| !equality.groups.is_empty());
        let partitions = match by_partition {
            true => self.partitions.hashes(&find(&files, "spec_id")?, column(&files, "partition")?)?,
            false => vec![0; files.num_rows()],
        };
        let stats = self.equality.as_ref().map(|equality| equality.deletes.stats_of(&files)).transpose()?;
        for (row, partition) in partitions.into_iter().enumerate() {
            let sequence = sequences.value(row);
            self.positions.mark(hash(paths.value(row).as_bytes()), partition, sequence);
            if let (Some(equality), Some(stats)) = (&mut self.equality, &stats) {
                let group = equality.groups.get(&partition).copied();
                let marked = self.positions.marked_mut();
                equality.deletes.mark(group, sequence, (stats, row), (&mut equality.marks, marked));
            }
        }
        Ok(())
    }

    /// For each delete whether it is marked.
    pub(crate) fn marked(&self) -> &[bool] {
        self.positions.marked()
    }
}

impl MarkedEquality {
    fn new(deletes: &RecordBatch, fields: &Schema) -> Result<MarkedEquality> {
        let [kind, key, sequence] = DELETES.map(|name| find(deletes, name));
        let (kinds, keys, sequences) = (kind?, key?, sequence?);
        let kinds = typed::<Int8Array>(&kinds, DELETES[0])?;
        let keys = typed::<Int64Array>(&keys, DELETES[1])?;
        let sequences = typed::<Int64Array>(&sequences, DELETES[2])?;
        let (mut groups, mut equality) = (HashMap::new(), Vec::new());
        for row in 0..deletes.num_rows() {
            if !is_equality_code(kinds.value(row)) {
                continue;
            }
            let next = groups.len();
            let is_of_partition = kinds.value(row) == DeleteKind::Equality.code();
            let partition =
                is_of_partition.then(|| *groups.entry(keys.value(row).cast_unsigned()).or_insert(next));
            let delete = i32::try_from(row).map_err(foreign)?;
            equality.push(EqualityDelete { delete, sequence: sequences.value(row), partition });
        }
        let are_equality: BooleanArray =
            kinds.values().iter().map(|kind| Some(is_equality_code(*kind))).collect();
        let mut builder = EqualityBuilder::default();
        builder.push(&filter_record_batch(deletes, &are_equality)?, &equality)?;
        let field = |field: &Arc<NestedField>| EqualityField {
            id: field.id,
            ty: field.ty.clone(),
            required: field.required,
        };
        let deletes = builder.finish(groups.len(), fields.fields.iter().map(field).collect())?;
        let marks = deletes.no_marks();
        Ok(MarkedEquality { deletes, groups, marks })
    }
}
