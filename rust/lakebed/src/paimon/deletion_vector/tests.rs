//! Worked examples.

use arrow_array::Int64Array;
use lakebed_avro::Limits;

use super::{VectorRange, decode_vector, span};
use crate::error::Result;
use crate::test_data::hex;

fn positions(bytes: &[u8], range: VectorRange) -> Result<Int64Array> {
    decode_vector(bytes, range)?.positions(&Limits::DEFAULT)
}

fn kind(bytes: &[u8], range: VectorRange) -> &'static str {
    decode_vector(bytes, range).expect_err("a refusal").kind().name()
}

/// A vector that Paimon 0.9 wrote.
#[test]
fn a_32_bit_vector() {
    let bytes = hex("00000016 5e43f2d0 3a300000 01000000 0000 0000 10000000 0400 875ca5d7");
    let range = VectorRange { offset: 1, length: 22 };
    assert_eq!(positions(&bytes, range).expect("a vector"), Int64Array::from(vec![4]));
    let wrong = VectorRange { length: 30, ..range };
    assert_eq!(kind(&bytes, wrong), "mismatch");
}

/// A vector of Paimon's own tests.
#[test]
fn a_64_bit_vector() {
    let bytes = hex(
        "00000024 d1d33964 0100000000000000 00000000 3a300000 01000000 0000 0100 10000000 0200 0300 7a813847",
    );
    let range = VectorRange { offset: 1, length: 44 };
    assert_eq!(positions(&bytes, range).expect("a vector"), Int64Array::from(vec![2, 3]));
    assert_eq!(kind(&bytes, VectorRange { length: 36, ..range }), "mismatch");
    assert_eq!(kind(&bytes, VectorRange { length: 3, ..range }), "mismatch");
}

#[test]
fn spans_do_not_overflow() {
    assert_eq!(span(&VectorRange { offset: 0, length: 22 }), 30);
    assert_eq!(span(&VectorRange { offset: 0, length: u64::MAX }), u64::MAX);
}
