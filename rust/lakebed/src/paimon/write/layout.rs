//! The exact Avro schemas that Paimon's writers have used (Paimon's `ManifestEntrySerializer.java`,
//! `ManifestFileMetaSerializer.java`, `IndexManifestEntrySerializer.java`, `AvroSchemaConverter.java`).

use crate::error::{Error, ErrorKind, Result};
use crate::field::FieldSpec;
use crate::paimon::fields::{ENTRY, INDEX, INDEX_MANIFEST_VERSION, LIST, MANIFEST_VERSION};

/// The kinds of the format's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A manifest.
    Manifest,
    /// A manifest list.
    List,
    /// An index manifest.
    Index,
}

impl FileKind {
    /// Its fields.
    pub(super) fn table(self) -> &'static [FieldSpec] {
        match self {
            FileKind::Manifest => &ENTRY,
            FileKind::List => &LIST,
            FileKind::Index => &INDEX,
        }
    }

    /// The version in each of its records.
    pub(super) fn version(self) -> i64 {
        match self {
            FileKind::Manifest | FileKind::List => MANIFEST_VERSION,
            FileKind::Index => INDEX_MANIFEST_VERSION,
        }
    }
}

/// The generation of writers whose layout a file has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Layout {
    /// Paimon 1.4's: 20 fields of data files. All current readers know it.
    #[default]
    Current,
    /// Paimon 2.1's: it adds a sequence number for each column written and the source of global indexes; in
    /// manifest lists the number of buckets and extra files.
    V2_1,
    /// That of Paimon up to 0.8: nullable records, 16 fields of data files.
    Legacy,
}

impl Layout {
    /// The layout with this name in the public interface.
    ///
    /// # Errors
    /// `Argument`, with the known names.
    pub fn named(name: &str) -> Result<Layout> {
        match name {
            "current" => Ok(Layout::Current),
            "2.1" => Ok(Layout::V2_1),
            "legacy" => Ok(Layout::Legacy),
            _ => {
                let message = format!("layout is \"current\", \"2.1\" or \"legacy\", not {name:?}");
                Err(Error::new(ErrorKind::Argument, message))
            }
        }
    }

    /// The schema of a kind of file, as text.
    pub fn schema(self, kind: FileKind) -> &'static str {
        let text = match (kind, self) {
            (FileKind::Manifest, Layout::Current) => include_str!("layouts/manifest.avsc"),
            (FileKind::Manifest, Layout::V2_1) => include_str!("layouts/manifest_2_1.avsc"),
            (FileKind::Manifest, Layout::Legacy) => include_str!("layouts/manifest_0_8.avsc"),
            (FileKind::List, Layout::Current) => include_str!("layouts/manifest_list.avsc"),
            (FileKind::List, Layout::V2_1) => include_str!("layouts/manifest_list_2_1.avsc"),
            (FileKind::List, Layout::Legacy) => include_str!("layouts/manifest_list_0_8.avsc"),
            (FileKind::Index, Layout::Current) => include_str!("layouts/index_manifest.avsc"),
            (FileKind::Index, Layout::V2_1) => include_str!("layouts/index_manifest_2_1.avsc"),
            (FileKind::Index, Layout::Legacy) => include_str!("layouts/index_manifest_0_8.avsc"),
        };
        text.trim_end()
    }
}
