//! Reads JSON text that is too long to hold: scans the top level, and parses one value at a time.

use std::io::{self, BufRead};

use lakebed_avro::{ErrorKind as AvroKind, Limits};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::error::Category;

use super::passing::{Objects, Stop};
use super::place::{path_to, shown};
use crate::error::{Error, ErrorKind, Location, Result};
use crate::json::{self, invalid};

/// How much text is read at a time, and the most that is held unless a value is longer.
const READ_BYTES: usize = 256 << 10;

/// A longer message of the JSON parser is left out; it quotes values.
const MAX_WORDS: usize = 200;

/// The end of a value that was looked at.
pub(super) struct End(usize);

/// A position in a JSON text, which is read once from start to end.
pub(super) struct Scanner<'f> {
    text: Box<dyn BufRead + 'f>,
    limits: Limits,
    /// Text that was read; text before `at` is no longer needed.
    buffer: Vec<u8>,
    at: usize,
    /// Bytes of text before the buffer.
    before: u64,
    /// Whether there is no text after the buffer.
    ended: bool,
    objects: Objects,
}

impl<'f> Scanner<'f> {
    /// At the start of `text`, with the limits `max_file_bytes` for all of it and `max_value_bytes` for a
    /// value.
    pub(super) fn new(text: Box<dyn BufRead + 'f>, limits: Limits) -> Scanner<'f> {
        Scanner {
            text,
            limits,
            buffer: Vec::new(),
            at: 0,
            before: 0,
            ended: false,
            objects: Objects::default(),
        }
    }

    /// Reads an object; `member` reads the value of each key.
    pub(super) fn members(&mut self, mut member: impl FnMut(&mut Self, &str) -> Result<()>) -> Result<()> {
        self.expect(b'{', "an object")?;
        if self.skip_if(b'}')? {
            return Ok(());
        }
        loop {
            let key: String = self.value()?;
            let read = self.expect(b':', "`:`").and_then(|()| member(self, &key));
            read.map_err(|error| error.within(&shown(&key)))?;
            if !self.skip_if(b',')? {
                return self.expect(b'}', "`,` or `}`");
            }
        }
    }

    /// Reads an array; `element` reads the value of each element.
    pub(super) fn elements(&mut self, mut element: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.expect(b'[', "an array")?;
        if self.skip_if(b']')? {
            return Ok(());
        }
        let mut number = 0u64;
        loop {
            self.peek()?;
            element(self).map_err(|error| error.within(&format!("[{number}]")))?;
            if !self.skip_if(b',')? {
                return self.expect(b']', "`,` or `]`");
            }
            number += 1;
        }
    }

    /// Reads a value and converts it; errors are placed at the start of the value.
    pub(super) fn made<T: DeserializeOwned + Send, U>(
        &mut self,
        make: impl FnOnce(T) -> Result<U>,
    ) -> Result<U> {
        let (value, end) = self.ahead()?;
        let made = make(value).map_err(|error| self.here(error))?;
        self.at = end;
        Ok(made)
    }

    /// Reads a value.
    pub(super) fn value<T: DeserializeOwned + Send>(&mut self) -> Result<T> {
        self.made(Ok)
    }

    /// Looks at a value without passing it: it can be read again as another type, or be passed with
    /// [`Self::pass`].
    pub(super) fn look<T: DeserializeOwned + Send>(&mut self) -> Result<(T, End)> {
        self.ahead().map(|(value, end)| (value, End(end)))
    }

    /// Looks at an object of which only the numbers with these keys are wanted; `None` where it has to be read as a
    /// value.
    pub(super) fn look_for<const N: usize>(
        &mut self,
        keys: [&str; N],
    ) -> Result<Option<([Option<i64>; N], End)>> {
        self.passed(|objects, rest| objects.numbers(rest, keys))
            .map(|found| found.map(|(numbers, end)| (numbers, End(end))))
    }

    /// What `pass` finds at the next value, and the end of that; `None` where serde_json has to read it.
    fn passed<T>(
        &mut self,
        pass: impl Fn(&mut Objects, &[u8]) -> std::result::Result<(T, usize), Stop>,
    ) -> Result<Option<(T, usize)>> {
        self.peek()?;
        loop {
            match pass(&mut self.objects, self.buffer.get(self.at..).unwrap_or_default()) {
                Ok((value, length)) => return Ok(Some((value, self.at + length))),
                Err(Stop::Cut) if !self.ended => self.more()?,
                Err(_) => return Ok(None),
            }
        }
    }

    /// Skips the value that was looked at last.
    pub(super) fn pass(&mut self, End(end): End) {
        self.at = end;
    }

    /// Skips a value; only one of its elements at a time is in memory.
    pub(super) fn skip(&mut self) -> Result<()> {
        let one = |scanner: &mut Self| {
            // Where any other value ends, is seen by what follows.
            if let Some(b'{' | b'[' | b'"') = scanner.peek()?
                && let Some(((), end)) = scanner.passed(|objects, rest| Ok(((), objects.value(rest)?)))?
            {
                scanner.at = end;
                return Ok(());
            }
            scanner.value::<IgnoredAny>().map(drop)
        };
        if self.peek()? == Some(b'[') { self.elements(one) } else { one(self) }
    }

    /// Skips a null, if there is one here.
    pub(super) fn skip_null(&mut self) -> Result<bool> {
        let null = self.peek()? == Some(b'n');
        if null {
            self.value::<()>()?;
        }
        Ok(null)
    }

    /// A value, and its end in the buffer.
    fn ahead<T: DeserializeOwned + Send>(&mut self) -> Result<(T, usize)> {
        self.peek()?;
        loop {
            let rest = self.buffer.get(self.at..).unwrap_or_default();
            let mut values = serde_json::Deserializer::from_slice(rest).into_iter();
            match values.next() {
                // A value that ends with the buffer, such as a number, may continue after it.
                Some(Ok(value)) if values.byte_offset() < rest.len() || self.ended => {
                    return Ok((value, self.at + values.byte_offset()));
                }
                Some(Err(error)) if json::is_deep(&error) => {
                    // What is ignored is passed over without recursion.
                    let (IgnoredAny, end) = self.ahead()?;
                    let value = self.buffer.get(self.at..end).unwrap_or_default();
                    let value = json::deep(value).map_err(|error| self.here(error))?;
                    return Ok((value, end));
                }
                Some(Err(error)) if !error.is_eof() || self.ended => return Err(self.refused(&error)),
                None if self.ended => return Err(self.truncated()),
                _ => self.more()?,
            }
        }
    }

    /// Refuses anything but whitespace and NULs until the end of the text.
    pub(super) fn finish(&mut self) -> Result<()> {
        while self.skip_if(0)? {}
        match self.peek()? {
            None => Ok(()),
            Some(_) => Err(self.here(invalid("trailing bytes after the end of the metadata"))),
        }
    }

    /// The next byte that is not whitespace; `None` at the end of the text.
    fn peek(&mut self) -> Result<Option<u8>> {
        loop {
            let rest = self.buffer.get(self.at..).unwrap_or_default();
            match rest.iter().position(|byte| !b" \t\r\n".contains(byte)) {
                Some(space) => {
                    self.at += space;
                    return Ok(rest.get(space).copied());
                }
                None if self.ended => {
                    self.at = self.buffer.len();
                    return Ok(None);
                }
                None => {
                    self.at = self.buffer.len();
                    self.more()?;
                }
            }
        }
    }

    fn skip_if(&mut self, wanted: u8) -> Result<bool> {
        let found = self.peek()? == Some(wanted);
        self.at += usize::from(found);
        Ok(found)
    }

    fn expect(&mut self, wanted: u8, words: &str) -> Result<()> {
        if self.skip_if(wanted)? {
            return Ok(());
        }
        let wrong = if self.ended && self.at == self.buffer.len() {
            self.truncated()
        } else {
            invalid(format!("expected {words}"))
        };
        Err(self.here(wrong))
    }

    /// Reads more text into the buffer, as much again as it has, so that long values cost at most twice their
    /// length.
    fn more(&mut self) -> Result<()> {
        self.before += self.at as u64;
        self.buffer.drain(..self.at);
        self.at = 0;
        let held = self.buffer.len();
        let bounds = [
            ("max_value_bytes", self.limits.max_value_bytes, held as u64),
            ("max_file_bytes", self.limits.max_file_bytes, self.before + held as u64),
        ];
        if let Some((name, bound, held)) = bounds.into_iter().find(|(_, bound, held)| held > bound) {
            return Err(self.here(Limits::exceeded(name, bound, held).into()));
        }
        let wanted = READ_BYTES.max(held);
        let reserved = lakebed_avro::reserve(&mut self.buffer, wanted, "metadata");
        reserved.map_err(|error| self.here(error.into()))?;
        self.read(wanted).map_err(|error| self.here(failed(error)))
    }

    /// Reads so many bytes into the buffer, or all that are left.
    fn read(&mut self, wanted: usize) -> io::Result<()> {
        let mut left = wanted;
        while left > 0 && !self.ended {
            let text = self.text.fill_buf()?;
            self.ended = text.is_empty();
            let taken = text.get(..left).unwrap_or(text);
            self.buffer.extend_from_slice(taken);
            let length = taken.len();
            self.text.consume(length);
            left -= length;
        }
        Ok(())
    }

    /// How much of the text was passed.
    pub(super) fn offset(&self) -> u64 {
        self.before + self.at as u64
    }

    #[cold]
    fn here(&self, error: Error) -> Error {
        error.at(Location { offset: Some(self.offset()), ..Location::default() })
    }

    #[cold]
    fn truncated(&self) -> Error {
        let end = self.before + self.buffer.len() as u64;
        let place = Location { offset: Some(end), ..Location::default() };
        Error::new(ErrorKind::Avro(AvroKind::Truncated), "metadata ends early").at(place)
    }

    /// The parser's error at a value; its line and column become a position in the text.
    #[cold]
    fn refused(&self, error: &serde_json::Error) -> Error {
        if error.classify() == Category::Eof {
            return self.truncated();
        }
        let rest = self.buffer.get(self.at..).unwrap_or_default();
        let lines = rest.split_inclusive(|byte| *byte == b'\n');
        let above: usize = lines.take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
        let within = above + error.column().saturating_sub(1);
        let words = json::words(error);
        let words = words.rsplit_once(" at line ").map_or(words.as_str(), |(words, _)| words);
        let end = words.char_indices().nth(MAX_WORDS).map_or(words.len(), |(end, _)| end);
        // serde_json tells what is absent from what is wrong in its words only.
        let lacks = error.classify() == Category::Data && words.starts_with("missing field");
        let kind = if lacks { ErrorKind::Required } else { ErrorKind::Json };
        let refused = Error::new(kind, words.get(..end).unwrap_or_default())
            .at(Location { offset: Some(self.offset() + within as u64), ..Location::default() });
        let path = path_to(rest, within);
        if path.is_empty() { refused } else { refused.in_field(&path) }
    }
}

/// An error while reading the text: of the storage, or of inflating.
#[cold]
fn failed(error: io::Error) -> Error {
    match (error.kind(), error.downcast::<Error>()) {
        (_, Ok(error)) => error,
        (io::ErrorKind::UnexpectedEof, Err(error)) => {
            Error::new(ErrorKind::Avro(AvroKind::Truncated), "compressed metadata ends early")
                .caused_by(error)
        }
        (_, Err(error)) => {
            let message = format!("compressed metadata does not inflate: {error}");
            Error::new(ErrorKind::Avro(AvroKind::Codec), message).caused_by(error)
        }
    }
}
