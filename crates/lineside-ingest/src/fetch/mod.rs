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
mod shown;
mod spool;
#[cfg(test)]
mod strangers_tests;
mod token;
mod waits;

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use lineside_sync::{Clock, UnixMillis};
use tokio::sync::Semaphore;
use url::Url;

pub(crate) use client::lookup_marker;
pub(crate) use failure::Failure;
pub use failure::{FailureCode, FetchFailure, Phase};
pub use folder::pack_folder;
pub use probe::{fetch_into, fetch_once, probe};
pub(crate) use replay::ReplayClock;
pub(crate) use shown::Hidden;

use self::{client::HttpClient, token::Tokens};
use crate::{
    budget::{Budgets, Place, Turn},
    config::{FeedConfig, SharedConfig},
    saved::Validators,
    schedule::Advice,
    source::{Location, Secret, host_of},
};

/// How a source is asked, beyond its address.
#[derive(Clone, Debug, Default)]
pub(crate) enum Question {
    /// By its address alone.
    #[default]
    Plain,
    /// With one more parameter in the address, by name and value. Answers are of the moment: none is conditional.
    Parameter(&'static str, String),
    /// By POST.
    Post(Post),
}

/// What is sent to a source.
#[derive(Clone)]
pub(crate) struct Post {
    pub(crate) body: Bytes,
    pub(crate) content_type: &'static str,
    /// The operation of SOAP that it asks for.
    pub(crate) action: Option<&'static str>,
    /// What is in it that nobody else is to see, beyond what the configuration hides.
    pub(crate) secret: Option<Secret>,
}

/// What is sent may hold who asks, which is a secret.
impl fmt::Debug for Post {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Post").field("action", &self.action).finish_non_exhaustive()
    }
}

/// What a fetch brought.
#[derive(Debug)]
pub(crate) enum Fetched {
    /// The source says that nothing changed since the last [`Fetched::Body`].
    NotModified,
    /// The source answered with this status, and with nothing in the body.
    Nothing(u16),
    /// A whole body.
    Body(Body),
}

/// A body with what the source said about it.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) bytes: Bytes,
    pub(crate) content_type: Option<String>,
    pub(crate) last_modified: Option<UnixMillis>,
    pub(crate) file_name: Option<String>,
    /// The status of the reply, if it came over HTTP.
    pub(crate) status: Option<u16>,
}

/// What all fetchers share.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    client: HttpClient,
    clock: Arc<dyn Clock>,
    budgets: Arc<Budgets>,
    tokens: Arc<Tokens>,
    /// One source test at a time: a national schedule takes hundreds of megabytes while it is decoded.
    pub(crate) test_slot: Arc<Semaphore>,
}

impl Sources {
    /// Fetchers that ask as `client_name`, within these budgets.
    pub(crate) fn new(client_name: &str, clock: Arc<dyn Clock>, budgets: Arc<Budgets>) -> Sources {
        let (client, test_slot) = (HttpClient::new(client_name), Arc::new(Semaphore::new(1)));
        Sources { client, clock, budgets, tokens: Arc::default(), test_slot }
    }

    /// How much producers are asked.
    pub(crate) fn budgets(&self) -> &Budgets {
        &self.budgets
    }

    /// Where a feed's requests to its own host are counted.
    pub(crate) fn place_of(&self, feed: &FeedConfig) -> Place {
        self.budgets.place(feed, feed.url.host().as_deref())
    }

    /// Waits for a turn at the host of `url`, for one request for the sake of `feed`.
    async fn turn_at(&self, feed: &FeedConfig, url: &Url) -> Turn {
        let place = self.budgets.place(feed, host_of(url).as_deref());
        let now = self.clock.monotonic();
        let booking = place.book(now, now);
        self.clock.sleep_until(booking.at()).await;
        booking.turn(Arc::clone(&self.clock)).await
    }
}

/// One source's fetcher; it remembers the validators of the last body.
#[derive(Debug)]
pub(crate) enum Fetcher {
    Http(Box<http::HttpFetcher>),
    Path(Box<path::PathFetcher>),
    Replay(replay::ReplayFetcher),
}

impl Fetcher {
    pub(crate) fn new(config: &SharedConfig, shared: &Sources) -> Fetcher {
        let max = config.body_bytes_max();
        match &config.url {
            Location::Http(url) => {
                let (url, config) = (url.clone(), Arc::clone(config));
                Fetcher::Http(Box::new(http::HttpFetcher::new(url, config, shared.clone())))
            }
            Location::Path(path) => {
                Fetcher::Path(Box::new(path::PathFetcher::new(path.clone(), max)))
            }
            Location::Replay { dir, speed } => {
                let (dir, clock) = (dir.clone(), Arc::clone(&shared.clock));
                Fetcher::Replay(replay::ReplayFetcher::new(dir, *speed, max, clock))
            }
        }
    }

    /// Goes on with the same source under another configuration; the validators stay.
    pub(crate) fn go_on(&mut self, config: &SharedConfig, shared: &Sources) {
        let max = config.body_bytes_max();
        match self {
            Fetcher::Http(fetcher) => fetcher.go_on(Arc::clone(config), shared),
            Fetcher::Path(fetcher) => fetcher.bound(max),
            Fetcher::Replay(fetcher) => fetcher.max = max,
        }
    }

    /// How much of the last fetch went by while it waited for turns of ours.
    pub(crate) fn waited(&self) -> Duration {
        match self {
            Fetcher::Http(fetcher) => fetcher.waited(),
            _ => Duration::ZERO,
        }
    }

    /// Asks the source once, in the `turn` that the feed has with it. What is not asked over HTTP has no questions. A failure leaves the fetcher as it was.
    pub(crate) async fn fetch(
        &mut self,
        turn: Turn,
        question: Question,
    ) -> Result<Fetched, Failure> {
        match self {
            Fetcher::Http(fetcher) => fetcher.fetch(turn, question).await,
            Fetcher::Path(fetcher) => fetcher.fetch().await,
            Fetcher::Replay(fetcher) => fetcher.fetch().await,
        }
    }

    /// The body could not be used: ask for it whole the next time.
    pub(crate) fn forget(&mut self) {
        match self {
            Fetcher::Http(fetcher) => fetcher.forget(),
            Fetcher::Path(fetcher) => fetcher.forget(),
            Fetcher::Replay(_) => {}
        }
    }

    /// Lets the next body go elsewhere, where it comes over HTTP.
    fn spool_to(&mut self, spool: spool::Spool) {
        if let Fetcher::Http(fetcher) = self {
            fetcher.spool_to(spool);
        }
    }

    /// What the source said of the last body, for whoever keeps it.
    pub(crate) fn validators(&self) -> Validators {
        match self {
            Fetcher::Http(fetcher) => fetcher.validators(),
            _ => Validators::default(),
        }
    }

    /// Goes on as after the body that these belong to.
    pub(crate) fn remember(&mut self, validators: &Validators) {
        if let Fetcher::Http(fetcher) = self {
            fetcher.remember(validators);
        }
    }

    /// When the source itself knows that it will have something new.
    pub(crate) fn due_in(&self) -> Option<Duration> {
        match self {
            Fetcher::Replay(fetcher) => fetcher.due_in(),
            _ => None,
        }
    }

    /// The first bytes of a body that could not be used, as text that is safe to show.
    /// Nor does it show `key`, if there is one, whatever was asked last.
    pub(crate) fn shown(&self, bytes: &[u8], key: Option<&Secret>) -> String {
        match self {
            Fetcher::Http(fetcher) => fetcher.shown(bytes, key),
            _ => shown::Hidden::default().show(bytes),
        }
    }

    /// The host that the last reply came from by a redirect, if it is not the feed's.
    pub(crate) fn other_host(&self) -> Option<&str> {
        match self {
            Fetcher::Http(fetcher) => fetcher.other_host(),
            _ => None,
        }
    }

    /// What the source said, in its last reply, about the next request.
    pub(crate) fn advice(&self) -> Advice {
        match self {
            Fetcher::Http(fetcher) => fetcher.advice(),
            _ => Advice::default(),
        }
    }

    /// The recorded time that passes in a replay.
    pub(crate) fn replay_clock(&self) -> Option<ReplayClock> {
        match self {
            Fetcher::Replay(fetcher) => fetcher.clock(),
            _ => None,
        }
    }
}

/// Whether a text holds what only a feed's producer is to see.
pub(crate) fn tells_secret(feed: &FeedConfig, text: &str) -> bool {
    shown::Hidden::of(feed, &[]).is_in(text)
}

/// Runs disk work where it may block. A panic there is a failure of this fetch alone.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => {
            Err(Failure::new(FailureCode::Connect, format!("reading broke off: {error}")))
        }
    }
}
