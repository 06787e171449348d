//! Arrow through PyCapsules.
#![allow(unsafe_code)] // what capsules point to cannot be checked by the compiler

use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StructArray, make_array};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};
use lakebed::{Error, ErrorKind, view};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::boundary::detached;
use crate::error::to_python;
use crate::interpreter::call_method;

const ARRAY: &CStr = c"arrow_array";
const SCHEMA: &CStr = c"arrow_schema";
const STREAM: &CStr = c"arrow_array_stream";

fn value_error(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The deepest nesting of a producer's columns: arrow-rs is recursive.
const MAX_DEPTH: usize = 128;

/// The struct of the Arrow C data interface: `FFI_ArrowSchema`, whose fields arrow-rs does not expose.
#[repr(C)]
struct ForeignSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *const *const ForeignSchema,
    dictionary: *const ForeignSchema,
    release: Option<unsafe extern "C" fn(*mut ForeignSchema)>,
}

#[cold]
fn malformed(what: &str) -> PyErr {
    PyValueError::new_err(format!("the producer's Arrow schema is malformed: {what}"))
}

/// Refuses what makes arrow-rs panic: released structs, texts that are not UTF-8, missing children, and too
/// deep nesting.
///
/// # Safety
/// The pointer leads to a struct of this kind, filled as the C data interface requires except for these
/// faults.
unsafe fn check_schema(schema: *const ForeignSchema) -> PyResult<()> {
    let mut waiting = vec![(schema, 0)];
    while let Some((schema, depth)) = waiting.pop() {
        // SAFETY: the caller's promise for the first, the interface's for children and dictionaries.
        let schema = unsafe { schema.as_ref() }.ok_or_else(|| malformed("a child is missing"))?;
        if schema.release.is_none() {
            return Err(malformed("it was released"));
        }
        if depth > MAX_DEPTH {
            return Err(malformed("it is nested too deeply"));
        }
        // SAFETY: the interface demands that texts end in a zero byte.
        let text = |text: *const c_char| (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_str());
        let format = text(schema.format).ok_or_else(|| malformed("a format is missing"))?;
        let format = format.map_err(|_| malformed("a format is not UTF-8"))?;
        text(schema.name).transpose().map_err(|_| malformed("a column's name is not UTF-8"))?;
        let count = usize::try_from(schema.n_children).map_err(|_| malformed("a negative count"))?;
        let least = match format.as_bytes() {
            [b'+', b's' | b'u', ..] => 0,
            [b'+', b'r', ..] => 2,
            [b'+', ..] => 1,
            _ => 0,
        };
        if count < least || count > 0 && schema.children.is_null() {
            return Err(malformed("children are missing"));
        }
        for child in 0..count {
            // SAFETY: the interface demands that there are this many.
            waiting.push((unsafe { *schema.children.add(child) }, depth + 1));
        }
        if !schema.dictionary.is_null() {
            waiting.push((schema.dictionary, depth + 1));
        }
    }
    Ok(())
}

/// [`check_schema`] for the schema of a stream, which is requested once more than otherwise; errors of its
/// producer are left to arrow-rs.
///
/// # Safety
/// The pointer leads to a stream, filled as the C stream interface requires.
unsafe fn check_stream(stream: *mut FFI_ArrowArrayStream) -> PyResult<()> {
    // SAFETY: the caller's promise.
    let (release, get_schema) = unsafe { ((*stream).release(), (*stream).get_schema()) };
    let (Some(_), Some(get_schema)) = (release, get_schema) else {
        return Err(malformed("the stream was released"));
    };
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: the stream is not released, and the schema is released when it is dropped.
    unsafe {
        match get_schema(stream, &raw mut schema) {
            0 => check_schema((&raw const schema).cast()),
            _ => Ok(()),
        }
    }
}

fn call<'py>(object: &Bound<'py, PyAny>, method: &str) -> PyResult<Bound<'py, PyAny>> {
    call_method(object, method, ()).map_err(|error| {
        if error.is_instance_of::<pyo3::exceptions::PyAttributeError>(object.py()) {
            PyTypeError::new_err(format!("an Arrow object with {method} is expected"))
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
    // SAFETY: the capsule carries the interface's name for this struct, and outlives the call.
    unsafe { check_schema(schema.as_ptr().cast())? };
    // SAFETY: both capsules carry the names that the Arrow PyCapsule interface gives to exactly these
    // structs, and live until the end of this function. `from_raw` moves the array out and leaves a
    // released one, so it is owned once; the schema is only borrowed. That the producer filled them as
    // the C data interface demands is what its capsule names promise.
    let import = || unsafe { from_ffi(FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()) };
    // arrow-rs panics at an array whose children or buffers do not fit its schema.
    let data = catch_unwind(AssertUnwindSafe(|| import().map(make_array)));
    data.map_err(|_| PyValueError::new_err("the producer's Arrow array does not fit its schema"))?
        .map_err(value_error)
}

/// Takes a record batch, which is passed as a struct array, with its row count if it has no columns.
pub fn import_batch(batch: &Bound<'_, PyAny>) -> PyResult<RecordBatch> {
    let array = import_array(batch)?;
    let rows = array.as_struct_opt().filter(|rows| rows.null_count() == 0);
    let rows = rows.ok_or_else(|| PyTypeError::new_err("a record batch is expected"))?;
    let options = RecordBatchOptions::new().with_row_count(Some(array.len()));
    let schema = Arc::new(Schema::new(rows.fields().clone()));
    RecordBatch::try_new_with_options(schema, rows.columns().to_vec(), &options).map_err(value_error)
}

/// Reads a schema from anything with `__arrow_c_schema__`.
pub fn import_schema(object: &Bound<'_, PyAny>) -> PyResult<Schema> {
    let capsule = call(object, "__arrow_c_schema__")?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let schema = capsule.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    // SAFETY: the capsule carries the interface's name for this struct, and outlives call and borrow.
    unsafe {
        check_schema(schema.as_ptr().cast())?;
        Schema::try_from(schema.as_ref()).map_err(value_error)
    }
}

/// Takes a stream from anything with `__arrow_c_stream__`; its buffers are shared, not copied.
pub fn import_stream(object: &Bound<'_, PyAny>) -> PyResult<RecordBatchStreamReader> {
    let capsule = call(object, "__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let stream = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: the capsule carries the name that the Arrow PyCapsule interface gives to exactly this struct.
    // `from_raw` moves the stream out and leaves a released one, so it is owned once.
    unsafe {
        check_stream(stream.as_ptr())?;
        RecordBatchStreamReader::from_raw(stream.as_ptr()).map_err(value_error)
    }
}

/// How deep a schema may nest that others are to take: the bound of Arrow's C++ library (`bridge.cc`,
/// `kMaxImportRecursionLevel`), which counts the schema itself.
const MOST_LEVELS: usize = 63;

/// Refuses names that the C data interface would end at a zero byte. Python asks of schemas that it is to hand over.
#[pyfunction]
pub fn check_names(py: Python<'_>, names: Vec<String>) -> PyResult<()> {
    detached(py, || names.iter().try_for_each(|name| check_name(name)))
}

fn check_name(name: &str) -> Result<(), Error> {
    view::check_name(name).map_err(|error| error.in_field(name))
}

/// Refuses what others cannot take: such names, and columns that nest too deep.
fn check_fields(py: Python<'_>, fields: &Fields) -> PyResult<()> {
    let mut waiting: Vec<_> = fields.iter().map(|field| (field.as_ref(), field.name(), 1)).collect();
    while let Some((field, column, level)) = waiting.pop() {
        check_name(field.name()).map_err(|error| to_python(py, error))?;
        if level > MOST_LEVELS {
            let message =
                format!("column {column:?} nests deeper than the {MOST_LEVELS} levels that pyarrow takes");
            return Err(to_python(py, Error::new(ErrorKind::Unsupported, message).in_field(column)));
        }
        waiting.extend(children(field.data_type()).into_iter().map(|child| (child, column, level + 1)));
    }
    Ok(())
}

fn children(kind: &DataType) -> Vec<&Field> {
    match kind {
        DataType::Struct(fields) => fields.iter().map(AsRef::as_ref).collect(),
        DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => vec![item],
        DataType::FixedSizeList(item, _) => vec![item],
        DataType::Union(members, _) => members.iter().map(|(_, member)| member.as_ref()).collect(),
        _ => Vec::new(),
    }
}

/// Hands an array over: the pair that `__arrow_c_array__` returns.
pub fn export_array<'py>(py: Python<'py>, array: &dyn Array) -> PyResult<Bound<'py, PyTuple>> {
    if let DataType::Struct(fields) = array.data_type() {
        check_fields(py, fields)?;
    }
    let (array, schema) = to_ffi(&array.to_data()).map_err(value_error)?;
    let schema = PyCapsule::new_with_value(py, schema, SCHEMA)?;
    let array = PyCapsule::new_with_value(py, array, ARRAY)?;
    PyTuple::new(py, [schema, array])
}

/// Hands a schema over: what `__arrow_c_schema__` returns.
pub fn export_schema<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    check_fields(py, schema.fields())?;
    let schema = FFI_ArrowSchema::try_from(schema).map_err(value_error)?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// What gives the next batch of a C stream, or a text for an error, since consumers take nothing else. They call from
/// any thread, with the interpreter and without it.
type NextBatch = dyn Fn() -> Result<Option<RecordBatch>, String> + Send + Sync;

/// Hands a stream over: what `__arrow_c_stream__` returns.
pub fn export_stream(
    py: Python<'_>,
    schema: SchemaRef,
    next: Box<NextBatch>,
) -> PyResult<Bound<'_, PyCapsule>> {
    check_fields(py, schema.fields())?;
    let producer = Box::into_raw(Box::new(Producer { schema, next, error: Mutex::default() }));
    // SAFETY: these functions are of this kind of producer, which the last of them drops.
    let stream = unsafe {
        FFI_ArrowArrayStream::new_unchecked(
            Some(get_schema),
            Some(get_next),
            Some(get_last_error),
            Some(release),
            producer.cast(),
        )
    };
    PyCapsule::new_with_value(py, stream, STREAM)
}

/// The private data of a C stream. Calls share it: consumers ought not to call from two threads at once, but can.
struct Producer {
    schema: SchemaRef,
    next: Box<NextBatch>,
    /// The text of the last error.
    error: Mutex<CString>,
}

/// The errno of whatever has failed.
const EINVAL: c_int = 22;

/// Writes what `make` returns to where `out` points, or keeps the error.
///
/// # Safety
/// `stream` leads to one that was made by [`export_stream`], released or not, and `out` may be written to.
unsafe fn produce<T>(
    stream: *mut FFI_ArrowArrayStream,
    out: *mut T,
    make: impl FnOnce(&Producer) -> Result<T, String>,
) -> c_int {
    // SAFETY: the caller's promise; private data is null once the stream is released.
    let Some(producer) = (unsafe { (*stream).private_data().cast::<Producer>().as_ref() }) else {
        return EINVAL;
    };
    let made = catch_unwind(AssertUnwindSafe(|| make(producer)));
    match made.unwrap_or_else(|_| Err("panic in lakebed".to_owned())) {
        Ok(made) => {
            // SAFETY: the caller's promise. What is there is not initialized.
            unsafe { out.write(made) };
            0
        }
        Err(error) => {
            let error = CString::new(error.replace('\0', "\u{fffd}")).unwrap_or_default();
            *producer.error.lock().unwrap_or_else(PoisonError::into_inner) = error;
            EINVAL
        }
    }
}

unsafe extern "C" fn get_schema(stream: *mut FFI_ArrowArrayStream, out: *mut FFI_ArrowSchema) -> c_int {
    let make = |producer: &Producer| {
        FFI_ArrowSchema::try_from(producer.schema.as_ref()).map_err(|error| error.to_string())
    };
    // SAFETY: consumers call it with the stream whose function it is.
    unsafe { produce(stream, out, make) }
}

unsafe extern "C" fn get_next(stream: *mut FFI_ArrowArrayStream, out: *mut FFI_ArrowArray) -> c_int {
    let make = |producer: &Producer| {
        let array = |batch| FFI_ArrowArray::new(&StructArray::from(batch).to_data());
        Ok((producer.next)()?.map_or_else(FFI_ArrowArray::empty, array))
    };
    // SAFETY: consumers call it with the stream whose function it is.
    unsafe { produce(stream, out, make) }
}

unsafe extern "C" fn get_last_error(stream: *mut FFI_ArrowArrayStream) -> *const c_char {
    // SAFETY: consumers call it with the stream whose function it is.
    let producer = unsafe { (*stream).private_data().cast::<Producer>().as_ref() };
    // The text is there until the next call, as the interface has it.
    producer.map_or(std::ptr::null(), |producer| {
        producer.error.lock().unwrap_or_else(PoisonError::into_inner).as_ptr()
    })
}

unsafe extern "C" fn release(stream: *mut FFI_ArrowArrayStream) {
    // SAFETY: consumers call it with the stream whose function it is, and not while others use it.
    let producer = unsafe {
        (*stream).set_release(None);
        (*stream).set_private_data(std::ptr::null_mut()).cast::<Producer>()
    };
    if !producer.is_null() {
        // SAFETY: it was made by `Box::into_raw`, and nothing else leads to it any more.
        let producer = unsafe { Box::from_raw(producer) };
        // Nothing can be told of a panic.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(producer)));
    }
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
