//! The decoder compared with a slow reference decoder: apache-avro writes random files, and both must read the
//! same values.

mod common;

use std::collections::BTreeMap;

use lakebed_avro::{Blocks, Limits, ReadOptions};

#[test]
fn every_value_is_that_of_the_reference_decoder() {
    let mut rows = 0;
    for seed in 0..common::files(800) {
        let sample = common::sample(seed, 40);
        let batches = common::read(common::memory(&sample.bytes), ReadOptions::default())
            .unwrap_or_else(|error| panic!("seed {seed}: {error}: {:?}", sample.schema));
        let values: Vec<_> = sample.values.iter().collect();
        if let Err(why) = common::check::table(&batches, &values) {
            panic!("seed {seed}: {why}: {:?}", sample.schema);
        }
        rows += values.len();
    }
    assert!(rows > 0);
}

#[test]
fn the_random_files_use_every_codec_and_many_blocks() {
    let mut seen = BTreeMap::new();
    for seed in 0..200 {
        let (header, blocks) =
            Blocks::open(common::memory(&common::sample(seed, 40).bytes), Limits::DEFAULT).unwrap();
        *seen.entry(header.codec.name()).or_insert(0) += blocks.count();
    }
    assert_eq!(seen.len(), 6, "{seen:?}");
    assert!(seen.values().all(|blocks| *blocks > 20), "{seen:?}");
}
