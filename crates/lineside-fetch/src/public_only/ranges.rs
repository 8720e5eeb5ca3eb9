//! Ranges of public internet addresses.
//!
//! The ranges follow IANA's registries of special-purpose addresses (RFC 6890 and its updates). An address that embeds
//! another one is judged by the embedded one, if it is reachable at all.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 ranges of no internet host: first address and prefix length.
const NOT_PUBLIC_V4: &[(Ipv4Addr, u32)] = &[
    // This network (RFC 791), private networks (RFC 1918), addresses shared by a provider's customers (RFC 6598).
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    // This host (RFC 1122), this link (RFC 3927), where clouds serve instance metadata.
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    // Protocol assignments (RFC 6890), documentation (RFC 5737), 6to4 relays (RFC 7526).
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    // Benchmarks (RFC 2544), documentation.
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // Multicast (RFC 5771), reserved, broadcast (RFC 1112, RFC 919).
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// The range of global unicast addresses (RFC 4291): others are private, link-local, multicast or unused.
const UNICAST_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// IPv6 unicast ranges of no internet host.
const NOT_PUBLIC_V6: &[(Ipv6Addr, u32)] = &[
    // Protocol assignments (RFC 2928): Teredo, benchmarks, ORCHID. The destination of Teredo is unpredictable.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    // Documentation (RFC 3849, RFC 9637).
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
    // 6to4 (RFC 3056, RFC 7526): reaches an IPv4 address through an arbitrary relay.
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
];

/// NAT64 (RFC 6052): IPv6-only networks reach IPv4 hosts through it; the last 32 bits are the IPv4 address.
const NAT64: (Ipv6Addr, u32) = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

/// Returns true if an address is one of the public internet.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let within = |(first, prefix): &(Ipv4Addr, u32)| {
        let mask = u32::MAX << (32 - prefix);
        address.to_bits() & mask == first.to_bits()
    };
    !NOT_PUBLIC_V4.iter().any(within)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let within = |(first, prefix): &(Ipv6Addr, u32)| {
        let mask = u128::MAX << (128 - prefix);
        address.to_bits() & mask == first.to_bits()
    };
    // The system connects to the IPv4 address itself.
    if let Some(mapped) = address.to_ipv4_mapped() {
        return is_public_v4(mapped);
    }
    if within(&NAT64) {
        return is_public_v4(Ipv4Addr::from_bits(address.to_bits() as u32));
    }
    within(&UNICAST_V6) && !NOT_PUBLIC_V6.iter().any(within)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(addresses: &[&str], expect: bool) {
        for text in addresses {
            assert_eq!(is_public(text.parse().expect("an address")), expect, "{text}");
        }
    }

    #[test]
    fn internet_addresses_are_public() {
        check(&["1.1.1.1", "9.9.9.9", "100.63.255.255", "100.128.0.0", "172.15.255.255"], true);
        check(
            &["172.32.0.0", "192.0.1.0", "198.17.255.255", "198.20.0.0", "223.255.255.255"],
            true,
        );
        check(&["2001:4860:4860::8888", "2a00:1450::1", "2003::1", "2606:4700::1111"], true);
    }

    #[test]
    fn loopback_link_local_and_private_addresses_are_not_public() {
        check(&["0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.255", "::", "::1"], false);
        check(
            &["10.0.0.0", "10.255.255.255", "172.16.0.0", "172.31.255.255", "192.168.0.1"],
            false,
        );
        check(&["169.254.169.254", "169.254.0.0", "fe80::1", "febf::1", "fec0::1"], false);
        check(&["fc00::1", "fd00:ec2::254", "100.64.0.0", "100.127.255.255"], false);
    }

    #[test]
    fn reserved_addresses_are_not_public() {
        check(&["192.0.0.1", "192.0.0.255", "192.88.99.1", "198.18.0.0", "198.19.255.255"], false);
        check(&["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff:fff::1"], false);
        check(&["224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"], false);
        check(
            &["ff02::1", "ff0e::1", "100::1", "5f00::1", "2001::1", "2001:2::1", "2001:20::1"],
            false,
        );
        check(&["4000::1", "8000::1", "e000::1", "1::1"], false);
    }

    #[test]
    fn an_embedded_ipv4_address_is_checked() {
        check(&["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254"], false);
        check(&["64:ff9b::127.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::1.1.1.1"], false);
        check(&["2002:7f00:1::", "2002:101:101::", "::127.0.0.1", "::1.1.1.1"], false);
        check(&["::ffff:1.1.1.1", "64:ff9b::1.1.1.1"], true);
    }

    proptest! {
        #[test]
        fn an_ipv4_mapped_address_is_public_if_the_ipv4_address_is(bits: u32) {
            let plain = Ipv4Addr::from_bits(bits);
            let mapped = plain.to_ipv6_mapped();
            prop_assert_eq!(is_public(plain.into()), is_public(mapped.into()));
        }

        #[test]
        fn no_address_that_std_knows_as_special_is_public(bits: u32, wide: u128) {
            let (four, six) = (Ipv4Addr::from_bits(bits), Ipv6Addr::from_bits(wide));
            let special = four.is_private() || four.is_loopback() || four.is_link_local()
                || four.is_multicast() || four.is_broadcast() || four.is_documentation() || four.is_unspecified();
            prop_assert!(!(special && is_public(four.into())), "{}", four);
            let special = six.is_loopback() || six.is_multicast() || six.is_unique_local()
                || six.is_unicast_link_local() || six.is_unspecified();
            prop_assert!(!(special && is_public(six.into())), "{}", six);
        }
    }
}
