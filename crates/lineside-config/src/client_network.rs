//! The unit that limits per client address count: an address, or an IPv6 network.

use std::net::{IpAddr, Ipv6Addr};

/// Prefix length of an IPv6 network; one subscriber is usually assigned all addresses of a /64.
const IPV6_NETWORK_BITS: u32 = 64;

/// Returns the key under which a client is counted: its IPv4 address, or the /64 network of its IPv6 address.
pub fn client_limit_key(address: IpAddr) -> IpAddr {
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
    fn an_ipv4_client_is_its_address_and_an_ipv6_client_its_network() {
        let same = |a: &str, b: &str| {
            let network = |text: &str| client_limit_key(text.parse().unwrap());
            network(a) == network(b)
        };
        assert!(same("192.0.2.1", "::ffff:192.0.2.1"));
        assert!(!same("192.0.2.1", "192.0.2.2"));
        assert!(same("2001:db8::1", "2001:db8::abcd:0:0:2"));
        assert!(!same("2001:db8::1", "2001:db8:0:1::1"));
    }
}
