//! The inputs of the benches of this crate: manifests as Iceberg and Paimon write them, and simple rows.
//!
//! Files are built byte by byte from one seed, so that they are the same on every machine.
#![allow(dead_code)] // each program uses a part

pub mod cases;
#[path = "../../tests/common/varint.rs"]
mod varint;
pub mod work;

use arrow_buffer::Buffer;
use lakebed_avro::{Codec, Compressor};

/// The size at which Java ends a block \[bytes\].
const BLOCK_BYTES: usize = 64_000;
const SYNC: [u8; 16] = *b"0123456789abcdef";

/// A file, and the size of its blocks.
pub struct File {
    /// The whole file.
    pub bytes: Buffer,
    /// The size of its blocks before compression \[bytes\].
    pub inflated: u64,
}

/// Makes one record.
type Record = fn(&mut Bytes, u64, usize);

/// A schema, and a function that writes its records.
pub struct Shape {
    /// Its name in the benches.
    pub name: &'static str,
    /// The number of the table's columns, of which the statistics of a manifest have values.
    columns: usize,
    schema: fn() -> String,
    record: Record,
}

/// An Iceberg manifest with full metrics of 12 columns.
pub const ICEBERG: Shape =
    Shape { name: "iceberg", columns: 12, schema: iceberg_schema, record: iceberg_entry };
/// An Iceberg manifest with full metrics of 200 columns.
pub const ICEBERG_WIDE: Shape =
    Shape { name: "iceberg-wide", columns: 200, schema: iceberg_schema, record: iceberg_entry };
/// A Paimon manifest with statistics of 12 columns.
pub const PAIMON: Shape = Shape { name: "paimon", columns: 12, schema: paimon_schema, record: paimon_entry };
/// Avro's own example: a text and two numbers.
pub const WEATHER: Shape = Shape { name: "weather", columns: 3, schema: weather_schema, record: weather_row };

impl Shape {
    /// A file of this many records.
    pub fn file(&self, rows: u64, codec: Codec) -> File {
        let mut file = Bytes(b"Obj\x01".to_vec());
        file.long(2);
        for text in ["avro.schema", &(self.schema)(), "avro.codec", codec.name()] {
            file.bytes(text.as_bytes());
        }
        file.long(0);
        file.0.extend(SYNC);
        let mut compressor = Compressor::new(codec, None).expect("a level of the codec's own");
        let (mut block, mut count, mut inflated) = (Bytes::default(), 0, 0);
        for row in 0..rows {
            (self.record)(&mut block, row, self.columns);
            count += 1;
            if block.0.len() >= BLOCK_BYTES || row + 1 == rows {
                inflated += block.0.len() as u64;
                file.long(count);
                file.bytes(compressor.compress(&block.0).expect("a block of bytes"));
                file.0.extend(SYNC);
                (count, block.0) = (0, Vec::new());
            }
        }
        File { bytes: Buffer::from(file.0), inflated }
    }
}

/// Avro's binary encoding, appended.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn long(&mut self, value: i64) {
        self.0.extend(varint::long(value));
    }

    fn bytes(&mut self, value: &[u8]) {
        self.long(value.len() as i64);
        self.0.extend(value);
    }

    /// An array of one block.
    fn array(&mut self, items: usize, mut item: impl FnMut(&mut Bytes, usize)) {
        self.long(items as i64);
        (0..items).for_each(|number| item(self, number));
        self.long(0);
    }
}

/// A number that looks random: splitmix64's finalizer.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

fn below(seed: u64, bound: u64) -> i64 {
    (mix(seed) % bound) as i64
}

fn iceberg_schema() -> String {
    let map = |name: &str, id: u32, value: &str| {
        format!(
            r#"{{"name": "{name}", "field-id": {id}, "type": ["null", {{"type": "array", "logicalType": "map",
            "items": {{"type": "record", "name": "k{id}", "fields": [{{"name": "key", "type": "int"}},
            {{"name": "value", "type": "{value}"}}]}}}}]}}"#
        )
    };
    let maps = [
        map("column_sizes", 108, "long"),
        map("value_counts", 109, "long"),
        map("null_value_counts", 110, "long"),
        map("lower_bounds", 125, "bytes"),
        map("upper_bounds", 128, "bytes"),
    ];
    format!(
        r#"{{"type": "record", "name": "manifest_entry", "fields": [
        {{"name": "status", "type": "int"}}, {{"name": "snapshot_id", "type": ["null", "long"]}},
        {{"name": "sequence_number", "type": ["null", "long"]}},
        {{"name": "data_file", "type": {{"type": "record", "name": "r2", "fields": [
        {{"name": "content", "type": "int"}}, {{"name": "file_path", "type": "string"}},
        {{"name": "file_format", "type": "string"}},
        {{"name": "partition", "type": {{"type": "record", "name": "r102", "fields": [
        {{"name": "region", "type": ["null", "string"]}}, {{"name": "day", "type": ["null", "int"]}}]}}}},
        {{"name": "record_count", "type": "long"}}, {{"name": "file_size_in_bytes", "type": "long"}}, {}]}}}}]}}"#,
        maps.join(", ")
    )
}

fn iceberg_entry(out: &mut Bytes, row: u64, columns: usize) {
    out.long(1);
    out.long(0); // snapshot_id and sequence_number are inherited
    out.long(0);
    out.long(0);
    let (region, day) = (format!("region-{:03}", row % 20), row % 50);
    let unique = mix(row);
    out.bytes(
        format!("s3://bucket/db/events/data/region={region}/day={day}/{unique:032x}-1.parquet").as_bytes(),
    );
    out.bytes(b"PARQUET");
    out.long(1);
    out.bytes(region.as_bytes());
    out.long(1);
    out.long(day as i64);
    out.long(1000 + below(row, 9000));
    out.long(1_000_000 + below(row + 1, 9_000_000));
    let value = |column: usize, bound| below(row * 1000 + column as u64, bound);
    for bound in [100_000, 10_000, 50] {
        out.long(1);
        out.array(columns, |out, column| {
            out.long(column as i64 + 1);
            out.long(value(column, bound));
        });
    }
    for upper in [0, 1] {
        out.long(1);
        out.array(columns, |out, column| {
            out.long(column as i64 + 1);
            out.bytes(&bound(column, value(column, 1_000_000) + upper));
        });
    }
}

/// A bound: a text in every third column, else four or eight bytes.
fn bound(column: usize, value: i64) -> Vec<u8> {
    match column % 3 {
        0 => format!("key-{value:012}").into_bytes(),
        1 => (value as i32).to_le_bytes().to_vec(),
        _ => value.to_le_bytes().to_vec(),
    }
}

fn paimon_schema() -> String {
    let stats = |name: &str, of: &str| {
        format!(
            r#"{{"name": "{name}", "type": {{"type": "record", "name": "{of}", "fields": [
            {{"name": "_MIN_VALUES", "type": "bytes"}}, {{"name": "_MAX_VALUES", "type": "bytes"}},
            {{"name": "_NULL_COUNTS", "type": ["null", {{"type": "array", "items": ["null", "long"]}}]}}]}}}}"#
        )
    };
    format!(
        r#"{{"type": "record", "name": "record", "fields": [
        {{"name": "_VERSION", "type": "int"}}, {{"name": "_KIND", "type": "int"}},
        {{"name": "_PARTITION", "type": "bytes"}}, {{"name": "_BUCKET", "type": "int"}},
        {{"name": "_TOTAL_BUCKETS", "type": "int"}},
        {{"name": "_FILE", "type": {{"type": "record", "name": "file", "fields": [
        {{"name": "_FILE_NAME", "type": "string"}}, {{"name": "_FILE_SIZE", "type": "long"}},
        {{"name": "_ROW_COUNT", "type": "long"}}, {{"name": "_MIN_KEY", "type": "bytes"}},
        {{"name": "_MAX_KEY", "type": "bytes"}}, {}, {},
        {{"name": "_SCHEMA_ID", "type": "long"}}, {{"name": "_LEVEL", "type": "int"}}]}}}}]}}"#,
        stats("_KEY_STATS", "key"),
        stats("_VALUE_STATS", "value")
    )
}

fn paimon_entry(out: &mut Bytes, row: u64, columns: usize) {
    out.long(2);
    out.long(0);
    out.bytes(format!("\0\0\0\u{1}\0\0\0\0\0\0\0\0\n\0\0\0\u{10}\0\0\0dt-{:013}", row % 500).as_bytes());
    out.long((row % 100) as i64);
    out.long(100);
    out.bytes(format!("data-{:032x}-0.parquet", mix(row)).as_bytes());
    out.long(1_000_000 + below(row + 1, 9_000_000));
    out.long(10_000 + below(row, 90_000));
    out.bytes(b"\0\0\0\0");
    out.bytes(b"\0\0\0\0");
    for columns in [0, columns] {
        for upper in [0, 1] {
            let bounds =
                (0..columns).flat_map(|column| bound(column, below(row + column as u64, 1 << 32) + upper));
            out.bytes(&bounds.collect::<Vec<_>>());
        }
        out.long(1);
        match columns {
            0 => out.long(0),
            _ => out.array(columns, |out, column| {
                out.long(1);
                out.long(below(row * 1000 + column as u64, 50));
            }),
        }
    }
    out.long(0);
    out.long(0);
}

fn weather_schema() -> String {
    r#"{"type": "record", "name": "Weather", "fields": [{"name": "station", "type": "string"},
    {"name": "time", "type": "long"}, {"name": "temp", "type": "int"}]}"#
        .to_owned()
}

fn weather_row(out: &mut Bytes, row: u64, _columns: usize) {
    out.bytes(format!("{:06}-{:05}", 11_000 + below(row, 1000), below(row + 1, 99_999)).as_bytes());
    out.long(1_700_000_000_000 + row as i64 * 997);
    out.long(below(row, 800) - 400);
}
