//! Threads that live inside one call.

use crate::error::Result;

/// How many threads are meant.
pub(crate) fn threads(wanted: usize) -> usize {
    match wanted {
        0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        wanted => wanted,
    }
}

/// Runs `job` for each input on a thread of its own; answers in order, or the first error.
pub(crate) fn in_parallel<I: Sync, O: Send>(
    inputs: &[I],
    job: &(impl Fn(&I) -> Result<O> + Sync),
) -> Result<Vec<O>> {
    if let [input] = inputs {
        return Ok(vec![job(input)?]);
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = inputs.iter().map(|input| scope.spawn(move || job(input))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<O>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    })
}
