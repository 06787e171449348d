//! What the end of a file says of its rows, without the rows.

use std::collections::HashMap;

use arrow_buffer::Buffer;
use lakebed_avro::{Limits, Result};

use super::statistics::Stored;
use super::tail::{Tail, footer_start, place};
use super::types::Node;
use crate::budget::Budget;
use crate::summary::Statistics;

/// What an ORC file's footer says.
#[derive(Debug, Clone, PartialEq)]
pub struct OrcSummary {
    /// The number of rows.
    pub rows: u64,
    /// The offset of each stripe, in file order.
    pub stripes: Vec<u64>,
    /// The types, in pre-order; the first is that of a row.
    pub columns: Vec<OrcColumn>,
}

/// A type of an ORC file.
#[derive(Debug, Clone, PartialEq)]
pub struct OrcColumn {
    /// The number of its kind in the specification: 0 for boolean, 12 for struct, …
    pub kind: u64,
    /// The numbers of its children.
    pub children: Vec<u64>,
    /// The names of its children, of a struct.
    pub names: Vec<String>,
    /// What the writer added, such as Iceberg's field id.
    pub attributes: HashMap<String, String>,
    /// Of a decimal.
    pub precision: u64,
    /// Of a decimal.
    pub scale: u64,
    /// `None` where the writer has written no statistics.
    pub statistics: Option<Statistics>,
}

/// Reads the footer of an ORC file of `file_bytes` bytes from its last ones.
///
/// # Errors
/// Those of [`File::open`](crate::File::open); `Err` of `Ok` is the number of last bytes that are needed,
/// where there are too few.
pub fn orc_summary(
    end: Buffer,
    file_bytes: u64,
    limits: Limits,
) -> Result<std::result::Result<OrcSummary, u64>> {
    let skipped = file_bytes.saturating_sub(end.len() as u64);
    let start = footer_start(&end, skipped)?;
    if start < skipped {
        return Ok(Err(file_bytes.saturating_sub(start)));
    }
    let mut budget = Budget::new(limits);
    let tail = Tail::read(&end, skipped, &mut budget)?;
    Node::tree(&tail.types, &budget.limits)?;
    let read = tail.statistics.into_iter().map(Stored::read).collect::<Result<Vec<_>>>();
    let mut statistics = read.map_err(|error| error.at(place(start)))?.into_iter();
    let columns = tail.types.into_iter().map(|of| OrcColumn {
        kind: of.kind,
        children: of.subtypes,
        names: of.names,
        attributes: of.attributes,
        precision: of.precision,
        scale: of.scale,
        statistics: statistics.next().map(|stored| stored.of(tail.rows)),
    });
    Ok(Ok(OrcSummary {
        rows: tail.rows,
        stripes: tail.stripes.iter().map(|stripe| stripe.offset).collect(),
        columns: columns.collect(),
    }))
}
