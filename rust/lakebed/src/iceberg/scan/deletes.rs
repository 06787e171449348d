//! The deletes of a snapshot: their index, and what plans show of them.

use std::sync::Arc;

use arrow_array::{RecordBatch, StructArray};
use arrow_schema::Schema as ArrowSchema;
use arrow_select::concat::concat_batches;

use super::plan::Plan;
use super::program::EntryProgram;
use super::{entries_of, internal, own_view};
use crate::error::Result;
use crate::iceberg::deletes::{DELETE_INPUT, DeleteIndex, DeleteIndexBuilder, EqualityField};
use crate::iceberg::table::{Table, TableTypes};
use crate::iceberg::view::Role;
use crate::record::find;
use crate::view::{batch, planned_deletes};

/// The fields of a delete in the column `delete_files`, each with the entry's column that it is.
const SHOWN: [(&str, &str); 6] = [
    ("content", "content"),
    ("file_path", "file_path"),
    ("content_offset", "content_offset"),
    ("content_size", "content_size_in_bytes"),
    ("record_count", "record_count"),
    ("sequence_number", "sequence_number"),
];

/// The live deletes of a snapshot.
pub(super) struct Deletes {
    pub(super) index: DeleteIndex,
    /// The fields of [`planned_deletes`] of each, where they are asked for.
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
        let schema = Arc::new(ArrowSchema::new(planned_deletes()));
        let shown = show.then(|| concat_batches(&schema, &shown).map(StructArray::from));
        Ok(Deletes { index: index.finish(fields)?, shown: shown.transpose().map_err(internal)? })
    }
}

fn shown_of(entries: &RecordBatch) -> Result<RecordBatch> {
    let columns = SHOWN.iter().map(|(_, column)| find(entries, column));
    let schema = Arc::new(ArrowSchema::new(planned_deletes()));
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
