//! The targets that files are written to.

use std::io::{self, Write};

use lakebed::Result;
use lakebed::write::{ExistingFile, publish};
use lakebed_avro::{Codec, WriteOptions};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments::Limits;
use crate::avro::threads as threads_of;
use crate::boundary::checked;
use crate::interpreter::{attached, call_method};

/// A target of a file.
#[derive(FromPyObject)]
pub enum Sink {
    /// A local path.
    Path(String),
    /// An object with a method `write` that takes bytes.
    File(Py<PyAny>),
}

/// What a file is written to, and whether one that is there is replaced.
#[derive(FromPyObject)]
pub struct Target(pub Option<Sink>, pub bool);

/// The bytes of a file that has no target.
pub type WriteResult = PyResult<Option<Vec<u8>>>;

/// A Python file as a Rust writer.
struct PythonFile(Py<PyAny>);

impl Write for PythonFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = |py: Python<'_>| {
            let written = call_method(self.0.bind(py), "write", (PyBytes::new(py, bytes),))?;
            // Unbuffered files return how many bytes they took; some files return nothing.
            if written.is_none() { Ok(bytes.len()) } else { written.extract() }
        };
        attached(|py| Ok(written(py))).map_err(io::Error::other)?.map_err(io::Error::other::<PyErr>)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How Avro files are written: the attributes that Python's `lakebed._sink.encoding` gives.
#[derive(FromPyObject)]
pub struct Encoding {
    codec: String,
    level: Option<i32>,
    block_bytes: usize,
    sync: [u8; 16],
    /// Whether blocks are read back.
    verify: bool,
    threads: Option<usize>,
}

impl Encoding {
    /// The options of the writer, with `limits`.
    pub fn options(self, Limits(limits): Limits) -> Result<WriteOptions> {
        let Encoding { codec, level, block_bytes, sync, verify, threads } = self;
        let (codec, threads, metadata) = (Codec::named(&codec)?, threads_of(threads), Vec::new());
        Ok(WriteOptions { codec, level, block_bytes, metadata, sync, limits, verify, threads })
    }
}

/// Calls `write` with the target; returns the bytes where there is none.
///
/// A path is published when everything is written: before that, and after an error, there is no file.
pub fn write_into(
    py: Python<'_>,
    Target(sink, overwrite): Target,
    write: impl FnOnce(&mut dyn Write) -> Result<()> + Send,
) -> WriteResult {
    let existing = if overwrite { ExistingFile::Replace } else { ExistingFile::Refuse };
    let mut bytes = Vec::new();
    let is_returned = sink.is_none();
    checked(py, || match sink {
        None => write(&mut bytes),
        Some(Sink::File(file)) => write(&mut PythonFile(file)),
        Some(Sink::Path(path)) => publish(&path, existing, |file| {
            let mut file = io::BufWriter::new(file);
            write(&mut file)?;
            Ok(file.flush()?)
        }),
    })?;
    Ok(is_returned.then_some(bytes))
}
