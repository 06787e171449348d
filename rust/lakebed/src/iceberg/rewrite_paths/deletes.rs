//! Rewrites the paths in files that name data files: position deletes, and deletion vectors in Puffin
//! (Iceberg specification, "Position Delete Files"; Puffin specification, "Footer structure").

use std::sync::Arc;

use arrow_buffer::Buffer;
use lakebed_avro::Limits;
use serde_json::Value;

use super::super::manifest::canonical::canonical_position_delete;
use super::moved_texts;
use crate::columnar::Format;
use crate::error::{Error, ErrorKind, Result};
use crate::json::parse;
use crate::rewrite_paths::avro::{column_at, place_of, rewritten as rewritten_avro, with_column};
use crate::rewrite_paths::{PositionDeletes, Prefixes};

const PUFFIN: &[u8] = b"PFA1";

/// What follows the JSON of a footer: its length, flags and the magic.
const FOOTER_END: usize = 12;

/// The property of a deletion vector's blob that names its data file.
const REFERENCED: &str = "referenced-data-file";

/// The file with its paths rewritten, by its format.
///
/// # Errors
/// `Unsupported` for position deletes in ORC, and for a compressed footer; those of reading the file;
/// `Location` for a path that no prefix covers.
pub(super) fn rewritten(
    bytes: Buffer,
    prefixes: &Arc<Prefixes>,
    limits: Limits,
    writer: &dyn PositionDeletes,
) -> Result<Buffer> {
    if bytes.starts_with(PUFFIN) {
        return puffin(&bytes, prefixes).map(Buffer::from_vec);
    }
    match Format::of(&bytes) {
        Some(Format::Parquet) => return writer.parquet(bytes, moved_texts(prefixes)),
        Some(Format::Orc) => {
            let message = "position deletes in ORC name data files, and ORC cannot be written: compact the \
                deletes first";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        None => {}
    }
    let written = rewritten_avro(&bytes, limits, |schema| {
        let (schema, _) = canonical_position_delete(schema.clone())?;
        let place = place_of(&schema, &["file_path"]).ok_or_else(|| {
            Error::new(ErrorKind::Required, "the file has no field file_path").in_field("file_path")
        })?;
        Ok(Box::new(move |rows| {
            let moved = prefixes.moved_column(&column_at(rows, &place)?)?;
            with_column(rows, &place, moved)
        }))
    })?;
    Ok(Buffer::from_vec(written))
}

/// A Puffin file with another footer; its blobs are unchanged.
fn puffin(bytes: &[u8], prefixes: &Prefixes) -> Result<Vec<u8>> {
    let cut = || Error::new(ErrorKind::Mismatch, "the footer of the Puffin file is incomplete");
    let end = bytes.len().checked_sub(FOOTER_END).ok_or_else(cut)?;
    let [a, b, c, d, flag, _, _, _, magic @ ..] = bytes.get(end..).unwrap_or_default() else {
        return Err(cut());
    };
    let length = usize::try_from(i32::from_le_bytes([*a, *b, *c, *d])).map_err(|_| cut())?;
    let start = end.checked_sub(length).ok_or_else(cut)?;
    let blobs = start.checked_sub(PUFFIN.len()).and_then(|at| bytes.get(..at)).ok_or_else(cut)?;
    let text = bytes.get(start..end).ok_or_else(cut)?;
    if magic != PUFFIN || bytes.get(blobs.len()..start) != Some(PUFFIN) {
        return Err(cut());
    }
    if flag & 1 != 0 {
        let message = "the footer of the Puffin file is compressed: its paths cannot be rewritten";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    let mut footer: Value = parse(text)?;
    for blob in footer.get_mut("blobs").and_then(Value::as_array_mut).into_iter().flatten() {
        let property = blob.get_mut("properties").and_then(|all| all.get_mut(REFERENCED));
        if let Some(Value::String(path)) = property {
            *path = prefixes.moved(path)?;
        }
    }
    let footer = footer.to_string();
    let length = i32::try_from(footer.len()).map_err(|_| cut())?;
    let flags = bytes.get(end + 4..end + 8).unwrap_or_default();
    Ok([blobs, PUFFIN, footer.as_bytes(), &length.to_le_bytes(), flags, PUFFIN].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_stay_where_they_are() {
        let file = |path: &str| {
            let footer = format!(r#"{{"blobs":[{{"offset":4,"properties":{{"{REFERENCED}":"{path}"}}}}]}}"#);
            let length = i32::try_from(footer.len()).unwrap().to_le_bytes();
            [PUFFIN, b"blob", PUFFIN, footer.as_bytes(), &length, &[0; 4], PUFFIN].concat()
        };
        let prefixes = Prefixes::new(&[("s3://a".to_owned(), "s3://longer".to_owned())]).unwrap();
        assert_eq!(puffin(&file("s3://a/x"), &prefixes).unwrap(), file("s3://longer/x"));
        let whole = file("s3://a/x");
        for end in 0..whole.len() {
            assert!(puffin(&whole[..end], &prefixes).is_err(), "{end}");
        }
        assert_eq!(puffin(&file("s3://b/x"), &prefixes).unwrap_err().kind(), ErrorKind::Location);
    }
}
