//! Which files may be dropped for their values, by the kind of table (Paimon's
//! `AppendOnlyFileStoreScan.java`, `KeyValueFileStoreScan.java`, `DataEvolutionFileStoreScan.java`).

use crate::paimon::schema::TableSchema;

/// Which files may be dropped for their values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Each file on its own: its rows do not depend on other files.
    Append,
    /// Several files of a bucket have rows of one key, of which the newest counts.
    Merge {
        /// Whether rows of one key are combined into a new row: then a file can be dropped for its values
        /// only where it overlaps no other.
        combines: bool,
        /// Whether each file above level 0 is read on its own, as deletion vectors and the merge engine
        /// `first-row` allow, and files of level 0 are not read before they are compacted.
        skips_level_0: bool,
    },
    /// A row is spread over files: files of one range of row ids are dropped together.
    Evolution,
}

impl Rule {
    /// The rule for tables of this schema.
    pub(crate) fn new(schema: &TableSchema) -> Rule {
        let is_set = |key: &str| schema.option(key).is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let vectors = is_set("deletion-vectors.enabled");
        if schema.primary_keys.is_empty() {
            return if is_set("data-evolution.enabled") { Rule::Evolution } else { Rule::Append };
        }
        let engine = schema.option("merge-engine").unwrap_or_default().to_ascii_lowercase();
        let skips_level_0 =
            if vectors { !is_set("deletion-vectors.merge-on-read") } else { engine == "first-row" };
        let combines = !skips_level_0 && matches!(engine.as_str(), "partial-update" | "aggregation");
        Rule::Merge { combines, skips_level_0 }
    }

    /// Whether a batch read returns each row of a file that has no deletion vector.
    pub(crate) fn reads_files_whole(self) -> bool {
        matches!(self, Rule::Append | Rule::Merge { skips_level_0: true, .. })
    }

    /// Whether files are decided on together, once all of them are known.
    pub(crate) fn is_of_groups(self) -> bool {
        self != Rule::Append
    }
}
