//! A source that is requested by GET and whose body is the whole content: GTFS, NeTEx, GTFS-Realtime and other files.

use std::sync::Arc;

use bytes::Bytes;
use lineside_formats::Format;
use lineside_sync::{UnixMillis, stage};

use crate::{
    fetch_failure::FetchError,
    poll::{
        decoding::decode_message,
        observe::MessageToObserve,
        polled_feed::PolledFeed,
        protocol::{BoxFuture, SourceProtocol},
    },
    poll_stages::PollStage,
    snapshot::FeedBodySnapshot,
};

/// The protocol of sources with whole files.
#[derive(Debug)]
pub(in crate::poll) struct WholeFileProtocol;

impl SourceProtocol for WholeFileProtocol {
    fn can_decode_format(&self, format: Format) -> bool {
        format.is_schedule() || format.is_raw() || format == Format::GtfsRt
    }

    fn as_dyn_protocol(&mut self) -> &mut dyn SourceProtocol {
        self
    }

    fn decode_and_apply_body<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
        body: Bytes,
        format: Format,
        now: UnixMillis,
    ) -> BoxFuture<'a, Result<Option<MessageToObserve>, FetchError>> {
        Box::pin(decode_and_apply_file(polled, body, format, now))
    }

    fn decode_restored_body<'a>(
        &'a mut self,
        polled: &'a mut PolledFeed,
        snapshot: &'a FeedBodySnapshot,
        is_too_old: bool,
    ) -> BoxFuture<'a, Result<(), FetchError>> {
        Box::pin(decode_restored_file(polled, snapshot, is_too_old))
    }

    fn restored_message_to_observe<'a>(
        &'a self,
        _polled: &'a PolledFeed,
        snapshot: &'a FeedBodySnapshot,
    ) -> BoxFuture<'a, Option<MessageToObserve>> {
        Box::pin(std::future::ready(restored_gtfs_rt_message(snapshot)))
    }
}

/// Returns a restored GTFS-Realtime message for the observer.
pub(super) fn restored_gtfs_rt_message(snapshot: &FeedBodySnapshot) -> Option<MessageToObserve> {
    (snapshot.format == Format::GtfsRt).then(|| MessageToObserve::GtfsRt(snapshot.bytes.clone()))
}

/// Decodes a whole file and sends its content to the network.
pub(super) async fn decode_and_apply_file(
    polled: &mut PolledFeed,
    body: Bytes,
    format: Format,
    now: UnixMillis,
) -> Result<Option<MessageToObserve>, FetchError> {
    if format.is_schedule() {
        polled.decode_and_apply_schedule(body, format, now).await?;
    } else if format == Format::GtfsRt {
        accept_message(polled, body.clone(), now).await?;
        return Ok(Some(MessageToObserve::GtfsRt(body)));
    } else {
        polled.clear_data_of_other_format(format, now).await?;
        polled.record_success();
        polled.status.entities = 0;
        // The previous format's data time and problems no longer apply.
        polled.status.data_time = None;
        polled.status.has_impossible_time = false;
        polled.status.problems = Arc::new(polled.problems_of_raw_bytes(&body));
    }
    Ok(None)
}

/// Decodes a GTFS-Realtime message and sends its entities to the network.
async fn accept_message(
    polled: &mut PolledFeed,
    body: Bytes,
    now: UnixMillis,
) -> Result<(), FetchError> {
    let network = polled.feed.network();
    let began = network.stage_start_time();
    let limits = polled.load_limits.gtfs_rt_limits(polled.feed.config().max_bytes);
    let decoding = decode_message(body, limits);
    let decoded = stage::run_in_stage(PollStage::Decode.to_work_stage(), decoding).await;
    network.record_stage_duration(PollStage::Decode, began);
    let (message, problems) = decoded?;
    polled.apply_entities(message, problems, Format::GtfsRt, now).await
}

/// Decodes a whole file that an earlier process stored.
pub(super) async fn decode_restored_file(
    polled: &mut PolledFeed,
    snapshot: &FeedBodySnapshot,
    is_too_old: bool,
) -> Result<(), FetchError> {
    let bytes = snapshot.bytes.clone();
    if snapshot.format.is_schedule() {
        polled.decode_and_apply_schedule(bytes, snapshot.format, snapshot.fetched_at).await?;
    } else if snapshot.format == Format::GtfsRt {
        if is_too_old {
            polled.is_expired = true;
        } else {
            let now = polled.clock.wall_time();
            accept_message(polled, bytes, now).await?;
        }
    } else {
        polled.record_success();
    }
    Ok(())
}
