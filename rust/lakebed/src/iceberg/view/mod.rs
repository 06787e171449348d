//! The views of an Iceberg table, one table of columns per view.

mod entries;
mod groups;
mod manifests;
mod snapshots;

pub(crate) use entries::{
    DATA_FILE_COUNT, DATA_FILES, EntryView, POSITIONS, Role, TARGET_INPUT, identities, target_files,
};
pub(crate) use groups::{buckets, partitions, totals};
pub(crate) use manifests::{HEADER, manifests, with_headers};
pub(crate) use snapshots::{Ref, refs, schemas, snapshots};
