//! Prefetch of reference counts.
//!
//! Taking an entry and dropping it both change its count, with an instruction that waits for the memory. In a ring
//! larger than the caches that wait was a quarter of an append's time. Prefetched two entries ahead, the count is in
//! the cache when it is needed.

#![cfg_attr(
    all(target_arch = "x86_64", not(miri)),
    expect(unsafe_code, reason = "the prefetch intrinsic takes a pointer")
)]

use super::RingEntry;

/// The number of entries to prefetch ahead.
pub(super) const AHEAD: usize = 2;

/// Prefetches the entry's reference count, which is stored before the item, without waiting for it.
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(super) fn prefetch_reference_count<T: ?Sized>(entry: &RingEntry<T>) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    let item = std::sync::Arc::as_ptr(&entry.item).cast::<i8>();
    let counts = item.wrapping_sub(2 * size_of::<usize>());
    // SAFETY: a prefetch reads nothing and cannot fault, wherever the pointer points.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(counts) };
}

/// Does nothing on other targets, where the first access waits.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(super) fn prefetch_reference_count<T: ?Sized>(_: &RingEntry<T>) {}
