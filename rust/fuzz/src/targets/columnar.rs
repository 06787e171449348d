//! An ORC or Parquet file to batches: the number of rows does not depend on the columns, and each column read alone
//! equals the same column read with the others.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use lakebed_avro::{Error, ErrorKind, Limits, Result};
use lakebed_columnar::{File, Format, orc_summary, parquet_summary};

use super::{LIMITS, assert_message, assert_valid, sample};

pub fn run(input: &[u8]) {
    let Some(format) = Format::of(input) else { return };
    let schema = match open(format, input, &[], LIMITS) {
        Ok(file) => Arc::clone(file.schema()),
        Err(error) => return assert_location(&error, input),
    };
    let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let all = read(format, input, &names, LIMITS);
    match &all {
        Ok(batch) => {
            assert_valid(batch);
            let none = read(format, input, &[], LIMITS).expect("rows without columns");
            assert_eq!(none.num_rows(), batch.num_rows());
        }
        Err(error) => assert_location(error, input),
    }
    summarised(format, input, &all);
    if sample(input).is_multiple_of(2) {
        cut(format, input);
    } else {
        alone(format, input, &names, &all);
    }
}

/// The summary of a file has the number of its rows, and of a file's end it says how much more is needed.
fn summarised(format: Format, input: &[u8], all: &Result<RecordBatch>) {
    let size = input.len() as u64;
    let rows = |end: &[u8]| match format {
        Format::Orc => Ok(orc_summary(Buffer::from(end), size, LIMITS)?.map(|found| found.rows)),
        Format::Parquet => {
            Ok::<_, Error>(parquet_summary(&Buffer::from(end), size, LIMITS)?.map(|found| found.rows))
        }
    };
    if let (Ok(found), Ok(batch)) = (rows(input), all) {
        assert_eq!(found, Ok(batch.num_rows() as u64));
    }
    let (_, end) = input.split_at(input.len() / 2);
    if let Ok(Err(needed)) = rows(end) {
        assert!((end.len() as u64) < needed && needed <= size);
    }
}

fn open(format: Format, bytes: &[u8], columns: &[String], limits: Limits) -> Result<File> {
    File::open(format, Buffer::from(bytes), columns, limits, None)
}

/// The rows of some columns.
fn read(format: Format, bytes: &[u8], columns: &[String], limits: Limits) -> Result<RecordBatch> {
    let batches = open(format, bytes, columns, limits)?.collect::<Result<Vec<_>>>()?;
    let schema: Option<SchemaRef> = batches.first().map(RecordBatch::schema);
    let schema = schema.unwrap_or_else(|| Arc::new(arrow_schema::Schema::empty()));
    Ok(concat_batches(&schema, &batches).expect("batches of one schema"))
}

/// Reads each column alone, except columns whose name appears twice.
fn alone(format: Format, input: &[u8], names: &[String], all: &Result<RecordBatch>) {
    let once =
        |name: &&String| !name.contains('.') && names.iter().filter(|known| known == name).count() == 1;
    for name in names.iter().filter(once).take(8) {
        let alone = read(format, input, std::slice::from_ref(name), LIMITS);
        match (all, alone) {
            (Ok(all), Ok(alone)) if all.num_rows() > 0 => {
                assert_eq!(all.column_by_name(name), alone.column_by_name(name), "{name}");
            }
            (Ok(_), Err(error)) => panic!("all columns can be read, but {name} alone cannot: {error}"),
            _ => {}
        }
    }
}

/// A truncated file does not end as its format requires, unless its new end looks like the end of a file.
fn cut(format: Format, input: &[u8]) {
    let at = sample(input) as usize / 2 % input.len().max(1);
    let bytes = &input[..at];
    if Format::of(bytes) != Some(format) {
        return;
    }
    if let Err(error) = open(format, bytes, &[], LIMITS) {
        assert_location(&error, bytes);
        let ends = bytes.windows(3).any(|window| window == b"ORC" || window == b"PAR");
        assert!(error.kind() == ErrorKind::Truncated || ends, "{error}");
    }
}

fn assert_location(error: &Error, input: &[u8]) {
    assert_message(&error.to_string());
    let offset = error.location().offset;
    assert!(offset.is_none_or(|offset| offset <= input.len() as u64), "{error}");
}
