//! Runs and bit-packed groups of small numbers: levels, and numbers of dictionary entries.
//!
//! Source: Parquet specification, "Run Length Encoding / Bit-Packing Hybrid (RLE = 3)".

use lakebed_avro::{Error, ErrorKind, Result};

use super::levels::any_above;
use crate::input::Input;

/// How many numbers are unpacked at once: some groups of eight.
const UNPACKED: usize = 64;
/// The widest numbers.
const MOST_BITS: u32 = 32;

/// The runs and groups of a stream of numbers of one width.
struct Runs {
    input: Input,
    width: u32,
    /// How often `value` is repeated.
    run: usize,
    value: u32,
    /// Groups of eight numbers that are still packed.
    groups: usize,
}

impl Runs {
    fn new(input: Input, width: u32) -> Result<Runs> {
        if width > MOST_BITS {
            return Err(Error::new(
                ErrorKind::Length,
                format!("numbers of {width} bits in a dictionary's page"),
            ));
        }
        Ok(Runs { input, width, run: 0, value: 0, groups: 0 })
    }

    /// Begins the next run or groups, if the last ones are read.
    fn begin(&mut self) -> Result<()> {
        while self.run == 0 && self.groups == 0 {
            let header = self.input.varint()?;
            let count = usize::try_from(header >> 1).unwrap_or(usize::MAX);
            if header & 1 == 0 {
                let bytes = self.input.take(self.width.div_ceil(8) as usize)?;
                self.value = bytes.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
                self.run = count;
            } else if self.width == 0 {
                (self.value, self.run) = (0, count.saturating_mul(8));
            } else {
                self.groups = count;
            }
        }
        Ok(())
    }

    /// The bytes of the next groups: of one at least, and of at most `most`. The stream may end within later ones.
    fn packed(&mut self, most: usize) -> Result<&[u8]> {
        let width = self.width as usize;
        let there = self.input.rest().len().checked_div(width).unwrap_or(0);
        let groups = self.groups.min(most).min(there).max(1);
        self.groups = self.groups.saturating_sub(groups);
        self.input.take(groups.saturating_mul(width))
    }
}

/// Numbers of dictionary entries.
pub(super) struct Hybrid {
    runs: Runs,
    /// The numbers of groups; those from `at` to `end` are not read yet.
    unpacked: [u32; UNPACKED],
    at: usize,
    end: usize,
}

/// Some numbers that follow each other.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Numbers<'h> {
    /// One number, and how often it is there.
    Same(u32, usize),
    /// Numbers as they were packed.
    Each(&'h [u32]),
}

impl Hybrid {
    /// # Errors
    /// `Length` for a width of more than 32 bits.
    pub(super) fn new(input: Input, width: u32) -> Result<Hybrid> {
        Ok(Hybrid { runs: Runs::new(input, width)?, unpacked: [0; UNPACKED], at: 0, end: 0 })
    }

    /// Hands the next `count` numbers to `take`, some at a time.
    ///
    /// # Errors
    /// `Truncated` for a stream of fewer; those of `take`.
    pub(super) fn read(
        &mut self,
        mut count: usize,
        mut take: impl FnMut(Numbers<'_>) -> Result<()>,
    ) -> Result<()> {
        while count > 0 {
            if self.at < self.end {
                let end = self.end.min(self.at.saturating_add(count));
                let numbers = self.unpacked.get(self.at..end).unwrap_or_default();
                self.at = end;
                count = count.saturating_sub(numbers.len());
                take(Numbers::Each(numbers))?;
                continue;
            }
            self.runs.begin()?;
            if self.runs.run > 0 {
                let some = self.runs.run.min(count);
                self.runs.run = self.runs.run.saturating_sub(some);
                count = count.saturating_sub(some);
                take(Numbers::Same(self.runs.value, some))?;
            } else {
                let width = self.runs.width;
                let packed = self.runs.packed(UNPACKED / 8)?;
                self.end = unpack(packed, width, &mut self.unpacked);
                self.at = 0;
            }
        }
        Ok(())
    }
}

/// Unpacks numbers of 1 to 32 bits, lowest bit of each byte first; returns how many these are.
#[allow(clippy::arithmetic_side_effects, reason = "widths are 1 to 32 bits, and numbers some dozens")]
fn unpack(packed: &[u8], width: u32, numbers: &mut [u32; UNPACKED]) -> usize {
    if width <= u8::BITS {
        // Eight numbers are within a word.
        let words = packed.chunks_exact(width as usize);
        words
            .zip(numbers.as_chunks_mut().0)
            .for_each(|(group, eight)| *eight = group_of(group).map(u32::from));
        return packed.len() / width as usize * 8;
    }
    // Each number is within eight bytes.
    let mut padded = [0_u8; UNPACKED * MOST_BITS as usize / 8 + 8];
    if let Some(bytes) = padded.get_mut(..packed.len()) {
        bytes.copy_from_slice(packed);
    }
    let mask = u64::from(u32::MAX >> (MOST_BITS - width));
    let count = packed.len() / width as usize * 8;
    let mut bit = 0;
    for number in numbers.iter_mut().take(count) {
        let word = padded.get(bit / 8..).and_then(|bytes| bytes.first_chunk()).copied();
        *number = (u64::from_le_bytes(word.unwrap_or_default()) >> (bit % 8) & mask) as u32;
        bit += width as usize;
    }
    count
}

/// Definition or repetition levels of a page.
pub(super) struct LevelStream {
    runs: Runs,
    /// The highest level of the column.
    most: u8,
    /// Levels that were decoded, those from `at` on unread.
    ahead: Vec<u8>,
    at: usize,
}

impl LevelStream {
    /// Levels from 0 to `most`.
    pub(super) fn new(input: Input, most: u8) -> Result<LevelStream> {
        let width = u8::BITS.saturating_sub(most.leading_zeros());
        Ok(LevelStream { runs: Runs::new(input, width)?, most, ahead: Vec::new(), at: 0 })
    }

    /// The next `count` levels, which [`LevelStream::pass`] passes over.
    ///
    /// # Errors
    /// `Truncated` for a stream of fewer, `Count` for a level that is higher than the highest.
    pub(super) fn ahead(&mut self, count: usize) -> Result<&[u8]> {
        self.ahead.drain(..self.at.min(self.ahead.len()));
        self.at = 0;
        while self.ahead.len() < count {
            self.runs.begin()?;
            let missing = count.saturating_sub(self.ahead.len());
            if self.runs.run > 0 {
                let some = self.runs.run.min(missing);
                self.runs.run = self.runs.run.saturating_sub(some);
                let level = u8::try_from(self.runs.value).unwrap_or(u8::MAX);
                self.ahead.extend(std::iter::repeat_n(level, some));
            } else {
                let width = self.runs.width;
                let packed = self.runs.packed(missing.div_ceil(8))?;
                match width {
                    1 => packed.iter().for_each(|byte| self.ahead.extend(bits(*byte))),
                    _ => packed
                        .chunks_exact(width as usize)
                        .for_each(|group| self.ahead.extend(group_of(group))),
                }
            }
        }
        let levels = self.ahead.get(..count).unwrap_or_default();
        if any_above(levels, self.most) {
            return Err(Error::new(ErrorKind::Count, "a level that is higher than the schema's"));
        }
        Ok(levels)
    }

    /// Passes over levels that [`LevelStream::ahead`] has returned.
    pub(super) fn pass(&mut self, count: usize) {
        self.at = self.at.saturating_add(count);
    }
}

/// The bits of a byte, the lowest first.
fn bits(byte: u8) -> [u8; 8] {
    const EACH: u64 = 0x0101_0101_0101_0101;
    // The bit of each number is in its byte; it becomes the highest one there, and then the lowest.
    let apart = u64::from(byte).wrapping_mul(EACH) & 0x8040_2010_0804_0201;
    (apart.wrapping_add(0x7f * EACH) >> 7 & EACH).to_le_bytes()
}

/// Eight numbers of up to eight bits, of as many bytes as a number has bits.
fn group_of(packed: &[u8]) -> [u8; 8] {
    let width = packed.len().min(8);
    let mut bytes = [0; 8];
    bytes.iter_mut().zip(packed).for_each(|(byte, packed)| *byte = *packed);
    let mut rest = u64::from_le_bytes(bytes);
    let mask = u8::MAX.checked_shr(8_u32.saturating_sub(width as u32)).unwrap_or(0);
    std::array::from_fn(|_| {
        let number = rest as u8 & mask;
        rest = rest.checked_shr(width as u32).unwrap_or(0);
        number
    })
}

#[cfg(test)]
mod tests {
    use arrow_buffer::Buffer;

    use super::*;

    fn read(bytes: &[u8], width: u32, counts: &[usize]) -> Result<Vec<u32>> {
        let mut hybrid = Hybrid::new(Input::new(Buffer::from(bytes)), width)?;
        let mut numbers = Vec::new();
        for count in counts {
            hybrid.read(*count, |some| {
                match some {
                    Numbers::Same(number, count) => numbers.extend(std::iter::repeat_n(number, count)),
                    Numbers::Each(some) => numbers.extend_from_slice(some),
                }
                Ok(())
            })?;
        }
        Ok(numbers)
    }

    fn levels(bytes: &[u8], most: u8, counts: &[usize]) -> Result<Vec<u32>> {
        let mut stream = LevelStream::new(Input::new(Buffer::from(bytes)), most)?;
        let mut levels = Vec::new();
        for count in counts {
            // Not all that is seen is passed over.
            let ahead = stream.ahead(*count)?;
            let half = ahead.len() / 2;
            levels.extend(ahead.iter().take(half).copied().map(u32::from));
            stream.pass(half);
            let rest = stream.ahead(count - half)?;
            levels.extend(rest.iter().copied().map(u32::from));
            stream.pass(count - half);
        }
        Ok(levels)
    }

    #[test]
    fn runs_and_groups_follow_each_other() {
        // Five sevens, then one group of the numbers 0 to 7, as in the specification.
        let bytes = [5 << 1, 7, 1 << 1 | 1, 0b1000_1000, 0b1100_0110, 0b1111_1010];
        for counts in [[13, 0, 0], [4, 3, 6], [5, 7, 1]] {
            assert_eq!(read(&bytes, 3, &counts).unwrap(), [7, 7, 7, 7, 7, 0, 1, 2, 3, 4, 5, 6, 7]);
            assert_eq!(levels(&bytes, 7, &counts).unwrap(), [7, 7, 7, 7, 7, 0, 1, 2, 3, 4, 5, 6, 7]);
        }
        assert!(read(&bytes, 3, &[14]).is_err());
        assert!(levels(&bytes, 7, &[14]).is_err());
        assert_eq!(levels(&bytes, 6, &[5]).unwrap_err().kind(), ErrorKind::Count);
        assert_eq!(read(&[9 << 1, 20 << 1 | 1], 0, &[9, 160]).unwrap(), [0; 169]);
    }

    #[test]
    fn numbers_of_every_width_are_unpacked() {
        for width in 1..=32_u32 {
            let most = u32::MAX >> (32 - width);
            // More groups than are unpacked at once.
            let numbers: Vec<u32> = (0..160_u32).map(|at| at.wrapping_mul(2_654_435_761) & most).collect();
            let mut bytes = vec![20 << 1 | 1];
            let mut bits = Vec::new();
            numbers.iter().for_each(|number| bits.extend((0..width).map(|bit| number >> bit & 1)));
            let byte = |bits: &[u32]| bits.iter().rev().fold(0_u32, |byte, bit| byte << 1 | bit) as u8;
            bytes.extend(bits.chunks(8).map(byte));
            assert_eq!(read(&bytes, width, &[1, 70, 89]).unwrap(), numbers, "{width}");
            // A stream that ends within groups has those before.
            let cut = &bytes[..bytes.len() - 1];
            assert_eq!(read(cut, width, &[152]).unwrap(), numbers[..152], "{width}");
            assert!(read(cut, width, &[153]).is_err(), "{width}");
            if let Ok(most) = u8::try_from(most) {
                assert_eq!(levels(&bytes, most, &[1, 70, 89]).unwrap(), numbers, "{width}");
                assert_eq!(levels(cut, most, &[152]).unwrap(), numbers[..152], "{width}");
                assert!(levels(cut, most, &[153]).is_err(), "{width}");
            }
        }
    }
}
