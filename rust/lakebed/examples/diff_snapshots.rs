//! Prints the files that one snapshot has and another has not: `cargo run --example diff_snapshots
//! examples/sample_table 4 10`. Manifests that both have are not read.

use std::error::Error;
use std::io::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use lakebed::Limits;
use lakebed::format::FORMATS;
use lakebed::location::GuardedStorage;
use lakebed::scan::ScanOptions;
use lakebed::storage::Local;
use lakebed::table::Place;
use lakebed::view::View;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [location, before, after] = arguments.as_slice() else {
        return Err("usage: diff_snapshots LOCATION BEFORE AFTER".into());
    };
    diff(location, before.parse()?, after.parse()?, &mut std::io::stdout().lock())
}

/// Writes the files that one of two snapshots has and the other has not.
///
/// # Errors
/// Those of opening the table and of reading its metadata; those of `out`.
pub fn diff(location: &str, before: i64, after: i64, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let storage = GuardedStorage::of_table(Arc::new(Local), location, [], None)?;
    let table = FORMATS.open(location, None, Arc::new(storage), Limits::DEFAULT.into())?;
    let view = View::Diff { before: Place::Snapshot(before), after: Place::Snapshot(after) };
    let columns = ["change", "file_path"].map(str::to_owned).to_vec();
    let options = ScanOptions { columns: Some(columns), ..ScanOptions::default() };
    for batch in table.scan(view, options)?.stream()? {
        let batch = batch?;
        let [changes, paths] = [0, 1].map(|column| batch.column(column).as_string::<i32>());
        for (change, path) in changes.iter().zip(paths).filter_map(|(change, path)| change.zip(path)) {
            writeln!(out, "{} {path}", if change == "added" { '+' } else { '-' })?;
        }
    }
    Ok(())
}
