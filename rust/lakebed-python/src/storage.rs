//! A storage written in Python.

use arrow_buffer::Buffer;
use lakebed::storage::Storage;
use lakebed::{Error, ErrorKind, Result};
use pyo3::exceptions::{PyFileNotFoundError, PyMemoryError, PyNotADirectoryError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

/// Calls `read`, `list` and, where it is there, `modified` of a Python object; attaches to the interpreter only for that.
pub struct PyStorage(pub Py<PyAny>);

impl Storage for PyStorage {
    fn read(&self, path: &str) -> Result<Buffer> {
        Python::attach(|py| bytes(py, self.0.bind(py).call_method1("read", (path,)), path))
    }

    fn read_range(&self, path: &str, start: u64, length: u64) -> Result<Buffer> {
        let end = start.saturating_add(length);
        let read =
            Python::attach(|py| bytes(py, self.0.bind(py).call_method1("read", (path, start, end)), path))?;
        if u64::try_from(read.len()).is_ok_and(|found| found <= length) {
            return Ok(read);
        }
        let message = format!("the storage gave {} bytes, {length} were asked for", read.len());
        Err(Error::new(ErrorKind::Mismatch, message).in_file(path))
    }

    fn list(&self, folder: &str) -> Result<Vec<String>> {
        Python::attach(|py| {
            let names = self.0.bind(py).call_method1("list", (folder,));
            match names.and_then(|names| names.extract::<Vec<String>>()) {
                Ok(names) => Ok(names),
                Err(error) if is_missing(py, &error) => Ok(Vec::new()),
                Err(error) => Err(failed(py, error, folder)),
            }
        })
    }

    fn modified(&self, path: &str) -> Result<Option<i64>> {
        Python::attach(|py| {
            let known = || match self.0.bind(py).getattr_opt("modified")? {
                Some(modified) => modified.call1((path,))?.extract(),
                None => Ok(None),
            };
            known().map_err(|error| failed(py, error, path))
        })
    }
}

/// What `read` returned, copied.
fn bytes(py: Python<'_>, read: PyResult<Bound<'_, PyAny>>, path: &str) -> Result<Buffer> {
    let bytes = read.and_then(|bytes| Ok(bytes.extract::<PyBackedBytes>()?));
    let bytes = bytes.map_err(|error| failed(py, error, path))?;
    let mut copy = Vec::new();
    lakebed_avro::reserve(&mut copy, bytes.len(), "a file")
        .map_err(|error| Error::from(error).in_file(path))?;
    copy.extend_from_slice(&bytes);
    Ok(Buffer::from_vec(copy))
}

fn is_missing(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyFileNotFoundError>(py) || error.is_instance_of::<PyNotADirectoryError>(py)
}

fn failed(py: Python<'_>, error: PyErr, path: &str) -> Error {
    let (kind, message) = if is_missing(py, &error) {
        (ErrorKind::Missing, "no such file")
    } else if error.is_instance_of::<PyMemoryError>(py) {
        (ErrorKind::Avro(lakebed_avro::ErrorKind::Limit), "no memory for what the storage reads")
    } else if is_location_error(py, &error) {
        (ErrorKind::Location, "a path that the storage does not open")
    } else {
        (ErrorKind::Io, "storage failed")
    };
    Error::new(kind, message).in_file(path).caused_by(error)
}

fn is_location_error(py: Python<'_>, error: &PyErr) -> bool {
    let class = py.import("lakebed.errors").and_then(|errors| errors.getattr("LocationError"));
    class.is_ok_and(|class| error.matches(py, class).unwrap_or(false))
}
