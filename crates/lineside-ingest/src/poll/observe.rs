//! A message that readers have already is handed to whoever looks at it.

use std::sync::Arc;

use bytes::Bytes;
use lineside_formats::{Format, siri::SiriMessage};
use lineside_sync::UnixMillis;

use super::FeedPoller;
use crate::message_observer::{ObservedMessage, SiriPart};

/// A message that passes, held until it was looked at.
pub(super) enum PendingObservation {
    GtfsRt(Bytes),
    Siri(Box<SiriMessage>, SiriPart),
}

impl PendingObservation {
    fn as_observed(&self) -> ObservedMessage<'_> {
        match self {
            PendingObservation::GtfsRt(bytes) => ObservedMessage::GtfsRt(bytes),
            PendingObservation::Siri(message, part) => ObservedMessage::Siri(message, *part),
        }
    }
}

impl FeedPoller {
    /// Whether there is anybody who looks at what passes.
    pub(super) fn has_observer(&self) -> bool {
        self.inspector.is_some() && self.queue.is_some()
    }

    /// Asks whether the feed told of trips before this process: one that did is empty with nothing in it.
    pub(super) async fn restore_trip_history(&mut self) {
        let Some(inspector) = self.inspector.clone().filter(|_| self.has_observer()) else {
            return;
        };
        if !self.feed.format().is_none_or(Format::is_realtime) {
            return;
        }
        let feed = Arc::clone(&self.feed);
        let asked = tokio::task::spawn_blocking(move || inspector.has_reported_trips(&feed));
        if asked.await.unwrap_or(false) {
            self.health.mark_trips_seen();
        }
    }

    /// Has the message looked at that an earlier process left, once its source has said that it still holds: what is known of
    /// messages went with that process.
    pub(super) async fn observe_restored(&mut self, outcome: &str) {
        let is_confirmed = matches!(outcome, "same" | "not_modified");
        if !self.is_unseen || !(is_confirmed || outcome == "new") {
            return;
        }
        self.is_unseen = false;
        let kept = self.feed.snapshot().filter(|_| is_confirmed);
        let passing = match kept {
            Some(kept) if kept.format == Format::Siri && self.has_observer() => {
                self.decode_restored_siri(kept.bytes.clone()).await
            }
            kept => kept.map(|kept| PendingObservation::GtfsRt(kept.bytes.clone())),
        };
        self.observe_message(passing, self.clock.wall_time()).await;
    }

    /// Has a message looked at that readers have already.
    pub(super) async fn observe_message(
        &self,
        passing: Option<PendingObservation>,
        now: UnixMillis,
    ) {
        let (Some(passing), Some(inspector)) = (passing, self.inspector.clone()) else { return };
        if !self.has_observer() {
            return;
        }
        let feed = Arc::clone(&self.feed);
        let look = move || inspector.observe_message(&feed, passing.as_observed(), now);
        // What breaks there takes nothing from the feed.
        if let Err(error) = tokio::task::spawn_blocking(look).await {
            tracing::error!(feed = %self.feed.snapshot_key(), %error, "looking at a message broke off");
        }
    }
}
