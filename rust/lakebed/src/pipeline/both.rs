//! Two chains of small reads that run at the same time.

use crate::storage::Storage;

/// Runs both and returns both results. Where reads wait for a network, the second runs on another thread, if
/// one can be started.
pub(crate) fn both<A, B: Send>(
    storage: &dyn Storage,
    first: impl FnOnce() -> A,
    second: impl Fn() -> B + Sync,
) -> (A, B) {
    if storage.concurrent_reads().is_none_or(|reads| reads < 2) {
        return (first(), second());
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, &second);
        let first = first();
        let second = match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(_) => second(),
        };
        (first, second)
    })
}
