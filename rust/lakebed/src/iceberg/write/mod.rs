//! Writes manifests, manifest lists and table metadata as Iceberg's Java library does, and commits to tables.

mod avro;
mod columns;
pub mod commit;
mod layout;
mod list;
mod manifest;
mod metadata;
mod order;
mod partition;
mod version;

pub use list::{ListHeader, write_manifest_list};
pub(crate) use list::{is_list_of, write_in_front};
pub use manifest::{ManifestContent, ManifestLayout, write_manifest};
pub(in crate::iceberg) use metadata::compact;
pub use metadata::{is_gzip_name, metadata_bytes, metadata_text};
pub use version::FormatVersion;
