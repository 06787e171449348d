//! Long lists of which only some elements are kept.

use serde::de::DeserializeOwned;

use super::ElementFilter;
use super::scanner::{End, Scanner};
use crate::error::{Error, Location, Result};

/// The kept elements of a list of elements with ids.
pub(super) struct Section<S, T> {
    which: ElementFilter,
    make: fn(S) -> Result<T>,
    id: fn(&T) -> i64,
    kept: Vec<T>,
    /// The latest element that may be the current one: its id, its position, and the element.
    last: Option<(i64, u64, S)>,
    /// Whether there were others before it.
    passed: bool,
}

impl<S: DeserializeOwned + Send, T> Section<S, T> {
    /// Nothing yet; `make` converts a stored element.
    pub(super) fn new(which: ElementFilter, make: fn(S) -> Result<T>, id: fn(&T) -> i64) -> Section<S, T> {
        Section { which, make, id, kept: Vec::new(), last: None, passed: false }
    }

    /// Takes the next element of the scanner, if any element is requested.
    pub(super) fn take_any(&mut self, scanner: &mut Scanner<'_>) -> Result<Option<&T>> {
        if self.which != ElementFilter::All {
            return Ok(None);
        }
        self.kept.push(scanner.made(self.make)?);
        Ok(self.kept.last())
    }

    /// Takes the next element of the scanner, which was looked at, if it is requested; the current one is
    /// always kept.
    ///
    /// Writers write the current id before the list, or the current element last: only where neither is the
    /// case, the file must be read again.
    pub(super) fn take(
        &mut self,
        scanner: &mut Scanner<'_>,
        id: i64,
        end: End,
        current: Option<i64>,
    ) -> Result<()> {
        let wanted = match &self.which {
            ElementFilter::All => true,
            ElementFilter::Current => current == Some(id),
            ElementFilter::Ids(ids) => current == Some(id) || ids.contains(&id),
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

    /// Removes what was taken: where the list appears twice, the last one counts.
    pub(super) fn clear(&mut self) {
        self.kept.clear();
        (self.last, self.passed) = (None, false);
    }

    /// Finds the current element; false if it was passed, so that the file must be read again.
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

    /// The number of kept elements.
    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    /// The kept elements.
    pub(super) fn take_kept(&mut self) -> Vec<T> {
        std::mem::take(&mut self.kept)
    }
}
