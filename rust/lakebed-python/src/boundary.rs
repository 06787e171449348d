//! The one door: every call into the core detaches from the interpreter, runs, and comes back with a
//! value or a typed error, never with a panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;

use crate::error::{internal, to_python};
use crate::memory::keep_freed;

/// Runs `work` without the interpreter; other Python threads go on meanwhile.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> lakebed::Result<T> + Send) -> PyResult<T> {
    keep_freed();
    // A panic leaves nothing behind that is used again: its values are dropped on the way out.
    let outcome = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    match outcome {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(to_python(py, error)),
        Err(panic) => Err(internal(py, panic.as_ref())),
    }
}

/// Drops what may have threads, which it waits for, without the interpreter, which they may wait for.
pub fn drop_detached<T: Send>(mut value: Option<T>) {
    if value.is_none() {
        return;
    }
    Python::try_attach(|py| {
        let value = value.take();
        py.detach(move || drop(value));
    });
    // At the interpreter's end nothing attaches any more: its threads never come back.
    std::mem::forget(value);
}

/// Panics on purpose: how a caller can see what would become of a bug of ours.
#[pyfunction]
pub fn panic(py: Python<'_>, message: String) -> PyResult<()> {
    // Not by the hook, which would print it to stderr as a bug.
    detached(py, || std::panic::resume_unwind(Box::new(message)))
}
