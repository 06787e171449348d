//! Folders listed level by level, those of one level in parallel.

use std::sync::Arc;

use super::each;
use crate::error::Result;
use crate::scan::threads;
use crate::storage::Storage;

/// How many folders are listed between two checks for an interruption.
const PATIENCE: usize = 64;

/// How a folder is listed. Called from several threads at once.
pub(crate) trait FolderListing: Send + Sync + 'static {
    /// What is found in a folder.
    type Output: Send + 'static;

    /// What is found in a folder, and the full paths of the subfolders to list next.
    ///
    /// # Errors
    /// Those of listing it.
    fn look(&self, folder: &str) -> Result<(Option<Self::Output>, Vec<String>)>;
}

type Level<T> = Box<dyn Iterator<Item = Result<(Option<T>, Vec<String>)>> + Send>;

/// What is found in folders and in their subfolders, level by level, in the order of their paths.
pub(crate) struct Levels<L: FolderListing> {
    look: Arc<L>,
    storage: Arc<dyn Storage>,
    /// Whether the consumer takes everything.
    to_the_end: bool,
    level: Level<L::Output>,
    /// The folders of the next level.
    below: Vec<String>,
    looked: usize,
}

impl<L: FolderListing> Levels<L> {
    pub(crate) fn new(
        look: L,
        storage: Arc<dyn Storage>,
        folders: Vec<String>,
        to_the_end: bool,
    ) -> Levels<L> {
        let level: Level<L::Output> = Box::new(std::iter::empty());
        Levels { look: Arc::new(look), storage, to_the_end, level, below: folders, looked: 0 }
    }

    fn start_level(&mut self) {
        let mut folders = std::mem::take(&mut self.below);
        folders.sort_unstable();
        let look = Arc::clone(&self.look);
        let look =
            move |_: &dyn Storage, folder: &String| look.look(folder).map_err(|error| error.in_file(folder));
        let level = each(&self.storage, folders, threads(0), look);
        self.level = Box::new(if self.to_the_end { level.at_once() } else { level });
    }

    fn advance(&mut self) -> Result<Option<L::Output>> {
        loop {
            match self.level.next().transpose()? {
                Some((found, folders)) => {
                    self.below.extend(folders);
                    self.looked += 1;
                    if self.looked.is_multiple_of(PATIENCE) {
                        self.storage.interrupted()?;
                    }
                    if found.is_some() {
                        return Ok(found);
                    }
                }
                None if self.below.is_empty() => return Ok(None),
                None => self.start_level(),
            }
        }
    }
}

impl<L: FolderListing> Iterator for Levels<L> {
    type Item = Result<L::Output>;

    fn next(&mut self) -> Option<Result<L::Output>> {
        let next = self.advance();
        if next.is_err() {
            (self.level, self.below) = (Box::new(std::iter::empty()), Vec::new());
        }
        next.transpose()
    }
}
