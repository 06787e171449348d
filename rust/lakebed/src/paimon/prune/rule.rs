//! What kind of table it is decides which files values may drop (Paimon's `AppendOnlyFileStoreScan.java`,
//! `KeyValueFileStoreScan.java`, `DataEvolutionFileStoreScan.java`).

use crate::paimon::schema::TableSchema;

/// Which files what is known of values may drop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Each on its own: rows of other files say nothing of its rows.
    Append,
    /// Rows of one key are in several files of a bucket, of which the newest one counts.
    Merge {
        /// Whether the rows of one key are combined to one that none of them is: then no file can be dropped
        /// for its values but where files do not overlap.
        combines: bool,
        /// Whether files above level 0 are read each on its own, as deletion vectors and the merge engine
        /// `first-row` allow, and those of level 0 are not read before they are compacted.
        skips_level_0: bool,
    },
    /// One row is spread over files: those of one range of row ids are dropped together.
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
