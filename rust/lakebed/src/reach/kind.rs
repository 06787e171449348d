//! The kinds of files of a table.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use arrow_schema::Schema;

use crate::error::Result;
use crate::predicate::{ColumnRanges, Contents, Predicate};

/// The role of a file in its table, in the terms of the formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Iceberg's `metadata.json`, the current one and those of the metadata log.
    Metadata,
    /// A file that names the first or the latest version, snapshot or changelog.
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
    /// A file that accompanies a data file or a manifest, as the entry of that one says.
    Extra,
}

/// Each kind with its name.
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
    /// The name of the kind in rows.
    pub(crate) fn name(self) -> &'static str {
        KINDS.get(self as usize).map_or("", |(_, name)| name)
    }

    /// The kind with that number, the inverse of `as u8`.
    pub(super) fn numbered(number: u8) -> Option<Kind> {
        KINDS.get(usize::from(number)).map(|(kind, _)| *kind)
    }
}

/// A set of kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kinds(u32);

impl Kinds {
    /// All of them.
    pub(crate) const ALL: Kinds = Kinds(u32::MAX);

    /// The kinds whose rows may match a filter on columns of `schema`. Only tests of the column `kind` count;
    /// the other columns may have any value.
    ///
    /// # Errors
    /// `Predicate`.
    pub(super) fn matching(filter: Option<&str>, schema: &Schema) -> Result<Kinds> {
        let Some(text) = filter else { return Ok(Kinds::ALL) };
        let filter = Predicate::parse(text)?.bind(schema)?;
        let names: ArrayRef = Arc::new(StringArray::from_iter_values(KINDS.iter().map(|(_, name)| *name)));
        let contents = Contents::new(KINDS.len(), |_| [false, false, true]);
        let ranges = ColumnRanges { lower: Arc::clone(&names), upper: names, contents };
        let known = schema.fields().iter().map(|field| (field.name() == "kind").then(|| ranges.clone()));
        let may_match = filter.may_match(&known.collect::<Vec<_>>(), KINDS.len())?;
        let bits = may_match.set_indices().fold(0, |bits, number| bits | 1 << number);
        Ok(Kinds(bits))
    }

    /// Whether some of `kinds` are in the set.
    pub(crate) fn any(self, kinds: &[Kind]) -> bool {
        kinds.iter().any(|kind| self.0 >> (*kind as u8) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::{DataType, Field};

    use super::*;

    #[test]
    fn filters_select_the_kinds_that_may_match() {
        let fields = [("kind", DataType::Utf8), ("file_size_in_bytes", DataType::Int64)];
        let schema = Schema::new(fields.map(|(name, data_type)| Field::new(name, data_type, true)).to_vec());
        for (filter, expected) in [
            ("kind = 'manifest'", &["manifest"][..]),
            ("kind IN ('data', 'extra') AND file_size_in_bytes > 5", &["data", "extra"]),
            ("kind LIKE 'manifest%'", &["manifest list", "manifest"]),
            ("kind IS NULL", &[]),
        ] {
            let kinds = Kinds::matching(Some(filter), &schema).expect("a filter");
            let found = KINDS.iter().filter(|(kind, _)| kinds.any(&[*kind])).map(|(_, name)| *name);
            assert_eq!(found.collect::<Vec<_>>(), expected, "{filter}");
        }
        for filter in [None, Some("kind = 'data' OR file_size_in_bytes > 5")] {
            assert!(
                KINDS
                    .iter()
                    .all(|(kind, _)| { Kinds::matching(filter, &schema).expect("a filter").any(&[*kind]) })
            );
        }
    }

    #[test]
    fn every_kind_has_one_name_and_one_number() {
        for (number, (kind, name)) in KINDS.iter().enumerate() {
            assert_eq!((*kind as usize, kind.name()), (number, *name));
            assert_eq!(Kind::numbered(*kind as u8), Some(*kind));
        }
        assert_eq!(Kind::numbered(KINDS.len() as u8), None);
    }
}
