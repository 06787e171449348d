//! The options of a table that writers follow (Paimon's `CoreOptions.java`).

use lakebed_avro::{Codec, WriteOptions};

use super::columnar::ColumnarOptions;
use super::layout::Layout;
use super::records::FileOptions;
use crate::columnar::{self, Format};
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::schema::TableSchema;
use crate::write::{MANIFEST_TARGET_BYTES, ZSTANDARD_LEVEL};

/// How many statistics of a column are kept (Paimon's `SimpleColStatsCollector.java`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatsMode {
    /// None.
    None,
    /// The null count.
    Counts,
    /// The null count, and bounds of this many code points or bytes.
    Truncate(usize),
    /// The null count, and full bounds.
    Full,
}

/// Java's default for columns.
const DEFAULT_STATS: &str = "truncate(16)";

impl StatsMode {
    /// The mode of one column.
    ///
    /// # Errors
    /// `Unsupported` for an unknown mode.
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

/// Whether an option is true; `default` where it is not set.
pub(in crate::paimon) fn is_on(schema: &TableSchema, key: &str, default: bool) -> bool {
    schema.option(key).map_or(default, |value| value.trim().eq_ignore_ascii_case("true"))
}

/// A format of manifests, manifest lists and index manifests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ManifestFormat {
    Avro,
    Columnar(Format),
}

/// The option that names the format of manifests.
pub(super) const MANIFEST_FORMAT: &str = "manifest.format";

impl ManifestFormat {
    /// The format that the table's option names, if it is set.
    ///
    /// # Errors
    /// `Unsupported` for an unknown one.
    pub(super) fn of_option(schema: &TableSchema) -> Result<Option<ManifestFormat>> {
        let format = |name: &str| match name.to_ascii_lowercase().as_str() {
            "avro" => Ok(ManifestFormat::Avro),
            "orc" => Ok(ManifestFormat::Columnar(Format::Orc)),
            "parquet" => Ok(ManifestFormat::Columnar(Format::Parquet)),
            _ => Err(unsupported(MANIFEST_FORMAT)),
        };
        schema.option(MANIFEST_FORMAT).map(format).transpose()
    }

    /// The format of a file.
    pub(super) fn of(bytes: &[u8]) -> ManifestFormat {
        Format::of(bytes).map_or(ManifestFormat::Avro, ManifestFormat::Columnar)
    }

    /// The format's own name.
    pub(super) fn name(self) -> &'static str {
        match self {
            ManifestFormat::Avro => "Avro",
            ManifestFormat::Columnar(format) => format.name(),
        }
    }
}

/// How the table's manifests are written.
pub(super) enum Container {
    Avro(FileOptions),
    Columnar(ColumnarOptions),
}

impl Container {
    /// The container of a format, by the table's options; a file in Avro has the sync marker.
    ///
    /// # Errors
    /// `Unsupported` for a codec that the format does not have.
    pub(super) fn of(schema: &TableSchema, format: ManifestFormat, sync: [u8; 16]) -> Result<Container> {
        match format {
            ManifestFormat::Avro => Ok(Container::Avro(avro_options(schema, sync)?)),
            ManifestFormat::Columnar(format) => {
                Ok(Container::Columnar(ColumnarOptions { format, codec: columnar_codec(schema, format)? }))
            }
        }
    }
}

const COMPRESSION: &str = "manifest.compression";

fn compression(schema: &TableSchema) -> String {
    schema.option(COMPRESSION).unwrap_or("zstd").to_ascii_lowercase()
}

fn zstandard_level(schema: &TableSchema) -> Result<Option<i32>> {
    const KEY: &str = "file.compression.zstd-level";
    schema.option(KEY).map(|text| text.trim().parse().map_err(|_| unsupported(KEY))).transpose()
}

fn avro_options(schema: &TableSchema, sync: [u8; 16]) -> Result<FileOptions> {
    let codec = match compression(schema).as_str() {
        "zstd" => Codec::Zstandard,
        name => Codec::named(name).map_err(|_| unsupported(COMPRESSION))?,
    };
    let level = if codec == Codec::Zstandard { zstandard_level(schema)? } else { None };
    // On one thread: a manifest ends at a size, which is not known while blocks wait for others.
    Ok(FileOptions::new(Layout::Current, WriteOptions { codec, level, ..WriteOptions::new(sync) }))
}

/// The codec by the name that the format has for it in Java (`CompressionKind`, `CompressionCodecName`).
fn columnar_codec(schema: &TableSchema, format: Format) -> Result<columnar::Codec> {
    use columnar::Codec as C;
    match (format, compression(schema).as_str()) {
        (_, "zstd") => Ok(C::Zstandard { level: zstandard_level(schema)?.unwrap_or(ZSTANDARD_LEVEL) }),
        (_, "snappy") => Ok(C::Snappy),
        (Format::Orc, "none") | (Format::Parquet, "uncompressed") => Ok(C::None),
        (Format::Orc, "zlib") | (Format::Parquet, "gzip") => Ok(C::Deflate),
        (Format::Orc, "lz4") | (Format::Parquet, "lz4_raw") => Ok(C::Lz4),
        _ => Err(unsupported(COMPRESSION)),
    }
}

/// The size at which a manifest ends \[bytes\].
///
/// # Errors
/// `Unsupported` for a text that is not a size.
pub(super) fn manifest_target(schema: &TableSchema) -> Result<u64> {
    const KEY: &str = "manifest.target-file-size";
    let Some(text) = schema.option(KEY) else { return Ok(MANIFEST_TARGET_BYTES) };
    memory_size(text).ok_or_else(|| unsupported(KEY))
}

/// The bytes of an option such as `128 mb`, whose units are powers of 1024 (Paimon's `MemorySize.java`); `None` for a text
/// that is no size.
pub fn memory_size(text: &str) -> Option<u64> {
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
    // Values of options are kept out of messages: some are keys to a storage.
    Error::new(ErrorKind::Unsupported, format!("tables with this value of option {key:?} cannot be written"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        let sizes = [("8 mb", 8 << 20), ("1024", 1024), ("2KB", 2048), ("3 gibibytes", 3 << 30)];
        for (text, bytes) in sizes {
            assert_eq!(memory_size(text), Some(bytes), "{text}");
        }
        for text in ["", "mb", "1.5 mb", "8 parsecs", "99999999999999 tb"] {
            assert_eq!(memory_size(text), None, "{text}");
        }
    }
}
