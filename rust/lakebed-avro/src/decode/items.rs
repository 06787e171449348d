//! Runs of array and map items: one by one, or many at once where they are of the shapes that fill
//! manifests.

use super::Columns;
use super::fused::{self, Longs};
use super::run::Machine;
use crate::cursor::Fault;
use crate::plan::Op;

impl<'p: 'b, 'b> Machine<'p, 'b> {
    /// Takes all items of an array, whose instructions go from `start` to `end`; without a list they are
    /// walked over.
    #[inline]
    pub(super) fn array(
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
                    let mut left = items.count;
                    while left > 0 {
                        left -= self.take_small(&ops[start..end], left, columns)?;
                        if left > 0 {
                            self.run(ops, start, end, columns)?;
                            left -= 1;
                        }
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

    /// Takes items in a tight loop, at most `most`, where their instructions have one, up to the first that
    /// is large or crooked. Says how many were taken; the next is the general loop's, with its checks.
    #[inline]
    fn take_small(&mut self, item: &[Op], most: u64, columns: &mut Columns) -> Result<u64, Fault> {
        let rest = self.cursor.rest();
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let taken = match *item {
            [Op::Int(Some(key)), Op::Long(Some(value))] => {
                let keys = &mut columns.ints[key as usize];
                let values = &mut columns.longs[value as usize];
                fused::int_longs(rest, most, |key, value| {
                    keys.push(key);
                    values.push(value);
                })
            }
            [Op::Int(None), Op::Long(None)] => fused::int_longs(rest, most, |_, _| {}),
            [Op::Int(Some(key)), Op::Bytes(Some(value))] => {
                let keys = &mut columns.ints[key as usize];
                let values = &mut columns.bytes[value as usize];
                fused::int_bytes(rest, most, self.budget.value_bytes, |key, ahead, length| {
                    values.push(ahead, length)?;
                    keys.push(key);
                    Ok(())
                })
            }
            [Op::Int(None), Op::Bytes(None)] => {
                fused::int_bytes(rest, most, self.budget.value_bytes, |_, _, _| Ok(()))
            }
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
            _ => return Ok(0),
        };
        self.cursor.skip(taken.bytes)?;
        Ok(taken.items as u64)
    }
}
