//! The reasons why connections end.

/// The reason why a connection has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConnectionCloseReason {
    /// The client closed the connection, or it broke.
    Client,
    /// The server is shutting down.
    Shutdown,
    /// The client accepted nothing for too long, or missed too much repeatedly.
    Slow,
    /// The client did not answer a ping.
    NoPong,
    /// The client broke the protocol.
    Protocol,
    /// The client exceeded the rate limit.
    Flood,
    /// The client's token has expired, or it did not send one in time.
    Expired,
    /// The operator's back end disconnected the client, or it has no permission.
    Disconnected,
    /// A subscribed feed was removed, or its network was rebuilt.
    Changed,
    /// The server had an internal error, which is in its log.
    Fault,
}

impl ConnectionCloseReason {
    pub const ALL: [Self; 10] = [
        Self::Client,
        Self::Shutdown,
        Self::Slow,
        Self::NoPong,
        Self::Protocol,
        Self::Flood,
        Self::Expired,
        Self::Disconnected,
        Self::Changed,
        Self::Fault,
    ];

    pub fn metric_label(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Shutdown => "shutdown",
            Self::Slow => "slow",
            Self::NoPong => "no_pong",
            Self::Protocol => "protocol",
            Self::Flood => "flood",
            Self::Expired => "expired",
            Self::Disconnected => "disconnected",
            Self::Changed => "changed",
            Self::Fault => "fault",
        }
    }
}
