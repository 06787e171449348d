//! The one way in which many files are read: files are read and decoded at the same time.
//!
//! ```text
//! requests, in order ─▶ reads: R at once ─▶ decoded into pieces: C at once ─▶ returned in request order
//! ```
//!
//! A read from an object store takes as long as decoding thousands of rows, and does not depend on the number
//! of cores. So reads have their own threads, as many as the storage serves well, and decoding has as many
//! threads as there are processors. Where a storage serves no more parallel reads than there are processors,
//! the same threads do both.
//!
//! The bytes that were read or decoded and not consumed yet are bounded, so that a slow consumer costs no
//! memory. A request is decoded piece by piece, so that a large one costs none either. The look-ahead starts
//! small and grows fourfold as pieces are consumed: a consumer that stops early has caused few reads.
//!
//! # Advice for whoever changes this
//! Who waits here must hold no lock that a reader takes, the interpreter's among them. What is ahead is bounded by bytes,
//! so a request that says that it has none could be read without bound. Interrupts, forks and a stream that is dropped in
//! the middle are what goes wrong: each has a test.
//!
//! Threads belong to a pipeline and end with it. None is started at import, none outlives its stream, and a
//! forked process does not depend on threads of its parent.

mod each;
mod kept;
mod levels;
mod state;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::JoinHandle;

pub(crate) use each::{Ahead, both, each, read_each};
pub(crate) use kept::ReadCache;
pub(crate) use levels::{FolderListing, Levels};
use state::{NextPiece, State, ThreadJob, ThreadRole};

use crate::error::{Error, Result};
use crate::separate_thread::{PATIENCE, of_another_process};
use crate::storage::Storage;

/// The most bytes that are read or decoded ahead of the consumer.
pub(crate) const BYTES_AHEAD: u64 = 64 << 20;

/// What a pipeline reads and how it decodes that. Called from several threads at once.
pub(crate) trait Source: Send + Sync + 'static {
    /// What is known of a file before it is read.
    type Request: Send + Sync + 'static;
    /// What was read.
    type Bytes: Send + 'static;
    /// A decoded piece of a request.
    type Output: Send + 'static;

    /// Bytes that the read will return, as recorded; 0 where that is not known.
    fn size(&self, _request: &Self::Request) -> u64 {
        0
    }

    /// Only reads: it may wait long and needs no processor time.
    ///
    /// # Errors
    /// Those of the storage, with the file.
    fn read(&self, request: &Self::Request) -> Result<Self::Bytes>;

    /// Decodes a request and hands over the result piece by piece. `give` returns whether more is wanted.
    ///
    /// # Errors
    /// Those of decoding, with the file. Pieces that were handed over before stay valid.
    fn make(&self, request: &Self::Request, bytes: Self::Bytes, give: Sink<'_, Self::Output>) -> Result<()>;

    /// Bytes of memory that a piece takes.
    fn held(&self, _made: &Self::Output) -> u64 {
        0
    }

    /// Checks whether the waiting consumer was interrupted, which a storage of an interpreter knows. Called
    /// while reads take long, also by a consumer that has enough.
    ///
    /// # Errors
    /// The interruption.
    fn interrupted(&self) -> Result<()> {
        Ok(())
    }
}

/// Takes a decoded piece; returns false where no more are wanted. Blocks while too many bytes wait for the
/// consumer.
pub(crate) type Sink<'a, M> = &'a mut dyn FnMut(M) -> bool;

/// The decoded pieces of requests, in the order of the requests. The first error in that order ends it.
pub(crate) struct Pipeline<S: Source> {
    shared: Arc<PipelineContext<S>>,
    /// Pieces that the consumer's thread has decoded itself.
    alone: VecDeque<Result<S::Output>>,
    makers: Vec<JoinHandle<()>>,
    readers: Vec<JoinHandle<()>>,
    /// The id of the process that started the threads; none before that.
    process: Option<u32>,
    width: Width,
    /// Whether the end was returned, or an error.
    ended: bool,
    /// Whether it was interrupted. Reads may hang then, so the threads are not joined.
    interrupted: bool,
}

struct PipelineContext<S: Source> {
    source: S,
    requests: Vec<S::Request>,
    state: State<S::Bytes, S::Output>,
}

impl<S: Source> Pipeline<S> {
    /// Starts no thread: that happens at the first call of `next`.
    pub(crate) fn new(source: S, requests: Vec<S::Request>, width: Width) -> Pipeline<S> {
        Pipeline::bounded(source, requests, width, BYTES_AHEAD)
    }

    /// Uses the whole look-ahead from the beginning, since everything will be consumed.
    pub(crate) fn at_once(self) -> Pipeline<S> {
        self.shared.state.look_far();
        self
    }

    fn bounded(source: S, requests: Vec<S::Request>, width: Width, bytes: u64) -> Pipeline<S> {
        let state = State::new(requests.len(), width, bytes);
        let shared = Arc::new(PipelineContext { source, requests, state });
        let (alone, makers, readers) = (VecDeque::new(), Vec::new(), Vec::new());
        Pipeline { shared, alone, makers, readers, process: None, width, ended: false, interrupted: false }
    }

    /// Starts as many threads as the look-ahead can use; fewer where the machine refuses more.
    fn spawn(&mut self) {
        let shared = &self.shared;
        self.process = Some(std::process::id());
        // Threads that decode must leave reading to the readers from the beginning, so this is before the
        // first reader runs.
        shared.state.has_threads(self.makers.len(), self.readers.len().max(shared.wanted(ThreadRole::Reads)));
        shared.spawn(&mut self.makers, ThreadRole::Makes);
        if !self.makers.is_empty() {
            shared.spawn(&mut self.readers, ThreadRole::Reads);
        }
        shared.state.has_threads(self.makers.len(), self.readers.len());
    }

    /// The next piece, decoded by this thread.
    fn alone(&mut self) -> Option<Result<S::Output>> {
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

    /// Whether the threads are those of the process from which this one was forked.
    fn is_forked(&self) -> bool {
        self.process.is_some_and(|process| process != std::process::id())
    }

    /// Stops the threads and waits for them, unless reads hang and the one who waits is interrupted.
    ///
    /// # Errors
    /// The interruption.
    fn stop(&mut self) -> Result<()> {
        let is_forked = self.is_forked();
        let threads = self.makers.drain(..).chain(self.readers.drain(..));
        // A forked process has the handles, but not the threads, which may have held a lock when it was forked.
        if is_forked {
            threads.for_each(std::mem::forget);
            return Ok(());
        }
        self.shared.state.stop();
        while !self.interrupted && !self.shared.state.threads_ended(PATIENCE) {
            if let Err(error) = self.shared.source.interrupted() {
                self.interrupted = true;
                return Err(error);
            }
        }
        if !self.interrupted {
            for thread in threads {
                // A panic was already handed over as the result of its request.
                let _ = thread.join();
            }
        }
        Ok(())
    }
}

impl<S: Source> Iterator for Pipeline<S> {
    type Item = Result<S::Output>;

    fn next(&mut self) -> Option<Result<S::Output>> {
        if self.ended {
            return None;
        }
        if self.is_forked() {
            return self.ended(|_| Some(Err(of_another_process())));
        }
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
                    NextPiece::End => return None,
                    NextPiece::Output(made) => return Some(made),
                    NextPiece::Panicked(panic) => std::panic::resume_unwind(panic),
                    NextPiece::NotYet => {
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
    /// Calls `next`, and returns nothing after an error or the end.
    fn ended(
        &mut self,
        next: impl FnOnce(&mut Self) -> Option<Result<S::Output>>,
    ) -> Option<Result<S::Output>> {
        let found = next(self);
        if matches!(found, Some(Ok(_))) {
            return found;
        }
        self.ended = true;
        match self.stop() {
            Ok(()) => found,
            Err(interruption) => Some(Err(interruption)),
        }
    }
}

impl<S: Source> Drop for Pipeline<S> {
    fn drop(&mut self) {
        // Whoever drops it cannot be told; an interruption reaches the interpreter all the same.
        let _ = self.stop();
    }
}

impl<S: Source> PipelineContext<S> {
    fn wanted(&self, role: ThreadRole) -> usize {
        self.state.threads_wanted(role, |at| self.size(at))
    }

    /// Starts more threads of a role.
    fn spawn(self: &Arc<Self>, threads: &mut Vec<JoinHandle<()>>, role: ThreadRole) {
        let wanted = self.wanted(role);
        while threads.len() < wanted {
            let shared = Arc::clone(self);
            let work = move || {
                shared.work(role);
                shared.state.thread_ends();
            };
            self.state.thread_begins();
            match std::thread::Builder::new().name("lakebed".to_owned()).spawn(work) {
                Ok(thread) => threads.push(thread),
                Err(_) => {
                    self.state.thread_ends();
                    break;
                }
            }
        }
    }

    /// What a thread does until there is no more work.
    fn work(&self, role: ThreadRole) {
        while let Some(job) = self.state.next_job(role, |at| self.size(at)) {
            match job {
                ThreadJob::Read(at) => self.read(at),
                ThreadJob::Make(at, bytes) => self.make(at, bytes),
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

/// What a call returned, or its panic.
type Caught<T> = std::thread::Result<Result<T, Error>>;

fn caught<T>(call: impl FnOnce() -> Result<T>) -> Caught<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(call))
}

/// More reads at once than any storage serves better than fewer; each has a thread.
const MOST_READS: usize = 1024;

/// The most parallel reads, and the most threads that decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Width {
    pub(crate) reads: usize,
    pub(crate) threads: usize,
}

impl Width {
    /// One after another.
    pub(crate) const ONE: Width = Width { reads: 1, threads: 1 };

    /// The width for a storage and a number of threads.
    ///
    /// A local read returns at once, so one per thread is enough, and with one thread no others are needed.
    /// More threads than processors read more in parallel, as a mounted object store needs it. They do not
    /// decode faster, and would only take memory, so decoding has no more threads than processors.
    pub(crate) fn new(storage: &dyn Storage, threads: usize) -> Width {
        let reads = storage.concurrent_reads().unwrap_or(threads).clamp(1, MOST_READS);
        let processors = std::thread::available_parallelism().map_or(threads, NonZeroUsize::get);
        Width { reads, threads: threads.min(processors).max(1) }
    }

    /// The most requests that are in progress at once.
    pub(crate) fn most(self) -> usize {
        self.reads.max(self.threads)
    }

    /// Whether one thread does all of the work.
    pub(crate) fn is_one(self) -> bool {
        self.reads <= 1 && self.threads <= 1
    }
}
