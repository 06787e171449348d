//! Apache Parquet.
//!
//! Source: the Parquet specification, version 2.

mod assemble;
mod decryption;
mod delta;
mod footer;
mod hybrid;
mod leaf;
mod levels;
mod page;
mod schema;
mod thrift;
mod values;

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_buffer::Buffer;
use arrow_schema::{Schema, SchemaRef};
use lakebed_avro::{Error, ErrorKind, Limits, Location, Result};

use self::assemble::assemble;
use self::decryption::Decryption;
use self::footer::{Footer, RowGroup};
use self::leaf::LeafReader;
use self::schema::{Column, Shape, fields};
use crate::BATCH_ROWS;
use crate::FileKey;
use crate::arrays::malformed;
use crate::budget::Budget;
use crate::codec::Inflater;
use crate::projection::FieldSelection;

/// An open Parquet file.
pub(crate) struct ParquetFile {
    pub(crate) schema: SchemaRef,
    bytes: Buffer,
    decryption: Option<Decryption>,
    columns: Vec<Column>,
    projected: SchemaRef,
    groups: std::iter::Enumerate<std::vec::IntoIter<RowGroup>>,
    open: Option<OpenGroup>,
    inflater: Inflater,
    budget: Budget,
}

/// The row group that is being read.
struct OpenGroup {
    number: u64,
    left: u64,
    leaves: Vec<OpenLeaf>,
}

/// A leaf of a row group, and the offset of its pages.
struct OpenLeaf {
    reader: LeafReader,
    number: usize,
    start: u64,
}

impl ParquetFile {
    /// Reads the footer of a file.
    pub(crate) fn open(
        bytes: Buffer,
        wanted: &FieldSelection,
        limits: Limits,
        key: Option<&Arc<FileKey>>,
    ) -> Result<ParquetFile> {
        let budget = Budget::new(limits);
        let (footer, decryption) = Footer::read(&bytes, &budget, key)?;
        let (columns, stored) = Column::all(&footer.elements, &budget.limits)?;
        if footer.groups.iter().any(|group| group.chunks.len() != stored) {
            return Err(Error::new(
                ErrorKind::Count,
                "a row group has another number of columns than the schema",
            ));
        }
        let schema = Arc::new(Schema::new_with_metadata(fields(&columns), footer.metadata));
        let of = |column: Column| {
            let wanted = wanted.field(column.field.name())?;
            column.wanted(wanted)
        };
        let columns: Vec<Column> = columns.into_iter().filter_map(of).collect();
        let mut leaves = Vec::new();
        columns.iter().for_each(|column| column.leaves(&mut leaves));
        budget.table(footer.rows, leaves.len())?;
        let inflated = footer.groups.iter().fold(0_u64, |sum, group| sum.saturating_add(group.bytes));
        if inflated > budget.limits.max_file_bytes {
            return Err(Limits::exceeded("max_file_bytes", budget.limits.max_file_bytes, inflated));
        }
        let projected = Arc::new(Schema::new(fields(&columns)));
        let groups = footer.groups.into_iter().enumerate();
        Ok(ParquetFile {
            schema,
            bytes,
            decryption,
            columns,
            projected,
            groups,
            open: None,
            inflater: Inflater::default(),
            budget,
        })
    }

    /// The next batch; `None` after the last.
    pub(crate) fn batch(&mut self) -> Result<Option<RecordBatch>> {
        while self.open.as_ref().is_none_or(|group| group.left == 0) {
            self.open = None;
            self.budget.release_to(0);
            let Some((number, group)) = self.groups.next() else { return Ok(None) };
            let opened = self.group(number as u64, &group);
            let place = Location { block: Some(number as u64), ..Location::default() };
            self.open = Some(opened.map_err(|error| error.at(place))?);
        }
        let Some(group) = &mut self.open else { return Ok(None) };
        let place = Location { block: Some(group.number), ..Location::default() };
        let batch = group.batch(&self.columns, &self.projected, &mut self.inflater, &mut self.budget);
        let batch = batch.map_err(|error| error.at(place))?;
        let held = group.leaves.iter().fold(0_u64, |held, leaf| held.saturating_add(leaf.reader.held()));
        self.budget.release_to(held);
        Ok(Some(batch))
    }

    fn group(&self, number: u64, group: &RowGroup) -> Result<OpenGroup> {
        let mut leaves = Vec::new();
        self.columns.iter().for_each(|column| column.leaves(&mut leaves));
        let open = |column: &Column| {
            let Shape::Leaf(leaf) = column.shape else { return None };
            let chunk = group.chunks.get(leaf.number)?;
            let pages = self.decryption.as_ref().map(|file| file.of_column(number, leaf.number, chunk));
            let reader =
                pages.transpose().and_then(|pages| LeafReader::open(leaf, &self.bytes, chunk, pages));
            Some(reader.map(|reader| OpenLeaf { reader, number: leaf.number, start: chunk.start }))
        };
        let leaves = leaves.into_iter().filter_map(open).collect::<Result<Vec<_>>>()?;
        Ok(OpenGroup { number, left: group.rows, leaves })
    }
}

impl OpenGroup {
    fn batch(
        &mut self,
        columns: &[Column],
        schema: &SchemaRef,
        inflater: &mut Inflater,
        budget: &mut Budget,
    ) -> Result<RecordBatch> {
        let rows = usize::try_from(self.left).unwrap_or(usize::MAX).min(BATCH_ROWS);
        self.left = self.left.saturating_sub(rows as u64);
        let is_last = self.left == 0;
        let mut read = Vec::with_capacity(self.leaves.len());
        for leaf in &mut self.leaves {
            let rows = leaf.reader.read(rows, inflater, budget).and_then(|rows| {
                match is_last && !leaf.reader.is_spent() {
                    true => Err(Error::new(ErrorKind::Count, "a column has more rows than its row group")),
                    false => Ok(rows),
                }
            });
            read.push(rows.map_err(|error| error.at(leaf.place(columns)))?);
        }
        let mut leaves = read.iter_mut();
        let columns = columns.iter().map(|column| assemble(column, &mut leaves, budget));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options);
        batch.map_err(|error| malformed(&error))
    }
}

impl OpenLeaf {
    fn place(&self, columns: &[Column]) -> Location {
        let offset = self.start.saturating_add(self.reader.position());
        let field = columns.iter().find_map(|column| column.path_of(self.number));
        Location { offset: Some(offset), field, ..Location::default() }
    }
}
