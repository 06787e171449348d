//! Columns that several metadata tables have.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_schema::{DataType, TimeUnit};

use crate::error::Result;
use crate::view::instants;

/// Milliseconds since 1970 as the engine's TIMESTAMP(3).
pub(super) fn timestamps(millis: impl IntoIterator<Item = impl Into<Option<i64>>>) -> Result<ArrayRef> {
    Ok(wall_clock(&instants(millis.into_iter())?))
}

/// Instants as wall-clock times in UTC; the engine prints them in its machine's time zone.
pub(super) fn wall_clock(instants: &ArrayRef) -> ArrayRef {
    let instants = instants.as_primitive::<TimestampMicrosecondType>();
    Arc::new(instants.clone().with_timezone_opt(None::<&str>))
}

/// The engine's TIMESTAMP(3), in microseconds, which Spark accepts.
pub(super) const TIMESTAMP: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);
