#![no_main]

lakebed_fuzz::fuzz!("columnar");
