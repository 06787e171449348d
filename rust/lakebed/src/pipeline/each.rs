//! Many small reads at a time, and two chains of them.

use std::sync::Arc;

use super::{Pipeline, Sink, Source, Width};
use crate::error::Result;
use crate::separate_thread::{PendingResult, SeparateThread};
use crate::storage::Storage;

/// The result of `read` for each of `requests`, in their order, or the first error in that order. It is meant
/// for small files, where reading is all the work.
///
/// # Errors
/// Those of `read`.
pub(crate) fn read_each<R, T, F>(
    storage: &Arc<dyn Storage>,
    requests: Vec<R>,
    threads: usize,
    read: F,
) -> Result<Vec<T>>
where
    R: Send + Sync + 'static,
    T: Send + 'static,
    F: Fn(&dyn Storage, &R) -> Result<T> + Send + Sync + 'static,
{
    each(storage, requests, threads, read).at_once().collect()
}

/// Like [`read_each`], but lazy, for a consumer that may stop early: it reads only a little ahead.
pub(crate) fn each<R, T, F>(
    storage: &Arc<dyn Storage>,
    requests: Vec<R>,
    threads: usize,
    read: F,
) -> Pipeline<Each<F, R, T>>
where
    R: Send + Sync + 'static,
    T: Send + 'static,
    F: Fn(&dyn Storage, &R) -> Result<T> + Send + Sync + 'static,
{
    let width = if requests.len() > 1 { Width::new(storage.as_ref(), threads) } else { Width::ONE };
    let source = Each { storage: Arc::clone(storage), read, kind: std::marker::PhantomData };
    Pipeline::new(source, requests, width)
}

/// What `read` returned for each request.
pub(crate) struct Each<F, R, T> {
    storage: Arc<dyn Storage>,
    read: F,
    kind: std::marker::PhantomData<fn(R) -> T>,
}

impl<F, R, T> Source for Each<F, R, T>
where
    R: Send + Sync + 'static,
    T: Send + 'static,
    F: Fn(&dyn Storage, &R) -> Result<T> + Send + Sync + 'static,
{
    type Request = R;
    type Bytes = T;
    type Output = T;

    fn read(&self, request: &R) -> Result<T> {
        (self.read)(self.storage.as_ref(), request)
    }

    fn make(&self, _request: &R, read: T, give: Sink<'_, T>) -> Result<()> {
        give(read);
        Ok(())
    }

    fn interrupted(&self) -> Result<()> {
        self.storage.interrupted()
    }
}

/// Runs both. Where reads wait for a network, the second runs on another thread, if one can be started; after
/// an error of the first nothing waits for it.
///
/// # Errors
/// Those of the first; the interruption of who waits for the second.
pub(crate) fn both<A, B: Send + 'static>(
    storage: &dyn Storage,
    first: impl FnOnce() -> Result<A>,
    second: impl FnOnce() -> B + Send + 'static,
) -> Result<(A, B)> {
    let second = Ahead::begin(storage, 1, second);
    Ok((first()?, second.result(storage)?))
}

/// Work that begins at once on another thread where reads wait for a network, and else when its result is asked for.
pub(crate) struct Ahead<T>(Begun<T>);

enum Begun<T> {
    There(SeparateThread, PendingResult<T>),
    NotYet(Box<dyn FnOnce() -> T + Send>),
}

impl<T: Send + 'static> Ahead<T> {
    /// Begins `work`, which makes one request at a time, unless the storage serves no more than `others` at once, which
    /// are made meanwhile.
    pub(crate) fn begin(
        storage: &dyn Storage,
        others: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Ahead<T> {
        if storage.concurrent_reads().is_none_or(|reads| reads <= others) {
            return Ahead(Begun::NotYet(Box::new(work)));
        }
        let thread = SeparateThread::start();
        let pending = thread.begin(work);
        Ahead(Begun::There(thread, pending))
    }

    /// What need not be waited for.
    pub(crate) fn known(result: T) -> Ahead<T> {
        Ahead(Begun::NotYet(Box::new(|| result)))
    }

    /// Its result. Who drops it instead does not wait for the thread.
    ///
    /// # Errors
    /// The interruption of who waits.
    pub(crate) fn result(self, storage: &dyn Storage) -> Result<T> {
        match self.0 {
            Begun::NotYet(work) => Ok(work()),
            Begun::There(thread, pending) => {
                let result = pending.wait(|| storage.interrupted())?;
                thread.end();
                Ok(result)
            }
        }
    }

    /// Waits for what has begun, and begins nothing: the result is not needed.
    ///
    /// # Errors
    /// The interruption of who waits.
    pub(crate) fn end(self, storage: &dyn Storage) -> Result<()> {
        match self.0 {
            Begun::NotYet(_) => Ok(()),
            begun => Ahead(begun).result(storage).map(drop),
        }
    }
}
