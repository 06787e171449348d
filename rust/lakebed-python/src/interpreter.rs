//! When a thread has the interpreter, gives it up, and what it may do while the interpreter ends.
//!
//! PyO3 counts how often it attached a thread. Code that it called may have released the interpreter since, as
//! pyarrow does around its work, and calls back through a C interface: then the count is wrong, and only
//! CPython knows. `PyGILState_Ensure` asks it.
#![allow(unsafe_code)] // what CPython knows of a thread has no safe interface

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::time::Duration;

use lakebed::separate_thread::SeparateThread;
use lakebed::{Error, ErrorKind, Result};
use pyo3::exceptions::PyException;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::boundary::detached;
use crate::error::Cause;

/// Runs `work` without the interpreter, and afterwards has it again if it had it before. For callbacks of C
/// interfaces, which consumers call with and without it, and for what is dropped while an exception is raised, which
/// stays as it is.
pub fn released<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if !is_known() {
        return work();
    }
    let _interpreter = HeldInterpreter::new();
    // SAFETY: this thread has the interpreter, as the line above made sure of.
    unsafe { Python::attach_unchecked(|py| py.detach(work)) }
}

/// The interpreter, whatever PyO3 has counted, without the exception that is being raised meanwhile: the first call
/// that fails would take it for its own.
struct HeldInterpreter {
    state: ffi::PyGILState_STATE,
    /// The exception's type, value and traceback.
    raised: [*mut ffi::PyObject; 3],
}

impl HeldInterpreter {
    fn new() -> HeldInterpreter {
        let mut raised = [std::ptr::null_mut(); 3];
        let [kind, value, traceback] = &mut raised;
        // SAFETY: the interpreter was initialized, or this module would not be there; the pointers are to be written.
        let state = unsafe {
            let state = ffi::PyGILState_Ensure();
            ffi::PyErr_Fetch(kind, value, traceback);
            state
        };
        HeldInterpreter { state, raised }
    }
}

impl Drop for HeldInterpreter {
    fn drop(&mut self) {
        let [kind, value, traceback] = self.raised;
        // SAFETY: the exception is this value's own, and the state that of the matching call, on the same thread.
        unsafe {
            ffi::PyErr_Restore(kind, value, traceback);
            ffi::PyGILState_Release(self.state);
        }
    }
}

/// Runs `work` with the interpreter. Fails where the interpreter ends and this thread is none of its own: it would wait
/// for ever.
pub fn attached<T>(work: impl FnOnce(Python<'_>) -> Result<T>) -> Result<T> {
    if is_ending() && !is_known() {
        return Err(ending());
    }
    // SAFETY: the interpreter was initialized; threads that it does not take any more never return.
    unsafe { Python::attach_unchecked(work) }
}

/// The same for `work` that may raise: the exception is the cause of an `Io` error with the text `failure`.
pub fn attempted<T>(failure: &'static str, work: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T> {
    attached(|py| work(py).map_err(|raised| Error::new(ErrorKind::Io, failure).caused_by(cause(py, raised))))
}

#[cold]
pub fn ending() -> Error {
    let message = "the interpreter ends, so that storages written in Python are not called any more";
    Error::new(ErrorKind::Io, message)
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
    // A compiler that sees which function this is takes the guard out: PyO3 declares it as one that never unwinds.
    let object_call = black_box(object_call);
    // SAFETY: the two kinds of function pointers differ in whether unwinding may leave the function.
    let object_call: Call<*mut ffi::PyObject> = unsafe { std::mem::transmute(object_call) };
    let guard = UnwindGuard;
    // SAFETY: both objects are alive, and there are no keywords.
    let result = unsafe { object_call(callable.as_ptr(), arguments.as_ptr(), std::ptr::null_mut()) };
    std::mem::forget(guard);
    // SAFETY: a new reference, or null with an exception.
    unsafe { Bound::from_owned_ptr_or_err(py, result) }
}

/// Never returns from being dropped, for a thread that the interpreter, which ends, must not meet again.
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

/// An exception that must reach Python whatever becomes of the error that it is the cause of: readers that have
/// enough drop errors, and so does whoever can do without what it asked for. Where nobody takes it out, it is raised
/// as soon as the thread that answers signals runs Python again.
#[derive(Debug)]
pub struct Interruption(Option<PyErr>);

impl std::fmt::Display for Interruption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.as_ref().map_or(Ok(()), |raised| raised.fmt(f))
    }
}

impl std::error::Error for Interruption {}

impl Drop for Interruption {
    fn drop(&mut self) {
        if let Some(raised) = self.0.take() {
            raise_later(raised);
        }
    }
}

/// What a storage or a caller's stream raised, as the cause of an error. What ends a program, such as
/// `KeyboardInterrupt`, is an [`Interruption`] on the thread that answers signals.
pub fn cause(py: Python<'_>, raised: PyErr) -> Cause {
    if !raised.is_instance_of::<PyException>(py) && answers_signals() {
        return Box::new(Interruption(Some(raised)));
    }
    Box::new(raised)
}

/// Whether the cause of an error is an exception.
pub fn is_raised(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.is::<PyErr>() || cause.is::<Interruption>()
}

/// The exception that is the cause of an error, or another cause.
pub fn raised_by(cause: Cause) -> std::result::Result<PyErr, Cause> {
    let mut interruption = match cause.downcast::<Interruption>() {
        Ok(interruption) => interruption,
        Err(cause) => return cause.downcast::<PyErr>().map(|raised| *raised),
    };
    interruption.0.take().ok_or(interruption as Cause)
}

/// Checks for a signal whose handler raises an exception, which is an [`Interruption`] then.
pub fn interrupted() -> Result<()> {
    if !answers_signals() {
        return Ok(());
    }
    attached(|py| py.check_signals().map_err(|raised| Error::interruption(Interruption(Some(raised)))))
}

/// Runs `work`, which may hang outside of Python, so that signals are answered meanwhile: on another thread if this
/// is the one that answers them. After a signal whose handler raises, that thread is left alone; otherwise it does
/// the next work too, for what is bound to a thread, as sessions of some libraries are. Fails with what the handler
/// raises.
pub fn waited<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    thread_local! {
        /// The thread that works for this one, while it has nothing to do.
        static IDLE: Cell<Option<SeparateThread>> = const { Cell::new(None) };
    }
    if is_ending() || !answers_signals() {
        return work();
    }
    let thread = IDLE.take().filter(SeparateThread::is_alive);
    let thread = thread.unwrap_or_else(|| SeparateThread::start_within(known));
    let result = thread.begin(work).wait(interrupted)?;
    // A handler that ran meanwhile may have left another there, which ends.
    IDLE.set(Some(thread));
    result
}

/// Does all work of a thread while the interpreter knows it: otherwise it would forget what Python binds to the thread
/// (`threading.local`) after each call.
fn known(work: &mut (dyn FnMut() + Send)) {
    let to_its_end = || {
        work();
        if is_ending() {
            // The interpreter does not release it any more.
            drop(UnwindGuard);
        }
    };
    // SAFETY: the interpreter was initialized; while it ends, threads that it does not take never return.
    unsafe { Python::attach_unchecked(|py| py.detach(to_its_end)) }
}

/// Raises an exception as soon as the thread that answers signals runs Python again.
pub fn raise_later(raised: PyErr) {
    if is_ending() {
        return;
    }
    let raised = Box::into_raw(Box::new(raised));
    // SAFETY: may be called by any thread; the function takes the pointer back, once.
    if unsafe { ffi::Py_AddPendingCall(Some(raise), raised.cast()) } != 0 {
        // SAFETY: nothing else has it: the queue is full.
        drop(unsafe { Box::from_raw(raised) });
    }
}

/// Raises later what ends a program, of an error that nobody takes more than a text of. Other exceptions are dropped,
/// and so are those of Python's other threads.
pub fn raise_what_ends(mut error: Error) {
    let Some(Ok(raised)) = error.take_source().map(raised_by) else { return };
    if is_known() && !answers_signals() {
        return;
    }
    // The interpreter may end, and has nobody to tell then.
    let ends = attached(|py| Ok(!raised.is_instance_of::<PyException>(py)));
    if ends.is_ok_and(|ends| ends) {
        raise_later(raised);
    }
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
    let call = move |py: Python<'_>| self::call(call.bind(py), arguments.into_bound(py)).map(Bound::unbind);
    detached(py, || waited(|| attempted("the call failed", call)))
}
