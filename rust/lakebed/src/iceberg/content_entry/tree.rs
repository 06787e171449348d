//! The live files of a snapshot: those that its root manifest lists, and those that its leaves list.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray, StructArray,
};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef};
use arrow_select::filter::filter_record_batch;

use super::fields::{
    CONTENT_STATS, CONTENT_TYPE, DATA_MANIFEST, DELETE_MANIFEST, DV, FILE_SIZE_IN_BYTES, FIRST_ROW_ID,
    FORMAT_VERSION, LIVE, LOCATION, MANIFEST_INFO, RECORD_COUNT, SEQUENCE_NUMBER, SNAPSHOT_ID,
};
use super::filter::EntryFilter;
use super::{Column, ContentEntryReader, EntryContext, ListedLeaf, MumblingBitmap};
use crate::columnar::Decoding;
use crate::error::{Error, ErrorKind, Result};
use crate::pipeline::{Pipeline, Sink, Source, Width};
use crate::record::column;
use crate::scan::Batches;
use crate::storage::Storage;

/// The column with the path of the manifest that lists a file.
const MANIFEST: &str = "manifest";
/// Columns of entries that are read whatever is asked for.
const READ: [&str; 10] = [
    LIVE,
    CONTENT_TYPE,
    FORMAT_VERSION,
    LOCATION,
    RECORD_COUNT,
    FILE_SIZE_IN_BYTES,
    SNAPSHOT_ID,
    SEQUENCE_NUMBER,
    FIRST_ROW_ID,
    MANIFEST_INFO,
];
/// The version whose manifests are read here.
const VERSION: i32 = 4;

/// What reads a root manifest and its leaves.
#[derive(Clone)]
pub struct ContentTree {
    /// What reads them; it refuses paths that may not be opened.
    pub storage: Arc<dyn Storage>,
    /// The path of the root.
    pub root: String,
    /// The columns of entries, and `manifest`; all of them for `None`.
    pub columns: Option<Vec<String>>,
    /// The table, of which schema and specs must be known. What is `listed` is what entries of the root inherit: those of
    /// the snapshot.
    pub known: EntryContext,
    /// A condition on the table's columns: files and leaves are left out in which no row can match.
    pub filter: Option<String>,
    /// How manifests are decoded.
    pub decoding: Decoding,
    /// How many threads decode.
    pub threads: usize,
}

impl ContentTree {
    /// Reads the root; leaves are read as rows are asked for. Rows are the live files, data and equality deletes, of the
    /// root and then of its leaves, in the order that they are listed in.
    ///
    /// # Errors
    /// Those of [`ContentEntryReader::open`]; `Argument` without schema or specs; `Predicate` and `FilterColumn`;
    /// `Unsupported` for manifests of deletes and of older versions; those of the storage.
    pub fn read(self) -> Result<(SchemaRef, Batches)> {
        if self.known.schema.is_none() || self.known.partition.is_none() {
            let message = "the files of a tree need the table's schemas and partition specs";
            return Err(Error::new(ErrorKind::Argument, message));
        }
        let files = Arc::new(FileRows::new(&self)?);
        let bytes = self.storage.read(&self.root)?;
        let found = || {
            let reader = files.open(bytes, self.known.listed.clone(), self.threads)?;
            let schema = files.schema(reader.schema())?;
            let (mut rows, mut leaves) = (Vec::new(), Vec::new());
            for entries in reader {
                let entries = entries?;
                rows.push(files.rows(&entries, &self.root, &schema)?);
                leaves.extend(files.leaves(&entries)?);
            }
            Ok((schema, rows, leaves))
        };
        let (schema, rows, leaves) = found().map_err(|error: Error| error.in_file(&self.root))?;
        let width =
            if leaves.len() > 1 { Width::new(self.storage.as_ref(), self.threads) } else { Width::ONE };
        let source = LeafSource { files, storage: self.storage, schema: Arc::clone(&schema) };
        let of_leaves = Pipeline::new(source, leaves, width);
        let rows = rows.into_iter().map(Ok).chain(of_leaves);
        Ok((schema, Box::new(rows.filter(|rows| rows.as_ref().map_or(true, |rows| rows.num_rows() > 0)))))
    }
}

/// Makes rows of entries.
struct FileRows {
    wanted: Vec<String>,
    needed: Vec<String>,
    known: EntryContext,
    filter: Option<EntryFilter>,
    decoding: Decoding,
}

impl FileRows {
    fn new(tree: &ContentTree) -> Result<FileRows> {
        let all = Column::all().into_iter().map(|column| column.name().to_owned());
        let wanted = tree.columns.clone().unwrap_or_else(|| all.chain([MANIFEST.to_owned()]).collect());
        let mut known = EntryContext { listed: None, stats_of: None, ..tree.known.clone() };
        let mut filter = tree.filter.as_deref().map(|text| EntryFilter::new(text, &known)).transpose()?;
        let shows_stats = wanted.iter().any(|name| name == CONTENT_STATS);
        if let (Some(made), false) = (&mut filter, shows_stats) {
            known.stats_of = Some(made.field_ids().to_vec());
            made.read_only_its_own(&known);
        }
        let mut needed: Vec<String> = wanted.iter().filter(|name| *name != MANIFEST).cloned().collect();
        let filtered = filter.iter().flat_map(|_| EntryFilter::INPUT);
        for name in READ.into_iter().chain(filtered) {
            if !needed.iter().any(|known| known == name) {
                needed.push(name.to_owned());
            }
        }
        Ok(FileRows { wanted, needed, known, filter, decoding: tree.decoding.clone() })
    }

    fn open(&self, bytes: Buffer, listed: Option<ListedLeaf>, threads: usize) -> Result<ContentEntryReader> {
        let known = EntryContext { listed, ..self.known.clone() };
        ContentEntryReader::open(bytes, Some(&self.needed), known, &self.decoding, threads)
    }

    /// The schema of the rows, by that of entries, which is the same for all manifests.
    fn schema(&self, entries: &SchemaRef) -> Result<SchemaRef> {
        let field = |name: &String| match name.as_str() {
            MANIFEST => Ok(Field::new(MANIFEST, DataType::Utf8, false)),
            name => Ok(entries.field_with_name(name)?.clone()),
        };
        Ok(Arc::new(ArrowSchema::new(self.wanted.iter().map(field).collect::<Result<Vec<_>>>()?)))
    }

    /// The rows of the live files of some entries.
    fn rows(&self, entries: &RecordBatch, manifest: &str, schema: &SchemaRef) -> Result<RecordBatch> {
        let files = live(entries, |content| content < DATA_MANIFEST)?;
        let files = match &self.filter {
            Some(filter) => filter_record_batch(&files, &filter.files(&files)?.into())?,
            None => files,
        };
        let column = |name: &String| -> Result<ArrayRef> {
            match name.as_str() {
                MANIFEST => Ok(Arc::new(StringArray::from_iter_values(vec![manifest; files.num_rows()]))),
                name => files.column_by_name(name).cloned().ok_or_else(|| absent(name)),
            }
        };
        let columns = self.wanted.iter().map(column).collect::<Result<Vec<_>>>()?;
        crate::view::batch(schema, columns, files.num_rows())
    }

    /// The leaves that some entries of a root list.
    fn leaves(&self, entries: &RecordBatch) -> Result<Vec<Leaf>> {
        let leaves = live(entries, |content| content >= DATA_MANIFEST)?;
        let leaves = match &self.filter {
            Some(filter) => filter_record_batch(&leaves, &filter.leaves(&leaves)?)?,
            None => leaves,
        };
        (0..leaves.num_rows()).map(|row| Leaf::of(&leaves, row)).collect()
    }
}

/// The live entries of some contents.
fn live(entries: &RecordBatch, is_wanted: impl Fn(i32) -> bool) -> Result<RecordBatch> {
    let live = column::<BooleanArray>(entries, LIVE)?.values();
    let contents = column::<Int32Array>(entries, CONTENT_TYPE)?.values();
    let wanted: BooleanArray =
        live.iter().zip(contents).map(|(live, content)| Some(live && is_wanted(*content))).collect();
    Ok(filter_record_batch(entries, &wanted)?)
}

/// A leaf that a root lists.
struct Leaf {
    path: String,
    size: u64,
    listed: ListedLeaf,
}

impl Leaf {
    fn of(entries: &RecordBatch, row: usize) -> Result<Leaf> {
        let path = column::<StringArray>(entries, LOCATION)?.value(row).to_owned();
        let version = column::<Int32Array>(entries, FORMAT_VERSION)?.value(row);
        let refused = |what: &str| {
            let message = format!("the root lists {what}, which is not read here, at {path}");
            Err(Error::new(ErrorKind::Unsupported, message).in_field(CONTENT_TYPE))
        };
        if column::<Int32Array>(entries, CONTENT_TYPE)?.value(row) == DELETE_MANIFEST {
            return refused("a manifest of deletes");
        }
        if version != VERSION {
            return refused(&format!("a manifest of version {version}"));
        }
        let long = |name| -> Result<Option<i64>> {
            let values = column::<Int64Array>(entries, name)?;
            Ok(values.is_valid(row).then(|| values.value(row)))
        };
        let info = column::<StructArray>(entries, MANIFEST_INFO)?;
        let dv = info.column_by_name(DV).and_then(|dv| dv.as_binary_opt::<i32>());
        let dv = dv.filter(|dv: &&BinaryArray| info.is_valid(row) && dv.is_valid(row));
        let dv = dv.map(|dv| MumblingBitmap::decode(dv.value(row))).transpose();
        let dv = dv.map_err(|error| error.in_field(&format!("{MANIFEST_INFO}.{DV}")))?;
        let listed = ListedLeaf {
            snapshot_id: long(SNAPSHOT_ID)?,
            sequence_number: long(SEQUENCE_NUMBER)?,
            first_row_id: long(FIRST_ROW_ID)?,
            record_count: long(RECORD_COUNT)?,
            dv,
        };
        let size = long(FILE_SIZE_IN_BYTES)?.and_then(|size| u64::try_from(size).ok()).unwrap_or(0);
        Ok(Leaf { path, size, listed })
    }
}

/// Reads leaves.
struct LeafSource {
    files: Arc<FileRows>,
    storage: Arc<dyn Storage>,
    schema: SchemaRef,
}

impl Source for LeafSource {
    type Request = Leaf;
    type Bytes = Buffer;
    type Output = RecordBatch;

    fn size(&self, leaf: &Leaf) -> u64 {
        leaf.size
    }

    fn read(&self, leaf: &Leaf) -> Result<Buffer> {
        self.storage.read(&leaf.path)
    }

    fn make(&self, leaf: &Leaf, bytes: Buffer, give: Sink<'_, RecordBatch>) -> Result<()> {
        let make = || {
            for entries in self.files.open(bytes, Some(leaf.listed.clone()), 1)? {
                let rows = self.files.rows(&entries?, &leaf.path, &self.schema)?;
                if !give(rows) {
                    break;
                }
            }
            Ok(())
        };
        make().map_err(|error: Error| error.in_file(&leaf.path))
    }

    fn held(&self, rows: &RecordBatch) -> u64 {
        rows.get_array_memory_size() as u64
    }

    fn interrupted(&self) -> Result<()> {
        self.storage.interrupted()
    }
}

#[cold]
fn absent(name: &str) -> Error {
    Error::new(ErrorKind::Internal, format!("{name} is not a column of entries")).in_field(name)
}
