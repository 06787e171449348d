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

pub(in crate::iceberg) use avro::avro_name;
pub use list::{ListHeader, write_manifest_list};
pub(crate) use list::{is_list_of, write_in_front};
pub use manifest::{ManifestContent, ManifestLayout, write_manifest};
pub(in crate::iceberg) use metadata::compact;
pub use metadata::{is_gzip_name, metadata_bytes, metadata_text};

use crate::error::{Error, ErrorKind, Result};

/// A version of the table format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FormatVersion {
    /// Only data files.
    V1,
    /// Delete files and sequence numbers.
    V2,
    /// Deletion vectors and row ids.
    V3,
}

impl FormatVersion {
    /// The number in metadata.
    pub const fn number(self) -> i32 {
        match self {
            FormatVersion::V1 => 1,
            FormatVersion::V2 => 2,
            FormatVersion::V3 => 3,
        }
    }
}

impl TryFrom<i32> for FormatVersion {
    type Error = Error;

    /// # Errors
    /// `Version` for one that cannot be written.
    fn try_from(number: i32) -> Result<FormatVersion> {
        match number {
            1 => Ok(FormatVersion::V1),
            2 => Ok(FormatVersion::V2),
            3 => Ok(FormatVersion::V3),
            _ => {
                let message = format!("Iceberg's format version {number} cannot be written: 1, 2 and 3 can");
                Err(Error::new(ErrorKind::Version, message))
            }
        }
    }
}
