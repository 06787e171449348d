//! What writing has in common, whatever the format.

pub(crate) mod commit;
pub(crate) mod publish;

use std::time::{SystemTime, UNIX_EPOCH};

use lakebed_avro::{Codec, WriteOptions};

pub(crate) use publish::publish_bytes;
pub use publish::{Existing, publish};

/// Zstandard's level in both formats' own writers, which is not Avro's (Iceberg's `Avro.java`; Paimon's option
/// `file.compression.zstd-level`).
const ZSTANDARD_LEVEL: i32 = 1;

/// The options, with the level of the formats' own writers where none is said.
pub(crate) fn with_level(options: WriteOptions) -> WriteOptions {
    let level = options.level.or((options.codec == Codec::Zstandard).then_some(ZSTANDARD_LEVEL));
    WriteOptions { level, ..options }
}

/// Milliseconds since 1970 UTC, by the machine's clock.
pub(crate) fn now_millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.ok().and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or_default()
}
