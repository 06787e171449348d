//! Hostile files: each gives the expected result, in bounded time and memory.

#[path = "common/allocator.rs"]
mod allocator;
mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use lakebed_avro::{Blocks, ErrorKind, Input, Limits, Program, Projection, ReadOptions, Reader, Schema};

use common::hand::{self, long};

const MIB: usize = 1 << 20;

/// The peak of the bytes that one call on this thread allocates, and its time: processor time where the system has
/// it, since other processes may run meanwhile.
fn measured<T>(work: impl FnOnce() -> T) -> (T, usize, Duration) {
    let (start, of_processor) = (Instant::now(), processor_time());
    let (result, most) = allocator::peak(work);
    let taken = processor_time().zip(of_processor).map(|(now, before)| now.saturating_sub(before));
    (result, most, taken.unwrap_or_else(|| start.elapsed()) / common::slowdown())
}

/// The processor time of this thread so far; on Linux only.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

/// The result of reading a file without keeping its batches: the number of rows, or the kind of its error.
fn drain(input: Input, limits: Limits) -> Result<usize, (ErrorKind, String)> {
    let options = ReadOptions { limits, ..ReadOptions::default() };
    let read = || -> lakebed_avro::Result<usize> {
        let mut rows = 0;
        for batch in lakebed_avro::Reader::open(input, options)? {
            rows += batch?.num_rows();
        }
        Ok(rows)
    };
    read().map_err(|error| (error.kind(), error.to_string()))
}

/// Reads `file` from memory and as a stream, within `most` bytes and a few seconds each: without
/// bounds these files would take minutes.
fn bounded(name: &str, file: &[u8], limits: Limits, most: usize) -> Result<usize, ErrorKind> {
    let stream = || Input::stream(Box::new(std::io::Cursor::new(file.to_vec())));
    let inputs: [Box<dyn Fn() -> Input>; 2] = [Box::new(|| common::memory(file)), Box::new(stream)];
    let results = inputs.map(|input| {
        let input = input();
        let (result, peak, time) = measured(|| drain(input, limits));
        assert!(peak <= most, "{name}: {peak} bytes at peak, {most} allowed: {result:?}");
        assert!(time < Duration::from_secs(4), "{name}: took {time:?}: {result:?}");
        result.map_err(|(kind, _)| kind)
    });
    assert_eq!(results[0], results[1], "{name}: memory and stream");
    results[0]
}

#[test]
fn every_case_of_the_table_gives_the_expected_result() {
    for case in common::cases::load("avro_hostile.json") {
        let (result, peak, time) = measured(|| {
            let options = ReadOptions { limits: case.limits, ..ReadOptions::default() };
            common::read(common::memory(&case.file), options)
        });
        let most = 16 * MIB + 2 * case.limits.max_block_bytes as usize;
        assert!(peak <= most, "{}: {peak} bytes at peak, {most} allowed", case.id);
        assert!(time < Duration::from_secs(1), "{}: took {time:?}", case.id);
        if let Err(why) = case.judge(&result) {
            panic!("{}: {why}", case.id);
        }
    }
}

#[test]
fn empty_blocks_cost_nothing() {
    let schema = hand::record(&[("a", r#""long""#)]);
    let mut file = hand::header(&schema, "null");
    file.extend(hand::block(0, &[]).repeat(500_000));
    file.extend(hand::block(1, &long(7)));
    assert_eq!(bounded("empty blocks", &file, Limits::DEFAULT, 8 * MIB), Ok(1));
}

#[test]
fn blocks_of_one_record_cost_their_size() {
    let schema = hand::record(&[("a", r#""long""#)]);
    let mut file = hand::header(&schema, "null");
    file.extend(hand::block(1, &long(7)).repeat(200_000));
    assert_eq!(bounded("one record each", &file, Limits::DEFAULT, 32 * MIB), Ok(200_000));
}

#[test]
fn nulls_of_large_values_are_bounded() {
    // One byte for each null, and a mebibyte for each value.
    let fixed = r#"["null", {"type": "fixed", "name": "f", "size": 1048576}]"#;
    let file = hand::file(&hand::record(&[("a", fixed)]), &[(2000, vec![0; 2000])]);
    let limits = Limits { max_block_bytes: 16 << 20, ..Limits::DEFAULT };
    assert_eq!(bounded("null fixed", &file, limits, 64 * MIB), Err(ErrorKind::Limit));

    // One byte for each null, and a thousand longs for each value.
    let longs: Vec<String> = (0..1000).map(|i| format!(r#"{{"name": "l{i}", "type": "long"}}"#)).collect();
    let wide = format!(r#"["null", {{"type": "record", "name": "w", "fields": [{}]}}]"#, longs.join(","));
    let list = format!(r#"{{"type": "array", "items": {wide}}}"#);
    let nulls = [long(1_000_000), vec![0; 1_000_000], long(0)].concat();
    let file = hand::file(&hand::record(&[("a", &list)]), &[(1, nulls)]);
    assert_eq!(bounded("wide nulls", &file, limits, 64 * MIB), Err(ErrorKind::Limit));
}

#[test]
fn a_list_of_nulls_is_bounded_by_its_limit() {
    let schema = hand::record(&[("a", r#"{"type": "array", "items": "null"}"#)]);
    let file = |count: i64| hand::file(&schema, &[(1, [long(count), long(0)].concat())]);
    let most = Limits::DEFAULT.max_zero_width_items as i64;
    assert_eq!(bounded("nulls", &file(most), Limits::DEFAULT, MIB), Ok(1));
    assert_eq!(bounded("too many nulls", &file(most + 1), Limits::DEFAULT, MIB), Err(ErrorKind::Limit));
}

#[test]
fn records_of_nulls_cost_no_time() {
    let nulls: Vec<String> = (0..2000).map(|i| format!(r#"{{"name": "n{i}", "type": "null"}}"#)).collect();
    let wide = format!(r#"{{"type": "record", "name": "row", "fields": [{}]}}"#, nulls.join(","));
    let file = hand::file(&wide, &[(1_000_000, Vec::new())]);
    assert_eq!(bounded("rows", &file, Limits::DEFAULT, 16 * MIB), Ok(1_000_000));
    let list = format!(r#"{{"type": "array", "items": {wide}}}"#);
    let file = hand::file(&list, &[(1, [long(1_000_000), long(0)].concat())]);
    assert_eq!(bounded("items", &file, Limits::DEFAULT, 16 * MIB), Ok(1));
}

/// Reads a file as `reader`, keeping no batch.
fn drain_as(file: &[u8], reader: &str, limits: Limits) -> Result<usize, ErrorKind> {
    let read = || -> lakebed_avro::Result<usize> {
        let (header, blocks) = Blocks::open(common::memory(file), limits)?;
        let writer = Schema::parse(header.schema()?, &limits)?;
        let reader = Schema::parse_reader(reader, &limits)?;
        let program = Arc::new(Program::resolve_as(&writer, &reader, &Projection::All, &[])?);
        let options = ReadOptions { limits, ..ReadOptions::default() };
        Reader::new(&header, blocks, program, None, options).map(|batch| Ok(batch?.num_rows())).sum()
    };
    read().map_err(|error| error.kind())
}

#[test]
fn a_readers_defaults_are_not_multiplied_without_bound() {
    let empty = hand::record(&[("w", r#""null""#)]);
    let text = "x".repeat(1 << 20);
    let long = format!(
        r#"{{"type": "record", "name": "row", "fields": [
        {{"name": "d", "type": "string", "default": "{text}"}}]}}"#
    );
    let fields: Vec<String> = (0..1000)
        .map(|i| format!(r#"{{"name": "d{i}", "type": ["null", "int"], "default": null}}"#))
        .collect();
    let wide = format!(r#"{{"type": "record", "name": "row", "fields": [{}]}}"#, fields.join(","));
    let limits = Limits { max_block_bytes: 16 << 20, ..Limits::DEFAULT };
    // Records without bytes, in one block; and in many, none of which is over a limit.
    let one = hand::file(&empty, &[(1_000_000, Vec::new())]);
    let many = hand::file(&empty, &vec![(1, Vec::new()); 1000]);
    for (name, reader) in [("a long default", &long), ("many defaults", &wide)] {
        let (result, peak, time) = measured(|| drain_as(&one, reader, limits));
        assert_eq!(result, Err(ErrorKind::Limit), "{name}");
        assert!(peak < 96 * MIB && time < Duration::from_secs(4), "{name}: {peak} bytes, {time:?}");
        let (result, peak, time) = measured(|| drain_as(&many, reader, limits));
        assert_eq!(result, Ok(1000), "{name}");
        assert!(peak < 256 * MIB && time < Duration::from_secs(8), "{name}: {peak} bytes, {time:?}");
    }
}

#[test]
fn nulls_that_become_columns_are_bounded() {
    // No bytes for each null, and a mebibyte for each value where the reader's type is nullable.
    let list = r#"{"type": "array", "items": "null"}"#;
    let wanted = r#"{"type": "array", "items": ["null", {"type": "fixed", "name": "f", "size": 1048576}]}"#;
    let file = hand::file(&hand::record(&[("a", list)]), &[(1, [long(1_000_000), long(0)].concat())]);
    let limits = Limits { max_block_bytes: 16 << 20, ..Limits::DEFAULT };
    let (result, peak, time) = measured(|| drain_as(&file, &hand::record(&[("a", wanted)]), limits));
    assert_eq!(result, Err(ErrorKind::Limit));
    assert!(peak < 64 * MIB && time < Duration::from_secs(4), "{peak} bytes, {time:?}");
}

#[test]
fn long_symbols_are_not_multiplied_without_bound() {
    let symbols = format!(r#"{{"type": "enum", "name": "e", "symbols": ["{}"]}}"#, "S".repeat(1 << 16));
    let file = hand::file(&hand::record(&[("a", &symbols)]), &[(60_000, vec![0; 60_000])]);
    assert_eq!(bounded("long symbols", &file, Limits::DEFAULT, 288 * MIB), Err(ErrorKind::Limit));
}

#[test]
fn long_names_are_not_multiplied_by_reuse() {
    let name = "n".repeat(1 << 15);
    let fields: Vec<String> = (0..10).map(|i| format!(r#"{{"name": "{name}{i}", "type": "int"}}"#)).collect();
    let first = format!(r#"{{"type": "record", "name": "r", "fields": [{}]}}"#, fields.join(","));
    let uses: Vec<String> = (0..9000).map(|i| format!(r#"{{"name": "f{i}", "type": "r"}}"#)).collect();
    let row = format!(
        r#"{{"type": "record", "name": "row", "fields": [{{"name": "f", "type": {first}}}, {}]}}"#,
        uses.join(",")
    );
    let file = hand::header(&row, "null");
    assert_eq!(bounded("long names", &file, Limits::DEFAULT, 128 * MIB), Err(ErrorKind::Limit));
}

#[test]
fn many_metadata_keys_are_refused() {
    let keys: Vec<u8> = (0..1_000_000)
        .flat_map(|i| [hand::bytes(format!("avro.{i}").as_bytes()), hand::bytes(b"")].concat())
        .collect();
    let file = [b"Obj\x01".to_vec(), long(1_000_000), keys, long(0), hand::SYNC.to_vec()].concat();
    assert_eq!(bounded("metadata", &file, Limits::DEFAULT, 96 * MIB), Err(ErrorKind::Limit));
}

#[test]
fn inflated_bytes_of_a_file_are_bounded_block_by_block() {
    let schema = hand::record(&[("a", r#""bytes""#)]);
    let value = hand::bytes(&vec![0; 4 << 20]);
    let block = hand::block(1, &zstd_of(&value));
    let file = [hand::header(&schema, "zstandard"), block.repeat(500)].concat();
    let limits = Limits { max_file_bytes: 64 << 20, max_block_bytes: 8 << 20, ..Limits::DEFAULT };
    assert_eq!(bounded("inflated", &file, limits, 160 * MIB), Err(ErrorKind::Limit));
}

#[test]
fn a_small_file_with_much_content_is_inflated_step_by_step() {
    let schema = hand::record(&[("a", r#""bytes""#)]);
    let block = hand::block(1, &zstd_of(&hand::bytes(&vec![0; 4 << 20])));
    let file = [hand::header(&schema, "zstandard"), block.repeat(200)].concat();
    assert!(file.len() < MIB, "all of it is one unit");
    assert_eq!(bounded("800 MiB in one unit", &file, Limits::DEFAULT, 160 * MIB), Ok(200));
}

fn zstd_of(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    apache_avro::Codec::Zstandard(apache_avro::ZstandardSettings::default()).compress(&mut bytes).unwrap();
    bytes
}
