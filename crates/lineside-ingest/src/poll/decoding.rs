//! Decoding of realtime messages.

use bytes::Bytes;
use lineside_formats::{Problems, gtfs_rt, is_gtfs_rt_json};
use lineside_sync::stage;

use super::{FetchError, decoder_crash_failure};
use crate::poll_stages::PollStage;

/// Decodes a message: protobuf, or its JSON equivalent.
pub(crate) async fn decode_message(
    body: Bytes,
    limits: gtfs_rt::FeedMessageLimits,
) -> Result<(gtfs_rt::SplitFeedMessage, Problems), FetchError> {
    if !is_gtfs_rt_json(&body) {
        return gtfs_rt::split_feed_message(body, &limits)
            .map_err(|error| FetchError::from_decoder_error(&error));
    }
    let decoded = tokio::task::spawn_blocking(move || {
        let _at = stage::set_stage_until_dropped(PollStage::Decode.to_work_stage());
        let (message, problems) = gtfs_rt::decode_json(&body, &limits)?;
        Ok((gtfs_rt::SplitFeedMessage::from_decoded_message(&message), problems))
    });
    match decoded.await {
        Ok(result) => result.map_err(|error| FetchError::from_decoder_error(&error)),
        Err(_) => Err(decoder_crash_failure()),
    }
}
