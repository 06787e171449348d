//! The views of several snapshots of a table.

use super::{Format, ScanOptions};
use crate::diff::{AppendScan, DiffScan};
use crate::distributed::Distributed;
use crate::error::{Error, ErrorKind, Result};
use crate::history::{FileHistoryScan, GrowthScan};
use crate::pipeline::both;
use crate::table::{Place, id_at, own};
use crate::view::View;

/// Resolves the views `diff`, `appends`, `growth` and `file_history`.
///
/// # Errors
/// Those of [`Table::resolve`](crate::table::Table::resolve); `UnknownView` for another view.
pub(crate) fn of_snapshots<F: Format>(
    table: &F,
    view: View,
    options: ScanOptions,
) -> Result<Box<dyn Distributed>> {
    Ok(match view {
        View::Diff { before, after } => {
            let at = |table: &F, place: &Place| own::<F>(table.at(place)?.as_ref()).cloned();
            let other = table.clone();
            let (before, after) =
                both(table.core().storage().as_ref(), || at(table, &before), move || at(&other, &after))?;
            Box::new(DiffScan::new(table.clone(), before, after?, &options)?)
        }
        View::Appends { after } => {
            let after = after.map(|place| id_at(table, &place)).transpose()?.flatten();
            Box::new(AppendScan::new(table.clone(), table.appends(after)?.into(), options)?)
        }
        View::Growth => Box::new(GrowthScan::new(table.clone().noting(), options)?),
        View::FileHistory => Box::new(FileHistoryScan::new(table.clone().noting(), options)?),
        _ => return Err(Error::new(ErrorKind::UnknownView, "this is no view of several snapshots")),
    })
}
