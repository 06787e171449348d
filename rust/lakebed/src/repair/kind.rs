//! Kinds of repairs.

use std::collections::BTreeSet;

use crate::error::{Error, ErrorKind, Result};
use crate::words::unknown;

/// A kind of repair, in the order in which repairs are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RepairKind {
    /// Hints that name no version of the table.
    Hints,
    /// The branch `main` is not at the snapshot that the table says is current.
    Main,
    /// The list of the snapshot cannot be read, and what it had can be told.
    Lists,
    /// The snapshot's list or manifests cannot be read: an older snapshot is whole.
    Rollback,
    /// Lists of older snapshots cannot be read.
    Snapshots,
    /// Manifests that are not there, or damaged.
    Manifests,
    /// Files that stand in the snapshot more than once.
    Duplicates,
    /// Data files with more than one deletion vector.
    Vectors,
    /// Deletes of a data file that are listed in another partition.
    ForeignDeletes,
    /// Data files that are not there.
    DataFiles,
    /// Files of deletes that are not there.
    DeleteFiles,
    /// Sizes and numbers of rows that data files contradict.
    Sizes,
    /// Metrics that are missing, or that data files contradict.
    Metrics,
}

impl RepairKind {
    /// Those that change no row which any engine returns.
    const DEFAULT: [RepairKind; 2] = [RepairKind::Hints, RepairKind::Main];
    /// Those that are found among the entries of manifests.
    pub(super) const OF_ENTRIES: [RepairKind; 6] = [
        RepairKind::Duplicates,
        RepairKind::Vectors,
        RepairKind::ForeignDeletes,
        RepairKind::DataFiles,
        RepairKind::Sizes,
        RepairKind::Metrics,
    ];
    const ALL: [RepairKind; 13] = [
        RepairKind::Hints,
        RepairKind::Main,
        RepairKind::Lists,
        RepairKind::Rollback,
        RepairKind::Snapshots,
        RepairKind::Manifests,
        RepairKind::Duplicates,
        RepairKind::Vectors,
        RepairKind::ForeignDeletes,
        RepairKind::DataFiles,
        RepairKind::DeleteFiles,
        RepairKind::Sizes,
        RepairKind::Metrics,
    ];

    /// The kinds of these names; those that change no rows for `None`.
    ///
    /// # Errors
    /// `Argument` for another name.
    pub fn named(names: Option<&[String]>) -> Result<BTreeSet<RepairKind>> {
        let Some(names) = names else { return Ok(RepairKind::DEFAULT.into()) };
        names.iter().map(|name| RepairKind::of(name).map_err(|error| error.in_field("kinds"))).collect()
    }

    /// The kind of this name.
    ///
    /// # Errors
    /// `Argument` where there is none.
    pub(super) fn of(name: &str) -> Result<RepairKind> {
        let known = RepairKind::ALL.map(RepairKind::name);
        let no_kind = || Error::new(ErrorKind::Argument, unknown("kind of repair", name, known));
        RepairKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(no_kind)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            RepairKind::Hints => "hints",
            RepairKind::Main => "main",
            RepairKind::Lists => "lists",
            RepairKind::Rollback => "rollback",
            RepairKind::Snapshots => "snapshots",
            RepairKind::Manifests => "manifests",
            RepairKind::Duplicates => "duplicates",
            RepairKind::Vectors => "vectors",
            RepairKind::ForeignDeletes => "foreign_deletes",
            RepairKind::DataFiles => "data_files",
            RepairKind::DeleteFiles => "delete_files",
            RepairKind::Sizes => "sizes",
            RepairKind::Metrics => "metrics",
        }
    }

    /// What is done.
    pub(super) fn words(self) -> &'static str {
        match self {
            RepairKind::Hints => "the hint is written anew",
            RepairKind::Main => "main is set to the current snapshot",
            RepairKind::Lists => "the list is made anew from the manifests that are left",
            RepairKind::Snapshots => "the snapshot is removed",
            RepairKind::Rollback => "the table goes back to the last snapshot that is whole",
            RepairKind::Manifests => "the manifest is left out of the table's list",
            RepairKind::Duplicates => "the file is listed once",
            RepairKind::Vectors => "its vectors are merged",
            RepairKind::ForeignDeletes => "the deletes are listed where their data file is",
            RepairKind::DataFiles => "the file is taken out of the table",
            RepairKind::DeleteFiles => "the deletes are taken out of the table",
            RepairKind::Sizes => "its size and number of rows are recorded as they are",
            RepairKind::Metrics => "its metrics are recorded as its footer has them",
        }
    }
}
