//! The typed columns that a program appends to, in pools by kind.

use arrow_buffer::BooleanBufferBuilder;

use super::pools::Pools;
use crate::cursor::Fault;
use crate::plan::{Leaf, Op};

/// Values of varying length: all bytes in one buffer, and where each value ends.
#[derive(Debug, Default)]
pub(crate) struct VarBytes {
    pub(crate) offsets: Vec<i32>,
    pub(crate) data: Vec<u8>,
}

impl VarBytes {
    /// Appends a value. Short ones are copied as 16 or 32 bytes at once if `ahead`, the block from the value
    /// on, has this many: a copy of fixed size is much faster than a call of `memcpy`.
    #[inline(always)]
    pub(super) fn push(&mut self, ahead: &[u8], length: usize) -> Result<(), Fault> {
        let end = self.data.len().saturating_add(length);
        if length <= 16
            && let Some(chunk) = ahead.first_chunk::<16>()
        {
            self.data.extend_from_slice(chunk);
            self.data.truncate(end);
        } else if length <= 32
            && let Some(chunk) = ahead.first_chunk::<32>()
        {
            self.data.extend_from_slice(chunk);
            self.data.truncate(end);
        } else {
            self.data.extend_from_slice(ahead.get(..length).ok_or(Fault::Truncated)?);
        }
        self.offsets.push(i32::try_from(end).map_err(|_| Fault::ColumnBytes)?);
        Ok(())
    }

    fn push_empty(&mut self) {
        let end = self.offsets.last().copied().unwrap_or(0);
        self.offsets.push(end);
    }

    pub(crate) fn last(&self) -> Option<&[u8]> {
        let [.., start, end] = self.offsets.as_slice() else { return None };
        self.data.get(*start as usize..*end as usize)
    }

    fn pop(&mut self) {
        self.offsets.pop();
        self.data.truncate(self.offsets.last().copied().unwrap_or(0) as usize);
    }
}

/// A number to be stored in a wider column.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WideNumber {
    Whole(i64),
    Real(f32),
}

/// One dense union: the branch of each value, and its position in that branch's column.
#[derive(Debug, Default)]
pub(crate) struct UnionColumn {
    pub(crate) types: Vec<i8>,
    pub(crate) offsets: Vec<i32>,
    pub(crate) lengths: Vec<i32>,
}

/// The column with that number: a program only refers to columns for which its pools made room.
#[inline(always)]
pub(super) fn nth<T>(pool: &mut [T], number: u32) -> Result<&mut T, Fault> {
    pool.get_mut(number as usize).ok_or(Fault::Program)
}

/// The instruction at `at`.
#[inline(always)]
pub(super) fn op(ops: &[Op], at: usize) -> Result<&Op, Fault> {
    ops.get(at).ok_or(Fault::Program)
}

/// The columns of the batch that is being filled.
#[derive(Default)]
pub(crate) struct Columns {
    pub(crate) booleans: Vec<BooleanBufferBuilder>,
    pub(crate) ints: Vec<Vec<i32>>,
    pub(crate) longs: Vec<Vec<i64>>,
    pub(crate) floats: Vec<Vec<f32>>,
    pub(crate) doubles: Vec<Vec<f64>>,
    pub(crate) bytes: Vec<VarBytes>,
    pub(crate) fixed: Vec<(u32, Vec<u8>)>,
    pub(crate) lists: Vec<Vec<i32>>,
    /// Which values are not null. Bytes, since bits would be read and written for each value; packed at the
    /// end.
    pub(crate) valid: Vec<Vec<bool>>,
    pub(crate) unions: Vec<UnionColumn>,
}

fn columns<T>(count: u32, make: impl FnMut() -> T) -> Vec<T> {
    std::iter::repeat_with(make).take(count as usize).collect()
}

impl Columns {
    pub(crate) fn new(pools: &Pools) -> Columns {
        Columns {
            booleans: columns(pools.booleans, || BooleanBufferBuilder::new(0)),
            ints: columns(pools.ints, Vec::new),
            longs: columns(pools.longs, Vec::new),
            floats: columns(pools.floats, Vec::new),
            doubles: columns(pools.doubles, Vec::new),
            bytes: columns(pools.bytes, || VarBytes { offsets: vec![0], data: Vec::new() }),
            fixed: pools.fixed.iter().map(|width| (*width, Vec::new())).collect(),
            lists: pools.lists.iter().map(|_| vec![0]).collect(),
            valid: columns(pools.valid, Vec::new),
            unions: pools
                .unions
                .iter()
                .map(|branches| UnionColumn { lengths: vec![0; *branches], ..UnionColumn::default() })
                .collect(),
        }
    }

    /// The approximate size in bytes, by which batches are cut.
    pub(crate) fn byte_size(&self) -> usize {
        let bits = self.booleans.iter().map(|bits| bits.len() / 8);
        let ones = self.valid.iter().map(Vec::len);
        let fours = self.ints.iter().chain(&self.lists).map(Vec::len);
        let fours = fours.chain(self.floats.iter().map(Vec::len));
        let fours = fours.chain(self.bytes.iter().map(|column| column.offsets.len()));
        let eights = self.longs.iter().map(Vec::len).chain(self.doubles.iter().map(Vec::len));
        let data = self.bytes.iter().map(|column| column.data.len());
        let data = data.chain(self.fixed.iter().map(|(_, data)| data.len()));
        let unions = self.unions.iter().map(|union| union.types.len().saturating_mul(5));
        let whole = bits.chain(ones).chain(data).chain(unions);
        whole
            .chain(fours.map(|count| count.saturating_mul(4)))
            .chain(eights.map(|count| count.saturating_mul(8)))
            .sum()
    }

    /// Makes room for `times` as much as is held: growing by doubling would copy every value twice and touch
    /// new pages for each copy, which costs as much as decoding.
    ///
    /// If memory is not available now, it is requested again when it is needed.
    pub(crate) fn reserve(&mut self, times: f64) {
        fn more<T>(column: &mut Vec<T>, times: f64) {
            let wanted = (column.len() as f64 * times) as usize;
            let _ = column.try_reserve(wanted);
        }
        self.ints.iter_mut().chain(&mut self.lists).for_each(|column| more(column, times));
        self.longs.iter_mut().for_each(|column| more(column, times));
        self.valid.iter_mut().for_each(|column| more(column, times));
        self.floats.iter_mut().for_each(|column| more(column, times));
        self.doubles.iter_mut().for_each(|column| more(column, times));
        self.fixed.iter_mut().for_each(|(_, data)| more(data, times));
        for column in &mut self.bytes {
            more(&mut column.offsets, times);
            more(&mut column.data, times);
        }
    }

    #[inline]
    pub(crate) fn push_bytes(&mut self, column: u32, ahead: &[u8], length: usize) -> Result<(), Fault> {
        nth(&mut self.bytes, column)?.push(ahead, length)
    }

    #[inline]
    pub(crate) fn push_fixed(&mut self, column: u32, value: &[u8]) -> Result<(), Fault> {
        let (_, data) = nth(&mut self.fixed, column)?;
        i32::try_from(data.len().saturating_add(value.len())).map_err(|_| Fault::ColumnBytes)?;
        data.extend_from_slice(value);
        Ok(())
    }

    /// Ends a list of `more` items.
    #[inline]
    pub(crate) fn push_list(&mut self, column: u32, more: u64) -> Result<(), Fault> {
        let offsets = nth(&mut self.lists, column)?;
        let start = i64::from(offsets.last().copied().unwrap_or(0));
        let end = i64::try_from(more).ok().and_then(|more| start.checked_add(more));
        let end = end.and_then(|end| i32::try_from(end).ok()).ok_or(Fault::ColumnBytes)?;
        offsets.push(end);
        Ok(())
    }

    /// Appends a number to a column of kind `to`; numbers are only widened.
    pub(crate) fn push_widened(&mut self, to: Leaf, column: u32, number: WideNumber) -> Result<(), Fault> {
        match (to, number) {
            (Leaf::Float, WideNumber::Whole(value)) => nth(&mut self.floats, column)?.push(value as f32),
            (Leaf::Float, WideNumber::Real(value)) => nth(&mut self.floats, column)?.push(value),
            (Leaf::Double, WideNumber::Whole(value)) => nth(&mut self.doubles, column)?.push(value as f64),
            (Leaf::Double, WideNumber::Real(value)) => nth(&mut self.doubles, column)?.push(f64::from(value)),
            (_, WideNumber::Whole(value)) => nth(&mut self.longs, column)?.push(value),
            (_, WideNumber::Real(value)) => nth(&mut self.longs, column)?.push(value as i64),
        }
        Ok(())
    }

    /// Starts a value of a union in branch `branch`.
    pub(crate) fn push_union(&mut self, column: u32, branch: usize) -> Result<(), Fault> {
        let union = nth(&mut self.unions, column)?;
        let length = union.lengths.get_mut(branch).ok_or(Fault::Union)?;
        union.types.push(i8::try_from(branch).map_err(|_| Fault::Union)?);
        union.offsets.push(*length);
        *length = length.checked_add(1).ok_or(Fault::ColumnBytes)?;
        Ok(())
    }

    /// Appends the values under a null to the columns of the instruction at `at`. Returns the number of the
    /// next instruction.
    #[inline]
    pub(crate) fn push_default(&mut self, ops: &[Op], at: usize) -> Result<usize, Fault> {
        match *op(ops, at)? {
            Op::Boolean(Some(column)) => nth(&mut self.booleans, column)?.append(false),
            Op::Int(Some(column)) | Op::Enum(_, Some(column)) => nth(&mut self.ints, column)?.push(0),
            Op::Long(Some(column)) => nth(&mut self.longs, column)?.push(0),
            Op::Float(Some(column)) => nth(&mut self.floats, column)?.push(0.0),
            Op::Double(Some(column)) => nth(&mut self.doubles, column)?.push(0.0),
            Op::Bytes(Some(column)) => nth(&mut self.bytes, column)?.push_empty(),
            Op::Fixed(_, Some(column)) => {
                let (width, data) = nth(&mut self.fixed, column)?;
                let end = data.len().saturating_add(*width as usize);
                i32::try_from(end).map_err(|_| Fault::ColumnBytes)?;
                data.resize(end, 0);
            }
            Op::Widen { to, column: Some(column), .. } => {
                self.push_widened(to, column, WideNumber::Whole(0))?
            }
            Op::EnumAs { column: Some(column), .. } => nth(&mut self.ints, column)?.push(0),
            Op::Member { branch, types: Some(types) } => self.push_union(types, branch as usize)?,
            Op::Nullable { valid: Some(valid), .. }
            | Op::Absent { valid: Some(valid), .. }
            | Op::Present { valid: Some(valid) } => nth(&mut self.valid, valid)?.push(false),
            Op::Array { list, end, .. } | Op::Keyed { list, end, .. } => {
                if let Some(list) = list {
                    self.push_list(list, 0)?;
                }
                return Ok(end as usize);
            }
            Op::Union { types, end, .. } => {
                self.push_default_union(ops, at, types)?;
                return Ok(end as usize);
            }
            _ => {}
        }
        Ok(at.wrapping_add(1))
    }

    /// The value is of the first branch of a union; other branches have no value then.
    fn push_default_union(&mut self, ops: &[Op], at: usize, types: Option<u32>) -> Result<(), Fault> {
        if let Some(types) = types {
            self.push_union(types, 0)?;
        }
        if let Some(Op::Branch { end }) = ops.get(at.wrapping_add(1)) {
            let mut next = at.wrapping_add(2);
            while next < *end as usize {
                next = self.push_default(ops, next)?;
            }
        }
        Ok(())
    }

    /// Removes the last value of each scalar column of `ops`, which a dropped record left.
    #[inline(never)]
    pub(crate) fn pop_scalars(&mut self, ops: &[Op]) -> Result<(), Fault> {
        for op in ops {
            match *op {
                Op::Int(Some(column))
                | Op::Enum(_, Some(column))
                | Op::EnumAs { column: Some(column), .. } => drop(nth(&mut self.ints, column)?.pop()),
                Op::Widen { to: Leaf::Float, column: Some(column), .. } | Op::Float(Some(column)) => {
                    nth(&mut self.floats, column)?.pop();
                }
                Op::Widen { to: Leaf::Double, column: Some(column), .. } | Op::Double(Some(column)) => {
                    nth(&mut self.doubles, column)?.pop();
                }
                Op::Widen { column: Some(column), .. } | Op::Long(Some(column)) => {
                    nth(&mut self.longs, column)?.pop();
                }
                Op::Bytes(Some(column)) => nth(&mut self.bytes, column)?.pop(),
                Op::Boolean(Some(column)) => {
                    let bits = nth(&mut self.booleans, column)?;
                    bits.truncate(bits.len().saturating_sub(1));
                }
                Op::Nullable { valid: Some(valid), .. } => drop(nth(&mut self.valid, valid)?.pop()),
                Op::Fixed(width, Some(column)) => {
                    let (_, data) = nth(&mut self.fixed, column)?;
                    data.truncate(data.len().saturating_sub(width as usize));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether [`Columns::pop_scalars`] can undo a record that stopped after these first instructions of a
/// program: only scalars and complete nullable scalars.
pub(crate) fn only_scalars(ops: &[Op]) -> bool {
    let plain =
        |op: &Op| matches!(op, Op::Boolean(_) | Op::Int(_) | Op::Long(_) | Op::Float(_) | Op::Double(_));
    let long = |op: &Op| matches!(op, Op::Bytes(_) | Op::Fixed(..) | Op::Enum(..));
    let turned = |op: &Op| matches!(op, Op::Widen { .. } | Op::EnumAs { .. });
    let nullable = |op: &Op| matches!(op, Op::Nullable { end, .. } if *end as usize <= ops.len());
    ops.iter().all(|op| plain(op) || long(op) || turned(op) || nullable(op))
}
