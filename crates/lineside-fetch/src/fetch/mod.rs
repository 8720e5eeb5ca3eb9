//! Fetching: the current bytes of one source, or the failure.
//!
//! A fetcher handles conditional requests, rate limits, size limits and timeouts; it knows neither the meaning of the
//! bytes nor the poll schedule.

mod advice;
mod client;
mod file;
mod folder;
mod http;
mod inflate;
mod path;
mod probe;
mod redirect;
mod replay;
mod redact;
mod spool;
#[cfg(test)]
mod public_only_tests;
mod token;
mod permit_waits;

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use lineside_sync::{Clock, UnixMillis};
use tokio::sync::Semaphore;
use url::Url;

pub use folder::zip_schedule_folder;
pub use probe::{detect_source_format, fetch_once_into_writer, fetch_source_once};
pub use redact::SecretRedactor;
pub use replay::ReplayClock;

use self::{client::HttpClient, token::TokenSourceRegistry};
use crate::{
    feed_config::{FeedConfig, SharedFeedConfig},
    fetch_failure::{FailureCode, FetchError},
    poll_schedule::PollAdvice,
    rate_limit::{RateLimitBucket, RateLimitPermit, RateLimiter},
    snapshot_store::CacheValidators,
    source::{Secret, SourceLocation, url_host},
};

/// The kind of a request to a source.
#[derive(Clone, Debug, Default)]
pub enum SourceRequest {
    /// A plain request of the URL.
    #[default]
    Plain,
    /// An additional URL parameter with name and value. Never a conditional request: the reply belongs to the moment.
    Parameter(&'static str, String),
    Post(PostRequest),
}

/// The content of a POST request.
#[derive(Clone)]
pub struct PostRequest {
    pub body: Bytes,
    pub content_type: &'static str,
    /// The SOAP action.
    pub action: Option<&'static str>,
    /// A secret in the body, besides those of the configuration.
    pub secret: Option<Secret>,
}

/// Omits the body, which may contain a secret.
impl fmt::Debug for PostRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostRequest").field("action", &self.action).finish_non_exhaustive()
    }
}

/// The outcome of a successful fetch.
#[derive(Debug)]
pub enum FetchOutcome {
    /// The source reports no change since the last [`FetchOutcome::Body`].
    NotModified,
    /// A reply with this status and an empty body.
    Empty(u16),
    /// A complete body.
    Body(FetchedBody),
}

/// A body with its metadata.
#[derive(Debug)]
pub struct FetchedBody {
    pub bytes: Bytes,
    pub content_type: Option<String>,
    pub last_modified: Option<UnixMillis>,
    pub file_name: Option<String>,
    /// The HTTP status of the reply, if there was one.
    pub status: Option<u16>,
}

/// Reads the body of a reply with an error status, for protocols that define one.
#[derive(Clone, Copy, Debug)]
pub struct ErrorBodyReader {
    /// Returns true if a body with status 500 is an answer of the protocol, as with SOAP.
    pub is_answer: fn(&[u8]) -> bool,
    /// Finds the producer's reason for the error.
    pub find_reason: fn(&[u8]) -> Option<String>,
    /// Most bytes of a body that are read for the reason.
    pub reason_bytes_max: usize,
}

/// The parts that all fetchers share.
#[derive(Clone, Debug)]
pub struct SharedFetchContext {
    client: HttpClient,
    clock: Arc<dyn Clock>,
    rate_limiter: Arc<RateLimiter>,
    tokens: Arc<TokenSourceRegistry>,
    /// Permit for one source test at a time: a national schedule takes hundreds of megabytes while it is decoded.
    pub test_slot: Arc<Semaphore>,
}

impl SharedFetchContext {
    /// Creates the context with the client name sent to producers and the rate limits.
    pub fn new(
        user_agent: &str,
        clock: Arc<dyn Clock>,
        budgets: Arc<RateLimiter>,
    ) -> SharedFetchContext {
        let (client, test_slot) = (HttpClient::new(user_agent), Arc::new(Semaphore::new(1)));
        SharedFetchContext {
            client,
            clock,
            rate_limiter: budgets,
            tokens: Arc::default(),
            test_slot,
        }
    }

    /// Returns the rate limiter of requests to producers.
    pub fn rate_limiter(&self) -> &RateLimiter {
        &self.rate_limiter
    }

    /// Returns the bucket that counts a feed's requests to its own host.
    pub fn rate_limit_bucket_for_feed(&self, feed: &FeedConfig) -> RateLimitBucket {
        self.rate_limiter.bucket_for_feed(feed, feed.url.host_with_port().as_deref())
    }

    /// Waits for a permit for one request to the host of `url` on behalf of `feed`.
    async fn wait_for_rate_limit_permit(&self, feed: &FeedConfig, url: &Url) -> RateLimitPermit {
        let bucket = self.rate_limiter.bucket_for_feed(feed, url_host(url).as_deref());
        let now = self.clock.monotonic();
        let reservation = bucket.reserve_request_time(now, now);
        self.clock.sleep_until(reservation.reserved_time()).await;
        reservation.wait_for_permit(Arc::clone(&self.clock)).await
    }
}

/// The fetcher of one source; it stores the validators of the last body.
#[derive(Debug)]
pub enum SourceFetcher {
    Http(Box<http::HttpFetcher>),
    Path(Box<path::PathFetcher>),
    Replay(replay::ReplayFetcher),
}

impl SourceFetcher {
    pub fn new(config: &SharedFeedConfig, shared: &SharedFetchContext) -> SourceFetcher {
        let max = config.body_bytes_max();
        match &config.url {
            SourceLocation::Http(url) => {
                let (url, config) = (url.clone(), Arc::clone(config));
                SourceFetcher::Http(Box::new(http::HttpFetcher::new(url, config, shared.clone())))
            }
            SourceLocation::Path(path) => {
                SourceFetcher::Path(Box::new(path::PathFetcher::new(path.clone(), max)))
            }
            SourceLocation::Replay { dir, speed } => {
                let (dir, clock) = (dir.clone(), Arc::clone(&shared.clock));
                SourceFetcher::Replay(replay::ReplayFetcher::new(dir, *speed, max, clock))
            }
        }
    }

    /// Applies another configuration of the same source and keeps the validators.
    pub fn reconfigure(&mut self, config: &SharedFeedConfig, shared: &SharedFetchContext) {
        let max = config.body_bytes_max();
        match self {
            SourceFetcher::Http(fetcher) => fetcher.reconfigure(Arc::clone(config), shared),
            SourceFetcher::Path(fetcher) => fetcher.set_max_bytes(max),
            SourceFetcher::Replay(fetcher) => fetcher.max = max,
        }
    }

    /// Sets the reader of error replies; sources other than HTTP have none.
    pub fn set_error_body_reader(&mut self, reader: Option<ErrorBodyReader>) {
        if let SourceFetcher::Http(fetcher) = self {
            fetcher.error_bodies = reader;
        }
    }

    /// Returns the part of the last fetch that was spent waiting for permits of the rate limit.
    pub fn permit_wait_time(&self) -> Duration {
        match self {
            SourceFetcher::Http(fetcher) => fetcher.permit_wait_time(),
            _ => Duration::ZERO,
        }
    }

    /// Fetches the source once, with the feed's permit for its host. Sources other than HTTP ignore `question`. A
    /// failure leaves the fetcher unchanged.
    pub async fn fetch_source(
        &mut self,
        permit: RateLimitPermit,
        question: SourceRequest,
    ) -> Result<FetchOutcome, FetchError> {
        match self {
            SourceFetcher::Http(fetcher) => fetcher.fetch_url(permit, question).await,
            SourceFetcher::Path(fetcher) => fetcher.fetch_path().await,
            SourceFetcher::Replay(fetcher) => fetcher.fetch_due_frame().await,
        }
    }

    /// Forgets the validators after an unusable body, so that the next fetch requests a complete one.
    pub fn forget_fetched_version(&mut self) {
        match self {
            SourceFetcher::Http(fetcher) => fetcher.forget_validators(),
            SourceFetcher::Path(fetcher) => fetcher.forget_fetched_version(),
            SourceFetcher::Replay(_) => {}
        }
    }

    /// Streams the next HTTP body into `spool`.
    fn stream_next_body_into(&mut self, spool: spool::BodyStreamWriter) {
        if let SourceFetcher::Http(fetcher) = self {
            fetcher.stream_next_body_into(spool);
        }
    }

    /// Returns the validators of the last body, to be stored with it.
    pub fn cache_validators(&self) -> CacheValidators {
        match self {
            SourceFetcher::Http(fetcher) => fetcher.cache_validators(),
            _ => CacheValidators::default(),
        }
    }

    /// Restores the validators of an earlier body.
    pub fn set_cache_validators(&mut self, validators: &CacheValidators) {
        if let SourceFetcher::Http(fetcher) = self {
            fetcher.set_cache_validators(validators);
        }
    }

    /// Returns the time until the next frame of a replay; `None` for other sources.
    pub fn time_until_next_replay_frame(&self) -> Option<Duration> {
        match self {
            SourceFetcher::Replay(fetcher) => fetcher.time_until_next_frame(),
            _ => None,
        }
    }

    /// Returns the first bytes of an unusable body as displayable text with the feed's secrets and `key` redacted.
    pub fn redacted_body_start(&self, bytes: &[u8], key: Option<&Secret>) -> String {
        match self {
            SourceFetcher::Http(fetcher) => fetcher.redacted_body_start(bytes, key),
            _ => redact::SecretRedactor::default().redact_reply_prefix(bytes),
        }
    }

    /// Returns the host to which a redirect led, if it is not the feed's.
    pub fn redirected_host(&self) -> Option<&str> {
        match self {
            SourceFetcher::Http(fetcher) => fetcher.redirected_host(),
            _ => None,
        }
    }

    /// Returns the advice of the last reply about the next request.
    pub fn last_poll_advice(&self) -> PollAdvice {
        match self {
            SourceFetcher::Http(fetcher) => fetcher.last_poll_advice(),
            _ => PollAdvice::default(),
        }
    }

    /// Returns the clock of a replay; `None` for other sources.
    pub fn replay_clock(&self) -> Option<ReplayClock> {
        match self {
            SourceFetcher::Replay(fetcher) => fetcher.replay_clock(),
            _ => None,
        }
    }
}

/// Returns true if a text contains a secret of the feed.
pub fn contains_feed_secret(feed: &FeedConfig, text: &str) -> bool {
    redact::SecretRedactor::for_feed(feed, &[]).contains_secret(text)
}

/// Runs blocking disk work. A panic in it fails this fetch only.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, FetchError> + Send + 'static,
) -> Result<T, FetchError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(FetchError::new(
            FailureCode::Connect,
            format!("reading stopped because of a bug in Lineside: {error}"),
        )),
    }
}
