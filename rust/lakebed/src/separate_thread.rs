//! Work on a thread of its own, which its caller may give up waiting for.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};

/// How long who waits sleeps between two checks for an interruption.
pub const PATIENCE: Duration = Duration::from_millis(50);

type Work<T> = Box<dyn FnOnce() -> T + Send>;

/// The result of work that may hang, on a thread that ends with it.
pub struct SeparateThread<T> {
    /// The work that no thread has begun.
    work: Arc<Mutex<Option<Work<T>>>>,
    done: Receiver<std::thread::Result<T>>,
    /// `None` where no thread could be started.
    thread: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> SeparateThread<T> {
    /// Starts the work. Where no thread can be started, [`SeparateThread::wait`] does it.
    pub fn start(work: impl FnOnce() -> T + Send + 'static) -> SeparateThread<T> {
        SeparateThread::start_on(Builder::new(), work)
    }

    fn start_on(thread: Builder, work: impl FnOnce() -> T + Send + 'static) -> SeparateThread<T> {
        let work: Arc<Mutex<Option<Work<T>>>> = Arc::new(Mutex::new(Some(Box::new(work))));
        let (sender, done) = channel();
        let given = Arc::clone(&work);
        let run = move || {
            if let Some(work) = taken(&given) {
                // Nobody may wait any more.
                let _ = sender.send(std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)));
            }
        };
        // Without a thread `run` is dropped, and with it the sender.
        let thread = thread.name("lakebed".to_owned()).spawn(run).ok();
        SeparateThread { work, done, thread }
    }

    /// The result; a panic is resumed here. Checks for an interruption meanwhile, after which the thread is
    /// left alone: it ends when its work does.
    ///
    /// # Errors
    /// Those of `interrupted`.
    pub fn wait(self, interrupted: impl Fn() -> Result<()>) -> Result<T> {
        loop {
            match self.done.recv_timeout(PATIENCE) {
                Ok(done) => {
                    // It ends by itself now, and no thread is left behind.
                    let _ = self.thread.map(JoinHandle::join);
                    return Ok(done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
                }
                Err(RecvTimeoutError::Timeout) => interrupted()?,
                Err(RecvTimeoutError::Disconnected) => {
                    let work = taken(&self.work);
                    let work =
                        work.ok_or_else(|| Error::new(ErrorKind::Internal, "a thread without a result"))?;
                    return Ok(work());
                }
            }
        }
    }
}

/// The error for a stream whose threads are those of another process.
#[cold]
pub fn of_another_process() -> Error {
    let message = "this stream belongs to the process from which this one was forked: start one here";
    Error::new(ErrorKind::Io, message)
}

fn taken<T>(work: &Mutex<Option<Work<T>>>) -> Option<Work<T>> {
    work.lock().unwrap_or_else(PoisonError::into_inner).take()
}

#[cfg(test)]
mod tests {
    use std::thread::current;

    use super::*;

    #[test]
    fn work_has_a_thread_of_its_own_or_that_of_who_waits() {
        let apart = SeparateThread::start(|| current().id());
        assert_ne!(apart.wait(|| Ok(())).unwrap(), current().id());
        // No address space has room for this stack.
        let alone = SeparateThread::start_on(Builder::new().stack_size(1 << 62), || current().id());
        assert_eq!(alone.wait(|| Ok(())).unwrap(), current().id());
    }

    #[test]
    fn who_is_interrupted_does_not_wait() {
        let (release, held) = channel::<()>();
        let apart = SeparateThread::start(move || held.recv());
        let interrupted = || Err(Error::new(ErrorKind::Io, "interrupted"));
        assert_eq!(apart.wait(interrupted).unwrap_err().message(), "interrupted");
        drop(release);
    }

    #[test]
    #[should_panic(expected = "of the work")]
    fn a_panic_is_resumed() {
        let _ = SeparateThread::start(|| panic!("of the work")).wait(|| Ok(()));
    }
}
