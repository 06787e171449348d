//! Mumbling bitmaps: sets of positions in a leaf manifest, embedded in entries of root manifests (Iceberg's
//! "Mumbling Bitmap Spec", version 1; `MumblingBitmap.java`).
//!
//! ```text
//! version 01 │ cardinality u24 LE │ containers u16 LE │ one descriptor for each container, packed │ containers
//! ```
//!
//! Container `i` has the positions from 256·i. It is sparse, up to 31 ascending offsets of a byte each, or
//! dense, 256 bits in 32 bytes. Positions behind the last container are not in the set.

mod pfor;

use arrow_array::Int64Array;
use lakebed_avro::{ErrorKind as AvroKind, Limits};

use crate::error::{Error, ErrorKind, Location, Result};

/// The positions of a container.
const CONTAINER: u32 = 256;
/// The most containers, and with them the most positions: 2,097,152.
const MOST_CONTAINERS: usize = 8192;
const VERSION: u8 = 1;
const HEADER: usize = 6;
/// The upper three bits of a descriptor are the form of the container.
const DENSE: u8 = 0x20;
const RESERVED: u8 = 0xc0;

/// A set of positions below 2,097,152.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MumblingBitmap {
    /// The bits of each container: position 0 is the highest bit of byte 0.
    containers: Vec<[u8; 32]>,
}

impl MumblingBitmap {
    /// Decodes a bitmap, which is all of `bytes`. Memory is 32 bytes for each container, whatever they hold.
    ///
    /// # Errors
    /// `Truncated` and `Trailing`; `Unsupported` for another version or form of containers; `Count` for more
    /// containers than there may be; `Codec` for descriptors or offsets that are malformed; `Mismatch` for another
    /// number of positions than recorded. With the byte of the bitmap.
    pub fn decode(bytes: &[u8]) -> Result<MumblingBitmap> {
        let (header, rest) = bytes.split_at_checked(HEADER).ok_or_else(|| truncated(bytes.len()))?;
        let &[version, a, b, c, d, e] = header else { return Err(truncated(bytes.len())) };
        if version != VERSION {
            let message =
                format!("a bitmap of version {version}: only version 1 of Mumbling bitmaps is read");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let (cardinality, count) =
            (u32::from_le_bytes([a, b, c, 0]), usize::from(u16::from_le_bytes([d, e])));
        if count > MOST_CONTAINERS {
            let message = format!("a bitmap of {count} containers: there are at most {MOST_CONTAINERS}");
            return Err(Error::new(ErrorKind::Avro(AvroKind::Count), message));
        }
        let (descriptors, mut rest) = pfor::decode(rest, count).map_err(|error| match error.kind() {
            ErrorKind::Avro(AvroKind::Truncated) => truncated(bytes.len()),
            _ => behind(error, HEADER),
        })?;
        let mut containers = Vec::with_capacity(count);
        for descriptor in descriptors {
            let at = || bytes.len().saturating_sub(rest.len());
            let length = match descriptor {
                form if form & RESERVED != 0 => {
                    let message = format!("a container of the reserved form {form:#04x}");
                    return Err(behind(Error::new(ErrorKind::Unsupported, message), at()));
                }
                form if form & DENSE != 0 => usize::from(DENSE),
                length => usize::from(length),
            };
            let (stored, after) = rest.split_at_checked(length).ok_or_else(|| truncated(bytes.len()))?;
            let bits = <[u8; 32]>::try_from(stored).ok().filter(|_| descriptor & DENSE != 0);
            let container = bits.or_else(|| sparse(stored));
            let container = container
                .ok_or_else(|| behind(malformed("the offsets of a sparse container do not ascend"), at()))?;
            containers.push(container);
            rest = after;
        }
        if !rest.is_empty() {
            let message = format!("{} bytes behind the last container", rest.len());
            let error = Error::new(ErrorKind::Avro(AvroKind::Trailing), message);
            return Err(behind(error, bytes.len().saturating_sub(rest.len())));
        }
        let bitmap = MumblingBitmap { containers };
        match bitmap.cardinality() {
            found if found == cardinality => Ok(bitmap),
            found => {
                let message =
                    format!("a bitmap of {found} positions, its recorded cardinality is {cardinality}");
                Err(Error::new(ErrorKind::Mismatch, message))
            }
        }
    }

    /// The bitmap of these positions, in any order and however often each.
    ///
    /// # Errors
    /// `Argument` for a position that is negative or that no bitmap can hold.
    pub fn of(positions: impl IntoIterator<Item = i64>) -> Result<MumblingBitmap> {
        let mut containers: Vec<[u8; 32]> = Vec::new();
        for position in positions {
            let number = usize::try_from(position).ok().map(|position| position / CONTAINER as usize);
            let number = number.filter(|number| *number < MOST_CONTAINERS).ok_or_else(|| {
                let most = MOST_CONTAINERS * CONTAINER as usize;
                Error::new(
                    ErrorKind::Argument,
                    format!("{position} is not a position from 0 to below {most}"),
                )
            })?;
            if containers.len() <= number {
                containers.resize(number + 1, [0; 32]);
            }
            // What remains of a position below 2,097,152 fits a byte.
            let offset = (position & 0xff) as u8;
            if let Some(byte) =
                containers.get_mut(number).and_then(|bits| bits.get_mut(usize::from(offset / 8)))
            {
                *byte |= 0x80 >> (offset % 8);
            }
        }
        Ok(MumblingBitmap { containers })
    }

    /// The bytes of the bitmap, its descriptors packed as Iceberg's `PFOREncoding.java` does.
    pub fn encode(&self) -> Vec<u8> {
        let count = u16::try_from(self.containers.len()).unwrap_or(u16::MAX);
        let [a, b, c, _] = self.cardinality().to_le_bytes();
        let [d, e] = count.to_le_bytes();
        let sizes = self.containers.iter().map(|bits| match ones(bits) {
            // Fewer than 32 positions.
            size @ 0..=31 => size as u8,
            _ => DENSE,
        });
        let sizes: Vec<u8> = sizes.collect();
        let mut bytes = vec![VERSION, a, b, c, d, e];
        bytes.extend(pfor::encode(&sizes));
        for (bits, size) in self.containers.iter().zip(&sizes) {
            match *size {
                DENSE => bytes.extend(bits),
                _ => bytes.extend(offsets(bits)),
            }
        }
        bytes
    }

    /// The number of positions.
    pub fn cardinality(&self) -> u32 {
        self.containers.iter().map(ones).sum()
    }

    /// Whether the set has a position.
    pub fn has(&self, position: u64) -> bool {
        let container = usize::try_from(position / u64::from(CONTAINER)).ok();
        let bits = container.and_then(|number| self.containers.get(number));
        let offset = (position & 0xff) as u8;
        let byte = bits.and_then(|bits| bits.get(usize::from(offset / 8)));
        byte.is_some_and(|byte| byte & (0x80 >> (offset % 8)) != 0)
    }

    /// The highest position.
    pub fn last(&self) -> Option<u32> {
        let number = self.containers.iter().rposition(|bits| ones(bits) > 0)?;
        let offset = offsets(self.containers.get(number)?).last()?;
        // There are at most 8192 containers.
        Some(number as u32 * CONTAINER + u32::from(offset))
    }

    /// The positions, ascending.
    ///
    /// # Errors
    /// `Limit` for more positions than `max_rows`: 36 bytes encode 256 of them.
    pub fn positions(&self, limits: &Limits) -> Result<Int64Array> {
        let count = u64::from(self.cardinality());
        if count > limits.max_rows {
            return Err(Limits::exceeded("max_rows", limits.max_rows, count).into());
        }
        Ok(self.iter().map(i64::from).collect())
    }

    fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let containers = (0_u32..).step_by(CONTAINER as usize).zip(&self.containers);
        containers.flat_map(|(first, bits)| offsets(bits).map(move |offset| first + u32::from(offset)))
    }
}

fn ones(bits: &[u8; 32]) -> u32 {
    bits.iter().map(|byte| byte.count_ones()).sum()
}

/// The positions of a container, ascending.
fn offsets(bits: &[u8; 32]) -> impl Iterator<Item = u8> + '_ {
    let bytes = bits.iter().zip(0_u8..).filter(|(byte, _)| **byte != 0);
    bytes.flat_map(|(byte, number)| {
        (0..8).filter(move |bit| byte & (0x80 >> bit) != 0).map(move |bit| 8 * number + bit)
    })
}

/// The bits of a sparse container; `None` unless its offsets ascend.
fn sparse(offsets: &[u8]) -> Option<[u8; 32]> {
    let mut bits = [0; 32];
    let mut last = None;
    for offset in offsets {
        if last >= Some(*offset) {
            return None;
        }
        last = Some(*offset);
        *bits.get_mut(usize::from(offset / 8))? |= 0x80_u8 >> (offset % 8);
    }
    Some(bits)
}

/// The error at a byte behind the start of the bitmap, which what is inside counts from.
fn behind(error: Error, start: usize) -> Error {
    let start_of = Location { offset: Some(0), ..Location::default() };
    error.at(start_of).elsewhere(|offset| offset.saturating_add(start as u64))
}

#[cold]
fn truncated(length: usize) -> Error {
    let place = Location { offset: Some(length as u64), ..Location::default() };
    Error::new(ErrorKind::Avro(AvroKind::Truncated), "the bitmap ends early").at(place)
}

#[cold]
fn malformed(message: &str) -> Error {
    Error::new(ErrorKind::Avro(AvroKind::Codec), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        digits
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    }

    fn positions(bitmap: &MumblingBitmap) -> Vec<i64> {
        bitmap.positions(&Limits::DEFAULT).unwrap().values().to_vec()
    }

    #[test]
    fn the_specifications_example_is_read_and_written() {
        let example = bytes("01 030000 0200 010001 80 0105 2c");
        let bitmap = MumblingBitmap::decode(&example).unwrap();
        assert_eq!(positions(&bitmap), [1, 5, 300]);
        assert_eq!(bitmap, MumblingBitmap::of([300, 5, 1, 5]).unwrap());
        assert_eq!(bitmap.encode(), example);
        let asked = [0, 1, 5, 44, 300, 301, 1 << 40];
        assert_eq!(
            asked.map(|position| bitmap.has(position)),
            [false, true, true, false, true, false, false]
        );
        assert_eq!((bitmap.cardinality(), bitmap.last()), (3, Some(300)));
    }

    #[test]
    fn an_empty_bitmap_has_no_container() {
        let empty = MumblingBitmap::decode(&bytes("01 000000 0000")).unwrap();
        assert_eq!((positions(&empty), empty.last(), empty.encode()), (vec![], None, bytes("010000000000")));
    }

    #[test]
    fn the_lower_bits_of_a_dense_descriptor_do_not_count() {
        let dense = "ff".repeat(32);
        let with = |descriptor: &str| {
            MumblingBitmap::decode(&bytes(&format!("010001000100 0000{descriptor}{dense}")))
        };
        assert_eq!(with("20").unwrap(), with("3f").unwrap());
        assert_eq!(with("40").unwrap_err().kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn every_position_is_kept() {
        let last = i64::from(CONTAINER) * MOST_CONTAINERS as i64 - 1;
        for set in [
            vec![0],
            vec![255, 256],
            (0..31).collect(),
            (0..32).collect(),
            (0..1000).step_by(3).collect(),
            vec![last],
        ] {
            let bitmap = MumblingBitmap::decode(&MumblingBitmap::of(set.clone()).unwrap().encode()).unwrap();
            assert_eq!(positions(&bitmap), set);
        }
        for outside in [-1, last + 1, i64::MAX] {
            assert_eq!(MumblingBitmap::of([outside]).unwrap_err().kind(), ErrorKind::Argument);
        }
    }

    #[test]
    fn what_is_malformed_is_refused_by_kind_and_byte() {
        let avro = ErrorKind::Avro;
        let cases = [
            ("01 0000", avro(AvroKind::Truncated), Some(3)),
            ("02 000000 0000", ErrorKind::Unsupported, None),
            ("01 000000 0120", avro(AvroKind::Count), None),
            ("01 010000 0100 0000", avro(AvroKind::Truncated), Some(8)),
            ("01 020000 0100 000002 05", avro(AvroKind::Truncated), Some(10)),
            ("01 020000 0100 000002 0505", avro(AvroKind::Codec), Some(9)),
            ("01 020000 0100 000002 0501", avro(AvroKind::Codec), Some(9)),
            ("01 010000 0100 000001 05 00", avro(AvroKind::Trailing), Some(10)),
            ("01 020000 0100 000001 05", ErrorKind::Mismatch, None),
            ("01 010000 0100 090001 05", avro(AvroKind::Codec), Some(6)),
        ];
        for (hex, kind, offset) in cases {
            let error = MumblingBitmap::decode(&bytes(hex)).unwrap_err();
            assert_eq!((error.kind(), error.location().offset), (kind, offset), "{hex}");
        }
        let limits = Limits { max_rows: 2, ..Limits::DEFAULT };
        let bitmap = MumblingBitmap::of(0..3).unwrap();
        assert_eq!(bitmap.positions(&limits).unwrap_err().kind(), avro(AvroKind::Limit));
    }
}
