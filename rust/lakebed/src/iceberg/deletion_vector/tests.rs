//! Worked examples, and the blobs of Iceberg's own tests.

use arrow_array::Int64Array;
use lakebed_avro::Limits;

use super::{VectorRange, decode_vector};
use crate::error::Result;
use crate::test_data::{hex, paths};

/// A vector at byte 4, as the first blob of a Puffin file.
fn range(bytes: &[u8]) -> VectorRange {
    VectorRange { offset: 4, length: bytes.len() as u64 }
}

fn positions(bytes: &[u8], range: VectorRange) -> Result<Int64Array> {
    decode_vector(bytes, range)?.positions(&Limits::DEFAULT)
}

fn kind(bytes: &[u8], range: VectorRange) -> &'static str {
    decode_vector(bytes, range).expect_err("a refusal").kind().name()
}

/// The blobs that a reference of the format prints, the first two as Iceberg Java wrote them.
const EXAMPLES: [(&str, &[i64]); 4] = [
    ("00000022 d1d33964 0100000000000000 00000000 3a300000 01000000 0000 0000 10000000 0000 f7a6b4b5", &[0]),
    ("00000022 d1d33964 0100000000000000 00000000 3a300000 01000000 0000 0000 10000000 0100 eebd85f4", &[1]),
    (
        "00000026 d1d33964 0100000000000000 00000000 3a300000 01000000 0000 0200 10000000 0100 0300 0500
         5a9e5d39",
        &[1, 3, 5],
    ),
    ("0000000c d1d33964 0000000000000000 bf18480c", &[]),
];

#[test]
fn worked_examples() {
    for (blob, expected) in EXAMPLES {
        let bytes = hex(blob);
        let found = positions(&bytes, range(&bytes)).expect("a vector");
        assert_eq!(found.values(), expected);
    }
}

/// Length, magic and checksum are checked, whatever is cut off or flipped.
#[test]
fn damage() {
    let bytes = hex(EXAMPLES[2].0);
    for at in 0..bytes.len() {
        let error = decode_vector(&bytes[..at], range(&bytes)).expect_err("a refusal");
        assert_eq!((error.kind().name(), error.location().offset), ("truncated", Some(4)), "cut at {at}");
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x40;
        let wanted = match at {
            0..4 => "mismatch",
            4..8 => "magic",
            _ => "checksum",
        };
        assert_eq!(kind(&flipped, range(&bytes)), wanted, "flip at {at}");
    }
    for length in [0, 7, 38, 45, 47, u64::MAX] {
        assert_eq!(kind(&bytes, VectorRange { offset: 4, length }), "mismatch", "length {length}");
    }
}

/// Only Paimon has vectors of 32 bits.
#[test]
fn thirty_two_bits() {
    let bytes = hex("00000016 5e43f2d0 3a300000 01000000 0000 0000 10000000 0400 875ca5d7");
    assert_eq!(kind(&bytes, range(&bytes)), "magic");
}

/// Run, array and bitmap containers below two upper halves, written by Iceberg Java.
#[test]
fn blobs_of_the_engine() {
    for path in paths("iceberg", &|name| name.ends_with("-position-index.bin")) {
        let bytes = std::fs::read(&path).expect("a blob");
        let found = positions(&bytes, range(&bytes)).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        assert!(found.values().is_sorted_by(|one, next| one < next));
    }
}

/// A bitmap without its frame is not a vector.
#[test]
fn a_bare_bitmap() {
    for path in paths("iceberg", &|name| name == "64mapspreadvals.bin") {
        let bytes = std::fs::read(&path).expect("a bitmap");
        assert_eq!(kind(&bytes, range(&bytes)), "magic");
    }
}
