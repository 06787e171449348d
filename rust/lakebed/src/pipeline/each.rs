//! Many small reads at a time, and two chains of them.

use std::sync::Arc;

use super::{Pipeline, Sink, Source, Width};
use crate::error::Result;
use crate::separate_thread::SeparateThread;
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
    if storage.concurrent_reads().is_none_or(|reads| reads < 2) {
        return Ok((first()?, second()));
    }
    let thread = SeparateThread::start();
    let second = thread.begin(second);
    let both = (first()?, second.wait(|| storage.interrupted())?);
    thread.end();
    Ok(both)
}
