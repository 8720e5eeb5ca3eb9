//! Whose a subscription is: the client's that asked for it, and of the place where it is told.

use std::net::{IpAddr, Ipv6Addr};

use url::Url;

/// Bits of an IPv6 address that one client has all the addresses of.
const IPV6_PREFIX: u32 = 64;

/// Who posts a wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asker {
    /// Its address; of IPv6 the network of it.
    pub(super) client: IpAddr,
    pub(super) is_admin: bool,
}

/// Whose a subscription is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) client: IpAddr,
    /// Scheme, host and port of the consumer.
    pub(super) origin: String,
    pub(super) host: String,
}

impl Asker {
    pub(super) fn of(client: IpAddr, is_admin: bool) -> Self {
        Self { client: network(client), is_admin }
    }

    /// Whether it may end what belongs to that owner.
    pub(super) fn owns(self, owner: &Owner) -> bool {
        self.is_admin || self.client == owner.client
    }
}

impl Owner {
    /// The owner of what an asker has sent to that address.
    pub(super) fn of(consumer: &Url, asker: Asker) -> Self {
        Self {
            client: asker.client,
            origin: consumer.origin().ascii_serialization(),
            host: consumer.host_str().unwrap_or_default().to_owned(),
        }
    }
}

/// A host with IPv6 has a whole network, and changes its address within it.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let mask = u128::MAX << (Ipv6Addr::BITS - IPV6_PREFIX);
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_its_address_or_its_network() {
        let same = |a: &str, b: &str| {
            let of = |text: &str| Asker::of(text.parse().unwrap(), false);
            of(a) == of(b)
        };
        assert!(same("192.0.2.1", "::ffff:192.0.2.1"));
        assert!(!same("192.0.2.1", "192.0.2.2"));
        assert!(same("2001:db8::1", "2001:db8::abcd:0:0:2"));
        assert!(!same("2001:db8::1", "2001:db8:0:1::1"));
    }
}
