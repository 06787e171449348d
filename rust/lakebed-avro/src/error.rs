//! One error type: the kind of error, a message, and the place.

use std::fmt;

/// The kind of error, which users see as `.kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Not an Avro object container file.
    Magic,
    /// A file of another known format.
    Foreign,
    /// The input ends early.
    Truncated,
    /// Trailing bytes where there should be none.
    Trailing,
    /// A block's sync marker differs from the header's.
    Sync,
    /// A variable-length integer of more than 10 bytes or 64 bits.
    Varint,
    /// An `int` beyond 32 bits.
    IntRange,
    /// A negative or impossible length.
    Length,
    /// A negative or impossible count.
    Count,
    /// Over a bound of [`crate::Limits`].
    Limit,
    /// Nested too deeply.
    Depth,
    /// A codec that is not one of Avro's.
    UnknownCodec,
    /// Compressed data that does not inflate.
    Codec,
    /// A checksum differs.
    Checksum,
    /// A bad schema.
    Schema,
    /// A schema that is valid but has no Arrow form here.
    Unsupported,
    /// A writer's schema, or a value of it, that does not resolve to the reader's schema.
    Unresolvable,
    /// A union branch that does not exist.
    Union,
    /// An enum symbol that does not exist.
    Enum,
    /// A boolean other than 0 and 1.
    Boolean,
    /// A string that is not UTF-8.
    Utf8,
    /// A decimal wider than its declared precision.
    Decimal,
    /// A timestamp that its Arrow type cannot hold.
    Timestamp,
    /// A metadata key that appears twice.
    Duplicate,
    /// Bytes that a key does not decrypt.
    Encryption,
    /// A projected column that the schema does not have.
    UnknownColumn,
    /// An Arrow column whose type the schema's field does not take.
    Type,
    /// A null where the schema allows none.
    Required,
    /// Reading the input or writing the output failed; the source says how.
    Io,
}

impl ErrorKind {
    /// The kind's name in the shared vocabulary, for example `int-range`.
    pub const fn name(self) -> &'static str {
        match self {
            ErrorKind::Magic | ErrorKind::Foreign => "magic",
            ErrorKind::Truncated => "truncated",
            ErrorKind::Trailing => "trailing",
            ErrorKind::Sync => "sync",
            ErrorKind::Varint => "varint",
            ErrorKind::IntRange => "int-range",
            ErrorKind::Length => "length",
            ErrorKind::Count => "count",
            ErrorKind::Limit => "limit",
            ErrorKind::Depth => "depth",
            ErrorKind::UnknownCodec | ErrorKind::Codec => "codec",
            ErrorKind::Checksum => "checksum",
            ErrorKind::Schema | ErrorKind::Unsupported | ErrorKind::Unresolvable => "schema",
            ErrorKind::Union => "union",
            ErrorKind::Enum => "enum",
            ErrorKind::Boolean => "boolean",
            ErrorKind::Utf8 => "utf8",
            ErrorKind::Decimal => "decimal",
            ErrorKind::Timestamp => "timestamp",
            ErrorKind::Duplicate => "duplicate",
            ErrorKind::Encryption => "encryption",
            ErrorKind::UnknownColumn => "unknown-column",
            ErrorKind::Type => "type",
            ErrorKind::Required => "required",
            ErrorKind::Io => "io",
        }
    }
}

/// The place of an error in an input; parts that are not known are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Location {
    /// The file, as the caller named it.
    pub path: Option<String>,
    /// Bytes from the start of the file: of the wrong byte if the file holds it uncompressed, else of the
    /// compressed block with it.
    pub offset: Option<u64>,
    /// Number of the block, from 0.
    pub block: Option<u64>,
    /// Number of the record in the file, from 0.
    pub record: Option<u64>,
    /// Dotted path of the field, from the top of the schema.
    pub field: Option<String>,
}

impl Location {
    /// Takes parts that are not known from `outer`.
    pub fn or(mut self, outer: Location) -> Location {
        self.path = self.path.or(outer.path);
        self.offset = self.offset.or(outer.offset);
        self.block = self.block.or(outer.block);
        self.record = self.record.or(outer.record);
        self.field = self.field.or(outer.field);
        self
    }
}

impl Location {
    /// An error's text: the message followed by the place in words, without parts that the message has
    /// already. The place is on one line, and neither has characters that control a terminal, whatever names
    /// the input has.
    pub fn behind(&self, message: &str) -> String {
        let parts = [
            self.offset.map(|offset| format!("byte {offset}")),
            self.block.map(|block| format!("block {block}")),
            self.record.map(|record| format!("record {record}")),
            self.field.as_deref().map(on_one_line),
            self.path.as_deref().map(on_one_line),
        ];
        let known = parts.into_iter().flatten().filter(|part| !message.contains(part.as_str()));
        let known: Vec<String> = known.collect();
        // Line breaks of a message are lakebed's own.
        let message = escaped(message, |char| char != '\n' && is_terminal_control(char));
        if known.is_empty() { message } else { format!("{message} ({})", known.join(", ")) }
    }
}

/// The longest message of an error, whatever the input.
const MAX_MESSAGE_BYTES: usize = 1024;

/// A failed read: kind, message and [`Location`], one pointer wide.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    message: String,
    location: Location,
    source: Option<std::io::Error>,
}

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of `kind` without a place.
    #[cold]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        let message = clip(message.into());
        Error(Box::new(Inner { kind, message, location: Location::default(), source: None }))
    }

    /// A read that failed before any byte could be checked.
    #[cold]
    pub fn io(source: std::io::Error) -> Error {
        let mut error = Error::new(ErrorKind::Io, source.to_string());
        error.0.source = Some(source);
        error
    }

    /// The same error, with missing parts of its place taken from `outer`.
    #[must_use]
    pub fn at(mut self, outer: Location) -> Error {
        self.0.location = std::mem::take(&mut self.0.location).or(outer);
        self
    }

    /// The same error, with `records` added to its record.
    #[must_use]
    pub(crate) fn records_later(mut self, records: u64) -> Error {
        let record = &mut self.0.location.record;
        *record = record.map(|record| record.saturating_add(records));
        self
    }

    /// The same error, with a name put before its field.
    #[must_use]
    pub fn within(mut self, name: &str) -> Error {
        let field = &mut self.0.location.field;
        *field = Some(field.as_ref().map_or_else(|| name.to_owned(), |inner| format!("{name}.{inner}")));
        self
    }

    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message, without the place.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The place.
    pub fn location(&self) -> &Location {
        &self.0.location
    }

    /// Takes the error apart: kind, message, place, and the I/O error that caused it.
    pub fn into_parts(self) -> (ErrorKind, String, Location, Option<std::io::Error>) {
        let inner = *self.0;
        (inner.kind, inner.message, inner.location, inner.source)
    }
}

/// The text on one line, with all characters that control a terminal escaped.
fn on_one_line(text: &str) -> String {
    escaped(text, is_terminal_control)
}

fn escaped(text: &str, which: impl Fn(char) -> bool) -> String {
    let mut line = String::with_capacity(text.len());
    for char in text.chars() {
        if which(char) { line.extend(char.escape_default()) } else { line.push(char) }
    }
    line
}

/// Whether a character does something to a terminal other than being shown: controls (C0, DEL, C1), line and
/// paragraph separators, and characters that change the direction of text (Unicode's Bidi_Control).
fn is_terminal_control(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Truncates a message that an input has made long, at a character boundary.
fn clip(mut message: String) -> String {
    if message.len() > MAX_MESSAGE_BYTES {
        let end = (0..=MAX_MESSAGE_BYTES).rev().find(|&i| message.is_char_boundary(i)).unwrap_or(0);
        message.truncate(end);
        message.push('…');
    }
    message
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.location.behind(&self.0.message))
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| source as _)
    }
}

impl From<std::io::Error> for Error {
    fn from(source: std::io::Error) -> Error {
        Error::io(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_an_error_steers_a_terminal() {
        let evil = "\u{1b}[31m\u{7f}\u{9b}\u{61c}\u{200f}\u{2028}\u{2029}\u{202a}\u{202e}\u{2066}\u{2069}é";
        let shown = r"\u{1b}[31m\u{7f}\u{9b}\u{61c}\u{200f}\u{2028}\u{2029}\u{202a}\u{202e}\u{2066}\u{2069}é";
        let place = Location { field: Some(format!("{evil}\n")), ..Location::default() };
        let error = Error::new(ErrorKind::Schema, format!("field {evil}\n  ^")).at(place);
        assert_eq!(error.to_string(), format!("field {shown}\n  ^ ({shown}\\n)"));
    }

    #[test]
    fn an_error_is_one_line_whatever_the_file_is_called() {
        let place = Location { path: Some("a\nb\u{7}é".to_owned()), ..Location::default() };
        let error = Error::new(ErrorKind::Truncated, "the file ends").at(place);
        assert_eq!(error.to_string(), r"the file ends (a\nb\u{7}é)");
        assert_eq!(error.location().path.as_deref(), Some("a\nb\u{7}é"));
    }
}
