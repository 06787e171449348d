//! Vectors made by hand, and damaged ones. Their lengths count magic and bitmap.

use arrow_array::{Array, Int64Array};
use lakebed_avro::Limits;
use roaring::RoaringBitmap;

use super::{DeletionVector, ExpectedFrame, MAGIC_32, MAGIC_64, VectorRange, position_lists};
use crate::error::Result;
use crate::test_data::Random;

fn decode(bytes: &[u8], range: VectorRange) -> Result<DeletionVector> {
    let expected = [MAGIC_32, MAGIC_64].map(|magic| ExpectedFrame { magic, size: Some(range.length) });
    DeletionVector::decode(bytes, range, &expected)
}

fn framed(magic: [u8; 4], bitmap: &[u8]) -> (Vec<u8>, VectorRange) {
    let body = [&magic, bitmap].concat();
    let size = u32::try_from(body.len()).expect("a small vector");
    let bytes = [&size.to_be_bytes()[..], &body, &crc32fast::hash(&body).to_be_bytes()].concat();
    (bytes, VectorRange { offset: 1, length: u64::from(size) })
}

fn serialised(bitmap: &RoaringBitmap) -> Vec<u8> {
    let mut bytes = Vec::new();
    bitmap.serialize_into(&mut bytes).expect("memory");
    bytes
}

fn positions(bytes: &[u8], range: VectorRange) -> Result<Int64Array> {
    decode(bytes, range)?.positions(&Limits::DEFAULT)
}

fn kind(bytes: &[u8], range: VectorRange) -> &'static str {
    decode(bytes, range).expect_err("a refusal").kind().name()
}

#[test]
fn array_bitmap_and_run_containers() {
    let mut bitmap: RoaringBitmap = (0..200_000).filter(|position| position % 3 == 0).collect();
    bitmap.insert_range(300_000..500_000);
    bitmap.insert(u32::MAX);
    let _ = bitmap.optimize();
    let (bytes, range) = framed(MAGIC_32, &serialised(&bitmap));
    let expected: Int64Array = bitmap.iter().map(|position| Some(i64::from(position))).collect();
    assert_eq!(positions(&bytes, range).expect("a vector"), expected);
}

#[test]
fn upper_halves_of_positions() {
    let low = serialised(&RoaringBitmap::from([7]));
    let two = |first: u32, second: u32| {
        let count = 2u64.to_le_bytes();
        framed(MAGIC_64, &[&count[..], &first.to_le_bytes(), &low, &second.to_le_bytes(), &low].concat())
    };
    let (bytes, range) = two(0, 3);
    assert_eq!(positions(&bytes, range).expect("a vector"), Int64Array::from(vec![7, (3 << 32) | 7]));
    for (first, second) in [(3, 3), (3, 0), (0, 1 << 31)] {
        let (bytes, range) = two(first, second);
        assert_eq!(kind(&bytes, range), "codec");
    }
}

/// Wrong magic, wrong checksum, and every cut.
#[test]
fn damage() {
    let (bytes, range) = framed(MAGIC_32, &serialised(&RoaringBitmap::from([1, 5])));
    for at in 0..bytes.len() {
        let error = decode(&bytes[..at], range).expect_err("a refusal");
        assert_eq!(error.kind().name(), "truncated", "cut at {at}");
        assert_eq!(error.location().offset, Some(1));
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x40;
        let wanted = match at {
            0..4 => "mismatch",
            4..8 => "magic",
            _ => "checksum",
        };
        assert_eq!(kind(&flipped, range), wanted, "flip at {at}");
    }
    let (bytes, range) = framed(MAGIC_32, &[&serialised(&RoaringBitmap::from([1]))[..], b"x"].concat());
    assert_eq!(kind(&bytes, range), "trailing");
}

/// A few bytes may encode many positions: they are counted before they are expanded.
#[test]
fn positions_are_bounded() {
    let mut bitmap = RoaringBitmap::new();
    bitmap.insert_range(..);
    let _ = bitmap.optimize();
    let (bytes, range) = framed(MAGIC_32, &serialised(&bitmap));
    let vector = decode(&bytes, range).expect("a vector");
    assert_eq!(vector.cardinality(), 1 << 32);
    let error = vector.positions(&Limits::DEFAULT).expect_err("a refusal");
    assert_eq!(error.kind().name(), "limit");
}

/// Any bytes with a right checksum give ascending positions or an error.
#[test]
fn random_bitmaps() {
    let mut random = Random(59);
    let mut mixed: RoaringBitmap = (0..9_000).filter(|position| position % 2 == 0).collect();
    mixed.insert_range(70_000..90_000);
    let _ = mixed.optimize();
    let small = serialised(&RoaringBitmap::from([1, 5, 70_000]));
    let seeds = [small.clone(), serialised(&mixed)];
    let limits = Limits { max_rows: 1 << 20, ..Limits::DEFAULT };
    for round in 0..20_000 {
        let bitmap = random.mutate(&seeds[usize::from(round % 50 == 0)]);
        let wide = [&1u64.to_le_bytes()[..], &0u32.to_le_bytes(), &bitmap].concat();
        for (magic, bitmap) in [(MAGIC_32, bitmap), (MAGIC_64, wide)] {
            let (bytes, range) = framed(magic, &bitmap);
            let Ok(vector) = decode(&bytes, range) else { continue };
            let Ok(positions) = vector.positions(&limits) else { continue };
            assert_eq!(positions.len() as u64, vector.cardinality());
            assert!(positions.values().is_sorted_by(|one, next| one < next));
        }
    }
}

#[test]
fn ranges_are_not_negative() {
    assert!(VectorRange::new(-1, 4).is_err());
    assert!(VectorRange::new(4, -1).is_err());
}

#[test]
fn lists_are_null_where_there_is_no_vector() {
    let (bytes, range) = framed(MAGIC_32, &serialised(&RoaringBitmap::from([1, 5])));
    let vector = decode(&bytes, range).expect("a vector");
    let vectors = [Some(&vector), None, Some(&vector)];
    let lists = position_lists(vectors.into_iter(), &Limits::DEFAULT).expect("lists");
    assert_eq!(lists.value_offsets(), [0, 2, 2, 4]);
    assert!(lists.is_null(1) && lists.null_count() == 1);
    let tight = Limits { max_items: 3, ..Limits::DEFAULT };
    assert_eq!(position_lists(vectors.into_iter(), &tight).expect_err("a refusal").kind().name(), "limit");
}

#[test]
fn recorded_cardinalities_are_compared() {
    let (bytes, range) = framed(MAGIC_32, &serialised(&RoaringBitmap::from([1, 5])));
    let vector = decode(&bytes, range).expect("a vector");
    assert!(vector.check_cardinality(2).is_ok());
    for other in [1, 3, -1] {
        assert_eq!(vector.check_cardinality(other).expect_err("a refusal").kind().name(), "mismatch");
    }
}

/// A magic number that the format does not have.
#[test]
fn unexpected_magic() {
    let (bytes, range) = framed(MAGIC_32, &serialised(&RoaringBitmap::from([1])));
    let only_64 = [ExpectedFrame { magic: MAGIC_64, size: Some(range.length) }];
    let error = DeletionVector::decode(&bytes, range, &only_64).expect_err("a refusal");
    assert_eq!(error.kind().name(), "magic");
}
