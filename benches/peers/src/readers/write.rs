//! What writes manifests: apache-avro, from the records of manifests that are there.

use std::fs;
use std::io::Cursor;
use std::path::PathBuf;

use apache_avro::types::Value;
use apache_avro::{Codec, DeflateSettings, Reader, Schema, Writer, ZstandardSettings};
use miniz_oxide::deflate::CompressionLevel;

use super::{Job, Outcome};
use crate::Result;
use crate::container::{self, Container};

/// What Java closes a block at \[bytes\].
const BLOCK_BYTES: usize = 64_000;

/// One file of records, as it is before the clock starts.
struct Records {
    schema: Schema,
    codec: Codec,
    values: Vec<Value>,
}

/// Reads every file's records; what is timed is writing them again, in memory, at the same codec.
pub fn apache_avro(files: &[PathBuf]) -> Result<Job> {
    let files = files.iter().map(records).collect::<Result<Vec<_>>>()?;
    let rows = files.iter().map(|file| file.values.len() as u64).sum();
    Ok(Box::new(move || {
        let written = files.iter().map(write).collect::<Result<Vec<_>>>()?;
        Ok(Outcome { bytes: Some(written.iter().map(Vec::len).sum()), ..Outcome::new(rows, written) })
    }))
}

fn records(file: &PathBuf) -> Result<Records> {
    let codec = codec(Container::open(file)?.codec);
    let reader = Reader::new(Cursor::new(fs::read(file)?))?;
    let schema = reader.writer_schema().clone();
    Ok(Records { schema, codec, values: reader.collect::<std::result::Result<_, _>>()? })
}

/// A codec at the level that Java's writers of manifests give it.
fn codec(found: container::Codec) -> Codec {
    match found {
        container::Codec::Null => Codec::Null,
        container::Codec::Deflate => Codec::Deflate(DeflateSettings::new(CompressionLevel::BestCompression)),
        container::Codec::Snappy => Codec::Snappy,
        container::Codec::Zstandard => Codec::Zstandard(ZstandardSettings::new(1)),
    }
}

fn write(file: &Records) -> Result<Vec<u8>> {
    let builder = Writer::builder().schema(&file.schema).writer(Vec::new());
    let mut writer = builder.codec(file.codec).block_size(BLOCK_BYTES).build()?;
    for value in &file.values {
        writer.unvalidated_append_value_ref(value)?;
    }
    Ok(writer.into_inner()?)
}
