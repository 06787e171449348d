//! The encoding of a metadata file's text. Jackson finds it by the first bytes, with or without a byte order mark
//! (`ByteSourceJsonBootstrapper.java`): UTF-8, UTF-16 or UTF-32.

use std::io::{self, BufRead, Cursor, Read};

use lakebed_avro::Limits;

use crate::error::{Error, ErrorKind, Result};

/// The bytes by which an encoding is found.
const HEAD_BYTES: u64 = 4;

/// The most bytes of a text that is not UTF-8, which is in memory twice: no engine writes such.
const MOST_WIDE_BYTES: u64 = 64 << 20;

/// How many bytes a character takes at least, and whether the first of them is the lowest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct CharacterWidth {
    bytes: usize,
    little: bool,
}

/// A text in UTF-8 without byte order mark. One in another encoding, which no engine writes, is read at once.
pub(super) struct Utf8<'f> {
    text: Box<dyn BufRead + 'f>,
    limits: Limits,
    begun: bool,
}

impl<'f> Utf8<'f> {
    /// The text of these bytes, whose limit is `max_file_bytes`.
    pub(super) fn new(bytes: Box<dyn BufRead + 'f>, limits: Limits) -> Utf8<'f> {
        Utf8 { text: bytes, limits, begun: false }
    }

    fn begin(&mut self) -> io::Result<()> {
        let mut head = Vec::new();
        self.text.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
        let (wide, mark) = encoding(&head);
        let rest = std::mem::replace(&mut self.text, Box::new(io::empty()));
        let text = Cursor::new(head.split_off(mark)).chain(rest);
        self.text = match wide {
            None => Box::new(text),
            Some(wide) => Box::new(Cursor::new(self.decoded(text, wide)?.into_bytes())),
        };
        self.begun = true;
        Ok(())
    }

    fn decoded(&self, text: impl Read, wide: CharacterWidth) -> io::Result<String> {
        let (mut bytes, most) = (Vec::new(), self.limits.max_file_bytes.min(MOST_WIDE_BYTES));
        text.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            let name = if most < MOST_WIDE_BYTES {
                "max_file_bytes"
            } else {
                "the most for a text that is not UTF-8"
            };
            let over = Limits::exceeded(name, most, bytes.len() as u64);
            return Err(io::Error::other(Error::from(over)));
        }
        decoded(&bytes, wide).map_err(io::Error::other)
    }
}

impl BufRead for Utf8<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if !self.begun {
            self.begin()?;
        }
        self.text.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.text.consume(amount);
    }
}

impl Read for Utf8<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

/// The encoding of a text that begins with these bytes, unless that is UTF-8, and how many of them are its mark.
fn encoding(head: &[u8]) -> (Option<CharacterWidth>, usize) {
    let wide = |bytes, little, mark| (Some(CharacterWidth { bytes, little }), mark);
    match *head {
        [0, 0, 0xfe, 0xff] => wide(4, false, 4),
        [0xff, 0xfe, 0, 0] => wide(4, true, 4),
        [0xfe, 0xff, ..] => wide(2, false, 2),
        [0xff, 0xfe, ..] => wide(2, true, 2),
        [0xef, 0xbb, 0xbf, ..] => (None, 3),
        // JSON begins with a character of one byte; the others of it are zero.
        [0, 0, 0, _] => wide(4, false, 0),
        [_, 0, 0, 0] => wide(4, true, 0),
        [0, _, ..] => wide(2, false, 0),
        [_, 0, ..] => wide(2, true, 0),
        _ => (None, 0),
    }
}

fn decoded(bytes: &[u8], CharacterWidth { bytes: size, little }: CharacterWidth) -> Result<String> {
    let units = bytes.chunks_exact(size);
    let wrong = || Error::new(ErrorKind::Utf8, format!("the text is not UTF-{}", 8 * size));
    if !units.remainder().is_empty() {
        return Err(wrong());
    }
    let number = |unit: &[u8]| {
        let add = |number: u32, byte: &u8| number << 8 | u32::from(*byte);
        if little { unit.iter().rev().fold(0, add) } else { unit.iter().fold(0, add) }
    };
    let text: Option<String> = match size {
        4 => units.map(|unit| char::from_u32(number(unit))).collect(),
        // Two bytes are a number of 16 bits.
        _ => char::decode_utf16(units.map(|unit| number(unit) as u16)).map(std::result::Result::ok).collect(),
    };
    text.ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], limits: Limits) -> io::Result<String> {
        let mut text = String::new();
        Utf8::new(Box::new(bytes), limits).read_to_string(&mut text).map(|_| text)
    }

    /// `text` in an encoding.
    fn encoded(text: &str, size: usize, little: bool) -> Vec<u8> {
        let units: Vec<u32> = match size {
            2 => text.encode_utf16().map(u32::from).collect(),
            _ => text.chars().map(u32::from).collect(),
        };
        let bytes = |unit: u32| {
            let bytes = if little { unit.to_le_bytes() } else { unit.to_be_bytes() };
            if little { bytes[..size].to_vec() } else { bytes[4 - size..].to_vec() }
        };
        units.into_iter().flat_map(bytes).collect()
    }

    #[test]
    fn texts_are_read_in_every_encoding_of_json_with_and_without_a_mark() {
        let text = "{\"é\": \"\u{1f600}\"}";
        for mark in ["", "\u{feff}"] {
            let marked = format!("{mark}{text}");
            assert_eq!(read(marked.as_bytes(), Limits::DEFAULT).expect("UTF-8"), text);
            for (size, little) in [(2, false), (2, true), (4, false), (4, true)] {
                let bytes = encoded(&marked, size, little);
                assert_eq!(read(&bytes, Limits::DEFAULT).expect("a text"), text, "{size} {little} {mark:?}");
            }
        }
        for short in ["", "{", "{}", "\u{feff}"] {
            assert_eq!(
                read(short.as_bytes(), Limits::DEFAULT).expect("UTF-8"),
                short.trim_matches('\u{feff}')
            );
        }
    }

    #[test]
    fn what_is_no_text_and_what_is_too_long_is_refused() {
        let kind = |bytes: &[u8], limits| {
            let error = read(bytes, limits).expect_err("refused");
            error.downcast::<Error>().expect("typed").kind()
        };
        let halves = encoded("{}", 2, true);
        assert_eq!(kind(&[&halves[..], &[0x7d]].concat(), Limits::DEFAULT), ErrorKind::Utf8);
        assert_eq!(kind(&[&halves[..], &[0x00, 0xd8]].concat(), Limits::DEFAULT), ErrorKind::Utf8);
        assert_eq!(kind(&[0, 0, 0, b'{', 0, 0x11, 0, 0], Limits::DEFAULT), ErrorKind::Utf8);
        let limits = Limits { max_file_bytes: 3, ..Limits::DEFAULT };
        let over = ErrorKind::Avro(lakebed_avro::ErrorKind::Limit);
        assert_eq!(kind(&halves, limits), over);
        let blanks = [&halves[..], &[0x20, 0].repeat(MOST_WIDE_BYTES as usize / 2)].concat();
        assert_eq!(kind(&blanks, Limits::DEFAULT), over);
    }
}
