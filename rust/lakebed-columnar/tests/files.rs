//! Manifests and manifest lists that Paimon's Java wrote, whole and damaged.

#[path = "../../lakebed-avro/tests/common/allocator.rs"]
mod allocator;

use std::path::Path;

use allocator::{held, peak};
use arrow_array::{Array, RecordBatch};
use arrow_buffer::Buffer;
use arrow_schema::DataType;
use lakebed_avro::{ErrorKind, Limits, Result};
use lakebed_columnar::{File, Format, orc_summary, parquet_summary};

/// The files of both formats that have rows.
fn golden() -> Vec<(Format, Vec<u8>)> {
    let mut files = Vec::new();
    for folder in ["manifest_fmt_orc", "manifest_fmt_parquet"] {
        let folder =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/golden/paimon").join(folder);
        for file in folder.join("manifest").read_dir().unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            let format = Format::of(&bytes).unwrap();
            if rows(&read(format, &bytes, None, Limits::DEFAULT).unwrap()) > 0 {
                files.push((format, bytes));
            }
        }
    }
    assert!(files.len() >= 8);
    files
}

fn open(format: Format, bytes: &[u8], columns: &[&str], limits: Limits) -> Result<File> {
    let columns: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
    File::open(format, Buffer::from(bytes), &columns, limits, None)
}

/// All rows of a file, with all columns or some.
fn read(format: Format, bytes: &[u8], columns: Option<&[&str]>, limits: Limits) -> Result<Vec<RecordBatch>> {
    let schema = open(format, bytes, &[], limits)?.schema().clone();
    let all: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    open(format, bytes, columns.unwrap_or(&all), limits)?.collect()
}

fn rows(batches: &[RecordBatch]) -> usize {
    batches.iter().map(RecordBatch::num_rows).sum()
}

#[test]
fn columns_read_alone_equal_those_read_with_others() {
    for (format, bytes) in golden() {
        let all = read(format, &bytes, None, Limits::DEFAULT).unwrap();
        assert!(rows(&all) > 0);
        for (number, field) in all[0].schema().fields().iter().enumerate() {
            let alone = read(format, &bytes, Some(&[field.name(), "_NOT_THERE"]), Limits::DEFAULT).unwrap();
            assert_eq!(alone[0].num_columns(), 1);
            assert_eq!(alone[0].column(0), all[0].column(number), "{field}");
            let DataType::Struct(children) = field.data_type() else { continue };
            for child in children {
                let path = format!("{}.{}", field.name(), child.name());
                let alone = read(format, &bytes, Some(&[&path]), Limits::DEFAULT).unwrap();
                let DataType::Struct(found) = alone[0].column(0).data_type() else { panic!("{path}") };
                assert_eq!(found.as_ref(), std::slice::from_ref(child), "{path}");
            }
        }
        let none = read(format, &bytes, Some(&["_NOT_THERE", "_VERSION.below"]), Limits::DEFAULT).unwrap();
        assert_eq!((none[0].num_columns(), rows(&none)), (0, rows(&all)));
    }
}

#[test]
fn every_prefix_is_truncated_at_its_end() {
    for (format, bytes) in golden() {
        for end in 4..bytes.len() {
            let error = read(format, &bytes[..end], None, Limits::DEFAULT).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Truncated, "{end}: {error}");
            assert_eq!(error.location().offset, Some(end as u64));
        }
    }
}

#[test]
fn every_bound_holds() {
    for (format, bytes) in golden() {
        let limits = Limits::DEFAULT;
        let bounds = [
            ("max_rows", Limits { max_rows: 0, ..limits }),
            ("max_cells", Limits { max_cells: 1, ..limits }),
            ("max_file_bytes", Limits { max_file_bytes: 10, ..limits }),
            ("max_block_bytes", Limits { max_block_bytes: 10, ..limits }),
            ("max_header_bytes", Limits { max_header_bytes: 10, ..limits }),
            ("max_schema_nodes", Limits { max_schema_nodes: 3, ..limits }),
            ("max_value_bytes", Limits { max_value_bytes: 3, ..limits }),
        ];
        for (name, limits) in bounds {
            let error = read(format, &bytes, None, limits).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Limit, "{name}: {error}");
            assert!(error.message().starts_with(name), "{name}: {error}");
        }
        let error = read(format, &bytes, None, Limits { max_schema_depth: 1, ..limits }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Depth);
    }
}

/// Errors have a location in the file, and no memory is leaked.
#[test]
fn flipped_bits_are_refused_or_give_valid_rows() {
    let (mut refused, mut read_all) = (0, 0);
    for (format, bytes) in golden() {
        let before = held();
        for at in (4..bytes.len()).step_by(19) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            match read(format, &flipped, None, Limits::DEFAULT) {
                Err(error) => {
                    let offset = error.location().offset;
                    assert!(offset.is_none_or(|offset| offset <= bytes.len() as u64), "{error}");
                    refused += 1;
                }
                Ok(batches) => {
                    for column in batches.iter().flat_map(RecordBatch::columns) {
                        column.to_data().validate_full().unwrap();
                    }
                    read_all += 1;
                }
            }
        }
        assert_eq!(held(), before);
    }
    assert!(refused > 500 && read_all > 50, "{refused} refused, {read_all} read");
}

/// Files on which the crates for both formats panic, or run out of memory; the README beside them says how.
#[test]
fn what_other_crates_fail_on_is_read_or_refused_in_little_memory() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/columnar_crates");
    let mut files = 0;
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "md") {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let format = Format::of(&bytes).unwrap();
        let ((), peak) = peak(|| match read(format, &bytes, None, Limits::DEFAULT) {
            Err(error) => assert_ne!(error.kind(), ErrorKind::Io, "{}: {error}", path.display()),
            Ok(batches) => {
                for column in batches.iter().flat_map(RecordBatch::columns) {
                    column.to_data().validate_full().unwrap();
                }
            }
        });
        assert!(peak < 16 << 20, "{}: {peak} bytes", path.display());
        files += 1;
    }
    assert!(files >= 6, "{files} files");
}

/// The rows of a file by its last bytes; `Err` of `Ok` is how many of them are needed.
fn summarised(format: Format, bytes: &[u8], end: usize) -> Result<std::result::Result<u64, u64>> {
    let (size, end) = (bytes.len() as u64, Buffer::from(&bytes[bytes.len() - end..]));
    match format {
        Format::Orc => Ok(orc_summary(end, size, Limits::DEFAULT)?.map(|found| found.rows)),
        Format::Parquet => Ok(parquet_summary(&end, size, Limits::DEFAULT)?.map(|found| found.rows)),
    }
}

#[test]
fn the_end_of_a_file_says_how_many_rows_it_has() {
    for (format, bytes) in golden() {
        let all = rows(&read(format, &bytes, None, Limits::DEFAULT).unwrap()) as u64;
        assert_eq!(summarised(format, &bytes, bytes.len()).unwrap(), Ok(all));
        let least = 256.min(bytes.len());
        let needed = match summarised(format, &bytes, least).unwrap() {
            Err(needed) => usize::try_from(needed).unwrap(),
            Ok(_) => least,
        };
        assert_eq!(summarised(format, &bytes, needed).unwrap(), Ok(all));
        for end in 4..bytes.len() {
            assert!(summarised(format, &bytes[..end], end).is_err(), "{end}");
        }
    }
}

#[test]
fn no_flipped_bit_of_an_end_is_a_panic() {
    for (format, mut bytes) in golden() {
        let mut refused = 0;
        // Nothing before them is looked at.
        for at in bytes.len().saturating_sub(1500)..bytes.len() {
            for bit in [0, 4, 7] {
                bytes[at] ^= 1 << bit;
                refused += usize::from(summarised(format, &bytes, bytes.len()).is_err());
                bytes[at] ^= 1 << bit;
            }
        }
        assert!(refused > 20);
    }
}
