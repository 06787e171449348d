//! Encrypted manifest lists and manifests of Iceberg: an Avro or Parquet file is encrypted and has the rows of its plain
//! bytes; with a part of it changed, or by another key, it is refused or has these rows. Any other input is
//! an encrypted file or a key.

use std::sync::{Arc, OnceLock};

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_select::concat::concat_batches;
use lakebed::columnar::Decoding;
use lakebed::iceberg::manifest::{EntryColumns, EntryReader, ManifestContext, Statuses};
use lakebed::iceberg::manifest_list::ManifestFile;
use lakebed::iceberg::{Keys, SealedKey, Table};
use lakebed::scan::ScanOptions;
use lakebed::storage::Storage;
use lakebed::table::LakeTable;
use lakebed::view::View;
use lakebed::{Error, ErrorKind, Result};
use lakebed_avro::ErrorKind as AvroKind;
use lakebed_columnar::{FileKey, OVERHEAD};
use serde_json::json;

use super::iceberg::declared;
use super::parquet::{Page, ParquetFile, number};
use super::{LIMITS, assert_message, assert_valid, sample};

/// The key of the table, by whose id a service unwraps the key of keys.
const TABLE_KEY: &str = "key of the table";
/// The key of keys, which encrypts what files are decrypted by, and is bound to a time.
const KEY_OF_KEYS: [u8; 16] = *b"the key of keys!";
const TIMESTAMP: &str = "1";
/// Magic and size of the blocks of a stream.
const HEADER: usize = 8;
/// An encrypted data page of the second form, which the reader does not take.
const SECOND_FORM: i64 = 3;
/// Where the manifest list of the table is.
const LIST: &str = "/table/list";

pub fn run(input: &[u8]) {
    if !input.starts_with(b"Obj") && !input.starts_with(b"PAR1") {
        return stored(input);
    }
    let is_list = declared(input).is_ok_and(|(is_list, _)| is_list);
    let chance = sample(input) as usize;
    let secret = Secret::of(chance);
    let plain = read(is_list, input, None);
    if let Err(error) = &plain {
        assert_message(&error.to_string());
    }
    let blocks = [1, 29, 500, 4096, 1 << 20][chance % 5];
    let stream = secret.stream(input, blocks);
    for length in [None, Some(stream.len())] {
        same(&plain, &read(is_list, &stream, Some(&secret.metadata(length))));
    }
    // Manifest lists are Avro.
    let parquet = ParquetFile::parse(input).filter(|_| !is_list);
    let is_second = |page: &Page| number(&page.header, 1) == Some(SECOND_FORM);
    let parquet = parquet.filter(|parquet| !parquet.chunks.iter().flatten().any(is_second));
    let pages = parquet.map(|parquet| {
        same(&plain, &read(is_list, &parquet.bytes(), None));
        let pages = parquet.encrypted(&secret.key());
        same(&plain, &read(is_list, &pages, Some(&secret.metadata(None))));
        pages
    });
    match pages.filter(|_| chance.is_multiple_of(2)) {
        Some(file) => of_pages(is_list, &file, &secret, &plain, chance),
        None => of_blocks(is_list, &stream, blocks, &secret, &plain, chance),
    }
}

/// What a file is decrypted by.
struct Secret {
    key: Vec<u8>,
    prefix: Vec<u8>,
}

impl Secret {
    fn of(chance: usize) -> Secret {
        let length = [16, 24, 32][chance % 3];
        Secret { key: vec![7; length], prefix: vec![9; [0, 16][chance / 3 % 2]] }
    }

    fn key(&self) -> FileKey {
        FileKey::new(&self.key, &self.prefix).expect("a key of a known length")
    }

    /// The key metadata of a file, with the size of the file where that is recorded.
    fn metadata(&self, length: Option<usize>) -> Vec<u8> {
        let text = |text: &[u8]| [&[text.len() as u8 * 2], text].concat();
        let prefix =
            if self.prefix.is_empty() { vec![0] } else { [&[2], text(&self.prefix).as_slice()].concat() };
        let mut metadata = [&[1], text(&self.key).as_slice(), &prefix].concat();
        metadata.push(if length.is_some() { 2 } else { 0 });
        if let Some(mut length) = length.map(|length| length * 2) {
            while length >= 0x80 {
                metadata.push(length as u8 | 0x80);
                length >>= 7;
            }
            metadata.push(length as u8);
        }
        metadata
    }

    fn stream(&self, text: &[u8], blocks: usize) -> Vec<u8> {
        let key = self.key();
        let mut file = [b"AGS1".as_slice(), &(blocks as u32).to_le_bytes()].concat();
        for (at, block) in text.chunks(blocks).enumerate() {
            let number = (at as u32).to_le_bytes();
            file.extend(key.seal([at as u8; 12], block, &number).expect("a short text"));
        }
        file
    }
}

/// A stream is refused with anything of it changed but the size of its blocks, and cut anywhere but between two.
fn of_blocks(
    is_list: bool,
    file: &[u8],
    blocks: usize,
    secret: &Secret,
    plain: &Result<RecordBatch>,
    chance: usize,
) {
    let at = chance / 8 % file.len();
    let whole = secret.metadata(Some(file.len()));
    assert_eq!(other(is_list, file, secret), ErrorKind::Avro(AvroKind::Encryption));
    let sealed = blocks + OVERHEAD;
    // Between two blocks, so that the recorded size alone shows the cut.
    let between = HEADER + (at - at.min(HEADER)) / sealed * sealed;
    let error = read(is_list, &file[..between.min(at)], Some(&whole)).expect_err("a cut file");
    assert_message(&error.to_string());
    if !(at - at.min(HEADER)).is_multiple_of(sealed) {
        let error = read(is_list, &file[..at], Some(&secret.metadata(None))).expect_err("a cut block");
        assert_message(&error.to_string());
    }
    let changed = read(is_list, &flipped(file, at, chance), Some(&whole));
    if (4..HEADER).contains(&at) {
        lawful(plain, &changed);
    } else {
        assert!(changed.is_err(), "bit of byte {at}");
    }
    // Blocks are bound to their numbers.
    if let (Some(first), Some(second)) =
        (file.get(HEADER..HEADER + sealed), file.get(HEADER + sealed..HEADER + 2 * sealed))
        && first != second
    {
        let exchanged = [&file[..HEADER], second, first, &file[HEADER + 2 * sealed..]].concat();
        assert!(read(is_list, &exchanged, Some(&whole)).is_err(), "blocks in another order");
    }
}

/// Of an encrypted Parquet file nothing that is read may be changed.
fn of_pages(is_list: bool, file: &[u8], secret: &Secret, plain: &Result<RecordBatch>, chance: usize) {
    let at = chance / 8 % file.len();
    let metadata = secret.metadata(None);
    assert_eq!(other(is_list, file, secret), ErrorKind::Avro(AvroKind::Encryption));
    lawful(plain, &read(is_list, &flipped(file, at, chance), Some(&metadata)));
    let error = read(is_list, &file[..at], Some(&metadata)).expect_err("a cut file");
    assert_message(&error.to_string());
}

/// The kind of the error of reading by another key, or with another prefix.
fn other(is_list: bool, file: &[u8], secret: &Secret) -> ErrorKind {
    let key = Secret { key: vec![8; secret.key.len()], prefix: secret.prefix.clone() };
    let prefix = Secret { key: secret.key.clone(), prefix: vec![8; 16] };
    let kinds = [key, prefix].map(|other| {
        let error = read(is_list, file, Some(&other.metadata(None))).expect_err("another key");
        assert!(error.to_string().contains(TABLE_KEY), "{error}");
        error.kind()
    });
    assert_eq!(kinds[0], kinds[1]);
    kinds[0]
}

fn flipped(file: &[u8], at: usize, chance: usize) -> Vec<u8> {
    let mut changed = file.to_vec();
    changed[at] ^= 1 << (chance % 8);
    changed
}

/// An encrypted file is read as its plain bytes are; of Parquet no page has a checksum any more.
fn same(plain: &Result<RecordBatch>, encrypted: &Result<RecordBatch>) {
    match (plain, encrypted) {
        (Ok(plain), Ok(encrypted)) => assert_eq!(plain, encrypted),
        (Ok(_), Err(error)) => panic!("encrypted it is refused: {error}"),
        (Err(error), Ok(_)) => assert_eq!(error.kind(), ErrorKind::Avro(AvroKind::Checksum)),
        (Err(_), Err(error)) => assert_message(&error.to_string()),
    }
}

/// What was changed is refused, or was not read.
fn lawful(plain: &Result<RecordBatch>, changed: &Result<RecordBatch>) {
    match changed {
        Ok(rows) => assert_eq!(plain.as_ref().ok(), Some(rows)),
        Err(error) => assert_message(&error.to_string()),
    }
}

/// An input that is no plain file, as an encrypted one, and as the key metadata of another.
fn stored(input: &[u8]) {
    let chance = sample(input) as usize;
    let secret = Secret::of(chance);
    let is_list = chance.is_multiple_of(2);
    let file = secret.stream(b"Obj\x01", 3);
    for (file, metadata) in [(input, secret.metadata(None)), (&file, input.to_vec())] {
        // No file is of less than its header and one entry.
        let error = read(is_list, file, Some(&metadata)).expect_err("not encrypted by this key");
        assert_message(&error.to_string());
    }
}

/// The rows of a list or manifest, which is encrypted where it has key metadata.
fn read(is_list: bool, file: &[u8], metadata: Option<&[u8]>) -> Result<RecordBatch> {
    let rows = if is_list { list(file, metadata) } else { manifest(file, metadata) };
    if let Ok(rows) = &rows {
        assert_valid(rows);
    }
    rows
}

/// Key metadata as the table has it: encrypted by the key of keys, in base64.
fn sealed(metadata: &[u8]) -> String {
    let key = FileKey::new(&KEY_OF_KEYS, &[]).expect("a key of a known length");
    base64(&key.seal([0; 12], metadata, TIMESTAMP.as_bytes()).expect("a short text"))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |group: &[u8]| {
        let bits =
            group.iter().enumerate().fold(0_u32, |bits, (at, byte)| bits | u32::from(*byte) << (16 - 8 * at));
        let digit = |at: usize| {
            char::from(if at > group.len() { b'=' } else { DIGITS[(bits >> (18 - 6 * at)) as usize & 63] })
        };
        (0..4).map(digit).collect::<String>()
    };
    bytes.chunks(3).map(group).collect()
}

/// Decoding with a service that knows the key of keys.
fn decoding() -> Decoding {
    static KEYS: OnceLock<Keys> = OnceLock::new();
    let keys = KEYS.get_or_init(|| Keys::new(|_, _| Ok(KEY_OF_KEYS.to_vec().into())));
    Decoding::from(LIMITS).with_keys(Some(keys.clone()))
}

fn manifest(file: &[u8], metadata: Option<&[u8]>) -> Result<RecordBatch> {
    static COLUMNS: OnceLock<Arc<EntryColumns>> = OnceLock::new();
    let columns = COLUMNS.get_or_init(|| Arc::new(EntryColumns::new(None).expect("all columns")));
    let key = metadata.map(|metadata| {
        let by = json!({"id": "W", "bytes": "AAAA", "by": TABLE_KEY, "timestamp": TIMESTAMP});
        let key = json!({"bytes": sealed(metadata), "by": by});
        serde_json::from_value::<SealedKey>(key).expect("a sealed key")
    });
    let manifest = Some(ManifestFile { key, ..ManifestFile::default() });
    let known = ManifestContext { manifest, ..ManifestContext::default() };
    let mut reader = EntryReader::open(Buffer::from(file), columns, known, Statuses::ALL, &decoding(), 1)?;
    let batches = reader.by_ref().collect::<Result<Vec<_>>>()?;
    Ok(concat_batches(reader.schema(), &batches).expect("batches of one schema"))
}

/// The manifests of a table with this list.
fn list(file: &[u8], metadata: Option<&[u8]>) -> Result<RecordBatch> {
    let wrapped = json!({"key-id": "W", "encrypted-key-metadata": "AAAA", "encrypted-by-id": TABLE_KEY,
        "properties": {"KEY_TIMESTAMP": TIMESTAMP}});
    let keys = metadata.map(|metadata| {
        let of_list =
            json!({"key-id": "L", "encrypted-key-metadata": sealed(metadata), "encrypted-by-id": "W"});
        json!([wrapped, of_list])
    });
    let document = json!({
        "format-version": 3, "table-uuid": "00000000-0000-0000-0000-000000000000", "location": "/table",
        "last-sequence-number": 1, "last-updated-ms": 1, "last-column-id": 1, "current-schema-id": 0,
        "schemas": [{"schema-id": 0, "type": "struct", "fields": [{"id": 1, "name": "a", "required": false, "type": "int"}]}],
        "partition-specs": [{"spec-id": 0, "fields": []}], "default-spec-id": 0, "last-partition-id": 999,
        "sort-orders": [{"order-id": 0, "fields": []}], "default-sort-order-id": 0, "next-row-id": 0,
        "properties": {"encryption.key-id": TABLE_KEY}, "encryption-keys": keys.clone().unwrap_or_else(|| json!([])),
        "current-snapshot-id": 1,
        "snapshots": [{"snapshot-id": 1, "sequence-number": 1, "timestamp-ms": 1, "manifest-list": LIST, "schema-id": 0,
            "summary": {"operation": "append"}, "first-row-id": 0, "added-rows": 0,
            "key-id": keys.map(|_| "L")}],
    });
    let storage = Arc::new(Files { metadata: document.to_string().into_bytes(), list: file.to_vec() });
    let table = Table::open("/table/v1.metadata.json", storage, decoding())?;
    let scan = table.scan(View::Manifests, ScanOptions::default())?;
    let batches = scan.stream()?.collect::<Result<Vec<_>>>()?;
    Ok(concat_batches(scan.schema(), &batches).expect("batches of one schema"))
}

/// The two files of a table.
struct Files {
    metadata: Vec<u8>,
    list: Vec<u8>,
}

impl Storage for Files {
    fn read(&self, path: &str) -> Result<Buffer> {
        match path {
            LIST => Ok(Buffer::from(self.list.as_slice())),
            _ if path.ends_with(".json") => Ok(Buffer::from(self.metadata.as_slice())),
            _ => Err(Error::new(ErrorKind::Missing, "no such file")),
        }
    }

    fn list(&self, _: &str) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
}
