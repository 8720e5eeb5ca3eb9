//! The HTTP client that all feeds share, and the classification of its errors.

use std::{
    collections::BTreeMap,
    error::Error,
    ffi::OsString,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use http::{HeaderMap, HeaderName, HeaderValue};
use parking_lot::Mutex;
use percent_encoding::percent_decode_str;
use reqwest::{
    ClientBuilder, RequestBuilder, Response,
    dns::{Addrs, Name, Resolve, Resolving},
    redirect::Policy,
};
use url::Url;

use super::PostRequest;
use crate::{
    dns_lookup::{current_dns_lookup_marker, run_with_dns_lookup_marker},
    feed_config::FeedConfig,
    fetch_failure::{FailureCode, FetchError, FetchPhase, root_cause},
    limits::{CONNECT_SHARE, CONNECT_TIME_MAX},
    public_only::{AddressPolicy, PublicOnlyHttpClient, UnknownHost, UrlRejection},
};

/// The hosts that a request may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AllowedHosts {
    /// Any host: the operator configured the URL.
    Anywhere,
    /// Hosts of the public internet: an untrusted user supplied the URL, or a public producer redirects there.
    PublicOnly,
    /// Hosts of the public internet, through a proxy of the environment, which resolves names itself: the URL's host is
    /// checked.
    PublicByProxy,
}

/// HTTP clients by timeout, or the reason why one could not be built (for example no trusted certificates on this
/// machine).
///
/// Bounded: one per configured timeout.
type ClientsByTimeout<C> = Arc<Mutex<BTreeMap<Duration, Result<C, Arc<str>>>>>;

/// The header by which Entur and other services identify clients.
const CLIENT_NAME: HeaderName = HeaderName::from_static("et-client-name");

/// The header that names the operation in SOAP 1.1.
const SOAP_ACTION: HeaderName = HeaderName::from_static("soapaction");

/// The HTTP client that all feeds share.
#[derive(Clone, Debug)]
pub(crate) struct HttpClient {
    name: HeaderValue,
    /// One client per timeout used since the start.
    by_time: ClientsByTimeout<reqwest::Client>,
    /// Clients for URLs of untrusted users.
    public_only: ClientsByTimeout<PublicOnlyHttpClient>,
    address_policy: AddressPolicy,
    /// True if the environment names a proxy: then the peer of a connection is the proxy.
    has_proxy: bool,
}

impl HttpClient {
    /// Builds the client; `name` identifies it to producers.
    pub(crate) fn new(name: &str) -> HttpClient {
        let default_name =
            HeaderValue::from_static(concat!("lineside/", env!("CARGO_PKG_VERSION")));
        let named = HeaderValue::from_str(name).ok().filter(|_| !name.is_empty());
        HttpClient {
            name: named.unwrap_or(default_name),
            by_time: Arc::default(),
            public_only: Arc::default(),
            address_policy: AddressPolicy::default(),
            has_proxy: has_proxy_in_environment(|name| std::env::var_os(name)),
        }
    }

    /// Uses another address policy for URLs of untrusted users.
    #[cfg(test)]
    pub(super) fn with_address_policy(self, address_policy: AddressPolicy) -> HttpClient {
        HttpClient { address_policy, has_proxy: false, ..self }
    }

    /// Behaves as if the environment named a proxy.
    #[cfg(test)]
    pub(super) fn assume_environment_proxy(self) -> HttpClient {
        HttpClient { has_proxy: true, ..self }
    }

    /// Returns the reach of the first request of a feed.
    pub(super) fn initial_allowed_hosts(feed: &FeedConfig) -> AllowedHosts {
        if feed.public_only { AllowedHosts::PublicOnly } else { AllowedHosts::Anywhere }
    }

    /// Returns the reach of the next request after this reply. A host of the public internet must not lead to private
    /// addresses, by a redirect or by its name: its owner could read the operator's network.
    pub(super) async fn allowed_hosts_after_response(
        &self,
        response: &Response,
        reach: AllowedHosts,
    ) -> AllowedHosts {
        if reach != AllowedHosts::Anywhere {
            return reach;
        }
        let peer = response.remote_addr().filter(|_| !self.has_proxy);
        let is_public = match peer {
            Some(peer) => (self.address_policy.address_check())(peer.ip()),
            // A name that only the proxy can resolve may be a public host.
            None => self.address_policy.is_public_host(response.url()).await.unwrap_or(true),
        };
        match (is_public, self.has_proxy) {
            (false, _) => AllowedHosts::Anywhere,
            (true, false) => AllowedHosts::PublicOnly,
            (true, true) => AllowedHosts::PublicByProxy,
        }
    }

    /// Begins a GET request that is limited to `reach`.
    ///
    /// # Errors
    /// Returns an error if no client can be built or `reach` forbids the URL.
    pub(super) async fn build_get_request(
        &self,
        timeout: Duration,
        url: &Url,
        reach: AllowedHosts,
    ) -> Result<RequestBuilder, FetchError> {
        if reach == AllowedHosts::PublicOnly {
            return self
                .public_only_client(timeout)?
                .build_get_request(url)
                .map_err(not_public_failure);
        }
        self.check_host_allowed(url, reach).await?;
        Ok(self.client_with_timeout(timeout)?.get(url.clone()))
    }

    fn public_only_client(&self, timeout: Duration) -> Result<PublicOnlyHttpClient, FetchError> {
        get_or_build_client(&self.public_only, timeout, |connecting| {
            PublicOnlyHttpClient::without_redirects(
                self.address_policy.clone(),
                self.client_builder(connecting),
            )
        })
    }

    async fn check_host_allowed(&self, url: &Url, reach: AllowedHosts) -> Result<(), FetchError> {
        let is_name_checked = reach == AllowedHosts::PublicByProxy;
        if is_name_checked && self.address_policy.is_public_host(url).await == Some(false) {
            return Err(not_public_failure(UrlRejection::Host));
        }
        Ok(())
    }

    /// Begins a POST request. Only URLs that the operator configured receive POST requests.
    ///
    /// # Errors
    /// Returns an error if no client can be built, `reach` forbids the URL, or an untrusted user supplied the URL.
    pub(super) async fn build_post_request(
        &self,
        feed: &FeedConfig,
        url: &Url,
        post: &PostRequest,
        reach: AllowedHosts,
    ) -> Result<RequestBuilder, FetchError> {
        if feed.public_only {
            let detail = "not requested: POST requests are not sent to untrusted URLs";
            return Err(FetchError::new(FailureCode::Connect, detail));
        }
        let request = if reach == AllowedHosts::PublicOnly {
            self.public_only_client(feed.timeout)?
                .build_post_request(url)
                .map_err(not_public_failure)?
        } else {
            self.check_host_allowed(url, reach).await?;
            self.client_with_timeout(feed.timeout)?.post(url.clone())
        };
        let request = request.header(http::header::CONTENT_TYPE, post.content_type);
        let request = match post.action {
            Some(action) => request.header(SOAP_ACTION, format!("\"{action}\"")),
            None => request,
        };
        Ok(request.body(post.body.clone()))
    }

    /// Returns the client of feeds with this timeout. Its connect timeout is shorter, so that the two can be
    /// distinguished.
    ///
    /// # Errors
    /// Returns an error if the client cannot be built.
    pub(super) fn client_with_timeout(
        &self,
        timeout: Duration,
    ) -> Result<reqwest::Client, FetchError> {
        get_or_build_client(&self.by_time, timeout, |connecting| {
            let builder = self.client_builder(connecting).redirect(Policy::none());
            builder.dns_resolver(Arc::new(SystemResolver)).build()
        })
    }

    fn client_builder(&self, connecting: Duration) -> ClientBuilder {
        reqwest::Client::builder()
            .user_agent(self.name.clone())
            .default_headers(HeaderMap::from_iter([(CLIENT_NAME, self.name.clone())]))
            .connect_timeout(connecting)
    }
}

/// Returns true if the environment names a proxy, by the rules of reqwest.
fn has_proxy_in_environment(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    ["http_proxy", "https_proxy", "all_proxy"].iter().any(|name| {
        let named = |name: &str| variable(name).is_some_and(|proxy| !proxy.is_empty());
        named(name) || named(&name.to_uppercase())
    })
}

/// Removes user and password from a URL and returns them decoded.
pub(super) fn take_url_credentials(url: &mut Url) -> Option<(String, Option<String>)> {
    let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let (user, password) = (decode(url.username()), url.password().map(decode));
    if user.is_empty() && password.is_none() {
        return None;
    }
    // Both calls fail only for a URL without a host, which has no user or password.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    Some((user, password))
}

/// Returns the client for a timeout, built on first use.
fn get_or_build_client<C: Clone>(
    clients: &ClientsByTimeout<C>,
    timeout: Duration,
    build: impl FnOnce(Duration) -> reqwest::Result<C>,
) -> Result<C, FetchError> {
    let connecting = CONNECT_TIME_MAX.min(timeout.mul_f64(CONNECT_SHARE));
    let mut clients = clients.lock();
    let build = || build(connecting).map_err(|error| root_cause(&error).into());
    let client = clients.entry(connecting).or_insert_with(build);
    client.clone().map_err(|why| {
        FetchError::new(FailureCode::Tls, format!("the HTTP client cannot be created: {why}"))
    })
}

fn not_public_failure(why: UrlRejection) -> FetchError {
    FetchError::new(FailureCode::Connect, format!("not requested: {why}"))
}

/// Sends a request until an answer begins.
///
/// # Errors
/// Returns the step of connecting that failed, or that no reply came.
pub(super) async fn send_request(request: RequestBuilder) -> Result<Response, FetchError> {
    let is_resolving = Arc::new(AtomicBool::new(false));
    let answer = run_with_dns_lookup_marker(Arc::clone(&is_resolving), request.send()).await;
    answer.map_err(|error| {
        classify_request_error(error.without_url(), is_resolving.load(Ordering::Relaxed))
    })
}

/// The system's resolver, with failures distinguishable from other connection failures.
#[derive(Debug)]
struct SystemResolver;

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct DnsLookupError(String);

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let is_resolving = current_dns_lookup_marker();
        Box::pin(async move {
            is_resolving.store(true, Ordering::Relaxed);
            let found = tokio::net::lookup_host((name.as_str(), 0)).await;
            is_resolving.store(false, Ordering::Relaxed);
            match found {
                Ok(addresses) => Ok(Box::new(addresses.collect::<Vec<_>>().into_iter()) as Addrs),
                Err(error) => Err(DnsLookupError(error.to_string()).into()),
            }
        })
    }
}

fn classify_request_error(error: reqwest::Error, is_resolving: bool) -> FetchError {
    if error.is_timeout() {
        let (phase, what) = match is_resolving {
            true => (FetchPhase::Dns, "resolving the host name took too long"),
            false => (FetchPhase::Connect, "connecting took too long"),
        };
        return FetchError::new(FailureCode::Timeout, what).with_phase(phase);
    }
    if let Some(failure) = find_cause_with_failure_code(&error) {
        return failure;
    }
    let cause = root_cause(&error);
    if error.is_connect() {
        return FetchError::new(FailureCode::Connect, format!("cannot connect: {cause}"));
    }
    let detail = format!("no response on the connection: {cause}");
    FetchError::new(FailureCode::Connect, detail).with_phase(FetchPhase::Wait)
}

/// Searches the chain of causes for one that has its own failure code.
fn find_cause_with_failure_code(error: &(dyn Error + 'static)) -> Option<FetchError> {
    if error.is::<DnsLookupError>() || error.is::<UnknownHost>() {
        let detail = format!("the host name cannot be resolved: {error}");
        return Some(FetchError::new(FailureCode::Dns, detail));
    }
    if let Some(why) = error.downcast_ref::<UrlRejection>() {
        return Some(not_public_failure(*why));
    }
    if error.is::<rustls::Error>() {
        return Some(FetchError::new(
            FailureCode::Tls,
            format!("the TLS handshake failed: {error}"),
        ));
    }
    // The error wrapped by an `io::Error` is not its source, so it is searched separately.
    let wrapped = error.downcast_ref::<io::Error>().and_then(|error| error.get_ref());
    let wrapped = wrapped.and_then(|error| find_cause_with_failure_code(error));
    wrapped.or_else(|| error.source().and_then(find_cause_with_failure_code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxy_variables_may_be_lowercase_or_uppercase() {
        let has = |name: &'static str, value: &'static str| {
            has_proxy_in_environment(move |variable| {
                (variable == name).then(|| OsString::from(value))
            })
        };
        assert!(has("HTTPS_PROXY", "http://proxy") && has("http_proxy", "http://proxy"));
        assert!(has("ALL_PROXY", "socks5://proxy"));
        assert!(!has("HTTPS_PROXY", "") && !has("NO_PROXY", "*"));
    }
}
