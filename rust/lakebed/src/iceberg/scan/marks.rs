//! The deletes of a snapshot, to be marked by the data files that they apply to.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_select::concat::concat_batches;

use super::deletes::equality_fields;
use super::plan::Plan;
use super::program::EntryProgram;
use super::rows::{entries_of, own_view};
use crate::dangling::{AMOUNTS, DeleteMarks, SnapshotDeletes};
use crate::error::Result;
use crate::iceberg::deletes::{
    DELETE_INPUT, EqualityField, MarkedDeletes, compared_ids, comparing, sent_deletes,
};
use crate::iceberg::partition::PartitionNumbers;
use crate::iceberg::table::{StoredTypes, Table, TableTypes};
use crate::iceberg::view::Role;
use crate::record::{column, find};
use crate::scan::{ScanOptions, threads};
use crate::view::whole;

/// The columns of entries with how much a delete is: rows, and bytes of a file or of a vector.
const AMOUNT: [&str; 4] = ["content_offset", "record_count", "file_size_in_bytes", "content_size_in_bytes"];

impl DeleteMarks<Table> for MarkedDeletes {
    fn read(table: &Table, options: &ScanOptions) -> Result<Option<SnapshotDeletes>> {
        let filter = options.table_filter.as_deref();
        let manifests = Plan::new(table, filter)?.of_role(Role::LiveDeletes);
        if manifests.is_empty() {
            return Ok(None);
        }
        let types = table.types()?;
        let columns: Vec<&str> = DELETE_INPUT.into_iter().chain(AMOUNT).collect();
        let view = own_view(Role::LiveDeletes, &types, &columns, None)?;
        let decoding = table.decoding().clone();
        let program = EntryProgram::of_view(Role::LiveDeletes, view, types.clone(), filter, decoding)?;
        let partitions = PartitionNumbers::new(&types.partition)?;
        let (mut deletes, mut amounts) = (Vec::new(), Vec::new());
        for entries in entries_of(table, program, manifests, threads(options.threads)) {
            let entries = entries?;
            deletes.push(sent_deletes(&types, &partitions, &entries)?);
            amounts.push(amounts_of(&entries)?);
        }
        let (Some(first), Some(of_first)) = (deletes.first(), amounts.first()) else { return Ok(None) };
        let deletes = concat_batches(&first.schema(), &deletes)?;
        let amounts = concat_batches(&of_first.schema(), &amounts)?;
        Ok(Some(SnapshotDeletes {
            deletes: comparing(&deletes, compared_by(table, &types, &deletes)?)?,
            amounts,
        }))
    }

    fn of(table: &Table, deletes: &RecordBatch) -> Result<MarkedDeletes> {
        MarkedDeletes::new(&table.types()?, deletes)
    }

    fn sent(types: &StoredTypes, deletes: &RecordBatch) -> Result<MarkedDeletes> {
        MarkedDeletes::new(&TableTypes::try_from(types)?, deletes)
    }

    fn input(&self) -> Vec<&'static str> {
        MarkedDeletes::input(self)
    }

    fn mark(&mut self, files: &RecordBatch) -> Result<()> {
        MarkedDeletes::mark(self, files)
    }

    fn marked(&self) -> &[bool] {
        MarkedDeletes::marked(self)
    }
}

/// The columns that equality deletes compare, as plans know them; `None` without such deletes.
fn compared_by(
    table: &Table,
    types: &TableTypes,
    deletes: &RecordBatch,
) -> Result<Option<Vec<EqualityField>>> {
    let ids = compared_ids(deletes)?;
    if ids.is_empty() {
        return Ok(None);
    }
    let mut schemas = vec![Arc::clone(&types.schema)];
    if ids.iter().any(|id| types.schema.field_by_id(*id).is_none()) {
        schemas.extend(table.schemas()?.into_values().rev());
    }
    Ok(Some(equality_fields(&schemas, &ids)))
}

fn amounts_of(entries: &RecordBatch) -> Result<RecordBatch> {
    let [offset, records, of_file, of_vector] = AMOUNT;
    let of_file = column::<Int64Array>(entries, of_file)?.iter();
    let of_vector = column::<Int64Array>(entries, of_vector)?.iter();
    let bytes: Int64Array = of_vector.zip(of_file).map(|(vector, file)| vector.or(file)).collect();
    let [content, _, record_count, size] = AMOUNTS;
    let columns: Vec<(&str, ArrayRef)> = vec![
        (content, find(entries, content)?),
        (offset, find(entries, offset)?),
        (record_count, find(entries, records)?),
        (size, Arc::new(bytes)),
    ];
    whole(columns, entries.num_rows())
}
