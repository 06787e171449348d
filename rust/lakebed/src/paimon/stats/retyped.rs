//! Bounds that were written in another type than the column has now.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, Int64Array, UInt64Array, new_null_array};
use arrow_select::concat::concat;
use arrow_select::take::take;

use super::{StatsPlace, of_stats};
use crate::error::Result;
use crate::paimon::binary_row::decode_column;
use crate::paimon::cast::{cast, cast_bounds, may_overflow};
use crate::paimon::types::{DataField, DataType, TypeKind};

/// How bounds that were written in another type are converted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BoundsConversion {
    /// Cast where the result bounds the cast values, else null.
    #[default]
    Sound,
    /// Always cast, as in the engine's own tables: for display, not for pruning.
    Engine,
}

/// The types in which one column was written, row by row.
pub(super) struct WrittenTypes<'a> {
    /// Each type once.
    types: Vec<&'a DataType>,
    /// The position in `types` of each row's type; `None` where the row has no statistics of the column.
    rows: Vec<Option<usize>>,
}

impl<'a> WrittenTypes<'a> {
    /// `type_in` gives the column's type in a schema.
    pub(super) fn new(
        places: &[StatsPlace],
        type_in: impl Fn(i64) -> Option<&'a DataType>,
    ) -> WrittenTypes<'a> {
        let mut types: Vec<&DataType> = Vec::new();
        let mut last: Option<(i64, Option<usize>)> = None;
        let rows = places.iter().map(|place| {
            let StatsPlace::At { schema_id, .. } = *place else { return None };
            if let Some((_, known)) = last.filter(|(known, _)| *known == schema_id) {
                return known;
            }
            let number = type_in(schema_id).map(|ty| {
                types.iter().position(|known| known.kind == ty.kind).unwrap_or_else(|| {
                    types.push(ty);
                    types.len() - 1
                })
            });
            last = Some((schema_id, number));
            number
        });
        let rows = rows.collect();
        WrittenTypes { types, rows }
    }

    /// Lower and upper bounds of each row, of the column's exact type, from BinaryRows of lower and of upper bounds.
    pub(super) fn bounds(
        &self,
        rows: [&BinaryArray; 2],
        places: &[StatsPlace],
        column: &DataField,
        retyped: BoundsConversion,
    ) -> Result<[ArrayRef; 2]> {
        let wanted = column.ty.exact_type();
        let mut cast = Vec::with_capacity(self.types.len());
        for (number, ty) in self.types.iter().enumerate() {
            cast.push(self.bounds_of(number, ty, rows, places, column, retyped)?);
        }
        match cast.as_slice() {
            [] => {
                let nulls = new_null_array(&wanted, places.len());
                Ok([Arc::clone(&nulls), nulls])
            }
            // With a single type the result is that type's bounds.
            [only] => Ok(only.clone()),
            several => {
                // The bounds of all types are concatenated: each row takes those of its own type.
                let number = |(row, number): (usize, &Option<usize>)| {
                    number.map(|number| (number * places.len() + row) as u64)
                };
                let numbers: UInt64Array = self.rows.iter().enumerate().map(number).collect();
                let merged = |side: usize| {
                    let arrays: Vec<&dyn Array> =
                        several.iter().map(|bounds| bounds[side].as_ref()).collect();
                    take(&concat(&arrays).map_err(of_stats)?, &numbers, None).map_err(of_stats)
                };
                Ok([merged(0)?, merged(1)?])
            }
        }
    }

    /// The bounds of the rows of one type, cast; null elsewhere.
    fn bounds_of(
        &self,
        number: usize,
        ty: &DataType,
        rows: [&BinaryArray; 2],
        places: &[StatsPlace],
        column: &DataField,
        retyped: BoundsConversion,
    ) -> Result<[ArrayRef; 2]> {
        let position = |row: usize| match places[row] {
            StatsPlace::At { position, .. } if self.rows[row] == Some(number) => Some(position),
            _ => None,
        };
        let stored = ty.exact_field(&column.name);
        let lower = decode_column(rows[0], position, &stored)?;
        let upper = decode_column(rows[1], position, &stored)?;
        match retyped {
            BoundsConversion::Sound => cast_bounds([&lower, &upper], ty, &column.ty),
            BoundsConversion::Engine => Ok([cast(&lower, ty, &column.ty)?, cast(&upper, ty, &column.ty)?]),
        }
    }

    /// The number of NaN in each row's file: zero where floats were written in a type without NaN, else
    /// unknown.
    pub(super) fn nan_counts(&self, wanted: &DataType) -> Int64Array {
        use TypeKind::{BigInt, Boolean, Decimal, Double, Float, Int, SmallInt, TinyInt};
        let has_none = |ty: &DataType| {
            matches!(wanted.kind, Float | Double)
                && matches!(ty.kind, Boolean | TinyInt | SmallInt | Int | BigInt | Decimal { .. })
        };
        let none: Vec<bool> = self.types.iter().map(|ty| has_none(ty)).collect();
        self.rows.iter().map(|number| number.is_some_and(|number| none[number]).then_some(0)).collect()
    }

    /// Whether casting the values to `wanted` may have made more nulls than were counted: possible unless
    /// every row is null, or all values between the bounds can be cast.
    pub(super) fn may_have_more_nulls(
        &self,
        wanted: &DataType,
        row_counts: &Int64Array,
        counts: &Int64Array,
        bounds: [&ArrayRef; 2],
    ) -> BooleanArray {
        let overflows: Vec<bool> = self.types.iter().map(|ty| may_overflow(&ty.kind, &wanted.kind)).collect();
        let more = self.rows.iter().enumerate().map(|(row, number)| {
            number.is_some_and(|number| overflows[number])
                && counts.value(row) != row_counts.value(row)
                && bounds.iter().any(|bound| bound.is_null(row))
        });
        BooleanArray::from(more.collect::<Vec<_>>())
    }
}
