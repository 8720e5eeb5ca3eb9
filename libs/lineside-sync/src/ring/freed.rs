//! Items removed from a ring, held until its lock is released.

use std::sync::Arc;

/// The removed items. Bound: the items that one holder of the lock removes from the ring.
#[derive(Debug)]
pub(super) enum DeferredDropItems<T: ?Sized> {
    /// The ring is not shared: items are dropped at once.
    AtOnce,
    /// The removed items. A single one, the usual number, takes no allocation.
    Later(Option<Arc<T>>, Vec<Arc<T>>),
}

impl<T: ?Sized> DeferredDropItems<T> {
    pub(super) fn new_deferred() -> Self {
        Self::Later(None, Vec::new())
    }

    pub(super) fn drop_or_defer_item(&mut self, item: Arc<T>) {
        if let Self::Later(one, more) = self {
            match one {
                None => *one = Some(item),
                Some(_) => more.push(item),
            }
        }
    }

    /// Takes the items, to be dropped once the lock is released.
    pub(super) fn take_deferred_items(&mut self) -> Self {
        match self {
            Self::AtOnce | Self::Later(None, _) => Self::AtOnce,
            Self::Later(one, more) => Self::Later(one.take(), std::mem::take(more)),
        }
    }
}
