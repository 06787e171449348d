//! Errors: those of the Avro layer, and those of the formats.

use std::fmt;

use lakebed_avro::ErrorKind as AvroKind;
pub use lakebed_avro::Location;

use crate::credentials::without_credentials;

/// The kind of error, which users see as `.kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// An error of the Avro layer.
    Avro(AvroKind),
    /// A BinaryRow whose arity differs from that of the type.
    Arity,
    /// A BinaryRow whose kind is not one of insert, update and delete.
    RowKind,
    /// A BinaryRow slot that points outside its row.
    Offset,
    /// A row that ends early.
    RowTruncated,
    /// A value wider than its declared type, or of the wrong width.
    Decimal,
    /// A timestamp that is out of range.
    Timestamp,
    /// A string that is not UTF-8.
    Utf8,
    /// A value that is not a UUID.
    Uuid,
    /// A boolean other than 0 and 1.
    Boolean,
    /// An impossible length.
    Length,
    /// JSON that does not parse, or lacks what the format requires.
    Json,
    /// A type text that is not in the format's grammar.
    Type,
    /// An unsupported format version.
    Version,
    /// Something valid that is not supported.
    Unsupported,
    /// A recorded count or size differs from the actual one.
    Mismatch,
    /// A required field is missing or null.
    Required,
    /// Metadata names a file that does not exist.
    Missing,
    /// No table at this path.
    TableNotFound,
    /// No such snapshot, tag or branch.
    SnapshotNotFound,
    /// A column that does not exist; its name is the field.
    UnknownColumn,
    /// A column that a filter names and that does not exist; its name is the field.
    FilterColumn,
    /// A view or metadata table that does not exist; its name is the field.
    UnknownView,
    /// Arrow input that does not fit the required type.
    Argument,
    /// A filter that does not parse or cannot be bound.
    Predicate,
    /// A path that may not be opened.
    Location,
    /// Other writers committed first, repeatedly.
    Conflict,
    /// A bug of lakebed: columns that it made do not fit together.
    Internal,
    /// Storage failed; the source says how.
    Io,
}

impl ErrorKind {
    /// The kind's name in the shared vocabulary, for example `int-range`.
    pub const fn name(self) -> &'static str {
        match self {
            ErrorKind::Avro(kind) => kind.name(),
            ErrorKind::Arity => "arity",
            ErrorKind::RowKind => "row-kind",
            ErrorKind::Offset => "offset",
            ErrorKind::RowTruncated => "truncated",
            ErrorKind::Decimal => "decimal",
            ErrorKind::Timestamp => "timestamp",
            ErrorKind::Utf8 => "utf8",
            ErrorKind::Uuid => "uuid",
            ErrorKind::Boolean => "boolean",
            ErrorKind::Length => "length",
            ErrorKind::Json => "json",
            ErrorKind::Type => "type",
            ErrorKind::Version => "version",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::Mismatch => "mismatch",
            ErrorKind::Required => "required",
            ErrorKind::Missing => "missing",
            ErrorKind::TableNotFound => "table-not-found",
            ErrorKind::SnapshotNotFound => "snapshot-not-found",
            ErrorKind::UnknownColumn | ErrorKind::FilterColumn => "unknown-column",
            ErrorKind::UnknownView => "unknown-view",
            ErrorKind::Argument => "argument",
            ErrorKind::Predicate => "predicate",
            ErrorKind::Location => "location",
            ErrorKind::Conflict => "conflict",
            ErrorKind::Internal => "internal",
            ErrorKind::Io => "io",
        }
    }
}

/// A failed operation: kind, message, [`Location`] and cause, one pointer wide.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    message: String,
    location: Location,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    is_interruption: bool,
    is_retryable: Option<bool>,
}

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of `kind` without a place.
    #[cold]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        let (message, location) = (message.into(), Location::default());
        Error(Box::new(Inner {
            kind,
            message,
            location,
            source: None,
            is_interruption: false,
            is_retryable: None,
        }))
    }

    /// The error of work that its caller has interrupted, with what the caller raised.
    #[cold]
    pub fn interruption(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        let mut error = Error::new(ErrorKind::Io, "interrupted").caused_by(source);
        error.0.is_interruption = true;
        error
    }

    /// Whether it is an interruption: the caller does not wait for anything else.
    pub fn is_interruption(&self) -> bool {
        self.0.is_interruption
    }

    /// The same error, which says whether the same call may be made again: nothing of this one is left, and
    /// it may succeed.
    #[must_use]
    pub fn retryable(mut self, is_so: bool) -> Error {
        self.0.is_retryable = Some(is_so);
        self
    }

    /// Whether the same call may be made again; `None` where only the cause says so, as of a storage's error.
    pub fn is_retryable(&self) -> Option<bool> {
        self.0.is_retryable
    }

    /// The same error with its cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        self.0.source = Some(source.into());
        self
    }

    /// The same error, with missing parts of its place taken from `outer`.
    #[must_use]
    pub fn at(mut self, outer: Location) -> Error {
        self.0.location = std::mem::take(&mut self.0.location).or(outer);
        self
    }

    /// The same error in the file `path`, unless it has a file already; credentials in a URI are left out.
    #[must_use]
    pub fn in_file(self, path: &str) -> Error {
        self.at(Location { path: Some(without_credentials(path).into_owned()), ..Location::default() })
    }

    /// The same error at the field `name`, unless it has a field already.
    #[must_use]
    pub fn in_field(self, name: &str) -> Error {
        self.at(Location { field: Some(name.to_owned()), ..Location::default() })
    }

    /// The same error, with `name`, a key or an index in brackets, put before its field.
    #[must_use]
    pub(crate) fn within(mut self, name: &str) -> Error {
        let field = &mut self.0.location.field;
        *field = Some(match field.as_deref() {
            None => name.to_owned(),
            Some(inner) if inner.starts_with('[') => format!("{name}{inner}"),
            Some(inner) => format!("{name}.{inner}"),
        });
        self
    }

    /// The same error at record `record`, unless it has a record already.
    #[must_use]
    pub fn in_record(self, record: u64) -> Error {
        self.at(Location { record: Some(record), ..Location::default() })
    }

    /// The same error with its record counted from the start of the file, given that `first` records precede
    /// those it was counted from; without a record where `first` is unknown.
    #[must_use]
    pub(crate) fn behind_records(mut self, first: Option<u64>) -> Error {
        let record = &mut self.0.location.record;
        *record = record.and_then(|record| record.checked_add(first?));
        self
    }

    /// The same error in a file of which only a part was read: `further` is added to its offset, and block
    /// and record are removed, since they are unknown.
    #[must_use]
    pub(crate) fn elsewhere(mut self, further: impl Fn(u64) -> u64) -> Error {
        let Location { offset, block, record, .. } = &mut self.0.location;
        (*offset, *block, *record) = (offset.map(further), None, None);
        self
    }

    /// The same error at the record of an array's row, unless it has a record already.
    #[must_use]
    pub fn in_row(self, row: usize) -> Error {
        self.in_record(u64::try_from(row).unwrap_or(u64::MAX))
    }

    /// The same error, with the record `name` removed from the path of its field.
    #[must_use]
    pub(crate) fn inside(mut self, name: &str) -> Error {
        let field = &mut self.0.location.field;
        let inner = field.as_deref().and_then(|path| path.strip_prefix(name)?.strip_prefix('.'));
        if let Some(inner) = inner {
            *field = Some(inner.to_owned());
        }
        self
    }

    /// The same error, with its row replaced by the one that `rows` has at that index.
    #[must_use]
    pub(crate) fn at_rows(mut self, rows: &[usize]) -> Error {
        let record = &mut self.0.location.record;
        let taken = record.and_then(|record| rows.get(usize::try_from(record).ok()?));
        *record = taken.and_then(|row| u64::try_from(*row).ok());
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

    /// The same error, its message after the name of what it is about.
    pub(crate) fn about(mut self, what: &str) -> Error {
        self.0.message.insert_str(0, &format!("{what}: "));
        self
    }

    /// The same error with words appended to its message.
    pub(crate) fn adding(mut self, words: &str) -> Error {
        self.0.message.push_str(words);
        self
    }

    /// The same error with words before its message.
    pub(crate) fn after_words(mut self, words: &str) -> Error {
        self.0.message.insert_str(0, words);
        self
    }

    /// Takes the cause out; storage errors of the caller's own language are passed this way.
    pub fn take_source(&mut self) -> Option<Box<dyn std::error::Error + Send + Sync>> {
        self.0.source.take()
    }
}

/// A number that was computed of, or converted from, numbers in files or of callers, which may be forged;
/// `None` where it overflowed. `what` is its name in the message, as in
/// `fitting(first.checked_add(rows), "the next row id")` or `fitting(i32::try_from(rows).ok(), "…")`.
///
/// # Errors
/// `Mismatch`.
pub(crate) fn fitting<T>(computed: Option<T>, what: &str) -> Result<T> {
    let bits = 8 * size_of::<T>();
    computed.ok_or_else(|| Error::new(ErrorKind::Mismatch, format!("{what} does not fit {bits} bits")))
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.location.behind(&self.0.message))
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| &**source as _)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Error {
        Error::new(ErrorKind::Io, error.to_string()).caused_by(error)
    }
}

/// For columns that do not fit together: a caller's input is checked before, so these are lakebed's own.
impl From<arrow_schema::ArrowError> for Error {
    fn from(error: arrow_schema::ArrowError) -> Error {
        use arrow_schema::ArrowError::{MemoryError, OffsetOverflowError};
        let kind = match error {
            MemoryError(_) | OffsetOverflowError(_) => ErrorKind::Avro(AvroKind::Limit),
            _ => ErrorKind::Internal,
        };
        Error::new(kind, error.to_string())
    }
}

impl From<lakebed_avro::Error> for Error {
    fn from(error: lakebed_avro::Error) -> Error {
        let (kind, message, location, source) = error.into_parts();
        let kind = if kind == AvroKind::Io { ErrorKind::Io } else { ErrorKind::Avro(kind) };
        let error = Error::new(kind, message).at(location);
        match source {
            Some(source) => error.caused_by(source),
            None => error,
        }
    }
}
