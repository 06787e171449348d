//! What writing has in common, whatever the format.

mod publish;

use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) use publish::publish_bytes;
pub use publish::{Existing, publish};

/// Milliseconds since 1970 UTC, by the machine's clock.
pub(crate) fn now_millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.ok().and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or_default()
}
