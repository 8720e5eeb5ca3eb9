//! Bodies that many replies share. While a feed holds a body, its replies occupy no memory of their own. After that
//! only unread replies hold it, and it is counted. Compressed bodies are counted from the start: their cache reports
//! evictions late, and never exceeds its limit.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst, fence};
use std::sync::{Arc, OnceLock};

use crate::unsent_budget::UnsentBudget;

/// Marks a response's body as shared with other replies; in the response's extensions.
#[derive(Debug, Clone)]
pub struct SharedBodyMarker(pub Arc<SharedBodyCounter>);

/// The bytes of a shared body, counted from its release by the holder until the last reply with it is dropped.
#[derive(Debug)]
pub struct SharedBodyCounter {
    length: usize,
    is_compressed: bool,
    is_released: AtomicBool,
    is_counted: AtomicBool,
    /// The budget that counts the body; unset until a reply with it is sent.
    unsent: OnceLock<Arc<UnsentBudget>>,
}

impl SharedBodyCounter {
    /// Creates the counter of a feed's body; it counts from [`release`](Self::release).
    pub fn for_feed(length: usize) -> Arc<Self> {
        Self::new(length, false)
    }

    /// Creates the counter of a cached compressed body; it counts from the first reply.
    pub fn for_compressed(length: usize) -> Arc<Self> {
        Self::new(length, true)
    }

    fn new(length: usize, is_compressed: bool) -> Arc<Self> {
        let is_released = AtomicBool::new(is_compressed);
        let (is_counted, unsent) = (AtomicBool::new(false), OnceLock::new());
        Arc::new(Self { length, is_compressed, is_released, is_counted, unsent })
    }

    /// Marks that the holder dropped the body.
    pub fn mark_released_by_holder(&self) {
        self.is_released.store(true, Relaxed);
        self.count_if_released();
    }

    /// Marks that a reply with the body is sent.
    pub fn attach_unsent_budget(&self, unsent: &Arc<UnsentBudget>) {
        self.unsent.get_or_init(|| Arc::clone(unsent));
        self.count_if_released();
    }

    fn count_if_released(&self) {
        // If one thread releases the body while another attaches it, at least one of them sees both.
        fence(SeqCst);
        if self.is_released.load(Relaxed)
            && let Some(unsent) = self.unsent.get()
            && !self.is_counted.swap(true, Relaxed)
        {
            unsent.shared_body_counter(self.is_compressed).fetch_add(self.length, Relaxed);
        }
    }
}

impl Drop for SharedBodyCounter {
    fn drop(&mut self) {
        if *self.is_counted.get_mut()
            && let Some(unsent) = self.unsent.get()
        {
            unsent.shared_body_counter(self.is_compressed).fetch_sub(self.length, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_body_is_counted_only_when_sent_and_released() {
        let unsent = UnsentBudget::new(1 << 20);
        for is_released_first in [false, true] {
            let shared = SharedBodyCounter::for_feed(700);
            let reply = Arc::clone(&shared);
            if is_released_first {
                shared.mark_released_by_holder();
            }
            shared.attach_unsent_budget(&unsent);
            assert_eq!(unsent.unread_shared_bytes(), if is_released_first { 700 } else { 0 });
            shared.mark_released_by_holder();
            shared.attach_unsent_budget(&unsent);
            drop(shared);
            assert_eq!(unsent.unread_shared_bytes(), 700);
            drop(reply);
            assert_eq!(unsent.unread_shared_bytes(), 0);
        }
        // A body that was never sent is not counted.
        SharedBodyCounter::for_feed(700).mark_released_by_holder();
        assert_eq!(unsent.unread_shared_bytes(), 0);
    }
}
