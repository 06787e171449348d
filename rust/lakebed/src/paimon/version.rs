//! The version in every record of Paimon's manifests and lists.

use arrow_array::{Int32Array, RecordBatch};
use arrow_buffer::Buffer;
use arrow_schema::DataType;
use arrow_select::concat::concat_batches;

use super::fields::VERSION;
use crate::columnar::Decoding;
use crate::conform::conform;
use crate::error::{Error, ErrorKind, Result};
use crate::record::{RecordReader, RecordResolver, find, typed};

/// All records of a small file, which must have this version.
///
/// The resolver decodes [`VERSION`] in addition to its columns.
pub(crate) fn read_records(
    bytes: Buffer,
    resolver: &RecordResolver,
    version: i64,
    decoding: &Decoding,
) -> Result<RecordBatch> {
    let mut reader = RecordReader::open(bytes, resolver, None, decoding, 1)?;
    let mut batches = Vec::new();
    let mut first = 0;
    while let Some(batch) = reader.next() {
        let batch = batch?;
        check_versions(&batch, first, version)?;
        batches.push(reader.conform(&batch, Some(first))?);
        first += batch.num_rows() as u64;
    }
    concat_batches(reader.schema(), &batches)
        .map_err(|error| Error::new(ErrorKind::Required, error.to_string()))
}

fn check_versions(batch: &RecordBatch, first: u64, wanted: i64) -> Result<()> {
    let versions = conform(&find(batch, VERSION)?, &DataType::Int32).map_err(|_| wrong_version(0, wanted))?;
    let versions: &Int32Array = typed(&versions, VERSION)?;
    let wrong = versions.iter().position(|version| version.map(i64::from) != Some(wanted));
    wrong.map_or(Ok(()), |row| {
        let found = i64::from(versions.value(row));
        Err(wrong_version(found, wanted).in_record(first + row as u64))
    })
}

/// The error for a manifest or list of an unsupported version.
#[cold]
pub(crate) fn wrong_version(found: i64, wanted: i64) -> Error {
    let message = match found {
        1 if wanted == 2 => {
            "written by Paimon 0.1, whose manifests cannot be read; recreate the table".to_owned()
        }
        _ => format!("{VERSION} is {found}, not {wanted}"),
    };
    Error::new(ErrorKind::Version, message).in_field("version")
}
