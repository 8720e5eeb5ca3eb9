//! How a kind of source is requested and how its replies are read.

use std::{fmt, future::ready, pin::Pin, sync::Arc, time::Duration};

use bytes::Bytes;
use lineside_formats::Format;
use lineside_sync::UnixMillis;

use super::{
    SharedPollerContext,
    accept::count_and_accept_body,
    observe::MessageToObserve,
    polled_feed::PolledFeed,
    protocols::{
        ConvertedProtocol, ConverterResult, GbfsProtocol, SiriProtocol, WholeFileProtocol,
    },
};
use crate::{
    feed_config::FeedConfig,
    fetch::{FetchedBody, SourceRequest},
    fetch_failure::FetchError,
    inbox::InboxDelivery,
    snapshot::FeedBodySnapshot,
};

/// A boxed future that may borrow.
pub(super) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Result of a poll that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PollSuccess {
    /// The source sent other content than before.
    New,
    /// The source sent the same content again.
    Same,
    /// The source replied that its content has not changed.
    NotModified,
    /// A real-time source sent an empty body.
    Nothing,
    /// The SIRI producer confirmed that it is running.
    Checked,
    /// The SIRI producer does not support status checks.
    Unchecked,
    /// The SIRI producer accepted the subscription.
    Subscribed,
}

impl PollSuccess {
    /// Returns the outcome as written to the archive and to metrics.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            PollSuccess::New => "new",
            PollSuccess::Same => "same",
            PollSuccess::NotModified => "not_modified",
            PollSuccess::Nothing => "nothing",
            PollSuccess::Checked => "available",
            PollSuccess::Unchecked => "not_available",
            PollSuccess::Subscribed => "subscribed",
        }
    }

    /// Returns true if the source confirmed the current content.
    pub(super) fn has_confirmed_content(self) -> bool {
        matches!(self, PollSuccess::Same | PollSuccess::NotModified)
    }
}

/// How a delivery from the producer changes the time of the next poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextPollChange {
    /// The time does not change.
    Unchanged,
    /// The next poll is in this time.
    In(Duration),
    /// The next poll is not before this time from now.
    NotBefore(Duration),
    /// The next poll is when it would be after a poll that ends now.
    AfterPoll,
}

/// Requests a kind of source and reads its replies. The poller decides when, and does not depend on formats.
pub(super) trait SourceProtocol: fmt::Debug + Send {
    /// Returns itself, for the methods that every protocol has.
    fn as_dyn_protocol(&mut self) -> &mut dyn SourceProtocol;

    /// Returns true if it decodes bodies of this format.
    fn can_decode_format(&self, format: Format) -> bool;

    fn next_source_request<'a>(
        &'a mut self,
        _polled: &'a mut PolledFeed,
    ) -> BoxFuture<'a, Result<SourceRequest, FetchError>> {
        Box::pin(ready(Ok(SourceRequest::Plain)))
    }

    /// Starts converting a reply's body; `None` if this kind of source needs no conversion. The result is passed to
    /// [`accept_reply`](Protocol::accept_reply).
    fn start_conversion(
        &self,
        _polled: &mut PolledFeed,
        _body: &FetchedBody,
    ) -> Option<BoxFuture<'static, ConverterResult>> {
        None
    }

    /// Accepts the body of a reply to the last request.
    fn accept_reply<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
        body: FetchedBody,
        _converted: Option<ConverterResult>,
    ) -> BoxFuture<'a, Result<PollSuccess, FetchError>> {
        Box::pin(count_and_accept_body(self.as_dyn_protocol(), polled, body))
    }

    /// Decodes a body that differs from the current one and sends its content to the network. Returns the message for
    /// the observer.
    fn decode_and_apply_body<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
        body: Bytes,
        format: Format,
        now: UnixMillis,
    ) -> BoxFuture<'a, Result<Option<MessageToObserve>, FetchError>>;

    /// Returns true if a body must be decoded even if it equals the current one.
    fn must_decode_unchanged_body(&self, _polled: &PolledFeed) -> bool {
        false
    }

    /// Returns true if the protocol starts from the current body: the body is decoded after a start even if the network
    /// already has its content, and again with each new configuration.
    fn is_body_needed_at_start(&self) -> bool {
        false
    }

    /// Decodes the body that an earlier process stored.
    fn decode_restored_body<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
        snapshot: &'a FeedBodySnapshot,
        is_too_old: bool,
    ) -> BoxFuture<'a, Result<(), FetchError>>;

    /// Returns the restored message for the observer, if it is a whole one.
    fn restored_message_to_observe<'a>(
        &'a self,
        _polled: &'a PolledFeed,
        _snapshot: &'a FeedBodySnapshot,
    ) -> BoxFuture<'a, Option<MessageToObserve>> {
        Box::pin(ready(None))
    }

    /// Waits for the next delivery that the producer sends by itself. Cancel safe.
    fn wait_for_delivery(&mut self) -> BoxFuture<'_, InboxDelivery> {
        Box::pin(std::future::pending())
    }

    fn accept_producer_delivery<'a>(
        &'a mut self,
        _polled: &'a mut PolledFeed,
        _delivery: InboxDelivery,
    ) -> BoxFuture<'a, NextPollChange> {
        Box::pin(ready(NextPollChange::Unchanged))
    }

    /// Records that a poll did not fail.
    fn record_successful_poll<'a>(
        &'a mut self,
        _polled: &'a mut PolledFeed,
        _outcome: PollSuccess,
    ) -> BoxFuture<'a, ()> {
        Box::pin(ready(()))
    }

    /// Judges a failed poll: returns an outcome if it is no failure for this kind of source.
    ///
    /// # Errors
    /// Returns the failure otherwise.
    fn reinterpret_failure(
        &mut self,
        _polled: &mut PolledFeed,
        failure: FetchError,
    ) -> Result<PollSuccess, FetchError> {
        Err(failure)
    }

    /// Updates the content between polls.
    fn update_content_between_polls<'a>(
        &'a mut self,
        _polled: &'a mut PolledFeed,
    ) -> BoxFuture<'a, ()> {
        Box::pin(ready(()))
    }

    /// Returns the time until the next request if this kind of source determines it.
    fn time_until_next_request(&mut self, _polled: &mut PolledFeed) -> Option<Duration> {
        None
    }

    /// Polls the files of a system at once.
    fn poll_listed_files_now(&self) {}

    /// Continues with a changed configuration of the same source; `_before` is the old one.
    fn apply_changed_config(&mut self, _polled: &mut PolledFeed, _before: &FeedConfig) {}

    /// Returns the request that ends the relation to the producer, if there is one to end.
    fn termination_request(&self, _polled: &PolledFeed) -> Option<SourceRequest> {
        None
    }

    /// Records that the termination request is being sent.
    fn mark_termination_sent(&mut self) {}
}

/// Returns the protocol of a feed by its configuration, or by the format of its current content.
pub(super) fn protocol_for_feed(
    polled: &mut PolledFeed,
    shared: &SharedPollerContext,
) -> Box<dyn SourceProtocol> {
    let config = Arc::clone(polled.feed.shared_config());
    let known_format = polled.feed.snapshot().map(|snapshot| snapshot.format);
    let protocol: Box<dyn SourceProtocol> = if config.format.is_some_and(Format::is_shared_mobility)
    {
        Box::new(GbfsProtocol::new(polled, shared))
    } else if config.siri.is_some() {
        // A converter may make another format of SIRI.
        Box::new(SiriProtocol::new(polled))
    } else {
        protocol_for_detected_format(config.format.or(known_format), polled)
    };
    match config.converter.is_some() {
        true => Box::new(ConvertedProtocol::new(protocol, polled, shared)),
        false => protocol,
    }
}

/// Returns the protocol of a feed with data of this detected format. A GBFS system is never detected.
pub(super) fn protocol_for_detected_format(
    format: Option<Format>,
    polled: &mut PolledFeed,
) -> Box<dyn SourceProtocol> {
    match format {
        Some(Format::Siri) => Box::new(SiriProtocol::new(polled)),
        _ => Box::new(WholeFileProtocol),
    }
}
