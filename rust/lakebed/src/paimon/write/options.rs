//! What a table's options say of writing (Paimon's `CoreOptions.java`).

use lakebed_avro::{Codec, WriteOptions};

use super::layout::Layout;
use super::records::FileOptions;
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::schema::TableSchema;

/// How much is kept of a column (Paimon's `SimpleColStatsCollector.java`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatsMode {
    /// Nothing.
    None,
    /// How many nulls.
    Counts,
    /// Bounds of so many code points or bytes, besides.
    Truncate(usize),
    /// Bounds as they are, besides.
    Full,
}

/// What Java keeps of columns by default.
const DEFAULT_STATS: &str = "truncate(16)";

impl StatsMode {
    /// The mode of one column.
    ///
    /// # Errors
    /// `Unsupported` for a text that is none.
    pub(super) fn of(schema: &TableSchema, column: &str) -> Result<StatsMode> {
        let own = schema.option(&format!("fields.{column}.stats-mode"));
        let text = own.or_else(|| schema.option("metadata.stats-mode")).unwrap_or(DEFAULT_STATS);
        let text = text.trim().to_ascii_lowercase();
        let length = |text: &str| text.strip_prefix("truncate(")?.strip_suffix(')')?.trim().parse().ok();
        match text.as_str() {
            "none" => Ok(StatsMode::None),
            "counts" => Ok(StatsMode::Counts),
            "full" => Ok(StatsMode::Full),
            _ => match length(&text) {
                Some(length) if length > 0 => Ok(StatsMode::Truncate(length)),
                _ => Err(unsupported("metadata.stats-mode")),
            },
        }
    }
}

/// Whether an option is set to true; `default` where it says nothing.
pub(super) fn is_on(schema: &TableSchema, key: &str, default: bool) -> bool {
    schema.option(key).map_or(default, |value| value.trim().eq_ignore_ascii_case("true"))
}

/// How the table's manifests are written.
///
/// # Errors
/// `Unsupported` for a format other than Avro, which readers of the table go by, and for a codec that Avro does
/// not have.
pub(super) fn file_options(schema: &TableSchema, sync: [u8; 16]) -> Result<FileOptions> {
    if schema.option("manifest.format").is_some_and(|format| !format.eq_ignore_ascii_case("avro")) {
        let message = "option \"manifest.format\": manifests in ORC and Parquet are read here and written by Paimon alone, and engines \
                       read all of a table by that option: commit to it with Paimon";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    let name = schema.option("manifest.compression").unwrap_or("zstd");
    let codec = match name.to_ascii_lowercase().as_str() {
        "zstd" => Codec::Zstandard,
        name => Codec::named(name).map_err(|_| unsupported("manifest.compression"))?,
    };
    let level = schema.option("file.compression.zstd-level").filter(|_| codec == Codec::Zstandard);
    let level = level.map(|text| text.trim().parse().map_err(|_| unsupported("file.compression.zstd-level")));
    let level = level.transpose()?;
    // On one thread: a manifest ends at its size, which is not known of blocks that wait for others.
    Ok(FileOptions::new(Layout::Current, WriteOptions { codec, level, ..WriteOptions::new(sync) }))
}

/// The size at which a manifest ends \[bytes\].
///
/// # Errors
/// `Unsupported` for a text that is not a size.
pub(super) fn manifest_target(schema: &TableSchema) -> Result<u64> {
    const KEY: &str = "manifest.target-file-size";
    let Some(text) = schema.option(KEY) else { return Ok(8 << 20) };
    size(text).ok_or_else(|| unsupported(KEY))
}

/// A number of bytes with a unit, as in Paimon's `MemorySize.java`: all units are powers of 1024.
fn size(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at_checked(digits)?;
    let power = match unit.trim() {
        "" | "b" | "bytes" => 0,
        "k" | "kb" | "kibibytes" => 10,
        "m" | "mb" | "mebibytes" => 20,
        "g" | "gb" | "gibibytes" => 30,
        "t" | "tb" | "tebibytes" => 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << power)
}

#[cold]
fn unsupported(key: &str) -> Error {
    // Values of options stay out of messages: some are keys to a storage.
    Error::new(ErrorKind::Unsupported, format!("nothing is written with this value of option {key:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        let sizes = [("8 mb", 8 << 20), ("1024", 1024), ("2KB", 2048), ("3 gibibytes", 3 << 30)];
        for (text, bytes) in sizes {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for text in ["", "mb", "1.5 mb", "8 parsecs", "99999999999999 tb"] {
            assert_eq!(size(text), None, "{text}");
        }
    }
}
