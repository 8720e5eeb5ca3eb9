//! Where a request comes from when proxies stand before us.
//!
//! Each proxy adds the address that it was reached from at the end of `X-Forwarded-For`. Those that are trusted are
//! passed over from the end; what stands before is the client, or at least the first whom nobody vouches for.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName};
use ipnet::IpNet;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The proxies whose word is taken.
#[derive(Debug, Clone, Default)]
pub(crate) struct Proxies(Vec<IpNet>);

impl Proxies {
    pub(crate) fn new(trusted: Vec<IpNet>) -> Self {
        Self(trusted)
    }

    /// Whether this one's is.
    pub(super) fn trusts(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The client of a request that came from a trusted proxy.
    pub(super) fn client(&self, proxy: IpAddr, headers: &HeaderMap) -> IpAddr {
        let lines = headers.get_all(FORWARDED_FOR).iter().filter_map(|line| line.to_str().ok());
        let named: Vec<&str> = lines.flat_map(|line| line.split(',')).map(str::trim).collect();
        let mut client = proxy;
        for text in named.into_iter().rev() {
            let Some(address) = parse(text) else { break };
            client = address.to_canonical();
            if !self.trusts(client) {
                break;
            }
        }
        client
    }
}

/// An address, with a port or without.
fn parse(text: &str) -> Option<IpAddr> {
    let address = || text.parse::<std::net::SocketAddr>().ok().map(|socket| socket.ip());
    text.parse().ok().or_else(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(lines: &[&str]) -> String {
        let proxies =
            Proxies::new(["10.0.0.0/8", "127.0.0.1/32"].map(|it| it.parse().unwrap()).into());
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(FORWARDED_FOR, line.parse().unwrap());
        }
        proxies.client("10.0.0.1".parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn the_client_is_the_last_whom_nobody_vouches_for() {
        assert_eq!(client(&["192.0.2.7"]), "192.0.2.7");
        assert_eq!(client(&["192.0.2.7, 10.9.9.9"]), "192.0.2.7");
        assert_eq!(client(&["192.0.2.7", "10.9.9.9, 127.0.0.1"]), "192.0.2.7");
        assert_eq!(client(&["192.0.2.7:4711"]), "192.0.2.7");
        assert_eq!(client(&["2001:db8::1"]), "2001:db8::1");
        assert_eq!(client(&["::ffff:192.0.2.7"]), "192.0.2.7");
    }

    #[test]
    fn what_a_client_writes_itself_counts_for_nothing() {
        assert_eq!(client(&["198.51.100.1, 192.0.2.7"]), "192.0.2.7");
        assert_eq!(client(&["198.51.100.1", "192.0.2.7, 10.1.1.1"]), "192.0.2.7");
        assert_eq!(client(&["198.51.100.1, unknown"]), "10.0.0.1");
        assert_eq!(client(&[]), "10.0.0.1");
    }
}
