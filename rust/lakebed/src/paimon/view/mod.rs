//! The views of a Paimon table, one table of columns per view.

mod deletes;
mod entries;
mod groups;
mod indexes;
mod manifests;
mod snapshots;

pub(crate) use deletes::{DATA_PATH, ExternalFiles, POSITIONS, Vectors, deletes_view};
pub(crate) use entries::{EntryView, Role, files_columns};
pub(crate) use groups::{buckets, partitions, totals};
pub(crate) use indexes::indexes;
pub(crate) use manifests::{ManifestRow, manifests};
pub(crate) use snapshots::{Ref, refs, schemas, snapshots};
