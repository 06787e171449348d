//! What a reader may spend on one input, passed by value with every call.

use crate::error::{Error, ErrorKind, Result};

/// Bounds on the work and memory one Avro input may cause.
///
/// Every decoder takes limits by value; there is no process-wide setting. Exceeding a limit gives an error of
/// kind [`ErrorKind::Limit`] with the name of the limit and the requested amount. Values above the hard caps
/// are lowered to them by [`Limits::capped`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the file header: magic, metadata map and sync marker.
    pub max_header_bytes: u64,
    /// Nesting depth of the schema.
    pub max_schema_depth: u64,
    /// Nodes of the schema once every named type is expanded where it is used.
    pub max_schema_nodes: u64,
    /// Bytes of one block, compressed or inflated.
    pub max_block_bytes: u64,
    /// Inflated bytes of all blocks of one file.
    pub max_file_bytes: u64,
    /// Records of one file.
    pub max_rows: u64,
    /// Array and map items of one file.
    pub max_items: u64,
    /// Items that take no bytes (nulls, empty records, fixed of size 0) in one block.
    pub max_zero_width_items: u64,
    /// Records times leaf columns of one file.
    pub max_cells: u64,
    /// Bytes of one string, bytes or fixed value.
    pub max_value_bytes: u64,
}

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

impl Limits {
    /// The defaults, generous for real metadata and small enough for a laptop.
    pub const DEFAULT: Limits = Limits {
        max_header_bytes: 16 * MIB,
        max_schema_depth: 64,
        max_schema_nodes: 100_000,
        max_block_bytes: 256 * MIB,
        max_file_bytes: 4 * GIB,
        max_rows: 100_000_000,
        max_items: 1_000_000_000,
        max_zero_width_items: MIB,
        max_cells: 4_000_000_000,
        max_value_bytes: 64 * MIB,
    };

    /// The hard caps: no caller can lift a bound above these.
    pub const CAP: Limits = Limits {
        max_header_bytes: 256 * MIB,
        max_schema_depth: 256,
        max_schema_nodes: MIB,
        max_block_bytes: 2 * GIB - 1,
        max_file_bytes: 64 * GIB,
        max_rows: 2 * GIB - 1,
        max_items: 2 * GIB - 1,
        max_zero_width_items: 16 * MIB,
        max_cells: 64 * GIB,
        max_value_bytes: 2 * GIB - 1,
    };

    /// These limits with every bound lowered to its hard cap.
    pub fn capped(self) -> Limits {
        let cap = Limits::CAP;
        Limits {
            max_header_bytes: self.max_header_bytes.min(cap.max_header_bytes),
            max_schema_depth: self.max_schema_depth.min(cap.max_schema_depth),
            max_schema_nodes: self.max_schema_nodes.min(cap.max_schema_nodes),
            max_block_bytes: self.max_block_bytes.min(cap.max_block_bytes),
            max_file_bytes: self.max_file_bytes.min(cap.max_file_bytes),
            max_rows: self.max_rows.min(cap.max_rows),
            max_items: self.max_items.min(cap.max_items),
            max_zero_width_items: self.max_zero_width_items.min(cap.max_zero_width_items),
            max_cells: self.max_cells.min(cap.max_cells),
            max_value_bytes: self.max_value_bytes.min(cap.max_value_bytes),
        }
    }

    /// The error for `name` when `needed` is over `bound`.
    #[cold]
    pub fn exceeded(name: &str, bound: u64, needed: u64) -> Error {
        Error::new(ErrorKind::Limit, format!("{name} is {bound}, the input asks for {needed}"))
    }
}

/// Makes room for `more` values, a number that an input gives: any other way to request memory ends the
/// process where it is not available.
///
/// # Errors
/// [`ErrorKind::Limit`] where the memory is not available.
pub fn reserve<T>(values: &mut Vec<T>, more: usize, what: &str) -> Result<()> {
    values.try_reserve_exact(more).map_err(|_| {
        let bytes = more.saturating_mul(size_of::<T>());
        Error::new(ErrorKind::Limit, format!("no memory for {bytes} bytes of {what}"))
    })
}

impl Default for Limits {
    fn default() -> Self {
        Limits::DEFAULT
    }
}
