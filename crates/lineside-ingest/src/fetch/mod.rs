//! Fetching: one source's bytes as they are now, or why they could not be had.
//!
//! A fetcher knows how to ask politely (conditional requests, one client for all) and how to give up (size, time); it
//! does not know what the bytes mean, nor when to ask again.

mod advice;
mod failure;
mod file;
mod folder;
mod http;
mod inflate;
mod probe;
mod replay;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use lineside_sync::{Clock, UnixMillis};

pub(crate) use failure::Failure;
pub use failure::{FailureCode, FetchFailure};
pub(crate) use http::{HttpClient, client};
pub use probe::probe;
pub(crate) use replay::ReplayClock;

use crate::{
    budget::{Budgets, Turn},
    config::SharedConfig,
    schedule::Advice,
    source::Location,
};

/// What a fetch brought.
#[derive(Debug)]
pub(crate) enum Fetched {
    /// The source says that nothing changed since the last [`Fetched::Body`].
    NotModified,
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
}

/// One source's fetcher; it remembers the validators of the last body.
#[derive(Debug)]
pub(crate) enum Fetcher {
    Http(Box<http::HttpFetcher>),
    File(file::FileFetcher),
    Folder(folder::FolderFetcher),
    Replay(replay::ReplayFetcher),
}

impl Fetcher {
    pub(crate) fn new(
        config: &SharedConfig,
        client: &HttpClient,
        clock: &Arc<dyn Clock>,
        budgets: &Arc<Budgets>,
    ) -> Fetcher {
        let max = config.max_bytes;
        match &config.url {
            Location::Http(url) => Fetcher::Http(Box::new(http::HttpFetcher::new(
                url.clone(),
                Arc::clone(config),
                client.clone(),
                Arc::clone(clock),
                Arc::clone(budgets),
            ))),
            Location::File(path) => Fetcher::File(file::FileFetcher::new(path.clone(), max)),
            Location::Folder(path) => {
                Fetcher::Folder(folder::FolderFetcher::new(path.clone(), max))
            }
            Location::Replay { dir, speed } => Fetcher::Replay(replay::ReplayFetcher::new(
                dir.clone(),
                *speed,
                max,
                Arc::clone(clock),
            )),
        }
    }

    /// Asks the source once, in the `turn` that the feed has with it. A failure leaves the fetcher as it was.
    pub(crate) async fn fetch(&mut self, turn: Turn) -> Result<Fetched, Failure> {
        match self {
            Fetcher::Http(fetcher) => fetcher.fetch(turn).await,
            Fetcher::File(fetcher) => fetcher.fetch().await,
            Fetcher::Folder(fetcher) => fetcher.fetch().await,
            Fetcher::Replay(fetcher) => fetcher.fetch().await,
        }
    }

    /// The body could not be used: ask for it whole the next time.
    pub(crate) fn forget(&mut self) {
        match self {
            Fetcher::Http(fetcher) => fetcher.forget(),
            Fetcher::File(fetcher) => fetcher.forget(),
            Fetcher::Folder(fetcher) => fetcher.forget(),
            Fetcher::Replay(_) => {}
        }
    }

    /// When the source itself knows that it will have something new.
    pub(crate) fn due_in(&self) -> Option<Duration> {
        match self {
            Fetcher::Replay(fetcher) => fetcher.due_in(),
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
