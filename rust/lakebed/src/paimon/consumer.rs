//! The progress of a consumer (Paimon's `Consumer.java`).

use serde::Deserialize;

use crate::error::Result;
use crate::json;

/// A `consumer-<id>` file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Consumer {
    /// The first snapshot that it has not read.
    pub(super) next_snapshot: i64,
}

impl Consumer {
    /// # Errors
    /// Those of parsing JSON.
    pub(super) fn from_json(bytes: &[u8]) -> Result<Consumer> {
        json::parse(bytes)
    }
}
