//! Compares sums over the live files of a table with those that its snapshot records.

use serde::{Deserialize, Serialize};

use super::entries::CheckedColumns;
use super::finding::{Finding, Severity};
use crate::error::ErrorKind;

/// The number of kinds of content: data, position deletes, equality deletes.
const CONTENTS: usize = 3;

/// Files and rows of each content, wide enough for any sum of what entries record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ContentTotals {
    pub(crate) files: [i128; CONTENTS],
    pub(crate) rows: [i128; CONTENTS],
}

/// One number of the totals.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) enum Number {
    DataFiles,
    Rows,
    DeleteFiles,
    PositionDeletes,
    EqualityDeletes,
}

impl Number {
    pub(crate) fn of(self, totals: &ContentTotals) -> i128 {
        match self {
            Number::DataFiles => totals.files[0],
            Number::Rows => totals.rows[0],
            Number::DeleteFiles => totals.files[1] + totals.files[2],
            Number::PositionDeletes => totals.rows[1],
            Number::EqualityDeletes => totals.rows[2],
        }
    }
}

/// A total that a snapshot records.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Claim {
    /// The file that records it, and the field.
    pub(crate) path: String,
    pub(crate) field: String,
    pub(crate) value: i64,
    /// The sum that it must equal.
    pub(crate) of: Number,
}

impl ContentTotals {
    /// Adds the files that entries add, and subtracts those that they delete.
    pub(super) fn take(&mut self, entries: &CheckedColumns) {
        let content = |row: usize| entries.contents.as_ref().map_or(0, |contents| contents.value(row));
        for (row, (sign, rows)) in entries.signs.values().iter().zip(&entries.rows).enumerate() {
            self.count(content(row), rows.unwrap_or_default().into(), (*sign).into());
        }
    }

    /// Adds a file of a content with so many rows, or with the sign -1 subtracts it.
    pub(crate) fn count(&mut self, content: i32, rows: i128, sign: i128) {
        let Ok(place) = usize::try_from(content) else { return };
        if let (Some(files), Some(all)) = (self.files.get_mut(place), self.rows.get_mut(place)) {
            *files += sign;
            *all += rows * sign;
        }
    }

    pub(crate) fn add(&mut self, other: &ContentTotals) {
        let all = self.files.iter_mut().chain(&mut self.rows);
        all.zip(other.files.iter().chain(&other.rows)).for_each(|(all, one)| *all += one);
    }

    /// The recorded sums that are wrong.
    pub(super) fn contradicted(&self, claims: &[Claim]) -> Vec<Finding> {
        let wrong = claims.iter().filter(|claim| claim.of.of(self) != i128::from(claim.value));
        let finding = |claim: &Claim| {
            let message =
                format!("{} is recorded, but the live files have {}", claim.value, claim.of.of(self));
            let finding = Finding::new(Severity::Warning, ErrorKind::Mismatch.name(), message);
            finding.in_file(&claim.path).in_field(&claim.field)
        };
        wrong.map(finding).collect()
    }
}
