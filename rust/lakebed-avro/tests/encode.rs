//! Written files can be read, by the decoder and by apache-avro, the reference decoder.

mod common;

use std::sync::Arc;

use apache_avro::Reader as ApacheReader;
use apache_avro::types::Value;
use arrow_array::{
    ArrayRef, BinaryArray, Decimal128Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray,
    TimestampMicrosecondArray, types::Int32Type,
};
use arrow_schema::{DataType, Field, Schema as ArrowSchema};
use lakebed_avro::schema::from_arrow;
use lakebed_avro::{Blocks, CODECS, Codec, ErrorKind, Limits, ReadOptions, Result, WriteOptions, Writer};

use common::rng::Rng;
use common::{check, files, memory, read, sample};

const SYNC: [u8; 16] = *b"0123456789abcdef";

fn write(schema: &str, batches: &[RecordBatch], options: WriteOptions) -> Result<Vec<u8>> {
    let arrow = batches.first().map_or_else(|| Arc::new(ArrowSchema::empty()), RecordBatch::schema);
    let mut writer = Writer::new(Vec::new(), schema, &arrow, options)?;
    batches.iter().try_for_each(|batch| writer.write(batch))?;
    writer.finish()
}

fn text(bytes: &[u8]) -> String {
    Blocks::open(memory(bytes), Limits::DEFAULT).unwrap().0.schema().unwrap().to_owned()
}

fn rows(batches: &[RecordBatch]) -> usize {
    batches.iter().map(RecordBatch::num_rows).sum()
}

/// Random files, written again with every codec and any block size: the reference decoder reads the same values.
#[test]
fn the_reference_decoder_reads_what_is_written() {
    for seed in 0..files(150) {
        let sample = sample(seed, 60);
        let batches = read(memory(&sample.bytes), ReadOptions::default()).unwrap();
        if batches.is_empty() {
            continue;
        }
        let mut rng = Rng::new(seed ^ 0x5eed);
        let (codec, _) = *rng.pick(&CODECS);
        let block_bytes = 1 + rng.below(2000) as usize;
        let options = WriteOptions { codec, block_bytes, verify: true, ..WriteOptions::new(SYNC) };
        let bytes = write(&text(&sample.bytes), &batches, options.clone())
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let threads = WriteOptions { threads: 1 + rng.below(4) as usize, ..options };
        assert_eq!(bytes, write(&text(&sample.bytes), &batches, threads).unwrap(), "the same bytes again");
        let reference = ApacheReader::new(bytes.as_slice()).unwrap();
        let values: Vec<Value> = reference.map(|value| value.unwrap()).collect();
        assert_eq!(values.len(), rows(&batches), "seed {seed}");
        let again = read(memory(&bytes), ReadOptions::default()).unwrap();
        check::table(&batches, &values.iter().collect::<Vec<_>>())
            .unwrap_or_else(|why| panic!("{seed}: {why}"));
        check::table(&again, &sample.values.iter().collect::<Vec<_>>())
            .unwrap_or_else(|why| panic!("seed {seed}: {why}"));
    }
}

/// Blocks of another file are copied unchanged after the rows, with the marker of this file.
#[test]
fn blocks_are_copied() {
    let schema = r#"{"type": "record", "name": "r", "fields": [{"name": "id", "type": "long"}]}"#;
    let batch = |ids: std::ops::Range<i64>| {
        let column = Arc::new(Int64Array::from_iter_values(ids));
        RecordBatch::try_from_iter([("id", column as ArrayRef)]).unwrap()
    };
    for (codec, _) in CODECS {
        let options = WriteOptions { codec, block_bytes: 50, ..WriteOptions::new(SYNC) };
        let before = write(schema, &[batch(3..200)], options.clone()).unwrap();
        let options = WriteOptions { sync: *b"another marker!!", ..options };
        let copied = |limits: Limits| -> Result<Vec<u8>> {
            let options = WriteOptions { limits, ..options.clone() };
            let mut writer = Writer::new(Vec::new(), schema, &batch(0..0).schema(), options)?;
            writer.write(&batch(0..3))?;
            for block in Blocks::open(memory(&before), Limits::DEFAULT)?.1 {
                writer.copy_block(&block?)?;
            }
            assert_eq!(writer.rows(), 200);
            writer.finish()
        };
        let bytes = copied(Limits::DEFAULT).unwrap();
        let again = read(memory(&bytes), ReadOptions::default()).unwrap();
        let ids = again.iter().flat_map(|batch| {
            let ids: &Int64Array = batch.column(0).as_any().downcast_ref().unwrap();
            ids.values().to_vec()
        });
        assert!(ids.eq(0..200), "{codec:?}");
        let payloads = |bytes: &[u8]| -> Vec<Vec<u8>> {
            let blocks = Blocks::open(memory(bytes), Limits::DEFAULT).unwrap().1;
            blocks.map(|block| block.unwrap().payload.to_vec()).collect()
        };
        assert_eq!(payloads(&bytes)[1..], payloads(&before));
        let few = Limits { max_rows: 150, ..Limits::DEFAULT };
        assert_eq!(copied(few).unwrap_err().kind(), ErrorKind::Limit);
    }
}

/// Several megabytes are divided among threads; blocks are written in file order.
#[test]
fn threads_write_the_bytes_that_one_writes() {
    let column = Arc::new(Int64Array::from_iter_values((0..600_000).map(|row| row * row)));
    let batches = [RecordBatch::try_from_iter([("id", column as ArrayRef)]).unwrap()];
    for (codec, _) in CODECS {
        let options = WriteOptions { codec, block_bytes: 300_000, ..WriteOptions::new(SYNC) };
        let [one, three] = [1, 3].map(|threads| {
            write(
                r#"{"type": "record", "name": "r", "fields": [{"name": "id", "type": "long"}]}"#,
                &batches,
                WriteOptions { threads, ..options.clone() },
            )
            .unwrap()
        });
        assert!(one == three, "{codec:?}");
        assert_eq!(rows(&read(memory(&three), ReadOptions::default()).unwrap()), 600_000);
    }
}

/// Of a sliced batch only its rows are written, and an inferred schema gives the same Arrow types when it is read.
#[test]
fn slices_and_inferred_schemas() {
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([
        Some(vec![Some(1), None]),
        None,
        Some(vec![]),
        Some(vec![Some(-5)]),
    ]);
    let times = TimestampMicrosecondArray::from(vec![Some(1), None, Some(-1), Some(i64::MAX)]);
    let decimals = Decimal128Array::from(vec![Some(0), Some(-1), Some(127), Some(-129)]);
    let columns: [(&str, ArrayRef); 5] = [
        ("id", Arc::new(Int64Array::from(vec![1, 2, 3, i64::MIN]))),
        ("name", Arc::new(StringArray::from(vec![Some("a"), None, Some("é"), Some("")]))),
        ("lists", Arc::new(lists)),
        ("at", Arc::new(times.with_timezone("UTC"))),
        ("price", Arc::new(decimals.with_precision_and_scale(9, 2).unwrap())),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, name != "id")),
    )
    .unwrap();
    let schema = from_arrow(&batch.schema()).unwrap();
    for slice in [batch.clone(), batch.slice(1, 3), batch.slice(3, 1), batch.slice(4, 0)] {
        let options = WriteOptions { verify: true, ..WriteOptions::new(SYNC) };
        let bytes = write(&schema, std::slice::from_ref(&slice), options).unwrap();
        let back = read(memory(&bytes), ReadOptions::default()).unwrap();
        assert_eq!(rows(&back), slice.num_rows());
        for back in back {
            assert_eq!(back.columns(), slice.columns());
            assert_eq!(back.schema().fields(), slice.schema().fields());
        }
    }
}

fn one(name: &str, column: ArrayRef) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable([(name, column, true)]).unwrap()
}

fn field(of: &str) -> String {
    format!(r#"{{"type": "record", "name": "r", "fields": [{{"name": "a", "type": {of}}}]}}"#)
}

/// Values that do not fit are refused with field and row, types before a byte is written.
#[test]
fn values_that_do_not_fit_are_refused_with_field_and_row() {
    let longs: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
    let times: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![1000, 1]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["x", "z"]));
    let bytes: ArrayRef = Arc::new(BinaryArray::from_vec(vec![b"ab", b"a"]));
    let decimals = Decimal128Array::from(vec![127, 128]).with_precision_and_scale(9, 2).unwrap();
    let decimal =
        r#"{"type": "fixed", "name": "f", "size": 1, "logicalType": "decimal", "precision": 9, "scale": 2}"#;
    let cases: [(&str, ArrayRef, ErrorKind, Option<u64>); 8] = [
        (r#""long""#, longs.clone(), ErrorKind::Required, Some(1)),
        (r#""int""#, longs.clone(), ErrorKind::Type, None),
        (r#"["null", "string"]"#, longs, ErrorKind::Type, None),
        (
            r#"{"type": "long", "logicalType": "local-timestamp-millis"}"#,
            times.clone(),
            ErrorKind::Timestamp,
            Some(1),
        ),
        (r#"{"type": "long", "logicalType": "timestamp-micros"}"#, times, ErrorKind::Type, None),
        (r#"{"type": "enum", "name": "e", "symbols": ["x", "y"]}"#, texts, ErrorKind::Enum, Some(1)),
        (r#"{"type": "fixed", "name": "f", "size": 2}"#, bytes, ErrorKind::Length, Some(1)),
        (decimal, Arc::new(decimals), ErrorKind::Decimal, Some(1)),
    ];
    for (of, column, kind, row) in cases {
        let error = write(&field(of), &[one("a", column)], WriteOptions::new(SYNC)).unwrap_err();
        let place = (error.location().field.as_deref(), error.location().record);
        assert_eq!((error.kind(), place), (kind, (Some("a"), row)), "{of}: {error}");
    }
    for name in ["b", ""] {
        let column: ArrayRef = Arc::new(Int32Array::from(vec![1]));
        let error = write(&field(r#""int""#), &[one(name, column)], WriteOptions::new(SYNC)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnknownColumn, "{error}");
    }
}

/// What readers would refuse is not written.
#[test]
fn limits_hold_for_writers_too() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["abc", "defghi"]));
    let bounds = [
        Limits { max_value_bytes: 5, ..Limits::DEFAULT },
        Limits { max_rows: 1, ..Limits::DEFAULT },
        Limits { max_block_bytes: 6, ..Limits::DEFAULT },
        Limits { max_file_bytes: 6, ..Limits::DEFAULT },
        Limits { max_cells: 1, ..Limits::DEFAULT },
        Limits { max_header_bytes: 20, ..Limits::DEFAULT },
    ];
    for limits in bounds {
        let options = WriteOptions { limits, ..WriteOptions::new(SYNC) };
        let error = write(&field(r#""string""#), &[one("a", texts.clone())], options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{limits:?}");
    }
    let none: ArrayRef = Arc::new(arrow_array::NullArray::new(10));
    let limits = Limits { max_zero_width_items: 4, ..Limits::DEFAULT };
    let options = WriteOptions { limits, verify: true, ..WriteOptions::new(SYNC) };
    let bytes = write(&field(r#""null""#), &[one("a", none)], options).unwrap();
    let back = read(memory(&bytes), ReadOptions { limits, ..ReadOptions::default() }).unwrap();
    assert_eq!(rows(&back), 10);
}

#[test]
fn headers_keep_the_metadata_of_the_caller() {
    let column: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let metadata = vec![("b".to_owned(), vec![0, 255]), ("a".to_owned(), Vec::new())];
    let options =
        WriteOptions { metadata, codec: Codec::Zstandard, level: Some(-5), ..WriteOptions::new(SYNC) };
    let bytes = write(&field(r#""int""#), &[one("a", column.clone())], options.clone()).unwrap();
    let (header, _) = Blocks::open(memory(&bytes), Limits::DEFAULT).unwrap();
    let keys: Vec<&str> = header.metadata.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["avro.schema", "avro.codec", "b", "a"]);
    assert_eq!((header.get("b"), header.sync), (Some([0, 255].as_slice()), SYNC));
    let twice = vec![("avro.codec".to_owned(), b"null".to_vec())];
    let error =
        write(&field(r#""int""#), &[one("a", column.clone())], WriteOptions { metadata: twice, ..options });
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Duplicate);
    for (codec, level) in [(Codec::Null, 1), (Codec::Deflate, 13), (Codec::Bzip2, 0)] {
        let options = WriteOptions { codec, level: Some(level), ..WriteOptions::new(SYNC) };
        let error = write(&field(r#""int""#), &[one("a", column.clone())], options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Codec);
    }
}

#[test]
fn names_that_avro_forbids_are_refused_when_a_schema_is_made() {
    for (name, of) in [("a b", DataType::Int32), ("", DataType::Int32), ("a", DataType::UInt64)] {
        assert!(from_arrow(&ArrowSchema::new(vec![Field::new(name, of, true)])).is_err(), "{name:?}");
    }
}
