//! The one way in which many files are read: bytes arrive while rows are made.
//!
//! ```text
//! requests, in order ─▶ reads: R at once ─▶ made into pieces: C at once ─▶ given in the order of requests
//! ```
//!
//! A read from an object store takes as long as thousands of rows take to decode, whatever the number of cores: so
//! reads have a width and threads of their own, the storage's, and what is made of them has those of the processors;
//! where a storage serves no more reads than there are processors, the same threads do both. What was read
//! or made and nobody has taken yet is bounded in bytes, so that a slow consumer costs no memory, and what is made of one
//! request is given piece by piece, so that a large one costs none either. Look-ahead begins small and grows fourfold
//! with what is taken: who stops early has read little.
//!
//! Threads belong to a pipeline and end with it: none is there at import, none outlives its stream, none is missed in a
//! forked process.

mod both;
mod each;
mod kept;
mod levels;
mod state;
#[cfg(test)]
mod tests;
mod width;

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

pub(crate) use both::both;
pub(crate) use each::{each, read_each};
pub(crate) use kept::Kept;
pub(crate) use levels::{Levels, Look};
pub(crate) use width::Width;

use crate::error::{Error, Result};
use state::{Job, Ready, Role, State};

/// Bytes that are read or made ahead of who takes them.
pub(crate) const BYTES_AHEAD: u64 = 64 << 20;

/// How long the one who waits sleeps before it looks whether it is interrupted.
const PATIENCE: Duration = Duration::from_millis(50);

/// What a pipeline reads, and what it makes of that; called from several threads at once.
pub(crate) trait Source: Send + Sync + 'static {
    /// What is known of a file before it is read.
    type Request: Send + Sync + 'static;
    /// What was read.
    type Bytes: Send + 'static;
    /// What it becomes, or a piece of that.
    type Made: Send + 'static;

    /// Bytes that reading will take, as recorded; 0 where nobody knows.
    fn size(&self, _request: &Self::Request) -> u64 {
        0
    }

    /// Reads, and does nothing else: it may wait long and takes no processor.
    ///
    /// # Errors
    /// Those of the storage, with the file.
    fn read(&self, request: &Self::Request) -> Result<Self::Bytes>;

    /// Makes what the request is for, and gives it piece by piece; `give` says whether more is wanted.
    ///
    /// # Errors
    /// Those of decoding, with the file; what was given before stands.
    fn make(&self, request: &Self::Request, bytes: Self::Bytes, give: Give<'_, Self::Made>) -> Result<()>;

    /// Bytes of memory that a piece holds.
    fn held(&self, _made: &Self::Made) -> u64 {
        0
    }

    /// Whether who waits was interrupted, as a storage of an interpreter knows; asked while reads take long.
    ///
    /// # Errors
    /// The interruption.
    fn interrupted(&self) -> Result<()> {
        Ok(())
    }
}

/// Takes what was made; false where nobody wants more. It waits while much is made already.
pub(crate) type Give<'a, M> = &'a mut dyn FnMut(M) -> bool;

/// What becomes of requests, in their order; the first error in that order ends it.
pub(crate) struct Pipeline<S: Source> {
    shared: Arc<Shared<S>>,
    /// What the thread that takes has made by itself.
    alone: VecDeque<Result<S::Made>>,
    makers: Vec<JoinHandle<()>>,
    readers: Vec<JoinHandle<()>>,
    /// The process that the threads are in.
    process: u32,
    width: Width,
    /// Whether reads may hang, so that nobody waits for their threads.
    interrupted: bool,
}

struct Shared<S: Source> {
    source: S,
    requests: Vec<S::Request>,
    state: State<S::Bytes, S::Made>,
}

impl<S: Source> Pipeline<S> {
    /// Starts nothing yet: the first thread begins with the first call of `next`.
    pub(crate) fn new(source: S, requests: Vec<S::Request>, width: Width) -> Pipeline<S> {
        Pipeline::bounded(source, requests, width, BYTES_AHEAD)
    }

    /// With all of the look-ahead from the beginning: everything will be taken.
    pub(crate) fn at_once(self) -> Pipeline<S> {
        self.shared.state.look_far();
        self
    }

    fn bounded(source: S, requests: Vec<S::Request>, width: Width, bytes: u64) -> Pipeline<S> {
        let state = State::new(requests.len(), width, bytes);
        let shared = Arc::new(Shared { source, requests, state });
        let process = std::process::id();
        let (alone, makers, readers) = (VecDeque::new(), Vec::new(), Vec::new());
        Pipeline { shared, alone, makers, readers, process, width, interrupted: false }
    }

    /// Has as many threads as the look-ahead has use for; fewer where the machine gives no more.
    fn spawn(&mut self) {
        let shared = &self.shared;
        // Those that make leave the reading to others from the beginning, before the first of these runs.
        shared.state.has_threads(self.makers.len(), self.readers.len().max(shared.wanted(Role::Reads)));
        shared.spawn(&mut self.makers, Role::Makes);
        if !self.makers.is_empty() {
            shared.spawn(&mut self.readers, Role::Reads);
        }
        shared.state.has_threads(self.makers.len(), self.readers.len());
    }

    /// The next one, made by this thread.
    fn alone(&mut self) -> Option<Result<S::Made>> {
        while self.alone.is_empty() {
            let at = self.shared.state.take_alone()?;
            let request = self.shared.requests.get(at)?;
            let source = &self.shared.source;
            let mut give = |made| {
                self.alone.push_back(Ok(made));
                true
            };
            let made = source.read(request).and_then(|bytes| source.make(request, bytes, &mut give));
            self.alone.extend(made.err().map(Err));
        }
        self.alone.pop_front()
    }

    /// Ends what runs, and waits for it unless reads hang.
    fn stop(&mut self) {
        self.shared.state.stop();
        // A forked process has the handles, but not the threads.
        if self.interrupted || self.process != std::process::id() {
            self.makers.drain(..).chain(self.readers.drain(..)).for_each(std::mem::forget);
        }
        for thread in self.makers.drain(..).chain(self.readers.drain(..)) {
            // Panics were handed over with what they were to make.
            let _ = thread.join();
        }
    }
}

impl<S: Source> Iterator for Pipeline<S> {
    type Item = Result<S::Made>;

    fn next(&mut self) -> Option<Result<S::Made>> {
        if self.width.is_one() {
            return self.ended(|pipeline| pipeline.alone());
        }
        self.spawn();
        if self.makers.is_empty() {
            return self.ended(|pipeline| pipeline.alone());
        }
        self.ended(|pipeline| {
            loop {
                match pipeline.shared.state.take(PATIENCE) {
                    Ready::End => return None,
                    Ready::Made(made) => return Some(made),
                    Ready::Panicked(panic) => std::panic::resume_unwind(panic),
                    Ready::NotYet => {
                        if let Err(error) = pipeline.shared.source.interrupted() {
                            pipeline.interrupted = true;
                            return Some(Err(error));
                        }
                    }
                }
            }
        })
    }
}

impl<S: Source> Pipeline<S> {
    /// What `next` gives; nothing behind an error or the end.
    fn ended(&mut self, next: impl FnOnce(&mut Self) -> Option<Result<S::Made>>) -> Option<Result<S::Made>> {
        let found = next(self);
        if !matches!(found, Some(Ok(_))) {
            self.stop();
        }
        found
    }
}

impl<S: Source> Drop for Pipeline<S> {
    fn drop(&mut self) {
        self.stop();
    }
}

impl<S: Source> Shared<S> {
    fn wanted(&self, role: Role) -> usize {
        self.state.threads_wanted(role, |at| self.size(at))
    }

    /// Adds threads of a role to those there are.
    fn spawn(self: &Arc<Self>, threads: &mut Vec<JoinHandle<()>>, role: Role) {
        let wanted = self.wanted(role);
        while threads.len() < wanted {
            let shared = Arc::clone(self);
            let thread =
                std::thread::Builder::new().name("lakebed".to_owned()).spawn(move || shared.work(role));
            match thread {
                Ok(thread) => threads.push(thread),
                Err(_) => break,
            }
        }
    }

    /// What a thread does until there is no more.
    fn work(&self, role: Role) {
        while let Some(job) = self.state.next_job(role, |at| self.size(at)) {
            match job {
                Job::Read(at) => self.read(at),
                Job::Make(at, bytes) => self.make(at, bytes),
            }
        }
    }

    fn read(&self, at: usize) {
        match caught(|| self.source.read(&self.requests[at])) {
            Ok(Ok(bytes)) => self.state.put_read(at, bytes),
            Ok(Err(error)) => self.state.put_unread(at, Ok(Err(error)), self.size(at)),
            Err(panic) => self.state.put_unread(at, Err(panic), self.size(at)),
        }
    }

    fn make(&self, at: usize, bytes: S::Bytes) {
        let mut give = |made| {
            let held = self.source.held(&made);
            self.state.put_made(at, made, held)
        };
        let end = caught(|| self.source.make(&self.requests[at], bytes, &mut give));
        self.state.put_end(at, end);
    }

    fn size(&self, at: usize) -> u64 {
        self.requests.get(at).map_or(0, |request| self.source.size(request))
    }
}

/// What a call gave, or what it panicked with.
type Caught<T> = std::thread::Result<Result<T, Error>>;

fn caught<T>(call: impl FnOnce() -> Result<T>) -> Caught<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(call))
}
