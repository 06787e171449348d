//! The instructions of a decode program: one for each wire form, and one for each conversion that a reader's
//! schema may require.

use super::Leaf;

/// The column that an instruction appends to, by its number in the pool of its kind; without a column the
/// value is skipped.
pub(crate) type Col = Option<u32>;

/// A number as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    Int,
    Long,
    Float,
}

/// One instruction. Compound ones include the instructions after them up to `end`.
///
/// The same list decodes, skips and appends defaults, so these cannot disagree about what is next. Records
/// have no instruction: their fields follow one another. Nulls have none either: they take no bytes and have
/// no column, so a million of them cost nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Boolean(Col),
    Int(Col),
    Long(Col),
    Float(Col),
    Double(Col),
    /// A length and that many bytes: `bytes`, `string` and map keys.
    Bytes(Col),
    Fixed(u32, Col),
    /// An int below the number of symbols.
    Enum(u32, Col),
    /// A union of null (branch `null`) and the value that follows.
    Nullable {
        null: u8,
        valid: Col,
        end: u32,
    },
    /// A union of `branches` values, each preceded by an [`Op::Branch`]. Without `types` the values of all
    /// branches are written to the same columns, those of the reader's type.
    Union {
        branches: u32,
        types: Col,
        end: u32,
    },
    /// One branch of the union before it.
    Branch {
        end: u32,
    },
    /// Runs of items; `least` is the fewest bytes of an item.
    Array {
        least: u32,
        list: Col,
        end: u32,
    },
    /// As [`Op::Array`], for items that begin with an [`Op::Int`]; only items whose int is among the list's
    /// keys are kept.
    Keyed {
        least: u32,
        list: Col,
        end: u32,
    },
    /// A number that the reader's schema widens to a column of kind `to`.
    Widen {
        from: Number,
        to: Leaf,
        column: Col,
    },
    /// An int below `symbols`, which `table` converts to the number of a reader's symbol.
    EnumAs {
        symbols: u32,
        table: u32,
        column: Col,
    },
    /// No bytes: a null for the reader's nullable value that follows.
    Absent {
        valid: Col,
        end: u32,
    },
    /// No bytes: the value that follows is not null, for a reader for which it is nullable.
    Present {
        valid: Col,
    },
    /// No bytes: the value that follows is this branch of the reader's union.
    Member {
        branch: u8,
        types: Col,
    },
    /// No bytes: the default with this number, of the type that follows; without a number nothing.
    Constant {
        constant: Option<u32>,
        end: u32,
    },
    /// A value that the reader's schema cannot hold, of the type from `end` on; it is refused unless it is
    /// skipped. The instructions before `end` are the reader's type.
    Mismatch {
        refused: bool,
        end: u32,
    },
}

impl Op {
    /// The same instruction without a column.
    pub(crate) fn skipping(self) -> Op {
        match self {
            Op::Boolean(_) => Op::Boolean(None),
            Op::Int(_) => Op::Int(None),
            Op::Long(_) => Op::Long(None),
            Op::Float(_) => Op::Float(None),
            Op::Double(_) => Op::Double(None),
            Op::Bytes(_) => Op::Bytes(None),
            Op::Fixed(size, _) => Op::Fixed(size, None),
            Op::Enum(symbols, _) => Op::Enum(symbols, None),
            Op::Nullable { null, end, .. } => Op::Nullable { null, valid: None, end },
            Op::Union { branches, end, .. } => Op::Union { branches, types: None, end },
            Op::Branch { end } => Op::Branch { end },
            Op::Array { least, end, .. } | Op::Keyed { least, end, .. } => {
                Op::Array { least, list: None, end }
            }
            Op::Widen { from, to, .. } => Op::Widen { from, to, column: None },
            Op::EnumAs { symbols, table, .. } => Op::EnumAs { symbols, table, column: None },
            Op::Absent { end, .. } => Op::Absent { valid: None, end },
            Op::Present { .. } => Op::Present { valid: None },
            Op::Member { branch, .. } => Op::Member { branch, types: None },
            Op::Constant { end, .. } => Op::Constant { constant: None, end },
            Op::Mismatch { end, .. } => Op::Mismatch { refused: false, end },
        }
    }
}
