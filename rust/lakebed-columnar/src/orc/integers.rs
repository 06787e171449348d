//! Run-length encoded integers, of both versions.
//!
//! Source: ORC specification, "Integer Run Length Encoding, version 1" and "… version 2".

use lakebed_avro::{Error, ErrorKind, Result};

use super::bytes::unpack;
use crate::input::{Input, ends, zigzag};

/// The encodings of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

/// A stream of integers.
pub(super) struct Integers {
    input: Input,
    version: Version,
    signed: bool,
    /// The current run, and how much of it was read.
    run: Vec<i64>,
    at: usize,
}

#[allow(
    clippy::arithmetic_side_effects,
    reason = "counts and widths of runs are of at most nine bits, and values wrap around"
)]
impl Integers {
    pub(super) fn new(input: Input, version: Version, signed: bool) -> Integers {
        Integers { input, version, signed, run: Vec::new(), at: 0 }
    }

    /// Calls `each` with the next `count` integers.
    pub(super) fn read(&mut self, mut count: usize, mut each: impl FnMut(i64) -> Result<()>) -> Result<()> {
        while count > 0 {
            if self.at >= self.run.len() {
                self.run.clear();
                self.at = 0;
                match self.version {
                    Version::One => self.run_of_one()?,
                    Version::Two => self.run_of_two()?,
                }
            }
            let end = self.run.len().min(self.at.saturating_add(count));
            let values = self.run.get(self.at..end).unwrap_or_default();
            for value in values {
                each(*value)?;
            }
            count = count.saturating_sub(values.len());
            self.at = end;
        }
        Ok(())
    }

    /// A varint, signed if the stream is.
    fn varint(&mut self) -> Result<i64> {
        self.input.varint().map(|value| self.of(value))
    }

    fn of(&self, value: u64) -> i64 {
        if self.signed { zigzag(value) } else { value.cast_signed() }
    }

    fn run_of_one(&mut self) -> Result<()> {
        let control = self.input.byte()?;
        if control < 0x80 {
            let step = i64::from(self.input.byte()?.cast_signed());
            let base = self.varint()?;
            for number in 0..i64::from(control) + 3 {
                self.run.push(base.wrapping_add(step.wrapping_mul(number)));
            }
        } else {
            for _ in 0..256 - usize::from(control) {
                let value = self.varint()?;
                self.run.push(value);
            }
        }
        Ok(())
    }

    fn run_of_two(&mut self) -> Result<()> {
        let first = self.input.byte()?;
        match first >> 6 {
            0 => self.short_repeat(first),
            1 => self.direct(first),
            2 => self.patched_base(first),
            _ => self.delta(first),
        }
    }

    fn short_repeat(&mut self, first: u8) -> Result<()> {
        let width = usize::from(first >> 3 & 7) + 1;
        let value = self.input.take(width)?.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
        let value = self.of(value);
        self.run.resize(usize::from(first & 7) + 3, value);
        Ok(())
    }

    /// The number of values of a run: nine bits, the highest of which is in the first byte.
    fn length(&mut self, first: u8) -> Result<usize> {
        Ok((usize::from(first & 1) << 8 | usize::from(self.input.byte()?)) + 1)
    }

    /// Unpacks `count` numbers.
    fn packed(&mut self, count: usize, width: u32) -> Result<Vec<u64>> {
        let bytes = (count * width as usize).div_ceil(8);
        let mut values = Vec::with_capacity(count);
        let packed = self.input.take(bytes)?;
        unpack(packed, width, |value| {
            if values.len() < count {
                values.push(value);
            }
        })?;
        if values.len() == count { Ok(values) } else { Err(ends()) }
    }

    fn direct(&mut self, first: u8) -> Result<()> {
        let count = self.length(first)?;
        let values = self.packed(count, width_of(first >> 1 & 0x1f))?;
        let signed = self.signed;
        self.run
            .extend(values.into_iter().map(|value| if signed { zigzag(value) } else { value.cast_signed() }));
        Ok(())
    }

    fn delta(&mut self, first: u8) -> Result<()> {
        let count = self.length(first)?;
        let code = first >> 1 & 0x1f;
        let mut value = self.varint()?;
        self.run.push(value);
        if count == 1 {
            return Ok(());
        }
        let step = self.input.zigzag()?;
        if code == 0 {
            for _ in 1..count {
                value = value.wrapping_add(step);
                self.run.push(value);
            }
            return Ok(());
        }
        value = value.wrapping_add(step);
        self.run.push(value);
        for more in self.packed(count - 2, width_of(code))? {
            let more = more.cast_signed();
            value = if step < 0 { value.wrapping_sub(more) } else { value.wrapping_add(more) };
            self.run.push(value);
        }
        Ok(())
    }

    /// Values above a base, a few of which have more bits than the others: their high bits are patched in.
    fn patched_base(&mut self, first: u8) -> Result<()> {
        let count = self.length(first)?;
        let [third, fourth] = self.input.array()?;
        let width = width_of(first >> 1 & 0x1f);
        let base_bytes = u32::from(third >> 5) + 1;
        let patch_width = width_of(third & 0x1f);
        let gap_width = u32::from(fourth >> 5) + 1;
        let patches = usize::from(fourth & 0x1f);
        let base = self.input.take(base_bytes as usize)?;
        let base = base.iter().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
        // The highest bit is the sign, the others are the magnitude.
        let sign = 1_u64 << (base_bytes * 8 - 1);
        let base =
            if base & sign == 0 { base.cast_signed() } else { (base & !sign).cast_signed().wrapping_neg() };
        let mut values = self.packed(count, width)?;
        let entry_width = fixed_width(patch_width + gap_width);
        if patch_width + gap_width > 64 || patch_width + width > 64 {
            return Err(Error::new(ErrorKind::Length, "a patch of more than 64 bits"));
        }
        let beyond = || Error::new(ErrorKind::Length, "a patch beyond its run");
        let mut at = 0_usize;
        for entry in self.packed(patches, entry_width)? {
            let patch = entry & (u64::MAX >> (64 - patch_width));
            let next = usize::try_from(entry >> patch_width).ok().and_then(|gap| at.checked_add(gap));
            at = next.ok_or_else(beyond)?;
            let value = values.get_mut(at).ok_or_else(beyond)?;
            if width < 64 {
                *value |= patch << width;
            }
        }
        self.run.extend(values.into_iter().map(|value| base.wrapping_add(value.cast_signed())));
        Ok(())
    }
}

/// The width that a code of five bits encodes.
fn width_of(code: u8) -> u32 {
    match code {
        0..=23 => u32::from(code) + 1,
        24 => 26,
        25 => 28,
        26 => 30,
        27 => 32,
        28 => 40,
        29 => 48,
        30 => 56,
        _ => 64,
    }
}

/// The smallest of those widths with at least this many bits.
fn fixed_width(bits: u32) -> u32 {
    (0..32).map(width_of).find(|width| *width >= bits).unwrap_or(64)
}

#[cfg(test)]
mod tests {
    use arrow_buffer::Buffer;

    use super::*;

    fn read(bytes: &[u8], version: Version, signed: bool, count: usize) -> Vec<i64> {
        let mut values = Vec::new();
        let mut integers = Integers::new(Input::new(Buffer::from(bytes)), version, signed);
        let each = |value| {
            values.push(value);
            Ok(())
        };
        integers.read(count, each).unwrap();
        values
    }

    #[test]
    fn version_one_is_as_the_specification_shows() {
        assert_eq!(read(&[0x61, 0x00, 0x07], Version::One, false, 100), [7; 100]);
        let falling: Vec<i64> = (1..=100).rev().collect();
        assert_eq!(read(&[0x61, 0xff, 0x64], Version::One, false, 100), falling);
        assert_eq!(read(&[0xfb, 2, 3, 6, 7, 11], Version::One, false, 5), [2, 3, 6, 7, 11]);
    }

    #[test]
    fn version_two_is_as_the_specification_shows() {
        assert_eq!(read(&[0x0a, 0x27, 0x10], Version::Two, false, 5), [10_000; 5]);
        let direct = [0x5e, 0x03, 0x5c, 0xa1, 0xab, 0x1e, 0xde, 0xad, 0xbe, 0xef];
        assert_eq!(read(&direct, Version::Two, false, 4), [23713, 43806, 57005, 48879]);
        let patched = [
            0x8e, 0x13, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3c, 0x46, 0x50, 0x5a,
            0x64, 0x6e, 0x78, 0x82, 0x8c, 0x96, 0xa0, 0xaa, 0xb4, 0xbe, 0xfc, 0xe8,
        ];
        let expected = [
            2030, 2000, 2020, 1_000_000, 2040, 2050, 2060, 2070, 2080, 2090, 2100, 2110, 2120, 2130, 2140,
            2150, 2160, 2170, 2180, 2190,
        ];
        assert_eq!(read(&patched, Version::Two, false, 20), expected);
        let delta = [0xc6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46];
        assert_eq!(read(&delta, Version::Two, false, 10), [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]);
    }

    #[test]
    fn a_run_that_is_cut_is_an_error() {
        for bytes in [&[0x61_u8][..], &[0x5e, 0x03, 0x5c], &[0xc6], &[0x8e, 0x13]] {
            for version in [Version::One, Version::Two] {
                let mut integers = Integers::new(Input::new(Buffer::from(bytes)), version, true);
                assert_eq!(integers.read(600, |_| Ok(())).unwrap_err().kind(), ErrorKind::Truncated);
            }
        }
    }
}
