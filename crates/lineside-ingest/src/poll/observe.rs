//! Passing published messages to the observer.

use std::sync::Arc;

use bytes::Bytes;
use lineside_formats::{Format, siri::SiriMessage};
use lineside_sync::UnixMillis;

use super::polled_feed::PolledFeed;
use crate::message_observer::{ObservedMessage, SiriMessagePart};

/// A message retained until it has been observed.
pub(super) enum MessageToObserve {
    GtfsRt(Bytes),
    Siri(Box<SiriMessage>, SiriMessagePart),
}

impl MessageToObserve {
    fn as_observed(&self) -> ObservedMessage<'_> {
        match self {
            MessageToObserve::GtfsRt(bytes) => ObservedMessage::GtfsRt(bytes),
            MessageToObserve::Siri(message, part) => ObservedMessage::Siri(message, *part),
        }
    }
}

impl PolledFeed {
    /// Returns true if there is an observer for this feed's messages.
    pub(super) fn has_observer(&self) -> bool {
        self.message_observer.is_some() && self.queue.is_some()
    }

    /// Asks the observer if the feed reported trips before this process: then an empty message means that data are
    /// missing.
    pub(super) async fn restore_has_reported_trips(&mut self) {
        let Some(inspector) = self.message_observer.clone().filter(|_| self.has_observer()) else {
            return;
        };
        if !self.feed.format().is_none_or(Format::is_realtime) {
            return;
        }
        let feed = Arc::clone(&self.feed);
        let has_reported =
            tokio::task::spawn_blocking(move || inspector.has_recently_reported_trips(&feed));
        if has_reported.await.unwrap_or(false) {
            self.health.mark_trips_reported_earlier();
        }
    }

    /// Passes a published message to the observer.
    pub(super) async fn pass_message_to_observer(
        &self,
        observation: Option<MessageToObserve>,
        now: UnixMillis,
    ) {
        let (Some(observation), Some(inspector)) = (observation, self.message_observer.clone())
        else {
            return;
        };
        if !self.has_observer() {
            return;
        }
        let feed = Arc::clone(&self.feed);
        let observe = move || inspector.observe_message(&feed, observation.as_observed(), now);
        // A panic of the observer does not affect the feed.
        if let Err(error) = tokio::task::spawn_blocking(observe).await {
            tracing::error!(feed = %self.feed.snapshot_key(), %error, "inspecting a message stopped because of a bug in Lineside");
        }
    }
}
