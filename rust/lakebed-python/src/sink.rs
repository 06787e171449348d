//! What files are written into.

use std::io::{self, Write};

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use lakebed::write::{Existing, publish};
use lakebed::{Error, ErrorKind, Result};
use lakebed_avro::{Codec, Limits, WriteOptions};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::avro::threads as threads_of;
use crate::boundary::detached;
use crate::error::write_error_to_python;

/// What is written into.
#[derive(FromPyObject)]
pub enum Sink {
    /// A local path.
    Path(String),
    /// An object with a method `write` that takes bytes.
    File(Py<PyAny>),
}

/// A Python file, written to as Rust writes.
struct PythonFile(Py<PyAny>);

impl Write for PythonFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = |py: Python<'_>| {
            let written = self.0.bind(py).call_method1("write", (PyBytes::new(py, bytes),))?;
            // Files without a buffer say how much they took; some say nothing.
            if written.is_none() { Ok(bytes.len()) } else { written.extract() }
        };
        Python::attach(written).map_err(io::Error::other)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How Avro files are written: codec, level, bytes of a block, marker, whether blocks are read again, and threads.
#[derive(FromPyObject)]
pub struct Encoding(String, Option<i32>, usize, [u8; 16], bool, Option<usize>);

impl Encoding {
    /// The same for the writer, which keeps to `limits`.
    pub fn options(self, limits: Limits) -> Result<WriteOptions> {
        let Encoding(codec, level, block_bytes, sync, verify, threads) = self;
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

/// Gives `write` what it writes into; the bytes come back where there is no sink.
///
/// A path is published when all is written: nothing is there before, nor after an error.
pub fn write_into(
    py: Python<'_>,
    sink: Option<Sink>,
    overwrite: bool,
    write: impl FnOnce(&mut dyn Write) -> Result<()> + Send,
) -> PyResult<Option<Py<PyBytes>>> {
    let existing = if overwrite { Existing::Replace } else { Existing::Refuse };
    let written = detached(py, || {
        // What does not fit is told apart from what is wrong with a file.
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

/// A batch of a stream of the caller's.
pub fn sent(batch: std::result::Result<RecordBatch, ArrowError>) -> Result<RecordBatch> {
    batch.map_err(|error| Error::new(ErrorKind::Argument, error.to_string()))
}
