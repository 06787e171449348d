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
    /// Appends a value. Short ones are copied as 16 or 32 bytes at once where `ahead`, the block from
    /// the value on, has them: a copy of fixed size costs a fraction of a call to `memcpy`.
    #[inline(always)]
    pub(super) fn push(&mut self, ahead: &[u8], length: usize) -> Result<(), Fault> {
        let end = self.data.len() + length;
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

/// A number on its way to a wider column.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Widened {
    Whole(i64),
    Real(f32),
}

/// One dense union: the branch of each value, and its place in that branch's column.
#[derive(Debug, Default)]
pub(crate) struct UnionColumn {
    pub(crate) types: Vec<i8>,
    pub(crate) offsets: Vec<i32>,
    pub(crate) lengths: Vec<i32>,
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
    pub(crate) valid: Vec<BooleanBufferBuilder>,
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
            valid: columns(pools.valid, || BooleanBufferBuilder::new(0)),
            unions: pools
                .unions
                .iter()
                .map(|branches| UnionColumn { lengths: vec![0; *branches], ..UnionColumn::default() })
                .collect(),
        }
    }

    /// Bytes held, near enough to cut batches by.
    pub(crate) fn byte_size(&self) -> usize {
        let bits = self.booleans.iter().chain(&self.valid).map(|bits| bits.len() / 8);
        let small =
            self.ints.iter().map(|ints| ints.len() * 4).chain(self.floats.iter().map(|v| v.len() * 4));
        let large = self.longs.iter().map(|v| v.len() * 8).chain(self.doubles.iter().map(|v| v.len() * 8));
        let bytes = self.bytes.iter().map(|column| column.data.len() + column.offsets.len() * 4);
        let fixed = self.fixed.iter().map(|(_, data)| data.len());
        let lists = self.lists.iter().map(|offsets| offsets.len() * 4);
        let unions = self.unions.iter().map(|union| union.types.len() * 5);
        bits.chain(small).chain(large).chain(bytes).chain(fixed).chain(lists).chain(unions).sum()
    }

    /// Makes room for `times` as much as is held: growing by doubling would copy every value twice and
    /// touch fresh pages for each copy, which costs as much as decoding.
    ///
    /// Memory that cannot be had now is left to be asked for when it is needed.
    pub(crate) fn reserve(&mut self, times: f64) {
        fn more<T>(column: &mut Vec<T>, times: f64) {
            let wanted = (column.len() as f64 * times) as usize;
            let _ = column.try_reserve(wanted);
        }
        self.ints.iter_mut().chain(&mut self.lists).for_each(|column| more(column, times));
        self.longs.iter_mut().for_each(|column| more(column, times));
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
        self.bytes[column as usize].push(ahead, length)
    }

    #[inline]
    pub(crate) fn push_fixed(&mut self, column: u32, value: &[u8]) -> Result<(), Fault> {
        let data = &mut self.fixed[column as usize].1;
        i32::try_from(data.len() + value.len()).map_err(|_| Fault::ColumnBytes)?;
        data.extend_from_slice(value);
        Ok(())
    }

    /// Ends a list of `more` items.
    #[inline]
    pub(crate) fn push_list(&mut self, column: u32, more: u64) -> Result<(), Fault> {
        let offsets = &mut self.lists[column as usize];
        let start = i64::from(offsets.last().copied().unwrap_or(0));
        let end = i64::try_from(more).ok().and_then(|more| start.checked_add(more));
        let end = end.and_then(|end| i32::try_from(end).ok()).ok_or(Fault::ColumnBytes)?;
        offsets.push(end);
        Ok(())
    }

    /// Appends a number to a column of kind `to`; numbers go from narrow to wide only.
    pub(crate) fn push_widened(&mut self, to: Leaf, column: u32, number: Widened) {
        let column = column as usize;
        match (to, number) {
            (Leaf::Float, Widened::Whole(value)) => self.floats[column].push(value as f32),
            (Leaf::Float, Widened::Real(value)) => self.floats[column].push(value),
            (Leaf::Double, Widened::Whole(value)) => self.doubles[column].push(value as f64),
            (Leaf::Double, Widened::Real(value)) => self.doubles[column].push(f64::from(value)),
            (_, Widened::Whole(value)) => self.longs[column].push(value),
            (_, Widened::Real(value)) => self.longs[column].push(value as i64),
        }
    }

    /// Starts a value of a union in branch `branch`.
    pub(crate) fn push_union(&mut self, column: u32, branch: usize) -> Result<(), Fault> {
        let union = &mut self.unions[column as usize];
        let length = union.lengths.get_mut(branch).ok_or(Fault::Union)?;
        union.types.push(i8::try_from(branch).map_err(|_| Fault::Union)?);
        union.offsets.push(*length);
        *length = length.checked_add(1).ok_or(Fault::ColumnBytes)?;
        Ok(())
    }

    /// Appends what stands for an absent value under a null to the columns of the instruction at `at`;
    /// gives the number of the next instruction.
    #[inline]
    pub(crate) fn push_default(&mut self, ops: &[Op], at: usize) -> Result<usize, Fault> {
        match ops[at] {
            Op::Boolean(Some(column)) => self.booleans[column as usize].append(false),
            Op::Int(Some(column)) | Op::Enum(_, Some(column)) => self.ints[column as usize].push(0),
            Op::Long(Some(column)) => self.longs[column as usize].push(0),
            Op::Float(Some(column)) => self.floats[column as usize].push(0.0),
            Op::Double(Some(column)) => self.doubles[column as usize].push(0.0),
            Op::Bytes(Some(column)) => self.bytes[column as usize].push_empty(),
            Op::Fixed(_, Some(column)) => {
                let (width, data) = &mut self.fixed[column as usize];
                let end = data.len() + *width as usize;
                i32::try_from(end).map_err(|_| Fault::ColumnBytes)?;
                data.resize(end, 0);
            }
            Op::Widen { to, column: Some(column), .. } => self.push_widened(to, column, Widened::Whole(0)),
            Op::EnumAs { column: Some(column), .. } => self.ints[column as usize].push(0),
            Op::Member { branch, types: Some(types) } => self.push_union(types, branch as usize)?,
            Op::Nullable { valid: Some(valid), .. }
            | Op::Absent { valid: Some(valid), .. }
            | Op::Present { valid: Some(valid) } => self.valid[valid as usize].append(false),
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
        Ok(at + 1)
    }

    /// The first branch of a union stands in; the others have no value then.
    fn push_default_union(&mut self, ops: &[Op], at: usize, types: Option<u32>) -> Result<(), Fault> {
        if let Some(types) = types {
            self.push_union(types, 0)?;
        }
        if let Some(Op::Branch { end }) = ops.get(at + 1) {
            let mut next = at + 2;
            while next < *end as usize {
                next = self.push_default(ops, next)?;
            }
        }
        Ok(())
    }

    /// Takes back the last value of each scalar column of `ops`: what a dropped record left.
    #[inline(never)]
    pub(crate) fn pop_scalars(&mut self, ops: &[Op]) {
        for op in ops {
            match *op {
                Op::Int(Some(column))
                | Op::Enum(_, Some(column))
                | Op::EnumAs { column: Some(column), .. } => drop(self.ints[column as usize].pop()),
                Op::Widen { to: Leaf::Float, column: Some(column), .. } => {
                    self.floats[column as usize].pop();
                }
                Op::Widen { to: Leaf::Double, column: Some(column), .. } => {
                    self.doubles[column as usize].pop();
                }
                Op::Widen { column: Some(column), .. } => drop(self.longs[column as usize].pop()),
                Op::Long(Some(column)) => drop(self.longs[column as usize].pop()),
                Op::Float(Some(column)) => drop(self.floats[column as usize].pop()),
                Op::Double(Some(column)) => drop(self.doubles[column as usize].pop()),
                Op::Bytes(Some(column)) => self.bytes[column as usize].pop(),
                Op::Boolean(Some(column)) => pop_bit(&mut self.booleans[column as usize]),
                Op::Nullable { valid: Some(valid), .. } => pop_bit(&mut self.valid[valid as usize]),
                Op::Fixed(width, Some(column)) => {
                    let data = &mut self.fixed[column as usize].1;
                    data.truncate(data.len().saturating_sub(width as usize));
                }
                _ => {}
            }
        }
    }
}

fn pop_bit(bits: &mut BooleanBufferBuilder) {
    bits.truncate(bits.len().saturating_sub(1));
}

/// Whether [`Columns::pop_scalars`] can take back a record that stopped behind these instructions, which
/// are the first of a program: scalars and whole nullable ones.
pub(crate) fn only_scalars(ops: &[Op]) -> bool {
    let plain =
        |op: &Op| matches!(op, Op::Boolean(_) | Op::Int(_) | Op::Long(_) | Op::Float(_) | Op::Double(_));
    let long = |op: &Op| matches!(op, Op::Bytes(_) | Op::Fixed(..) | Op::Enum(..));
    let turned = |op: &Op| matches!(op, Op::Widen { .. } | Op::EnumAs { .. });
    let nullable = |op: &Op| matches!(op, Op::Nullable { end, .. } if *end as usize <= ops.len());
    ops.iter().all(|op| plain(op) || long(op) || turned(op) || nullable(op))
}
