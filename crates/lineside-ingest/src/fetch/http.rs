//! HTTP: one client for all feeds, conditional requests, and an end to size, time and redirects.
//!
//! Redirects are followed by hand, because the headers that carry a feed's secrets may go to the origin that the
//! operator named and to no other.

use std::{error::Error, future::Future, io, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use lineside_sync::{Clock, UnixMillis};
use reqwest::{
    Response,
    dns::{Addrs, Name, Resolve, Resolving},
    redirect::Policy,
};
use url::Url;

use super::{
    Body, Failure, FailureCode, Fetched, advice::advice, failure::root_cause, inflate::Collector,
};
use crate::{
    budget::{Budgets, Turn},
    config::SharedConfig,
    limits::{CONNECT_TIME_MAX, FETCH_TIME_MAX, REDIRECTS_MAX},
    schedule::Advice,
    source::host_of,
};

/// The client that all feeds share, or why there is none (for example no trusted certificates on this machine).
pub(crate) type HttpClient = Result<reqwest::Client, Arc<str>>;

/// How Entur's and other services want to be told who asks.
const CLIENT_NAME: HeaderName = HeaderName::from_static("et-client-name");

/// Builds the client; `name` tells producers who asks.
pub(crate) fn client(name: &str) -> HttpClient {
    let usual = HeaderValue::from_static(concat!("lineside/", env!("CARGO_PKG_VERSION")));
    let named = HeaderValue::from_str(name).ok().filter(|_| !name.is_empty());
    let name = named.unwrap_or(usual);
    reqwest::Client::builder()
        .user_agent(name.clone())
        .default_headers(HeaderMap::from_iter([(CLIENT_NAME, name)]))
        .redirect(Policy::none())
        .connect_timeout(CONNECT_TIME_MAX)
        .dns_resolver(Arc::new(Resolver))
        .build()
        .map_err(|error| root_cause(&error).into())
}

/// The system's resolver, with failures that can be told from other failures to connect.
#[derive(Debug)]
struct Resolver;

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct DnsFailure(String);

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            match tokio::net::lookup_host((name.as_str(), 0)).await {
                Ok(addresses) => Ok(Box::new(addresses.collect::<Vec<_>>().into_iter()) as Addrs),
                Err(error) => Err(DnsFailure(error.to_string()).into()),
            }
        })
    }
}

/// Fetches one address.
#[derive(Debug)]
pub(crate) struct HttpFetcher {
    url: Url,
    config: SharedConfig,
    client: HttpClient,
    clock: Arc<dyn Clock>,
    budgets: Arc<Budgets>,
    etag: Option<HeaderValue>,
    last_modified: Option<HeaderValue>,
    /// What the last reply said about the next request.
    advice: Advice,
}

impl HttpFetcher {
    pub(super) fn new(
        url: Url,
        config: SharedConfig,
        client: HttpClient,
        clock: Arc<dyn Clock>,
        budgets: Arc<Budgets>,
    ) -> HttpFetcher {
        let mut url = url;
        if !config.query.is_empty() {
            let secrets = config.query.iter().map(|(name, value)| (name.as_str(), value.reveal()));
            url.query_pairs_mut().extend_pairs(secrets);
        }
        let advice = Advice::default();
        let (etag, last_modified) = (None, None);
        HttpFetcher { url, config, client, clock, budgets, etag, last_modified, advice }
    }

    pub(super) fn advice(&self) -> Advice {
        self.advice
    }

    pub(super) fn forget(&mut self) {
        self.etag = None;
        self.last_modified = None;
    }

    pub(super) async fn fetch(&mut self, turn: Turn) -> Result<Fetched, Failure> {
        self.advice = Advice::default();
        let started = self.clock.monotonic();
        let whole = self.clock.sleep_until(started + FETCH_TIME_MAX);
        let fetch = self.fetch_once(turn);
        tokio::select! {
            biased;
            result = fetch => result,
            () = whole => Err(timeout("the whole fetch", FETCH_TIME_MAX)),
        }
    }

    async fn fetch_once(&mut self, turn: Turn) -> Result<Fetched, Failure> {
        // The turn ends with the last byte of the reply.
        let (response, _turn) = self.send(turn).await?;
        let status = response.status();
        self.advice = advice(status, response.headers(), self.clock.wall());
        if status == StatusCode::NOT_MODIFIED
            && (self.etag.is_some() || self.last_modified.is_some())
        {
            return Ok(Fetched::NotModified);
        }
        if status == StatusCode::NO_CONTENT {
            return Err(Failure::new(FailureCode::Empty, "the answer 204 has no body"));
        }
        if status != StatusCode::OK {
            return Err(Failure::new(
                FailureCode::Http(status.as_u16()),
                format!("the answer was {status}"),
            ));
        }
        let headers = response.headers().clone();
        let bytes = self.read(response).await?;
        self.etag = headers.get(header::ETAG).cloned();
        self.last_modified = headers.get(header::LAST_MODIFIED).cloned();
        Ok(Fetched::Body(Body {
            bytes,
            content_type: text(&headers, header::CONTENT_TYPE),
            last_modified: text(&headers, header::LAST_MODIFIED).as_deref().and_then(parse_date),
            file_name: self.config.url.file_name().map(str::to_owned),
        }))
    }

    /// Sends the request, following redirects, until an answer begins.
    async fn send(&self, turn: Turn) -> Result<(Response, Turn), Failure> {
        let mut turn = turn;
        let mut url = self.url.clone();
        for _ in 0..=REDIRECTS_MAX {
            let response = self.send_to(&url).await?;
            let location = response.headers().get(header::LOCATION);
            let next = match location.and_then(|location| location.to_str().ok()) {
                Some(location) if is_redirect(response.status()) => url.join(location).ok(),
                _ => return Ok((response, turn)),
            };
            match next {
                Some(next) if matches!(next.scheme(), "http" | "https") => url = next,
                _ => return Ok((response, turn)),
            }
            // Whoever is led to may be asked by others at this moment, so the turn here ends first.
            drop((response, turn));
            turn = self.turn_at(&url).await;
        }
        Err(Failure::new(
            FailureCode::Http(StatusCode::FOUND.as_u16()),
            format!("more than {REDIRECTS_MAX} redirects"),
        ))
    }

    async fn turn_at(&self, url: &Url) -> Turn {
        let place = self.budgets.place(&self.config, host_of(url).as_deref());
        let now = self.clock.monotonic();
        let booking = place.book(now, now);
        self.clock.sleep_until(booking.at()).await;
        booking.turn(Arc::clone(&self.clock)).await
    }

    async fn send_to(&self, url: &Url) -> Result<Response, Failure> {
        let client = self.client.as_ref().map_err(|why| {
            Failure::new(FailureCode::Tls, format!("no client could be set up: {why}"))
        })?;
        let mut request = client.get(url.clone()).header(header::ACCEPT_ENCODING, "gzip");
        if url.origin() == self.url.origin() {
            request = request.headers(self.secret_headers()?);
        }
        if let Some(etag) = &self.etag {
            request = request.header(header::IF_NONE_MATCH, etag);
        }
        if let Some(date) = &self.last_modified {
            request = request.header(header::IF_MODIFIED_SINCE, date);
        }
        let answer = self.within("the answer", request.send()).await?;
        answer.map_err(|error| classify(error.without_url()))
    }

    fn secret_headers(&self) -> Result<HeaderMap, Failure> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.config.headers {
            let header = HeaderName::from_bytes(name.as_bytes()).ok();
            let value = HeaderValue::from_str(value.reveal()).ok();
            let (Some(header), Some(mut value)) = (header, value) else {
                let detail = format!("the configured header {name:?} cannot be sent");
                return Err(Failure::new(FailureCode::Connect, detail));
            };
            value.set_sensitive(true);
            headers.append(header, value);
        }
        Ok(headers)
    }

    async fn read(&self, mut response: Response) -> Result<Bytes, Failure> {
        let max = self.config.max_bytes;
        if response.content_length().is_some_and(|length| length > max) {
            return Err(Failure::too_large(max));
        }
        let encoding = text(response.headers(), header::CONTENT_ENCODING).unwrap_or_default();
        let gzip = match encoding.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => false,
            "gzip" | "x-gzip" => true,
            other => {
                let detail = format!("the body is encoded as {other:?}, which was not asked for");
                return Err(Failure::new(FailureCode::Decode, detail));
            }
        };
        let mut collector = Collector::new(gzip, max);
        loop {
            match self.within("more of the body", response.chunk()).await? {
                Ok(Some(piece)) => collector.take(&piece)?,
                Ok(None) => return Ok(collector.finish()?.into()),
                Err(error) => {
                    let cause = root_cause(&error.without_url());
                    let detail = format!("the body broke off: {cause}");
                    return Err(Failure::new(FailureCode::Truncated, detail));
                }
            }
        }
    }

    /// Waits for `future` no longer than the feed's timeout.
    async fn within<T>(&self, what: &str, future: impl Future<Output = T>) -> Result<T, Failure> {
        let limit = self.config.timeout;
        let deadline = self.clock.sleep_until(self.clock.monotonic() + limit);
        tokio::select! {
            biased;
            done = future => Ok(done),
            () = deadline => Err(timeout(what, limit)),
        }
    }
}

fn timeout(what: &str, limit: Duration) -> Failure {
    Failure::new(
        FailureCode::Timeout,
        format!("{what} did not come within {} s", limit.as_secs_f32()),
    )
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

fn classify(error: reqwest::Error) -> Failure {
    if error.is_timeout() {
        return Failure::new(FailureCode::Timeout, "connecting took too long");
    }
    if let Some(failure) = known_cause(&error) {
        return failure;
    }
    let cause = root_cause(&error);
    let what = if error.is_connect() { "no connection" } else { "no answer on the connection" };
    Failure::new(FailureCode::Connect, format!("{what}: {cause}"))
}

/// Looks for a cause that has a code of its own, layer by layer.
fn known_cause(error: &(dyn Error + 'static)) -> Option<Failure> {
    if error.is::<DnsFailure>() {
        let detail = format!("the host has no address: {error}");
        return Some(Failure::new(FailureCode::Dns, detail));
    }
    if error.is::<rustls::Error>() {
        return Some(Failure::new(FailureCode::Tls, format!("no trusted connection: {error}")));
    }
    // What an io::Error wraps is not its source, so it is looked into by itself.
    let wrapped = error.downcast_ref::<io::Error>().and_then(|error| error.get_ref());
    let wrapped = wrapped.and_then(|error| known_cause(error));
    wrapped.or_else(|| error.source().and_then(known_cause))
}

pub(super) fn text(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

pub(super) fn parse_date(text: &str) -> Option<UnixMillis> {
    let time = httpdate::parse_http_date(text).ok()?;
    let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(UnixMillis)
}
