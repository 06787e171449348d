//! Columns that several metadata tables have.

use std::sync::Arc;

use arrow_array::{ArrayRef, TimestampMicrosecondArray};
use arrow_schema::{DataType, TimeUnit};

use crate::error::Result;
use crate::record::typed;
use crate::view::instants;

/// Milliseconds since 1970 as the engine's TIMESTAMP(3).
pub(super) fn timestamps(millis: impl IntoIterator<Item = impl Into<Option<i64>>>) -> Result<ArrayRef> {
    wall_clock(&instants(millis.into_iter())?)
}

/// Instants as wall-clock times in UTC; the engine prints them in its machine's time zone.
pub(super) fn wall_clock(instants: &ArrayRef) -> Result<ArrayRef> {
    let instants: &TimestampMicrosecondArray = typed(instants, "time")?;
    Ok(Arc::new(instants.clone().with_timezone_opt(None::<&str>)))
}

/// The engine's TIMESTAMP(3), in microseconds, which Spark accepts.
pub(super) const TIMESTAMP: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);
