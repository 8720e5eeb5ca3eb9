//! How large a mailbox gets, and when it goes parallel.

/// How many messages may wait, and when senders are given slots of their own.
///
/// With the defaults a mailbox holds at most 1,024 messages, or 64 × 1,024 in slots, and as many again in the
/// receiver's hands. Where a message owns memory, fewer are better: a backlog that fits a core's cache is
/// received several times faster than a cold one, and a sender that is refused early loses nothing by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MailboxOptions {
    /// Messages that wait in the single queue; at least 1.
    pub credits: usize,
    /// Messages that wait in each slot; at least 1.
    pub slot_credits: usize,
    /// What a sender that finds the lock taken, or no room, adds to the contention; another takes 1 off.
    ///
    /// With 1 the contention must be above half of all sends to rise, which two cores never reach: there a
    /// lock is mostly found taken when its holder was interrupted. With 8 it rises from a ninth on.
    pub contended_weight: u32,
    /// The contention at which the slots are opened; never with a single sender.
    pub parallel_from: u32,
    /// After how many visits that brought something, or ended in sleep, the receiver looks back whether the
    /// slots are worth while.
    pub review_after: u32,
    /// The slots are closed when those visits brought fewer messages than this on average, or when one sender
    /// is left.
    pub parallel_below: u32,
}

impl Default for MailboxOptions {
    fn default() -> Self {
        Self {
            credits: 1_024,
            slot_credits: 1_024,
            contended_weight: 8,
            parallel_from: 128,
            review_after: 256,
            parallel_below: 4,
        }
    }
}

impl MailboxOptions {
    /// The defaults with room for `n` messages in the single queue and in each slot.
    pub fn with_credits(n: usize) -> Self {
        Self { credits: n, slot_credits: n, ..Self::default() }
    }

    /// A queue without room would never pass anything on.
    pub(super) fn clamp_credits(self) -> Self {
        let credits = self.credits.max(1);
        let slot_credits = self.slot_credits.max(1);
        Self { credits, slot_credits, ..self }
    }
}
