//! Ownership of a subscription, by the client that requested it.

use std::net::IpAddr;

use lineside_config::client_network::client_limit_key;
use url::Url;

/// The sender of a subscription request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestSender {
    /// The client's address, for IPv6 its network.
    pub(super) client: IpAddr,
    pub(super) is_admin: bool,
}

/// The owner of a subscription, and its consumer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SubscriptionOwner {
    pub(super) client: IpAddr,
    /// Scheme, host and port of the consumer.
    pub(super) origin: String,
    pub(super) host: String,
}

impl RequestSender {
    pub(super) fn new(client: IpAddr, is_admin: bool) -> Self {
        Self { client: client_limit_key(client), is_admin }
    }

    /// Returns true if the sender may end a subscription of that owner.
    pub(super) fn may_end_subscription(self, owner: &SubscriptionOwner) -> bool {
        self.is_admin || self.client == owner.client
    }
}

impl SubscriptionOwner {
    pub(super) fn for_consumer(consumer: &Url, sender: RequestSender) -> Self {
        Self {
            client: sender.client,
            origin: consumer.origin().ascii_serialization(),
            host: consumer.host_str().unwrap_or_default().to_owned(),
        }
    }
}
