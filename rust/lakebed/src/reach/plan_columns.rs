//! What every row of a plan says besides its file, for whoever acts on rows that were reviewed: of which table they are,
//! when they were planned, and by which rules.
//!
//! These are columns, not metadata of the schema: rows pass through files and other libraries' tables on their way, where
//! only columns last, and rows of several plans in one table must not pass for rows of one.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, TimestampMicrosecondArray};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Retention;
use super::listed::OrphanOptions;
use crate::error::{Error, ErrorKind, Result};
use crate::repair::RepairKind;
use crate::scan::ScanOptions;
use crate::table::LakeTable;
use crate::view::{select, with_columns};

/// The kind of files of which nothing says what they are.
const UNKNOWN: &str = "unknown";

/// The same values for all rows of a plan.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PlanColumns {
    table_id: Option<String>,
    planned_ms: i64,
    /// The view and its rules, as an object of JSON.
    plan: String,
}

impl PlanColumns {
    /// Of orphans of a table.
    ///
    /// # Errors
    /// Those of [`LakeTable::identity`].
    pub(super) fn of_orphans(table: &dyn LakeTable, which: &OrphanOptions) -> Result<PlanColumns> {
        PlanColumns::of(table, which.now_ms, &json!({"view": "orphans", "before_ms": which.before_ms}))
    }

    /// Of an expiry of a table.
    ///
    /// # Errors
    /// Those of [`LakeTable::identity`].
    pub(super) fn of_expiry(table: &dyn LakeTable, rules: &Retention) -> Result<PlanColumns> {
        let Retention { older_than_ms, retain_last, now_ms } = rules;
        let plan = json!({
            "view": "expire_plan",
            "branch": table.branch(),
            "older_than_ms": older_than_ms,
            "retain_last": retain_last,
        });
        PlanColumns::of(table, *now_ms, &plan)
    }

    /// Of deletes of a table that apply to no data file.
    ///
    /// # Errors
    /// Those of [`LakeTable::identity`].
    pub(crate) fn of_dangling(table: &dyn LakeTable, now_ms: i64) -> Result<PlanColumns> {
        PlanColumns::of(table, now_ms, &json!({"view": "dangling_deletes"}))
    }

    /// Of repairs of a table.
    ///
    /// # Errors
    /// Those of [`LakeTable::identity`].
    pub(crate) fn of_repair(
        table: &dyn LakeTable,
        kinds: &BTreeSet<RepairKind>,
        now_ms: i64,
    ) -> Result<PlanColumns> {
        let kinds: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
        let plan = json!({"view": "repair_plan", "branch": table.branch(), "kinds": kinds});
        PlanColumns::of(table, now_ms, &plan)
    }

    fn of(table: &dyn LakeTable, planned_ms: i64, plan: &Value) -> Result<PlanColumns> {
        Ok(PlanColumns { table_id: table.identity()?, planned_ms, plan: plan.to_string() })
    }

    /// For the schema of rows that are not read yet.
    pub(crate) fn unread() -> PlanColumns {
        PlanColumns { table_id: None, planned_ms: 0, plan: String::new() }
    }

    /// The rows with these columns, of those that options ask for.
    ///
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`; `Timestamp` for a time of the plan beyond 64 bits.
    pub(crate) fn selected(&self, rows: &RecordBatch, options: &ScanOptions) -> Result<RecordBatch> {
        select(&self.of_rows(rows)?, options.columns.as_deref(), options.filter.as_deref())
    }

    /// The rows with these columns.
    ///
    /// # Errors
    /// `Timestamp` for a time of the plan beyond 64 bits.
    pub(super) fn of_rows(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let count = rows.num_rows();
        let micros = self.planned_ms.checked_mul(1000).ok_or_else(|| {
            Error::new(ErrorKind::Timestamp, format!("planned {} ms since 1970", self.planned_ms))
        })?;
        let times = |time: Option<i64>| -> ArrayRef {
            let times: TimestampMicrosecondArray = std::iter::repeat_n(time, count).collect();
            Arc::new(times.with_timezone("UTC"))
        };
        let text = |text: Option<&str>| -> ArrayRef {
            Arc::new(std::iter::repeat_n(text, count).collect::<StringArray>())
        };
        let lacks = |name: &str| rows.column_by_name(name).is_none();
        let mut more = Vec::new();
        if lacks("modified_at") {
            more.push(("modified_at", times(None)));
        }
        if lacks("kind") {
            more.push(("kind", text(Some(UNKNOWN))));
        }
        more.push(("table_id", text(self.table_id.as_deref())));
        more.push(("planned_at", times(Some(micros))));
        more.push(("plan", text(Some(&self.plan))));
        with_columns(rows, more)
    }
}
