//! A thread beside that of its caller, who may give up waiting for it.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};

/// How long who waits sleeps between two checks for an interruption.
pub const PATIENCE: Duration = Duration::from_millis(50);

/// How long a thread without work waits for more.
const IDLE: Duration = Duration::from_secs(1);

type Work<T> = Box<dyn FnOnce() -> T + Send>;
type Step = Box<dyn FnOnce() + Send>;

/// A thread that does one piece of work after another. It ends after the last one when this is dropped, or when it
/// had none for a second.
pub struct SeparateThread {
    /// `None` once it is dropped.
    steps: Option<Sender<Step>>,
    /// `None` where no thread could be started.
    thread: Option<JoinHandle<()>>,
    /// The process that has the thread.
    process: u32,
}

impl SeparateThread {
    /// Starts a thread. Where none can be started, its work is done by who waits for it.
    pub fn start() -> SeparateThread {
        SeparateThread::start_within(|work| work())
    }

    /// Starts a thread that does all of its work within a call of `frame`.
    pub fn start_within(frame: impl FnOnce(&mut (dyn FnMut() + Send)) + Send + 'static) -> SeparateThread {
        SeparateThread::start_on(Builder::new(), frame)
    }

    fn start_on(
        thread: Builder,
        frame: impl FnOnce(&mut (dyn FnMut() + Send)) + Send + 'static,
    ) -> SeparateThread {
        let (sender, steps) = channel::<Step>();
        let mut work = move || {
            while let Ok(step) = steps.recv_timeout(IDLE) {
                step();
            }
        };
        // Without a thread the receiver is dropped, and no step is taken.
        let thread = thread.name("lakebed".to_owned()).spawn(move || frame(&mut work)).ok();
        SeparateThread { steps: Some(sender), thread, process: std::process::id() }
    }

    /// Whether it does work that it is given: it has not ended, and is no thread of a process from which this one
    /// was forked.
    pub fn is_alive(&self) -> bool {
        !self.is_forked() && self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Has it do `work` after what it does now.
    pub fn begin<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> PendingResult<T> {
        let work: Arc<Mutex<Option<Work<T>>>> = Arc::new(Mutex::new(Some(Box::new(work))));
        let (sender, done) = channel();
        let given = Arc::clone(&work);
        let step = move || {
            if let Some(work) = taken(&given) {
                // Nobody may wait any more.
                let _ = sender.send(std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)));
            }
        };
        if let Some(steps) = &self.steps {
            // A step that no thread takes is dropped, and with it the sender.
            let _ = steps.send(Box::new(step));
        }
        PendingResult { work, done }
    }

    /// Waits until it has done its work and ended.
    pub fn end(mut self) {
        self.steps = None;
        // What its work panics with is in the results.
        let _ = self.thread.take().map(JoinHandle::join);
    }

    fn is_forked(&self) -> bool {
        self.process != std::process::id()
    }
}

impl Drop for SeparateThread {
    fn drop(&mut self) {
        // The thread that is not in this process may have held a lock of the channel, and its id may be that of
        // another one here.
        if self.is_forked() {
            std::mem::forget((self.steps.take(), self.thread.take()));
        }
    }
}

/// The result of work that may hang.
pub struct PendingResult<T> {
    /// The work that no thread has begun.
    work: Arc<Mutex<Option<Work<T>>>>,
    done: Receiver<std::thread::Result<T>>,
}

impl<T> PendingResult<T> {
    /// The result; a panic is resumed here. Checks for an interruption meanwhile, after which the thread is left
    /// to its work.
    ///
    /// # Errors
    /// Those of `interrupted`.
    pub fn wait(self, interrupted: impl Fn() -> Result<()>) -> Result<T> {
        loop {
            match self.done.recv_timeout(PATIENCE) {
                Ok(done) => return Ok(done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))),
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

    fn id_of(thread: &SeparateThread) -> std::thread::ThreadId {
        thread.begin(|| current().id()).wait(|| Ok(())).unwrap()
    }

    #[test]
    fn work_has_a_thread_of_its_own_or_that_of_who_waits() {
        let thread = SeparateThread::start();
        let first = id_of(&thread);
        assert_ne!(first, current().id());
        assert_eq!(id_of(&thread), first);
        assert!(thread.is_alive());
        thread.end();
        // No address space has room for this stack.
        let none = SeparateThread::start_on(Builder::new().stack_size(1 << 62), |work| work());
        assert_eq!(id_of(&none), current().id());
        assert!(!none.is_alive());
    }

    #[test]
    fn who_is_interrupted_does_not_wait() {
        let (release, held) = channel::<()>();
        let pending = SeparateThread::start().begin(move || held.recv());
        let interrupted = || Err(Error::new(ErrorKind::Io, "interrupted"));
        assert_eq!(pending.wait(interrupted).unwrap_err().message(), "interrupted");
        drop(release);
    }

    #[test]
    fn work_is_done_within_the_frame() {
        let (began, begins) = channel();
        let thread = SeparateThread::start_within(move |work| {
            began.send("begin").unwrap();
            work();
            began.send("end").unwrap();
        });
        id_of(&thread);
        thread.end();
        assert_eq!(begins.iter().collect::<Vec<_>>(), ["begin", "end"]);
    }

    #[test]
    #[should_panic(expected = "of the work")]
    fn a_panic_is_resumed() {
        let _ = SeparateThread::start().begin(|| panic!("of the work")).wait(|| Ok(()));
    }
}
