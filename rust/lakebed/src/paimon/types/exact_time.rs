//! Timestamps as rows store them: 64 bits of milliseconds and the nanoseconds within one, which none of Arrow's
//! timestamps holds. Those of nanoseconds end in the year 2262.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal256Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_buffer::i256;
use arrow_schema::{DataType, TimeUnit};
use std::sync::Arc;

use crate::time::NANOS_PER_MILLI;

/// Seconds since 1970 with nine fractional digits. No type of Paimon's is a decimal of 256 bits.
pub(crate) const EXACT_TIME: DataType = DataType::Decimal256(38, 9);

/// Times from nanoseconds since 1970; null where a row has no room for them.
pub(crate) fn exact_times(nanos: impl IntoIterator<Item = Option<i128>>) -> ArrayRef {
    let fits = |nanos: &i128| i64::try_from(nanos.div_euclid(NANOS_PER_MILLI)).is_ok();
    let values = nanos.into_iter().map(|nanos| nanos.filter(fits).map(i256::from_i128));
    let times: PrimitiveArray<Decimal256Type> = values.collect();
    Arc::new(times.with_data_type(EXACT_TIME))
}

/// Times of any form but seconds in nanoseconds since 1970; `None` for arrays of other types.
pub(crate) fn nanos(array: &dyn Array) -> Option<Vec<Option<i128>>> {
    let (values, nanos): (Vec<Option<i64>>, i128) = match array.data_type() {
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            (array.as_primitive_opt::<TimestampMillisecondType>()?.iter().collect(), NANOS_PER_MILLI)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            (array.as_primitive_opt::<TimestampMicrosecondType>()?.iter().collect(), 1_000)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            (array.as_primitive_opt::<TimestampNanosecondType>()?.iter().collect(), 1)
        }
        DataType::Decimal256(..) => {
            let times = array.as_primitive_opt::<Decimal256Type>()?;
            return Some(times.iter().map(|value| value?.to_i128()).collect());
        }
        _ => return None,
    };
    Some(values.into_iter().map(|value| Some(i128::from(value?) * nanos)).collect())
}
