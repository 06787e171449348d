//! Arrow through PyCapsules: the only file that may say `unsafe`, for the two imports.
#![allow(unsafe_code)] // importing what a producer's capsule points to cannot be checked by the compiler

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, RecordBatchReader, make_array};
use arrow_schema::{ArrowError, Schema};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

const ARRAY: &CStr = c"arrow_array";
const SCHEMA: &CStr = c"arrow_schema";
const STREAM: &CStr = c"arrow_array_stream";

fn value_error(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn call<'py>(object: &Bound<'py, PyAny>, method: &str) -> PyResult<Bound<'py, PyAny>> {
    object.call_method0(method).map_err(|error| {
        if error.is_instance_of::<pyo3::exceptions::PyAttributeError>(object.py()) {
            PyTypeError::new_err(format!("an Arrow object with {method} is wanted"))
        } else {
            error
        }
    })
}

/// Takes an array from anything with `__arrow_c_array__`; its buffers are shared, not copied.
pub fn import_array(object: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let pair = call(object, "__arrow_c_array__")?;
    let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = pair.extract()?;
    let schema = schema.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    let array = array.pointer_checked(Some(ARRAY))?.cast::<FFI_ArrowArray>();
    // SAFETY: both capsules carry the names that the Arrow PyCapsule interface gives to exactly these
    // structs, and live until the end of this function. `from_raw` moves the array out and leaves a
    // released one, so it is owned once; the schema is only borrowed. That the producer filled them as
    // the C data interface demands is what its capsule names promise.
    let data = unsafe { from_ffi(FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()) };
    data.map(make_array).map_err(value_error)
}

/// Takes a record batch, which crosses as a struct array, with its row count where it has no columns.
pub fn import_batch(batch: &Bound<'_, PyAny>) -> PyResult<RecordBatch> {
    let array = import_array(batch)?;
    let rows = array.as_struct_opt().filter(|rows| rows.null_count() == 0);
    let rows = rows.ok_or_else(|| PyTypeError::new_err("a record batch is wanted"))?;
    let options = RecordBatchOptions::new().with_row_count(Some(array.len()));
    let schema = Arc::new(Schema::new(rows.fields().clone()));
    RecordBatch::try_new_with_options(schema, rows.columns().to_vec(), &options).map_err(value_error)
}

/// Reads a schema from anything with `__arrow_c_schema__`.
pub fn import_schema(object: &Bound<'_, PyAny>) -> PyResult<Schema> {
    let capsule = call(object, "__arrow_c_schema__")?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let schema = capsule.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    // SAFETY: the capsule carries the interface's name for this struct, and outlives the borrow.
    Schema::try_from(unsafe { schema.as_ref() }).map_err(value_error)
}

/// Takes a stream from anything with `__arrow_c_stream__`; its buffers are shared, not copied.
pub fn import_stream(object: &Bound<'_, PyAny>) -> PyResult<RecordBatchStreamReader> {
    let capsule = call(object, "__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let stream = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: the capsule carries the name that the Arrow PyCapsule interface gives to exactly this struct.
    // `from_raw` moves the stream out and leaves a released one, so it is owned once.
    unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) }.map_err(value_error)
}

/// Hands an array over: the pair that `__arrow_c_array__` returns.
pub fn export_array<'py>(py: Python<'py>, array: &dyn Array) -> PyResult<Bound<'py, PyTuple>> {
    let (array, schema) = to_ffi(&array.to_data()).map_err(value_error)?;
    let schema = PyCapsule::new_with_value(py, schema, SCHEMA)?;
    let array = PyCapsule::new_with_value(py, array, ARRAY)?;
    PyTuple::new(py, [schema, array])
}

/// Hands a schema over: what `__arrow_c_schema__` returns.
pub fn export_schema<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(value_error)?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// Hands a stream over: what `__arrow_c_stream__` returns.
pub fn export_stream<'py>(
    py: Python<'py>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

/// An object with `__arrow_c_schema__` over a schema, for those that have no rows.
#[pyclass(frozen, module = "lakebed._native")]
pub struct SchemaCapsule(pub Arc<Schema>);

#[pymethods]
impl SchemaCapsule {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        export_schema(py, &self.0)
    }
}
