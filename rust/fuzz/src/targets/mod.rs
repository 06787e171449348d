//! What each target does with an input, and what must hold of it whatever the input is.
//!
//! Nothing here knows of the fuzzer: the tests of the workspace replay the corpus through the same functions.

mod avro;
mod columnar;
mod container;
mod iceberg;
mod paimon;
mod predicate;
mod schema;
mod walk;

use arrow_array::{Array, RecordBatch};
use lakebed_avro::Limits;

/// What is done with an input, under the name of the target's binary and of the folders of its inputs.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 6] = [
    ("schema", schema::run),
    ("columnar", columnar::run),
    ("container", container::run),
    ("iceberg", iceberg::run),
    ("paimon", paimon::run),
    ("predicate", predicate::run),
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

/// Proves of every array what its type promises: offsets in order, text in UTF-8, lengths that agree.
fn assert_valid(batch: &RecordBatch) {
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        assert_eq!(column.len(), batch.num_rows(), "{field}");
        column.to_data().validate_full().unwrap_or_else(|error| panic!("{field}: {error}"));
        assert!(field.is_nullable() || column.null_count() == 0, "{field} has nulls");
    }
}

/// A message is one line of bounded length, whatever the input says.
fn assert_words(text: &str) {
    assert!(!text.is_empty() && text.len() <= 4096, "{} bytes of message", text.len());
}

/// A number that depends on all of an input: what is too slow to be asked of each is asked of a few.
fn sample(input: &[u8]) -> u64 {
    input
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
        >> 17
}
