//! What files of a table are.

/// What a file is to its table, in the formats' own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Iceberg's `metadata.json`, the current one and those of the metadata log.
    Metadata,
    /// Which version, snapshot or changelog is the first or the latest.
    Hint,
    Schema,
    Snapshot,
    Branch,
    Tag,
    Changelog,
    Consumer,
    ManifestList,
    Manifest,
    IndexManifest,
    Index,
    Statistics,
    PartitionStatistics,
    Data,
    PositionDeletes,
    EqualityDeletes,
    DeletionVectors,
    /// A file of Paimon's changelog manifests.
    ChangelogData,
    /// What stands beside a data file or a manifest, as its record says.
    Extra,
}

/// Every kind with its name.
const KINDS: [(Kind, &str); 20] = [
    (Kind::Metadata, "metadata"),
    (Kind::Hint, "hint"),
    (Kind::Schema, "schema"),
    (Kind::Snapshot, "snapshot"),
    (Kind::Branch, "branch"),
    (Kind::Tag, "tag"),
    (Kind::Changelog, "changelog"),
    (Kind::Consumer, "consumer"),
    (Kind::ManifestList, "manifest list"),
    (Kind::Manifest, "manifest"),
    (Kind::IndexManifest, "index manifest"),
    (Kind::Index, "index"),
    (Kind::Statistics, "statistics"),
    (Kind::PartitionStatistics, "partition statistics"),
    (Kind::Data, "data"),
    (Kind::PositionDeletes, "position deletes"),
    (Kind::EqualityDeletes, "equality deletes"),
    (Kind::DeletionVectors, "deletion vectors"),
    (Kind::ChangelogData, "changelog data"),
    (Kind::Extra, "extra"),
];

impl Kind {
    /// The word that rows have for it.
    pub(crate) fn name(self) -> &'static str {
        KINDS.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    /// The kind of that number, which `as u8` gives.
    pub(super) fn numbered(number: u8) -> Option<Kind> {
        KINDS.iter().map(|(kind, _)| *kind).find(|kind| *kind as u8 == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_one_name_and_one_number() {
        for (number, (kind, name)) in KINDS.iter().enumerate() {
            assert_eq!((*kind as usize, kind.name()), (number, *name));
            assert_eq!(Kind::numbered(*kind as u8), Some(*kind));
        }
        assert_eq!(Kind::numbered(KINDS.len() as u8), None);
    }
}
