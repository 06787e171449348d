//! Files that are not Avro: refused, or read by whoever is lent.

use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use lakebed::columnar::{ColumnarFile, ColumnarFormat, ColumnarReader, Decoding};
use lakebed::paimon::manifest_list::read_manifest_list;
use lakebed::{Error, ErrorKind, Limits, Result};
use lakebed_avro::{Blocks, ErrorKind as AvroKind, Program, Projection, ReadOptions, Reader, Schema};

/// Reads "ORC" files that are Avro files between two magics.
struct Disguised;

impl ColumnarReader for Disguised {
    fn open(&self, format: ColumnarFormat, bytes: Buffer, columns: &[String]) -> Result<ColumnarFile> {
        assert_eq!(format, ColumnarFormat::Orc);
        if bytes.len() < 100 {
            return Err(Error::new(ErrorKind::Avro(AvroKind::Codec), "no footer"));
        }
        let avro = bytes.slice_with_length(3, bytes.len() - 7);
        let (header, blocks) = Blocks::open(avro.into(), Limits::DEFAULT)?;
        let schema = Schema::parse(header.schema()?, &Limits::DEFAULT)?;
        let program = Program::resolve(&schema, &Projection::Paths(columns.to_vec()), &[])?;
        let reader = Reader::new(&header, blocks, Arc::new(program), None, ReadOptions::default());
        let schema = Arc::clone(reader.schema());
        let batches = reader.map(|batch| batch.map_err(Error::from));
        Ok(ColumnarFile { schema, rows: 1, bytes: None, batches: Box::new(batches) })
    }
}

/// A manifest list of the sample table that records manifests.
fn list() -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sample_table/manifest");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let lists = files.filter(|path| path.to_string_lossy().contains("manifest-list-"));
    lists.map(|path| std::fs::read(path).unwrap()).max_by_key(Vec::len).unwrap()
}

fn disguised() -> Vec<u8> {
    [b"ORC", list().as_slice(), b"ORC\x03"].concat()
}

fn decoding(limits: Limits) -> Decoding {
    Decoding { limits, columnar: Some(Arc::new(Disguised)) }
}

fn read(bytes: Vec<u8>, columns: Option<&[String]>, decoding: &Decoding) -> Result<RecordBatch> {
    read_manifest_list(Buffer::from_vec(bytes), columns, decoding)
}

#[test]
fn without_a_reader_they_are_refused_by_name() {
    for (magic, name) in [("ORC", "ORC"), ("PAR1", "Parquet")] {
        let error = read(magic.as_bytes().repeat(40), None, &Limits::DEFAULT.into()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Avro(AvroKind::Foreign));
        assert!(error.message().contains(name), "{error}");
    }
}

#[test]
fn the_records_are_those_of_avro_and_only_the_columns_asked_for_are_read() {
    let names = [None, Some(["num_added_files".to_owned()])];
    for columns in names.iter().map(|names| names.as_ref().map(<[String; 1]>::as_slice)) {
        let expected = read(list(), columns, &Limits::DEFAULT.into()).unwrap();
        assert!(expected.num_rows() > 0);
        assert_eq!(read(disguised(), columns, &decoding(Limits::DEFAULT)).unwrap(), expected);
    }
}

#[test]
fn rows_and_bytes_are_bounded_whatever_the_footer_says() {
    for limits in [
        Limits { max_rows: 0, ..Limits::DEFAULT },
        Limits { max_rows: 1, ..Limits::DEFAULT },
        Limits { max_file_bytes: 100, ..Limits::DEFAULT },
    ] {
        let error = read(disguised(), None, &decoding(limits)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Avro(AvroKind::Limit), "{error}");
    }
}

#[test]
fn what_ends_without_its_footer_was_cut() {
    let cut = disguised()[..50].to_vec();
    let error = read(cut, None, &decoding(Limits::DEFAULT)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Avro(AvroKind::Truncated));
    assert_eq!(error.location().offset, Some(50));
    let whole = [b"ORC", [0; 40].as_slice(), b"ORC\x03"].concat();
    let error = read(whole, None, &decoding(Limits::DEFAULT)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Avro(AvroKind::Codec));
}
