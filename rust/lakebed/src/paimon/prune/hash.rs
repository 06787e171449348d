//! The functions that choose buckets (Paimon's `DefaultBucketFunction.java`, `ModBucketFunction.java`,
//! `HiveBucketFunction.java`).

use std::collections::BTreeSet;

use arrow_array::{Array, ArrayRef, StructArray, UInt64Array};
use arrow_schema::Fields;
use arrow_select::take::take;

use super::values::array_of;
use crate::error::Result;
use crate::murmur;
use crate::paimon::binary_row::encode_rows;
use crate::paimon::types::{DataField, TypeKind};
use crate::predicate::Value;

/// The seed of Paimon's hash (`MurmurHashUtils.java`).
const SEED: u32 = 42;
/// The bytes of a row's arity, which are not hashed.
const ARITY_BYTES: usize = 4;

/// The values of each key; rows may have every combination of them.
pub(super) type Combinations = Vec<BTreeSet<Value<'static>>>;

/// How keys become bucket numbers.
#[derive(Debug)]
pub(super) enum BucketFunction {
    /// By the hash of the keys' BinaryRow.
    Default {
        /// The keys as rows store them.
        stored: Fields,
    },
    /// By the only key, an integer.
    Mod,
    /// By Hive's hash.
    Hive(Vec<TypeKind>),
}

impl BucketFunction {
    /// The function that option `bucket-function.type` names, for these keys; `None` for an unknown one, or
    /// one that does not apply to these keys.
    pub(super) fn new(name: Option<&str>, keys: &[&DataField]) -> Option<BucketFunction> {
        match name.unwrap_or("default").to_ascii_lowercase().as_str() {
            "default" => {
                let stored = keys.iter().map(|field| field.ty.exact_field(&field.name));
                Some(BucketFunction::Default { stored: stored.collect() })
            }
            "mod" => match keys {
                [key] if matches!(key.ty.kind, TypeKind::Int | TypeKind::BigInt) => Some(BucketFunction::Mod),
                _ => None,
            },
            "hive" => Some(BucketFunction::Hive(keys.iter().map(|key| key.ty.kind.clone()).collect())),
            _ => None,
        }
    }

    /// The hash of every combination; `None` where a value cannot be hashed here.
    pub(super) fn hashes(&self, values: &Combinations) -> Result<Option<Vec<i64>>> {
        match self {
            BucketFunction::Default { stored } => row_hashes(values, stored),
            BucketFunction::Mod => {
                let number = |value: &Value<'_>| match value {
                    Value::Int(number) => Some(*number),
                    _ => None,
                };
                Ok(values.first().and_then(|values| values.iter().map(number).collect()))
            }
            BucketFunction::Hive(kinds) => {
                let mut hashes = vec![0_i32];
                for (values, kind) in values.iter().zip(kinds) {
                    let fields = values.iter().map(|value| hive_hash(value, kind));
                    let Some(fields) = fields.collect::<Option<Vec<i32>>>() else { return Ok(None) };
                    let joined = |hash: &i32| {
                        let first = hash.wrapping_mul(31);
                        fields.iter().map(move |field| first.wrapping_add(*field)).collect::<Vec<_>>()
                    };
                    hashes = hashes.iter().flat_map(joined).collect();
                }
                Ok(Some(hashes.into_iter().map(i64::from).collect()))
            }
        }
    }

    /// The bucket of a hash among `total`, which is above zero.
    pub(super) fn bucket(&self, hash: i64, total: i32) -> i64 {
        let total = i64::from(total);
        match self {
            BucketFunction::Default { .. } => (hash % total).abs(),
            BucketFunction::Mod => hash.rem_euclid(total),
            BucketFunction::Hive(_) => (hash & i64::from(i32::MAX)) % total,
        }
    }
}

fn row_hashes(values: &Combinations, stored: &Fields) -> Result<Option<Vec<i64>>> {
    let mut columns = Vec::with_capacity(values.len());
    for (values, stored) in values.iter().zip(stored) {
        let Some(array) = array_of(values.iter(), stored.data_type()) else { return Ok(None) };
        columns.push(array);
    }
    let count = columns.iter().map(|column| column.len()).product::<usize>();
    let mut repeat = count;
    let mut crossed: Vec<ArrayRef> = Vec::with_capacity(columns.len());
    for column in &columns {
        let length = column.len().max(1);
        repeat /= length;
        let rows = (0..count).map(|row| (row / repeat.max(1) % length) as u64);
        crossed.push(take(column.as_ref(), &UInt64Array::from_iter_values(rows), None)?);
    }
    let rows = StructArray::try_new_with_length(stored.clone(), crossed, None, count)?;
    let rows = encode_rows(&rows, stored)?;
    let hash = |row: &[u8]| row.get(ARITY_BYTES..).map(|row| i64::from(murmur::hash(row, SEED)));
    Ok(rows.iter().map(|row| row.and_then(hash)).collect())
}

/// Hive's hash of one value (`HiveHasher.java`); `None` for types that Paimon does not hash this way.
fn hive_hash(value: &Value<'_>, kind: &TypeKind) -> Option<i32> {
    let fold = |long: i64| (long ^ (long as u64 >> 32) as i64) as i32;
    Some(match (value, kind) {
        (Value::Boolean(value), _) => i32::from(*value),
        (Value::Int(value), TypeKind::BigInt) => fold(*value),
        (Value::Int(value), _) => i32::try_from(*value).ok()?,
        (Value::Float(value), _) if value.is_nan() => return None,
        (Value::Float(0.0), _) => 0,
        (Value::Float(value), TypeKind::Float) => (*value as f32).to_bits().cast_signed(),
        (Value::Float(value), _) => fold(value.to_bits().cast_signed()),
        (Value::Bytes(bytes), _) => bytes
            .iter()
            .fold(0_i32, |hash, byte| hash.wrapping_mul(31).wrapping_add(i32::from(byte.cast_signed()))),
        (Value::Decimal(unscaled), TypeKind::Decimal { scale, .. }) => decimal_hash(*unscaled, *scale),
        _ => return None,
    })
}

/// `BigDecimal.hashCode` of the value without trailing zeros.
fn decimal_hash(mut unscaled: i128, scale: i8) -> i32 {
    let mut scale = if unscaled == 0 { 0 } else { i32::from(scale) };
    while scale > 0 && unscaled % 10 == 0 {
        unscaled /= 10;
        scale -= 1;
    }
    let magnitude = unscaled.unsigned_abs();
    let words = [96, 64, 32, 0].map(|shift| (magnitude >> shift) as u32);
    let hash = words.iter().fold(0_i32, |hash, word| hash.wrapping_mul(31).wrapping_add(word.cast_signed()));
    let signed = if unscaled < 0 { hash.wrapping_neg() } else { hash };
    signed.wrapping_mul(31).wrapping_add(scale)
}
