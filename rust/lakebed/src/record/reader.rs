//! Reads the records of one file, regardless of its container: the only place that distinguishes Avro, ORC
//! and Parquet.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::{DataType, SchemaRef};
use lakebed_avro::{Blocks, GuardFactory, Header, Program, ReadOptions, Reader};

use super::resolver::field_at;
use super::stored::{Stored, decoded};
use super::{RecordResolver, Records};
use crate::cache::{KeptRecords, Slot};
use crate::columnar::{ColumnarBatches, Decoding};
use crate::error::Result;

/// Makes a guard for a program; the guard reads the program's slots.
pub(crate) type GuardMaker<'a> = &'a dyn Fn(&Program) -> GuardFactory;

/// The records of one file as stored, batch by batch, in file order; the name of each column is its path on
/// disk. [`conform`](RecordReader::conform) makes them the same for all writers.
pub(crate) struct RecordReader {
    batches: Batches,
    records: Arc<Records>,
    /// The schema of the decoded columns; for ORC and Parquet of all columns in the file.
    pub(super) stored: SchemaRef,
    guarded: bool,
    first_record: u64,
    metadata: FileMetadata,
}

/// The keys and values that the writer of a file added: in the header of Avro, in the footer of Parquet.
pub(crate) enum FileMetadata {
    Avro(Header),
    Columnar(SchemaRef),
    Kept(Arc<KeptRecords>),
}

impl FileMetadata {
    /// Those of a file, by its magic bytes.
    ///
    /// # Errors
    /// Those of the container's layer.
    pub(crate) fn read(bytes: &Buffer, decoding: &Decoding) -> Result<FileMetadata> {
        match ColumnarBatches::open(bytes, &[], decoding) {
            Some(batches) => Ok(FileMetadata::Columnar(Arc::clone(batches?.schema()))),
            None => Ok(FileMetadata::Avro(Blocks::open(bytes.clone().into(), decoding.limits)?.0)),
        }
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&[u8]> {
        match self {
            FileMetadata::Avro(header) => header.get(key),
            FileMetadata::Columnar(schema) => schema.metadata().get(key).map(String::as_bytes),
            FileMetadata::Kept(kept) => {
                kept.metadata.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_bytes())
            }
        }
    }
}

enum Batches {
    Avro(Box<Reader>),
    Columnar(ColumnarBatches),
    Kept {
        records: Arc<KeptRecords>,
        next: usize,
        /// Where they are to be kept, once they are read to the end.
        slot: Option<Arc<Slot>>,
    },
}

impl RecordReader {
    /// Opens a file for the columns of `resolver`, by its magic bytes.
    ///
    /// Records that a cache has or is to have are all there: no guard runs.
    ///
    /// # Errors
    /// Those of the container's layer; `Required` for a field that the file lacks.
    pub(crate) fn open(
        stored: impl Into<Stored>,
        resolver: &RecordResolver,
        guard: Option<GuardMaker<'_>>,
        decoding: &Decoding,
        threads: usize,
    ) -> Result<RecordReader> {
        match stored.into() {
            Stored::Bytes(bytes) => RecordReader::of_bytes(bytes, resolver, guard, decoding, threads),
            Stored::Missed(bytes, slot) => {
                match decoded(&bytes, resolver, decoding, threads, slot.most_bytes()) {
                    Some(records) => RecordReader::of_kept(Arc::new(records), Some(slot), resolver),
                    None => RecordReader::of_bytes(bytes, resolver, guard, decoding, threads),
                }
            }
            Stored::Kept(records) => RecordReader::of_kept(records, None, resolver),
            Stored::Asked(file) => RecordReader::of_bytes(file.bytes()?, resolver, guard, decoding, threads),
        }
    }

    fn of_kept(
        records: Arc<KeptRecords>,
        slot: Option<Arc<Slot>>,
        resolver: &RecordResolver,
    ) -> Result<RecordReader> {
        let stored = Arc::clone(&records.schema);
        Ok(RecordReader {
            records: resolver.resolve_columns(&stored)?,
            stored,
            guarded: false,
            first_record: 0,
            metadata: FileMetadata::Kept(Arc::clone(&records)),
            batches: Batches::Kept { records, next: 0, slot },
        })
    }

    fn of_bytes(
        bytes: Buffer,
        resolver: &RecordResolver,
        guard: Option<GuardMaker<'_>>,
        decoding: &Decoding,
        threads: usize,
    ) -> Result<RecordReader> {
        if let Some(batches) = ColumnarBatches::open(&bytes, &resolver.paths(), decoding) {
            let batches = batches?.with_keys(resolver.keys());
            let schema = Arc::clone(batches.schema());
            let (records, first_record) = (resolver.resolve_columns(&schema)?, batches.first_row());
            let (batches, metadata) =
                (Batches::Columnar(batches), FileMetadata::Columnar(Arc::clone(&schema)));
            return Ok(RecordReader {
                batches,
                records,
                stored: schema,
                guarded: false,
                first_record,
                metadata,
            });
        }
        let options = ReadOptions { limits: decoding.limits, threads, ..ReadOptions::default() };
        let (header, blocks) = Blocks::open(bytes.into(), options.limits)?;
        let resolved = resolver.resolve(&header, &options.limits)?;
        let guard = guard.filter(|_| resolved.program.guards()).map(|make| make(&resolved.program));
        let guarded = guard.is_some();
        let reader = Reader::new(&header, blocks, resolved.program, guard, options);
        let stored = Arc::clone(reader.schema());
        let batches = Batches::Avro(Box::new(reader));
        let metadata = FileMetadata::Avro(header);
        Ok(RecordReader { batches, records: resolved.records, stored, guarded, first_record: 0, metadata })
    }

    /// The value of a key of [`FileMetadata`].
    pub(crate) fn metadata(&self, key: &str) -> Option<&[u8]> {
        self.metadata.get(key)
    }

    /// Whether the guard runs on records before they are decoded; otherwise the columns that it would have
    /// read are in the batches.
    pub(crate) fn guarded(&self) -> bool {
        self.guarded
    }

    /// Whether the records are those of a cache: all of the file's, although a guard was given.
    pub(crate) fn is_kept(&self) -> bool {
        matches!(self.batches, Batches::Kept { .. })
    }

    /// Has the cache keep the records, where it lacks them: to be called when all were read and found to be right.
    pub(crate) fn keep(&self) {
        if let Batches::Kept { records, slot: Some(slot), .. } = &self.batches {
            slot.keep(records);
        }
    }

    /// The number of records of the file in front of the first one that is read.
    pub(crate) fn first_record(&self) -> u64 {
        self.first_record
    }

    /// Converts a batch to the field table's columns and types, see [`Records::conform`].
    pub(crate) fn conform(&self, batch: &RecordBatch, first_record: Option<u64>) -> Result<RecordBatch> {
        self.records.conform(batch, first_record)
    }

    /// The type as stored of the field at a dotted path on disk.
    pub(crate) fn stored_type(&self, disk: &str) -> Option<&DataType> {
        field_at(&self.stored, disk)
    }

    /// The schema of the conformed batches.
    pub(crate) fn schema(&self) -> &SchemaRef {
        self.records.schema()
    }
}

impl Iterator for RecordReader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        match &mut self.batches {
            Batches::Avro(reader) => Some(reader.next()?.map_err(Into::into)),
            Batches::Columnar(batches) => batches.next(),
            Batches::Kept { records, next, .. } => {
                let batch = records.batches.get(*next)?;
                *next = next.saturating_add(1);
                Some(Ok(batch.clone()))
            }
        }
    }
}
