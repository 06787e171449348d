//! The state of each request of a pipeline.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Caught, Width};
use crate::error::Result;

/// Requests that are read ahead before any piece is taken.
const FIRST_AHEAD: usize = 2;

/// The factor by which the look-ahead grows with each request that is asked for: slow reads run in parallel
/// from the second one on.
const AHEAD_GROWS: usize = 4;

/// Bytes that are read ahead for each thread that decodes. It decodes them in about a tenth of a second, as
/// long as a slow read takes. More would only take memory.
const READ_AHEAD_EACH: u64 = 8 << 20;

/// Requests that may wait to be decoded at any size: one that was read, and one that is being read meanwhile.
const FEW_AHEAD: usize = 2;

/// What the consumer finds.
pub(super) enum NextPiece<M> {
    Output(Result<M>),
    Panicked(Box<dyn Any + Send>),
    NotYet,
    End,
}

/// What a thread is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThreadRole {
    /// Only waits for the storage.
    Reads,
    /// Decodes what was read, and also reads where there are no readers.
    Makes,
}

/// The next job of a thread.
pub(super) enum ThreadJob<B> {
    Read(usize),
    Make(usize, B),
}

/// What the threads and the consumer share. `B` is what was read, `M` a decoded piece.
pub(super) struct State<B, M> {
    places: Mutex<Places<B, M>>,
    /// Signals that there may be room to read more.
    room: Condvar,
    /// Signals that something may be decoded or held now.
    turn: Condvar,
    /// Signals that a piece was decoded.
    made: Condvar,
}

/// The state of a request that is being decoded.
struct DecodedPieces<M> {
    /// Pieces that are not taken yet, with their bytes.
    waiting: VecDeque<(M, u64)>,
    /// How decoding ended, once it has ended.
    end: Option<Caught<()>>,
}

/// What the consumer finds for the request it waits for.
enum AwaitedRequest<M> {
    NextPiece(NextPiece<M>),
    /// The request has no more pieces.
    Over,
    Nothing,
}

struct Places<B, M> {
    count: usize,
    width: Width,
    /// The most bytes of `unmade` and `held` together.
    most_bytes: u64,
    /// The most bytes of `unmade`: half of `most_bytes`. The other half is left for decoded pieces.
    most_unmade: u64,
    /// The next request to read.
    next: usize,
    /// The request whose pieces are returned next.
    taken: usize,
    /// The request that was last asked for. A consumer that has a piece and does not ask for the next causes
    /// no more reads.
    asked: usize,
    /// How many requests from there on may be in progress or wait to be taken.
    ahead: usize,
    /// Threads that decode.
    makers: usize,
    /// Threads that only read.
    readers: usize,
    reading: usize,
    /// Bytes that are being read, or were read and wait to be decoded.
    unmade: u64,
    /// Bytes of pieces that were decoded and are not taken yet.
    held: u64,
    /// Requests that were read and wait to be decoded.
    read: BTreeMap<usize, B>,
    making: usize,
    /// Requests that are being decoded, or were.
    made: BTreeMap<usize, DecodedPieces<M>>,
    stopped: bool,
    /// Threads that have not ended.
    alive: usize,
}

impl<M> Default for DecodedPieces<M> {
    fn default() -> DecodedPieces<M> {
        DecodedPieces { waiting: VecDeque::new(), end: None }
    }
}

impl<B, M> State<B, M> {
    pub(super) fn new(count: usize, width: Width, most_bytes: u64) -> State<B, M> {
        let places = Places {
            count,
            width,
            most_bytes,
            most_unmade: (most_bytes / 2).min(READ_AHEAD_EACH.saturating_mul(width.threads as u64)),
            next: 0,
            taken: 0,
            asked: 0,
            ahead: FIRST_AHEAD.max(width.threads).min(width.most()),
            makers: 0,
            readers: 0,
            reading: 0,
            unmade: 0,
            held: 0,
            read: BTreeMap::new(),
            making: 0,
            made: BTreeMap::new(),
            stopped: false,
            alive: 0,
        };
        State { places: Mutex::new(places), room: Condvar::new(), turn: Condvar::new(), made: Condvar::new() }
    }

    /// Sets the look-ahead to its maximum.
    pub(super) fn look_far(&self) {
        let mut places = self.places();
        places.ahead = places.width.most();
    }

    fn places(&self) -> MutexGuard<'_, Places<B, M>> {
        // Nothing panics while the lock is held.
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many threads of a role have work. Threads that decode also read, unless the storage serves more
    /// parallel reads than that. Then there are readers too, but no more than may read at once, since the
    /// allocator keeps memory for each thread.
    pub(super) fn threads_wanted(&self, role: ThreadRole, size: impl Fn(usize) -> u64) -> usize {
        let places = self.places();
        match role {
            ThreadRole::Makes => places.width.threads.min(places.count - places.taken),
            ThreadRole::Reads if places.width.reads <= places.width.threads => 0,
            ThreadRole::Reads => places.reading + places.readable(size),
        }
    }

    /// Records how many threads decode, and how many only read or are about to.
    pub(super) fn has_threads(&self, makers: usize, readers: usize) {
        let mut places = self.places();
        if (places.makers, places.readers) != (makers, readers) {
            (places.makers, places.readers) = (makers, readers);
            self.changed();
        }
    }

    /// The next job of a thread; waits until there is one. `None` where there will be no more.
    pub(super) fn next_job(&self, role: ThreadRole, size: impl Fn(usize) -> u64) -> Option<ThreadJob<B>> {
        let mut places = self.places();
        loop {
            if places.stopped || places.is_over_for(role) {
                return None;
            }
            let job = match role {
                ThreadRole::Reads => places.next_read(&size),
                ThreadRole::Makes if places.readers == 0 => {
                    places.next_make(&size).or_else(|| places.next_read(&size))
                }
                ThreadRole::Makes => places.next_make(&size),
            };
            if let Some(job) = job {
                if matches!(job, ThreadJob::Make(..)) {
                    // The request is no longer ahead, which leaves room to read.
                    self.changed();
                }
                return Some(job);
            }
            let changed = if role == ThreadRole::Reads { &self.room } else { &self.turn };
            places = changed.wait(places).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Hands over what was read.
    pub(super) fn put_read(&self, at: usize, read: B) {
        let mut places = self.places();
        places.reading -= 1;
        places.read.insert(at, read);
        self.changed();
    }

    /// Hands over why a request could not be read, in place of its pieces. Frees `size` bytes.
    pub(super) fn put_unread(&self, at: usize, failed: Caught<()>, size: u64) {
        let mut places = self.places();
        places.reading -= 1;
        places.unmade = places.unmade.saturating_sub(size);
        self.end(places, at, failed);
    }

    /// Hands over a decoded piece that takes `held` bytes, as soon as there is room for it. Returns false
    /// where it is not wanted any more.
    pub(super) fn put_made(&self, at: usize, made: M, held: u64) -> bool {
        let mut places = self.places();
        while !places.stopped && !places.may_hold(at, held) {
            places = self.turn.wait(places).unwrap_or_else(PoisonError::into_inner);
        }
        if places.stopped {
            return false;
        }
        places.held = places.held.saturating_add(held);
        places.made.entry(at).or_default().waiting.push_back((made, held));
        if at == places.taken {
            self.made.notify_all();
        }
        true
    }

    /// Records that a request has no more pieces.
    pub(super) fn put_end(&self, at: usize, end: Caught<()>) {
        let mut places = self.places();
        places.making -= 1;
        self.end(places, at, end);
    }

    fn end(&self, mut places: MutexGuard<'_, Places<B, M>>, at: usize, end: Caught<()>) {
        places.made.entry(at).or_default().end = Some(end);
        if at == places.taken {
            self.made.notify_all();
        }
        self.changed();
    }

    /// Wakes the threads: there may be a job for them.
    fn changed(&self) {
        self.room.notify_all();
        self.turn.notify_all();
    }

    /// The next piece; waits no longer than `patience`.
    pub(super) fn take(&self, patience: Duration) -> NextPiece<M> {
        let (mut places, mut has_waited) = (self.places(), false);
        loop {
            if places.taken == places.count || places.stopped {
                return NextPiece::End;
            }
            if places.taken > places.asked {
                places.ahead = places.ahead.saturating_mul(AHEAD_GROWS).min(places.width.most());
                places.asked = places.taken;
                self.changed();
            }
            match places.find() {
                AwaitedRequest::NextPiece(ready) => {
                    drop(places);
                    self.changed();
                    return ready;
                }
                AwaitedRequest::Over => self.changed(),
                AwaitedRequest::Nothing if has_waited => return NextPiece::NotYet,
                AwaitedRequest::Nothing => {
                    let waited = self.made.wait_timeout(places, patience);
                    (places, has_waited) = (waited.unwrap_or_else(PoisonError::into_inner).0, true);
                }
            }
        }
    }

    /// The next request, where the consumer's thread does everything.
    pub(super) fn take_alone(&self) -> Option<usize> {
        let mut places = self.places();
        let at = places.taken;
        if at == places.count || places.stopped {
            return None;
        }
        (places.taken, places.next) = (at + 1, at + 1);
        Some(at)
    }

    pub(super) fn stop(&self) {
        self.places().stopped = true;
        self.changed();
    }

    pub(super) fn thread_begins(&self) {
        self.places().alive += 1;
    }

    pub(super) fn thread_ends(&self) {
        self.places().alive -= 1;
        self.made.notify_all();
    }

    /// Whether all threads have ended; waits no longer than `patience`.
    pub(super) fn threads_ended(&self, patience: Duration) -> bool {
        let waited = self.made.wait_timeout_while(self.places(), patience, |places| places.alive > 0);
        waited.unwrap_or_else(PoisonError::into_inner).0.alive == 0
    }
}

impl<B, M> Places<B, M> {
    /// Whether no work is left for threads of a role.
    fn is_over_for(&self, role: ThreadRole) -> bool {
        let all_asked = self.next == self.count;
        all_asked && (role == ThreadRole::Reads || (self.reading == 0 && self.read.is_empty()))
    }

    /// The first request that was read, if it may be decoded now. While many decoded bytes are held, only the
    /// request that the consumer waits for is decoded: decoded rows take several times the bytes that were
    /// read.
    fn next_make(&mut self, size: impl Fn(usize) -> u64) -> Option<ThreadJob<B>> {
        let at = *self.read.keys().next()?;
        let has_room = at == self.taken || self.held < self.most_bytes / 2;
        if self.making == self.width.threads || !has_room {
            return None;
        }
        let read = self.read.remove(&at)?;
        self.making += 1;
        self.made.entry(at).or_default();
        self.unmade = self.unmade.saturating_sub(size(at));
        Some(ThreadJob::Make(at, read))
    }

    /// Whether a decoded piece may be held: there is room for it, or the consumer waits for it. Where all
    /// threads decode later requests, one of them must continue, so that it can decode the one that is waited
    /// for.
    fn may_hold(&self, at: usize, bytes: u64) -> bool {
        if self.held.saturating_add(bytes) <= self.most_bytes / 2 {
            return true;
        }
        match self.made.get(&self.taken) {
            Some(front) => at == self.taken && front.waiting.is_empty(),
            None => self.making >= self.makers && self.first_making() == Some(at),
        }
    }

    fn first_making(&self) -> Option<usize> {
        self.made.iter().find(|(_, pieces)| pieces.end.is_none()).map(|(at, _)| *at)
    }

    /// The next piece of the request that is waited for, or how that request ended.
    fn find(&mut self) -> AwaitedRequest<M> {
        let Some(front) = self.made.get_mut(&self.taken) else { return AwaitedRequest::Nothing };
        let piece = front.waiting.pop_front();
        let is_over = front.waiting.is_empty() && matches!(front.end, Some(Ok(Ok(()))));
        let end = if piece.is_none() { front.end.take() } else { None };
        if is_over || end.is_some() {
            self.made.remove(&self.taken);
            self.taken += 1;
        }
        match (piece, end) {
            (Some((made, held)), _) => {
                self.held = self.held.saturating_sub(held);
                AwaitedRequest::NextPiece(NextPiece::Output(Ok(made)))
            }
            (None, Some(Err(panic))) => AwaitedRequest::NextPiece(NextPiece::Panicked(panic)),
            (None, Some(Ok(Err(error)))) => AwaitedRequest::NextPiece(NextPiece::Output(Err(error))),
            (None, Some(Ok(Ok(())))) => AwaitedRequest::Over,
            (None, None) => AwaitedRequest::Nothing,
        }
    }

    /// The next request to read, if there is room for it.
    fn next_read(&mut self, size: impl Fn(usize) -> u64) -> Option<ThreadJob<B>> {
        let at = self.next;
        let size = (at < self.count).then(|| size(at))?;
        if !self.has_room_for(at, self.unmade.saturating_add(size)) {
            return None;
        }
        self.next += 1;
        self.reading += 1;
        self.unmade = self.unmade.saturating_add(size);
        Some(ThreadJob::Read(at))
    }

    /// How many requests may be read now.
    fn readable(&self, size: impl Fn(usize) -> u64) -> usize {
        let mut unmade = self.unmade;
        let fits = |at: &usize| {
            unmade = unmade.saturating_add(size(*at));
            self.has_room_for(*at, unmade)
        };
        (self.next..self.count).take_while(fits).count()
    }

    /// Whether a request may be read, where it and all before it leave `unmade` bytes to decode. It must be
    /// within the look-ahead and within the bytes. The request that is waited for may always be read, and so
    /// may any, however large, while few wait.
    fn has_room_for(&self, at: usize, unmade: u64) -> bool {
        let reading = self.reading + (at - self.next);
        let is_near = at - self.asked < self.ahead;
        let fits = unmade <= self.most_unmade && unmade.saturating_add(self.held) <= self.most_bytes;
        let is_few = reading + self.read.len() < FEW_AHEAD;
        reading < self.width.reads && ((is_near && (fits || is_few)) || at == self.taken)
    }
}
