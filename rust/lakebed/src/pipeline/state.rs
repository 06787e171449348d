//! Where each request of a pipeline is.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Caught, Width};
use crate::error::Result;

/// Requests that are read ahead before anything is taken.
const FIRST_AHEAD: usize = 2;

/// What there is for who takes.
pub(super) enum Ready<M> {
    Made(Result<M>),
    Panicked(Box<dyn Any + Send>),
    NotYet,
    End,
}

/// What threads and the one who takes share.
pub(super) struct State<M> {
    places: Mutex<Places<M>>,
    /// There may be more to read.
    room: Condvar,
    /// Something may be made now.
    turn: Condvar,
    /// Something was made.
    made: Condvar,
}

struct Places<M> {
    count: usize,
    width: Width,
    most_bytes: u64,
    /// The next request to read.
    next: usize,
    /// The next one to give.
    taken: usize,
    /// The one that was last asked for: who was given one and does not ask for the next has nothing more read.
    asked: usize,
    /// How many requests from there on may be under way or waiting to be taken.
    ahead: usize,
    reading: usize,
    /// Bytes of what is being read, or was and is not made yet.
    unmade: u64,
    /// Bytes of what was made and is not taken yet.
    held: u64,
    /// Read, and waiting for their turn to be made.
    waiting: BTreeSet<usize>,
    making: usize,
    made: BTreeMap<usize, (Caught<M>, u64)>,
    stopped: bool,
}

impl<M> State<M> {
    pub(super) fn new(count: usize, width: Width, most_bytes: u64) -> State<M> {
        let ahead = FIRST_AHEAD.max(width.threads).min(width.most());
        let (waiting, made) = (BTreeSet::new(), BTreeMap::new());
        let places = Places {
            count,
            width,
            most_bytes,
            next: 0,
            taken: 0,
            asked: 0,
            reading: 0,
            ahead,
            unmade: 0,
            held: 0,
            waiting,
            making: 0,
            made,
            stopped: false,
        };
        State { places: Mutex::new(places), room: Condvar::new(), turn: Condvar::new(), made: Condvar::new() }
    }

    /// Looks ahead as far as it ever does.
    pub(super) fn look_far(&self) {
        let mut places = self.places();
        places.ahead = places.width.most();
    }

    fn places(&self) -> MutexGuard<'_, Places<M>> {
        // Nothing that panics runs while it is held.
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many threads have something to do.
    pub(super) fn threads_wanted(&self) -> usize {
        let places = self.places();
        places.ahead.min(places.count - places.taken)
    }

    /// The request that a thread is to read, once there is room for it; `None` where there is no more.
    pub(super) fn next_read(&self, size: impl Fn(usize) -> u64) -> Option<usize> {
        let mut places = self.places();
        loop {
            if places.stopped || places.next == places.count {
                return None;
            }
            let (at, size) = (places.next, size(places.next));
            if places.has_room_for(size) {
                places.next += 1;
                places.reading += 1;
                places.unmade = places.unmade.saturating_add(size);
                return Some(at);
            }
            places = self.room.wait(places).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn end_reading(&self) {
        self.places().reading -= 1;
        self.room.notify_all();
    }

    /// Waits for the turn of a request that was read: the first ones go first, and those behind the one that is waited
    /// for not while much is made already, which takes several times the bytes that were read. False where nobody wants
    /// it any more.
    pub(super) fn begin_making(&self, at: usize) -> bool {
        let mut places = self.places();
        places.waiting.insert(at);
        loop {
            if places.stopped {
                return false;
            }
            if places.may_make(at) {
                places.waiting.remove(&at);
                places.making += 1;
                // Another may have its turn too.
                self.turn.notify_all();
                return true;
            }
            places = self.turn.wait(places).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn end_making(&self) {
        self.places().making -= 1;
        self.turn.notify_all();
    }

    /// Hands over what a request became: `read` bytes are free, `held` ones are not.
    pub(super) fn put(&self, at: usize, made: Caught<M>, read: u64, held: u64) {
        let mut places = self.places();
        places.unmade = places.unmade.saturating_sub(read);
        places.held = places.held.saturating_add(held);
        places.made.insert(at, (made, held));
        if at == places.taken {
            self.made.notify_all();
        }
        self.room.notify_all();
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
            self.room.notify_all();
        }
        if !places.made.contains_key(&taken) {
            places = self.made.wait_timeout(places, patience).unwrap_or_else(PoisonError::into_inner).0;
        }
        let Some((made, held)) = places.made.remove(&taken) else { return Ready::NotYet };
        places.taken += 1;
        places.held = places.held.saturating_sub(held);
        drop(places);
        self.room.notify_all();
        self.turn.notify_all();
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
        self.room.notify_all();
        self.turn.notify_all();
    }
}

impl<M> Places<M> {
    /// Whether a request that was read may be made now.
    fn may_make(&self, at: usize) -> bool {
        let is_first = self.waiting.first() == Some(&at);
        let has_room = at == self.taken || self.held < self.most_bytes / 2;
        self.making < self.width.threads && is_first && has_room
    }

    /// Whether a request of so many bytes may be read now: within the look-ahead and the bytes, and always where it is
    /// the one that is waited for. Half of the bytes are left for what is made of them.
    fn has_room_for(&self, size: u64) -> bool {
        let is_near = self.next - self.asked < self.ahead;
        let unmade = self.unmade.saturating_add(size);
        let fits =
            is_near && unmade <= self.most_bytes / 2 && unmade.saturating_add(self.held) <= self.most_bytes;
        self.reading < self.width.reads && (fits || self.next == self.taken)
    }
}
