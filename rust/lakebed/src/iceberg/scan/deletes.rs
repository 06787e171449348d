//! The deletes of a snapshot: their index, what plans show of them, and their rows with numbers.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, StructArray};
use arrow_schema::{DataType, Field, Fields, Schema as ArrowSchema, SchemaRef};
use arrow_select::concat::concat_batches;

use super::plan::{EntrySource, Plan};
use super::program::EntryProgram;
use super::{entries_of, internal, own_view};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::deletes::{DELETE_INPUT, DeleteIndex, DeleteIndexBuilder, EqualityField};
use crate::iceberg::fields::ENTRY;
use crate::iceberg::table::{Table, TableTypes};
use crate::iceberg::view::Role;
use crate::notes::Notes;
use crate::record::find;
use crate::scan::{self, Batches, ManifestStream, ScanOptions, threads};
use crate::view::batch;

/// The fields of a delete in the column `delete_files`, each with the entry's column that it is.
const SHOWN: [(&str, &str); 6] = [
    ("content", "content"),
    ("file_path", "file_path"),
    ("content_offset", "content_offset"),
    ("content_size", "content_size_in_bytes"),
    ("record_count", "record_count"),
    ("sequence_number", "sequence_number"),
];

/// The type of a delete in the column `delete_files`.
pub(super) fn shown_fields() -> Fields {
    let data_type =
        |column: &str| ENTRY.iter().find(|spec| spec.column == column).map(|spec| (spec.data_type)());
    let field = |(name, column): &(&str, &str)| Some(Field::new(*name, data_type(column)?, true));
    SHOWN.iter().filter_map(field).collect()
}

/// The live deletes of a snapshot.
pub(super) struct Deletes {
    pub(super) index: DeleteIndex,
    /// The fields of [`shown_fields`] of each, where they are asked for.
    pub(super) shown: Option<StructArray>,
}

impl Deletes {
    /// Reads the delete manifests of `plan`, so many at a time, and of their deletes those that match.
    ///
    /// # Errors
    /// Those of reading entries and of [`DeleteIndexBuilder::push`], with their file.
    pub(super) fn read(
        table: &Table,
        types: &TableTypes,
        plan: Plan,
        filter: Option<&str>,
        (threads, show): (usize, bool),
    ) -> Result<Deletes> {
        let mut columns = DELETE_INPUT.to_vec();
        columns
            .extend(SHOWN.iter().map(|(_, column)| *column).filter(|column| !DELETE_INPUT.contains(column)));
        let manifests = plan.of_role(Role::LiveDeletes);
        let view = own_view(Role::LiveDeletes, types, &columns, None)?;
        let decoding = table.decoding().clone();
        let program = EntryProgram::of_view(Role::LiveDeletes, view, types.clone(), filter, decoding)?;
        let rows = entries_of(table, program, manifests, threads);
        let mut index = DeleteIndexBuilder::new(types.clone())?;
        let mut shown = Vec::new();
        for entries in rows {
            let entries = entries?;
            index.push(&entries)?;
            if show {
                shown.push(shown_of(&entries)?);
            }
        }
        let fields = equality_fields(table, types, &index.equality_ids())?;
        let schema = Arc::new(ArrowSchema::new(shown_fields()));
        let shown = show.then(|| concat_batches(&schema, &shown).map(StructArray::from));
        Ok(Deletes { index: index.finish(fields)?, shown: shown.transpose().map_err(internal)? })
    }
}

fn shown_of(entries: &RecordBatch) -> Result<RecordBatch> {
    let columns = SHOWN.iter().map(|(_, column)| find(entries, column));
    let schema = Arc::new(ArrowSchema::new(shown_fields()));
    batch(&schema, columns.collect::<Result<_>>()?, entries.num_rows())
}

/// What the newest schema that has them says of columns that equality deletes compare; without those that
/// are in none, and nested ones, which have no metrics.
fn equality_fields(table: &Table, types: &TableTypes, ids: &[i32]) -> Result<Vec<EqualityField>> {
    let mut schemas = vec![Arc::clone(&types.schema)];
    if ids.iter().any(|id| types.schema.field_by_id(*id).is_none()) {
        schemas.extend(table.schemas()?.into_values().rev());
    }
    let field = |id: &i32| {
        let (schema, field) = schemas.iter().find_map(|schema| Some((schema, schema.field_by_id(*id)?)))?;
        // A required field of a struct is null where the struct is.
        let required = field.required && schema.fields.iter().any(|top| top.id == *id);
        field.ty.is_primitive().then(|| EqualityField { id: *id, ty: field.ty.clone(), required })
    };
    Ok(ids.iter().filter_map(field).collect())
}

/// The deletes that a plan's files may have, with the numbers that it calls them by.
pub(super) struct PlannedDeletes {
    table: Table,
    program: Arc<EntryProgram>,
    filter: Option<String>,
    schema: SchemaRef,
    threads: usize,
    notes: Notes,
}

impl PlannedDeletes {
    /// The deletes of the snapshot where `table` stands that the filter and the threads of `plan` leave.
    pub(super) fn new(table: &Table, plan: &ScanOptions) -> Result<PlannedDeletes> {
        let filter = plan.filter.clone();
        let options = ScanOptions { filter: filter.clone(), ..ScanOptions::default() };
        let program = EntryProgram::new(Role::Deletes, table.types()?, &options, table.decoding().clone())?;
        let number = Arc::new(Field::new("delete_id", DataType::Int32, true));
        let fields = std::iter::once(&number).chain(program.view.schema().fields()).cloned();
        let schema = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
        let (table, program, threads) = (table.clone(), Arc::new(program), threads(plan.threads));
        Ok(PlannedDeletes { table, program, filter, schema, threads, notes: Notes::default() })
    }
}

impl scan::Scan for PlannedDeletes {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn stream(&self) -> Result<Batches> {
        let manifests = Plan::new(&self.table, self.filter.as_deref())?.of_role(Role::Deletes);
        let source = EntrySource::new(Arc::clone(&self.program), self.table.clone(), self.notes.clone());
        let rows = ManifestStream::new(source, manifests, self.threads);
        let (schema, mut next) = (Arc::clone(&self.schema), 0);
        Ok(Box::new(rows.map(move |rows| numbered(&rows?, &schema, &mut next))))
    }

    fn notes(&self) -> Notes {
        self.notes.clone()
    }
}

/// `rows` behind their numbers, of which `next` is the first.
fn numbered(rows: &RecordBatch, schema: &SchemaRef, next: &mut i32) -> Result<RecordBatch> {
    let end = i32::try_from(rows.num_rows()).ok().and_then(|count| next.checked_add(count));
    let end = end.ok_or_else(|| Error::new(ErrorKind::Unsupported, "more than 2^31 deletes"))?;
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(*next..end));
    *next = end;
    batch(schema, std::iter::once(&numbers).chain(rows.columns()).cloned().collect(), rows.num_rows())
}
