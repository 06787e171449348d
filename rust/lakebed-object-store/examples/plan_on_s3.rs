//! Plans a table on S3: `cargo run --example plan_on_s3 s3://bucket/db/orders "region = 'emea'"`.
//!
//! The environment says how to get there, by names such as `AWS_REGION` and `AWS_ENDPOINT_URL`.

use std::error::Error;
use std::io::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use lakebed::Limits;
use lakebed::format::FORMATS;
use lakebed::location::GuardedStorage;
use lakebed::scan::ScanOptions;
use lakebed::view::View;
use lakebed_object_store::ObjectStorage;
use object_store::aws::AmazonS3Builder;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let location = arguments.next().ok_or("usage: plan_on_s3 LOCATION [FILTER]")?;
    // Not needed with the feature `aws` of `object_store`, which has its own cryptography.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let bucket = location.split('/').take(3).collect::<Vec<_>>().join("/");
    let store = AmazonS3Builder::from_env().with_url(&bucket).build()?;
    let storage = ObjectStorage::new(Arc::new(store), &bucket)?;
    // Paths in the table's metadata lead to no other place.
    let storage = GuardedStorage::of_table(Arc::new(storage), &location, [], None)?;
    let table = FORMATS.open(&location, None, Arc::new(storage), Limits::DEFAULT.into())?;
    let columns = ["file_path", "record_count"].map(str::to_owned).to_vec();
    let options =
        ScanOptions { columns: Some(columns), table_filter: arguments.next(), ..ScanOptions::default() };
    let mut out = std::io::stdout().lock();
    for batch in table.scan(View::Plan, options)?.stream()? {
        let batch = batch?;
        let (paths, counts) =
            (batch.column(0).as_string::<i32>(), batch.column(1).as_primitive::<Int64Type>());
        for (path, count) in paths.iter().flatten().zip(counts) {
            writeln!(out, "{path}\t{}", count.unwrap_or(-1))?;
        }
    }
    Ok(())
}
