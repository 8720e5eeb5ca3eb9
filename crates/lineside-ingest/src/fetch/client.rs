//! The client that all feeds share, and how it says where connecting ended.

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

use super::{FailureCode, FetchError, FetchPhase, PostRequest, failure::root_cause};
use crate::{
    config::FeedConfig,
    dns_lookup::{lookup_marker, with_lookup_marker},
    limits::{CONNECT_SHARE, CONNECT_TIME_MAX},
    public_only::{AddressPolicy, NotPublic, PublicOnly, UnknownHost},
};

/// Which hosts a request may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostReach {
    /// Any host: the operator named the address.
    Anywhere,
    /// Hosts of the public internet: a stranger named the address, or a public producer leads there.
    PublicOnly,
    /// The same where a proxy of the environment connects, which looks names up by itself: the host that the address names
    /// is judged.
    PublicByProxy,
}

/// What requests are sent by, or why there is nothing (for example no trusted certificates on this machine); one for each
/// time that connecting may take.
///
/// Bound: one per timeout that feeds are configured with.
type Clients<C> = Arc<Mutex<BTreeMap<Duration, Result<C, Arc<str>>>>>;

/// How Entur's and other services want to be told who asks.
const CLIENT_NAME: HeaderName = HeaderName::from_static("et-client-name");

/// What SOAP 1.1 names an operation by.
const SOAP_ACTION: HeaderName = HeaderName::from_static("soapaction");

/// The clients that all feeds share.
#[derive(Clone, Debug)]
pub(crate) struct HttpClient {
    name: HeaderValue,
    /// One for each timeout that feeds have had since the start.
    by_time: Clients<reqwest::Client>,
    /// For addresses that strangers named.
    public_only: Clients<PublicOnly>,
    judge: AddressPolicy,
    /// Whether the environment names a proxy: then the peer of a connection is the proxy.
    has_proxy: bool,
}

impl HttpClient {
    /// Builds the client; `name` tells producers who asks.
    pub(crate) fn new(name: &str) -> HttpClient {
        let usual = HeaderValue::from_static(concat!("lineside/", env!("CARGO_PKG_VERSION")));
        let named = HeaderValue::from_str(name).ok().filter(|_| !name.is_empty());
        HttpClient {
            name: named.unwrap_or(usual),
            by_time: Arc::default(),
            public_only: Arc::default(),
            judge: AddressPolicy::default(),
            has_proxy: has_proxy(|name| std::env::var_os(name)),
        }
    }

    /// The same, where strangers may name other addresses than those of the internet.
    #[cfg(test)]
    pub(super) fn with_address_policy(self, judge: AddressPolicy) -> HttpClient {
        HttpClient { judge, has_proxy: false, ..self }
    }

    /// The same, as if a proxy of the environment connected.
    #[cfg(test)]
    pub(super) fn with_proxy(self) -> HttpClient {
        HttpClient { has_proxy: true, ..self }
    }

    /// How far requests of this feed may reach at first.
    pub(super) fn initial_reach(feed: &FeedConfig) -> HostReach {
        if feed.public_only { HostReach::PublicOnly } else { HostReach::Anywhere }
    }

    /// How far the next request may reach after this reply. A host of the public internet must not lead to private
    /// addresses, neither by a redirect nor by its name: whoever runs it would read the operator's network by it.
    pub(super) async fn reach_after(&self, response: &Response, reach: HostReach) -> HostReach {
        if reach != HostReach::Anywhere {
            return reach;
        }
        let peer = response.remote_addr().filter(|_| !self.has_proxy);
        let is_public = match peer {
            Some(peer) => (self.judge.is_allowed())(peer.ip()),
            // A name that only the proxy can look up may be anybody's.
            None => self.judge.is_public_host(response.url()).await.unwrap_or(true),
        };
        match (is_public, self.has_proxy) {
            (false, _) => HostReach::Anywhere,
            (true, false) => HostReach::PublicOnly,
            (true, true) => HostReach::PublicByProxy,
        }
    }

    /// Begins a GET request that is limited to `reach`.
    ///
    /// # Errors
    /// If there is no client, or the address is out of reach.
    pub(super) async fn begin_get(
        &self,
        timeout: Duration,
        url: &Url,
        reach: HostReach,
    ) -> Result<RequestBuilder, FetchError> {
        if reach == HostReach::PublicOnly {
            return self.public_only_client(timeout)?.begin_get(url).map_err(not_public_failure);
        }
        self.check_reach(url, reach).await?;
        Ok(self.client_with_timeout(timeout)?.get(url.clone()))
    }

    fn public_only_client(&self, timeout: Duration) -> Result<PublicOnly, FetchError> {
        cached_client(&self.public_only, timeout, |connecting| {
            PublicOnly::without_redirects(self.judge.clone(), self.client_builder(connecting))
        })
    }

    async fn check_reach(&self, url: &Url, reach: HostReach) -> Result<(), FetchError> {
        let is_judged = reach == HostReach::PublicByProxy;
        if is_judged && self.judge.is_public_host(url).await == Some(false) {
            return Err(not_public_failure(NotPublic::Host));
        }
        Ok(())
    }

    /// Begins a request that sends something. Only the operator's own words are sent, to addresses that the operator named.
    ///
    /// # Errors
    /// If there is no client, or a stranger named the address.
    pub(super) async fn begin_post(
        &self,
        feed: &FeedConfig,
        url: &Url,
        post: &PostRequest,
        reach: HostReach,
    ) -> Result<RequestBuilder, FetchError> {
        if feed.public_only {
            let detail = "not asked: nothing is sent to addresses of strangers";
            return Err(FetchError::new(FailureCode::Connect, detail));
        }
        let request = if reach == HostReach::PublicOnly {
            self.public_only_client(feed.timeout)?.begin_post(url).map_err(not_public_failure)?
        } else {
            self.check_reach(url, reach).await?;
            self.client_with_timeout(feed.timeout)?.post(url.clone())
        };
        let request = request.header(http::header::CONTENT_TYPE, post.content_type);
        let request = match post.action {
            Some(action) => request.header(SOAP_ACTION, format!("\"{action}\"")),
            None => request,
        };
        Ok(request.body(post.body.clone()))
    }

    /// The client of feeds with this timeout. Connecting ends before it does, so that the one can be told from the
    /// other.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn client_with_timeout(
        &self,
        timeout: Duration,
    ) -> Result<reqwest::Client, FetchError> {
        cached_client(&self.by_time, timeout, |connecting| {
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

/// Whether the environment names a proxy, as reqwest reads it.
fn has_proxy(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    ["http_proxy", "https_proxy", "all_proxy"].iter().any(|name| {
        let named = |name: &str| variable(name).is_some_and(|proxy| !proxy.is_empty());
        named(name) || named(&name.to_uppercase())
    })
}

/// Takes the user and the password out of an address, as they are sent.
pub(super) fn take_url_credentials(url: &mut Url) -> Option<(String, Option<String>)> {
    let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let (user, password) = (decode(url.username()), url.password().map(decode));
    if user.is_empty() && password.is_none() {
        return None;
    }
    // Both fail only for an address without a host, which has neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    Some((user, password))
}

/// The client for this timeout, built if there is none yet.
fn cached_client<C: Clone>(
    clients: &Clients<C>,
    timeout: Duration,
    build: impl FnOnce(Duration) -> reqwest::Result<C>,
) -> Result<C, FetchError> {
    let connecting = CONNECT_TIME_MAX.min(timeout.mul_f64(CONNECT_SHARE));
    let mut clients = clients.lock();
    let build = || build(connecting).map_err(|error| root_cause(&error).into());
    let client = clients.entry(connecting).or_insert_with(build);
    client.clone().map_err(|why| {
        FetchError::new(FailureCode::Tls, format!("no client could be set up: {why}"))
    })
}

fn not_public_failure(why: NotPublic) -> FetchError {
    FetchError::new(FailureCode::Connect, format!("not asked: {why}"))
}

/// Sends a request until an answer begins.
///
/// # Errors
/// Which step of connecting failed, or that no answer came.
pub(super) async fn send_request(request: RequestBuilder) -> Result<Response, FetchError> {
    let looks_up = Arc::new(AtomicBool::new(false));
    let answer = with_lookup_marker(Arc::clone(&looks_up), request.send()).await;
    answer.map_err(|error| classify_error(error.without_url(), looks_up.load(Ordering::Relaxed)))
}

/// The system's resolver, with failures that can be told from other failures to connect.
#[derive(Debug)]
struct SystemResolver;

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct DnsFailure(String);

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let looks_up = lookup_marker();
        Box::pin(async move {
            looks_up.store(true, Ordering::Relaxed);
            let found = tokio::net::lookup_host((name.as_str(), 0)).await;
            looks_up.store(false, Ordering::Relaxed);
            match found {
                Ok(addresses) => Ok(Box::new(addresses.collect::<Vec<_>>().into_iter()) as Addrs),
                Err(error) => Err(DnsFailure(error.to_string()).into()),
            }
        })
    }
}

fn classify_error(error: reqwest::Error, looks_up: bool) -> FetchError {
    if error.is_timeout() {
        let (phase, what) = match looks_up {
            true => (FetchPhase::Dns, "finding the host's address took too long"),
            false => (FetchPhase::Connect, "connecting took too long"),
        };
        return FetchError::new(FailureCode::Timeout, what).with_phase(phase);
    }
    if let Some(failure) = find_known_cause(&error) {
        return failure;
    }
    let cause = root_cause(&error);
    if error.is_connect() {
        return FetchError::new(FailureCode::Connect, format!("cannot connect: {cause}"));
    }
    let detail = format!("no answer on the connection: {cause}");
    FetchError::new(FailureCode::Connect, detail).with_phase(FetchPhase::Wait)
}

/// Looks for a cause that has a code of its own, layer by layer.
fn find_known_cause(error: &(dyn Error + 'static)) -> Option<FetchError> {
    if error.is::<DnsFailure>() || error.is::<UnknownHost>() {
        let detail = format!("the host has no address: {error}");
        return Some(FetchError::new(FailureCode::Dns, detail));
    }
    if let Some(why) = error.downcast_ref::<NotPublic>() {
        return Some(not_public_failure(*why));
    }
    if error.is::<rustls::Error>() {
        return Some(FetchError::new(FailureCode::Tls, format!("no trusted connection: {error}")));
    }
    // What an io::Error wraps is not its source, so it is looked into by itself.
    let wrapped = error.downcast_ref::<io::Error>().and_then(|error| error.get_ref());
    let wrapped = wrapped.and_then(|error| find_known_cause(error));
    wrapped.or_else(|| error.source().and_then(find_known_cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_named_in_small_letters_or_in_capitals() {
        let has = |name: &'static str, value: &'static str| {
            has_proxy(move |asked| (asked == name).then(|| OsString::from(value)))
        };
        assert!(has("HTTPS_PROXY", "http://proxy") && has("http_proxy", "http://proxy"));
        assert!(has("ALL_PROXY", "socks5://proxy"));
        assert!(!has("HTTPS_PROXY", "") && !has("NO_PROXY", "*"));
    }
}
