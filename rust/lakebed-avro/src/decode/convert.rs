//! Instructions that only occur with a reader's schema: widen numbers, renumber symbols, insert defaults.

use super::Columns;
use super::columns::{WideNumber, nth, op};
use super::run::{Machine, width};
use crate::cursor::{Cursor, Fault};
use crate::plan::{Number, Op};

impl<'p: 'b, 'b> Machine<'p, 'b> {
    /// Runs an instruction that only occurs with a reader's schema: kept out of the loop of those that every
    /// file needs.
    #[inline(never)]
    pub(super) fn convert(&mut self, ops: &[Op], at: usize, columns: &mut Columns) -> Result<usize, Fault> {
        match *op(ops, at)? {
            Op::Widen { from, to, column } => {
                let number = match from {
                    Number::Int => WideNumber::Whole(i64::from(self.cursor.int()?)),
                    Number::Long => WideNumber::Whole(self.cursor.long()?),
                    Number::Float => WideNumber::Real(f32::from_le_bytes(self.cursor.array()?)),
                };
                if let Some(column) = column {
                    columns.push_widened(to, column, number)?;
                }
            }
            Op::EnumAs { symbols, table, column } => {
                let value = self.cursor.int()?;
                let value = u32::try_from(value).ok().filter(|value| *value < symbols).ok_or(Fault::Enum)?;
                if let Some(column) = column {
                    let numbers = self.program.tables.get(table as usize).ok_or(Fault::Program)?;
                    let number = *numbers.get(value as usize).ok_or(Fault::Program)?;
                    nth(&mut columns.ints, column)?.push(number);
                    if number < 0 {
                        return Err(Fault::Unresolved);
                    }
                }
            }
            Op::Absent { valid, end } => {
                if valid.is_some() {
                    self.spend_bytes(width(ops.get(at..end as usize).unwrap_or_default()))?;
                    self.push_defaults(ops, at, end as usize, columns)?;
                }
                return Ok(end as usize);
            }
            Op::Present { valid: Some(valid) } => {
                self.spend_bytes(1)?;
                nth(&mut columns.valid, valid)?.push(true);
            }
            Op::Member { branch, types: Some(types) } => {
                self.spend_bytes(8)?;
                columns.push_union(types, branch as usize)?;
            }
            Op::Constant { constant, end } => {
                if let Some(constant) = constant {
                    self.constant(ops, at.wrapping_add(1), end as usize, constant, columns)?;
                }
                return Ok(end as usize);
            }
            Op::Mismatch { refused: true, .. } => return Err(Fault::Unresolved),
            Op::Mismatch { refused: false, end } => return Ok(end as usize),
            _ => {}
        }
        Ok(at.wrapping_add(1))
    }

    /// Runs instructions on a default instead of the block.
    fn constant(
        &mut self,
        ops: &[Op],
        start: usize,
        end: usize,
        number: u32,
        columns: &mut Columns,
    ) -> Result<(), Fault> {
        let constant = self.program.constants.get(number as usize).ok_or(Fault::Program)?;
        self.spend_bytes(constant.cost)?;
        let block = std::mem::replace(&mut self.cursor, Cursor::new(&constant.bytes));
        let result = self.run(ops, start, end, columns);
        self.cursor = block;
        result
    }
}
