//! Bit-sliced indexes of numbers (Paimon's `BitSliceIndexBitmapFileIndex.java`,
//! `BitSliceIndexRoaringBitmap.java`).

use std::cmp::Ordering;

use roaring::RoaringBitmap;

use super::input::{Input, Rows, stored_number};
use crate::paimon::types::TypeKind;
use crate::predicate::{BoundLeaf, Operator};

const VERSION: u8 = 1;

/// The rows that match; any row for operators that do not compare numbers, and where the index is malformed.
pub(super) fn rows(body: &[u8], leaf: &BoundLeaf, kind: &TypeKind) -> Rows {
    let index = Index::parse(body)?;
    let literals = leaf.operands.values.iter().map(|value| stored_number(value, kind));
    let literals = literals.collect::<Option<Vec<i64>>>()?;
    let values = index.values();
    let first = |wanted: &[Ordering]| literals.first().map(|literal| index.compared(*literal, wanted));
    let equal = || {
        literals
            .iter()
            .fold(RoaringBitmap::new(), |rows, literal| rows | index.compared(*literal, &[Ordering::Equal]))
    };
    let between = || match literals.as_slice() {
        [low, high] => {
            let above = index.compared(*low, &[Ordering::Greater, Ordering::Equal]);
            Some(above & index.compared(*high, &[Ordering::Less, Ordering::Equal]))
        }
        _ => None,
    };
    match leaf.operator {
        Operator::Eq | Operator::EqNullSafe | Operator::In => Some(equal()),
        Operator::NotEq | Operator::NotIn => Some(values - equal()),
        Operator::Lt => first(&[Ordering::Less]),
        Operator::LtEq => first(&[Ordering::Less, Ordering::Equal]),
        Operator::Gt => first(&[Ordering::Greater]),
        Operator::GtEq => first(&[Ordering::Greater, Ordering::Equal]),
        Operator::Between => between(),
        Operator::NotBetween => between().map(|rows| values - rows),
        Operator::IsNull => (values.len() == u64::from(index.row_count)).then(RoaringBitmap::new),
        Operator::IsNotNull => Some(values),
        _ => None,
    }
}

/// The numbers of a column: those from zero on, and the magnitudes of the negative ones.
struct Index {
    row_count: u32,
    positive: Option<Slices>,
    negative: Option<Slices>,
}

/// Magnitudes less the smallest of them, with one bitmap per bit.
struct Slices {
    least: u64,
    /// Rows with a number.
    rows: RoaringBitmap,
    /// Rows whose number has the bit, from the lowest bit on.
    bits: Vec<RoaringBitmap>,
}

impl Index {
    fn parse(body: &[u8]) -> Option<Index> {
        let mut input = Input(body);
        if input.bytes()? != [VERSION] {
            return None;
        }
        let row_count = input.u32()?;
        let mut slices = || if input.flag()? { Slices::parse(&mut input).map(Some) } else { Some(None) };
        Some(Index { row_count, positive: slices()?, negative: slices()? })
    }

    fn values(&self) -> RoaringBitmap {
        let slices = [&self.positive, &self.negative].into_iter().flatten();
        slices.fold(RoaringBitmap::new(), |rows, slices| rows | &slices.rows)
    }

    /// The rows whose number compares to `literal` as one of `wanted`.
    fn compared(&self, literal: i64, wanted: &[Ordering]) -> RoaringBitmap {
        let magnitude = literal.unsigned_abs();
        let of_side = |slices: &Option<Slices>, is_side: bool, beyond: Ordering, turn: bool| match slices {
            None => RoaringBitmap::new(),
            Some(slices) if is_side => {
                let wanted = wanted.iter().map(|order| if turn { order.reverse() } else { *order });
                slices.compared(magnitude, &wanted.collect::<Vec<_>>())
            }
            Some(slices) if wanted.contains(&beyond) => slices.rows.clone(),
            Some(_) => RoaringBitmap::new(),
        };
        of_side(&self.positive, literal >= 0, Ordering::Greater, false)
            | of_side(&self.negative, literal < 0, Ordering::Less, true)
    }
}

impl Slices {
    fn parse(input: &mut Input<'_>) -> Option<Slices> {
        if input.bytes()? != [VERSION] {
            return None;
        }
        let (least, _greatest) = (input.u64()?, input.u64()?);
        let rows = input.bitmap()?;
        // A number has at most 64 bits.
        let count = input.u32().filter(|count| *count <= u64::BITS)?;
        let bits = (0..count).map(|_| input.bitmap()).collect::<Option<_>>()?;
        Some(Slices { least, rows, bits })
    }

    /// O'Neil and Quass, "Improved query performance with variant indexes".
    fn compared(&self, magnitude: u64, wanted: &[Ordering]) -> RoaringBitmap {
        let [mut less, mut greater] = [RoaringBitmap::new(), RoaringBitmap::new()];
        let mut equal = self.rows.clone();
        let width = u32::try_from(self.bits.len()).unwrap_or(u64::BITS);
        match magnitude.checked_sub(self.least) {
            None => greater = std::mem::take(&mut equal),
            Some(offset) if offset.checked_shr(width).unwrap_or(0) > 0 => less = std::mem::take(&mut equal),
            Some(offset) => {
                for (bit, rows) in self.bits.iter().enumerate().rev() {
                    if offset >> bit & 1 == 1 {
                        less |= &equal - rows;
                        equal &= rows;
                    } else {
                        greater |= &equal & rows;
                        equal -= rows;
                    }
                }
            }
        }
        let all = [(Ordering::Less, less), (Ordering::Equal, equal), (Ordering::Greater, greater)];
        let found = all.into_iter().filter(|(order, _)| wanted.contains(order));
        found.fold(RoaringBitmap::new(), |rows, (_, found)| rows | found)
    }
}
