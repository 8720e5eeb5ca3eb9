//! Mistakes that the models make on purpose, each to show that it would be noticed.

/// What may be done wrong.
#[cfg_attr(any(loom, shuttle), derive(Clone, Copy, Debug, PartialEq, Eq))]
pub(super) enum MailboxFault {
    /// A receiver goes to sleep without looking once more.
    SleepWithoutLooking,
    /// Who first marks a slot wakes nobody.
    MarkSilently,
    /// A second waker is dropped for the first.
    KeepFirstWaker,
    /// The last sender goes without a word.
    LeaveSilently,
    /// What the slots held comes before what the single queue held.
    SlotsFirst,
    /// A sender with a stale look at the mode appends to the single queue beside open slots.
    TrustTheFirstLook,
    /// Slots stay open after the receiver turned to the single queue.
    LeaveSlotsOpen,
    /// What the slots held is not moved when they are closed.
    ForgetTheSlots,
    /// A message that there was no room for counts as one that nothing was in the way of.
    RefusalsUncounted,
    /// What there is no room for of a list is not left with the sender.
    ForgetTheRest,
    /// A receiver that goes leaves the mailbox open.
    AbandonOpen,
    /// The lock is given back without saying what happened under it.
    UnlockRelaxed,
}

/// Where mistakes may be made: carried by a model's mailbox, nowhere else.
#[derive(Debug, Default)]
pub(super) struct FaultInjection(#[cfg(any(loom, shuttle))] pub(super) Option<MailboxFault>);

impl FaultInjection {
    #[cfg(any(loom, shuttle))]
    pub(super) fn injects_fault(&self, mistake: MailboxFault) -> bool {
        self.0 == Some(mistake)
    }

    #[cfg(not(any(loom, shuttle)))]
    #[expect(clippy::unused_self, reason = "a model's mailbox looks into itself")]
    pub(super) const fn injects_fault(&self, _: MailboxFault) -> bool {
        false
    }
}
