//! Threads that live inside one call.

use std::thread::ScopedJoinHandle;

use crate::error::Result;

/// How many threads are meant.
pub(crate) fn threads(wanted: usize) -> usize {
    match wanted {
        0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        wanted => wanted,
    }
}

/// Runs `job` for each input on a thread of its own, or on this one where the machine gives no more; answers in
/// order, or the first error.
pub(crate) fn in_parallel<I: Sync, O: Send>(
    inputs: &[I],
    job: &(impl Fn(&I) -> Result<O> + Sync),
) -> Result<Vec<O>> {
    if let [input] = inputs {
        return Ok(vec![job(input)?]);
    }
    std::thread::scope(|scope| {
        let spawn = |input| std::thread::Builder::new().spawn_scoped(scope, move || job(input));
        let threads: Vec<_> = inputs.iter().map(|input| (input, spawn(input).ok())).collect();
        let join = |(input, thread): (&I, Option<ScopedJoinHandle<'_, Result<O>>>)| match thread {
            Some(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => job(input),
        };
        threads.into_iter().map(join).collect()
    })
}
