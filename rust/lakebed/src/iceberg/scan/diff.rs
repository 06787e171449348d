//! Files that are live in one of two snapshots.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, BinaryArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef};

use super::jobs::{IcebergJob, IdentifiedFiles, RowsJob};
use super::plan::{EntrySource, Plan, planned};
use super::program::{EntryProgram, program};
use crate::diff::{
    Change, ChangeColumns, DiffInput, DiffInputs, DiffJob, DiffScan, Reader, Side, Sides, apart,
};
use crate::distributed::{Bounds, Planned};
use crate::error::Result;
use crate::iceberg::manifest_list::ManifestFile;
use crate::iceberg::table::Table;
use crate::iceberg::view::Role;
use crate::notes::Notes;
use crate::pipeline::{Kept, both};
use crate::record::find;
use crate::scan::{ManifestStream, ScanOptions, Step, threads};
use crate::view::batch;

/// The identity of a file, as in `DataFileSet.java` and `DeleteFileSet.java`; deletion vectors in one file
/// are distinguished by their offset.
const IDENTITY: [&str; 3] = ["content", "content_offset", "file_path"];

/// Two snapshots of a table.
struct Snapshots {
    /// The table at either snapshot; its schema gives the types of the rows.
    table: Table,
    before: Table,
    after: Table,
    /// Which rows of the view `files` are read.
    options: ScanOptions,
    /// The columns that are requested.
    columns: Option<Vec<String>>,
    files: Files,
    notes: Notes,
}

/// How entries are decoded to files with their identity.
struct Files {
    /// Makes the requested columns and those of the identity.
    rows: Arc<EntryProgram>,
    /// Makes the columns of the identity.
    identities: Arc<EntryProgram>,
    /// The requested columns, then the identity.
    schema: SchemaRef,
}

/// The difference in files between the snapshots of `before` and `after`, in the types of `table`.
///
/// # Errors
/// `UnknownColumn`, `FilterColumn`, `Predicate`.
pub(crate) fn diff(
    table: &Table,
    before: Table,
    after: Table,
    options: &ScanOptions,
) -> Result<DiffScan<impl Sides + use<>>> {
    let wanted = ChangeColumns::of_files(options);
    let shown = Arc::clone(program(Role::Files, table, &wanted)?.view.schema());
    let identity = IDENTITY.map(str::to_owned).to_vec();
    let identities = ScanOptions { columns: Some(identity), stats: None, ..wanted.clone() };
    let files = Files {
        rows: Arc::new(program(Role::Files, table, &beside_identity(&wanted))?),
        identities: Arc::new(program(Role::Files, table, &identities)?),
        schema: with_identity(&shown),
    };
    let (table, notes) = (table.clone(), Notes::default());
    let columns = options.columns.clone();
    let snapshots = Snapshots { table, before, after, options: wanted, columns, files, notes };
    Ok(DiffScan::new(snapshots, ChangeColumns::new(options, &shown), options.limit))
}

/// The options for reading files with the requested columns and their identity.
pub(super) fn beside_identity(wanted: &ScanOptions) -> ScanOptions {
    ScanOptions { columns: wanted.columns_and(&IDENTITY), ..wanted.clone() }
}

impl Sides for Snapshots {
    fn inputs(&self) -> Result<DiffInputs> {
        let (before, after, manifests) = self.apart()?;
        let inputs = [(Change::Removed, before), (Change::Added, after)].into_iter();
        let inputs: Vec<_> = inputs.filter(|(_, manifests)| !manifests.is_empty()).collect();
        let table = self.table.clone().keeping();
        // Identities of both snapshots are read before the first row is returned.
        if inputs.len() > 1 {
            let files = inputs.iter().flat_map(|(_, manifests)| manifests);
            let files = files.map(|manifest| (manifest.path.clone(), manifest.length));
            Kept::fetch(table.storage(), files, table.decoding().limits)?;
        }
        let inputs = inputs.into_iter().map(|(change, manifests)| self.input(&table, change, manifests));
        Ok(DiffInputs { inputs: inputs.collect(), manifests })
    }

    fn job(&self, bounds: &Bounds) -> Result<Planned> {
        let (before, after, _) = self.apart()?;
        let files = |manifests| {
            RowsJob::new(Role::Files, &self.table, &self.options, manifests, None).map(IdentifiedFiles)
        };
        let (mut inputs, mut all) = (Vec::new(), Vec::new());
        for (change, manifests) in [(Change::Removed, before), (Change::Added, after)] {
            if !manifests.is_empty() {
                all.extend(planned(&manifests, self.table.storage().as_ref())?);
                inputs.push((change, files(manifests)?));
            }
        }
        let job = DiffJob::new(self.columns.clone(), files(Vec::new())?, inputs);
        Ok(Planned::new(IcebergJob::Diff(job), all, bounds).whole())
    }

    fn notes(&self) -> Notes {
        self.notes.clone()
    }
}

impl Snapshots {
    /// The manifests that only one of the snapshots has, and how many of all these are.
    fn apart(&self) -> Result<(Vec<ManifestFile>, Vec<ManifestFile>, Step)> {
        let (table, filter) = (self.table.clone(), self.options.table_filter.clone());
        let side = move |at: &Table| -> Result<Side<ManifestFile>> {
            let mut plan = Plan::of_list(&table, at.manifest_list()?, filter.as_deref())?;
            let pruned = std::mem::take(&mut plan.pruned);
            Ok(Side { kept: plan.of_role(Role::Files), pruned })
        };
        let (after, of_after) = (self.after.clone(), side.clone());
        let lists = both(self.table.storage().as_ref(), || side(&self.before), move || of_after(&after))?;
        let (before, after) = (lists.0, lists.1?);
        Ok(apart(before, after, |manifest| (manifest.path.as_str(), manifest.length.unwrap_or(0))))
    }

    fn input(&self, table: &Table, change: Change, manifests: Vec<ManifestFile>) -> DiffInput {
        let alone = with_identity(&Arc::new(ArrowSchema::empty()));
        DiffInput {
            change,
            identities: self.reader(table, &self.files.identities, manifests.clone(), alone),
            rows: self.reader(table, &self.files.rows, manifests, Arc::clone(&self.files.schema)),
        }
    }

    /// Reads manifests with `program`, in the columns of `schema`.
    fn reader(
        &self,
        table: &Table,
        program: &Arc<EntryProgram>,
        manifests: Vec<ManifestFile>,
        schema: SchemaRef,
    ) -> Reader {
        let (program, table, notes) = (Arc::clone(program), table.clone(), self.notes.clone());
        let threads = threads(self.options.threads);
        Box::new(move || {
            let source = EntrySource::new(Arc::clone(&program), table.clone(), notes.clone());
            let schema = Arc::clone(&schema);
            let files = ManifestStream::new(source, manifests.clone(), threads);
            Box::new(files.map(move |files| identified(&files?, &schema)))
        })
    }
}

/// The columns of `schema`, then the identity.
pub(super) fn with_identity(schema: &SchemaRef) -> SchemaRef {
    let identity = Arc::new(Field::new("_identity", DataType::Binary, true));
    Arc::new(ArrowSchema::new(schema.fields().iter().cloned().chain([identity]).collect::<Vec<_>>()))
}

/// Files in the columns of a schema that ends with the identity.
pub(super) fn identified(files: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let (identity, shown) = (identities(files)?, schema.fields().len().saturating_sub(1));
    let shown = schema.fields().iter().take(shown).map(|field| find(files, field.name()));
    let mut columns = shown.collect::<Result<Vec<_>>>()?;
    columns.push(Arc::new(identity));
    batch(schema, columns, files.num_rows())
}

/// The identities as bytes. Content and offset have a fixed length, so the path can follow them without its
/// own length.
pub(super) fn identities(files: &RecordBatch) -> Result<BinaryArray> {
    let [content, offset, path] = IDENTITY.map(|name| find(files, name));
    let (content, offset, path) = (content?, offset?, path?);
    let (content, offset) = (content.as_primitive::<Int32Type>(), offset.as_primitive::<Int64Type>());
    let path = path.as_string::<i32>();
    let mut key = Vec::new();
    let keys = (0..files.num_rows()).map(|row| {
        key.clear();
        key.extend(content.value(row).to_le_bytes());
        key.push(u8::from(offset.is_valid(row)));
        key.extend(if offset.is_valid(row) { offset.value(row) } else { 0 }.to_le_bytes());
        key.extend(path.value(row).as_bytes());
        key.clone()
    });
    Ok(BinaryArray::from_iter_values(keys))
}
