//! A storage written in Python.

use std::sync::Arc;

use arrow_buffer::Buffer;
use bytes::Bytes;
use lakebed::cache::StorageIdentity;
use lakebed::location::GuardedStorage;
use lakebed::relocate::RelocatedStorage;
use lakebed::storage::{
    AtOnce, Contents, FileDetails, Folders, ListedFile, Local, ReadPermits, Storage, present,
};
use lakebed::write::ExistingFile;
use lakebed::{Error, ErrorKind, Result};
use pyo3::exceptions::{
    PyFileExistsError, PyFileNotFoundError, PyMemoryError, PyNotADirectoryError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyTuple, PyType};

use crate::arrow::import_array;
use crate::interpreter::{attached, call_method, cause, ending, interrupted, is_ending, waited};
use crate::source::only_value;

/// How many reads a storage serves at once by default: other than local reads, these wait for a network.
const CONCURRENT_READS: usize = 64;

/// How many a table has at once of a limit that it shares: each has a thread, whether it waits or not.
const SHARED_READS: usize = 8;

/// Calls `read` and `list` of a Python object, and the methods that it has by the protocols of
/// `lakebed.storage`; attaches to the interpreter only for that.
pub struct PyStorage {
    storage: Py<PyAny>,
    abilities: Abilities,
    /// What tells it from others, where that was asked.
    identity: Option<StorageIdentity>,
}

/// What Python's `lakebed.storage.protocols.abilities` gives.
#[derive(FromPyObject)]
struct Abilities {
    folders: bool,
    contents: bool,
    modified: bool,
    write: bool,
    publish: bool,
    concurrent_reads: Option<usize>,
    says_reads: bool,
}

impl PyStorage {
    /// The storage of an object with `read` and `list`; what else it has is found out here, once: `concurrent_reads`
    /// that are not a number are a `TypeError`, 0 is a `ValueError`.
    pub fn new(storage: Bound<'_, PyAny>) -> PyResult<PyStorage> {
        let protocols = storage.py().import("lakebed.storage.protocols")?;
        let abilities = protocols.call_method1("abilities", (&storage,))?.extract()?;
        Ok(PyStorage { storage: storage.unbind(), abilities, identity: None })
    }

    /// The same, which says what tells it from others: an `identity` that is no text is a `TypeError`.
    fn identified(self, py: Python<'_>) -> PyResult<PyStorage> {
        let identity = py.import("lakebed.storage.identity")?;
        let (name, is_shared) = identity.call_method1("identity_of", (&self.storage,))?.extract()?;
        Ok(PyStorage { identity: Some(StorageIdentity { name, is_shared }), ..self })
    }

    fn reads(&self) -> usize {
        self.abilities.concurrent_reads.unwrap_or(CONCURRENT_READS)
    }

    /// The result of a method; a result of another type is a `TypeError`.
    fn ask<T: for<'a, 'py> FromPyObject<'a, 'py, Error: Into<PyErr>>>(
        &self,
        method: &str,
        path: &str,
        arguments: impl for<'py> IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>>,
    ) -> Result<T> {
        attached(|py| {
            let answer = call_method(self.storage.bind(py), method, arguments);
            let answer = answer.and_then(|answer| answer.extract().map_err(Into::into));
            answer.map_err(|error| failed(py, error, path))
        })
    }
}

/// Refuses to call a method that a storage does not have, and says what may be done instead.
fn check(has: bool, method: &str, protocol: &str, instead: &str, path: &str) -> Result<()> {
    if has {
        return Ok(());
    }
    let message = format!("the storage has no {method}(), as a lakebed.storage.{protocol} has{instead}");
    Err(Error::new(ErrorKind::Unsupported, message).in_file(path))
}

/// A limit of reads that several tables share: `open_table(…, concurrent_reads=limit)` for each of them.
///
/// In another process, as in a pickle, it is a limit of that process. Raises: ValueError for no reads.
///
/// >>> limit = lakebed.ReadLimit(64)
#[pyclass(frozen, module = "lakebed")]
pub struct ReadLimit(Arc<ReadPermits>);

#[pymethods]
impl ReadLimit {
    #[new]
    fn new(reads: usize) -> PyResult<ReadLimit> {
        if reads == 0 {
            return Err(PyValueError::new_err("reads must be a positive number, not 0"));
        }
        Ok(ReadLimit(Arc::new(ReadPermits::new(reads))))
    }

    /// How many reads there may be at once.
    #[getter]
    fn reads(&self) -> usize {
        self.0.reads()
    }

    fn __repr__(&self) -> String {
        format!("ReadLimit({})", self.0.reads())
    }

    /// Another process has a limit of its own.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (usize,)) {
        (slf.get_type(), (slf.get().0.reads(),))
    }
}

/// How many reads a table may have at once.
#[derive(FromPyObject)]
pub enum Reads {
    Shared(Py<ReadLimit>),
    Own(usize),
}

impl Reads {
    /// How many a reader is to start at once.
    fn each(&self) -> usize {
        match self {
            Reads::Own(reads) => *reads,
            Reads::Shared(limit) => limit.get().0.reads().min(SHARED_READS),
        }
    }

    fn limited(self, storage: Arc<dyn Storage>) -> Arc<AtOnce> {
        let each = self.each();
        Arc::new(match self {
            Reads::Own(reads) => AtOnce::new(storage, reads),
            Reads::Shared(limit) => AtOnce::sharing(storage, Arc::clone(&limit.get().0), each),
        })
    }
}

/// The storage of a Python object, or the local file system for `None`, limited to as many reads at once as
/// it serves, or to `reads`.
pub fn storage_of(
    py: Python<'_>,
    storage: Option<Py<PyAny>>,
    reads: Option<Reads>,
) -> PyResult<Arc<dyn Storage>> {
    storage_for(py, storage, reads, false)
}

/// The same, for reads that a cache may answer where `cached`: no other has to tell it from others.
pub fn storage_for(
    py: Python<'_>,
    storage: Option<Py<PyAny>>,
    reads: Option<Reads>,
    cached: bool,
) -> PyResult<Arc<dyn Storage>> {
    let Some(storage) = storage else {
        let local = Arc::new(InterruptibleLocal);
        return Ok(match reads {
            Some(reads) => reads.limited(local),
            None => local,
        });
    };
    let storage = PyStorage::new(storage.into_bound(py))?;
    let storage = if cached { storage.identified(py)? } else { storage };
    let reads = reads.unwrap_or(Reads::Own(storage.reads()));
    // One that serves one read at a time may belong to the thread that asks, as connections of sqlite3 do.
    let is_bound = reads.each() == 1 && !(storage.abilities.says_reads && storage.reads() > 1);
    let storage = reads.limited(Arc::new(storage));
    Ok(if is_bound { storage } else { Arc::new(Interruptible(storage)) })
}

/// The storage of the table at `path`, of which files below old prefixes are read below new ones; other files may be opened
/// below `allowed`, or anywhere on the table's own storage.
///
/// # Errors
/// `Argument` for a prefix that is not a plain path.
pub fn table_storage(
    storage: Arc<dyn Storage>,
    path: &str,
    moved: Vec<(String, String)>,
    allowed: Option<Vec<String>>,
) -> Result<Arc<dyn Storage>> {
    let there: Vec<String> = moved.iter().map(|(_, now)| now.clone()).collect();
    let guarded = Arc::new(GuardedStorage::of_table(storage, path, there, allowed)?);
    Ok(match moved.is_empty() {
        true => guarded,
        false => Arc::new(RelocatedStorage::new(guarded, path, moved)),
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

/// A storage whose reads and listings leave signals to be answered.
struct Interruptible(Arc<dyn Storage>);

impl Interruptible {
    fn waited<T: Send + 'static>(
        &self,
        path: &str,
        work: impl FnOnce(&dyn Storage, &str) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (storage, path) = (Arc::clone(&self.0), path.to_owned());
        waited(move || work(storage.as_ref(), &path))
    }
}

impl Storage for Interruptible {
    fn inner(&self) -> Option<&dyn Storage> {
        Some(self.0.as_ref())
    }

    fn read(&self, path: &str) -> Result<Buffer> {
        self.waited(path, |storage, path| storage.read(path))
    }

    fn read_range(&self, path: &str, start: u64, length: u64) -> Result<Buffer> {
        self.waited(path, move |storage, path| storage.read_range(path, start, length))
    }

    fn list(&self, folder: &str) -> Result<Vec<String>> {
        self.waited(folder, |storage, folder| storage.list(folder))
    }

    fn folders(&self, folder: &str) -> Result<Option<Folders>> {
        self.waited(folder, |storage, folder| storage.folders(folder))
    }

    fn contents(&self, folder: &str) -> Result<Option<Contents>> {
        self.waited(folder, |storage, folder| storage.contents(folder))
    }

    fn modified(&self, path: &str) -> Result<Option<i64>> {
        self.waited(path, |storage, path| storage.modified(path))
    }
}

impl Storage for PyStorage {
    fn identity(&self) -> Option<StorageIdentity> {
        self.identity.clone()
    }

    fn concurrent_reads(&self) -> Option<usize> {
        Some(self.reads())
    }

    fn interrupted(&self) -> Result<()> {
        // Threads that call the storage do not end any more.
        if is_ending() { Err(ending()) } else { interrupted() }
    }

    fn read(&self, path: &str) -> Result<Buffer> {
        self.ask("read", path, (path,)).map(|FileBytes(read)| read)
    }

    fn read_range(&self, path: &str, start: u64, length: u64) -> Result<Buffer> {
        let FileBytes(read) = self.ask("read", path, (path, start, start.saturating_add(length)))?;
        if u64::try_from(read.len()).is_ok_and(|found| found <= length) {
            return Ok(read);
        }
        let message = format!("the storage gave {} bytes, {length} were asked for", read.len());
        Err(Error::new(ErrorKind::Mismatch, message).in_file(path))
    }

    fn list(&self, folder: &str) -> Result<Vec<String>> {
        present(self.ask("list", folder, (folder,))).map(Option::unwrap_or_default)
    }

    fn folders(&self, folder: &str) -> Result<Option<Folders>> {
        let method = if self.abilities.folders { "folders" } else { "list" };
        let names = present(self.ask(method, folder, (folder,)))?;
        Ok(names.map(|names| Folders { names, closed: Vec::new() }))
    }

    fn contents(&self, folder: &str) -> Result<Option<Contents>> {
        check(self.abilities.contents, "contents", "DetailListingStorage", ": give listing=", folder)?;
        present(self.ask("contents", folder, (folder,))).map(|found| found.map(contents))
    }

    fn modified(&self, path: &str) -> Result<Option<i64>> {
        if self.abilities.modified { self.ask("modified", path, (path,)) } else { Ok(None) }
    }

    fn is_writable(&self) -> bool {
        self.abilities.write
    }

    fn is_committable(&self) -> bool {
        self.abilities.publish
    }

    fn publish(&self, path: &str, existing: ExistingFile, bytes: &[u8]) -> Result<bool> {
        check(self.abilities.publish, "publish", "PublishingStorage", "", path)?;
        let replace = existing == ExistingFile::Replace;
        attached(|py| match call_method(self.storage.bind(py), "publish", (path, bytes, replace)) {
            Ok(_) => Ok(true),
            Err(error) if !replace && error.is_instance_of::<PyFileExistsError>(py) => Ok(false),
            Err(error) => Err(failed(py, error, path)),
        })
    }

    fn create(&self, path: &str, bytes: &[u8]) -> Result<()> {
        check(self.abilities.write, "write", "WritableStorage", "", path)?;
        self.ask::<Py<PyAny>>("write", path, (path, bytes)).map(drop)
    }

    fn remove(&self, path: &str) -> Result<()> {
        check(self.abilities.write, "remove", "WritableStorage", "", path)?;
        self.ask::<Py<PyAny>>("remove", path, (path,)).map(drop)
    }
}

/// A name, whether it is a folder, and for a file its size and modification time [ms since 1970 UTC].
type FolderEntry = (String, bool, Option<u64>, Option<i64>);

fn contents(listed: Vec<FolderEntry>) -> Contents {
    let (folders, files): (Vec<_>, Vec<_>) = listed.into_iter().partition(|(_, is_folder, ..)| *is_folder);
    let file = |(name, _, size, modified)| ListedFile { name, details: Some(FileDetails { size, modified }) };
    let names = folders.into_iter().map(|(name, ..)| name).collect();
    Contents { files: files.into_iter().map(file).collect(), folders: Folders { names, closed: Vec::new() } }
}

/// The result of `read`, without a copy: bytes, or any object with the buffer protocol by way of Arrow, since
/// that protocol is not in the stable interface of all supported Python versions.
struct FileBytes(Buffer);

impl FromPyObject<'_, '_> for FileBytes {
    type Error = PyErr;

    fn extract(read: Borrowed<'_, '_, PyAny>) -> PyResult<FileBytes> {
        if let Ok(bytes) = read.cast::<PyBytes>() {
            return Ok(FileBytes(buffer_of(PyBackedBytes::from(bytes.to_owned()))));
        }
        let array = read.py().import("lakebed._arrow")?.call_method1("frozen", (read,))?;
        let bytes = only_value(&import_array(&array)?);
        bytes.map(FileBytes).ok_or_else(|| PyTypeError::new_err("one binary value is expected"))
    }
}

/// The bytes that Python has, shared.
pub fn buffer_of(bytes: PyBackedBytes) -> Buffer {
    Buffer::from(Bytes::from_owner(bytes))
}

fn failed(py: Python<'_>, error: PyErr, path: &str) -> Error {
    let is_location_error = || {
        let class = py.import("lakebed.errors").and_then(|errors| errors.getattr("LocationError"));
        class.is_ok_and(|class| error.matches(py, class).unwrap_or(false))
    };
    let is_missing =
        error.is_instance_of::<PyFileNotFoundError>(py) || error.is_instance_of::<PyNotADirectoryError>(py);
    let (kind, message) = if is_missing {
        (ErrorKind::Missing, "no such file")
    } else if error.is_instance_of::<PyMemoryError>(py) {
        (ErrorKind::Avro(lakebed_avro::ErrorKind::Limit), "no memory for what the storage reads")
    } else if is_location_error() {
        (ErrorKind::Location, "a path that the storage does not open")
    } else {
        (ErrorKind::Io, "storage failed")
    };
    Error::new(kind, message).in_file(path).caused_by(cause(py, error))
}
