//! What can be done about a broken table: the view `repair_plan`, a row for each repair.
//!
//! # Advice for whoever changes this
//! People change tables by these rows. A row says how many rows engines will no longer return, and how many they will
//! return again; where that is not known it is null, and nobody acts on the row. What cannot be looked at, such as a
//! file that the storage refuses to open, ends the plan: it is no file that is absent.

mod described;
mod duplicates;
mod format;
mod kind;
mod scan;

use arrow_array::RecordBatch;

pub use described::Described;
pub(crate) use format::{TableRepairs, each_left_out};
pub use kind::RepairKind;
pub(crate) use scan::{RepairPlan, damage, listed_files};

use crate::error::{Error, Result};
use crate::table::LakeTable;
use crate::view::{Rows, whole};
use crate::write::ExistingFile;

/// A file that says which version of the table is the newest, or the oldest, and names none.
#[derive(Debug, Clone)]
pub struct WrongHint {
    /// Its path.
    pub path: String,
    /// What is wrong with it.
    pub problem: String,
    /// What it must say; `None` where nothing tells.
    pub text: Option<String>,
}

/// How many rows engines return less or more after a change; `None` where that is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RowChange {
    /// Rows that are lost.
    pub(crate) lost: Option<i64>,
    /// Rows that are returned again.
    pub(crate) back: Option<i64>,
}

impl RowChange {
    /// No row changes.
    pub(crate) const NONE: RowChange = RowChange { lost: Some(0), back: Some(0) };
    /// Nobody knows.
    pub(crate) const UNKNOWN: RowChange = RowChange { lost: None, back: None };

    /// Rows that are lost, and none that are returned again.
    pub(crate) fn lost(rows: Option<i64>) -> RowChange {
        RowChange { lost: rows, back: Some(0) }
    }

    /// Rows that are returned again, and none that are lost.
    pub(crate) fn back(rows: Option<i64>) -> RowChange {
        RowChange { lost: Some(0), back: rows }
    }

    /// Both changes; unknown where one is, or where a sum does not fit.
    pub(crate) fn and(self, other: RowChange) -> RowChange {
        let sum = |one: Option<i64>, other: Option<i64>| one?.checked_add(other?);
        RowChange { lost: sum(self.lost, other.lost), back: sum(self.back, other.back) }
    }
}

/// A repair of a table.
#[derive(Debug, Clone)]
pub(crate) struct Repair {
    kind: RepairKind,
    /// The file that is wrong or absent.
    file_path: String,
    /// The offset of a deletion vector in it.
    content_offset: Option<i64>,
    /// The size that is recorded of it \[bytes\].
    size: Option<i64>,
    /// The snapshot that the table will be at.
    snapshot_id: Option<i64>,
    problem: String,
    change: RowChange,
}

impl Repair {
    pub(crate) fn new(kind: RepairKind, file_path: String, problem: &str, change: RowChange) -> Repair {
        let problem = problem.to_owned();
        Repair { kind, file_path, content_offset: None, size: None, snapshot_id: None, problem, change }
    }

    /// The same of a delete file of this size \[bytes\], or of the vector at this offset in it.
    pub(crate) fn of_vector(self, offset: Option<i64>, size: i64) -> Repair {
        Repair { content_offset: offset, size: Some(size), ..self }
    }

    /// One that leaves the table at a snapshot or removes one, since a file cannot be read or contradicts others.
    pub(crate) fn back_to(kind: RepairKind, snapshot_id: i64, error: &Error, change: RowChange) -> Repair {
        let path = error.location().path.clone().unwrap_or_default();
        Repair { snapshot_id: Some(snapshot_id), ..Repair::new(kind, path, error.message(), change) }
    }
}

/// Repairs as rows.
///
/// # Errors
/// Those of making a batch.
fn rows(repairs: &[Repair]) -> Result<RecordBatch> {
    let rows = Rows(repairs.iter());
    let columns = vec![
        ("file_path", rows.texts(|repair| repair.file_path.as_str())),
        ("kind", rows.texts(|repair| repair.kind.name())),
        ("problem", rows.texts(|repair| repair.problem.as_str())),
        ("repair", rows.texts(|repair| repair.kind.words())),
        ("rows_lost", rows.longs(|repair| repair.change.lost)),
        ("rows_back", rows.longs(|repair| repair.change.back)),
        ("snapshot_id", rows.longs(|repair| repair.snapshot_id)),
        ("content_offset", rows.longs(|repair| repair.content_offset)),
        ("file_size_in_bytes", rows.longs(|repair| repair.size)),
    ];
    whole(columns, repairs.len())
}

/// Writes those of a table's wrong hints anew that have these paths.
///
/// # Errors
/// Those of the storage.
pub fn rewrite_hints(table: &dyn LakeTable, paths: &[String]) -> Result<()> {
    let storage = table.core().storage();
    let hints = table.wrong_hints()?.into_iter().filter(|hint| paths.contains(&hint.path));
    for (path, text) in hints.filter_map(|hint| Some((hint.path, hint.text?))) {
        storage.publish(&path, ExistingFile::Replace, text.as_bytes())?;
    }
    Ok(())
}
