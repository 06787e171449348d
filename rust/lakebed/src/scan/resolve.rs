//! Which scan makes the rows of a view, for every format.

use super::{Format, ScanOptions, ViewScan};
use crate::dangling::DanglingDeletes;
use crate::diff::{AppendScan, DiffScan};
use crate::distributed::Distributed;
use crate::error::Result;
use crate::history::{ChangesScan, FileHistoryScan, GrowthScan};
use crate::pipeline::both;
use crate::reach::{Orphans, Reachable, UnreachedFiles};
use crate::repair::RepairPlan;
use crate::system::MetadataScan;
use crate::table::{Place, id_at, own};
use crate::view::View;

/// Resolves a view of a table.
///
/// # Errors
/// Those of [`Table::resolve`](crate::table::LakeTable::resolve).
pub(crate) fn resolve<F: Format>(
    table: &F,
    view: View,
    options: ScanOptions,
) -> Result<Box<dyn Distributed>> {
    let table = table.clone();
    Ok(match view {
        View::Diff { before, after } => {
            let at = |table: &F, place: &Place| own::<F>(table.at(place)?.as_ref()).cloned();
            let other = table.clone();
            let (before, after) =
                both(table.core().storage().as_ref(), || at(&table, &before), move || at(&other, &after))?;
            Box::new(DiffScan::new(table, before, after?, &options)?)
        }
        View::Appends { after } => {
            let after = after.map(|place| id_at(&table, &place)).transpose()?.flatten();
            let appends = table.appends(after)?.into();
            Box::new(AppendScan::new(table, appends, options)?)
        }
        View::Changes { after } => {
            let after = after.map(|place| id_at(&table, &place)).transpose()?.flatten();
            Box::new(ChangesScan::new(table.noting(), after, options)?)
        }
        View::Growth => Box::new(GrowthScan::new(table.noting(), options)?),
        View::FileHistory => Box::new(FileHistoryScan::new(table.noting(), options)?),
        View::DanglingDeletes { now_ms } => Box::new(DanglingDeletes::new(table.noting(), now_ms, options)?),
        View::RepairPlan { kinds, described, now_ms } => {
            Box::new(RepairPlan::new(table.noting(), kinds, described, now_ms, options)?)
        }
        View::Verify { data_files } => table.verify(data_files, options)?,
        View::Reachable => Box::new(Reachable::new(table.reach(false)?, options)?),
        View::Orphans { which, newest } => {
            let reach = table.reach(newest.is_some())?;
            Box::new(Orphans::new(reach, table.newest_reach(newest)?, which, options)?)
        }
        View::ExpirePlan { retention, newest } => {
            Box::new(UnreachedFiles::expired(table.newest_reach(newest)?, retention, options)?)
        }
        View::Freed { before, newest } => table.freed(before, newest, options)?,
        View::MetadataTable(name) => Box::new(MetadataScan::new(table, F::SYSTEM_TABLES, &name, options)?),
        view => Box::new(ViewScan::new(table, view, options)?),
    })
}
