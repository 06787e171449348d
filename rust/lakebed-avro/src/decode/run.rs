//! The decode loop: one flat match over instructions, nothing dynamic inside.

use super::columns::Widened;
use super::{Columns, Guard, Peek};
use crate::cursor::{Cursor, Fault};
use crate::limits::Limits;
use crate::plan::{Number, Op, Program};

/// What a file may still spend on items.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    /// Array and map items left in the file.
    pub(crate) items: u64,
    /// Items without bytes left in the block.
    pub(crate) zero_width: u64,
    value_bytes: usize,
    /// Bytes left in the block for what takes next to none of it: what stands under nulls of more than
    /// one scalar, and what a reader's schema adds.
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

/// A program at work on one block.
pub(crate) struct Machine<'p, 'b> {
    program: &'p Program,
    cursor: Cursor<'b>,
    budget: Budget,
    /// The instruction that met the fault.
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

    /// The path of the field that met the fault.
    pub(crate) fn fault_path(&self) -> Option<&'p str> {
        self.program.paths.get(self.fault_at?).map(String::as_str)
    }

    /// Decodes one record; says whether it left a row.
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
            columns.pop_scalars(&ops[..at]);
            self.run(&self.program.skip, at, ops.len(), columns)?;
        }
        Ok(keep)
    }

    /// Runs the instructions from `at` to `end`.
    fn run(&mut self, ops: &[Op], mut at: usize, end: usize, columns: &mut Columns) -> Result<(), Fault> {
        while at < end {
            match self.step(ops, at, columns) {
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

    /// Runs one instruction; gives the number of the next.
    #[inline(always)]
    fn step(&mut self, ops: &[Op], at: usize, columns: &mut Columns) -> Result<usize, Fault> {
        match ops[at] {
            Op::Boolean(column) => {
                let value = self.cursor.boolean()?;
                if let Some(column) = column {
                    columns.booleans[column as usize].append(value);
                }
            }
            Op::Int(column) => {
                let value = self.cursor.int()?;
                if let Some(column) = column {
                    columns.ints[column as usize].push(value);
                }
            }
            Op::Long(column) => {
                let value = self.cursor.long()?;
                if let Some(column) = column {
                    columns.longs[column as usize].push(value);
                }
            }
            Op::Float(column) => {
                let value = f32::from_le_bytes(self.cursor.array()?);
                if let Some(column) = column {
                    columns.floats[column as usize].push(value);
                }
            }
            Op::Double(column) => {
                let value = f64::from_le_bytes(self.cursor.array()?);
                if let Some(column) = column {
                    columns.doubles[column as usize].push(value);
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
                self.cursor.skip(length)?;
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
                    columns.ints[column as usize].push(value);
                }
            }
            Op::Nullable { null, valid, end } => {
                let branch = self.cursor.long()?;
                if branch == i64::from(null) {
                    if let Some(valid) = valid {
                        columns.valid[valid as usize].append(false);
                        self.spend_padding(ops, at + 1, end as usize)?;
                        self.push_defaults(ops, at + 1, end as usize, columns)?;
                    }
                    return Ok(end as usize);
                }
                if branch & !1 != 0 {
                    return Err(Fault::Union);
                }
                if let Some(valid) = valid {
                    columns.valid[valid as usize].append(true);
                }
            }
            Op::Union { branches, types, end } => {
                self.union(ops, at, branches, types, columns)?;
                return Ok(end as usize);
            }
            // Only reached through its union.
            Op::Branch { end } => return Ok(end as usize),
            Op::Array { least, list, end } => {
                self.array(ops, at + 1, end as usize, least, list, columns)?;
                return Ok(end as usize);
            }
            Op::NullableLongs { null, list, valid, long } => match (list, valid, long) {
                (Some(list), Some(valid), Some(long)) => {
                    self.nullable_longs(null, list, valid, long, columns)?
                }
                _ => self.skip_nullable_longs(null)?,
            },
            _ => return self.convert(ops, at, columns),
        }
        Ok(at + 1)
    }

    /// Runs an instruction that only a reader's schema brings: kept out of the loop of those that every
    /// file needs.
    #[inline(never)]
    fn convert(&mut self, ops: &[Op], at: usize, columns: &mut Columns) -> Result<usize, Fault> {
        match ops[at] {
            Op::Widen { from, to, column } => {
                let number = match from {
                    Number::Int => Widened::Whole(i64::from(self.cursor.int()?)),
                    Number::Long => Widened::Whole(self.cursor.long()?),
                    Number::Float => Widened::Real(f32::from_le_bytes(self.cursor.array()?)),
                };
                if let Some(column) = column {
                    columns.push_widened(to, column, number);
                }
            }
            Op::EnumAs { symbols, table, column } => {
                let value = self.cursor.int()?;
                let value = u32::try_from(value).ok().filter(|value| *value < symbols).ok_or(Fault::Enum)?;
                if let Some(column) = column {
                    let number = self.program.tables[table as usize][value as usize];
                    columns.ints[column as usize].push(number);
                    if number < 0 {
                        return Err(Fault::Unresolved);
                    }
                }
            }
            Op::Absent { valid, end } => {
                if valid.is_some() {
                    self.spend_bytes(width(&ops[at..end as usize]))?;
                    self.push_defaults(ops, at, end as usize, columns)?;
                }
                return Ok(end as usize);
            }
            Op::Present { valid: Some(valid) } => {
                self.spend_bytes(1)?;
                columns.valid[valid as usize].append(true);
            }
            Op::Member { branch, types: Some(types) } => {
                self.spend_bytes(8)?;
                columns.push_union(types, branch as usize)?;
            }
            Op::Constant { constant, end } => {
                if let Some(constant) = constant {
                    self.constant(ops, at + 1, end as usize, constant, columns)?;
                }
                return Ok(end as usize);
            }
            Op::Mismatch { refused: true, .. } => return Err(Fault::Unresolved),
            Op::Mismatch { refused: false, end } => return Ok(end as usize),
            _ => {}
        }
        Ok(at + 1)
    }

    /// Runs instructions over a default instead of the block.
    fn constant(
        &mut self,
        ops: &[Op],
        start: usize,
        end: usize,
        number: u32,
        columns: &mut Columns,
    ) -> Result<(), Fault> {
        let constant = &self.program.constants[number as usize];
        self.spend_bytes(constant.cost)?;
        let block = std::mem::replace(&mut self.cursor, Cursor::new(&constant.bytes));
        let result = self.run(ops, start, end, columns);
        self.cursor = block;
        result
    }

    fn push_defaults(
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
        let mut head = at + 1;
        for _ in 0..branch {
            if let Op::Branch { end } = ops[head] {
                head = end as usize;
            }
        }
        if let Some(types) = types {
            columns.push_union(types, branch as usize)?;
        }
        match ops[head] {
            Op::Branch { end } => self.run(ops, head + 1, end as usize, columns),
            _ => Ok(()),
        }
    }

    /// Checks a run of items before it is looped over: by the bytes it must take, or by the budget.
    #[inline]
    fn spend(&mut self, count: u64, least: u32) -> Result<(), Fault> {
        if least > 0 {
            if count > self.cursor.remaining() as u64 / u64::from(least) {
                return Err(Fault::Truncated);
            }
        } else {
            self.budget.zero_width =
                self.budget.zero_width.checked_sub(count).ok_or(Fault::ZeroWidthItems)?;
        }
        self.budget.items = self.budget.items.checked_sub(count).ok_or(Fault::Items)?;
        Ok(())
    }

    /// Bounds what a null of one byte puts into columns: a scalar is paid for by that byte, a record of
    /// many fields or a fixed value is not.
    #[inline]
    fn spend_padding(&mut self, ops: &[Op], at: usize, end: usize) -> Result<(), Fault> {
        let below = ops.get(at..end).unwrap_or_default();
        if below.len() < 2 && !matches!(below, [Op::Fixed(..)]) {
            return Ok(());
        }
        self.spend_bytes(width(below))
    }

    /// Bounds what goes into columns without having been in the block.
    #[inline]
    fn spend_bytes(&mut self, bytes: u64) -> Result<(), Fault> {
        self.budget.padding = self.budget.padding.checked_sub(bytes).ok_or(Fault::Padding)?;
        Ok(())
    }

    #[inline]
    fn array(
        &mut self,
        ops: &[Op],
        start: usize,
        end: usize,
        least: u32,
        list: Option<u32>,
        columns: &mut Columns,
    ) -> Result<(), Fault> {
        let mut total = 0u64;
        while let Some(items) = self.cursor.items()? {
            self.spend(items.count, least)?;
            match (items.end, list) {
                (Some(position), None) => self.cursor.jump(position)?,
                _ => {
                    for _ in 0..items.count {
                        self.run(ops, start, end, columns)?;
                    }
                    if items.end.is_some_and(|position| position != self.cursor.position()) {
                        return Err(Fault::Length);
                    }
                }
            }
            total = total.saturating_add(items.count);
        }
        list.map_or(Ok(()), |list| columns.push_list(list, total))
    }

    fn nullable_longs(
        &mut self,
        null: u8,
        list: u32,
        valid: u32,
        long: u32,
        columns: &mut Columns,
    ) -> Result<(), Fault> {
        let longs = &mut columns.longs[long as usize];
        let bits = &mut columns.valid[valid as usize];
        let mut total = 0u64;
        while let Some(items) = self.cursor.items()? {
            self.spend(items.count, 1)?;
            let mut left = items.count as usize;
            while left > 0 {
                let small = small_longs(null, self.cursor.rest(), left, longs);
                bits.append_n(small, true);
                self.cursor.skip(small * 2)?;
                left -= small;
                if left > 0 {
                    let value = self.nullable_long(null)?;
                    bits.append(value.is_some());
                    longs.push(value.unwrap_or(0));
                    left -= 1;
                }
            }
            if items.end.is_some_and(|position| position != self.cursor.position()) {
                return Err(Fault::Length);
            }
            total = total.saturating_add(items.count);
        }
        columns.push_list(list, total)
    }

    #[inline]
    fn nullable_long(&mut self, null: u8) -> Result<Option<i64>, Fault> {
        match self.cursor.long()? {
            branch if branch == i64::from(null) => Ok(None),
            0 | 1 => self.cursor.long().map(Some),
            _ => Err(Fault::Union),
        }
    }

    fn skip_nullable_longs(&mut self, null: u8) -> Result<(), Fault> {
        while let Some(items) = self.cursor.items()? {
            self.spend(items.count, 1)?;
            if let Some(position) = items.end {
                self.cursor.jump(position)?;
                continue;
            }
            for _ in 0..items.count {
                self.nullable_long(null)?;
            }
        }
        Ok(())
    }
}

/// Bytes that the defaults of these instructions take in columns, near enough.
fn width(ops: &[Op]) -> u64 {
    ops.iter().map(|op| if let Op::Fixed(size, _) = op { u64::from(*size) } else { 8 }).sum()
}

/// Takes the longs at the start of `bytes` that are there and take one byte, at most `count`: each is two
/// bytes, the branch and the value. Gives how many there were.
#[inline]
fn small_longs(null: u8, bytes: &[u8], count: usize, longs: &mut Vec<i64>) -> usize {
    let there = if null == 0 { 2 } else { 0 };
    let pairs = bytes.as_chunks::<2>().0;
    let pairs = pairs.get(..count).unwrap_or(pairs);
    let small = pairs.iter().position(|[branch, value]| *branch != there || *value >= 0x80);
    let small = pairs.get(..small.unwrap_or(pairs.len())).unwrap_or_default();
    longs.extend(small.iter().map(|[_, value]| i64::from(value >> 1) ^ -i64::from(value & 1)));
    small.len()
}
