//! Bloom filters: values that are certainly absent (Paimon's `BloomFilterFileIndex.java`,
//! `BloomFilter64.java`, `FastHash.java`).

use roaring::RoaringBitmap;
use twox_hash::XxHash64;

use super::input::{Input, Rows, stored_number};
use crate::paimon::types::TypeKind;
use crate::predicate::{BoundLeaf, Operator, Value};

/// No row where all literals are absent, else any row.
pub(super) fn rows(body: &[u8], leaf: &BoundLeaf, kind: &TypeKind) -> Rows {
    if !matches!(leaf.operator, Operator::Eq | Operator::EqNullSafe | Operator::In) {
        return None;
    }
    let mut input = Input(body);
    let functions = i32::try_from(input.u32()?).ok()?;
    let bits = input.0;
    for literal in &leaf.operands.values {
        if may_contain(bits, functions, hash(literal, kind)?)? {
            return None;
        }
    }
    Some(RoaringBitmap::new())
}

fn may_contain(bits: &[u8], functions: i32, hash: u64) -> Option<bool> {
    let count = i32::try_from(bits.len().checked_mul(8)?).ok().filter(|count| *count > 0)?;
    let (low, high) = (hash as i32, (hash >> 32) as i32);
    for number in 1..=functions {
        let combined = low.wrapping_add(number.wrapping_mul(high));
        let place = (if combined < 0 { !combined } else { combined }) % count;
        let byte = bits.get(usize::try_from(place / 8).ok()?)?;
        if byte >> (place % 8) & 1 == 0 {
            return Some(false);
        }
    }
    Some(true)
}

/// `None` for values that are not hashed, or that have several forms.
fn hash(value: &Value<'_>, kind: &TypeKind) -> Option<u64> {
    match (value, kind) {
        (Value::Bytes(bytes), _) => Some(XxHash64::oneshot(0, bytes)),
        (Value::Float(float), _) if float.is_nan() => None,
        (Value::Float(float), TypeKind::Float) => {
            Some(mixed(i64::from((*float as f32).to_bits().cast_signed())))
        }
        (Value::Float(float), _) => Some(mixed(float.to_bits().cast_signed())),
        (Value::Int(_) | Value::Nanos(_), _) => stored_number(value, kind).map(mixed),
        _ => None,
    }
}

/// Thomas Wang's 64-bit hash, with signed shifts.
fn mixed(key: i64) -> u64 {
    let key = (!key).wrapping_add(key << 21);
    let key = key ^ key >> 24;
    let key = key.wrapping_add(key << 3).wrapping_add(key << 8);
    let key = key ^ key >> 14;
    let key = key.wrapping_add(key << 2).wrapping_add(key << 4);
    let key = key ^ key >> 28;
    key.wrapping_add(key << 31).cast_unsigned()
}
