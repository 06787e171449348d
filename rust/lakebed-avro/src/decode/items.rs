//! Runs of array and map items: one by one, or many at once where they are of the shapes that fill
//! manifests.

use std::ops::Range;

use super::Columns;
use super::fused::{self, Longs, Taken};
use super::run::Machine;
use crate::cursor::Fault;
use crate::plan::Op;

impl<'p: 'b, 'b> Machine<'p, 'b> {
    /// Takes all items of an array, each by the instructions `item`; without a list they are walked over,
    /// and with keys so are those that begin with an int not among them.
    #[inline]
    pub(super) fn array(
        &mut self,
        ops: &[Op],
        item: Range<usize>,
        least: u32,
        list: Option<u32>,
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
            total = total.saturating_add(self.items(ops, &item, items.count, keys, columns)?);
            if items.end.is_some_and(|position| position != self.cursor.position()) {
                return Err(Fault::Length);
            }
        }
        list.map_or(Ok(()), |list| columns.push_list(list, total))
    }

    /// Takes `count` items; says how many were kept.
    #[inline]
    fn items(
        &mut self,
        ops: &[Op],
        item: &Range<usize>,
        count: u64,
        keys: Option<&[i32]>,
        columns: &mut Columns,
    ) -> Result<u64, Fault> {
        let (mut left, mut dropped) = (count, 0);
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(usize::MAX);
            let small = &ops[item.clone()];
            let taken = match keys {
                None => self.take_small(small, most, |_| true, &mut dropped, columns),
                Some(keys) => {
                    let wanted = |key| keys.binary_search(&key).is_ok();
                    self.take_small(small, most, wanted, &mut dropped, columns)
                }
            };
            self.cursor.skip(taken.bytes)?;
            left -= taken.items as u64;
            if left > 0 {
                dropped += u64::from(!self.take_one(ops, item, keys, columns)?);
                left -= 1;
            }
        }
        Ok(count - dropped)
    }

    /// Takes one item, whatever its shape and size; says whether it was kept.
    #[inline]
    fn take_one(
        &mut self,
        ops: &[Op],
        item: &Range<usize>,
        keys: Option<&[i32]>,
        columns: &mut Columns,
    ) -> Result<bool, Fault> {
        let Some(keys) = keys else {
            self.run(ops, item.start, item.end, columns)?;
            return Ok(true);
        };
        let value = item.start + 1;
        self.run(ops, item.start, value, columns)?;
        let Op::Int(Some(column)) = ops[item.start] else { return Err(Fault::Unresolved) };
        let found = &mut columns.ints[column as usize];
        if found.last().is_some_and(|key| keys.binary_search(key).is_ok()) {
            self.run(ops, value, item.end, columns)?;
            return Ok(true);
        }
        found.pop();
        self.run(&self.program.skip, value, item.end, columns)?;
        Ok(false)
    }

    /// Takes items in a tight loop, at most `most`, where their instructions have one, up to the first that
    /// is large or crooked: that one is for [`Machine::take_one`] and its checks. Adds to `dropped` those
    /// whose keys are not wanted.
    #[inline]
    fn take_small(
        &self,
        item: &[Op],
        most: usize,
        wanted: impl Fn(i32) -> bool,
        dropped: &mut u64,
        columns: &mut Columns,
    ) -> Taken {
        let rest = self.cursor.rest();
        let longest = self.budget.value_bytes;
        match *item {
            [Op::Int(Some(key)), Op::Long(Some(value))] => {
                let keys = &mut columns.ints[key as usize];
                let values = &mut columns.longs[value as usize];
                fused::int_longs(rest, most, |key, value| {
                    if wanted(key) {
                        keys.push(key);
                        values.push(value);
                    } else {
                        *dropped += 1;
                    }
                })
            }
            [Op::Int(Some(key)), Op::Bytes(Some(value))] => {
                let keys = &mut columns.ints[key as usize];
                let values = &mut columns.bytes[value as usize];
                fused::int_bytes(rest, most, longest, |key, ahead, length| {
                    if wanted(key) {
                        values.push(ahead, length)?;
                        keys.push(key);
                    } else {
                        *dropped += 1;
                    }
                    Ok(())
                })
            }
            [Op::Int(None), Op::Long(None)] => fused::int_longs(rest, most, |_, _| {}),
            [Op::Int(None), Op::Bytes(None)] => fused::int_bytes(rest, most, longest, |_, _, _| Ok(())),
            [Op::Nullable { null, valid: Some(valid), .. }, Op::Long(Some(long))] => {
                let longs = &mut columns.longs[long as usize];
                let bits = &mut columns.valid[valid as usize];
                fused::nullable_longs(null, rest, most, |taken| match taken {
                    Longs::Small(pairs) => {
                        bits.append_n(pairs.len(), true);
                        longs.extend(fused::small_longs(pairs));
                    }
                    Longs::One(value) => {
                        bits.append(value.is_some());
                        longs.push(value.unwrap_or(0));
                    }
                })
            }
            [Op::Nullable { null, valid: None, .. }, Op::Long(None)] => {
                fused::nullable_longs(null, rest, most, |_| {})
            }
            _ => Taken::default(),
        }
    }
}
