//! Two chains of small reads that run at the same time.

use crate::error::Result;
use crate::separate_thread::SeparateThread;
use crate::storage::Storage;

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
