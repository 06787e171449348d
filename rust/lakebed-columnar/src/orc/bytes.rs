//! Run-length encoded bytes, and the bits in them.
//!
//! Source: ORC specification, "Byte Run Length Encoding" and "Boolean Run Length Encoding".

use lakebed_avro::Result;

use crate::input::{Input, ends};

/// Runs of bytes.
pub(super) struct ByteRuns {
    input: Input,
    /// Bytes left of the run, and their common value unless they are literals.
    left: usize,
    repeated: Option<u8>,
}

impl ByteRuns {
    pub(super) fn new(input: Input) -> ByteRuns {
        ByteRuns { input, left: 0, repeated: None }
    }

    /// The next byte.
    #[allow(clippy::arithmetic_side_effects, reason = "a run has at most 130 bytes")]
    pub(super) fn next(&mut self) -> Result<u8> {
        if self.left == 0 {
            let control = self.input.byte()?;
            if control < 0x80 {
                self.left = usize::from(control) + 3;
                self.repeated = Some(self.input.byte()?);
            } else {
                self.left = 256 - usize::from(control);
                self.repeated = None;
            }
        }
        self.left -= 1;
        self.repeated.map_or_else(|| self.input.byte(), Ok)
    }
}

/// Bits, the highest bit of each byte first.
pub(super) struct Bits {
    bytes: ByteRuns,
    byte: u8,
    left: u8,
}

impl Bits {
    pub(super) fn new(input: Input) -> Bits {
        Bits { bytes: ByteRuns::new(input), byte: 0, left: 0 }
    }

    /// Appends `count` bits to `bits`, which has room for them.
    #[allow(clippy::arithmetic_side_effects, reason = "a byte has eight bits")]
    pub(super) fn read(&mut self, count: usize, bits: &mut Vec<bool>) -> Result<()> {
        for _ in 0..count {
            if self.left == 0 {
                self.byte = self.bytes.next()?;
                self.left = 8;
            }
            self.left -= 1;
            bits.push(self.byte >> self.left & 1 == 1);
        }
        Ok(())
    }
}

/// Numbers of a width of up to 64 bits, packed from the highest bit of each byte on.
#[allow(
    clippy::arithmetic_side_effects,
    reason = "widths are at most 64 bits, and the window is less than a width and a byte"
)]
pub(super) fn unpack(packed: &[u8], width: u32, mut each: impl FnMut(u64)) -> Result<()> {
    if width == 0 || width > 64 {
        return Err(ends());
    }
    let (mut window, mut bits) = (0_u128, 0_u32);
    let mask = u64::MAX >> (64 - width);
    for byte in packed {
        window = window << 8 | u128::from(*byte);
        bits += 8;
        while bits >= width {
            bits -= width;
            each((window >> bits) as u64 & mask);
        }
    }
    Ok(())
}
