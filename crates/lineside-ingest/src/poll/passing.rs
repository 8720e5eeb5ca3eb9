//! A message that readers have already is handed to whoever looks at it.

use std::sync::Arc;

use bytes::Bytes;
use lineside_formats::{Format, siri::Message};
use lineside_sync::UnixMillis;

use super::Poller;
use crate::inspector::{Passed, SiriPart};

/// A message that passes, held until it was looked at.
pub(super) enum Passing {
    GtfsRt(Bytes),
    Siri(Box<Message>, SiriPart),
}

impl Passing {
    fn as_passed(&self) -> Passed<'_> {
        match self {
            Passing::GtfsRt(bytes) => Passed::GtfsRt(bytes),
            Passing::Siri(message, part) => Passed::Siri(message, *part),
        }
    }
}

impl Poller {
    /// Whether there is anybody who looks at what passes.
    pub(super) fn is_inspected(&self) -> bool {
        self.inspector.is_some() && self.queue.is_some()
    }

    /// Asks whether the feed told of trips before this process: one that did is empty with nothing in it.
    pub(super) async fn remember_trips(&mut self) {
        let Some(inspector) = self.inspector.clone().filter(|_| self.is_inspected()) else {
            return;
        };
        if !self.feed.format().is_none_or(Format::is_real_time) {
            return;
        }
        let feed = Arc::clone(&self.feed);
        let asked = tokio::task::spawn_blocking(move || inspector.has_told_of_trips(&feed));
        if asked.await.unwrap_or(false) {
            self.health.remember_trips();
        }
    }

    /// Has the message looked at that an earlier process left, once its source has said that it still holds: what is known of
    /// messages went with that process.
    pub(super) async fn inspect_kept(&mut self, outcome: &str) {
        let is_confirmed = matches!(outcome, "same" | "not_modified");
        if !self.is_unseen || !(is_confirmed || outcome == "new") {
            return;
        }
        self.is_unseen = false;
        let kept = self.feed.snapshot().filter(|_| is_confirmed);
        let passing = match kept {
            Some(kept) if kept.format == Format::Siri && self.is_inspected() => {
                self.kept_siri(kept.bytes.clone()).await
            }
            kept => kept.map(|kept| Passing::GtfsRt(kept.bytes.clone())),
        };
        self.inspect(passing, self.clock.wall()).await;
    }

    /// Has a message looked at that readers have already.
    pub(super) async fn inspect(&self, passing: Option<Passing>, now: UnixMillis) {
        let (Some(passing), Some(inspector)) = (passing, self.inspector.clone()) else { return };
        if !self.is_inspected() {
            return;
        }
        let feed = Arc::clone(&self.feed);
        let look = move || inspector.look(&feed, passing.as_passed(), now);
        // What breaks there takes nothing from the feed.
        if let Err(error) = tokio::task::spawn_blocking(look).await {
            tracing::error!(feed = %self.feed.key(), %error, "looking at a message broke off");
        }
    }
}
