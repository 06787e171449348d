//! Maps error kinds to the classes of `lakebed.errors`; a new kind stops this file from compiling until it is
//! mapped.

use std::any::Any;

use lakebed::location::without_credentials_in;
use lakebed::{Error, ErrorKind};
use lakebed_avro::ErrorKind as AvroKind;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::interpreter::raised_by;

/// The cause of an error.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

fn class_of(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Avro(kind) => class_of_avro(kind),
        ErrorKind::RowTruncated => "TruncatedError",
        ErrorKind::Missing => "MissingFileError",
        ErrorKind::TableNotFound => "TableNotFoundError",
        ErrorKind::SnapshotNotFound => "SnapshotNotFoundError",
        ErrorKind::UnknownColumn | ErrorKind::UnknownView | ErrorKind::Argument => "SchemaError",
        ErrorKind::Predicate | ErrorKind::FilterColumn => "PredicateError",
        ErrorKind::Version | ErrorKind::Unsupported => "UnsupportedError",
        ErrorKind::Arity
        | ErrorKind::RowKind
        | ErrorKind::Offset
        | ErrorKind::Decimal
        | ErrorKind::Timestamp
        | ErrorKind::Utf8
        | ErrorKind::Uuid
        | ErrorKind::Boolean
        | ErrorKind::Length
        | ErrorKind::Json
        | ErrorKind::Type
        | ErrorKind::Mismatch
        | ErrorKind::Required => "CorruptError",
        ErrorKind::Location => "LocationError",
        ErrorKind::Conflict => "CommitConflictError",
        ErrorKind::Internal => "InternalError",
        ErrorKind::Io => "LakebedError",
    }
}

fn class_of_avro(kind: AvroKind) -> &'static str {
    match kind {
        AvroKind::Truncated => "TruncatedError",
        AvroKind::Limit | AvroKind::Depth => "LimitError",
        AvroKind::Foreign | AvroKind::UnknownCodec | AvroKind::Unsupported => "UnsupportedError",
        AvroKind::UnknownColumn | AvroKind::Unresolvable | AvroKind::Type | AvroKind::Required => {
            "SchemaError"
        }
        AvroKind::Magic
        | AvroKind::Trailing
        | AvroKind::Sync
        | AvroKind::Varint
        | AvroKind::IntRange
        | AvroKind::Length
        | AvroKind::Count
        | AvroKind::Codec
        | AvroKind::Checksum
        | AvroKind::Schema
        | AvroKind::Union
        | AvroKind::Enum
        | AvroKind::Boolean
        | AvroKind::Utf8
        | AvroKind::Decimal
        | AvroKind::Timestamp
        | AvroKind::Duplicate => "CorruptError",
        AvroKind::Encryption => "EncryptionError",
        AvroKind::Io => "LakebedError",
    }
}

/// The Python exception for `error`. An exception of a storage is raised again as it is, except for a lack
/// of memory, which becomes a `LimitError` with the path; where the core knows whether the call may be made
/// again, it has that as `retryable`.
pub fn to_python(py: Python<'_>, error: Error) -> PyErr {
    let said = error.is_retryable();
    let raised = exception(py, error);
    if let Some(is_retryable) = said {
        // Of a storage's exception, which may take no attributes.
        let _ = raised.value(py).setattr("retryable", is_retryable);
    }
    raised
}

fn exception(py: Python<'_>, mut error: Error) -> PyErr {
    if matches!(error.kind(), ErrorKind::Io | ErrorKind::Location)
        && let Some(source) = error.take_source()
    {
        let raised = raised_by(source).or_else(raised_while_writing);
        return raised.unwrap_or_else(|source| os_error(&error, source.as_ref()));
    }
    let raised = raise(py, class_of(error.kind()), &error);
    if matches!(error.kind(), ErrorKind::Avro(AvroKind::Limit | AvroKind::Encryption))
        && let Some(Ok(cause)) = error.take_source().map(raised_by)
    {
        raised.set_cause(py, Some(cause));
    }
    raised
}

fn os_error(error: &Error, source: &(dyn std::error::Error + Send + Sync + 'static)) -> PyErr {
    let shown = |text: &str| without_credentials_in(text).into_owned();
    match source.downcast_ref::<std::io::Error>().and_then(errno) {
        Some(number) => PyOSError::new_err((number, shown(error.message()), error.location().path.clone())),
        // Without a number Python would print `[Errno None]`.
        None => PyOSError::new_err(shown(&error.to_string())),
    }
}

/// The error number by which Python chooses the class of an `OSError`.
fn errno(error: &std::io::Error) -> Option<i32> {
    // `errno.EEXIST`, for storages without a system error number.
    const EXISTS: i32 = 17;
    error.raw_os_error().or((error.kind() == std::io::ErrorKind::AlreadyExists).then_some(EXISTS))
}

/// The exception that a Python file raised on writing, taken out of the I/O error.
fn raised_while_writing(source: Cause) -> Result<PyErr, Cause> {
    let carries = |error: &std::io::Error| error.get_ref().is_some_and(|inner| inner.is::<PyErr>());
    if !source.downcast_ref::<std::io::Error>().is_some_and(carries) {
        return Err(source);
    }
    let error = source.downcast::<std::io::Error>()?;
    let inner = error.into_inner().ok_or("an I/O error without a cause")?;
    inner.downcast::<PyErr>().map(|raised| *raised)
}

/// The Python exception for rows that cannot be written: the values do not fit, while the bytes of files are
/// right.
pub fn write_error_to_python(py: Python<'_>, error: Error) -> PyErr {
    match class_of(error.kind()) {
        "CorruptError" => raise(py, "SchemaError", &error),
        _ => to_python(py, error),
    }
}

/// The same for a commit, which reads files too: errors in those have their path.
pub fn commit_error_to_python(py: Python<'_>, error: Error) -> PyErr {
    if error.location().path.is_some() { to_python(py, error) } else { write_error_to_python(py, error) }
}

fn raise(py: Python<'_>, class: &str, error: &Error) -> PyErr {
    let make = || -> PyResult<_> {
        let place = error.location();
        let attributes = PyDict::new(py);
        attributes.set_item("kind", error.kind().name())?;
        attributes.set_item("path", &place.path)?;
        attributes.set_item("offset", place.offset)?;
        attributes.set_item("block", place.block)?;
        attributes.set_item("record", place.record)?;
        attributes.set_item("field", &place.field)?;
        attributes.set_item("retryable", error.is_retryable() == Some(true))?;
        let message = error.to_string();
        let class = py.import("lakebed.errors")?.getattr(class)?;
        class.call((without_credentials_in(&message),), Some(&attributes))
    };
    make().map_or_else(|failure| failure, PyErr::from_value)
}

/// The exception for a panic, which is always a bug of lakebed.
pub fn internal(py: Python<'_>, panic: &(dyn Any + Send)) -> PyErr {
    let words = panic.downcast_ref::<&str>().copied();
    let words = words.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or_default();
    to_python(py, Error::new(ErrorKind::Internal, format!("panic in lakebed: {words}")))
}
