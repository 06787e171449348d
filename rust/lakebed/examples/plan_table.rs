//! Prints the files that a query must read: `cargo run --example plan_table examples/sample_table "region = 'emea'"`.

use std::error::Error;
use std::io::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use lakebed::Limits;
use lakebed::format::FORMATS;
use lakebed::location::GuardedStorage;
use lakebed::scan::ScanOptions;
use lakebed::storage::Local;
use lakebed::view::View;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let location = arguments.next().ok_or("usage: plan_table LOCATION [FILTER]")?;
    plan(&location, arguments.next(), &mut std::io::stdout().lock())
}

/// Writes the data files that a query with this filter must read with their row counts, then what each step has left.
///
/// # Errors
/// Those of opening the table and of planning; those of `out`.
pub fn plan(location: &str, filter: Option<String>, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let storage = GuardedStorage::of_table(Arc::new(Local), location, [], None)?;
    let table = FORMATS.open(location, None, Arc::new(storage), Limits::DEFAULT.into())?;
    let columns = ["file_path", "record_count"].map(str::to_owned).to_vec();
    let options = ScanOptions { columns: Some(columns), table_filter: filter, ..ScanOptions::default() };
    let plan = table.scan(View::Plan, options)?;
    for batch in plan.stream()? {
        let batch = batch?;
        let paths = batch.column(0).as_string::<i32>();
        let counts = batch.column(1).as_primitive::<Int64Type>();
        for (path, count) in paths.iter().flatten().zip(counts.iter().flatten()) {
            writeln!(out, "{path}\t{count}")?;
        }
    }
    // How many manifests, entries and files each step has left.
    for step in plan.explain()? {
        writeln!(out, "# {}: {} of {}", step.step, step.kept, step.total)?;
    }
    Ok(())
}
