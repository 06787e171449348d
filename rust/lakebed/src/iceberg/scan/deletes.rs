//! The deletes of a snapshot: their index, and what plans show of them.

use std::sync::Arc;

use arrow_array::{RecordBatch, StructArray};
use arrow_schema::Schema as ArrowSchema;
use arrow_select::concat::concat_batches;

use super::program::EntryProgram;
use super::rows::{entries_of, own_view};
use crate::columnar::Decoding;
use crate::error::Result;
use crate::iceberg::deletes::{DELETE_INPUT, DeleteIndex, DeleteIndexBuilder, EqualityField};
use crate::iceberg::manifest_list::ManifestFile;
use crate::iceberg::table::{Table, TableTypes};
use crate::iceberg::types::Schema;
use crate::iceberg::view::Role;
use crate::record::find;
use crate::view::{batch, planned_deletes};

/// The fields of a delete in the column `delete_files`, each with the entry's column that it is read from.
const SHOWN: [(&str, &str); 6] = [
    ("content", "content"),
    ("file_path", "file_path"),
    ("content_offset", "content_offset"),
    ("content_size", "content_size_in_bytes"),
    ("record_count", "record_count"),
    ("sequence_number", "sequence_number"),
];

/// The live deletes of a snapshot.
pub(super) struct LiveDeletes {
    pub(super) index: DeleteIndex,
    /// The fields of [`planned_deletes`] for each delete, where they are requested.
    pub(super) shown: Option<StructArray>,
}

impl LiveDeletes {
    /// Reads the matching deletes of delete manifests, with that many threads.
    ///
    /// # Errors
    /// Those of reading entries and of [`DeleteIndexBuilder::push`], with their file.
    pub(super) fn read(
        table: &Table,
        types: &TableTypes,
        manifests: Vec<ManifestFile>,
        filter: Option<&str>,
        (threads, show): (usize, bool),
    ) -> Result<LiveDeletes> {
        let program = delete_program(types.clone(), filter, table.decoding().clone())?;
        let mut deletes = DeletesBuilder::new(types.clone(), show)?;
        for entries in entries_of(table, program, manifests, threads) {
            deletes.push(&entries?)?;
        }
        deletes.finish_of(table, types)
    }
}

/// The program that decodes entries of delete manifests for [`DeletesBuilder::push`].
pub(super) fn delete_program(
    types: TableTypes,
    filter: Option<&str>,
    decoding: Decoding,
) -> Result<EntryProgram> {
    delete_program_with(types, filter, decoding, &SHOWN.map(|(_, column)| column))
}

/// The same, with these columns of entries besides.
pub(super) fn delete_program_with(
    types: TableTypes,
    filter: Option<&str>,
    decoding: Decoding,
    columns: &[&'static str],
) -> Result<EntryProgram> {
    let more = columns.iter().copied().filter(|column| !DELETE_INPUT.contains(column));
    let columns: Vec<&str> = DELETE_INPUT.into_iter().chain(more).collect();
    let view = own_view(Role::LiveDeletes, &types, &columns, None)?;
    EntryProgram::of_view(Role::LiveDeletes, view, types, filter, decoding)
}

/// Collects the deletes of a snapshot, batch by batch.
pub(super) struct DeletesBuilder {
    index: DeleteIndexBuilder,
    shown: Option<Vec<RecordBatch>>,
}

impl DeletesBuilder {
    /// No deletes yet; `show` is whether their fields are requested.
    ///
    /// # Errors
    /// Those of [`DeleteIndexBuilder::new`].
    pub(super) fn new(types: TableTypes, show: bool) -> Result<DeletesBuilder> {
        Ok(DeletesBuilder { index: DeleteIndexBuilder::new(types)?, shown: show.then(Vec::new) })
    }

    /// Adds entries that [`delete_program`] decoded.
    ///
    /// # Errors
    /// Those of [`DeleteIndexBuilder::push`].
    pub(super) fn push(&mut self, entries: &RecordBatch) -> Result<()> {
        self.index.push(entries)?;
        if let Some(shown) = &mut self.shown {
            shown.push(shown_of(entries)?);
        }
        Ok(())
    }

    /// The deletes of a table. Older schemas are read where the table's lacks a column that is compared.
    ///
    /// # Errors
    /// Those of reading them.
    pub(super) fn finish_of(self, table: &Table, types: &TableTypes) -> Result<LiveDeletes> {
        let ids = self.index.equality_ids();
        let mut schemas = vec![Arc::clone(&types.schema)];
        if ids.iter().any(|id| types.schema.field_by_id(*id).is_none()) {
            schemas.extend(table.schemas()?.into_values().rev());
        }
        self.finish(&schemas)
    }

    /// The deletes. The types of compared columns are those of the first of `schemas` that has the column.
    pub(super) fn finish(self, schemas: &[Arc<Schema>]) -> Result<LiveDeletes> {
        let fields = equality_fields(schemas, &self.index.equality_ids());
        let schema = Arc::new(ArrowSchema::new(planned_deletes()));
        let shown = self.shown.map(|shown| concat_batches(&schema, &shown).map(StructArray::from));
        Ok(LiveDeletes { index: self.index.finish(fields)?, shown: shown.transpose()? })
    }
}

fn shown_of(entries: &RecordBatch) -> Result<RecordBatch> {
    let columns = SHOWN.iter().map(|(_, column)| find(entries, column));
    let schema = Arc::new(ArrowSchema::new(planned_deletes()));
    batch(&schema, columns.collect::<Result<_>>()?, entries.num_rows())
}

/// The columns that equality deletes compare, from the first of the schemas that has each. Left out are
/// columns that no schema has, and nested ones, which have no metrics.
pub(in crate::iceberg) fn equality_fields(schemas: &[Arc<Schema>], ids: &[i32]) -> Vec<EqualityField> {
    let field = |id: &i32| {
        let (schema, field) = schemas.iter().find_map(|schema| Some((schema, schema.field_by_id(*id)?)))?;
        // A required field of an optional struct is null where the struct is null.
        let required = field.required && schema.fields.iter().any(|top| top.id == *id);
        field.ty.is_primitive().then(|| EqualityField { id: *id, ty: field.ty.clone(), required })
    };
    ids.iter().filter_map(field).collect()
}
