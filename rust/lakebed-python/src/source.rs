//! What a file is read from: a local path, or bytes from Python with their URI.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, RecordBatch};
use arrow_buffer::Buffer;
use lakebed::deletion_vector::{DeletionVector, VectorRange};
use lakebed::scan::Batches;
use lakebed::storage::{Local, Storage, open_regular};
use lakebed::{Error, Result};
use lakebed_avro::Input;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::arguments::Limits;
use crate::arrow::import_array;
use crate::boundary::detached;
use crate::stream::Batch;

/// A local path, or the only value of a binary array, with or without the URI that it was read from.
pub enum Source {
    Path(String),
    Bytes { bytes: Buffer, uri: Option<String> },
}

impl<'py> FromPyObject<'_, 'py> for Source {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Source> {
        if let Ok(path) = object.extract::<String>() {
            return Ok(Source::Path(path));
        }
        let (uri, value) = match object.extract::<(String, Bound<'py, PyAny>)>() {
            Ok((uri, value)) => (Some(uri), value),
            Err(_) => (None, object.to_owned()),
        };
        let bytes = only_value(&import_array(&value)?);
        let bytes =
            bytes.ok_or_else(|| PyTypeError::new_err("a path or one binary value is expected as source"))?;
        Ok(Source::Bytes { bytes, uri })
    }
}

/// The bytes of a binary array's only value, shared.
pub fn only_value(array: &ArrayRef) -> Option<Buffer> {
    fn shared<Offset: OffsetSizeTrait>(array: &ArrayRef) -> Option<Buffer> {
        let array = array.as_binary_opt::<Offset>()?;
        let start = array.value_offsets().first()?.as_usize();
        Some(array.values().slice_with_length(start, array.value(0).len()))
    }
    let is_one = array.len() == 1 && array.is_valid(0);
    is_one.then(|| shared::<i64>(array).or_else(|| shared::<i32>(array)))?
}

impl Source {
    /// An input that reads a local file when it is needed.
    pub fn open(&self) -> Result<Input> {
        match self {
            Source::Bytes { bytes, .. } => Ok(Input::from(bytes.clone())),
            Source::Path(path) => Ok(Input::stream(Box::new(open_regular(path)?.0))),
        }
    }

    /// The whole file.
    pub fn read(&self) -> Result<Buffer> {
        match self {
            Source::Bytes { bytes, .. } => Ok(bytes.clone()),
            Source::Path(path) => Local.read(path),
        }
    }

    /// A range of a file's bytes; all bytes, if they are a range already.
    pub fn read_range(&self, start: u64, length: u64) -> Result<Buffer> {
        match self {
            Source::Bytes { bytes, .. } => Ok(bytes.clone()),
            Source::Path(path) => Local.read_range(path, start, length),
        }
    }

    /// What `read` makes of it; errors have its path.
    pub fn located<T>(&self, read: impl FnOnce(&Source) -> Result<T>) -> Result<T> {
        read(self).map_err(|error| in_path(error, self.path()))
    }

    /// The batches of a reader of it; errors have its path.
    pub fn batches<E: Into<Error>>(
        &self,
        reader: impl Iterator<Item = std::result::Result<RecordBatch, E>> + Send + 'static,
    ) -> Batches {
        let path = self.path().map(str::to_owned);
        Box::new(reader.map(move |batch| batch.map_err(|error| in_path(error.into(), path.as_deref()))))
    }

    fn path(&self) -> Option<&str> {
        match self {
            Source::Path(path) => Some(path),
            Source::Bytes { uri, .. } => uri.as_deref(),
        }
    }
}

/// The positions of one deletion vector; bytes given as `source` are those from its offset on.
pub fn read_deletion_vector(
    py: Python<'_>,
    source: &Source,
    (offset, length): (i64, i64),
    limits: Limits,
    span: fn(&VectorRange) -> u64,
    decode: fn(&[u8], VectorRange) -> Result<DeletionVector>,
) -> PyResult<Batch> {
    let read = |file: &Source| {
        let range = VectorRange::new(offset, length)?;
        decode(&file.read_range(range.offset, span(&range))?, range)?.positions(&limits.0)
    };
    detached(py, || Ok(Batch(Arc::new(source.located(read)?))))
}

fn in_path(error: Error, path: Option<&str>) -> Error {
    match path {
        Some(path) => error.in_file(path),
        None => error,
    }
}
