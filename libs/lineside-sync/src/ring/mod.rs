//! A bounded log of shared entries: a full log overwrites its oldest, and each reader has a cursor.
//!
//! [`Ring`] is the log itself, for one thread. [`SharedRing`] puts it, alone or together with related state, behind
//! one short lock, and checks for news without the lock.
//!
//! # Guarantees
//! - *Order*: offsets strictly increase. They need not be consecutive: a log may see only a part of a sequence.
//! - *Delivery*: a reader whose cursor the log covers gets every entry after it, once. A reader that was overtaken
//!   learns so, with the exact number of overwritten entries wherever it can be known.
//! - *Bounds*: entries, bytes and age, by [`RingBounds`]. The entries appended since [`Ring::start_batch`] all stay,
//!   unless they are too old: one large batch does not overtake an attentive reader.
//! - *Cost*: an append is one slot of 16 bytes (24 for unsized items) and no allocation once the ring has grown; it
//!   grows from [`SLOTS_MIN`] slots, and shrinks again. A take is a clone of an `Arc` for each entry, under the lock;
//!   walking the taken entries and dropping overwritten ones happens without it.
//!
//! ```
//! use std::sync::Arc;
//! use lineside_sync::ring::{RingBounds, RingCursor, MissedRingEntries, Ring, SharedRing};
//!
//! let log: SharedRing<Ring<[u8]>> = SharedRing::new(Ring::new(0));
//! let bounds = RingBounds { entries: 2, ..RingBounds::NONE };
//! let mut cursor = RingCursor::cursor_at_offset(0);
//! let mut taken = Vec::new();
//!
//! for word in ["one", "two", "three"] {
//!     log.append_next(Arc::from(word.as_bytes()), bounds);
//! }
//! assert!(log.has_unseen_changes(&cursor));
//! assert_eq!(log.take_entries_after(&mut cursor, usize::MAX, &mut taken), MissedRingEntries::Entries(1));
//! let words: Vec<(u64, &[u8])> = taken.iter().map(|entry| (entry.offset, &*entry.item)).collect();
//! assert_eq!(words, [(2, &b"two"[..]), (3, b"three")]);
//! assert!(!log.has_unseen_changes(&cursor));
//! ```

mod prefetch;
mod freed;
mod plain;
mod shared;

#[cfg(all(test, any(loom, shuttle)))]
mod model;

use std::sync::Arc;
use std::time::Duration;

pub use self::plain::Ring;
pub use self::shared::{HasRing, RingGuard, SharedRing};

/// The slots that a ring starts with, and shrinks back to.
pub const SLOTS_MIN: usize = 4;

/// The properties of an item that a ring needs.
pub trait RingItem {
    /// Returns the item's share of [`RingBounds::bytes`]. Must be equal at every call.
    fn byte_size(&self) -> usize;

    /// Returns the creation time, by the clock of [`RingBounds::since`]. By default an item does not age.
    fn created_at(&self) -> Duration {
        Duration::MAX
    }
}

/// Slices of plain values, which count their own size.
impl<T: Copy> RingItem for [T] {
    fn byte_size(&self) -> usize {
        size_of_val(self)
    }
}

/// Arrays of plain values, which count their own size.
impl<T: Copy, const N: usize> RingItem for [T; N] {
    fn byte_size(&self) -> usize {
        size_of_val(self)
    }
}

/// The bounds of a ring.
#[derive(Clone, Copy, Debug)]
pub struct RingBounds {
    /// The largest number of entries.
    pub entries: usize,
    /// The largest number of bytes, by [`RingItem::byte_size`].
    pub bytes: usize,
    /// Entries created before this time are dropped.
    pub since: Duration,
}

impl RingBounds {
    /// No bounds, as a base for struct update syntax.
    pub const NONE: Self = Self { entries: usize::MAX, bytes: usize::MAX, since: Duration::ZERO };
}

/// One entry of a ring, shared with it.
#[derive(Debug)]
pub struct RingEntry<T: ?Sized> {
    /// The entry's position in the sequence.
    pub offset: u64,
    /// The appended item.
    pub item: Arc<T>,
}

impl<T: ?Sized> Clone for RingEntry<T> {
    fn clone(&self) -> Self {
        Self { offset: self.offset, item: self.item.clone() }
    }
}

/// The position of a reader, which has everything up to an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingCursor {
    offset: u64,
    /// The number of entries that the ring ever had up to the offset; [`UNCOUNTED`] before the first take.
    entry: u64,
    /// The ring's version when this reader had everything; [`UNSEEN`] otherwise.
    version: u64,
}

const UNCOUNTED: u64 = u64::MAX;
const UNSEEN: u64 = u64::MAX;

impl RingCursor {
    /// Creates a cursor for a reader that has everything up to `offset`.
    pub const fn cursor_at_offset(offset: u64) -> Self {
        Self { offset, entry: UNCOUNTED, version: UNSEEN }
    }

    /// Returns the offset up to which the reader has everything.
    pub const fn offset(&self) -> u64 {
        self.offset
    }
}

/// The entries that a reader can no longer get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum MissedRingEntries {
    /// The reader has missed nothing.
    Nothing,
    /// The exact number of entries after the cursor that were overwritten before the reader took them.
    Entries(u64),
    /// The entries after the cursor were replaced as a whole ([`Ring::replace_entries_by_state_at`],
    /// [`Ring::restart_sequence_from`]), or the cursor was created from an offset and the ring does not know how many
    /// entries followed it.
    Uncounted,
}
