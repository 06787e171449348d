//! The instructions of a decode program: one row per wire form, and one per thing that a reader's
//! schema may want done to a value.

use super::Leaf;

/// The column an instruction appends to, a number in its kind's pool; without one it skips.
pub(crate) type Col = Option<u32>;

/// A number as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    Int,
    Long,
    Float,
}

/// One instruction. Compound ones own the instructions behind them up to `end`.
///
/// The same vector decodes, skips and appends defaults, so the three cannot disagree about what
/// comes next. Records have no instruction: their fields simply follow one another. Nulls have none
/// either: they take no bytes and have no column, so a million of them cost nothing.
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
    /// A union of null (branch `null`) and the value behind.
    Nullable {
        null: u8,
        valid: Col,
        end: u32,
    },
    /// A union of `branches` values, each led by an [`Op::Branch`]. Without `types` the branches put
    /// their values where the reader wants them, all in the same columns.
    Union {
        branches: u32,
        types: Col,
        end: u32,
    },
    /// One branch of the union before it.
    Branch {
        end: u32,
    },
    /// Runs of items; `least` is the fewest bytes an item takes.
    Array {
        least: u32,
        list: Col,
        end: u32,
    },
    /// As [`Op::Array`], of items that begin with an [`Op::Int`]; only those are kept whose int is among
    /// the list's keys.
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
    /// An int below `symbols`, which table `table` turns into the number of a reader's symbol.
    EnumAs {
        symbols: u32,
        table: u32,
        column: Col,
    },
    /// No bytes: a null for the reader's nullable value behind.
    Absent {
        valid: Col,
        end: u32,
    },
    /// No bytes: the value that follows is there, for a reader to whom it is nullable.
    Present {
        valid: Col,
    },
    /// No bytes: the value that follows is this branch of the reader's union.
    Member {
        branch: u8,
        types: Col,
    },
    /// No bytes: the default with this number, of the type behind; without one nothing at all.
    Constant {
        constant: Option<u32>,
        end: u32,
    },
    /// A value that the reader's schema has no place for, of the type from `end` on; where it is not
    /// skipped it is refused. What is before `end` is the reader's type.
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
