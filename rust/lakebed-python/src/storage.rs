//! A storage written in Python.

use std::sync::Arc;

use arrow_buffer::Buffer;
use bytes::Bytes;
use lakebed::storage::{AtOnce, Contents, FileDetails, Folders, ListedFile, Local, Storage};
use lakebed::write::Existing;
use lakebed::{Error, ErrorKind, Result};
use pyo3::exceptions::{
    PyFileExistsError, PyFileNotFoundError, PyMemoryError, PyNotADirectoryError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::arrow::import_array;
use crate::source::only_value;

/// How many reads a storage serves at once by default: other than local reads, these wait for a network.
const CONCURRENT_READS: usize = 64;

/// Calls `read`, `list` and, if they exist, `folders`, `contents`, `modified`, `write`, `remove` and
/// `publish` of a Python object; attaches to the interpreter only for that.
pub struct PyStorage {
    storage: Py<PyAny>,
    concurrent_reads: usize,
}

impl PyStorage {
    /// The storage of an object with `read` and `list`; `concurrent_reads`, if it exists, tells how many
    /// reads it serves at once.
    ///
    /// # Errors
    /// `TypeError` for a value that is not a number, `ValueError` for 0.
    pub fn new(storage: Bound<'_, PyAny>) -> PyResult<PyStorage> {
        let concurrent_reads = match storage.getattr_opt("concurrent_reads")? {
            Some(reads) if !reads.is_none() => reads.extract::<usize>()?,
            _ => CONCURRENT_READS,
        };
        if concurrent_reads == 0 {
            return Err(PyValueError::new_err("concurrent_reads must be at least 1"));
        }
        Ok(PyStorage { storage: storage.unbind(), concurrent_reads })
    }

    fn has(&self, methods: &[&str]) -> bool {
        Python::attach(|py| methods.iter().all(|name| self.storage.bind(py).hasattr(name).unwrap_or(false)))
    }
}

/// The storage of a Python object, or the local file system for `None`, limited to as many reads at once as
/// it serves, or to `concurrent_reads`.
///
/// # Errors
/// As [`PyStorage::new`].
pub fn storage_of(
    py: Python<'_>,
    storage: Option<Py<PyAny>>,
    concurrent_reads: Option<usize>,
) -> PyResult<Arc<dyn Storage>> {
    let storage: Arc<dyn Storage> = match storage {
        Some(storage) => Arc::new(PyStorage::new(storage.into_bound(py))?),
        None => Arc::new(InterruptibleLocal),
    };
    Ok(match concurrent_reads.or(storage.concurrent_reads()) {
        Some(reads) => Arc::new(AtOnce::new(storage, reads)),
        None => storage,
    })
}

/// The local file system, whose reads check for signals of the interpreter.
struct InterruptibleLocal;

impl Storage for InterruptibleLocal {
    fn read(&self, path: &str) -> Result<Buffer> {
        Local.read(path)
    }

    fn read_range(&self, path: &str, start: u64, length: u64) -> Result<Buffer> {
        Local.read_range(path, start, length)
    }

    fn list(&self, folder: &str) -> Result<Vec<String>> {
        Local.list(folder)
    }

    fn inner(&self) -> Option<&dyn Storage> {
        Some(&Local)
    }

    fn interrupted(&self) -> Result<()> {
        interrupted()
    }
}

/// Checks for a signal whose handler raises an exception.
fn interrupted() -> Result<()> {
    let raised = Python::attach(|py| py.check_signals());
    raised.map_err(|error| Error::new(ErrorKind::Io, "interrupted").caused_by(error))
}

impl Storage for PyStorage {
    fn concurrent_reads(&self) -> Option<usize> {
        Some(self.concurrent_reads)
    }

    fn interrupted(&self) -> Result<()> {
        interrupted()
    }

    fn read(&self, path: &str) -> Result<Buffer> {
        Python::attach(|py| bytes(py, self.storage.bind(py).call_method1("read", (path,)), path))
    }

    fn read_range(&self, path: &str, start: u64, length: u64) -> Result<Buffer> {
        let end = start.saturating_add(length);
        let read = Python::attach(|py| {
            bytes(py, self.storage.bind(py).call_method1("read", (path, start, end)), path)
        })?;
        if u64::try_from(read.len()).is_ok_and(|found| found <= length) {
            return Ok(read);
        }
        let message = format!("the storage gave {} bytes, {length} were asked for", read.len());
        Err(Error::new(ErrorKind::Mismatch, message).in_file(path))
    }

    fn list(&self, folder: &str) -> Result<Vec<String>> {
        Python::attach(|py| {
            let names = self.storage.bind(py).call_method1("list", (folder,));
            match names.and_then(|names| names.extract::<Vec<String>>()) {
                Ok(names) => Ok(names),
                Err(error) if is_missing(py, &error) => Ok(Vec::new()),
                Err(error) => Err(failed(py, error, folder)),
            }
        })
    }

    fn folders(&self, folder: &str) -> Result<Option<Folders>> {
        Python::attach(|py| {
            let named = || {
                let storage = self.storage.bind(py);
                let names = match storage.getattr_opt("folders")? {
                    Some(folders) => folders.call1((folder,)),
                    None => storage.call_method1("list", (folder,)),
                };
                names?.extract::<Vec<String>>()
            };
            match named() {
                Ok(names) => Ok(Some(Folders { names, closed: Vec::new() })),
                Err(error) if is_missing(py, &error) => Ok(None),
                Err(error) => Err(failed(py, error, folder)),
            }
        })
    }

    fn contents(&self, folder: &str) -> Result<Option<Contents>> {
        Python::attach(|py| {
            let found = || match self.storage.bind(py).getattr_opt("contents")? {
                Some(contents) => contents.call1((folder,))?.extract::<Vec<Listed>>().map(Some),
                None => Ok(None),
            };
            match found() {
                Ok(Some(found)) => Ok(Some(contents(found))),
                Ok(None) => Err(no_contents(folder)),
                Err(error) if is_missing(py, &error) => Ok(None),
                Err(error) => Err(failed(py, error, folder)),
            }
        })
    }

    fn modified(&self, path: &str) -> Result<Option<i64>> {
        Python::attach(|py| {
            let known = || match self.storage.bind(py).getattr_opt("modified")? {
                Some(modified) => modified.call1((path,))?.extract(),
                None => Ok(None),
            };
            known().map_err(|error| failed(py, error, path))
        })
    }

    fn is_writable(&self) -> bool {
        self.has(&["write", "remove"])
    }

    fn is_committable(&self) -> bool {
        self.has(&["write", "remove", "publish"])
    }

    fn publish(&self, path: &str, existing: Existing, bytes: &[u8]) -> Result<bool> {
        let replace = existing == Existing::Replace;
        Python::attach(|py| {
            let data = PyBytes::new(py, bytes);
            match self.storage.bind(py).call_method1("publish", (path, data, replace)) {
                Ok(_) => Ok(true),
                Err(error) if !replace && error.is_instance_of::<PyFileExistsError>(py) => Ok(false),
                Err(error) => Err(failed(py, error, path)),
            }
        })
    }

    fn create(&self, path: &str, bytes: &[u8]) -> Result<()> {
        Python::attach(|py| {
            let written = self.storage.bind(py).call_method1("write", (path, PyBytes::new(py, bytes)));
            written.map(drop).map_err(|error| failed(py, error, path))
        })
    }

    fn remove(&self, path: &str) -> Result<()> {
        Python::attach(|py| {
            let removed = self.storage.bind(py).call_method1("remove", (path,));
            removed.map(drop).map_err(|error| failed(py, error, path))
        })
    }
}

/// A name, whether it is a folder, and for a file its size and modification time [ms since 1970 UTC].
type Listed = (String, bool, Option<u64>, Option<i64>);

fn contents(listed: Vec<Listed>) -> Contents {
    let mut found = Contents::default();
    for (name, is_folder, size, modified) in listed {
        match is_folder {
            true => found.folders.names.push(name),
            false => {
                let details = Some(FileDetails { size, modified });
                found.files.push(ListedFile { name, details });
            }
        }
    }
    found
}

#[cold]
fn no_contents(folder: &str) -> Error {
    let message = "the storage has no contents(), so it is unknown when files were modified: give listing=";
    Error::new(ErrorKind::Unsupported, message).in_file(folder)
}

/// The result of `read`, without a copy: bytes, or any object with the buffer protocol by way of Arrow, since
/// that protocol is not in the stable interface of all supported Python versions.
fn bytes(py: Python<'_>, read: PyResult<Bound<'_, PyAny>>, path: &str) -> Result<Buffer> {
    let bytes = read.and_then(|read| match read.cast_into::<PyBytes>() {
        Ok(bytes) => Ok(Buffer::from(Bytes::from_owner(PyBackedBytes::from(bytes)))),
        Err(other) => {
            let array = py.import("lakebed._arrow")?.call_method1("frozen", (other.into_inner(),))?;
            let array = import_array(&array)?;
            only_value(&array).ok_or_else(|| PyTypeError::new_err("one binary value is expected"))
        }
    });
    bytes.map_err(|error| failed(py, error, path))
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
