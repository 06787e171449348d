use std::io::Cursor as Bytes;

use arrow_buffer::Buffer;

use super::*;
use crate::codec::Codec;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::varint::long;

const SYNC: [u8; 16] = [7; 16];

fn entry(key: &[u8], value: &[u8]) -> Vec<u8> {
    [long(key.len() as i64), key.to_vec(), long(value.len() as i64), value.to_vec()].concat()
}

/// A header of one map block.
fn header(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let bodies: Vec<u8> = entries.iter().flat_map(|(key, value)| entry(key.as_bytes(), value)).collect();
    let count = if entries.is_empty() { Vec::new() } else { long(entries.len() as i64) };
    [b"Obj\x01".to_vec(), count, bodies, long(0), SYNC.to_vec()].concat()
}

fn block(count: i64, payload: &[u8]) -> Vec<u8> {
    [long(count), long(payload.len() as i64), payload.to_vec(), SYNC.to_vec()].concat()
}

/// Opens from memory and from a stream, and checks that both give the same.
fn open(file: &[u8], limits: Limits) -> Result<(Header, Blocks)> {
    let stream = Blocks::open(Input::stream(Box::new(Bytes::new(file.to_vec()))), limits);
    let memory = Blocks::open(Input::from(Buffer::from(file)), limits);
    match (&memory, &stream) {
        (Ok((one, _)), Ok((other, _))) => {
            assert_eq!((&one.metadata, one.length), (&other.metadata, other.length))
        }
        (Err(one), Err(other)) => assert_eq!(one.to_string(), other.to_string()),
        _ => panic!("memory and stream differ"),
    }
    memory
}

fn refused(file: &[u8], limits: Limits) -> Error {
    open(file, limits).err().expect("a header that must be refused")
}

#[test]
fn metadata_in_every_form_of_a_map() {
    let one = entry(b"avro.schema", b"\"int\"");
    let two = entry(b"user", &[0xff, 0]);
    let tail = [long(0), SYNC.to_vec()].concat();
    let body = [one.clone(), two.clone()].concat();
    let forms = [
        [long(2), body.clone()].concat(),
        [long(-2), long(body.len() as i64), body].concat(),
        [long(1), one.clone(), long(1), two.clone()].concat(),
        [long(1), one, long(-1), long(two.len() as i64), two].concat(),
    ];
    for form in forms {
        let file = [b"Obj\x01".to_vec(), form, tail.clone()].concat();
        let (header, mut blocks) = open(&file, Limits::DEFAULT).unwrap();
        assert_eq!(header.metadata.len(), 2);
        assert_eq!(header.schema().unwrap(), "\"int\"");
        assert_eq!(header.get("user"), Some(&[0xff, 0][..]));
        assert_eq!((header.codec, header.sync, header.length), (Codec::Null, SYNC, file.len() as u64));
        assert!(blocks.next().is_none());
    }
}

#[test]
fn a_metadata_size_must_be_that_of_the_entries() {
    let body = entry(b"k", b"v");
    let file = |size: i64| {
        [b"Obj\x01".to_vec(), long(-1), long(size), body.clone(), long(0), SYNC.to_vec()].concat()
    };
    assert!(open(&file(4), Limits::DEFAULT).is_ok());
    assert_eq!(refused(&file(3), Limits::DEFAULT).kind(), ErrorKind::Length);
    assert_eq!(refused(&file(-4), Limits::DEFAULT).kind(), ErrorKind::Length);
    assert_eq!(refused(&file(1000), Limits::DEFAULT).kind(), ErrorKind::Truncated);
}

#[test]
fn keys_that_are_missing_or_there_twice() {
    let (bare, _) = open(&header(&[]), Limits::DEFAULT).unwrap();
    assert_eq!(bare.codec, Codec::Null);
    assert_eq!(bare.schema().unwrap_err().kind(), ErrorKind::Schema);
    for key in ["avro.schema", "avro.codec"] {
        let error = refused(&header(&[(key, b"null"), (key, b"null")]), Limits::DEFAULT);
        assert_eq!(error.kind(), ErrorKind::Duplicate);
        assert!(error.message().contains(key));
    }
    // A user's own keys may appear twice; the first is used.
    let (twice, _) = open(&header(&[("k", b"1"), ("k", b"2")]), Limits::DEFAULT).unwrap();
    assert_eq!(twice.get("k"), Some(&b"1"[..]));
    let (bad, _) = open(&header(&[("avro.schema", &[0xff])]), Limits::DEFAULT).unwrap();
    assert_eq!(bad.schema().unwrap_err().kind(), ErrorKind::Schema);
    let error = refused(&header(&[("avro.codec", b"lzo")]), Limits::DEFAULT);
    assert_eq!(error.kind(), ErrorKind::UnknownCodec);
}

#[test]
fn foreign_files_are_named() {
    let files: [(&[u8], &str); 5] = [
        (b"ORC\x00....", "ORC"),
        (b"PAR1....", "Parquet"),
        (b"AGS1....", "encrypted"),
        (b"\x1f\x8b\x08\x00", "gzip"),
        (b"Obj\x02....", "another version"),
    ];
    for (file, name) in files {
        let error = refused(file, Limits::DEFAULT);
        assert_eq!((error.kind(), error.location().offset), (ErrorKind::Foreign, Some(0)));
        assert!(error.message().contains(name), "{error}");
    }
    let error = refused(b"{\"type\"", Limits::DEFAULT);
    assert_eq!((error.kind(), error.location().offset), (ErrorKind::Magic, Some(0)));
    for cut in 0..4 {
        assert_eq!(refused(&b"Obj\x01"[..cut], Limits::DEFAULT).kind(), ErrorKind::Truncated);
    }
}

#[test]
fn headers_of_every_size_up_to_their_limit() {
    for size in [0, 4_000, 4_096, 5_000, 16_384, 100_000, 300_000] {
        let file = [header(&[("k", &vec![b'v'; size])]), block(0, &[])].concat();
        let length = file.len() as u64 - 18;
        let (header, blocks) = open(&file, Limits::DEFAULT).unwrap();
        assert_eq!((header.length, blocks.count()), (length, 1));
        let just = Limits { max_header_bytes: length, ..Limits::DEFAULT };
        assert!(open(&file, just).is_ok(), "{size}");
        let less = Limits { max_header_bytes: length - 1, ..Limits::DEFAULT };
        assert_eq!(refused(&file, less).kind(), ErrorKind::Limit, "{size}");
    }
}

#[test]
fn every_prefix_of_a_header_is_truncated() {
    let file = header(&[("avro.schema", b"\"int\""), ("avro.codec", b"null")]);
    for cut in 0..file.len() {
        assert_eq!(refused(&file[..cut], Limits::DEFAULT).kind(), ErrorKind::Truncated, "{cut}");
    }
}

/// The first block of a file with `rest` after its header.
fn first(rest: Vec<u8>) -> Option<Result<Block>> {
    let file = [header(&[]), rest].concat();
    let (_, mut blocks) = open(&file, Limits::DEFAULT).unwrap();
    let first = blocks.next();
    assert!(first.as_ref().is_none_or(Result::is_ok) || blocks.next().is_none(), "an error is the end");
    first
}

#[test]
fn blocks_are_framed_whatever_they_hold() {
    let empty = first(block(0, &[])).unwrap().unwrap();
    assert_eq!((empty.index, empty.count, empty.payload.len()), (0, 0, 0));
    // Payloads are not checked here.
    let odd = first(block(0, &[1, 2])).unwrap().unwrap();
    assert_eq!((odd.count, odd.payload.as_slice()), (0, &[1, 2][..]));
    assert!(first(Vec::new()).is_none());
    let kind = |rest: Vec<u8>| first(rest).unwrap().unwrap_err().kind();
    assert_eq!(kind(block(-1, &[])), ErrorKind::Count);
    assert_eq!(kind([long(1), long(-1), SYNC.to_vec()].concat()), ErrorKind::Length);
    assert_eq!(kind([long(0), long(0), vec![8; 16]].concat()), ErrorKind::Sync);
}

#[test]
fn blocks_know_their_place() {
    let file = [header(&[]), block(3, &[1]), block(0, &[]), block(4, &[2, 2])].concat();
    let start = header(&[]).len() as u64;
    let (_, blocks) = open(&file, Limits::DEFAULT).unwrap();
    let places: Vec<_> =
        blocks.map(Result::unwrap).map(|b| (b.index, b.offset - start, b.first_record)).collect();
    assert_eq!(places, [(0, 2, 0), (1, 21, 3), (2, 39, 3)]);
}

#[test]
fn a_failing_stream_is_an_error() {
    struct Failing;
    impl std::io::Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::ConnectionReset.into())
        }
    }
    let error = Blocks::open(Input::stream(Box::new(Failing)), Limits::DEFAULT).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Io);
}
