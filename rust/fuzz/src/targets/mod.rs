//! What each target does with an input, and the properties that it checks for every input.
//!
//! Nothing here depends on the fuzzer: the tests of the workspace replay the corpus through the same functions.

mod avro;
mod columnar;
mod container;
mod content_entry;
mod encryption;
mod iceberg;
mod paimon;
pub mod parquet;
mod predicate;
mod schema;
mod skipping;
mod walk;

use arrow_array::{Array, RecordBatch};
use lakebed_avro::Limits;

/// The name of a target, which its binary and the folders of its inputs also have, and what it does with an input.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 9] = [
    ("schema", schema::run),
    ("columnar", columnar::run),
    ("container", container::run),
    ("content_entry", content_entry::run),
    ("encryption", encryption::run),
    ("iceberg", iceberg::run),
    ("paimon", paimon::run),
    ("predicate", predicate::run),
    ("skipping", skipping::run),
];

/// Limits that inputs of a few kilobytes can reach, so that they are tested too.
const LIMITS: Limits = Limits {
    max_header_bytes: 1 << 16,
    max_schema_depth: 16,
    max_schema_nodes: 2000,
    max_block_bytes: 1 << 18,
    max_file_bytes: 1 << 20,
    max_rows: 1 << 14,
    max_items: 1 << 14,
    max_zero_width_items: 1 << 10,
    max_cells: 1 << 18,
    max_value_bytes: 1 << 12,
};

/// Checks that every array is valid for its type: ascending offsets, text in UTF-8, equal lengths.
fn assert_valid(batch: &RecordBatch) {
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        assert_eq!(column.len(), batch.num_rows(), "{field}");
        column.to_data().validate_full().unwrap_or_else(|error| panic!("{field}: {error}"));
        assert!(field.is_nullable() || column.null_count() == 0, "{field} has nulls");
    }
}

/// A message is not empty and has a bounded length, whatever the input is.
fn assert_message(text: &str) {
    assert!(!text.is_empty() && text.len() <= 4096, "{} bytes of message", text.len());
}

/// A hash of an input, which selects the inputs for slow checks.
fn sample(input: &[u8]) -> u64 {
    input
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
        >> 17
}
