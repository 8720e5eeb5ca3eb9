//! Why a record is no longer part of a state or a channel.

/// Why a record is removed.
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
    /// The word for it in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            RemovalReason::Gone => "gone",
            RemovalReason::Moved => "moved",
            RemovalReason::Expired => "expired",
        }
    }
}
