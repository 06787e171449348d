//! The peak memory of decoding, and the errors where memory cannot be allocated.

#[path = "common/allocator.rs"]
mod allocator; // The other test binaries do not need it.
mod common;

use std::io::Cursor;

use allocator::{fail_at, held, peak};
use arrow_array::{Array, RecordBatch};
use common::hand::{block, bytes, header, long, record};
use common::{memory, read};
use lakebed_avro::{CODECS, Codec, Compressor, ErrorKind, Input, ReadOptions, Reader, Result};

/// The memory that decoding may take besides a block and the rows: buffers of codecs, schemas, programs.
const SPARE: usize = 16 << 20;
/// Only blocks and files are as large in these tests.
const LARGE: usize = 4 << 20;

/// A file of one block that inflates to five megabytes.
fn large(codec: Codec) -> Vec<u8> {
    let payload = bytes(&vec![b'x'; 5 << 20]);
    let compressed = Compressor::new(codec, None).unwrap().compress(&payload).unwrap().to_vec();
    [header(&record(&[("a", r#""bytes""#)]), codec.name()), block(1, &compressed)].concat()
}

fn stream(file: &[u8]) -> Input {
    Input::stream(Box::new(Cursor::new(file.to_vec())))
}

/// Reads a file while its first large allocation fails: that is an error, no memory is leaked, and the file can
/// be read afterwards.
fn assert_survived(input: impl Fn() -> Input) {
    let options = ReadOptions::default();
    drop(read(input(), options.clone()).unwrap());
    let before = held();
    let opened = input();
    fail_at(LARGE);
    let error = read(opened, options.clone()).expect_err("there was no memory");
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    assert!(error.message().starts_with("no memory for "), "{error}");
    assert_eq!((error.location().block, error.location().offset.is_some()), (Some(0), true), "{error}");
    drop(error);
    assert_eq!(held(), before);
    assert_eq!(read(input(), options).unwrap().iter().map(RecordBatch::num_rows).sum::<usize>(), 1);
}

#[test]
fn no_memory_for_a_block_is_an_error() {
    for (codec, _) in CODECS.into_iter().filter(|(codec, _)| *codec != Codec::Null) {
        let file = large(codec);
        assert_survived(|| memory(&file));
    }
}

#[test]
fn no_memory_for_a_block_of_a_stream_is_an_error() {
    let file = large(Codec::Null);
    assert_survived(|| stream(&file));
}

/// A file of `blocks` blocks of a thousand rows: numbers, texts and lists, some of them null.
fn rows(codec: Codec, blocks: usize) -> Vec<u8> {
    let list = r#"["null", {"type": "array", "items": "long"}]"#;
    let schema = record(&[("id", r#""long""#), ("name", r#"["null", "string"]"#), ("items", list)]);
    let mut file = header(&schema, codec.name());
    let mut compressor = Compressor::new(codec, None).unwrap();
    for first in (0..blocks as i64).map(|number| number * 1000) {
        let row = |id: i64| {
            // Codecs can hardly compress these.
            let number = id.wrapping_mul(0x5851_f42d_4c95_7f2d);
            let name = [long(1), bytes(format!("{number:x}").as_bytes())].concat();
            let items = [long(1), long(2), long(number), long(id), long(0)].concat();
            let or_null = |value: Vec<u8>, one_in: i64| if id % one_in == 0 { long(0) } else { value };
            [long(id), or_null(name, 3), or_null(items, 5)].concat()
        };
        let payload = (first..first + 1000).flat_map(row).collect::<Vec<_>>();
        file.extend(block(1000, compressor.compress(&payload).unwrap()));
    }
    file
}

fn bytes_of(batches: &[RecordBatch]) -> usize {
    batches.iter().flat_map(RecordBatch::columns).map(|column| column.get_array_memory_size()).sum()
}

#[test]
fn a_file_takes_half_as_much_again_as_its_rows() {
    for (codec, _) in CODECS {
        let file = rows(codec, 100);
        let (batches, most) = peak(|| read(memory(&file), ReadOptions::default()).unwrap());
        let size = bytes_of(&batches);
        assert!(most <= SPARE + size + size / 2, "{codec:?}: {most} bytes for rows of {size}");
    }
}

#[test]
fn batch_by_batch_the_memory_does_not_depend_on_the_length_of_the_file() {
    let each = |file: &[u8]| {
        let ((), most) = peak(|| {
            let rows: Result<usize> = Reader::open(stream(file), ReadOptions::default())
                .unwrap()
                .map(|batch| Ok(batch?.num_rows()))
                .sum();
            assert!(rows.unwrap() > 0);
        });
        most
    };
    for (codec, _) in CODECS {
        // Of a stream the test itself also holds the bytes of the file.
        let (short, long) = (rows(codec, 60), rows(codec, 240));
        let (few, many) = (each(&short) - short.len(), each(&long) - long.len());
        assert!(many <= few + few / 20, "{codec:?}: {few} bytes for 60 blocks, {many} for 240");
    }
}
