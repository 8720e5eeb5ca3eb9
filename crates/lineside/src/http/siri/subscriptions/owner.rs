//! Whose a subscription is: the client's that asked for it, and of the place where it is told.

use std::net::IpAddr;

use url::Url;

use crate::client_network::client_network;

/// Who posts a wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestSender {
    /// Its address; of IPv6 the network of it.
    pub(super) client: IpAddr,
    pub(super) is_admin: bool,
}

/// Whose a subscription is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SubscriptionOwner {
    pub(super) client: IpAddr,
    /// Scheme, host and port of the consumer.
    pub(super) origin: String,
    pub(super) host: String,
}

impl RequestSender {
    pub(super) fn new(client: IpAddr, is_admin: bool) -> Self {
        Self { client: client_network(client), is_admin }
    }

    /// Whether it may end what belongs to that owner.
    pub(super) fn may_end(self, owner: &SubscriptionOwner) -> bool {
        self.is_admin || self.client == owner.client
    }
}

impl SubscriptionOwner {
    /// The owner of what an asker has sent to that address.
    pub(super) fn for_consumer(consumer: &Url, asker: RequestSender) -> Self {
        Self {
            client: asker.client,
            origin: consumer.origin().ascii_serialization(),
            host: consumer.host_str().unwrap_or_default().to_owned(),
        }
    }
}
