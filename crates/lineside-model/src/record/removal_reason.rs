//! The reasons for the removal of a record from a state or a channel.

/// The reason for the removal of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemovalReason {
    /// The feed no longer has it.
    Gone,
    /// It is now elsewhere, in another route or cell.
    Moved,
    /// It is too old to be served.
    Expired,
}

impl RemovalReason {
    /// Returns the name of the reason in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            RemovalReason::Gone => "gone",
            RemovalReason::Moved => "moved",
            RemovalReason::Expired => "expired",
        }
    }
}
