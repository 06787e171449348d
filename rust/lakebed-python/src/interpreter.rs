//! When a thread has the interpreter, gives it up, and what it may do while the interpreter ends.
//!
//! PyO3 counts how often it attached a thread. Code that it called may have released the interpreter since, as
//! pyarrow does around its work, and calls back through a C interface: then the count is wrong, and only
//! CPython knows. `PyGILState_Ensure` asks it.
#![allow(unsafe_code)] // what CPython knows of a thread has no safe interface

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::time::Duration;

use lakebed::separate_thread::SeparateThread;
use lakebed::{Error, ErrorKind, Result};
use pyo3::exceptions::PyException;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Runs `work` without the interpreter, and afterwards has it again if it had it before. For callbacks of C
/// interfaces, which consumers call with and without it.
pub fn released<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if !is_known() {
        return work();
    }
    let _interpreter = HeldInterpreter::new();
    // SAFETY: this thread has the interpreter, as the line above made sure of.
    unsafe { Python::attach_unchecked(|py| py.detach(work)) }
}

/// The interpreter, whatever PyO3 has counted.
struct HeldInterpreter(ffi::PyGILState_STATE);

impl HeldInterpreter {
    fn new() -> HeldInterpreter {
        // SAFETY: the interpreter was initialized, or this module would not be there.
        HeldInterpreter(unsafe { ffi::PyGILState_Ensure() })
    }
}

impl Drop for HeldInterpreter {
    fn drop(&mut self) {
        // SAFETY: the state is that of the matching call, on the same thread.
        unsafe { ffi::PyGILState_Release(self.0) }
    }
}

/// Runs `work` with the interpreter.
///
/// # Errors
/// `Io` where the interpreter ends and this thread is none of its own: it would wait for ever.
pub fn attached<T>(work: impl FnOnce(Python<'_>) -> Result<T>) -> Result<T> {
    if is_ending() && !is_known() {
        return Err(ending());
    }
    // SAFETY: the interpreter was initialized; threads that it does not take any more never return.
    unsafe { Python::attach_unchecked(work) }
}

#[cold]
pub fn ending() -> Error {
    Error::new(
        ErrorKind::Io,
        "the interpreter ends, so that storages written in Python are not called any more",
    )
}

/// Whether the interpreter ends. Only the thread that ends it can still use it: others that try never return.
pub fn is_ending() -> bool {
    // SAFETY: may be called at any time.
    unsafe { ffi::Py_IsInitialized() == 0 }
}

/// Whether the interpreter knows this thread. One that it does not know has not got it.
fn is_known() -> bool {
    // SAFETY: may be called at any time.
    unsafe { !ffi::PyGILState_GetThisThreadState().is_null() }
}

/// Calls an object, which may run until the interpreter ends.
///
/// Before Python 3.14 a thread that wants the interpreter back then ends in mid-call, by unwinding; glibc
/// aborts where that meets Rust. Here it stops before it does.
pub fn call<'py>(
    callable: &Bound<'py, PyAny>,
    arguments: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>>,
) -> PyResult<Bound<'py, PyAny>> {
    type Call<Object> = unsafe extern "C-unwind" fn(Object, Object, Object) -> Object;
    let py = callable.py();
    let arguments = arguments.into_pyobject(py).map_err(Into::into)?;
    let object_call: unsafe extern "C" fn(_, _, _) -> _ = ffi::PyObject_Call;
    // SAFETY: the two kinds of function pointers differ in whether unwinding may leave the function.
    let object_call: Call<*mut ffi::PyObject> = unsafe { std::mem::transmute(object_call) };
    let guard = UnwindGuard;
    // SAFETY: both objects are alive, and there are no keywords.
    let result = unsafe { object_call(callable.as_ptr(), arguments.as_ptr(), std::ptr::null_mut()) };
    std::mem::forget(guard);
    // SAFETY: a new reference, or null with an exception.
    unsafe { Bound::from_owned_ptr_or_err(py, result) }
}

/// Never returns from being dropped, which only an ending thread does.
struct UnwindGuard;

impl Drop for UnwindGuard {
    fn drop(&mut self) {
        loop {
            std::thread::sleep(Duration::from_secs(60));
        }
    }
}

/// Calls a method of an object, as [`call`].
pub fn call_method<'py>(
    object: &Bound<'py, PyAny>,
    name: &str,
    arguments: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>>,
) -> PyResult<Bound<'py, PyAny>> {
    call(&object.getattr(name)?, arguments)
}

/// Checks for a signal whose handler raises an exception.
///
/// # Errors
/// The exception.
pub fn interrupted() -> Result<()> {
    attached(|py| py.check_signals().map_err(interruption))
}

fn interruption(error: PyErr) -> Error {
    Error::new(ErrorKind::Io, "interrupted").caused_by(error)
}

/// Runs `work`, which may hang outside of Python, so that signals are answered meanwhile: on a thread of its
/// own if this is the one that answers them. After a signal whose handler raises, that thread is left alone.
///
/// # Errors
/// What the handler raises.
pub fn waited<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    if is_ending() || !answers_signals() {
        return work();
    }
    SeparateThread::start(work).wait(interrupted)?
}

/// Raises what was raised by a signal's handler, or by `sys.exit`, as soon as the thread that answers signals runs
/// Python again: where nobody can be told of it, or nobody takes more than a text. Other exceptions are dropped,
/// and so are those of Python's other threads.
pub fn raise_later(mut error: Error) {
    let Some(Ok(raised)) = error.take_source().map(|source| source.downcast::<PyErr>()) else { return };
    if is_known() && !answers_signals() {
        return;
    }
    let queued = |py: Python<'_>| {
        if !raised.is_instance_of::<PyException>(py) {
            let raised = Box::into_raw(raised);
            // SAFETY: the function takes the pointer back, once.
            if unsafe { ffi::Py_AddPendingCall(Some(raise), raised.cast()) } != 0 {
                // SAFETY: nothing else has it: the queue is full.
                drop(unsafe { Box::from_raw(raised) });
            }
        }
        Ok(())
    };
    // The interpreter ends, and has nobody to tell.
    let _ = attached(queued);
}

extern "C" fn raise(raised: *mut c_void) -> c_int {
    // SAFETY: the pointer that was queued, and the interpreter's own thread.
    unsafe {
        let raised = Box::from_raw(raised.cast::<PyErr>());
        Python::attach_unchecked(|py| raised.restore(py));
    }
    -1
}

/// Whether this is the thread that runs handlers of signals.
fn answers_signals() -> bool {
    thread_local! {
        /// The answer, and for which process: a fork makes the thread that forks the one.
        static KNOWN: Cell<Option<(u32, bool)>> = const { Cell::new(None) };
    }
    if !is_known() {
        return false;
    }
    let process = std::process::id();
    if let Some((_, answer)) = KNOWN.get().filter(|(asked_in, _)| *asked_in == process) {
        return answer;
    }
    let ask = |py: Python<'_>| {
        let threading = py.import("threading")?;
        let main = threading.call_method0("main_thread")?.getattr("ident")?;
        main.eq(threading.call_method0("get_ident")?)
    };
    let answer = attached(|py| Ok(ask(py).unwrap_or(false))).unwrap_or(false);
    KNOWN.set(Some((process, answer)));
    answer
}

/// Calls `call(*arguments)`, which may hang outside of Python, so that signals are answered meanwhile.
#[pyfunction]
#[pyo3(signature = (call, *arguments))]
pub fn interruptibly(py: Python<'_>, call: Py<PyAny>, arguments: Py<PyTuple>) -> PyResult<Py<PyAny>> {
    let work = move || {
        attached(|py| {
            let result = self::call(call.bind(py), arguments.into_bound(py));
            result.map(Bound::unbind).map_err(interruption)
        })
    };
    crate::boundary::detached(py, || waited(work))
}
