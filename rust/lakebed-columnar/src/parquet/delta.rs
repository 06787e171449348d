//! Delta-encoded integers, and texts that share a prefix with the one before.
//!
//! Source: Parquet specification, "Delta Encoding (DELTA_BINARY_PACKED = 5)", "Delta-length byte array" and "Delta
//! Strings".

use lakebed_avro::{Error, ErrorKind, Result};

use crate::arrays::room;
use crate::budget::Budget;
use crate::input::{Input, ends};

/// Integers, packed as differences.
pub(super) struct DeltaIntegers {
    input: Input,
    state: Option<State>,
}

struct State {
    /// The number of integers left, the first of which is `value`.
    left: u64,
    value: i64,
    /// Values per miniblock, and miniblocks per block.
    miniblock: u64,
    miniblocks: usize,
    least: i64,
    /// The widths of the block's remaining miniblocks.
    widths: Input,
    width: u32,
    /// The current miniblock, and its remaining values.
    packed: Input,
    window: u128,
    bits: u32,
    of_miniblock: u64,
}

impl DeltaIntegers {
    pub(super) fn new(input: Input) -> DeltaIntegers {
        DeltaIntegers { input, state: None }
    }

    /// The number of integers.
    fn count(&mut self) -> Result<u64> {
        self.state().map(|(_, state)| state.left)
    }

    /// The bytes after all of them, once they are read.
    fn into_rest(self) -> Input {
        self.input
    }

    fn state(&mut self) -> Result<(&mut Input, &mut State)> {
        let state = match self.state.take() {
            Some(state) => state,
            None => State::read(&mut self.input)?,
        };
        Ok((&mut self.input, self.state.insert(state)))
    }

    /// The next integer.
    pub(super) fn next(&mut self) -> Result<i64> {
        let (input, state) = self.state()?;
        state.left = state.left.checked_sub(1).ok_or_else(ends)?;
        let value = state.value;
        if state.left > 0 {
            state.value = value.wrapping_add(state.difference(input)?);
        }
        Ok(value)
    }
}

impl State {
    fn read(input: &mut Input) -> Result<State> {
        let block = input.varint()?;
        let miniblocks = input.length()?;
        let (left, value) = (input.varint()?, input.zigzag()?);
        let miniblock =
            block.checked_div(miniblocks as u64).filter(|values| *values > 0 && values.is_multiple_of(8));
        let wrong =
            || Error::new(ErrorKind::Length, format!("{miniblocks} miniblocks of a block of {block}"));
        let empty = Input::new(arrow_buffer::Buffer::from(&[]));
        Ok(State {
            left,
            value,
            miniblock: miniblock.ok_or_else(wrong)?,
            miniblocks,
            least: 0,
            widths: empty.clone(),
            width: 0,
            packed: empty,
            window: 0,
            bits: 0,
            of_miniblock: 0,
        })
    }

    #[allow(
        clippy::arithmetic_side_effects,
        reason = "widths are at most 64 bits, and the window is less than a width and a byte"
    )]
    fn difference(&mut self, input: &mut Input) -> Result<i64> {
        if self.of_miniblock == 0 {
            self.next_miniblock(input)?;
        }
        self.of_miniblock -= 1;
        while self.bits < self.width {
            self.window |= u128::from(self.packed.byte()?) << self.bits;
            self.bits += 8;
        }
        let mask = (1_u128 << self.width) - 1;
        let packed = (self.window & mask) as u64;
        self.window >>= self.width;
        self.bits -= self.width;
        Ok(self.least.wrapping_add(packed.cast_signed()))
    }

    fn next_miniblock(&mut self, input: &mut Input) -> Result<()> {
        if self.widths.is_empty() {
            self.least = input.zigzag()?;
            self.widths = input.split(self.miniblocks)?;
        }
        self.width = u32::from(self.widths.byte()?);
        let bytes = (self.miniblock / 8).checked_mul(u64::from(self.width));
        let bytes = bytes.filter(|_| self.width <= 64).and_then(|bytes| usize::try_from(bytes).ok());
        self.packed = input.split(bytes.ok_or_else(ends)?)?;
        (self.window, self.bits, self.of_miniblock) = (0, 0, self.miniblock);
        Ok(())
    }
}

/// Reads all lengths of a page; there are at most as many as the page has values.
fn lengths(input: Input, count: usize, budget: &mut Budget) -> Result<(std::vec::IntoIter<usize>, Input)> {
    let mut integers = DeltaIntegers::new(input);
    let there = usize::try_from(integers.count()?).ok().filter(|there| *there <= count);
    let there = there.ok_or_else(|| Error::new(ErrorKind::Count, "a page has more lengths than values"))?;
    let mut lengths = room(there, budget)?;
    for _ in 0..there {
        let length = integers.next()?;
        let negative = |_| Error::new(ErrorKind::Length, format!("a text of {length} bytes"));
        lengths.push(usize::try_from(length).map_err(negative)?);
    }
    Ok((lengths.into_iter(), integers.into_rest()))
}

/// Byte values one after another, after all their lengths.
pub(super) struct DeltaLengths {
    lengths: std::vec::IntoIter<usize>,
    data: Input,
}

impl DeltaLengths {
    pub(super) fn new(page: Input, count: usize, budget: &mut Budget) -> Result<DeltaLengths> {
        let (lengths, data) =
            if page.is_empty() { (Vec::new().into_iter(), page) } else { lengths(page, count, budget)? };
        Ok(DeltaLengths { lengths, data })
    }

    /// The next value.
    pub(super) fn next(&mut self) -> Result<&[u8]> {
        let length = self.lengths.next().ok_or_else(ends)?;
        self.data.take(length)
    }
}

/// Byte values that share a prefix with the one before.
pub(super) struct DeltaBytes {
    prefixes: std::vec::IntoIter<usize>,
    suffixes: DeltaLengths,
    value: Vec<u8>,
}

impl DeltaBytes {
    pub(super) fn new(page: Input, count: usize, budget: &mut Budget) -> Result<DeltaBytes> {
        let (prefixes, rest) =
            if page.is_empty() { (Vec::new().into_iter(), page) } else { lengths(page, count, budget)? };
        Ok(DeltaBytes { prefixes, suffixes: DeltaLengths::new(rest, count, budget)?, value: Vec::new() })
    }

    /// The next value.
    pub(super) fn next(&mut self, budget: &Budget) -> Result<&[u8]> {
        let prefix = self.prefixes.next().ok_or_else(ends)?;
        if prefix > self.value.len() {
            return Err(Error::new(ErrorKind::Length, "a string shares more bytes than the one before has"));
        }
        let suffix = self.suffixes.next()?;
        budget.value(prefix.saturating_add(suffix.len()))?;
        self.value.truncate(prefix);
        self.value.extend_from_slice(suffix);
        Ok(&self.value)
    }
}

#[cfg(test)]
mod tests {
    use arrow_buffer::Buffer;

    use super::*;

    #[test]
    fn integers_are_as_the_specification_shows() {
        // 7, 5, 3, 1, 2, 3, 4, 5: the least difference is -2, the others are 0 and 3 in two bits.
        let bytes = [128, 1, 4, 8, 14, 3, 2, 0, 0, 0, 0b1100_0000, 0b0011_1111, 0, 0, 0, 0, 0, 0];
        let mut integers = DeltaIntegers::new(Input::new(Buffer::from(&bytes)));
        let read: Vec<i64> = (0..8).map(|_| integers.next().unwrap()).collect();
        assert_eq!(read, [7, 5, 3, 1, 2, 3, 4, 5]);
        assert!(integers.next().is_err());
    }

    #[test]
    fn miniblocks_of_nothing_are_refused() {
        for bytes in [[0, 0, 8, 14], [0, 4, 8, 14], [4, 4, 8, 14], [127, 0, 8, 14]] {
            let mut integers = DeltaIntegers::new(Input::new(Buffer::from(&bytes)));
            assert_eq!(integers.next().unwrap_err().kind(), ErrorKind::Length);
        }
    }
}
