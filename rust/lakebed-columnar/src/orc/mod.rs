//! Apache ORC.
//!
//! Source: the ORC specification, version 1.

mod bytes;
mod chunks;
mod column;
mod integers;
mod message;
mod statistics;
mod stripe;
mod summary;
mod tail;
mod text;
mod timestamp;
mod types;

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_buffer::Buffer;
use arrow_schema::{Schema, SchemaRef};
use lakebed_avro::{Limits, Location, Result};

pub use self::summary::{OrcColumn, OrcSummary, orc_summary};

use self::chunks::Chunks;
use self::column::Column;
use self::stripe::Streams;
use self::tail::{Stripe, Tail};
use self::types::Node;
use crate::BATCH_ROWS;
use crate::arrays::malformed;
use crate::budget::Budget;
use crate::projection::FieldSelection;

/// An open ORC file.
pub(crate) struct OrcFile {
    pub(crate) schema: SchemaRef,
    bytes: Buffer,
    /// The requested columns; `None` where the file has none of them.
    wanted: Option<Node>,
    projected: SchemaRef,
    chunks: Chunks,
    stripes: std::iter::Enumerate<std::vec::IntoIter<Stripe>>,
    open: Option<OpenStripe>,
    budget: Budget,
}

/// The stripe that is being read.
struct OpenStripe {
    number: u64,
    offset: u64,
    left: u64,
    columns: Vec<Column>,
}

impl OpenStripe {
    fn place(&self) -> Location {
        Location { offset: Some(self.offset), block: Some(self.number), ..Location::default() }
    }
}

impl OrcFile {
    /// Reads the end of a file.
    pub(crate) fn open(bytes: Buffer, wanted: &FieldSelection, limits: Limits) -> Result<OrcFile> {
        let mut budget = Budget::new(limits);
        let tail = Tail::read(&bytes, 0, &mut budget)?;
        let root = Node::tree(&tail.types, &budget.limits)?;
        let schema = Arc::new(Schema::new(root.fields()));
        let wanted = root.wanted(wanted);
        let projected = Arc::new(Schema::new(wanted.as_ref().map(Node::fields).unwrap_or_default()));
        budget.table(tail.rows, wanted.as_ref().map_or(0, Node::leaves))?;
        Ok(OrcFile {
            schema,
            bytes,
            wanted,
            projected,
            chunks: Chunks::new(tail.compression),
            stripes: tail.stripes.into_iter().enumerate(),
            open: None,
            budget,
        })
    }

    /// The next batch; `None` after the last.
    pub(crate) fn batch(&mut self) -> Result<Option<RecordBatch>> {
        while self.open.as_ref().is_none_or(|stripe| stripe.left == 0) {
            self.open = None;
            self.budget.release_to(0);
            let Some((number, stripe)) = self.stripes.next() else { return Ok(None) };
            let place =
                Location { offset: Some(stripe.offset), block: Some(number as u64), ..Location::default() };
            let opened = self.stripe(number as u64, &stripe);
            self.open = Some(opened.map_err(|error| error.at(place))?);
        }
        let held = self.budget.held();
        let Some(stripe) = &mut self.open else { return Ok(None) };
        let batch =
            stripe.batch(&self.projected, &mut self.budget).map_err(|error| error.at(stripe.place()))?;
        self.budget.release_to(held);
        Ok(Some(batch))
    }

    fn stripe(&mut self, number: u64, stripe: &Stripe) -> Result<OpenStripe> {
        let mut columns = Vec::new();
        if let Some(wanted) = &self.wanted {
            let budget = &mut self.budget;
            let mut streams = Streams::read(&self.bytes, stripe, wanted, &mut self.chunks, budget)?;
            for child in &wanted.children {
                columns.push(Column::open(child, &mut streams, budget)?);
            }
        }
        Ok(OpenStripe { number, offset: stripe.offset, left: stripe.rows, columns })
    }
}

impl OpenStripe {
    fn batch(&mut self, schema: &SchemaRef, budget: &mut Budget) -> Result<RecordBatch> {
        let rows = usize::try_from(self.left).unwrap_or(usize::MAX).min(BATCH_ROWS);
        let columns = self.columns.iter_mut().map(|column| column.decode(rows, None, budget));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        self.left = self.left.saturating_sub(rows as u64);
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options);
        batch.map_err(|error| malformed(&error))
    }
}
