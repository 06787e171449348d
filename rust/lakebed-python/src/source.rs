//! What a file is read from: a local path, or bytes from Python with their URI.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::Buffer;
use lakebed::storage::{Local, Storage, open_regular};
use lakebed::{Error, Result};
use lakebed_avro::Input;
use pyo3::prelude::*;

use crate::arrow::import_array;

/// A local path, or the only value of a binary array, with or without the URI that it was read from.
pub enum Source {
    Path(String),
    Bytes { bytes: Buffer, uri: Option<String> },
}

impl<'a, 'py> FromPyObject<'a, 'py> for Source {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Source> {
        if let Ok(path) = object.extract::<String>() {
            return Ok(Source::Path(path));
        }
        let (uri, value) = match object.extract::<(String, Bound<'py, PyAny>)>() {
            Ok((uri, value)) => (Some(uri), value),
            Err(_) => (None, object.to_owned()),
        };
        only_value(&import_array(&value)?).map(|bytes| Source::Bytes { bytes, uri }).ok_or_else(|| {
            pyo3::exceptions::PyTypeError::new_err("a path or one binary value is expected as source")
        })
    }
}

/// The bytes of a binary array's only value, shared.
pub fn only_value(array: &ArrayRef) -> Option<Buffer> {
    if array.len() != 1 || array.is_null(0) {
        return None;
    }
    let (values, start, length) = if let Some(array) = array.as_binary_opt::<i64>() {
        (array.values(), *array.value_offsets().first()? as usize, array.value(0).len())
    } else {
        let array = array.as_binary_opt::<i32>()?;
        (array.values(), *array.value_offsets().first()? as usize, array.value(0).len())
    };
    Some(values.slice_with_length(start, length))
}

impl Source {
    /// The name of the file in errors.
    pub fn path(&self) -> Option<&str> {
        match self {
            Source::Path(path) => Some(path),
            Source::Bytes { uri, .. } => uri.as_deref(),
        }
    }

    /// An input that reads a local file when it is needed.
    pub fn open(self) -> Result<Input> {
        match self {
            Source::Bytes { bytes, .. } => Ok(Input::from(bytes)),
            Source::Path(path) => Ok(Input::stream(Box::new(open_regular(&path)?.0))),
        }
    }

    /// The whole file.
    pub fn read(self) -> Result<Buffer> {
        match self {
            Source::Bytes { bytes, .. } => Ok(bytes),
            Source::Path(path) => Local.read(&path),
        }
    }

    /// A range of a file's bytes; all bytes, if they are a range already.
    pub fn read_range(self, start: u64, length: u64) -> Result<Buffer> {
        match self {
            Source::Bytes { bytes, .. } => Ok(bytes),
            Source::Path(path) => Local.read_range(&path, start, length),
        }
    }
}

/// Adds the source's path to an error.
pub fn in_path(error: Error, path: Option<&str>) -> Error {
    match path {
        Some(path) => error.in_file(path),
        None => error,
    }
}
