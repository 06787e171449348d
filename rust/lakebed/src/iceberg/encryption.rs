//! Encrypted metadata (Iceberg specification, "Table encryption"; Iceberg's `StandardEncryptionManager.java`,
//! `StandardKeyMetadata.java` and `AesGcmInputStream.java`).
//!
//! ```text
//! key of the table, which only the caller's service has
//!   └ wraps a key of keys (`encryption-keys`), which that service unwraps, once
//!       └ encrypts what a manifest list is decrypted by
//!           └ has, in its rows, what manifests are decrypted by; here these are encrypted again by the key of keys
//!               └ have, in their entries, what data and delete files are decrypted by
//! ```
//!
//! So nothing that is kept, sent to another process or printed has a key that opens a file: a [`SealedKey`] is opened where
//! bytes are decrypted, by whoever can ask the service.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use aes_gcm::aead::Generate;
use arrow_array::{Array, ArrayRef, BinaryArray, RecordBatch, StringArray};
use arrow_buffer::Buffer;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lakebed_avro::ErrorKind as AvroKind;
use lakebed_columnar::{FileKey, OVERHEAD};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::deletion_vector::VectorRange;
use super::metadata::{EncryptionKey, TableMetadata};
use crate::columnar::Decoding;
use crate::error::{Error, ErrorKind, Result};
use crate::record::{column, typed};
use crate::storage::Storage;
use crate::view::with_columns;

/// The property with the id of the table's key.
pub(in crate::iceberg) const KEY_PROPERTY: &str = "encryption.key-id";
/// The property of a key of keys to which what it encrypts is bound.
const TIMESTAMP: &str = "KEY_TIMESTAMP";
/// The column of a list that was decrypted with what its manifests are decrypted by: [`SealedKey`] as JSON.
pub(in crate::iceberg) const SEALED: &str = "sealed_key";

const STREAM_MAGIC: &[u8; 4] = b"AGS1";
const PARQUET_MAGIC: &[u8; 4] = b"PARE";
/// Magic and size of the blocks.
const STREAM_HEADER: usize = 8;

fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Avro(AvroKind::Encryption), message)
}

/// Asks a service to unwrap a key: its wrapped bytes, and the id of the key that it is wrapped by.
pub type Unwrap = dyn Fn(&[u8], &str) -> Result<Zeroizing<Vec<u8>>> + Send + Sync;

/// What unwraps keys of keys, each once; nothing prints them.
#[derive(Clone)]
pub struct Keys {
    unwrap: Arc<Unwrap>,
    known: Arc<Mutex<HashMap<WrappedKey, Slot>>>,
}

/// A key of keys, once it is known.
type Slot = Arc<Mutex<Option<Arc<FileKey>>>>;

impl Keys {
    /// Those that `unwrap` unwraps.
    pub fn new(unwrap: impl Fn(&[u8], &str) -> Result<Zeroizing<Vec<u8>>> + Send + Sync + 'static) -> Keys {
        Keys { unwrap: Arc::new(unwrap), known: Arc::default() }
    }

    /// The key of keys. Whoever needs one that another thread is asking for waits for its answer.
    fn unwrapped(&self, wrapped: &WrappedKey) -> Result<Arc<FileKey>> {
        let slot = Arc::clone(
            self.known.lock().unwrap_or_else(PoisonError::into_inner).entry(wrapped.clone()).or_default(),
        );
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = slot.as_ref() {
            return Ok(Arc::clone(key));
        }
        let bytes = decoded(&wrapped.bytes, &wrapped.id)?;
        let key = (self.unwrap)(&bytes, &wrapped.by)?;
        let key = FileKey::new(&key, &[]).map_err(|error| {
            Error::from(error)
                .about(&format!("what unwraps {:?} by {:?} returned no key", wrapped.id, wrapped.by))
        })?;
        Ok(Arc::clone(slot.insert(Arc::new(key))))
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").finish_non_exhaustive()
    }
}

/// A key of keys as the table's metadata has it.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct WrappedKey {
    id: String,
    /// In base64, in a form that the service knows.
    bytes: String,
    /// The id of the table's key, by which it is wrapped.
    by: String,
    /// What is encrypted by it is bound to this.
    timestamp: String,
}

/// What a file is decrypted by, encrypted by a key of keys.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedKey {
    /// In base64.
    bytes: String,
    by: WrappedKey,
}

impl fmt::Debug for SealedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealedKey").field("by", &self.by.id).finish_non_exhaustive()
    }
}

impl SealedKey {
    /// What the manifest list of a snapshot with this key id is decrypted by.
    ///
    /// # Errors
    /// `Encryption` where the metadata lacks a key, or the id of the table's.
    pub(in crate::iceberg) fn of_list(metadata: &TableMetadata, id: &str) -> Result<SealedKey> {
        let find = |id: &str| -> Result<&EncryptionKey> {
            let found = metadata.encryption_keys.iter().find(|key| key.key_id == id);
            found.ok_or_else(|| wrong(format!("the table's encryption-keys have no key {id:?}")))
        };
        let table_key = metadata.property(KEY_PROPERTY).ok_or_else(|| {
            wrong(format!("the table is encrypted, and its property {KEY_PROPERTY} is missing"))
        })?;
        let key = find(id)?;
        let by = key.encrypted_by_id.as_deref();
        let wrapped = find(by.ok_or_else(|| wrong(format!("key {id:?} does not say what encrypts it")))?)?;
        if wrapped.encrypted_by_id.as_deref() != Some(table_key) {
            let message = format!(
                "key {:?} is wrapped by {:?}, and the table's {KEY_PROPERTY} is {table_key:?}",
                wrapped.key_id,
                wrapped.encrypted_by_id.as_deref().unwrap_or_default()
            );
            return Err(wrong(message));
        }
        let timestamp =
            wrapped.properties.iter().find(|(name, _)| name == TIMESTAMP).map(|(_, time)| time.clone());
        let missing = || wrong(format!("key {:?} has no {TIMESTAMP}", wrapped.key_id));
        let by = WrappedKey {
            id: wrapped.key_id.clone(),
            bytes: wrapped.encrypted_key_metadata.clone(),
            by: table_key.to_owned(),
            timestamp: timestamp.ok_or_else(missing)?,
        };
        Ok(SealedKey { bytes: key.encrypted_key_metadata.clone(), by })
    }

    /// The key of keys.
    fn sealing(&self, keys: Option<&Keys>) -> Result<Arc<FileKey>> {
        let missing = || {
            let message = format!(
                "the table is encrypted by key {:?}: give what unwraps keys by it, as in open_table(…, keys=…)",
                self.by.by
            );
            wrong(message)
        };
        keys.ok_or_else(missing)?.unwrapped(&self.by)
    }

    /// What a file is decrypted by, of what its list or its entry has of it.
    fn sealed(&self, metadata: &[u8], key: &FileKey) -> Result<SealedKey> {
        let nonce: [u8; 12] = Generate::try_generate()
            .map_err(|error| Error::new(ErrorKind::Internal, format!("no random bytes: {error}")))?;
        let bytes = STANDARD.encode(key.seal(nonce, metadata, self.by.timestamp.as_bytes())?);
        Ok(SealedKey { bytes, by: self.by.clone() })
    }

    fn opened(&self, keys: Option<&Keys>) -> Result<KeyMetadata> {
        let bytes = decoded(&self.bytes, &self.by.id)?;
        let mut metadata = Zeroizing::new(Vec::new());
        let opened = self.sealing(keys)?.open(&bytes, self.by.timestamp.as_bytes(), &mut metadata);
        opened.map_err(|error| Error::from(error).about(&format!("what {:?} encrypts", self.by.id)))?;
        KeyMetadata::parse(&metadata)
    }

    /// The same error, with the ids of the keys: of bytes that no key decrypts, and of a file that is cut.
    fn naming(&self, error: Error) -> Error {
        match error.kind() {
            ErrorKind::Avro(AvroKind::Encryption | AvroKind::Truncated) => error.adding(&self.names()),
            _ => error,
        }
    }

    /// The ids of the keys, to end an error with.
    fn names(&self) -> String {
        format!("; its key is encrypted by {:?}, and that by {:?}", self.by.id, self.by.by)
    }
}

fn decoded(text: &str, id: &str) -> Result<Vec<u8>> {
    STANDARD.decode(text).map_err(|_| wrong(format!("what is encrypted by or as key {id:?} is not base64")))
}

/// The keys of a list's manifests, in the column [`SEALED`].
///
/// # Errors
/// Those of asking for the key of keys.
pub(in crate::iceberg) fn with_sealed_keys(
    list: &RecordBatch,
    of_list: &SealedKey,
    decoding: &Decoding,
) -> Result<RecordBatch> {
    let sealing = of_list.sealing(decoding.keys.as_ref())?;
    let plain: &BinaryArray = column(list, "key_metadata")?;
    let json = |metadata: Option<&[u8]>| -> Result<Option<String>> {
        let sealed = metadata.map(|metadata| of_list.sealed(metadata, &sealing)).transpose()?;
        let json = sealed.map(|sealed| serde_json::to_string(&sealed)).transpose();
        json.map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))
    };
    let sealed = plain.iter().map(json).collect::<Result<StringArray>>()?;
    with_columns(list, vec![(SEALED, Arc::new(sealed) as ArrayRef)])
}

/// The keys in such a list; `None` where the list was not encrypted.
///
/// # Errors
/// `Mismatch` for another column.
pub(in crate::iceberg) fn sealed_keys(list: &RecordBatch) -> Result<Option<&StringArray>> {
    list.column_by_name(SEALED).map(|keys| typed(keys, SEALED)).transpose()
}

/// The key of a row; `None` where the list has no key of the manifest.
///
/// # Errors
/// `Internal` for what is no key.
pub(in crate::iceberg) fn sealed_key(keys: &StringArray, row: usize) -> Result<Option<SealedKey>> {
    let key = keys.is_valid(row).then(|| serde_json::from_str(keys.value(row)));
    key.transpose().map_err(|error: serde_json::Error| Error::new(ErrorKind::Internal, error.to_string()))
}

/// What a file is decrypted by (`StandardKeyMetadata.java`).
struct KeyMetadata {
    key: FileKey,
    /// The size of the file as it is stored \[bytes\], where that is recorded.
    length: Option<u64>,
}

impl KeyMetadata {
    fn parse(bytes: &[u8]) -> Result<KeyMetadata> {
        let cut = || wrong("key metadata is cut, or no such metadata");
        let (version, rest) = bytes.split_first().ok_or_else(cut)?;
        if *version != 1 {
            return Err(wrong(format!("key metadata of version {version} is unknown")));
        }
        let mut rest = rest;
        let key = text(&mut rest).ok_or_else(cut)?;
        let prefix =
            if is_there(&mut rest).ok_or_else(cut)? { text(&mut rest).ok_or_else(cut)? } else { &[] };
        let length = match is_there(&mut rest).ok_or_else(cut)? {
            true => Some(number(&mut rest).and_then(|length| u64::try_from(length).ok()).ok_or_else(cut)?),
            false => None,
        };
        Ok(KeyMetadata { key: FileKey::new(key, prefix)?, length })
    }
}

impl KeyMetadata {
    /// The plain bytes; of Parquet, whose pages are decrypted later, errors then end with `names`.
    fn plain(self, bytes: Buffer, decoding: &Decoding, names: String) -> Result<(Buffer, Decoding)> {
        let KeyMetadata { key, length } = self;
        if let Some(length) = length.filter(|length| *length != bytes.len() as u64) {
            let message = format!("the file has {} bytes, its key records {length}", bytes.len());
            return Err(Error::new(ErrorKind::Avro(AvroKind::Truncated), message));
        }
        if bytes.starts_with(PARQUET_MAGIC) {
            let file_key = Some(Arc::new(key.described(names)));
            return Ok((bytes, Decoding { file_key, ..decoding.clone() }));
        }
        if !bytes.starts_with(STREAM_MAGIC) {
            return Err(wrong("the file is not encrypted, although a key of it is recorded"));
        }
        Ok((Buffer::from_vec(stream(&bytes, &key)?), decoding.clone()))
    }
}

/// An Avro long: seven bits a byte, the lowest first, zigzag.
fn number(bytes: &mut &[u8]) -> Option<i64> {
    let mut value = 0_u64;
    for shift in (0..63).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
        }
    }
    None
}

fn text<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = usize::try_from(number(bytes)?).ok()?;
    let (text, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(text)
}

/// Of a union with null the branch.
fn is_there(bytes: &mut &[u8]) -> Option<bool> {
    match number(bytes)? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

/// The plain bytes of a list or manifest, and how they are decoded: pages of Parquet are decrypted as they are read.
///
/// # Errors
/// `Encryption` for bytes that are not encrypted although a key is recorded, for a key that is absent,
/// another one, and for bytes that were changed; `Truncated` for a file of another size than its key records, which may be
/// cut between two blocks; those of asking for the key.
pub(in crate::iceberg) fn plain(
    bytes: Buffer,
    sealed: Option<&SealedKey>,
    decoding: &Decoding,
) -> Result<(Buffer, Decoding)> {
    // Without a key the readers refuse encrypted files.
    let Some(sealed) = sealed else { return Ok((bytes, decoding.clone())) };
    let opened = sealed
        .opened(decoding.keys.as_ref())
        .and_then(|metadata| metadata.plain(bytes, decoding, sealed.names()));
    opened.map_err(|error| sealed.naming(error))
}

/// The same of a file that an entry with this key metadata names; as they are stored where they are of no encrypted file.
///
/// # Errors
/// As [`plain`].
pub(in crate::iceberg) fn plain_named(
    bytes: Buffer,
    metadata: Option<&[u8]>,
    decoding: &Decoding,
) -> Result<(Buffer, Decoding)> {
    let is_encrypted = bytes.starts_with(STREAM_MAGIC) || bytes.starts_with(PARQUET_MAGIC);
    match metadata.filter(|_| is_encrypted) {
        Some(metadata) => KeyMetadata::parse(metadata)?.plain(bytes, decoding, String::new()),
        None => Ok((bytes, decoding.clone())),
    }
}

/// The text of a stream of blocks, each bound to its number.
fn stream(bytes: &[u8], key: &FileKey) -> Result<Vec<u8>> {
    let (head, blocks) = bytes.split_first_chunk().ok_or_else(cut)?;
    opened_blocks(blocks, key, block_size(head)?, 0)
}

#[cold]
fn cut() -> Error {
    Error::new(ErrorKind::Avro(AvroKind::Truncated), "the encrypted file is cut")
}

/// The size of the text of a block \[bytes\].
fn block_size(head: &[u8; STREAM_HEADER]) -> Result<usize> {
    let size = head.last_chunk::<4>().map_or(0, |size| u32::from_le_bytes(*size));
    let size = usize::try_from(size).ok().filter(|size| *size > 0 && size.checked_add(OVERHEAD).is_some());
    size.ok_or_else(|| wrong("the blocks of the encrypted file have an impossible size"))
}

/// The text of blocks from this number on; there is one at least.
fn opened_blocks(mut blocks: &[u8], key: &FileKey, size: usize, mut number: u32) -> Result<Vec<u8>> {
    let mut text = Vec::with_capacity(blocks.len());
    loop {
        let (block, rest) = blocks.split_at(blocks.len().min(size.saturating_add(OVERHEAD)));
        if block.len() < OVERHEAD {
            return Err(cut());
        }
        let opened = key.open(block, &number.to_le_bytes(), &mut text);
        opened.map_err(|error| Error::from(error).about(&format!("block {number} of the encrypted file")))?;
        if rest.is_empty() {
            return Ok(text);
        }
        (blocks, number) = (rest, number.checked_add(1).ok_or_else(cut)?);
    }
}

/// Some bytes of a file that an entry with this key metadata names, by their place in the text; as they are stored where the
/// file is no such stream.
///
/// # Errors
/// Those of the storage and of [`plain`].
pub(in crate::iceberg) fn read_range(
    storage: &dyn Storage,
    path: &str,
    metadata: Option<&[u8]>,
    range: VectorRange,
) -> Result<Buffer> {
    let as_stored = || storage.read_range(path, range.offset, range.length);
    let Some(metadata) = metadata else { return as_stored() };
    let head = storage.read_range(path, 0, STREAM_HEADER as u64)?;
    let Some(head) = head.first_chunk().filter(|head| head.starts_with(STREAM_MAGIC)) else {
        return as_stored();
    };
    let KeyMetadata { key, length } = KeyMetadata::parse(metadata)?;
    let length = length.ok_or_else(|| wrong("the key of the file does not record its size"))?;
    let size = block_size(head)?;
    let stored = |block: u64| {
        let blocks = block.checked_mul((size as u64).checked_add(OVERHEAD as u64)?)?;
        blocks.checked_add(STREAM_HEADER as u64)
    };
    let end = range.offset.checked_add(range.length).ok_or_else(cut)?;
    let (first, last) = (range.offset / size as u64, end.div_ceil(size as u64));
    let (from, to) = stored(first).zip(stored(last)).ok_or_else(cut)?;
    let bytes = storage.read_range(path, from, to.min(length).checked_sub(from).ok_or_else(cut)?)?;
    let text = opened_blocks(&bytes, &key, size, u32::try_from(first).map_err(|_| cut())?)?;
    let skipped = usize::try_from(range.offset % size as u64).map_err(|_| cut())?;
    let wanted = usize::try_from(range.length).map_err(|_| cut())?;
    let wanted = text.get(skipped..).and_then(|text| text.get(..wanted)).ok_or_else(cut)?;
    Ok(Buffer::from(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &[u8] = &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

    fn bytes(hex: &str) -> Vec<u8> {
        let digits = |place: usize| u8::from_str_radix(hex.get(place..place + 2).expect("digits"), 16);
        (0..hex.len()).step_by(2).map(|place| digits(place).expect("a byte")).collect()
    }

    /// A vector whose bytes another implementation made.
    #[test]
    fn streams_and_key_metadata_are_those_of_the_format() {
        let file = bytes(
            "4147533100001000202122232425262728292a2b8f9778a5ea91126cd92debd16f37e5e2fa953b8fa4ad201928e8c7",
        );
        let metadata = bytes("0120000102030405060708090a0b0c0d0e0f0220101112131415161718191a1b1c1d1e1f025e");
        let KeyMetadata { key, length } = KeyMetadata::parse(&metadata).expect("key metadata");
        assert_eq!(length, Some(file.len() as u64));
        assert_eq!(stream(&file, &key).expect("a stream"), bytes("4f626a016c616b65626564"));
        for cut in 0..metadata.len() {
            assert!(KeyMetadata::parse(metadata.get(..cut).expect("a part")).is_err(), "{cut}");
        }
        for cut in 0..file.len() {
            assert!(stream(file.get(..cut).expect("a part"), &key).is_err(), "{cut}");
        }
        // The size of blocks is bound to nothing, and that of the last one is not said.
        for bit in 64..file.len() * 8 {
            let mut changed = file.clone();
            changed.get_mut(bit / 8).into_iter().for_each(|byte| *byte ^= 1 << (bit % 8));
            assert!(stream(&changed, &key).is_err(), "{bit}");
        }
        let mut unknown = metadata;
        unknown.first_mut().into_iter().for_each(|version| *version = 2);
        assert!(KeyMetadata::parse(&unknown).is_err());
    }

    #[test]
    fn blocks_are_bound_to_their_numbers() {
        let key = FileKey::new(KEY, b"prefix").expect("a key");
        let block = |number: u32, text: &[u8]| {
            key.seal([u8::try_from(number).expect("few"); 12], text, &number.to_le_bytes()).expect("short")
        };
        let head = [STREAM_MAGIC.as_slice(), &4_u32.to_le_bytes()].concat();
        let file = [head.clone(), block(0, b"abcd"), block(1, b"efgh"), block(2, b"i")].concat();
        assert_eq!(stream(&file, &key).expect("a stream"), b"abcdefghi");
        // Cut between two blocks it is a whole stream, which its recorded size alone tells.
        let shorter = [head.clone(), block(0, b"abcd")].concat();
        assert_eq!(stream(&shorter, &key).expect("a stream"), b"abcd");
        let empty = [head.clone(), block(0, b"")].concat();
        assert_eq!(stream(&empty, &key).expect("a stream"), b"");
        for wrong in [
            [head.clone(), block(1, b"efgh"), block(0, b"abcd")].concat(),
            [head.clone(), block(0, b"abcd"), block(2, b"i")].concat(),
            [STREAM_MAGIC.as_slice(), &0_u32.to_le_bytes(), &block(0, b"abcd")].concat(),
            [STREAM_MAGIC.as_slice(), &u32::MAX.to_le_bytes(), &block(0, b"abcd"), &block(1, b"i")].concat(),
            head,
        ] {
            assert!(stream(&wrong, &key).is_err());
        }
    }
}
