//! A bounded log of shared entries: the oldest is overwritten, readers stand in it by cursor.
//!
//! [`Ring`] is the log itself, for one thread. [`SharedRing`] puts it, alone or with what else belongs under
//! the same lock, behind one short lock, and answers "is there anything new?" without it.
//!
//! # Guarantees
//! - *Order*: offsets rise strictly. They need not be consecutive: a log may see only some of a sequence.
//! - *Delivery*: a reader whose cursor the log covers is given every entry after it, once. One that was
//!   overtaken is told so, with the exact number of entries overwritten wherever that can be known.
//! - *Bounds*: entries, bytes and age, by [`RingBounds`]. What was appended since [`Ring::start_batch`] is kept
//!   whole, unless it is too old: one large batch leaves no attentive reader behind.
//! - *Cost*: an append is one slot of 16 bytes (24 for unsized items) and no allocation once the ring has grown; it grows
//!   from [`SLOTS_MIN`] slots, and back. Taking is a clone of an `Arc` for each entry, under the lock;
//!   walking what was taken, and dropping what was overwritten, is done without it.
//!
//! ```
//! use std::sync::Arc;
//! use lineside_sync::ring::{RingBounds, RingCursor, MissedEntries, Ring, SharedRing};
//!
//! let log: SharedRing<Ring<[u8]>> = SharedRing::new(Ring::new(0));
//! let bounds = RingBounds { entries: 2, ..RingBounds::NONE };
//! let mut cursor = RingCursor::at_offset(0);
//! let mut taken = Vec::new();
//!
//! for word in ["one", "two", "three"] {
//!     log.append_next(Arc::from(word.as_bytes()), bounds);
//! }
//! assert!(log.has_news(&cursor));
//! assert_eq!(log.take_after(&mut cursor, usize::MAX, &mut taken), MissedEntries::Entries(1));
//! let words: Vec<(u64, &[u8])> = taken.iter().map(|entry| (entry.offset, &*entry.item)).collect();
//! assert_eq!(words, [(2, &b"two"[..]), (3, b"three")]);
//! assert!(!log.has_news(&cursor));
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

/// Slots that a ring starts with, and falls back to.
pub const SLOTS_MIN: usize = 4;

/// What a ring must know of what it holds.
pub trait RingItem {
    /// What it counts for against [`RingBounds::bytes`]. The same at every call.
    fn byte_size(&self) -> usize;

    /// When it was made, by whatever clock [`RingBounds::since`] is of. By default it does not age.
    fn created_at(&self) -> Duration {
        Duration::MAX
    }
}

/// Plain values, which take their own size.
impl<T: Copy> RingItem for [T] {
    fn byte_size(&self) -> usize {
        size_of_val(self)
    }
}

/// The same.
impl<T: Copy, const N: usize> RingItem for [T; N] {
    fn byte_size(&self) -> usize {
        size_of_val(self)
    }
}

/// What a ring may hold.
#[derive(Clone, Copy, Debug)]
pub struct RingBounds {
    /// Most entries.
    pub entries: usize,
    /// Most bytes, by [`RingItem::byte_size`].
    pub bytes: usize,
    /// Entries made before this are dropped.
    pub since: Duration,
}

impl RingBounds {
    /// No bounds: for naming only those that there are.
    pub const NONE: Self = Self { entries: usize::MAX, bytes: usize::MAX, since: Duration::ZERO };
}

/// One entry of a ring, shared with it.
#[derive(Debug)]
pub struct RingEntry<T: ?Sized> {
    /// Its place in the sequence.
    pub offset: u64,
    /// What was appended.
    pub item: Arc<T>,
}

impl<T: ?Sized> Clone for RingEntry<T> {
    fn clone(&self) -> Self {
        Self { offset: self.offset, item: self.item.clone() }
    }
}

/// Where a reader is: it holds everything up to an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingCursor {
    offset: u64,
    /// How many entries the ring had ever had up to the offset; [`UNCOUNTED`] before the first take.
    entry: u64,
    /// The ring's version when this reader had everything; [`UNSEEN`] otherwise.
    version: u64,
}

const UNCOUNTED: u64 = u64::MAX;
const UNSEEN: u64 = u64::MAX;

impl RingCursor {
    /// A reader who says that he holds everything up to `offset`.
    pub const fn at_offset(offset: u64) -> Self {
        Self { offset, entry: UNCOUNTED, version: UNSEEN }
    }

    /// Everything up to here is held.
    pub const fn offset(&self) -> u64 {
        self.offset
    }
}

/// What a reader can no longer be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum MissedEntries {
    /// Nothing.
    Nothing,
    /// So many entries after its cursor were overwritten before it took them. Exact.
    Entries(u64),
    /// What came after its cursor was replaced as a whole ([`Ring::restate_up_to`], [`Ring::restart_from`]), or the
    /// cursor was made from an offset whose successors the ring does not know the number of.
    Uncounted,
}
