//! The entries that the engine's tables list, read as by the engine: with the table's current schema,
//! whichever snapshot the table is at.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_schema::{DataType, Field};

use crate::error::Result;
use crate::iceberg::fields::{ENTRY, PARTITION};
use crate::iceberg::manifest_list::Content;
use crate::iceberg::manifest_list::ManifestFile;
use crate::iceberg::metadata::{ElementFilter, WantedElements};
use crate::iceberg::metrics::MetricsView;
use crate::iceberg::scan::rows_of;
use crate::iceberg::table::{Table, TableTypes};
use crate::iceberg::view::Role;
use crate::record::find;
use crate::scan::Batches;
use crate::system::{Request, optional, required};

/// The column of readable metrics.
pub(super) const READABLE_METRICS: &str = "readable_metrics";

/// The fields of an entry's data file, in the engine's order: columns in some tables, a struct in others.
pub(super) fn data_file_fields(types: &TableTypes) -> Vec<Field> {
    let fields = ENTRY.iter().filter(|spec| spec.disk.starts_with("data_file."));
    let field = fields.filter(|spec| spec.column != PARTITION || !types.partition.fields.is_empty());
    field
        .map(|spec| match spec.column {
            PARTITION => required(PARTITION, types.partition.arrow()),
            name if spec.required => required(name, (spec.data_type)()),
            name => optional(name, (spec.data_type)()),
        })
        .collect()
}

/// The column with the metrics of every primitive column of the schema.
pub(super) fn readable_metrics(types: &TableTypes) -> Field {
    optional(READABLE_METRICS, MetricsView::readable(&types.schema).data_type())
}

/// Whose manifests a table reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Those of the snapshot that the table is at.
    Snapshot,
    /// Those of every snapshot, each once.
    All,
}

/// The manifest lists of a scope, each with the id of its snapshot.
pub(super) fn lists(table: &Table, scope: Scope) -> Result<Vec<(i64, RecordBatch)>> {
    match scope {
        Scope::Snapshot => match table.snapshot_id() {
            Some(id) => Ok(vec![(id, table.manifest_list()?)]),
            None => Ok(Vec::new()),
        },
        Scope::All => {
            let snapshots = table
                .read(&WantedElements { snapshots: ElementFilter::All, ..WantedElements::CURRENT })?
                .snapshots;
            snapshots.iter().map(|snapshot| Ok((snapshot.snapshot_id, table.list_of(snapshot)?))).collect()
        }
    }
}

/// The requested columns of entries, of every manifest in a scope.
pub(super) fn entries(
    table: &Table,
    request: &Request,
    (role, scope, content): (Role, Scope, Content),
    mut columns: Vec<&'static str>,
) -> Result<Batches> {
    let mut seen = HashSet::new();
    let mut manifests = Vec::new();
    for (_, list) in lists(table, scope)? {
        manifests.extend(ManifestFile::all(&list)?);
    }
    manifests.retain(|manifest| {
        let may_have = role == Role::Entries || manifest.may_be_live();
        content.has(manifest) && may_have && seen.insert(manifest.path.clone())
    });
    let types = table.current_types()?;
    let metrics = request.needs(READABLE_METRICS).then(|| {
        columns.push(READABLE_METRICS);
        (READABLE_METRICS, MetricsView::readable(&types.schema))
    });
    let rows = rows_of(table, role, types, &columns, metrics, manifests, request.threads)?;
    Ok(Box::new(rows.map(|rows| whole_tuples(&rows?))))
}

/// Null partition tuples, which some writers write for unpartitioned tables, as tuples of nulls: the engine's
/// tuples are never null.
fn whole_tuples(rows: &RecordBatch) -> Result<RecordBatch> {
    let columns = rows.schema_ref().fields().iter().zip(rows.columns()).map(|(field, column)| {
        match (field.name().as_str(), column.as_struct_opt()) {
            (PARTITION, Some(tuples)) if tuples.null_count() > 0 => {
                let (fields, columns, _) = tuples.clone().into_parts();
                Arc::new(StructArray::new(fields, columns, None)) as ArrayRef
            }
            _ => Arc::clone(column),
        }
    });
    crate::view::batch(rows.schema_ref(), columns.collect(), rows.num_rows())
}

/// The columns of `rows` for `fields`, in one struct.
pub(super) fn structs(rows: &RecordBatch, fields: &DataType) -> Result<ArrayRef> {
    let DataType::Struct(fields) = fields else { return find(rows, PARTITION) };
    let columns = fields.iter().map(|field| find(rows, field.name())).collect::<Result<Vec<_>>>()?;
    let structs = StructArray::try_new_with_length(fields.clone(), columns, None, rows.num_rows());
    let structs = structs.map_err(|error| {
        crate::error::Error::new(crate::error::ErrorKind::Argument, error.to_string()).in_field("data_file")
    })?;
    Ok(Arc::new(structs))
}
