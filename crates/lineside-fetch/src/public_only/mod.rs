//! HTTP requests to untrusted URLs: only to hosts of the public internet.
//!
//! Names are resolved for each connection; the resolved addresses are checked, and only these are used: a second
//! resolution cannot redirect the connection. Redirects are checked like the first URL. No proxy of the environment is
//! used, since it would resolve names itself.

mod ranges;

use std::{
    fmt,
    future::Future,
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::{Arc, atomic::Ordering},
};

use reqwest::{
    Client, ClientBuilder, RequestBuilder,
    dns::{Addrs, Name, Resolve, Resolving},
    redirect::{Attempt, Policy},
};
use url::{Host, Url};

pub use self::ranges::is_public;
use crate::{dns_lookup::current_dns_lookup_marker, limits::REDIRECTS_MAX};

/// A client that connects to public addresses only.
#[derive(Clone, Debug)]
pub struct PublicOnlyHttpClient {
    client: Client,
    is_allowed: fn(IpAddr) -> bool,
}

/// The reason why a URL is not requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlRejection {
    /// The scheme is neither `http:` nor `https:`.
    #[error("only http and https URLs are requested")]
    Scheme,
    /// The URL contains a user or a password: untrusted URLs are requested without credentials.
    #[error("a URL with a user or a password is not requested")]
    Credentials,
    /// The host is, or resolves to, an address that is not public.
    #[error("the host is not on the public internet")]
    Host,
    /// Too many redirects.
    #[error("more than {REDIRECTS_MAX} redirects")]
    Redirects,
}

/// A name that cannot be resolved.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UnknownHost(String);

/// A function that resolves names; the system's resolver, except in tests.
type DnsLookupFn =
    dyn Fn(String) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>> + Send + Sync;

/// The policy that decides which addresses may be contacted.
#[derive(Clone)]
pub struct AddressPolicy {
    is_allowed: fn(IpAddr) -> bool,
    lookup: Arc<DnsLookupFn>,
}

impl PublicOnlyHttpClient {
    /// Completes `builder` to a client.
    ///
    /// # Errors
    /// Returns an error if the client cannot be built.
    pub fn new(builder: ClientBuilder) -> reqwest::Result<PublicOnlyHttpClient> {
        PublicOnlyHttpClient::with_address_policy(AddressPolicy::default(), builder)
    }

    /// Checks a URL without resolving its name; the resolved addresses are checked when the request is sent.
    ///
    /// # Errors
    /// Returns the reason why the URL is rejected.
    pub fn check_public_url(url: &Url) -> Result<(), UrlRejection> {
        check_url_without_lookup(url, is_public)
    }

    fn with_address_policy(
        address_policy: AddressPolicy,
        builder: ClientBuilder,
    ) -> reqwest::Result<PublicOnlyHttpClient> {
        let is_allowed = address_policy.is_allowed;
        let follow = move |attempt: Attempt<'_>| {
            if attempt.previous().len() > REDIRECTS_MAX {
                return attempt.error(UrlRejection::Redirects);
            }
            match check_url_without_lookup(attempt.url(), is_allowed) {
                Ok(()) => attempt.follow(),
                Err(why) => attempt.error(why),
            }
        };
        PublicOnlyHttpClient::with_redirect_policy(Policy::custom(follow), address_policy, builder)
    }

    /// Creates a client that returns redirects as replies; the caller follows them by new requests.
    pub fn without_redirects(
        address_policy: AddressPolicy,
        builder: ClientBuilder,
    ) -> reqwest::Result<PublicOnlyHttpClient> {
        PublicOnlyHttpClient::with_redirect_policy(Policy::none(), address_policy, builder)
    }

    fn with_redirect_policy(
        policy: Policy,
        address_policy: AddressPolicy,
        builder: ClientBuilder,
    ) -> reqwest::Result<PublicOnlyHttpClient> {
        let is_allowed = address_policy.is_allowed;
        let builder = builder.no_proxy().redirect(policy).dns_resolver(Arc::new(address_policy));
        builder.build().map(|client| PublicOnlyHttpClient { client, is_allowed })
    }

    /// Creates a client that follows no redirects, for requests that only the given URL may receive.
    ///
    /// # Errors
    /// Returns an error if the client cannot be built.
    pub fn new_without_redirects(builder: ClientBuilder) -> reqwest::Result<PublicOnlyHttpClient> {
        PublicOnlyHttpClient::without_redirects(AddressPolicy::default(), builder)
    }

    /// Begins a GET request; names are checked when it is sent, with [`UrlRejection`] among the causes of a failure.
    ///
    /// # Errors
    /// Returns an error if the URL itself is rejected.
    pub fn build_get_request(&self, url: &Url) -> Result<RequestBuilder, UrlRejection> {
        check_url_without_lookup(url, self.is_allowed)?;
        Ok(self.client.get(url.clone()))
    }

    /// Begins a POST request; names are checked when it is sent, with [`UrlRejection`] among the causes of a failure.
    ///
    /// # Errors
    /// Returns an error if the URL itself is rejected.
    pub fn build_post_request(&self, url: &Url) -> Result<RequestBuilder, UrlRejection> {
        check_url_without_lookup(url, self.is_allowed)?;
        Ok(self.client.post(url.clone()))
    }
}

impl Default for AddressPolicy {
    fn default() -> AddressPolicy {
        AddressPolicy {
            is_allowed: is_public,
            lookup: Arc::new(|name| Box::pin(lookup_with_system_resolver(name))),
        }
    }
}

impl AddressPolicy {
    /// Returns true if the host of a URL is public; `None` if it cannot be resolved.
    pub async fn is_public_host(&self, url: &Url) -> Option<bool> {
        let name = match url.host()? {
            Host::Ipv4(address) => return Some((self.is_allowed)(IpAddr::V4(address))),
            Host::Ipv6(address) => return Some((self.is_allowed)(IpAddr::V6(address))),
            Host::Domain(name) => name.to_owned(),
        };
        let found = (self.lookup)(name).await.ok().filter(|found| !found.is_empty())?;
        Some(found.iter().all(|address| (self.is_allowed)(*address)))
    }

    /// Returns the check of addresses.
    pub fn address_check(&self) -> fn(IpAddr) -> bool {
        self.is_allowed
    }
}

#[cfg(test)]
impl AddressPolicy {
    /// Creates a policy with other public addresses.
    pub fn with_address_check(is_allowed: fn(IpAddr) -> bool) -> AddressPolicy {
        AddressPolicy { is_allowed, ..AddressPolicy::default() }
    }

    /// Resolves every name to this address.
    pub fn with_fixed_resolved_address(self, address: IpAddr) -> AddressPolicy {
        let lookup = Arc::new(move |_| -> Pin<Box<dyn Future<Output = _> + Send>> {
            Box::pin(async move { Ok(vec![address]) })
        });
        AddressPolicy { lookup, ..self }
    }
}

impl fmt::Debug for AddressPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AddressPolicy")
    }
}

/// Checks a URL itself; a numeric address is never resolved.
fn check_url_without_lookup(url: &Url, is_allowed: fn(IpAddr) -> bool) -> Result<(), UrlRejection> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(UrlRejection::Scheme);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(UrlRejection::Credentials);
    }
    let address = match url.host() {
        Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
        Some(Host::Domain(_)) => None,
        None => return Err(UrlRejection::Host),
    };
    if address.is_none_or(is_allowed) { Ok(()) } else { Err(UrlRejection::Host) }
}

async fn lookup_with_system_resolver(name: String) -> io::Result<Vec<IpAddr>> {
    let found = tokio::net::lookup_host((name, 0)).await?;
    Ok(found.map(|address| address.ip()).collect())
}

impl Resolve for AddressPolicy {
    fn resolve(&self, name: Name) -> Resolving {
        let AddressPolicy { is_allowed, lookup } = self.clone();
        let is_resolving = current_dns_lookup_marker();
        Box::pin(async move {
            is_resolving.store(true, Ordering::Relaxed);
            let found = lookup(name.as_str().to_owned()).await;
            is_resolving.store(false, Ordering::Relaxed);
            let found = found.map_err(|error| UnknownHost(error.to_string()))?;
            // A name with both public and private addresses is an attack, or a mistake that would fail occasionally.
            if found.is_empty() || !found.iter().all(|address| is_allowed(*address)) {
                return Err(UrlRejection::Host.into());
            }
            let found: Vec<_> = found.into_iter().map(|it| SocketAddr::new(it, 0)).collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests;
