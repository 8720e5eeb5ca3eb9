//! The client address of a request that came through proxies.
//!
//! Each proxy appends the address that connected to it to `X-Forwarded-For`. Trusted proxies are skipped from the end;
//! the address before them is the client, or at least the first untrusted host.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};

use axum::extract::FromRequestParts;
use http::request::Parts;
use http::{Extensions, HeaderMap, HeaderName};
use ipnet::IpNet;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// The address at the other end of a request's connection, a client or a proxy; in the request's extensions.
#[derive(Debug, Clone, Copy)]
pub struct PeerAddress(pub IpAddr);

impl PeerAddress {
    /// Returns the peer of the connection; requests without one share the unspecified address.
    pub fn from_extensions(extensions: &Extensions) -> Self {
        extensions.get().copied().unwrap_or(Self(Ipv4Addr::UNSPECIFIED.into()))
    }
}

impl<S: Sync> FromRequestParts<S> for PeerAddress {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::from_extensions(&parts.extensions))
    }
}

/// The proxies whose forwarding headers are trusted.
#[derive(Debug, Clone, Default)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    pub fn new(trusted: Vec<IpNet>) -> Self {
        Self(trusted)
    }

    /// Returns true if the proxy at this address is trusted.
    pub fn is_trusted(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// Returns the client of a request that came from a trusted proxy.
    pub fn forwarded_client(&self, proxy: IpAddr, headers: &HeaderMap) -> IpAddr {
        let lines = headers.get_all(FORWARDED_FOR).iter().filter_map(|line| line.to_str().ok());
        let named: Vec<&str> = lines.flat_map(|line| line.split(',')).map(str::trim).collect();
        let mut client = proxy;
        for text in named.into_iter().rev() {
            let Some(address) = parse_ip_address(text) else { break };
            client = address.to_canonical();
            if !self.is_trusted(client) {
                break;
            }
        }
        client
    }

    /// Returns the client of a request, through a trusted proxy or not.
    pub fn client_address(&self, PeerAddress(peer): PeerAddress, headers: &HeaderMap) -> IpAddr {
        if self.is_trusted(peer) {
            self.forwarded_client(peer, headers)
        } else {
            peer.to_canonical()
        }
    }

    /// Returns true if a trusted proxy says that its client uses TLS.
    pub fn is_forwarded_https(&self, PeerAddress(peer): PeerAddress, headers: &HeaderMap) -> bool {
        let protocol = headers.get_all(FORWARDED_PROTO).iter().next_back();
        let protocol = protocol.and_then(|line| line.to_str().ok()?.split(',').next_back());
        self.is_trusted(peer)
            && protocol.is_some_and(|protocol| protocol.trim().eq_ignore_ascii_case("https"))
    }
}

/// Parses an address, with a port or without.
fn parse_ip_address(text: &str) -> Option<IpAddr> {
    let address = || text.parse::<std::net::SocketAddr>().ok().map(|socket| socket.ip());
    text.parse().ok().or_else(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(lines: &[&str]) -> String {
        let proxies = TrustedProxies::new(
            ["10.0.0.0/8", "127.0.0.1/32"].map(|it| it.parse().unwrap()).into(),
        );
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(FORWARDED_FOR, line.parse().unwrap());
        }
        proxies.forwarded_client("10.0.0.1".parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn the_client_is_the_last_untrusted_forwarded_address() {
        assert_eq!(client(&["192.0.2.7"]), "192.0.2.7");
        assert_eq!(client(&["192.0.2.7, 10.9.9.9"]), "192.0.2.7");
        assert_eq!(client(&["192.0.2.7", "10.9.9.9, 127.0.0.1"]), "192.0.2.7");
        assert_eq!(client(&["192.0.2.7:4711"]), "192.0.2.7");
        assert_eq!(client(&["2001:db8::1"]), "2001:db8::1");
        assert_eq!(client(&["::ffff:192.0.2.7"]), "192.0.2.7");
    }

    #[test]
    fn forwarded_client_and_scheme_are_read_from_trusted_proxies_only() {
        let proxies = TrustedProxies::new(vec!["10.0.0.0/8".parse().unwrap()]);
        let mut headers = HeaderMap::new();
        headers.insert(FORWARDED_FOR, "192.0.2.7".parse().unwrap());
        headers.insert(FORWARDED_PROTO, "https".parse().unwrap());
        for (peer, client, is_https) in
            [("10.0.0.1", "192.0.2.7", true), ("198.51.100.1", "198.51.100.1", false)]
        {
            let peer = PeerAddress(peer.parse().unwrap());
            assert_eq!(proxies.client_address(peer, &headers).to_string(), client);
            assert_eq!(proxies.is_forwarded_https(peer, &headers), is_https);
        }
        headers.insert(FORWARDED_PROTO, "https, http".parse().unwrap());
        assert!(!proxies.is_forwarded_https(PeerAddress("10.0.0.1".parse().unwrap()), &headers));
    }

    #[test]
    fn forwarded_addresses_from_the_client_are_ignored() {
        assert_eq!(client(&["198.51.100.1, 192.0.2.7"]), "192.0.2.7");
        assert_eq!(client(&["198.51.100.1", "192.0.2.7, 10.1.1.1"]), "192.0.2.7");
        assert_eq!(client(&["198.51.100.1, unknown"]), "10.0.0.1");
        assert_eq!(client(&[]), "10.0.0.1");
    }
}
