//! What the test binaries have in common: random schemas, values and files, and the comparison with apache-avro, the
//! reference decoder.
#![allow(dead_code)] // Each test binary uses a part of it.

pub mod cases;
pub mod check;
pub mod hand;
pub mod rng;
pub mod schemas;
pub mod values;
pub mod varint;

use apache_avro::types::Value;
use apache_avro::{
    Bzip2Settings, Codec, DeflateSettings, Reader as ApacheReader, Schema as ApacheSchema, Writer,
    XzSettings, ZstandardSettings,
};
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use lakebed_avro::{Input, ReadOptions, Reader, Result};

use rng::Rng;
use values::Generator;

/// A random file, and what the reference decoder reads from it.
pub struct Sample {
    /// The seed from which it was made.
    pub seed: u64,
    /// The schema, as parsed by the reference decoder.
    pub schema: ApacheSchema,
    /// The file.
    pub bytes: Vec<u8>,
    /// Its records, as read by the reference decoder.
    pub values: Vec<Value>,
}

fn codec(rng: &mut Rng) -> Codec {
    match rng.below(8) {
        0 => Codec::Deflate(DeflateSettings::default()),
        1 => Codec::Snappy,
        2 => Codec::Zstandard(ZstandardSettings::default()),
        3 => Codec::Bzip2(Bzip2Settings::default()),
        4 => Codec::Xz(XzSettings::new(1)),
        _ => Codec::Null,
    }
}

/// The file of `seed`, of up to `rows` records.
pub fn sample(seed: u64, rows: u64) -> Sample {
    let mut rng = Rng::new(seed);
    let json = schemas::row(&mut rng);
    let schema = ApacheSchema::parse(&json).unwrap_or_else(|error| panic!("seed {seed}: {error}: {json}"));
    let mut writer = Writer::builder()
        .schema(&schema)
        .writer(Vec::new())
        .codec(codec(&mut rng))
        .block_size(rng.below(400) as usize)
        .marker(rng.bytes(16).try_into().unwrap_or_default())
        .build()
        .unwrap();
    let generator = Generator::new(&schema);
    for _ in 0..rng.below(rows + 1) {
        let value = generator.row(&mut rng, &schema);
        writer.append_value(value).unwrap_or_else(|error| panic!("seed {seed}: {error}: {json}"));
    }
    writer.flush().unwrap();
    let bytes = writer.into_inner().unwrap();
    let reference = ApacheReader::new(bytes.as_slice()).unwrap();
    let values = reference.map(|value| value.unwrap_or_else(|error| panic!("seed {seed}: {error}: {json}")));
    Sample { seed, schema, values: values.collect(), bytes }
}

/// How many times slower than usual everything is: `LAKEBED_SLOWDOWN`, which runs with sanitizers set, else 1.
pub fn slowdown() -> u32 {
    std::env::var("LAKEBED_SLOWDOWN").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// How many random files a test reads: `LAKEBED_RANDOM_FILES`, else `usual`.
pub fn files(usual: u64) -> u64 {
    std::env::var("LAKEBED_RANDOM_FILES").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// An input over bytes in memory.
pub fn memory(bytes: &[u8]) -> Input {
    Input::from(Buffer::from(bytes))
}

/// All batches of a file, or the error.
pub fn read(input: Input, options: ReadOptions) -> Result<Vec<RecordBatch>> {
    Reader::open(input, options)?.collect()
}
