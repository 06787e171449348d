//! Pruning: which manifests, entries and files a filter leaves, by what manifests record of files.
//!
//! A `where` is bound to the table's columns once (`bind`), then evaluated level by level. What it implies of
//! partitions and the bucket drops manifests by the bounds in their list, and entries before they are decoded
//! (`partitions`). `=` and `IN` on all bucket keys determine the buckets of matching rows (`bucket`, `hash`).
//! Statistics of keys and values (`stats`) and the indexes in entries (`index`) drop files. `rule` tells what
//! may be dropped: in tables with primary keys the files of a bucket are decided on together (`groups`), in
//! tables whose rows are spread over files those of a range of rows (`evolution`).

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

pub(crate) use entries::{BucketMemo, EntryPruner, Test};
pub(crate) use partitions::PartitionPredicate;
pub(crate) use rule::{BatchRead, Rule};
