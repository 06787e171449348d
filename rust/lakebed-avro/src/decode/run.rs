//! The decode loop: one flat match over instructions, nothing dynamic inside.

use super::columns::{nth, op};
use super::{Columns, Guard, Peek};
use crate::cursor::{Cursor, Fault};
use crate::limits::Limits;
use crate::plan::{Op, Program};

/// How much a file may still spend on items.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    /// Array and map items left in the file.
    pub(crate) items: u64,
    /// Items without bytes left in the block.
    pub(crate) zero_width: u64,
    pub(super) value_bytes: usize,
    /// Bytes left in the block for values that take hardly any of it: values under nulls of more than one
    /// scalar, and values that a reader's schema adds.
    pub(crate) padding: u64,
}

impl Budget {
    pub(crate) fn new(limits: &Limits, items_used: u64) -> Budget {
        Budget {
            items: limits.max_items.saturating_sub(items_used),
            zero_width: limits.max_zero_width_items,
            value_bytes: usize::try_from(limits.max_value_bytes).unwrap_or(usize::MAX),
            padding: limits.max_block_bytes,
        }
    }
}

/// A program that runs over one block.
pub(crate) struct Machine<'p, 'b> {
    pub(super) program: &'p Program,
    pub(super) cursor: Cursor<'b>,
    pub(super) budget: Budget,
    /// The instruction at which the fault occurred.
    fault_at: Option<usize>,
}

impl<'p: 'b, 'b> Machine<'p, 'b> {
    pub(crate) fn new(program: &'p Program, block: &'b [u8], budget: Budget) -> Machine<'p, 'b> {
        Machine { program, cursor: Cursor::new(block), budget, fault_at: None }
    }

    pub(crate) fn cursor(&self) -> &Cursor<'b> {
        &self.cursor
    }

    pub(crate) fn budget(&self) -> Budget {
        self.budget
    }

    /// The path of the field at which the fault occurred.
    pub(crate) fn fault_path(&self) -> Option<&'p str> {
        self.program.paths.get(self.fault_at?).map(String::as_str)
    }

    /// Decodes one record. Returns whether it left a row.
    #[inline]
    pub(crate) fn record(
        &mut self,
        columns: &mut Columns,
        guard: Option<&mut (dyn Guard + '_)>,
    ) -> Result<bool, Fault> {
        if let Some(null) = self.program.null_record {
            match self.cursor.long()? {
                branch if branch == i64::from(null) => return Err(Fault::NullRecord),
                0 | 1 => {}
                _ => return Err(Fault::Union),
            }
        }
        let ops = self.program.ops.as_slice();
        let (Some(guard), Some(at)) = (guard, self.program.guard_at) else {
            self.run(ops, 0, ops.len(), columns)?;
            return Ok(true);
        };
        self.run(ops, 0, at, columns)?;
        let keep = guard.keep(Peek::new(columns));
        if keep {
            self.run(ops, at, ops.len(), columns)?;
        } else {
            columns.pop_scalars(ops.get(..at).unwrap_or_default())?;
            self.run(&self.program.skip, at, ops.len(), columns)?;
        }
        Ok(keep)
    }

    /// Runs the instructions from `at` to `end`.
    pub(super) fn run(
        &mut self,
        ops: &[Op],
        mut at: usize,
        end: usize,
        columns: &mut Columns,
    ) -> Result<(), Fault> {
        let ops = ops.get(..end).ok_or(Fault::Program)?;
        while let Some(op) = ops.get(at) {
            match self.step(ops, *op, at, columns) {
                Ok(next) => at = next,
                Err(fault) => {
                    // The innermost instruction gets here first.
                    self.fault_at.get_or_insert(at);
                    return Err(fault);
                }
            }
        }
        Ok(())
    }

    /// Runs `op`, which is at `at`. Returns the number of the next instruction.
    #[inline(always)]
    fn step(&mut self, ops: &[Op], op: Op, at: usize, columns: &mut Columns) -> Result<usize, Fault> {
        match op {
            Op::Boolean(column) => {
                let value = self.cursor.boolean()?;
                if let Some(column) = column {
                    nth(&mut columns.booleans, column)?.append(value);
                }
            }
            Op::Int(column) => {
                let value = self.cursor.int()?;
                if let Some(column) = column {
                    nth(&mut columns.ints, column)?.push(value);
                }
            }
            Op::Long(column) => {
                let value = self.cursor.long()?;
                if let Some(column) = column {
                    nth(&mut columns.longs, column)?.push(value);
                }
            }
            Op::Float(column) => {
                let value = f32::from_le_bytes(self.cursor.array()?);
                if let Some(column) = column {
                    nth(&mut columns.floats, column)?.push(value);
                }
            }
            Op::Double(column) => {
                let value = f64::from_le_bytes(self.cursor.array()?);
                if let Some(column) = column {
                    nth(&mut columns.doubles, column)?.push(value);
                }
            }
            Op::Bytes(column) => {
                let length = self.cursor.length()?;
                if length > self.budget.value_bytes {
                    return Err(Fault::ValueBytes);
                }
                if let Some(column) = column {
                    columns.push_bytes(column, self.cursor.rest(), length)?;
                }
                self.cursor.skip_counted(length);
            }
            Op::Fixed(size, column) => {
                if size as usize > self.cursor.remaining() {
                    return Err(Fault::Truncated);
                }
                let value = self.cursor.take(size as usize)?;
                if value.len() > self.budget.value_bytes {
                    return Err(Fault::ValueBytes);
                }
                if let Some(column) = column {
                    columns.push_fixed(column, value)?;
                }
            }
            Op::Enum(symbols, column) => {
                let value = self.cursor.int()?;
                if u32::try_from(value).map_or(true, |value| value >= symbols) {
                    return Err(Fault::Enum);
                }
                if let Some(column) = column {
                    nth(&mut columns.ints, column)?.push(value);
                }
            }
            Op::Nullable { null, valid, end } => {
                let branch = self.cursor.long()?;
                if branch == i64::from(null) {
                    if let Some(valid) = valid {
                        nth(&mut columns.valid, valid)?.push(false);
                        self.push_null(ops, at.wrapping_add(1), end as usize, columns)?;
                    }
                    return Ok(end as usize);
                }
                if branch & !1 != 0 {
                    return Err(Fault::Union);
                }
                if let Some(valid) = valid {
                    nth(&mut columns.valid, valid)?.push(true);
                }
            }
            Op::Union { branches, types, end } => {
                self.union(ops, at, branches, types, columns)?;
                return Ok(end as usize);
            }
            // Only reached through its union.
            Op::Branch { end } => return Ok(end as usize),
            Op::Array { list, end, .. } | Op::Keyed { list, end, .. } if self.cursor.no_items() => {
                if let Some(list) = list {
                    columns.push_list(list, 0)?;
                }
                return Ok(end as usize);
            }
            Op::Array { least, list, end } => {
                self.array(ops, at.wrapping_add(1)..end as usize, least, list, None, columns)?;
                return Ok(end as usize);
            }
            Op::Keyed { least, list, end } => {
                let keys = list.and_then(|list| self.program.pools.keys(list));
                self.array(ops, at.wrapping_add(1)..end as usize, least, list, keys, columns)?;
                return Ok(end as usize);
            }
            _ => return self.convert(ops, at, columns),
        }
        Ok(at.wrapping_add(1))
    }

    /// Appends the values under a null to the columns of a nullable value.
    ///
    /// A null takes a byte: that is enough for a scalar or an empty list, but not for a record with many
    /// fields or a fixed value, which are bounded.
    #[inline(always)]
    fn push_null(&mut self, ops: &[Op], at: usize, end: usize, columns: &mut Columns) -> Result<(), Fault> {
        let behind = match ops.get(at) {
            Some(Op::Array { end, .. } | Op::Keyed { end, .. }) => *end as usize,
            Some(Op::Fixed(..)) | None => at,
            Some(_) => at.wrapping_add(1),
        };
        if behind == end && behind > at {
            return columns.push_default(ops, at).map(|_| ());
        }
        self.spend_bytes(width(ops.get(at..end).unwrap_or_default()))?;
        self.push_defaults(ops, at, end, columns)
    }

    pub(super) fn push_defaults(
        &mut self,
        ops: &[Op],
        mut at: usize,
        end: usize,
        columns: &mut Columns,
    ) -> Result<(), Fault> {
        while at < end {
            at = columns.push_default(ops, at)?;
        }
        Ok(())
    }

    fn union(
        &mut self,
        ops: &[Op],
        at: usize,
        branches: u32,
        types: Option<u32>,
        columns: &mut Columns,
    ) -> Result<(), Fault> {
        let branch = u32::try_from(self.cursor.long()?).map_err(|_| Fault::Union)?;
        if branch >= branches {
            return Err(Fault::Union);
        }
        let mut head = at.wrapping_add(1);
        for _ in 0..branch {
            if let Op::Branch { end } = *op(ops, head)? {
                head = end as usize;
            }
        }
        if let Some(types) = types {
            columns.push_union(types, branch as usize)?;
        }
        match *op(ops, head)? {
            Op::Branch { end } => self.run(ops, head.wrapping_add(1), end as usize, columns),
            _ => Ok(()),
        }
    }

    /// Checks a run of items before the loop: by the bytes that it must take, or by the budget.
    #[inline]
    pub(super) fn spend(&mut self, count: u64, least: u32) -> Result<(), Fault> {
        if least > 0 {
            if count.saturating_mul(u64::from(least)) > self.cursor.remaining() as u64 {
                return Err(Fault::Truncated);
            }
        } else {
            self.budget.zero_width =
                self.budget.zero_width.checked_sub(count).ok_or(Fault::ZeroWidthItems)?;
        }
        self.budget.items = self.budget.items.checked_sub(count).ok_or(Fault::Items)?;
        Ok(())
    }

    /// Bounds values that are put into columns without being in the block.
    #[inline]
    pub(super) fn spend_bytes(&mut self, bytes: u64) -> Result<(), Fault> {
        self.budget.padding = self.budget.padding.checked_sub(bytes).ok_or(Fault::Padding)?;
        Ok(())
    }
}

/// The approximate bytes that the defaults of these instructions take in columns.
pub(super) fn width(ops: &[Op]) -> u64 {
    ops.iter().map(|op| if let Op::Fixed(size, _) = op { u64::from(*size) } else { 8 }).sum()
}
