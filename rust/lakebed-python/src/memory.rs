//! How the C library treats freed memory.

use std::hint::black_box;
use std::sync::Once;

/// The largest allocation whose release changes glibc's threshold: 32 MiB on 64-bit machines.
#[cfg(target_pointer_width = "64")]
const LARGEST: usize = 32 << 20;
#[cfg(not(target_pointer_width = "64"))]
const LARGEST: usize = 512 << 10;

/// The most bytes that glibc adds to an allocation that it maps separately.
const OVERHEAD: usize = 64 << 10;

/// Makes glibc keep freed memory, up to 64 MiB, for later allocations; the first call does it.
///
/// glibc maps allocations of 128 KiB and more separately, unmaps them when they are freed, and then raises
/// that threshold to their size (`mallopt(3)`, `M_MMAP_THRESHOLD`). So a process that reads batch after batch
/// would touch new pages for each, which costs a third of the time to decode one, until it has freed a large
/// allocation once. This frees such an allocation, of which no page was touched. It has no effect on other C
/// libraries.
pub fn keep_freed() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        let mut piece = Vec::<u8>::new();
        // If there is no memory for it, nothing changes.
        let _ = piece.try_reserve_exact(LARGEST - OVERHEAD);
        drop(black_box(piece));
    });
}
