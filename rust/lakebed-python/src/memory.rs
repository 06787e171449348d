//! What the C library does with memory that was freed.

use std::hint::black_box;
use std::sync::Once;

/// The largest piece whose release glibc takes for a sign: 32 MiB on machines of 64 bits.
#[cfg(target_pointer_width = "64")]
const LARGEST: usize = 32 << 20;
#[cfg(not(target_pointer_width = "64"))]
const LARGEST: usize = 512 << 10;

/// What glibc adds to a piece that it maps by itself, at most.
const OVERHEAD: usize = 64 << 10;

/// Has glibc keep what is freed, up to 64 MiB, for what is asked for next; the first call does it.
///
/// It maps pieces of 128 KiB and more afresh, gives them back when they are freed, and raises that size to that
/// of what was freed (`mallopt(3)`, `M_MMAP_THRESHOLD`). So a process that reads batch after batch would touch
/// fresh pages for each, which costs a third of the time to decode one; and one that has freed a large piece
/// once would not. This frees such a piece, of which no page was touched. Other C libraries do not mind.
pub fn keep_freed() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        let mut piece = Vec::<u8>::new();
        // Where there is no room for it, all stays as it was.
        let _ = piece.try_reserve_exact(LARGEST - OVERHEAD);
        drop(black_box(piece));
    });
}
