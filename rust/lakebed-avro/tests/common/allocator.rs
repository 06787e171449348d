//! The system's allocator, with a count of the bytes of a thread and failures on request.
#![allow(unsafe_code)] // An allocator cannot be written without unsafe code.
#![allow(dead_code)] // Each test binary uses a part of it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static HELD: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
    /// The size from which on the next allocation fails.
    static FAILS: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Counts an allocation, unless it is the one to fail.
fn grow(bytes: usize) -> bool {
    if bytes >= FAILS.get() {
        FAILS.set(usize::MAX);
        return false;
    }
    HELD.set(HELD.get() + bytes);
    PEAK.set(PEAK.get().max(HELD.get()));
    true
}

/// What another thread allocated may be freed here.
fn shrink(bytes: usize) {
    HELD.set(HELD.get().saturating_sub(bytes));
}

// SAFETY: memory is allocated and freed by the system's allocator, with the layouts that callers give; the contract
// allows to return null at any time.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`, which is that of the system's.
        if grow(layout.size()) { unsafe { System.alloc(layout) } } else { ptr::null_mut() }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        if grow(layout.size()) { unsafe { System.alloc_zeroed(layout) } } else { ptr::null_mut() }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        shrink(layout.size());
        // SAFETY: the pointer is of the system's allocator with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !grow(size) {
            return ptr::null_mut();
        }
        shrink(layout.size());
        // SAFETY: the pointer is of the system's allocator with this layout.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// The bytes that this thread has allocated and not freed.
pub fn held() -> usize {
    HELD.get()
}

/// The result of some work, and the peak of the bytes that it allocates on this thread.
pub fn peak<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    PEAK.set(before);
    let result = work();
    (result, PEAK.get().saturating_sub(before))
}

/// Lets the next allocation of this thread that is at least so large fail.
pub fn fail_at(bytes: usize) {
    FAILS.set(bytes);
}
