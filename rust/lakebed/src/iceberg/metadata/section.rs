//! Long lists, of whose elements some are kept.

use serde::de::DeserializeOwned;

use super::Which;
use super::scanner::{End, Scanner};
use crate::error::{Error, Location, Result};

/// The elements that are kept of a list of things with ids.
pub(super) struct Section<S, T> {
    which: Which,
    make: fn(S) -> Result<T>,
    id: fn(&T) -> i64,
    kept: Vec<T>,
    /// The latest element that may turn out to be the current one: its id, where it stands, and itself.
    last: Option<(i64, u64, S)>,
    /// Whether there were others before it.
    passed: bool,
}

impl<S: DeserializeOwned, T> Section<S, T> {
    /// Nothing yet; `make` reads an element as stored.
    pub(super) fn new(which: Which, make: fn(S) -> Result<T>, id: fn(&T) -> i64) -> Section<S, T> {
        Section { which, make, id, kept: Vec::new(), last: None, passed: false }
    }

    /// Takes the element that the scanner stands before, if any one is wanted.
    pub(super) fn take_any(&mut self, scanner: &mut Scanner<'_>) -> Result<Option<&T>> {
        if self.which != Which::All {
            return Ok(None);
        }
        self.kept.push(scanner.made(self.make)?);
        Ok(self.kept.last())
    }

    /// Takes the element that the scanner stands before and looked at, if it is wanted; the current one is always kept.
    ///
    /// Writers put the current one's id before the list, or the current one last in it: only where neither
    /// is so, it is not found at once.
    pub(super) fn take(
        &mut self,
        scanner: &mut Scanner<'_>,
        id: i64,
        end: End,
        current: Option<i64>,
    ) -> Result<()> {
        let wanted = match &self.which {
            Which::All => true,
            Which::Current => current == Some(id),
            Which::Ids(ids) => current == Some(id) || ids.contains(&id),
        };
        if wanted {
            self.kept.push(scanner.made(self.make)?);
        } else if current.is_none() {
            self.passed |= self.last.is_some();
            self.last = Some((id, scanner.offset(), scanner.value()?));
        } else {
            scanner.pass(end);
        }
        Ok(())
    }

    /// Forgets what was taken: the list appears twice, and the last one counts.
    pub(super) fn clear(&mut self) {
        self.kept.clear();
        (self.last, self.passed) = (None, false);
    }

    /// Makes sure of the current element; false if it has been passed, and only reading again can find it.
    pub(super) fn settle(&mut self, current: Option<i64>) -> Result<bool> {
        let Some(current) = current else { return Ok(true) };
        if self.kept.iter().any(|kept| (self.id)(kept) == current) {
            return Ok(true);
        }
        match self.last.take() {
            Some((id, offset, stored)) if id == current => {
                let place = Location { offset: Some(offset), ..Location::default() };
                self.kept.push((self.make)(stored).map_err(|error: Error| error.at(place))?);
                Ok(true)
            }
            _ => Ok(!self.passed),
        }
    }

    /// How many are kept.
    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    /// What was kept.
    pub(super) fn take_kept(&mut self) -> Vec<T> {
        std::mem::take(&mut self.kept)
    }
}
