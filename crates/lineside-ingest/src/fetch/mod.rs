//! Fetching: one source's bytes as they are now, or why they could not be had.
//!
//! A fetcher knows how to ask politely (conditional requests, one client for all) and how to give up (size, time); it
//! does not know what the bytes mean, nor when to ask again.

mod advice;
mod client;
mod failure;
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
mod strangers_tests;
mod token;
mod permit_waits;

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use lineside_sync::{Clock, UnixMillis};
use tokio::sync::Semaphore;
use url::Url;

pub(crate) use failure::FetchError;
pub use failure::{FailureCode, FetchFailure, FetchPhase};
pub use folder::pack_folder;
pub use probe::{fetch_into, fetch_once, probe_format};
pub(crate) use redact::Redactor;
pub(crate) use replay::ReplayClock;

use self::{client::HttpClient, token::TokenSources};
use crate::{
    config::{FeedConfig, SharedConfig},
    poll_schedule::PollAdvice,
    rate_limit::{RateLimitBucket, RateLimitPermit, RateLimiter},
    snapshot_store::CacheValidators,
    source::{Secret, SourceLocation, url_host},
};

/// How a source is asked, beyond its address.
#[derive(Clone, Debug, Default)]
pub(crate) enum SourceRequest {
    /// By its address alone.
    #[default]
    Plain,
    /// With one more parameter in the address, by name and value. Answers are of the moment: none is conditional.
    Parameter(&'static str, String),
    /// By POST.
    Post(PostRequest),
}

/// What is sent to a source.
#[derive(Clone)]
pub(crate) struct PostRequest {
    pub(crate) body: Bytes,
    pub(crate) content_type: &'static str,
    /// The operation of SOAP that it asks for.
    pub(crate) action: Option<&'static str>,
    /// What is in it that nobody else is to see, beyond what the configuration hides.
    pub(crate) secret: Option<Secret>,
}

/// What is sent may hold who asks, which is a secret.
impl fmt::Debug for PostRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Post").field("action", &self.action).finish_non_exhaustive()
    }
}

/// What a fetch brought.
#[derive(Debug)]
pub(crate) enum FetchOutcome {
    /// The source says that nothing changed since the last [`FetchOutcome::Body`].
    NotModified,
    /// The source answered with this status, and with nothing in the body.
    Nothing(u16),
    /// A whole body.
    Body(FetchedBody),
}

/// A body with what the source said about it.
#[derive(Debug)]
pub(crate) struct FetchedBody {
    pub(crate) bytes: Bytes,
    pub(crate) content_type: Option<String>,
    pub(crate) last_modified: Option<UnixMillis>,
    pub(crate) file_name: Option<String>,
    /// The status of the reply, if it came over HTTP.
    pub(crate) status: Option<u16>,
}

/// Reads the body of a reply with an error status, for protocols that define one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ErrorBodyReader {
    /// Returns true if a body with status 500 is an answer of the protocol, as with SOAP.
    pub(crate) is_answer: fn(&[u8]) -> bool,
    /// Finds the producer's reason for the error.
    pub(crate) find_reason: fn(&[u8]) -> Option<String>,
    /// Most bytes of a body that are read for the reason.
    pub(crate) reason_bytes_max: usize,
}

/// What all fetchers share.
#[derive(Clone, Debug)]
pub(crate) struct FetchContext {
    client: HttpClient,
    clock: Arc<dyn Clock>,
    budgets: Arc<RateLimiter>,
    tokens: Arc<TokenSources>,
    /// One source test at a time: a national schedule takes hundreds of megabytes while it is decoded.
    pub(crate) test_slot: Arc<Semaphore>,
}

impl FetchContext {
    /// Fetchers that ask as `client_name`, within these budgets.
    pub(crate) fn new(
        client_name: &str,
        clock: Arc<dyn Clock>,
        budgets: Arc<RateLimiter>,
    ) -> FetchContext {
        let (client, test_slot) = (HttpClient::new(client_name), Arc::new(Semaphore::new(1)));
        FetchContext { client, clock, budgets, tokens: Arc::default(), test_slot }
    }

    /// How much producers are asked.
    pub(crate) fn rate_limiter(&self) -> &RateLimiter {
        &self.budgets
    }

    /// Where a feed's requests to its own host are counted.
    pub(crate) fn bucket_for_feed(&self, feed: &FeedConfig) -> RateLimitBucket {
        self.budgets.bucket_for_feed(feed, feed.url.host_with_port().as_deref())
    }

    /// Waits for a turn at the host of `url`, for one request for the sake of `feed`.
    async fn wait_for_permit(&self, feed: &FeedConfig, url: &Url) -> RateLimitPermit {
        let place = self.budgets.bucket_for_feed(feed, url_host(url).as_deref());
        let now = self.clock.monotonic();
        let booking = place.reserve_from(now, now);
        self.clock.sleep_until(booking.reserved_at()).await;
        booking.wait_for_permit(Arc::clone(&self.clock)).await
    }
}

/// One source's fetcher; it remembers the validators of the last body.
#[derive(Debug)]
pub(crate) enum SourceFetcher {
    Http(Box<http::HttpFetcher>),
    Path(Box<path::PathFetcher>),
    Replay(replay::ReplayFetcher),
}

impl SourceFetcher {
    pub(crate) fn new(config: &SharedConfig, shared: &FetchContext) -> SourceFetcher {
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

    /// Goes on with the same source under another configuration; the validators stay.
    pub(crate) fn reconfigure(&mut self, config: &SharedConfig, shared: &FetchContext) {
        let max = config.body_bytes_max();
        match self {
            SourceFetcher::Http(fetcher) => fetcher.reconfigure(Arc::clone(config), shared),
            SourceFetcher::Path(fetcher) => fetcher.set_max_bytes(max),
            SourceFetcher::Replay(fetcher) => fetcher.max = max,
        }
    }

    /// Sets the reader of error replies; sources other than HTTP have none.
    pub(crate) fn set_error_bodies(&mut self, reader: Option<ErrorBodyReader>) {
        if let SourceFetcher::Http(fetcher) = self {
            fetcher.error_bodies = reader;
        }
    }

    /// How much of the last fetch went by while it waited for turns of ours.
    pub(crate) fn wait_time(&self) -> Duration {
        match self {
            SourceFetcher::Http(fetcher) => fetcher.wait_time(),
            _ => Duration::ZERO,
        }
    }

    /// Asks the source once, in the `turn` that the feed has with it. What is not asked over HTTP has no questions. A failure leaves the fetcher as it was.
    pub(crate) async fn fetch_source(
        &mut self,
        turn: RateLimitPermit,
        question: SourceRequest,
    ) -> Result<FetchOutcome, FetchError> {
        match self {
            SourceFetcher::Http(fetcher) => fetcher.fetch_url(turn, question).await,
            SourceFetcher::Path(fetcher) => fetcher.fetch_path().await,
            SourceFetcher::Replay(fetcher) => fetcher.fetch_frame().await,
        }
    }

    /// The body could not be used: ask for it whole the next time.
    pub(crate) fn forget_version(&mut self) {
        match self {
            SourceFetcher::Http(fetcher) => fetcher.forget_validators(),
            SourceFetcher::Path(fetcher) => fetcher.forget_version(),
            SourceFetcher::Replay(_) => {}
        }
    }

    /// Lets the next body go elsewhere, where it comes over HTTP.
    fn spool_next_body(&mut self, spool: spool::BodySpool) {
        if let SourceFetcher::Http(fetcher) = self {
            fetcher.spool_next_body(spool);
        }
    }

    /// What the source said of the last body, for whoever keeps it.
    pub(crate) fn validators(&self) -> CacheValidators {
        match self {
            SourceFetcher::Http(fetcher) => fetcher.validators(),
            _ => CacheValidators::default(),
        }
    }

    /// Goes on as after the body that these belong to.
    pub(crate) fn set_validators(&mut self, validators: &CacheValidators) {
        if let SourceFetcher::Http(fetcher) = self {
            fetcher.set_validators(validators);
        }
    }

    /// When the source itself knows that it will have something new.
    pub(crate) fn next_frame_in(&self) -> Option<Duration> {
        match self {
            SourceFetcher::Replay(fetcher) => fetcher.next_frame_in(),
            _ => None,
        }
    }

    /// The first bytes of a body that could not be used, as text that is safe to show.
    /// Nor does it show `key`, if there is one, whatever was asked last.
    pub(crate) fn redact_head(&self, bytes: &[u8], key: Option<&Secret>) -> String {
        match self {
            SourceFetcher::Http(fetcher) => fetcher.redact_head(bytes, key),
            _ => redact::Redactor::default().redact_bytes(bytes),
        }
    }

    /// The host that the last reply came from by a redirect, if it is not the feed's.
    pub(crate) fn other_host(&self) -> Option<&str> {
        match self {
            SourceFetcher::Http(fetcher) => fetcher.other_host(),
            _ => None,
        }
    }

    /// What the source said, in its last reply, about the next request.
    pub(crate) fn last_advice(&self) -> PollAdvice {
        match self {
            SourceFetcher::Http(fetcher) => fetcher.last_advice(),
            _ => PollAdvice::default(),
        }
    }

    /// The recorded time that passes in a replay.
    pub(crate) fn replay_clock(&self) -> Option<ReplayClock> {
        match self {
            SourceFetcher::Replay(fetcher) => fetcher.replay_clock(),
            _ => None,
        }
    }
}

/// Whether a text holds what only a feed's producer is to see.
pub(crate) fn contains_secret(feed: &FeedConfig, text: &str) -> bool {
    redact::Redactor::for_feed(feed, &[]).finds_secret(text)
}

/// Runs disk work where it may block. A panic there is a failure of this fetch alone.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, FetchError> + Send + 'static,
) -> Result<T, FetchError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => {
            Err(FetchError::new(FailureCode::Connect, format!("reading broke off: {error}")))
        }
    }
}
