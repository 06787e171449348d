//! Reads bytes from the front; `None` where they end early.

use roaring::RoaringBitmap;

/// What is left to read.
pub(super) struct Input<'a>(pub(super) &'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_be_bytes)
    }

    pub(super) fn i32(&mut self) -> Option<i32> {
        self.bytes().map(i32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_be_bytes)
    }

    pub(super) fn flag(&mut self) -> Option<bool> {
        self.bytes::<1>().map(|[flag]| flag != 0)
    }

    /// Java's `writeUTF`; for column names it is UTF-8 except for characters that names hardly have.
    pub(super) fn text(&mut self) -> Option<&'a str> {
        let length = u16::from_be_bytes(self.bytes()?);
        std::str::from_utf8(self.take(length.into())?).ok()
    }

    /// A portable Roaring bitmap.
    pub(super) fn bitmap(&mut self) -> Option<RoaringBitmap> {
        RoaringBitmap::deserialize_from(&mut self.0).ok()
    }
}
