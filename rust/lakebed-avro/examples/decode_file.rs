//! Decodes an Avro file and prints its columns: `cargo run --example decode_file FILE [COLUMN…]`.

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use arrow_array::Array;
use lakebed_avro::{Blocks, Input, Program, Projection, ReadOptions, Reader, Schema};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: decode_file FILE [COLUMN…]")?;
    decode(&path, arguments.collect(), &mut std::io::stdout().lock())
}

/// Writes how many rows an Avro file has, and of each column its type, nulls and bytes in memory.
///
/// # Errors
/// Those of reading and decoding the file; those of `out`.
pub fn decode(path: &str, columns: Vec<String>, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let options = ReadOptions::default();
    let (header, blocks) = Blocks::open(Input::stream(Box::new(File::open(path)?)), options.limits)?;
    let schema = Schema::parse(header.schema()?, &options.limits)?;
    let wanted = if columns.is_empty() { Projection::All } else { Projection::Paths(columns) };
    let program = Arc::new(Program::resolve(&schema, &wanted, &[])?);
    let fields = program.schema().fields().clone();
    let (mut rows, mut nulls, mut bytes) = (0, vec![0; fields.len()], vec![0; fields.len()]);
    for batch in Reader::new(&header, blocks, program, None, options) {
        let batch = batch?;
        rows += batch.num_rows();
        for (index, column) in batch.columns().iter().enumerate() {
            nulls[index] += column.null_count();
            bytes[index] += column.get_array_memory_size();
        }
    }
    writeln!(out, "{rows} rows")?;
    for ((field, nulls), bytes) in fields.iter().zip(nulls).zip(bytes) {
        writeln!(out, "{}: {}, {nulls} nulls, {bytes} bytes", field.name(), field.data_type())?;
    }
    Ok(())
}
