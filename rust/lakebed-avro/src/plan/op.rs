//! The instructions of a decode program: one row per wire form.

/// The column an instruction appends to, a number in its kind's pool; without one it skips.
pub(crate) type Col = Option<u32>;

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
    /// A union of `branches` values, each led by an [`Op::Branch`].
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
    /// An array of nullable longs, fused: null counts and split offsets fill manifests.
    NullableLongs {
        null: u8,
        list: Col,
        valid: Col,
        long: Col,
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
            Op::Array { least, end, .. } => Op::Array { least, list: None, end },
            Op::NullableLongs { null, .. } => Op::NullableLongs { null, list: None, valid: None, long: None },
        }
    }
}
