//! Content entries: what manifests of Iceberg's version 4 are to hold, as far as that is known.
//!
//! A snapshot's **root** manifest lists files and **leaf** manifests, which list files; both are of one struct, here the
//! entry. It stands in unfinished classes of Iceberg 1.12 (`TrackedFile.java`, `V4ManifestReader.java`), in Delta's
//! text of its adaptive metadata, and in the specification's statistics of columns; no engine writes it yet.
//!
//! # Advice for whoever changes this
//! Ids and rules still move. Ids and names stand in `fields.rs` and nowhere else, and fields are found by id alone:
//! names are informational, and Parquet has them in the form of Avro's. What is compared with Iceberg's own
//! reader is what its 1.12 reads; its snapshots of later months have other fields, so read the table against the text
//! before you trust either. A rule that no bytes have shown says so in its comment. Nothing outside this room may know
//! an entry's fields before the format is adopted: what is public is for `lakebed.experimental` alone.

mod columns;
mod fields;
mod filter;
mod inherit;
mod mumbling;
mod stats;
mod stored;
mod tree;
mod write;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, Int32Array, Int64Array, ListArray, RecordBatch, RecordBatchOptions, StructArray,
};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, Fields, Schema as ArrowSchema, SchemaRef};

use self::columns::{EntryTypes, StoredFields};
use self::fields::{
    COLUMN_FILES, CONTENT_TYPE, CONTENT_TYPES, DELETION_VECTOR, ENTRY, EntryField, FILE_SEQUENCE_NUMBER,
    FIRST_ROW_ID, FieldShape, LIVE, LOCATION, POS, RECORD_COUNT, SEQUENCE_NUMBER, SNAPSHOT_ID, STATUS,
    STATUSES, TRACKING, TRACKING_ID,
};
use self::inherit::InheritedRowIds;
pub use self::inherit::ListedLeaf;
pub use self::mumbling::MumblingBitmap;
use self::stats::ContentStats;
pub(super) use self::stored::unless_content_entries;
use self::stored::{StoredEntries, WantedFields};
pub use self::tree::ContentTree;
pub use self::write::write_content_entries;
use super::partition::{PartitionSpec, PartitionType};
use super::paths::resolved_column;
use super::types::Schema;
use crate::columnar::Decoding;
use crate::error::{Error, ErrorKind, Result};
use crate::notes::Notes;
use crate::record::{batches_until_error, typed};
use crate::words::unknown;

/// What is known of a manifest before it is opened.
#[derive(Debug, Clone, Default)]
pub struct EntryContext {
    /// The table's schema, by which statistics are named and typed; without it they are as stored, and named by ids.
    pub schema: Option<Arc<Schema>>,
    /// The table's specs, and the partition fields of all of them; without it they are as stored, and named by ids.
    pub partition: Option<(Arc<[PartitionSpec]>, Arc<PartitionType>)>,
    /// The ids of the columns whose statistics are wanted; `None` for all.
    pub stats_of: Option<Vec<i32>>,
    /// The table's location, which relative paths begin with; without it they stay relative.
    pub location: Option<String>,
    /// What its root says of it; without it nothing is inherited, and no entry is deleted but by its status.
    pub listed: Option<ListedLeaf>,
    /// Receives what is unusual about the manifest but not an error: more entries than listed.
    pub notes: Notes,
}

/// The entries of one root or leaf manifest as record batches, in file order, those that are not live included.
pub struct ContentEntryReader {
    stored: StoredEntries,
    columns: Vec<Column>,
    types: EntryTypes,
    schema: SchemaRef,
    known: EntryContext,
    row_ids: InheritedRowIds,
    records: u64,
    ended: bool,
}

/// A column that is asked for.
#[derive(Clone, Copy)]
enum Column {
    Pos,
    Live,
    Tracking(&'static EntryField),
    Entry(&'static EntryField),
}

impl Column {
    fn all() -> Vec<Column> {
        let tracking = TRACKING.iter().map(Column::Tracking);
        [Column::Pos, Column::Live]
            .into_iter()
            .chain(tracking)
            .chain(ENTRY.iter().map(Column::Entry))
            .collect()
    }

    fn name(self) -> &'static str {
        match self {
            Column::Pos => POS,
            Column::Live => LIVE,
            Column::Tracking(field) | Column::Entry(field) => field.name,
        }
    }

    fn arrow(self, types: &EntryTypes) -> Field {
        match self {
            Column::Pos => Field::new(POS, DataType::Int64, false),
            Column::Live => Field::new(LIVE, DataType::Boolean, false),
            Column::Tracking(field) | Column::Entry(field) => types.arrow(field),
        }
    }

    /// The named columns, in that order; all of them for `None`.
    fn named(names: Option<&[String]>) -> Result<Vec<Column>> {
        let all = Column::all();
        let Some(names) = names else { return Ok(all) };
        let of = |name: &String| {
            all.iter().find(|column| column.name() == name).copied().ok_or_else(|| {
                let message = unknown("column", name, all.iter().map(|column| column.name()));
                Error::new(ErrorKind::UnknownColumn, message).in_field(name)
            })
        };
        names.iter().map(of).collect()
    }
}

/// Decoded whatever is asked for: what is inherited depends on it, and it is checked.
const ALWAYS: [&str; 2] = [CONTENT_TYPE, RECORD_COUNT];

impl ContentEntryReader {
    /// Opens a manifest, in Parquet or Avro, for the named columns of its entries; all of them for `None`.
    ///
    /// # Errors
    /// `UnknownColumn`, with the known names; those of the container's layer; `Required` for a field that is missing or
    /// null; `Duplicate` for an id that a struct has twice; `Mismatch` for a status or content that there is not, for
    /// fewer entries than listed, and for a deletion vector of other entries; `Schema` and others for values of
    /// another type than the table's.
    pub fn open(
        bytes: Buffer,
        names: Option<&[String]>,
        known: EntryContext,
        decoding: &Decoding,
        threads: usize,
    ) -> Result<ContentEntryReader> {
        let columns = Column::named(names)?;
        let has = |wanted: &str| columns.iter().any(|column| column.name() == wanted);
        let entry = ENTRY.iter().filter(|field| has(field.name) || ALWAYS.contains(&field.name));
        let ids = std::iter::once(TRACKING_ID).chain(entry.map(|field| field.id)).collect();
        let only = known.stats_of.as_deref();
        let of_schema = known.schema.as_deref().map(|schema| ContentStats::of_schema(schema, only));
        let stats_id = id_of(|shape| matches!(shape, FieldShape::ContentStats));
        let some_of = of_schema.as_ref().zip(stats_id).map(|(stats, id)| (id, stats.ids()));
        let stored = StoredEntries::open(bytes, &WantedFields { ids, some_of }, decoding, threads)?;
        let stored_struct = |id: Option<i32>| match id.and_then(|id| stored.type_of(id)) {
            Some(DataType::Struct(fields)) => fields.clone(),
            _ => Fields::empty(),
        };
        let types = EntryTypes {
            partition: known.partition.as_ref().map(|(_, partition)| Arc::clone(partition)),
            stored_partition: stored_struct(id_of(|shape| matches!(shape, FieldShape::Partition))),
            stats: of_schema.unwrap_or_else(|| ContentStats::of_file(&stored_struct(stats_id))),
        };
        let fields: Vec<Field> = columns.iter().map(|column| column.arrow(&types)).collect();
        let schema = Arc::new(ArrowSchema::new(fields));
        let row_ids = InheritedRowIds::of(known.listed.as_ref());
        Ok(ContentEntryReader { stored, columns, types, schema, known, row_ids, records: 0, ended: false })
    }

    /// The schema of every batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn read_batch(&mut self) -> Result<Option<RecordBatch>> {
        let Some(stored) = self.stored.next().transpose()? else {
            let has_more = self.known.listed.as_ref().map(|leaf| leaf.check(self.records)).transpose()?;
            if has_more == Some(true) {
                let listed =
                    self.known.listed.as_ref().and_then(|leaf| leaf.record_count).unwrap_or_default();
                let message = format!("the manifest holds {} entries, its root lists {listed}", self.records);
                self.known.notes.add(message);
            }
            return Ok(None);
        };
        let first = self.records;
        self.records += stored.num_rows() as u64;
        self.entries(&stored, first).map(Some).map_err(|error| error.behind_records(Some(first)))
    }

    /// The columns that are asked for of a batch of stored entries.
    fn entries(&mut self, stored: &RecordBatch, first: u64) -> Result<RecordBatch> {
        let entry = StoredFields::of_batch(stored);
        let tracking = entry.child(TRACKING_ID).ok_or_else(|| {
            let message = format!("the manifest has no tracking (id {TRACKING_ID})");
            Error::new(ErrorKind::Required, message).in_field("tracking")
        })?;
        if let Some(row) = (0..tracking.len()).find(|row| tracking.is_null(*row)) {
            let message = format!("tracking (id {TRACKING_ID}) is null");
            return Err(Error::new(ErrorKind::Required, message).in_field("tracking").in_row(row));
        }
        let tracking = StoredFields::of(tracking).map_err(|error| error.in_field("tracking"))?;
        let needed = |name: &str| {
            let from = |fields: &'static [EntryField], parent| {
                let field = fields.iter().find(|field| field.name == name)?;
                Some(self.types.column(field, parent))
            };
            from(&TRACKING, &tracking).or_else(|| from(&ENTRY, &entry)).unwrap_or_else(|| {
                Err(Error::new(ErrorKind::Internal, format!("{name} is no field of entries")))
            })
        };
        let (statuses, contents, rows) = (needed(STATUS)?, needed(CONTENT_TYPE)?, needed(RECORD_COUNT)?);
        let statuses = typed::<Int32Array>(&statuses, STATUS)?;
        let rows = typed::<Int64Array>(&rows, RECORD_COUNT)?;
        check(statuses, STATUS, |status| STATUSES.contains(&status))?;
        check(typed(&contents, CONTENT_TYPE)?, CONTENT_TYPE, |content| CONTENT_TYPES.contains(&content))?;
        let listed = self.known.listed.as_ref();
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.columns.len());
        for wanted in &self.columns {
            let made: ArrayRef = match wanted {
                Column::Pos => {
                    Arc::new((first..).take(stored.num_rows()).map(position).collect::<Int64Array>())
                }
                Column::Live => Arc::new(listed.unwrap_or(&ListedLeaf::default()).live(statuses, first)),
                Column::Tracking(field) => {
                    let made = self.types.column(field, &tracking)?;
                    match (field.name, listed) {
                        (SNAPSHOT_ID, Some(leaf)) => leaf.snapshot_ids(typed(&made, field.name)?),
                        (SEQUENCE_NUMBER | FILE_SEQUENCE_NUMBER, Some(leaf)) => {
                            leaf.sequence_numbers(typed(&made, field.name)?, statuses)
                        }
                        (FIRST_ROW_ID, Some(_)) => {
                            self.row_ids.next(typed(&made, field.name)?, statuses, rows)?
                        }
                        _ => made,
                    }
                }
                Column::Entry(field) => {
                    let made = self.types.column(field, &entry)?;
                    match &self.known.location {
                        Some(location) => resolved(&made, field.name, location)?,
                        None => made,
                    }
                }
            };
            columns.push(made);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(stored.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

batches_until_error!(ContentEntryReader);

/// The id of the entry's field of a shape.
fn id_of(is_it: impl Fn(&FieldShape) -> bool) -> Option<i32> {
    ENTRY.iter().find(|field| is_it(&field.shape)).map(|field| field.id)
}

/// A number of rows that are there.
fn position(position: u64) -> i64 {
    i64::try_from(position).unwrap_or(i64::MAX)
}

/// Refuses a number that means nothing.
fn check(numbers: &Int32Array, name: &str, is_one: impl Fn(i32) -> bool) -> Result<()> {
    match numbers.values().iter().position(|number| !is_one(*number)) {
        Some(row) => {
            let message = format!("{name} is {}, which the format does not have", numbers.value(row));
            Err(Error::new(ErrorKind::Mismatch, message).in_field(name).in_row(row))
        }
        None => Ok(()),
    }
}

/// A column with the paths in it behind the table's location where they are relative.
fn resolved(made: &ArrayRef, name: &str, location: &str) -> Result<ArrayRef> {
    match name {
        LOCATION => resolved_column(made, LOCATION, location),
        DELETION_VECTOR => resolved_struct(made, location),
        COLUMN_FILES => {
            let list = typed::<ListArray>(made, COLUMN_FILES)?;
            let DataType::List(item) = list.data_type() else { return Ok(Arc::clone(made)) };
            let values = resolved_struct(list.values(), location)?;
            let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
            Ok(Arc::new(ListArray::try_new(Arc::clone(item), offsets, values, nulls)?))
        }
        _ => Ok(Arc::clone(made)),
    }
}

fn resolved_struct(made: &ArrayRef, location: &str) -> Result<ArrayRef> {
    let Some(parent) = made.as_struct_opt() else { return Ok(Arc::clone(made)) };
    let columns =
        parent.fields().iter().zip(parent.columns()).map(|(field, column)| match field.name().as_str() {
            LOCATION => resolved_column(column, LOCATION, location),
            _ => Ok(Arc::clone(column)),
        });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let nulls = parent.nulls().cloned();
    Ok(Arc::new(StructArray::try_new_with_length(parent.fields().clone(), columns, nulls, parent.len())?))
}
