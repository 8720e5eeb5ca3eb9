//! Faults that the models inject on purpose, each to show that a model detects it.

/// A fault to inject.
#[cfg_attr(any(loom, shuttle), derive(Clone, Copy, Debug, PartialEq, Eq))]
pub(super) enum InjectedMailboxFault {
    /// A receiver goes to sleep without checking once more.
    SleepWithoutCheck,
    /// The sender that first marks a slot wakes no receiver.
    MarkWithoutWake,
    /// A second waker is dropped and the first one stays.
    KeepFirstWaker,
    /// The last sender goes without waking the receiver.
    LeaveWithoutWake,
    /// The messages of the slots come before those of the single queue.
    SlotsFirst,
    /// A sender with a stale view of the mode appends to the single queue while slots are open.
    TrustStaleMode,
    /// Slots stay open after the receiver has switched to the single queue.
    LeaveSlotsOpen,
    /// The messages of the slots are not moved when the slots are closed.
    ForgetTheSlots,
    /// A refused message counts as one that met no contention.
    RefusalsUncounted,
    /// The messages of a list that do not fit are not left with the sender.
    ForgetTheRest,
    /// A dropped receiver leaves the mailbox open.
    AbandonOpen,
    /// The lock is released without release ordering.
    UnlockRelaxed,
}

/// The fault that a mailbox injects: set in models only.
#[derive(Debug, Default)]
pub(super) struct FaultInjection(
    #[cfg(any(loom, shuttle))] pub(super) Option<InjectedMailboxFault>,
);

impl FaultInjection {
    #[cfg(any(loom, shuttle))]
    pub(super) fn injects_fault(&self, fault: InjectedMailboxFault) -> bool {
        self.0 == Some(fault)
    }

    #[cfg(not(any(loom, shuttle)))]
    #[expect(clippy::unused_self, reason = "the version for models uses `self`")]
    pub(super) const fn injects_fault(&self, _: InjectedMailboxFault) -> bool {
        false
    }
}
