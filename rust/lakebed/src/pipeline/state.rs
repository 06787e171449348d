//! Where each request of a pipeline is.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Caught, Width};
use crate::error::Result;

/// Requests that are read ahead before anything is taken.
const FIRST_AHEAD: usize = 2;

/// How many times as many are once one more is asked for: slow reads are under way side by side after a second one.
const AHEAD_GROWS: usize = 4;

/// Bytes that are read ahead for each thread that makes rows of them, which takes it a tenth of a second or so: as long
/// as a slow read. More would only take memory.
const READ_AHEAD_EACH: u64 = 8 << 20;

/// Requests that may wait to be made whatever their size: one that was read, and one that is being read meanwhile.
const FEW_AHEAD: usize = 2;

/// What there is for who takes.
pub(super) enum Ready<M> {
    Made(Result<M>),
    Panicked(Box<dyn Any + Send>),
    NotYet,
    End,
}

/// What a thread is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Waits for the storage, and does nothing else.
    Reads,
    /// Makes what was read, and reads where nobody else does.
    Makes,
}

/// What a thread is to do next.
pub(super) enum Job<B> {
    Read(usize),
    Make(usize, B),
}

/// What threads and the one who takes share: `B` is what was read, `M` what it becomes.
pub(super) struct State<B, M> {
    places: Mutex<Places<B, M>>,
    /// There may be more to read.
    room: Condvar,
    /// Something may be made now, or held.
    turn: Condvar,
    /// Something was made.
    made: Condvar,
}

/// What a request has become so far.
struct Pieces<M> {
    /// What was made and is not taken yet, with its bytes.
    waiting: VecDeque<(M, u64)>,
    /// How it ended, once it did.
    end: Option<Caught<()>>,
}

/// What the one who takes finds.
enum Found<M> {
    Ready(Ready<M>),
    /// A request of which there is no more.
    Over,
    Nothing,
}

struct Places<B, M> {
    count: usize,
    width: Width,
    /// The most bytes of `unmade` and `held` together.
    most_bytes: u64,
    /// The most bytes of `unmade`: half of those, the others are left for what is made of them.
    most_unmade: u64,
    /// The next request to read.
    next: usize,
    /// The next one to give.
    taken: usize,
    /// The one that was last asked for: who was given one and does not ask for the next has nothing more read.
    asked: usize,
    /// How many requests from there on may be under way or waiting to be taken.
    ahead: usize,
    /// Threads that make.
    makers: usize,
    /// Threads that only read.
    readers: usize,
    reading: usize,
    /// Bytes of what is being read, or was and waits for its turn to be made.
    unmade: u64,
    /// Bytes of what was made and is not taken yet.
    held: u64,
    /// Read, and waiting for their turn to be made.
    read: BTreeMap<usize, B>,
    making: usize,
    /// Those that are being made, or were.
    made: BTreeMap<usize, Pieces<M>>,
    stopped: bool,
}

impl<M> Default for Pieces<M> {
    fn default() -> Pieces<M> {
        Pieces { waiting: VecDeque::new(), end: None }
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
        };
        State { places: Mutex::new(places), room: Condvar::new(), turn: Condvar::new(), made: Condvar::new() }
    }

    /// Looks ahead as far as it ever does.
    pub(super) fn look_far(&self) {
        let mut places = self.places();
        places.ahead = places.width.most();
    }

    fn places(&self) -> MutexGuard<'_, Places<B, M>> {
        // Nothing that panics runs while it is held.
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many threads of a role have something to do. Those that make do the reading too, unless a storage serves
    /// more reads than that: then others wait for it, no more than there is room to read at once, since the allocator
    /// keeps memory for each thread.
    pub(super) fn threads_wanted(&self, role: Role, size: impl Fn(usize) -> u64) -> usize {
        let places = self.places();
        match role {
            Role::Makes => places.width.threads.min(places.count - places.taken),
            Role::Reads if places.width.reads <= places.width.threads => 0,
            Role::Reads => places.reading + places.readable(size),
        }
    }

    /// Says how many threads make, and how many only read or are about to.
    pub(super) fn has_threads(&self, makers: usize, readers: usize) {
        let mut places = self.places();
        if (places.makers, places.readers) != (makers, readers) {
            (places.makers, places.readers) = (makers, readers);
            self.changed();
        }
    }

    /// What a thread is to do, once there is something; `None` where there is no more.
    pub(super) fn next_job(&self, role: Role, size: impl Fn(usize) -> u64) -> Option<Job<B>> {
        let mut places = self.places();
        loop {
            if places.stopped || places.is_over_for(role) {
                return None;
            }
            let job = match role {
                Role::Reads => places.next_read(&size),
                Role::Makes if places.readers == 0 => {
                    places.next_make(&size).or_else(|| places.next_read(&size))
                }
                Role::Makes => places.next_make(&size),
            };
            if let Some(job) = job {
                if matches!(job, Job::Make(..)) {
                    // It is not ahead any more, and leaves room to read.
                    self.changed();
                }
                return Some(job);
            }
            let changed = if role == Role::Reads { &self.room } else { &self.turn };
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

    /// Hands over why nothing was read, in the place of what it would have become; `size` bytes are free.
    pub(super) fn put_unread(&self, at: usize, failed: Caught<()>, size: u64) {
        let mut places = self.places();
        places.reading -= 1;
        places.unmade = places.unmade.saturating_sub(size);
        self.end(places, at, failed);
    }

    /// Hands over a piece of what a request becomes, which takes `held` bytes, as soon as there is room for it; false
    /// where nobody wants it.
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

    /// Says that a request has become all that it becomes.
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

    /// There may be something to do.
    fn changed(&self) {
        self.room.notify_all();
        self.turn.notify_all();
    }

    /// The next piece, for which nobody waits longer than `patience`.
    pub(super) fn take(&self, patience: Duration) -> Ready<M> {
        let (mut places, mut has_waited) = (self.places(), false);
        loop {
            if places.taken == places.count || places.stopped {
                return Ready::End;
            }
            if places.taken > places.asked {
                places.ahead = places.ahead.saturating_mul(AHEAD_GROWS).min(places.width.most());
                places.asked = places.taken;
                self.changed();
            }
            match places.find() {
                Found::Ready(ready) => {
                    drop(places);
                    self.changed();
                    return ready;
                }
                Found::Over => self.changed(),
                Found::Nothing if has_waited => return Ready::NotYet,
                Found::Nothing => {
                    let waited = self.made.wait_timeout(places, patience);
                    (places, has_waited) = (waited.unwrap_or_else(PoisonError::into_inner).0, true);
                }
            }
        }
    }

    /// The next request, for who does everything alone.
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
}

impl<B, M> Places<B, M> {
    /// Whether nothing is left for threads of a role.
    fn is_over_for(&self, role: Role) -> bool {
        let all_asked = self.next == self.count;
        all_asked && (role == Role::Reads || (self.reading == 0 && self.read.is_empty()))
    }

    /// The first of what was read, if it may be made now: behind the one that is waited for nothing is while much is
    /// made already, which takes several times the bytes that were read.
    fn next_make(&mut self, size: impl Fn(usize) -> u64) -> Option<Job<B>> {
        let at = *self.read.keys().next()?;
        let has_room = at == self.taken || self.held < self.most_bytes / 2;
        if self.making == self.width.threads || !has_room {
            return None;
        }
        let read = self.read.remove(&at)?;
        self.making += 1;
        self.made.entry(at).or_default();
        self.unmade = self.unmade.saturating_sub(size(at));
        Some(Job::Make(at, read))
    }

    /// Whether a piece of what a request becomes may be held: there is room for it, or the one who takes waits for it.
    /// Where all threads make later ones, one of them must go on, to make the one that is waited for.
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

    /// The next piece of the request that is waited for, and what is known of its end.
    fn find(&mut self) -> Found<M> {
        let Some(front) = self.made.get_mut(&self.taken) else { return Found::Nothing };
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
                Found::Ready(Ready::Made(Ok(made)))
            }
            (None, Some(Err(panic))) => Found::Ready(Ready::Panicked(panic)),
            (None, Some(Ok(Err(error)))) => Found::Ready(Ready::Made(Err(error))),
            (None, Some(Ok(Ok(())))) => Found::Over,
            (None, None) => Found::Nothing,
        }
    }

    /// The next request to read, if there is room for it.
    fn next_read(&mut self, size: impl Fn(usize) -> u64) -> Option<Job<B>> {
        let at = self.next;
        let size = (at < self.count).then(|| size(at))?;
        if !self.has_room_for(at, self.unmade.saturating_add(size)) {
            return None;
        }
        self.next += 1;
        self.reading += 1;
        self.unmade = self.unmade.saturating_add(size);
        Some(Job::Read(at))
    }

    /// How many requests there is room to read now.
    fn readable(&self, size: impl Fn(usize) -> u64) -> usize {
        let mut unmade = self.unmade;
        let fits = |at: &usize| {
            unmade = unmade.saturating_add(size(*at));
            self.has_room_for(*at, unmade)
        };
        (self.next..self.count).take_while(fits).count()
    }

    /// Whether a request may be read, with which and all before it `unmade` bytes wait to be made: within the
    /// look-ahead and the bytes, and always where it is the one that is waited for or few wait, however large they are.
    fn has_room_for(&self, at: usize, unmade: u64) -> bool {
        let reading = self.reading + (at - self.next);
        let is_near = at - self.asked < self.ahead;
        let fits = unmade <= self.most_unmade && unmade.saturating_add(self.held) <= self.most_bytes;
        let is_few = reading + self.read.len() < FEW_AHEAD;
        reading < self.width.reads && ((is_near && (fits || is_few)) || at == self.taken)
    }
}
