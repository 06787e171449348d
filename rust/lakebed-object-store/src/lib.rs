#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
// A panic that input can reach is a bug: code is written so that nothing needs to be unwrapped.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use arrow_buffer::Buffer;
use lakebed::location::{family, without_credentials, without_secrets};
use lakebed::storage::{Contents, FileDetails, Folders, ListedFile, Storage, present};
use lakebed::write::ExistingFile;
use lakebed::{Error, ErrorKind, Result};
use object_store::path::Path;
use object_store::{
    Error as StoreError, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode,
    Result as StoreResult,
};
use tokio::runtime::{Builder, Handle, RuntimeFlavor};
use tokio::sync::oneshot;
use tokio::task::block_in_place;

/// How many reads are asked for at once: they wait for a network. `AtOnce` sets another number.
const CONCURRENT_READS: usize = 64;

/// A store of the crate `object_store` as a [`Storage`] of tables.
///
/// Each call is a request, or several where a listing has pages, which a runtime makes while the thread that
/// calls waits; many threads may call at once. Requests are tried again as the store's own `RetryConfig` says.
/// Errors name the path and have the store's words without secrets; they have no cause, which might show some.
pub struct ObjectStorage {
    store: Arc<dyn ObjectStore>,
    root: String,
    secrets: Vec<String>,
    runtime: Handle,
    /// Ends the thread of its own runtime when it is dropped.
    _own: Option<oneshot::Sender<()>>,
}

impl ObjectStorage {
    /// The storage of `store`, whose empty path is the URI `root`, such as `s3://bucket`. Starts a thread, which
    /// ends with the storage, for a runtime of its own.
    ///
    /// # Errors
    /// `Io` where the system gives no thread.
    pub fn new(store: Arc<dyn ObjectStore>, root: &str) -> Result<ObjectStorage> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (own, ended) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name("lakebed-object-store".to_owned());
        // It waits for a sender that sends nothing.
        thread.spawn(move || drop(runtime.block_on(ended)))?;
        Ok(ObjectStorage::with(handle, Some(own), store, root))
    }

    /// The same on a runtime of the caller's, whose timers and sockets are enabled.
    ///
    /// # Errors
    /// `Unsupported` for a runtime of one thread: a call on that thread would wait for itself.
    pub fn on(runtime: Handle, store: Arc<dyn ObjectStore>, root: &str) -> Result<ObjectStorage> {
        if runtime.runtime_flavor() == RuntimeFlavor::CurrentThread {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "the runtime has no threads that could do requests",
            ));
        }
        Ok(ObjectStorage::with(runtime, None, store, root))
    }

    fn with(
        runtime: Handle,
        own: Option<oneshot::Sender<()>>,
        store: Arc<dyn ObjectStore>,
        root: &str,
    ) -> ObjectStorage {
        let root = root.trim_end_matches('/').to_owned();
        ObjectStorage { store, root, secrets: Vec::new(), runtime, _own: own }
    }

    /// The same with secrets of the store that no message may have. Those that are written in one of the usual
    /// forms, and answers of servers in their own words, are left out anyway.
    #[must_use]
    pub fn with_secrets(mut self, secrets: impl IntoIterator<Item = String>) -> ObjectStorage {
        self.secrets.extend(secrets);
        self
    }

    /// What the store calls a path.
    ///
    /// # Errors
    /// `Unsupported` for a path that is not below the root; `Location` for one that no object can have.
    fn key(&self, path: &str) -> Result<Path> {
        let ((own, root), (other, rest)) = (parts(&self.root), parts(path));
        let below = rest
            .strip_prefix(root)
            .filter(|key| own == other && (root.is_empty() || key.is_empty() || key.starts_with('/')));
        let Some(key) = below else {
            let message = format!("not in the store of {:?}", without_credentials(&self.root));
            return Err(Error::new(ErrorKind::Unsupported, message).in_file(path));
        };
        Path::parse(key).map_err(|error| self.failed(&error.into(), path))
    }

    /// The answer of the store, for which this thread waits.
    fn ask<T, F>(&self, path: &str, ask: impl FnOnce(Arc<dyn ObjectStore>, Path) -> F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = StoreResult<T>> + Send + 'static,
    {
        let (asked, (sender, answer)) = (ask(Arc::clone(&self.store), self.key(path)?), sync_channel(1));
        self.runtime.spawn(async move { sender.send(asked.await) });
        // A worker of a runtime gives its other tasks, which may be this one, to another thread.
        let is_worker =
            Handle::try_current().is_ok_and(|own| own.runtime_flavor() == RuntimeFlavor::MultiThread);
        let answer = if is_worker { block_in_place(|| answer.recv()) } else { answer.recv() };
        let ended = |_| Error::new(ErrorKind::Io, "the runtime has ended, or the store has panicked");
        answer.map_err(|error| ended(error).in_file(path))?.map_err(|error| self.failed(&error, path))
    }

    fn failed(&self, error: &StoreError, path: &str) -> Error {
        let kind = match error {
            StoreError::NotFound { .. } => ErrorKind::Missing,
            StoreError::InvalidPath { .. } => ErrorKind::Location,
            StoreError::NotSupported { .. } | StoreError::NotImplemented { .. } => ErrorKind::Unsupported,
            StoreError::AlreadyExists { .. } | StoreError::Precondition { .. } => ErrorKind::Conflict,
            _ => ErrorKind::Io,
        };
        let message = match kind {
            ErrorKind::Missing => "no such file".to_owned(),
            _ => without_secrets(&error.to_string(), &self.secrets),
        };
        Error::new(kind, message).in_file(path)
    }

    fn head(&self, path: &str) -> Result<ObjectMeta> {
        self.ask(path, |store, key| async move { store.head(&key).await })
    }
}

impl Storage for ObjectStorage {
    fn read(&self, path: &str) -> Result<Buffer> {
        self.read_range(path, 0, u64::MAX)
    }

    fn read_range(&self, path: &str, start: u64, length: u64) -> Result<Buffer> {
        if length == 0 {
            return Ok(Vec::<u8>::new().into());
        }
        let range = match start.checked_add(length) {
            Some(end) if end < u64::MAX => Some(GetRange::Bounded(start..end)),
            _ => (start > 0).then_some(GetRange::Offset(start)),
        };
        let read = self.ask(path, |store, key| async move {
            let options = GetOptions { range, ..GetOptions::default() };
            store.get_opts(&key, options).await?.bytes().await
        });
        // Stores have no range that begins where an object ends, and no kind of error for it.
        let is_of_range = |error: &Error| error.message().to_lowercase().contains("range");
        match read {
            Err(error) if is_of_range(&error) && self.head(path)?.size <= start => {
                Ok(Vec::<u8>::new().into())
            }
            read => read.map(Buffer::from),
        }
    }

    fn list(&self, folder: &str) -> Result<Vec<String>> {
        let found = self.contents(folder)?.unwrap_or_default();
        Ok(found.files.into_iter().map(|file| file.name).chain(found.folders.names).collect())
    }

    fn folders(&self, folder: &str) -> Result<Option<Folders>> {
        Ok(self.contents(folder)?.map(|found| found.folders))
    }

    fn contents(&self, folder: &str) -> Result<Option<Contents>> {
        let own = self.key(folder)?;
        let listed =
            self.ask(folder, |store, key| async move { store.list_with_delimiter(Some(&key)).await });
        let Some(found) = present(listed)? else { return Ok(None) };
        // An object may be the folder itself.
        let objects = found.objects.iter().filter(|object| object.location != own);
        let files = objects.map(|object| {
            let details = FileDetails { size: Some(object.size), modified: Some(modified(object)) };
            ListedFile { name: name(&object.location), details: Some(details) }
        });
        let names = found.common_prefixes.iter().filter(|path| **path != own).map(name).collect();
        let folders = Folders { names, closed: Vec::new() };
        let contents = Contents { files: files.collect(), folders };
        // Stores have no folders without objects, but for that of all.
        Ok((own == Path::ROOT || contents != Contents::default()).then_some(contents))
    }

    fn concurrent_reads(&self) -> Option<usize> {
        Some(CONCURRENT_READS)
    }

    fn modified(&self, path: &str) -> Result<Option<i64>> {
        Ok(present(self.head(path))?.as_ref().map(modified))
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn create(&self, path: &str, bytes: &[u8]) -> Result<()> {
        self.publish(path, ExistingFile::Replace, bytes).map(drop)
    }

    fn is_committable(&self) -> bool {
        true
    }

    fn publish(&self, path: &str, existing: ExistingFile, bytes: &[u8]) -> Result<bool> {
        let mode = if existing == ExistingFile::Refuse { PutMode::Create } else { PutMode::Overwrite };
        let bytes = bytes.to_vec();
        let put = |store: Arc<dyn ObjectStore>, key| async move {
            store.put_opts(&key, bytes.into(), mode.into()).await
        };
        match self.ask(path, put) {
            Err(error) if error.kind() == ErrorKind::Conflict => Ok(false),
            put => put.map(|_| true),
        }
    }

    fn remove(&self, path: &str) -> Result<()> {
        self.ask(path, |store, key| async move { store.delete(&key).await })
    }
}

/// The storage that a URI's scheme means, and what follows it: schemes of one storage are one.
fn parts(uri: &str) -> (String, &str) {
    let (scheme, rest) = uri.split_once("://").unwrap_or(("", uri));
    (family(scheme), rest)
}

fn name(path: &Path) -> String {
    path.filename().unwrap_or_default().to_owned()
}

/// When an object was modified, in milliseconds since 1970 UTC.
fn modified(object: &ObjectMeta) -> i64 {
    object.last_modified.timestamp_millis()
}
