//! Apache Parquet.
//!
//! Source: the Parquet specification, version 2.

mod assemble;
mod decryption;
mod delta;
mod footer;
mod hybrid;
mod items;
mod leaf;
mod levels;
mod page;
mod schema;
mod summary;
mod thrift;
mod values;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_buffer::Buffer;
use arrow_schema::{Schema, SchemaRef};
use lakebed_avro::{Error, ErrorKind, Limits, Location, Result};

pub use self::summary::{ParquetElement, ParquetSummary, parquet_summary};

use self::assemble::assemble;
use self::decryption::Decryption;
use self::footer::{Footer, RowGroup};
use self::items::{Items, PlainMap, WantedKeys};
use self::leaf::{Amount, LeafReader};
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
    /// The row groups that are left, with their numbers.
    groups: std::vec::IntoIter<(u64, RowGroup)>,
    open: Option<OpenGroup>,
    /// The keys whose items are wanted of maps; `None` for all.
    keys: Option<WantedKeys>,
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
    /// The map whose keys it has.
    map: Option<PlainMap>,
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
        let (footer, decryption) = Footer::read(&bytes, 0, &budget.limits, key)?;
        let columns = columns_of(&footer, &budget.limits)?;
        let schema = Arc::new(Schema::new_with_metadata(fields(&columns), footer.metadata));
        let columns = selected(columns, wanted);
        let mut leaves = Vec::new();
        columns.iter().for_each(|column| column.leaves(&mut leaves));
        budget.table(footer.rows, leaves.len())?;
        let inflated = footer.groups.iter().fold(0_u64, |sum, group| sum.saturating_add(group.bytes));
        if inflated > budget.limits.max_file_bytes {
            return Err(Limits::exceeded("max_file_bytes", budget.limits.max_file_bytes, inflated));
        }
        let projected = Arc::new(Schema::new(fields(&columns)));
        let groups = (0..).zip(footer.groups).collect::<Vec<_>>().into_iter();
        Ok(ParquetFile {
            schema,
            bytes,
            decryption,
            columns,
            projected,
            groups,
            open: None,
            keys: None,
            inflater: Inflater::default(),
            budget,
        })
    }

    /// The same file, of which the row groups are read whose first byte is in a range; and the rows of the groups
    /// before the first of them.
    pub(crate) fn of_range(mut self, range: &Range<u64>) -> (ParquetFile, u64) {
        let groups: Vec<_> = self.groups.collect();
        let before = groups.iter().take_while(|(_, group)| !group.begins_in(range));
        let rows = before.fold(0_u64, |rows, (_, group)| rows.saturating_add(group.rows));
        let groups: Vec<_> = groups.into_iter().filter(|(_, group)| group.begins_in(range)).collect();
        self.groups = groups.into_iter();
        (self, rows)
    }

    /// The same file, of which only the items of these keys are read of maps with int keys, where that is sooner.
    pub(crate) fn with_keys(self, keys: Vec<i32>) -> ParquetFile {
        ParquetFile { keys: Some(WantedKeys::of(keys)), ..self }
    }

    /// The next batch; `None` after the last.
    pub(crate) fn batch(&mut self) -> Result<Option<RecordBatch>> {
        while self.open.as_ref().is_none_or(|group| group.left == 0) {
            self.open = None;
            self.budget.release_to(0);
            let Some((number, group)) = self.groups.next() else { return Ok(None) };
            let opened = self.group(number, &group);
            let place = Location { block: Some(number), ..Location::default() };
            self.open = Some(opened.map_err(|error| error.at(place))?);
        }
        let Some(group) = &mut self.open else { return Ok(None) };
        let place = Location { block: Some(group.number), ..Location::default() };
        let keys = self.keys.as_ref();
        let batch = group.batch(&self.columns, &self.projected, keys, &mut self.inflater, &mut self.budget);
        let batch = batch.map_err(|error| error.at(place))?;
        let held = group.leaves.iter().fold(0_u64, |held, leaf| held.saturating_add(leaf.reader.held()));
        self.budget.release_to(held);
        Ok(Some(batch))
    }

    fn group(&self, number: u64, group: &RowGroup) -> Result<OpenGroup> {
        let mut leaves = Vec::new();
        let mut maps = Vec::new();
        self.columns.iter().for_each(|column| column.leaves(&mut leaves));
        self.columns.iter().for_each(|column| column.plain_maps(&mut maps));
        let open = |column: &Column| {
            let Shape::Leaf(leaf) = column.shape else { return None };
            let chunk = group.chunks.get(leaf.number)?;
            let pages = self.decryption.as_ref().map(|file| file.of_column(number, leaf.number, chunk));
            let reader =
                pages.transpose().and_then(|pages| LeafReader::open(leaf, &self.bytes, chunk, pages));
            let map = maps.iter().find(|map| map.keys.number == leaf.number).copied();
            Some(reader.map(|reader| OpenLeaf { reader, number: leaf.number, start: chunk.start, map }))
        };
        let leaves = leaves.into_iter().filter_map(open).collect::<Result<Vec<_>>>()?;
        Ok(OpenGroup { number, left: group.rows, leaves })
    }
}

/// The place of a row group in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowGroupPlace {
    /// From its first byte up to its last. A range of the file has the group if it has the first byte.
    pub bytes: Range<u64>,
    /// The bytes of each of the columns that were asked for, in the order of the file's schema.
    pub columns: Vec<Range<u64>>,
    /// Its rows.
    pub rows: u64,
}

/// The row groups of a Parquet file that is not encrypted, in file order, by its `end`: the bytes from `from` on, which
/// have all of the footer. Of these `columns`, dotted paths, the places are given too, where the file has them.
///
/// # Errors
/// Those of the footer, as [`File::open`](crate::File::open) has them.
pub fn row_groups(
    end: &Buffer,
    from: u64,
    columns: &[String],
    limits: &Limits,
) -> Result<Vec<RowGroupPlace>> {
    let (footer, _) = Footer::read(end, from, limits, None)?;
    let wanted = selected(columns_of(&footer, limits)?, &FieldSelection::of(columns));
    let mut leaves = Vec::new();
    wanted.iter().for_each(|column| column.leaves(&mut leaves));
    let numbers = leaves.iter().filter_map(|column| match &column.shape {
        Shape::Leaf(leaf) => Some(leaf.number),
        _ => None,
    });
    let numbers: Vec<usize> = numbers.collect();
    let place = |group: &RowGroup| {
        let chunks = numbers.iter().filter_map(|number| group.chunks.get(*number));
        let columns = chunks.map(|chunk| RowGroup::bytes_of(std::iter::once(chunk))).collect();
        RowGroupPlace { bytes: RowGroup::bytes_of(group.chunks.iter()), columns, rows: group.rows }
    };
    Ok(footer.groups.iter().map(place).collect())
}

/// The columns of a footer, of which each row group has as many.
fn columns_of(footer: &Footer, limits: &Limits) -> Result<Vec<Column>> {
    let (columns, stored) = Column::all(&footer.elements, limits)?;
    match footer.groups.iter().all(|group| group.chunks.len() == stored) {
        true => Ok(columns),
        false => {
            Err(Error::new(ErrorKind::Count, "a row group has another number of columns than the schema"))
        }
    }
}

/// The columns of which something is wanted.
fn selected(columns: Vec<Column>, wanted: &FieldSelection) -> Vec<Column> {
    let of = |column: Column| {
        let wanted = wanted.field(column.field.name())?;
        column.wanted(wanted)
    };
    columns.into_iter().filter_map(of).collect()
}

impl OpenGroup {
    fn batch(
        &mut self,
        columns: &[Column],
        schema: &SchemaRef,
        keys: Option<&WantedKeys>,
        inflater: &mut Inflater,
        budget: &mut Budget,
    ) -> Result<RecordBatch> {
        let rows = usize::try_from(self.left).unwrap_or(usize::MAX).min(BATCH_ROWS);
        self.left = self.left.saturating_sub(rows as u64);
        let is_last = self.left == 0;
        let mut read = Vec::with_capacity(self.leaves.len());
        // Of the map whose keys were read last: its entries, and which of them stay.
        let (mut of_keys, mut items): (Option<usize>, Option<Items>) = (None, None);
        for leaf in &mut self.leaves {
            let amount = match of_keys.take() {
                Some(entries) => Amount::Entries(entries, items.as_ref()),
                None => Amount::Rows(rows),
            };
            let rows = leaf.reader.read(amount, inflater, budget).and_then(|mut rows| {
                if is_last && !leaf.reader.is_spent() {
                    return Err(Error::new(ErrorKind::Count, "a column has more rows than its row group"));
                }
                if let Some(map) = leaf.map {
                    of_keys = Some(rows.entries);
                    if let Some(keys) = keys {
                        items = Items::of(&mut rows, map, keys, items.take(), budget)?;
                    }
                }
                Ok(rows)
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
