//! Where each request of a pipeline is.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Caught, Width};
use crate::error::Result;

/// Requests that are read ahead before anything is taken.
const FIRST_AHEAD: usize = 2;

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
    /// Something may be made now.
    turn: Condvar,
    /// Something was made.
    made: Condvar,
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
    made: BTreeMap<usize, (Caught<M>, u64)>,
    stopped: bool,
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

    /// Says how many threads only read, or are about to.
    pub(super) fn has_readers(&self, readers: usize) {
        let mut places = self.places();
        if places.readers != readers {
            places.readers = readers;
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
    pub(super) fn put_unread(&self, at: usize, failed: Caught<M>, size: u64) {
        let mut places = self.places();
        places.reading -= 1;
        places.unmade = places.unmade.saturating_sub(size);
        self.put(places, at, failed, 0);
    }

    /// Hands over what a request became, which takes `held` bytes.
    pub(super) fn put_made(&self, at: usize, made: Caught<M>, held: u64) {
        let mut places = self.places();
        places.making -= 1;
        self.put(places, at, made, held);
    }

    fn put(&self, mut places: MutexGuard<'_, Places<B, M>>, at: usize, made: Caught<M>, held: u64) {
        places.held = places.held.saturating_add(held);
        places.made.insert(at, (made, held));
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

    /// What the next request became, for which nobody waits longer than `patience`.
    pub(super) fn take(&self, patience: Duration) -> Ready<M> {
        let mut places = self.places();
        if places.taken == places.count || places.stopped {
            return Ready::End;
        }
        let taken = places.taken;
        if taken > places.asked {
            places.ahead = places.ahead.saturating_mul(2).min(places.width.most());
            places.asked = taken;
            self.changed();
        }
        if !places.made.contains_key(&taken) {
            places = self.made.wait_timeout(places, patience).unwrap_or_else(PoisonError::into_inner).0;
        }
        let Some((made, held)) = places.made.remove(&taken) else { return Ready::NotYet };
        places.taken += 1;
        places.held = places.held.saturating_sub(held);
        drop(places);
        self.changed();
        match made {
            Ok(made) => Ready::Made(made),
            Err(panic) => Ready::Panicked(panic),
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

    /// The first of what was read, if it may be made now: after the one that is waited for nothing is while much is
    /// made already, which takes several times the bytes that were read.
    fn next_make(&mut self, size: impl Fn(usize) -> u64) -> Option<Job<B>> {
        let at = *self.read.keys().next()?;
        let has_room = at == self.taken || self.held < self.most_bytes / 2;
        if self.making == self.width.threads || !has_room {
            return None;
        }
        let read = self.read.remove(&at)?;
        self.making += 1;
        self.unmade = self.unmade.saturating_sub(size(at));
        Some(Job::Make(at, read))
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
