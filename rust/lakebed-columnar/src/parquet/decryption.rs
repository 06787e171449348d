//! Files whose footer and pages are encrypted by one key.
//!
//! Source: Parquet specification, "Parquet Modular Encryption".

use std::sync::Arc;

use arrow_buffer::Buffer;
use lakebed_avro::{Error, ErrorKind, Result};

use super::footer::Chunk;
use super::thrift::{Compact, Kind};
use crate::FileKey;
use crate::input::Input;

/// Kinds of modules, which each is bound to.
const FOOTER: u8 = 0;
const DATA_PAGE: u8 = 2;
const DICTIONARY_PAGE: u8 = 3;
const DATA_PAGE_HEADER: u8 = 4;
const DICTIONARY_PAGE_HEADER: u8 = 5;

/// The kind of a second form of data pages, in their headers.
const SECOND_FORM: i64 = 3;

/// What the modules of a file are decrypted by.
#[derive(Clone)]
pub(super) struct Decryption {
    key: Arc<FileKey>,
    /// The bytes that tell the file from others, which all its modules are bound to.
    file: Arc<[u8]>,
}

/// The algorithm of a file, as the message before its footer has it.
#[derive(Default)]
struct Algorithm {
    is_gcm: bool,
    prefix: Vec<u8>,
    file: Vec<u8>,
}

impl Decryption {
    /// The plain footer, and what pages are decrypted by.
    ///
    /// # Errors
    /// `Encryption` for another key; `Unsupported` without one, and for another algorithm.
    pub(super) fn of_footer(bytes: Input, key: Option<&Arc<FileKey>>) -> Result<(Input, Decryption)> {
        let missing =
            || Error::new(ErrorKind::Unsupported, "encrypted Parquet files are not read without a key");
        let key = Arc::clone(key.ok_or_else(missing)?);
        let mut thrift = Compact::new(bytes);
        let mut algorithm = Algorithm::default();
        thrift.message(|thrift, number, kind| {
            if number == 1 {
                thrift.fields(kind, |thrift, number, kind| algorithm.read(thrift, number, kind))?;
            }
            Ok(number == 1)
        })?;
        if !algorithm.is_gcm {
            return Err(Error::new(ErrorKind::Unsupported, "Parquet pages in AES-CTR are not read"));
        }
        let mut rest = thrift.into_rest();
        let decryption = Decryption { key, file: [algorithm.prefix, algorithm.file].concat().into() };
        let footer = decryption.module(&mut rest, FOOTER, &[])?;
        Ok((footer, decryption))
    }

    /// What the pages of a column of a row group are decrypted by.
    ///
    /// # Errors
    /// `Length` for more row groups or columns than such files have.
    pub(super) fn of_column(&self, group: u64, column: usize, chunk: &Chunk) -> Result<ColumnDecryption> {
        let (Ok(group), Ok(column)) = (i16::try_from(group), i16::try_from(column)) else {
            let message = "an encrypted file with more than 32,767 row groups or columns";
            return Err(Error::new(ErrorKind::Length, message));
        };
        let place = [group.to_le_bytes(), column.to_le_bytes()].concat();
        Ok(ColumnDecryption { file: self.clone(), place, next: (!chunk.has_dictionary).then_some(0) })
    }

    /// The text of the next module: its length, and a piece of that length.
    fn module(&self, input: &mut Input, kind: u8, place: &[u8]) -> Result<Input> {
        let length = usize::try_from(u32::from_le_bytes(input.array()?)).ok();
        let cut = || Error::new(ErrorKind::Length, "a module reaches beyond its column or footer");
        let piece = length.and_then(|length| input.split(length).ok()).ok_or_else(cut)?;
        let mut text = Vec::new();
        self.key.open(piece.rest(), &[&self.file, [kind].as_slice(), place].concat(), &mut text)?;
        Ok(Input::new(Buffer::from_vec(text)))
    }
}

impl Algorithm {
    /// A field of the union of algorithms.
    fn read(&mut self, thrift: &mut Compact, number: i64, kind: Kind) -> Result<bool> {
        self.is_gcm = number == 1;
        if !self.is_gcm {
            return Ok(false);
        }
        thrift.fields(kind, |thrift, number, kind| {
            match number {
                1 => self.prefix = thrift.bytes(kind)?.to_vec(),
                2 => self.file = thrift.bytes(kind)?.to_vec(),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(true)
    }
}

/// What the pages of a column are decrypted by, in their order.
pub(super) struct ColumnDecryption {
    file: Decryption,
    /// The numbers of the row group and of the column.
    place: Vec<u8>,
    /// The number of the next data page; `None` for a dictionary, which is before them.
    next: Option<i16>,
}

impl ColumnDecryption {
    /// The header of the next page.
    pub(super) fn header(&self, input: &mut Input) -> Result<Input> {
        let (kind, place) = self.place(DATA_PAGE_HEADER, DICTIONARY_PAGE_HEADER);
        self.file.module(input, kind, &place)
    }

    /// The bytes of the page that the last header is of, of this kind.
    pub(super) fn page(&mut self, mut bytes: Input, kind: i64) -> Result<Input> {
        if kind == SECOND_FORM {
            let message = "encrypted data pages of the second form are not read";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let (kind, place) = self.place(DATA_PAGE, DICTIONARY_PAGE);
        let page = self.file.module(&mut bytes, kind, &place)?;
        let too_many = || Error::new(ErrorKind::Length, "a column with more than 32,767 encrypted pages");
        self.next = Some(self.next.map_or(Some(0), |page| page.checked_add(1)).ok_or_else(too_many)?);
        Ok(page)
    }

    fn place(&self, data: u8, dictionary: u8) -> (u8, Vec<u8>) {
        match self.next {
            Some(page) => (data, [self.place.as_slice(), &page.to_le_bytes()].concat()),
            None => (dictionary, self.place.clone()),
        }
    }
}
