//! The views of a Paimon table, one table of columns per view.

mod deletes;
mod entries;
mod groups;
mod health;
mod indexes;
mod manifests;
mod refs;
mod schemas;
mod snapshots;

pub(crate) use deletes::{DeletesView, ExternalFiles, POSITION_DELETES, Vectors};
pub(crate) use entries::files_columns;
pub use entries::{EntryView, IDENTITY_COLUMN, Role};
pub(crate) use groups::{buckets, ints, last_created, longs, partitions};
pub(crate) use health::totals;
pub(crate) use indexes::indexes;
pub(crate) use manifests::{ManifestRow, manifests};
pub(crate) use refs::{Ref, refs};
pub(crate) use schemas::schemas;
pub(crate) use snapshots::snapshots;
