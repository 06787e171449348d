//! The boundary: every call into the core detaches from the interpreter, runs, and returns a value or a typed
//! error, never a panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

use lakebed::{Error, Result};
use pyo3::prelude::*;

use crate::error::{internal, to_python, write_error_to_python};
use crate::interpreter::{is_ending, released, waited};
use crate::memory::keep_freed;

/// Runs `work` detached from the interpreter, so that other Python threads can run.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    detached_as(py, to_python, work)
}

/// The same for what callers give to be written: errors in arguments and errors in files become different exceptions.
pub fn checked<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    detached_as(py, write_error_to_python, work)
}

/// The same with the exception that `exception` makes of an error.
pub fn detached_as<T: Send>(
    py: Python<'_>,
    exception: fn(Python<'_>, Error) -> PyErr,
    work: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    keep_freed();
    // After a panic nothing is used again: values are dropped.
    let outcome = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    outcome.map_err(|panic| internal(py, panic.as_ref()))?.map_err(|error| exception(py, error))
}

/// Drops a value that may wait for its threads while detached from the interpreter, for which these threads
/// may wait.
pub fn drop_detached<T: Send + 'static>(mut value: Option<T>) {
    if let Some(value) = value.take_if(|_| !is_ending()) {
        let dropped = move || {
            drop(value);
            Ok(())
        };
        // An interruption that nobody takes is raised later.
        return released(|| _ = waited(dropped));
    }
    // The threads of a value do not end any more when they wait for an interpreter that ends.
    std::mem::forget(value);
}

/// Panics on purpose, so that callers can see what a bug of lakebed would look like.
#[pyfunction]
pub fn panic(py: Python<'_>, message: String) -> PyResult<()> {
    // Without the hook, which would report it on stderr as a bug.
    detached(py, || std::panic::resume_unwind(Box::new(message)))
}
