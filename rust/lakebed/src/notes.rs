//! Notes on what is unusual, but not an error, in the files that were read.

use std::sync::{Arc, Mutex};

/// How many notes are kept: what is unusual in one file tends to be so in all.
const KEPT: usize = 20;

/// Notes made while rows are read, by any thread; clones share them.
#[derive(Debug, Clone, Default)]
pub struct Notes(Arc<Mutex<(Vec<String>, usize)>>);

impl Notes {
    /// Adds a note.
    pub fn add(&self, note: String) {
        let Ok(mut notes) = self.0.lock() else { return };
        match notes.0.len() < KEPT {
            true => notes.0.push(note),
            false => notes.1 += 1,
        }
    }

    /// Adds a note unless it is there: what is said of a column is said once, not for each of its batches.
    pub fn add_once(&self, note: String) {
        let is_there = self.0.lock().is_ok_and(|notes| notes.0.contains(&note));
        if !is_there {
            self.add(note);
        }
    }

    /// Takes out the notes, with a last line for those that were dropped.
    pub fn take(&self) -> Vec<String> {
        let Ok(mut notes) = self.0.lock() else { return Vec::new() };
        let (mut taken, more) = std::mem::take(&mut *notes);
        if more > 0 {
            taken.push(format!("{more} more like these"));
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::{KEPT, Notes};

    #[test]
    fn notes_are_taken_once_and_bounded() {
        let notes = Notes::default();
        (0..KEPT + 3).for_each(|number| notes.clone().add(number.to_string()));
        let taken = notes.take();
        assert_eq!((taken.len(), taken.last().map(String::as_str)), (KEPT + 1, Some("3 more like these")));
        assert!(notes.take().is_empty());
        (0..3).for_each(|_| notes.add_once("one".to_owned()));
        assert_eq!(notes.take(), ["one"]);
    }
}
