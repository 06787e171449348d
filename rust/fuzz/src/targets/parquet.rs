//! A Parquet file in its parts, and put together again: with some of them changed, or encrypted.
//!
//! Messages are read without their definitions, as trees of Thrift's values.

use lakebed_columnar::FileKey;

/// The fields of a message, by their numbers.
pub type Fields = Vec<(i64, Value)>;

/// A value of Thrift's compact protocol, with its wire type where that is not clear.
#[derive(Debug, Clone)]
pub enum Value {
    Flag(bool),
    Number(u8, i64),
    Double([u8; 8]),
    Bytes(Vec<u8>),
    List(u8, Vec<Value>),
    Message(Fields),
}

/// What a module is stored as, by its kind, its place and its text.
type Seal<'s> = dyn Fn(u8, &[u8], Vec<u8>) -> Vec<u8> + 's;

/// The deepest value of Parquet's messages, and some more.
const MOST_DEPTH: u32 = 16;

/// Bytes of the file that tell it from others.
const FILE_UNIQUE: [u8; 8] = *b"lakebed!";

// Kinds of modules of encrypted files: what is of a dictionary follows.
const DATA: [u8; 2] = [4, 2];
const DICTIONARY: [u8; 2] = [5, 3];

/// A file with the pages of each column of each row group, in the footer's order.
pub struct ParquetFile {
    pub footer: Fields,
    pub chunks: Vec<Vec<Page>>,
}

/// A page as it is stored.
#[derive(Clone)]
pub struct Page {
    pub header: Fields,
    pub body: Vec<u8>,
}

impl ParquetFile {
    /// The parts of a file; `None` for one that does not have them where its footer says.
    pub fn parse(file: &[u8]) -> Option<ParquetFile> {
        let (rest, length) = file.strip_suffix(b"PAR1")?.split_last_chunk::<4>()?;
        let at = rest.len().checked_sub(u32::from_le_bytes(*length) as usize)?;
        let mut footer = message(&mut rest.get(at..)?, MOST_DEPTH)?;
        let mut chunks = Vec::new();
        for metadata in columns(&mut footer) {
            let (start, _) = start(metadata)?;
            let length = usize::try_from(number(metadata, 7)?).ok()?;
            let mut bytes = rest.get(start..)?.get(..length)?;
            let mut pages = Vec::new();
            while !bytes.is_empty() {
                let header = message(&mut bytes, MOST_DEPTH)?;
                let (body, behind) = bytes.split_at_checked(usize::try_from(number(&header, 3)?).ok()?)?;
                pages.push(Page { header, body: body.to_vec() });
                bytes = behind;
            }
            chunks.push(pages);
        }
        Some(ParquetFile { footer, chunks })
    }

    /// The bytes of the file, without indexes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut file = b"PAR1".to_vec();
        let footer = self.written(&mut file, &|_, _, text| text);
        let length = footer.len() as u32;
        [file, footer, length.to_le_bytes().to_vec(), b"PAR1".to_vec()].concat()
    }

    /// The same, with the footer and all pages encrypted by one key.
    pub fn encrypted(&self, key: &FileKey) -> Vec<u8> {
        let seal = |kind: u8, place: &[u8], text: Vec<u8>| {
            let bound = [FILE_UNIQUE.as_slice(), &[kind], place].concat();
            let piece = key.seal([kind; 12], &text, &bound).expect("a short text");
            [&(piece.len() as u32).to_le_bytes(), piece.as_slice()].concat()
        };
        let mut file = b"PARE".to_vec();
        let footer = self.written(&mut file, &seal);
        let algorithm = vec![(2, Value::Bytes(FILE_UNIQUE.to_vec())), (3, Value::Flag(true))];
        let algorithm = vec![(1, Value::Message(vec![(1, Value::Message(algorithm))]))];
        let tail = [message_bytes(&algorithm), seal(0, &[], footer)].concat();
        let length = tail.len() as u32;
        [file, tail, length.to_le_bytes().to_vec(), b"PARE".to_vec()].concat()
    }

    /// Appends the pages to `file`, each header and body as `seal` makes them. Returns the
    /// footer for them.
    fn written(&self, file: &mut Vec<u8>, seal: &Seal<'_>) -> Vec<u8> {
        let mut footer = self.footer.clone();
        let places = places(&mut footer);
        let is_plain = file == b"PAR1";
        for ((metadata, place), pages) in columns(&mut footer).into_iter().zip(places).zip(&self.chunks) {
            let (begin, has_dictionary) =
                (file.len() as i64, start(metadata).is_some_and(|(_, first)| first));
            let mut data = begin;
            for (at, page) in pages.iter().enumerate() {
                if at == 1 && has_dictionary {
                    data = file.len() as i64;
                }
                let is_dictionary = at == 0 && has_dictionary;
                let kinds = if is_dictionary { DICTIONARY } else { DATA };
                let ordinal = (at - usize::from(has_dictionary && at > 0)) as i16;
                let of_page = if is_dictionary { Vec::new() } else { ordinal.to_le_bytes().to_vec() };
                let place = [place.as_slice(), &of_page].concat();
                let body = seal(kinds[1], &place, page.body.clone());
                let mut header = page.header.clone();
                put(&mut header, 3, body.len() as i64);
                // The checksum is of the bytes as they were stored.
                header.retain(|(field, _)| is_plain || *field != 4);
                file.extend(seal(kinds[0], &place, message_bytes(&header)));
                file.extend(body);
            }
            put(metadata, 7, file.len() as i64 - begin);
            put(metadata, 9, data);
            metadata.retain(|(field, _)| *field != 11);
            if has_dictionary {
                metadata.push((11, Value::Number(6, begin)));
            }
        }
        message_bytes(&footer)
    }
}

/// The metadata of each column of each row group.
pub fn columns(footer: &mut Fields) -> Vec<&mut Fields> {
    let chunks = row_groups(footer).into_iter().flat_map(|group| messages(group, 1));
    chunks.filter_map(|chunk| messages_of(chunk, 3).pop()).collect()
}

/// The numbers of the row group and the column of each, which modules are bound to.
fn places(footer: &mut Fields) -> Vec<Vec<u8>> {
    let mut places = Vec::new();
    for (group, columns) in row_groups(footer).into_iter().enumerate() {
        for (column, chunk) in messages(columns, 1).into_iter().enumerate() {
            // Indexes are not written.
            chunk.retain(|(field, _)| !matches!(field, 4..=7));
            if !messages_of(chunk, 3).is_empty() {
                places.push([(group as i16).to_le_bytes(), (column as i16).to_le_bytes()].concat());
            }
        }
    }
    places
}

fn row_groups(footer: &mut Fields) -> Vec<&mut Fields> {
    messages(footer, 4)
}

/// The messages of a list.
fn messages(fields: &mut Fields, number: i64) -> Vec<&mut Fields> {
    let lists = fields.iter_mut().filter(|(field, _)| *field == number);
    let items =
        lists.filter_map(|(_, value)| if let Value::List(_, items) = value { Some(items) } else { None });
    items.flatten().filter_map(below).collect()
}

/// Fields that are messages.
fn messages_of(fields: &mut Fields, number: i64) -> Vec<&mut Fields> {
    fields.iter_mut().filter(|(field, _)| *field == number).filter_map(|(_, value)| below(value)).collect()
}

fn below(value: &mut Value) -> Option<&mut Fields> {
    if let Value::Message(fields) = value { Some(fields) } else { None }
}

/// Where the pages of a column begin, and whether a dictionary is the first.
fn start(metadata: &Fields) -> Option<(usize, bool)> {
    let data = number(metadata, 9)?;
    let dictionary = number(metadata, 11).filter(|dictionary| *dictionary > 0 && *dictionary < data);
    Some((usize::try_from(dictionary.unwrap_or(data)).ok()?, dictionary.is_some()))
}

/// The number in a field; the last counts, as for readers.
pub fn number(fields: &Fields, number: i64) -> Option<i64> {
    fields.iter().rev().find_map(|(field, value)| match value {
        Value::Number(_, value) if *field == number => Some(*value),
        _ => None,
    })
}

/// Sets a field that is a number.
pub fn put(fields: &mut Fields, number: i64, to: i64) {
    for (field, value) in fields {
        if let (true, Value::Number(_, value)) = (*field == number, value) {
            *value = to;
        }
    }
}

fn byte(bytes: &mut &[u8]) -> Option<u8> {
    let (byte, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(*byte)
}

/// An unsigned LEB128 varint.
pub(super) fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..63).step_by(7) {
        let next = byte(bytes)?;
        value |= u64::from(next & 0x7f) << shift;
        if next < 0x80 {
            return Some(value);
        }
    }
    let last = byte(bytes).filter(|last| *last < 2)?;
    Some(value | u64::from(last) << 63)
}

fn zigzag(bytes: &mut &[u8]) -> Option<i64> {
    varint(bytes).map(|value| (value >> 1).cast_signed() ^ -(value & 1).cast_signed())
}

fn message(bytes: &mut &[u8], depth: u32) -> Option<Fields> {
    let (mut fields, mut number) = (Vec::new(), 0_i64);
    loop {
        let header = byte(bytes)?;
        if header == 0 {
            return Some(fields);
        }
        number = match header >> 4 {
            0 => zigzag(bytes)?,
            more => number.checked_add(i64::from(more))?,
        };
        let value = match header & 0xf {
            kind @ (1 | 2) => Value::Flag(kind == 1),
            kind => value(bytes, kind, depth.checked_sub(1)?)?,
        };
        fields.push((number, value));
    }
}

fn value(bytes: &mut &[u8], kind: u8, depth: u32) -> Option<Value> {
    Some(match kind {
        // Of lists: fields have it in their header.
        1 | 2 => Value::Flag(byte(bytes)? == 1),
        3 => Value::Number(3, i64::from(byte(bytes)?.cast_signed())),
        4..=6 => Value::Number(kind, zigzag(bytes)?),
        7 => {
            let (double, rest) = bytes.split_first_chunk()?;
            *bytes = rest;
            Value::Double(*double)
        }
        8 => {
            let length = usize::try_from(varint(bytes)?).ok()?;
            let (text, rest) = bytes.split_at_checked(length)?;
            *bytes = rest;
            Value::Bytes(text.to_vec())
        }
        9 | 10 => {
            let header = byte(bytes)?;
            let count = if header >> 4 == 15 { varint(bytes)? } else { u64::from(header >> 4) };
            let count = usize::try_from(count).ok().filter(|count| *count <= bytes.len())?;
            let items = (0..count).map(|_| value(bytes, header & 0xf, depth.checked_sub(1)?));
            Value::List(header & 0xf, items.collect::<Option<_>>()?)
        }
        12 => Value::Message(message(bytes, depth.checked_sub(1)?)?),
        _ => return None,
    })
}

/// Appends an unsigned LEB128 varint.
pub(super) fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn put_zigzag(bytes: &mut Vec<u8>, value: i64) {
    put_varint(bytes, ((value << 1) ^ (value >> 63)).cast_unsigned());
}

fn message_bytes(fields: &Fields) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, value) in fields {
        let kind = match value {
            Value::Flag(is) => 2 - u8::from(*is),
            Value::Number(kind, _) => *kind,
            Value::Double(_) => 7,
            Value::Bytes(_) => 8,
            Value::List(..) => 9,
            Value::Message(_) => 12,
        };
        bytes.push(kind);
        put_zigzag(&mut bytes, *number);
        if !matches!(value, Value::Flag(_)) {
            put_value(&mut bytes, value);
        }
    }
    bytes.push(0);
    bytes
}

fn put_value(bytes: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Flag(is) => bytes.push(2 - u8::from(*is)),
        Value::Number(3, number) => bytes.push(*number as u8),
        Value::Number(_, number) => put_zigzag(bytes, *number),
        Value::Double(double) => bytes.extend(double),
        Value::Bytes(text) => {
            put_varint(bytes, text.len() as u64);
            bytes.extend(text);
        }
        Value::List(kind, items) => {
            bytes.push(0xf0 | kind);
            put_varint(bytes, items.len() as u64);
            items.iter().for_each(|item| put_value(bytes, item));
        }
        Value::Message(fields) => bytes.extend(message_bytes(fields)),
    }
}
