//! What files are written into, and how.

use std::io::{self, Write};

use lakebed::Result;
use lakebed::publish::{Existing, publish};
use lakebed_avro::{Codec, Limits, WriteOptions};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// What is written into.
#[derive(FromPyObject)]
pub enum Sink {
    /// A local path.
    Path(String),
    /// An object with a method `write` that takes bytes.
    File(Py<PyAny>),
}

/// How Avro files are written: codec, level, bytes of a block, marker, and whether blocks are read again.
#[derive(FromPyObject)]
pub struct Encoding(String, Option<i32>, usize, [u8; 16], bool);

impl Encoding {
    /// The options of a writer.
    ///
    /// # Errors
    /// `UnknownCodec`.
    pub fn options(self, metadata: Vec<(String, Vec<u8>)>, limits: Limits) -> Result<WriteOptions> {
        let Encoding(codec, level, block_bytes, sync, verify) = self;
        let codec = Codec::named(&codec)?;
        Ok(WriteOptions { codec, level, block_bytes, metadata, sync, limits, verify })
    }
}

/// Writes a file into `sink`; without one, its bytes come back. A path is published whole or not at all.
pub fn write_into(
    sink: Option<Sink>,
    overwrite: bool,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<Option<Vec<u8>>> {
    match sink {
        None => {
            let mut bytes = Vec::new();
            write(&mut bytes)?;
            Ok(Some(bytes))
        }
        Some(Sink::File(file)) => write(&mut PythonFile(file)).map(|()| None),
        Some(Sink::Path(path)) => {
            let existing = if overwrite { Existing::Replace } else { Existing::Refuse };
            publish(&path, existing, |file| write(&mut io::BufWriter::new(file)))?;
            Ok(None)
        }
    }
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
