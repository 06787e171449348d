//! The targets that files are written to.

use std::io::{self, Write};

use lakebed::Result;
use lakebed::write::{Existing, publish};
use lakebed_avro::{Codec, Limits, WriteOptions};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::avro::threads as threads_of;
use crate::boundary::detached;
use crate::error::write_error_to_python;
use crate::interpreter::{attached, call_method};

/// A target of a file.
#[derive(FromPyObject)]
pub enum Sink {
    /// A local path.
    Path(String),
    /// An object with a method `write` that takes bytes.
    File(Py<PyAny>),
}

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

/// How Avro files are written: the attributes of Python's `lakebed._sink.Encoding`.
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
    pub fn options(self, limits: Limits) -> Result<WriteOptions> {
        let Encoding { codec, level, block_bytes, sync, verify, threads } = self;
        let (codec, options) = (Codec::named(&codec)?, WriteOptions::new(sync));
        Ok(WriteOptions {
            codec,
            level,
            block_bytes,
            limits,
            verify,
            threads: threads_of(threads),
            ..options
        })
    }
}

/// Calls `write` with the target; returns the bytes where there is no target.
///
/// A path is published when everything is written: before that, and after an error, there is no file.
pub fn write_into(
    py: Python<'_>,
    sink: Option<Sink>,
    overwrite: bool,
    write: impl FnOnce(&mut dyn Write) -> Result<()> + Send,
) -> PyResult<Option<Py<PyBytes>>> {
    let existing = if overwrite { Existing::Replace } else { Existing::Refuse };
    let written = detached(py, || {
        // Errors in arguments and errors in files become different exceptions.
        Ok(match sink {
            None => {
                let mut bytes = Vec::new();
                write(&mut bytes).map(|()| Some(bytes))
            }
            Some(Sink::File(file)) => write(&mut PythonFile(file)).map(|()| None),
            Some(Sink::Path(path)) => publish(&path, existing, |file| {
                let mut file = io::BufWriter::new(file);
                write(&mut file)?;
                Ok(file.flush()?)
            })
            .map(|()| None),
        })
    })?;
    let bytes = written.map_err(|error| write_error_to_python(py, error))?;
    Ok(bytes.map(|bytes| PyBytes::new(py, &bytes).unbind()))
}
