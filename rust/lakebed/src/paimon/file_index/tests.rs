//! Indexes built by hand, and hostile ones.

use roaring::RoaringBitmap;

use super::*;
use crate::predicate::{Column, Logic, Predicate};
use crate::test_data::Random;

/// The container of one column `a` with one index.
fn container(kind: &str, body: &[u8]) -> Vec<u8> {
    let head_length = 8 + 4 + 4 + 4 + 2 + 1 + 4 + 2 + kind.len() + 8 + 4;
    let number = |number: usize| u32::try_from(number).expect("a small number").to_be_bytes();
    let mut bytes = MAGIC.to_be_bytes().to_vec();
    for part in [number(1), number(head_length), number(1)] {
        bytes.extend(part);
    }
    bytes.extend([0, 1, b'a']);
    bytes.extend(number(1));
    bytes.extend([0, u8::try_from(kind.len()).expect("a short name")]);
    bytes.extend(kind.as_bytes());
    for part in [number(head_length), number(body.len()), number(0)] {
        bytes.extend(part);
    }
    bytes.extend(body);
    bytes
}

fn may_match(bytes: &[u8], text: &str, kind: &TypeKind) -> bool {
    let data_type = crate::paimon::types::DataType::nullable(kind.clone()).view_type();
    let predicate = Predicate::parse(text).expect("a filter");
    let bound = predicate.bind_with(Logic::ThreeValued, &mut |_| Ok(Column::new(0, data_type.clone())));
    let node = bound.expect("a filter of the column").node;
    FileIndex::parse(bytes).is_none_or(|index| index.may_match(&node, &|_| Some(("a", kind))))
}

fn portable(rows: &[u32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    rows.iter().collect::<RoaringBitmap>().serialize_into(&mut bytes).expect("bytes");
    bytes
}

/// Values 3 (rows 0, 1) and 7 (row 2), null in row 3.
fn bitmap(version: u8) -> Vec<u8> {
    let several = portable(&[0, 1]);
    let length = i32::try_from(several.len()).expect("a short bitmap");
    let mut body = vec![version];
    let mut put = |numbers: &[i32]| numbers.iter().for_each(|number| body.extend(number.to_be_bytes()));
    put(&[4, 2]);
    body.push(1);
    let mut put = |numbers: &[i32]| numbers.iter().for_each(|number| body.extend(number.to_be_bytes()));
    match version {
        1 => put(&[-4, 3, 0, 7, -3]),
        _ => put(&[-4, 16, 1, 3, 0, 28, 2, 3, 0, length, 7, -3, -1]),
    }
    body.extend(several);
    container("bitmap", &body)
}

#[test]
fn heads_name_their_indexes_or_are_refused() {
    let bytes = bitmap(2);
    let head = usize::try_from(head_size(&bytes).expect("a head")).expect("a small number");
    let found = places(bytes.get(..head).expect("a head")).expect("a head");
    let found: Vec<_> = found.iter().map(|one| (one.column, one.kind, one.size, one.is_empty())).collect();
    let size = u32::try_from(bytes.len() - head).expect("a small number");
    assert_eq!(found, [("a", "bitmap", size, false)]);
    // The last number is not used.
    for cut in 0..head - 4 {
        assert!(places(bytes.get(..cut).expect("a part")).is_none(), "{cut}");
    }
    for place in 0..12 {
        let mut wrong = bytes.clone();
        wrong.get_mut(place).into_iter().for_each(|byte| *byte ^= 1);
        assert!(head_size(&wrong).is_none() && places(&wrong).is_none(), "{place}");
    }
}

#[test]
fn bitmaps_answer_every_operator() {
    for bytes in [bitmap(1), bitmap(2)] {
        for (text, expected) in [
            ("a = 3", true),
            ("a = 5", false),
            ("a IN (4, 7)", true),
            ("a > 3 AND a < 7", false),
            ("a BETWEEN 4 AND 8", true),
            ("a NOT IN (3, 7)", false),
            ("a <> 3", true),
            ("a IS NULL", true),
            ("a IS NULL AND a = 3", false),
            ("a = 3 AND a = 7", false),
            ("a = 5 OR a = 7", true),
            ("a = 5 OR a = 6", false),
        ] {
            assert_eq!(may_match(&bytes, text, &TypeKind::Int), expected, "{text}");
        }
    }
}

/// 5, 9, -2 and null.
fn slices() -> Vec<u8> {
    let side = |least: i64, greatest: i64, rows: &[u32], bits: &[&[u32]]| {
        let mut bytes = vec![1, 1];
        bytes.extend(least.to_be_bytes());
        bytes.extend(greatest.to_be_bytes());
        bytes.extend(portable(rows));
        bytes.extend(u32::try_from(bits.len()).expect("few bits").to_be_bytes());
        bits.iter().for_each(|rows| bytes.extend(portable(rows)));
        bytes
    };
    let mut body = vec![1, 0, 0, 0, 4];
    body.extend(side(0, 9, &[0, 1], &[&[0, 1], &[], &[0], &[1]]));
    body.extend(side(0, 2, &[2], &[&[], &[2]]));
    container("bsi", &body)
}

#[test]
fn slices_compare_numbers() {
    let bytes = slices();
    for (text, expected) in [
        ("a = 5", true),
        ("a = 6", false),
        ("a > 5", true),
        ("a > 9", false),
        ("a >= 9", true),
        ("a < -2", false),
        ("a <= -2", true),
        ("a = -2", true),
        ("a = -1", false),
        ("a BETWEEN 6 AND 8", false),
        ("a BETWEEN -1 AND 5", true),
        ("a NOT BETWEEN -2 AND 9", false),
        ("a NOT IN (5, 9, -2)", false),
        ("a <> 5", true),
        ("a IS NULL", true),
        ("a > 5 AND a < 9", false),
        ("a = 16", false),
        ("a > -5", true),
        ("a < 100", true),
        ("a > 100", false),
    ] {
        assert_eq!(may_match(&bytes, text, &TypeKind::BigInt), expected, "{text}");
    }
}

#[test]
fn filters_of_nothing_hold_nothing() {
    let empty = container("bloom-filter", &[0, 0, 0, 3, 0, 0]);
    for kind in [TypeKind::Int, TypeKind::VarChar(9), TypeKind::Double] {
        let literal = if matches!(kind, TypeKind::VarChar(_)) { "'1'" } else { "1" };
        assert!(!may_match(&empty, &format!("a = {literal}"), &kind));
        assert!(may_match(&empty, &format!("a <> {literal}"), &kind));
    }
    assert!(may_match(&container("bloom-filter", &[0, 0, 0, 3, 255, 255]), "a IN (1, 2)", &TypeKind::Int));
}

#[test]
fn malformed_indexes_are_ignored() {
    let mut random = Random(7);
    let whole = [bitmap(1), bitmap(2), slices(), container("bloom-filter", &[0, 0, 0, 3, 0, 0])];
    for bytes in &whole {
        for length in 0..bytes.len() {
            let _ = may_match(&bytes[..length], "a = 5 OR a IS NULL", &TypeKind::Int);
        }
        for _ in 0..2000 {
            let _ = may_match(&random.mutate(bytes), "a = 5 AND a < 7", &TypeKind::Int);
        }
    }
    assert!(may_match(&container("range-bitmap", &[]), "a = 5", &TypeKind::Int));
    assert!(may_match(&container("bitmap", &[3]), "a = 5", &TypeKind::Int));
}
