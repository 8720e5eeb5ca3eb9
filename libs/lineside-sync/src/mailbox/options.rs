//! The options of a mailbox.

/// The capacity of a mailbox, and the conditions under which senders get their own slots.
///
/// With the defaults a mailbox holds at most 1,024 messages, or 64 × 1,024 in slots, and the receiver may hold as many
/// again. Where a message owns memory, use smaller limits: a backlog that fits a core's cache is received several
/// times faster than a cold one, and early refusal costs a sender nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MailboxOptions {
    /// The largest number of messages waiting in the single queue; at least 1.
    pub credits: usize,
    /// The largest number of messages waiting in each slot; at least 1.
    pub slot_credits: usize,
    /// The contention that a sender adds when it finds the lock taken, or no room; each other send subtracts 1.
    ///
    /// With 1, contention rises only if more than half of all sends meet it. Two cores never reach that: there a
    /// sender mostly finds the lock taken because its holder was interrupted. With 8, contention rises from one send
    /// in nine.
    pub contended_weight: u32,
    /// The contention at which the slots open; they never open for a single sender.
    pub parallel_from: u32,
    /// The number of visits to open slots, with messages or before sleep, after which the receiver reviews the slots.
    pub review_after: u32,
    /// A review closes the slots if its visits found fewer messages than this on average, or if only one sender is
    /// left.
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
    /// Returns the defaults with room for `n` messages in the single queue and in each slot.
    pub fn with_queue_capacity(n: usize) -> Self {
        Self { credits: n, slot_credits: n, ..Self::default() }
    }

    /// Raises both credits to at least 1: a queue without room would never pass a message on.
    pub(super) fn clamp_queue_capacities(self) -> Self {
        let credits = self.credits.max(1);
        let slot_credits = self.slot_credits.max(1);
        Self { credits, slot_credits, ..self }
    }
}
