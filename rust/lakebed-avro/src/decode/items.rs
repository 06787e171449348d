//! Runs of array and map items: one by one, or many at once for the shapes that manifests mostly consist of.

use std::ops::Range;

use super::Columns;
use super::columns::{nth, op};
use super::fused::{self, ItemCounts};
use super::run::Machine;
use crate::cursor::Fault;
use crate::plan::{Col, Op};

impl<'p: 'b, 'b> Machine<'p, 'b> {
    /// Takes all items of an array, each with the instructions `item`. Without a list they are skipped; with
    /// keys, items whose int is not among them are skipped too.
    pub(super) fn array(
        &mut self,
        ops: &[Op],
        item: Range<usize>,
        least: u32,
        list: Col,
        keys: Option<&[i32]>,
        columns: &mut Columns,
    ) -> Result<(), Fault> {
        let mut total = 0u64;
        while let Some(items) = self.cursor.items()? {
            self.spend(items.count, least)?;
            if let (Some(position), None) = (items.end, list) {
                self.cursor.jump(position)?;
                continue;
            }
            let mut left = items.count;
            while left > 0 {
                let taken = self.take_small(ops.get(item.clone()).unwrap_or_default(), left, keys, columns);
                self.cursor.skip(taken.bytes)?;
                left = left.saturating_sub(taken.items as u64);
                total = total.saturating_add(taken.kept as u64);
                if left > 0 {
                    total = total.saturating_add(u64::from(self.take_one(ops, &item, keys, columns)?));
                    left = left.saturating_sub(1);
                }
            }
            if items.end.is_some_and(|position| position != self.cursor.position()) {
                return Err(Fault::Length);
            }
        }
        list.map_or(Ok(()), |list| columns.push_list(list, total))
    }

    /// Takes one item of any shape and size. Returns whether it was kept.
    #[inline]
    fn take_one(
        &mut self,
        ops: &[Op],
        item: &Range<usize>,
        keys: Option<&[i32]>,
        columns: &mut Columns,
    ) -> Result<bool, Fault> {
        match keys {
            Some(keys) => self.take_keyed(ops, item, keys, columns),
            None => self.run(ops, item.start, item.end, columns).map(|()| true),
        }
    }

    /// Takes one item that begins with an int. Returns whether it was kept.
    fn take_keyed(
        &mut self,
        ops: &[Op],
        item: &Range<usize>,
        keys: &[i32],
        columns: &mut Columns,
    ) -> Result<bool, Fault> {
        let value = item.start.wrapping_add(1);
        self.run(ops, item.start, value, columns)?;
        let Op::Int(Some(column)) = *op(ops, item.start)? else { return Err(Fault::Program) };
        let found = nth(&mut columns.ints, column)?;
        if found.last().is_some_and(|key| keys.binary_search(key).is_ok()) {
            self.run(ops, value, item.end, columns)?;
            return Ok(true);
        }
        found.pop();
        self.run(&self.program.skip, value, item.end, columns)?;
        Ok(false)
    }

    /// Takes at most `most` items in a tight loop, if their instructions have one, up to the first large or
    /// malformed item, which is left to [`Machine::take_one`] and its checks.
    #[inline]
    fn take_small(&self, item: &[Op], most: u64, keys: Option<&[i32]>, columns: &mut Columns) -> ItemCounts {
        let bytes = self.cursor.rest();
        let longest = self.budget.value_bytes;
        match (item, keys) {
            (&[Op::Int(Some(key)), Op::Long(Some(value))], None) => {
                fused::put_int_longs(bytes, most, |_| true, columns, key, value)
            }
            (&[Op::Int(Some(key)), Op::Long(Some(value))], Some(keys)) => {
                fused::put_int_longs(bytes, most, among(keys), columns, key, value)
            }
            (&[Op::Int(None), Op::Long(None)], _) => fused::skip_int_longs(bytes, most),
            (&[Op::Int(Some(key)), Op::Bytes(Some(value))], None) => {
                fused::put_int_bytes(bytes, most, longest, |_| true, columns, key, value)
            }
            (&[Op::Int(Some(key)), Op::Bytes(Some(value))], Some(keys)) => {
                fused::put_int_bytes(bytes, most, longest, among(keys), columns, key, value)
            }
            (&[Op::Int(None), Op::Bytes(None)], _) => fused::skip_int_bytes(bytes, most, longest),
            (&[Op::Nullable { null, valid: Some(valid), .. }, Op::Long(Some(value))], _) => {
                fused::put_nullable_longs(bytes, most, null, columns, valid, value)
            }
            (&[Op::Nullable { null, valid: None, .. }, Op::Long(None)], _) => {
                fused::skip_nullable_longs(bytes, most, null)
            }
            _ => ItemCounts::default(),
        }
    }
}

fn among(keys: &[i32]) -> impl Fn(i32) -> bool {
    |key| keys.binary_search(&key).is_ok()
}
