//! The records of one file, regardless of its container: the one seam between Avro, ORC and Parquet.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::{DataType, SchemaRef};
use lakebed_avro::{Blocks, GuardFactory, Header, Program, ReadOptions, Reader};

use super::resolver::field_at;
use super::{RecordResolver, Records};
use crate::columnar::{ColumnarBatches, Decoding};
use crate::error::Result;

/// Makes a guard for a program, whose slots it reads.
pub(crate) type GuardMaker<'a> = &'a dyn Fn(&Program) -> GuardFactory;

/// The records of one file as stored, batch by batch, in file order, each column under its path on
/// disk. [`conform`](RecordReader::conform) makes them the same whoever wrote them.
pub(crate) struct RecordReader {
    batches: Batches,
    records: Arc<Records>,
    /// The schema of what is decoded; of ORC and Parquet, of all that the file has.
    stored: SchemaRef,
    guarded: bool,
    /// What an Avro file says of itself.
    header: Option<Header>,
}

enum Batches {
    Avro(Box<Reader>),
    Columnar(ColumnarBatches),
}

impl RecordReader {
    /// Opens a file for the columns of `resolver`, by its magic bytes.
    ///
    /// # Errors
    /// Those of the container's layer; `Required` for a field that the file lacks.
    pub(crate) fn open(
        bytes: Buffer,
        resolver: &RecordResolver,
        guard: Option<GuardMaker<'_>>,
        decoding: &Decoding,
        threads: usize,
    ) -> Result<RecordReader> {
        if let Some(batches) = ColumnarBatches::open(&bytes, &resolver.paths(), decoding.limits) {
            let batches = batches?;
            let schema = Arc::clone(batches.schema());
            let records = resolver.resolve_columns(&schema)?;
            let batches = Batches::Columnar(batches);
            return Ok(RecordReader { batches, records, stored: schema, guarded: false, header: None });
        }
        let options = ReadOptions { limits: decoding.limits, threads, ..ReadOptions::default() };
        let (header, blocks) = Blocks::open(bytes.into(), options.limits)?;
        let resolved = resolver.resolve(&header, &options.limits)?;
        let guard = guard.filter(|_| resolved.program.guards()).map(|make| make(&resolved.program));
        let guarded = guard.is_some();
        let reader = Reader::new(&header, blocks, resolved.program, guard, options);
        let stored = Arc::clone(reader.schema());
        let batches = Batches::Avro(Box::new(reader));
        Ok(RecordReader { batches, records: resolved.records, stored, guarded, header: Some(header) })
    }

    /// What an Avro file says of itself under a key of its header.
    pub(crate) fn metadata(&self, key: &str) -> Option<&[u8]> {
        self.header.as_ref()?.get(key)
    }

    /// Whether the guard judges records before they are decoded; else what it would have read stands in
    /// the batches.
    pub(crate) fn guarded(&self) -> bool {
        self.guarded
    }

    /// Brings a batch to the field table's columns and types, as [`Records::conform`].
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
        }
    }
}
