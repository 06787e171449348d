//! Commits, retried until no other commit was made in between. Each attempt starts from the latest state and
//! writes its files. The file that it publishes last, under the name of the next state, makes the commit; no
//! file of that name may exist yet.
//!
//! # Advice for whoever changes this
//! Between an attempt's first read and its last write anything may happen: nothing that one attempt has read is good for
//! the next. Files of a lost attempt are removed by the names that the attempt gave them, never by a listing. Where the
//! answer to the last write was lost, the file of that name is compared with what was written; what cannot be known is
//! told as that, since whoever repeats a commit that happened makes it twice.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

use arrow_buffer::Buffer;

use super::ExistingFile;
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{Storage, present};

/// The format's part of a commit.
pub(crate) trait Commit {
    /// The state that an attempt starts from.
    type Base;
    /// What is known of the next state before it is published.
    type Next;
    /// The result of the commit.
    type Outcome;

    /// Reads the latest state.
    ///
    /// # Errors
    /// Those of reading.
    fn base(&mut self) -> Result<Self::Base>;

    /// Writes all files of an attempt, except the last one; attempts are numbered from 1.
    ///
    /// # Errors
    /// Changes that do not fit, before anything is written; those of writing.
    fn prepare(&mut self, base: &Self::Base, attempt: u32) -> Result<Preparation<Self::Next, Self::Outcome>>;

    /// The commit has happened: updates hints for readers, which are not part of the commit.
    ///
    /// # Errors
    /// None that undo it.
    fn made(&mut self, base: Self::Base, next: Self::Next) -> Result<Self::Outcome>;

    /// How often it is tried, and which path a conflict names.
    fn retry_limits(&self, base: &Self::Base) -> RetryLimits;
}

/// The outcome of preparing an attempt.
pub(crate) enum Preparation<N, M> {
    /// There is nothing to do.
    Done(M),
    /// The last file.
    Next {
        /// The files that it names.
        written: WrittenFiles,
        path: String,
        bytes: Buffer,
        next: N,
    },
}

/// How often a lost attempt is followed by another.
pub(crate) struct RetryLimits {
    pub(crate) attempts: u32,
    /// The longest wait between two attempts \[ms\].
    pub(crate) longest_wait: u64,
    /// The path that a conflict names.
    pub(crate) path: String,
}

/// Makes a commit.
///
/// # Errors
/// Those of the format; `Conflict` where the last attempt was lost too; `Io` where it is not known whether
/// the commit has happened.
pub(crate) fn commit<C: Commit>(mut work: C) -> Result<C::Outcome> {
    let mut attempt = 0;
    loop {
        let base = work.base()?;
        attempt += 1;
        let (written, path, bytes, next) = match work.prepare(&base, attempt)? {
            Preparation::Done(made) => return Ok(made),
            Preparation::Next { written, path, bytes, next } => (written, path, bytes, next),
        };
        if attempt == 1 {
            written.check_storage()?;
        }
        written.settle()?;
        match publish_next(written.storage.as_ref(), &path, &bytes)? {
            Publication::Output => {
                written.keep();
                return work.made(base, next);
            }
            Publication::Unknown(error) => {
                // The files that the last file names must stay, in case it exists.
                written.keep();
                return Err(error);
            }
            Publication::Lost(_) => drop(written),
        }
        let RetryLimits { attempts, longest_wait, path } = work.retry_limits(&base);
        if attempt >= attempts {
            let message = format!("{attempt} attempts lost to other commits");
            return Err(Error::new(ErrorKind::Conflict, message).in_file(&path).retryable(true));
        }
        wait(attempt, longest_wait);
    }
}

/// The outcome of publishing a file.
pub(super) enum Publication {
    Output,
    /// Another file has its name; the error of the storage, if there was one.
    Lost(Option<Error>),
    /// The storage does not report it; the error is not retryable.
    Unknown(Error),
}

/// Writes a file under a name that must not exist yet.
///
/// The answer of the storage does not decide alone: the file may be written and the answer lost, and a client
/// that retries then gets the error that the name exists. So the existing file is compared with the bytes.
///
/// # Errors
/// `Io`; the file is not there then.
pub(super) fn publish_next(storage: &dyn Storage, path: &str, bytes: &[u8]) -> Result<Publication> {
    let failed = match storage.publish(path, ExistingFile::Refuse, bytes) {
        Ok(true) => return Ok(Publication::Output),
        Ok(false) => None,
        Err(error) => Some(error),
    };
    let there = present(storage.read_range(path, 0, bytes.len() as u64 + 1));
    match (there, failed) {
        (Ok(Some(there)), _) if there.as_slice() == bytes => Ok(Publication::Output),
        // A name that exists but cannot be read, yet or any more, belongs to another writer.
        (Ok(Some(_)), failed) | (Ok(None), failed @ None) => Ok(Publication::Lost(failed)),
        // A server may still execute a request that its client has given up.
        (Ok(None), Some(error)) if !storage.is_local() => Ok(Publication::Unknown(error.retryable(false))),
        (Ok(None), Some(error)) => Err(error),
        (Err(error), _) => Ok(Publication::Unknown(error.retryable(false))),
    }
}

/// Refuses a table whose storage cannot decide which of two writers was first.
///
/// # Errors
/// `Unsupported`, with advice.
pub(crate) fn check_committable(storage: &dyn Storage, location: &str) -> Result<()> {
    if storage.is_committable() {
        return Ok(());
    }
    let message = "commits need a storage that writes a file only if none exists: a local table opened \
        without storage= and relocate=, a store of obstore (storage=\"obstore\"), or a \
        lakebed.storage.PublishingStorage, which has write, remove and publish";
    Err(Error::new(ErrorKind::Unsupported, message).in_file(location))
}

/// Waits a random time that grows with the attempts, so that two writers do not collide again and again.
fn wait(attempt: u32, longest: u64) {
    let most = longest.min(4 << attempt.min(10));
    let millis = RandomState::new().hash_one(attempt).checked_rem(most).unwrap_or_default();
    std::thread::sleep(Duration::from_millis(millis));
}

/// The files that an attempt has written so far. They are deleted unless the commit happens.
pub(crate) struct WrittenFiles {
    storage: Arc<dyn Storage>,
    paths: Vec<String>,
    /// An existing file with its content.
    probe: Option<(String, Vec<u8>)>,
}

impl WrittenFiles {
    /// No files yet.
    pub(crate) fn on(storage: Arc<dyn Storage>) -> WrittenFiles {
        WrittenFiles { storage, paths: Vec::new(), probe: None }
    }

    /// No files, for an attempt whose last file is its only one. `probe` is an existing file with its
    /// content.
    pub(crate) fn probing(storage: Arc<dyn Storage>, probe: (String, Vec<u8>)) -> WrittenFiles {
        WrittenFiles { storage, paths: Vec::new(), probe: Some(probe) }
    }

    /// Records a file.
    pub(crate) fn push(&mut self, path: String) {
        self.paths.push(path);
    }

    /// Writes a whole file and records it.
    ///
    /// # Errors
    /// Those of the storage.
    pub(crate) fn create(&mut self, path: &str, bytes: &[u8]) -> Result<()> {
        self.storage.create_one(path, bytes)?;
        self.push(path.to_owned());
        Ok(())
    }

    /// Makes sure that the files survive a crash of the machine, since the file that names them will.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn settle(&self) -> Result<()> {
        let folder = |path: &str| path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
        let folders: HashMap<_, &String> = self.paths.iter().map(|path| (folder(path), path)).collect();
        folders.values().try_for_each(|path| self.storage.settle(path))
    }

    /// Asks the storage to create one of the files again. A server that ignores the condition would overwrite
    /// the commits of others too. This finds out on a file that nobody reads yet, or with the bytes that the
    /// file has already. Local storages need no such test.
    ///
    /// # Errors
    /// `Unsupported` for such a storage; those of writing.
    fn check_storage(&self) -> Result<()> {
        let probe = self.probe.as_ref().map(|(path, bytes)| (path, bytes.as_slice()));
        let probe = probe.or_else(|| self.paths.first().map(|path| (path, &b""[..])));
        let Some((path, bytes)) = probe.filter(|_| !self.storage.is_local()) else { return Ok(()) };
        if !self.storage.publish(path, ExistingFile::Refuse, bytes)? {
            return Ok(());
        }
        let message = "the storage replaced an existing file (its server ignores the condition of a \
            conditional put): two writers would lose commits";
        Err(Error::new(ErrorKind::Unsupported, message).in_file(path))
    }

    /// Keeps the files, since the commit has happened or may have, and returns their paths.
    pub(crate) fn keep(mut self) -> Vec<String> {
        std::mem::take(&mut self.paths)
    }
}

impl Drop for WrittenFiles {
    fn drop(&mut self) {
        // Files of a commit that did not happen. One that cannot be deleted becomes an orphan, as after a
        // crash.
        for path in &self.paths {
            let _ = self.storage.remove(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::storage::Local;

    /// Publishes consecutive numbers, except those that others publish first.
    struct Counting<'f> {
        folder: &'f str,
        others: u32,
    }

    impl Commit for Counting<'_> {
        type Base = usize;
        type Next = ();
        type Outcome = usize;

        fn base(&mut self) -> Result<usize> {
            Ok((1..).take_while(|number| fs::exists(format!("{}/{number}", self.folder)).unwrap()).count())
        }

        fn prepare(&mut self, base: &usize, attempt: u32) -> Result<Preparation<(), usize>> {
            let (mut written, path) =
                (WrittenFiles::on(Arc::new(Local)), format!("{}/{}", self.folder, base + 1));
            written.create(&format!("{}/own-{base}", self.folder), b"")?;
            if attempt <= self.others {
                Local.create(&path, b"others")?;
            }
            Ok(Preparation::Next { written, path, bytes: Buffer::from(b"own"), next: () })
        }

        fn made(&mut self, base: usize, (): ()) -> Result<usize> {
            Ok(base + 1)
        }

        fn retry_limits(&self, _: &usize) -> RetryLimits {
            RetryLimits { attempts: 3, longest_wait: 1, path: self.folder.to_owned() }
        }
    }

    #[test]
    fn a_lost_attempt_is_repeated_and_leaves_nothing() {
        let folder = std::env::temp_dir().join(format!("lakebed-attempts-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let folder = folder.to_str().unwrap();
        assert_eq!(commit(Counting { folder, others: 2 }).unwrap(), 3);
        assert_eq!(fs::read(format!("{folder}/3")).unwrap(), b"own");
        let error = commit(Counting { folder, others: 3 }).unwrap_err();
        assert_eq!(
            (error.kind(), error.message(), error.is_retryable()),
            (ErrorKind::Conflict, "3 attempts lost to other commits", Some(true))
        );
        let own = fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        assert_eq!(own.filter(|name| name.starts_with("own")).collect::<Vec<_>>(), ["own-2"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_name_that_is_taken_is_lost_though_nothing_can_be_read_there() {
        let path = std::env::temp_dir().join(format!("lakebed-taken-{}", std::process::id()));
        std::os::unix::fs::symlink("/nowhere/at/all", &path).unwrap();
        let published = publish_next(&Local, path.to_str().unwrap(), b"own");
        fs::remove_file(&path).unwrap();
        assert!(matches!(published, Ok(Publication::Lost(_))));
    }

    #[test]
    fn an_existing_file_with_the_same_bytes_was_published() {
        let path = std::env::temp_dir().join(format!("lakebed-stands-{}", std::process::id()));
        let path = path.to_str().unwrap();
        for (there, lost) in [("own", false), ("other", true), ("own and more", true), ("ow", true)] {
            fs::write(path, there).unwrap();
            let published = publish_next(&Local, path, b"own").unwrap();
            assert_eq!(matches!(published, Publication::Lost(_)), lost, "{there}");
        }
        fs::remove_file(path).unwrap();
        assert!(publish_next(&Local, "/nowhere/at/all", b"own").is_err());
    }
}
