//! How much each step of a scan keeps, and why.

use std::sync::Arc;

use super::Scan;
use super::plan::Plan;
use super::program::EntryProgram;
use crate::error::Result;
use crate::iceberg::view::{EntryView, Role};
use crate::scan::{EntrySource, Step, counted};
use crate::view::View;

impl Scan {
    /// How many manifests, entries and files each step keeps, counted in one pass that makes no rows.
    pub(super) fn steps(&self) -> Result<Vec<Step>> {
        let role = match &self.program {
            Some(program) => program.role,
            None if matches!(self.view, View::Plan) => Role::LiveData,
            None if self.view.is_of_entries() => Role::Live,
            None => return Ok(Vec::new()),
        };
        let filter = self.options.table_filter.as_deref();
        counted(|funnel| {
            let plan = Plan::new(&self.table, filter)?;
            plan.count(role, funnel);
            let types = self.table.types()?;
            let view = EntryView::new(role, &types.partition, Some(&[]), None)?;
            let decoding = self.table.decoding().clone();
            let program = EntryProgram::counting(role, view, types, filter, decoding, funnel.clone())?;
            let source = EntrySource::new(Arc::new(program), self.table.clone());
            Ok(source.stream(plan.of_role(role), &self.options))
        })
    }
}
