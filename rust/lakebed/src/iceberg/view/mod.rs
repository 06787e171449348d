//! The views of an Iceberg table, one table of columns per view.

mod entries;
mod groups;
mod health;
mod manifests;
mod refs;
mod schemas;
mod snapshots;
mod target;

pub(crate) use entries::{DATA_FILE_COUNT, DATA_FILES, EntryView, POSITIONS, Role, identities};
pub(crate) use groups::{buckets, partitions};
pub(crate) use health::totals;
pub(crate) use manifests::{HEADER, manifests, with_headers};
pub(crate) use refs::{Ref, refs};
pub(crate) use schemas::schemas;
pub(crate) use snapshots::snapshots;
pub(crate) use target::target_files;
