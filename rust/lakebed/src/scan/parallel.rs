//! How many threads a call uses.

/// The number of threads for the option `wanted`.
pub(crate) fn threads(wanted: usize) -> usize {
    match wanted {
        0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        wanted => wanted,
    }
}
