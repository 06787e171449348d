//! How many threads a call uses.

/// No machine has more processors; each thread takes memory before it has work.
const MOST: usize = 1024;

/// The number of threads for the option `wanted`.
pub(crate) fn threads(wanted: usize) -> usize {
    match wanted {
        0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        wanted => wanted.min(MOST),
    }
}
