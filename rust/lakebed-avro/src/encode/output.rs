//! The bytes of the open block, and what readers will spend on them.

use crate::error::Result;
use crate::limits::Limits;

/// The bytes of records, within a reader's limits.
pub(crate) struct Output {
    pub(crate) buffer: Vec<u8>,
    limits: Limits,
    /// Items of the file so far.
    items: u64,
    /// Items of the block that take no bytes.
    zero_width: u64,
}

impl Output {
    pub(crate) fn new(limits: Limits) -> Output {
        Output::over(Vec::new(), limits)
    }

    /// An empty block in a buffer that was used before.
    pub(crate) fn over(mut buffer: Vec<u8>, limits: Limits) -> Output {
        buffer.clear();
        Output { buffer, limits, items: 0, zero_width: 0 }
    }

    /// Begins the next block.
    pub(crate) fn clear(&mut self) {
        self.buffer.clear();
        self.zero_width = 0;
    }

    /// A zigzag varint.
    pub(crate) fn long(&mut self, value: i64) {
        let mut rest = (value.cast_unsigned() << 1) ^ (value >> 63).cast_unsigned();
        while rest >= 0x80 {
            self.buffer.push((rest & 0x7f) as u8 | 0x80);
            rest >>= 7;
        }
        self.buffer.push(rest as u8);
    }

    /// A length and bytes.
    pub(crate) fn bytes(&mut self, value: &[u8]) -> Result<()> {
        let length = value.len() as u64;
        if length > self.limits.max_value_bytes {
            return Err(Limits::exceeded("max_value_bytes", self.limits.max_value_bytes, length));
        }
        self.long(length.cast_signed());
        self.buffer.extend_from_slice(value);
        Ok(())
    }

    /// The count of the items that follow, each of at least `least_bytes` bytes.
    pub(crate) fn items(&mut self, count: i64, least_bytes: usize) -> Result<()> {
        let limits = &self.limits;
        self.items += count.unsigned_abs();
        if self.items > limits.max_items {
            return Err(Limits::exceeded("max_items", limits.max_items, self.items));
        }
        if least_bytes == 0 {
            self.zero_width += count.unsigned_abs();
            if self.zero_width > limits.max_zero_width_items {
                let most = limits.max_zero_width_items;
                return Err(Limits::exceeded("max_zero_width_items", most, self.zero_width));
            }
        }
        self.long(count);
        Ok(())
    }
}
