//! Pruning: what of a table a filter leaves, from what manifests record of files.
//!
//! A `where` is bound to the table's columns once (`bind`), then asked level by level: what it implies of
//! partitions and the bucket drops manifests by the bounds in their list and entries before they are decoded
//! (`partitions`); `=` and `IN` on all bucket keys say which buckets rows are in (`bucket`, `hash`);
//! statistics of keys and values, many at a time (`stats`), and the indexes in entries (`index`) drop files, of tables with primary keys only as
//! `rule` has it, for all files of a bucket together (`groups`), of tables whose rows are spread over files
//! for all files of a range of rows (`evolution`).

mod batch;
mod bind;
mod bucket;
mod entries;
mod evolution;
mod groups;
mod hash;
mod index;
mod partitions;
mod rule;
mod stats;
#[cfg(test)]
mod tests;
mod values;

pub(crate) use batch::BatchRead;
pub(crate) use entries::{BucketMemo, EntryPruner, Test};
pub(crate) use partitions::PartitionPredicate;
pub(crate) use rule::Rule;
