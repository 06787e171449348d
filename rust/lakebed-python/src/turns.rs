//! Values that calls use one after another.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{ThreadId, current};

use lakebed::separate_thread::{PATIENCE, of_another_process};
use lakebed::{Error, ErrorKind, Result};

use crate::boundary::drop_detached;
use crate::interpreter::interrupted;

/// A value that is used by one call at a time, in the process that was the first to use it. Its threads are not
/// in others, and of its open files these share the position.
pub struct Turns<T: Send + 'static> {
    state: Mutex<State<T>>,
    ended: Condvar,
    /// The id of the process; 0 before the first use.
    process: AtomicU32,
}

struct State<T> {
    /// `None` while it is used, after it was given away, and after a panic.
    value: Option<T>,
    user: Option<ThreadId>,
}

impl<T: Send + 'static> Turns<T> {
    pub fn new(value: T) -> Turns<T> {
        Turns::used_in(0, value)
    }

    /// A value that no other process can use even before its first use here.
    pub fn of_this_process(value: T) -> Turns<T> {
        Turns::used_in(std::process::id(), value)
    }

    fn used_in(process: u32, value: T) -> Turns<T> {
        let state = Mutex::new(State { value: Some(value), user: None });
        Turns { state, ended: Condvar::new(), process: AtomicU32::new(process) }
    }

    /// Runs `work` with the value when no other thread does. To be called without the interpreter. Fails in a forked
    /// process, where this thread, or one that waits for it, uses the value already, and with what the handler of a
    /// signal raises meanwhile.
    pub fn take_turn<O>(&self, work: impl FnOnce(&mut Option<T>) -> Result<O>) -> Result<O> {
        let process = std::process::id();
        let first = self.process.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed);
        if first.is_err_and(|user| user != process) {
            return Err(of_another_process());
        }
        work(&mut self.begin()?.value)
    }

    /// The value for another owner, in the same process as before.
    pub fn hand_over(&self) -> Result<Option<Turns<T>>> {
        let user = self.process.load(Ordering::Relaxed);
        let value = self.take_turn(|value| Ok(value.take()))?;
        // To give a value away does not use it.
        self.process.store(user, Ordering::Relaxed);
        Ok(value.map(|value| Turns::used_in(user, value)))
    }

    fn begin(&self) -> Result<Turn<'_, T>> {
        let this = current();
        loop {
            let mut state = self.state();
            let Some(user) = state.user else {
                state.user = Some(this.id());
                return Ok(Turn { value: state.value.take(), turns: self });
            };
            // The threads of a stream are waited for by who reads it.
            if user == this.id() || this.name() == Some("lakebed") {
                return Err(Error::new(
                    ErrorKind::Io,
                    "this stream is being read by the call that reads it here",
                ));
            }
            drop(self.ended.wait_timeout(state, PATIENCE));
            interrupted()?;
        }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        // Nothing panics while the lock is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Send + 'static> Drop for Turns<T> {
    fn drop(&mut self) {
        drop_detached(self.state().value.take());
    }
}

/// A value that is being used.
struct Turn<'a, T: Send + 'static> {
    value: Option<T>,
    turns: &'a Turns<T>,
}

impl<T: Send + 'static> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        let value = self.value.take();
        let mut state = self.turns.state();
        state.user = None;
        if !std::thread::panicking() {
            state.value = value;
        }
        self.turns.ended.notify_all();
    }
}
