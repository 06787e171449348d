#![no_main]

lakebed_fuzz::fuzz!("content_entry");
