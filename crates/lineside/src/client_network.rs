//! Which clients count as one where something is limited per address.

use std::net::{IpAddr, Ipv6Addr};

/// Bits of an IPv6 address that name the network; one subscriber is usually given all the addresses of one.
const IPV6_NETWORK_BITS: u32 = 64;

/// What a client is counted by: an IPv4 address, or the /64 network of an IPv6 address.
pub(crate) fn client_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let mask = u128::MAX << (Ipv6Addr::BITS - IPV6_NETWORK_BITS);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
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
            let network = |text: &str| client_network(text.parse().unwrap());
            network(a) == network(b)
        };
        assert!(same("192.0.2.1", "::ffff:192.0.2.1"));
        assert!(!same("192.0.2.1", "192.0.2.2"));
        assert!(same("2001:db8::1", "2001:db8::abcd:0:0:2"));
        assert!(!same("2001:db8::1", "2001:db8:0:1::1"));
    }
}
