//! A commit: tried until no other came in between. Each attempt starts from the latest state, writes its files, and
//! is made by the one file that it publishes last, under the name of the next state, which must not be there yet.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

use super::Existing;
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{Storage, present};

/// What a format commits.
pub(crate) trait Commit {
    /// The state that an attempt starts from.
    type Base;
    /// What the next state is to be told of.
    type Next;
    /// What is known once it is made.
    type Made;

    /// Reads the latest state.
    ///
    /// # Errors
    /// Those of reading.
    fn base(&mut self) -> Result<Self::Base>;

    /// Writes all files of the attempt of that number, from 1, but the last one.
    ///
    /// # Errors
    /// What does not fit is refused before anything is written; those of writing.
    fn prepare(&mut self, base: &Self::Base, attempt: u32) -> Result<Prepared<Self::Next, Self::Made>>;

    /// The commit is made: tells those who look for the latest state first, which is no part of the commit.
    ///
    /// # Errors
    /// None that undo it.
    fn made(&mut self, base: Self::Base, next: Self::Next) -> Result<Self::Made>;

    /// How often it is tried, and where it is said to have been.
    fn patience(&self, base: &Self::Base) -> Patience;
}

/// What came of preparing an attempt.
pub(crate) enum Prepared<N, M> {
    /// Nothing is to be done.
    Done(M),
    /// The last file.
    Next {
        /// The files that it names.
        written: Written,
        path: String,
        bytes: Vec<u8>,
        next: N,
    },
}

/// How often lost attempts are followed by another.
pub(crate) struct Patience {
    pub(crate) attempts: u32,
    /// The longest wait between two \[ms\].
    pub(crate) longest_wait: u64,
    /// The path that a conflict names.
    pub(crate) path: String,
}

/// Makes a commit.
///
/// # Errors
/// Those of the format; `Conflict` where the last attempt was lost too; `Io` where it cannot be told whether the
/// commit has happened.
pub(crate) fn commit<C: Commit>(mut work: C) -> Result<C::Made> {
    let mut attempt = 0;
    loop {
        let base = work.base()?;
        attempt += 1;
        let (written, path, bytes, next) = match work.prepare(&base, attempt)? {
            Prepared::Done(made) => return Ok(made),
            Prepared::Next { written, path, bytes, next } => (written, path, bytes, next),
        };
        if attempt == 1 {
            written.check_storage()?;
        }
        written.settle()?;
        match publish_next(written.storage.as_ref(), &path, &bytes)? {
            Published::Made => {
                written.keep();
                return work.made(base, next);
            }
            Published::Unknown(error) => {
                // What the last file names must stay, in case it is there.
                written.keep();
                return Err(error);
            }
            Published::Lost => drop(written),
        }
        let Patience { attempts, longest_wait, path } = work.patience(&base);
        if attempt >= attempts {
            let message = format!("{attempt} attempts lost to other commits");
            return Err(Error::new(ErrorKind::Conflict, message).in_file(&path));
        }
        wait(attempt, longest_wait);
    }
}

/// What became of a file.
pub(super) enum Published {
    Made,
    /// Another is in its place.
    Lost,
    /// The storage does not say.
    Unknown(Error),
}

/// Puts a file where none is yet.
///
/// What the storage answers is not all: a file may be written and the answer lost, and a client that then asks again is
/// told that the name is taken. So what is there is compared.
///
/// # Errors
/// `Io`; the file is not there then.
pub(super) fn publish_next(storage: &dyn Storage, path: &str, bytes: &[u8]) -> Result<Published> {
    let failed = match storage.publish(path, Existing::Refuse, bytes) {
        Ok(true) => return Ok(Published::Made),
        Ok(false) => None,
        Err(error) => Some(error),
    };
    let there = present(storage.read_range(path, 0, bytes.len() as u64 + 1));
    match (there, failed) {
        (Ok(Some(there)), _) if there.as_slice() == bytes => Ok(Published::Made),
        // A name that is taken and leads nowhere yet, or no longer, is another's.
        (Ok(Some(_)), _) | (Ok(None), None) => Ok(Published::Lost),
        // A server may still do what its client has given up on.
        (Ok(None), Some(error)) if !storage.is_local() => Ok(Published::Unknown(error)),
        (Ok(None), Some(error)) => Err(error),
        (Err(error), _) => Ok(Published::Unknown(error)),
    }
}

/// Refuses a table whose storage cannot tell which of two writers came first.
///
/// # Errors
/// `Unsupported`, with what to do.
pub(crate) fn check_committable(storage: &dyn Storage, location: &str) -> Result<()> {
    if storage.is_committable() {
        return Ok(());
    }
    let message = "commits need a storage that writes a file only where none is: a local table opened without storage= and \
                   relocate=, a store of obstore (storage=\"obstore\"), or a storage that has write, remove and publish";
    Err(Error::new(ErrorKind::Unsupported, message).in_file(location))
}

/// Waits a random time, the longer the more attempts there were, so that two writers do not meet again and again.
fn wait(attempt: u32, longest: u64) {
    let most = longest.min(4 << attempt.min(10));
    let millis = RandomState::new().hash_one(attempt).checked_rem(most).unwrap_or_default();
    std::thread::sleep(Duration::from_millis(millis));
}

/// The files that an attempt has written so far; they go with it unless it is made.
pub(crate) struct Written {
    storage: Arc<dyn Storage>,
    paths: Vec<String>,
    /// A file that is there already, and what is in it.
    probe: Option<(String, Vec<u8>)>,
}

impl Written {
    /// None yet.
    pub(crate) fn on(storage: Arc<dyn Storage>) -> Written {
        Written { storage, paths: Vec::new(), probe: None }
    }

    /// None, of an attempt whose last file is its only one; `probe` is a file that is there, with what is in it.
    pub(crate) fn probing(storage: Arc<dyn Storage>, probe: (String, Vec<u8>)) -> Written {
        Written { storage, paths: Vec::new(), probe: Some(probe) }
    }

    /// Takes note of a file.
    pub(crate) fn push(&mut self, path: String) {
        self.paths.push(path);
    }

    /// Writes a file whole, and takes note of it.
    ///
    /// # Errors
    /// Those of the storage.
    pub(crate) fn create(&mut self, path: &str, bytes: &[u8]) -> Result<()> {
        self.storage.create_one(path, bytes)?;
        self.push(path.to_owned());
        Ok(())
    }

    /// Makes sure that all files outlast the machine: what names them does.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn settle(&self) -> Result<()> {
        let folder = |path: &str| path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
        let folders: HashMap<_, &String> = self.paths.iter().map(|path| (folder(path), path)).collect();
        folders.values().try_for_each(|path| self.storage.settle(path))
    }

    /// Asks the storage to write one of the files again where it is: a server that passes over the condition would
    /// replace the commits of others too, and that is found out on a file that nobody reads yet, or with the bytes that are
    /// there. Local ones are known.
    ///
    /// # Errors
    /// `Unsupported` for such a storage; those of writing.
    fn check_storage(&self) -> Result<()> {
        let probe = self.probe.as_ref().map(|(path, bytes)| (path, bytes.as_slice()));
        let probe = probe.or_else(|| self.paths.first().map(|path| (path, &b""[..])));
        let Some((path, bytes)) = probe.filter(|_| !self.storage.is_local()) else { return Ok(()) };
        if !self.storage.publish(path, Existing::Refuse, bytes)? {
            return Ok(());
        }
        let message = "the storage replaced a file that it was to leave (its server passes over the condition of a \
                       conditional put): two writers would lose commits";
        Err(Error::new(ErrorKind::Unsupported, message).in_file(path))
    }

    /// The files, which stay: the commit has happened, or may have.
    pub(crate) fn keep(mut self) -> Vec<String> {
        std::mem::take(&mut self.paths)
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        // Of a commit that did not happen; one that stays is an orphan, as after a crash.
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

    /// Publishes numbers one after the other, but for those that others publish first.
    struct Counting<'f> {
        folder: &'f str,
        others: u32,
    }

    impl Commit for Counting<'_> {
        type Base = usize;
        type Next = ();
        type Made = usize;

        fn base(&mut self) -> Result<usize> {
            Ok((1..).take_while(|number| fs::exists(format!("{}/{number}", self.folder)).unwrap()).count())
        }

        fn prepare(&mut self, base: &usize, attempt: u32) -> Result<Prepared<(), usize>> {
            let (mut written, path) = (Written::on(Arc::new(Local)), format!("{}/{}", self.folder, base + 1));
            written.create(&format!("{}/own-{base}", self.folder), b"")?;
            if attempt <= self.others {
                Local.create(&path, b"others")?;
            }
            Ok(Prepared::Next { written, path, bytes: b"own".to_vec(), next: () })
        }

        fn made(&mut self, base: usize, (): ()) -> Result<usize> {
            Ok(base + 1)
        }

        fn patience(&self, _: &usize) -> Patience {
            Patience { attempts: 3, longest_wait: 1, path: self.folder.to_owned() }
        }
    }

    #[test]
    fn what_was_lost_is_tried_again_and_leaves_nothing() {
        let folder = std::env::temp_dir().join(format!("lakebed-attempts-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let folder = folder.to_str().unwrap();
        assert_eq!(commit(Counting { folder, others: 2 }).unwrap(), 3);
        assert_eq!(fs::read(format!("{folder}/3")).unwrap(), b"own");
        let error = commit(Counting { folder, others: 3 }).unwrap_err();
        assert_eq!(
            (error.kind(), error.message()),
            (ErrorKind::Conflict, "3 attempts lost to other commits")
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
        assert!(matches!(published, Ok(Published::Lost)));
    }

    #[test]
    fn a_file_that_stands_with_its_bytes_was_published() {
        let path = std::env::temp_dir().join(format!("lakebed-stands-{}", std::process::id()));
        let path = path.to_str().unwrap();
        for (there, lost) in [("own", false), ("other", true), ("own and more", true), ("ow", true)] {
            fs::write(path, there).unwrap();
            let published = publish_next(&Local, path, b"own").unwrap();
            assert_eq!(matches!(published, Published::Lost), lost, "{there}");
        }
        fs::remove_file(path).unwrap();
        assert!(publish_next(&Local, "/nowhere/at/all", b"own").is_err());
    }
}
