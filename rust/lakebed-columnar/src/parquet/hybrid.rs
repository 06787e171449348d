//! Runs and bit-packed groups of small numbers: levels, and numbers of dictionary entries.
//!
//! Source: Parquet specification, "Run Length Encoding / Bit-Packing Hybrid (RLE = 3)".

use lakebed_avro::{Error, ErrorKind, Result};

use crate::input::Input;

/// A stream of numbers of one width.
pub(super) struct Hybrid {
    input: Input,
    width: u32,
    /// How often `value` is repeated.
    run: u64,
    value: u32,
    /// Remaining groups of eight numbers, and the rest of the current one.
    groups: u64,
    group: [u32; 8],
    left: usize,
}

impl Hybrid {
    /// # Errors
    /// `Length` for a width of more than 32 bits.
    pub(super) fn new(input: Input, width: u32) -> Result<Hybrid> {
        if width > 32 {
            return Err(Error::new(
                ErrorKind::Length,
                format!("numbers of {width} bits in a dictionary's page"),
            ));
        }
        Ok(Hybrid { input, width, run: 0, value: 0, groups: 0, group: [0; 8], left: 0 })
    }

    /// The next number.
    #[allow(clippy::arithmetic_side_effects, reason = "what is left is counted down from above zero")]
    pub(super) fn next(&mut self) -> Result<u32> {
        loop {
            if self.run > 0 {
                self.run -= 1;
                return Ok(self.value);
            }
            if let Some(value) = self.left.checked_sub(1).and_then(|left| self.group.get(7 - left)) {
                self.left -= 1;
                return Ok(*value);
            }
            if self.groups > 0 {
                self.groups -= 1;
                self.unpack()?;
                continue;
            }
            let header = self.input.varint()?;
            if header & 1 == 1 {
                self.groups = header >> 1;
            } else {
                self.run = header >> 1;
                let bytes = self.input.take(self.width.div_ceil(8) as usize)?;
                self.value = bytes.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
            }
        }
    }

    fn unpack(&mut self) -> Result<()> {
        let packed = self.input.take(self.width as usize)?;
        unpack(packed, self.width, &mut self.group);
        self.left = 8;
        Ok(())
    }
}

/// Unpacks numbers of up to 32 bits, lowest bit of each byte first.
#[allow(
    clippy::arithmetic_side_effects,
    reason = "widths are at most 32 bits, and the window is less than a width and a byte"
)]
fn unpack(packed: &[u8], width: u32, values: &mut [u32; 8]) {
    let (mut window, mut bits) = (0_u64, 0_u32);
    let mask = if width == 0 { 0 } else { u64::from(u32::MAX >> (32 - width)) };
    let mut bytes = packed.iter();
    for value in values {
        while bits < width {
            window |= u64::from(bytes.next().copied().unwrap_or(0)) << bits;
            bits += 8;
        }
        *value = (window & mask) as u32;
        window >>= width;
        bits -= width;
    }
}

#[cfg(test)]
mod tests {
    use arrow_buffer::Buffer;

    use super::*;

    #[test]
    fn runs_and_groups_follow_each_other() {
        // Five sevens, then one group of the numbers 0 to 7, as in the specification.
        let bytes = [5 << 1, 7, 1 << 1 | 1, 0b1000_1000, 0b1100_0110, 0b1111_1010];
        let mut hybrid = Hybrid::new(Input::new(Buffer::from(&bytes)), 3).unwrap();
        let read: Vec<u32> = (0..13).map(|_| hybrid.next().unwrap()).collect();
        assert_eq!(read, [7, 7, 7, 7, 7, 0, 1, 2, 3, 4, 5, 6, 7]);
        assert!(hybrid.next().is_err());
    }
}
