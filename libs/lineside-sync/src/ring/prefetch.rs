//! Reference counts, asked for before they are needed.
//!
//! Taking an entry and dropping it both change its count, with an instruction that waits for the memory. In a
//! ring that is larger than the caches that wait was a quarter of an append's time; asked for two entries
//! ahead, the count is there when it is its turn.

#![cfg_attr(
    all(target_arch = "x86_64", not(miri)),
    expect(unsafe_code, reason = "a prefetch is an intrinsic, and takes a pointer")
)]

use super::RingEntry;

/// How many entries ahead.
pub(super) const AHEAD: usize = 2;

/// Asks for the entry's reference count, without waiting for it. It stands before the item.
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(super) fn prefetch_entry<T: ?Sized>(entry: &RingEntry<T>) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    let item = std::sync::Arc::as_ptr(&entry.item).cast::<i8>();
    let counts = item.wrapping_sub(2 * size_of::<usize>());
    // SAFETY: a prefetch reads nothing and cannot fault, wherever the pointer points.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(counts) };
}

/// Elsewhere the first who needs it waits.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(super) fn prefetch_entry<T: ?Sized>(_: &RingEntry<T>) {}
