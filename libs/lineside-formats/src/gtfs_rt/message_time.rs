//! The time of a message.

use bytes::Bytes;

use super::{FeedMessageLimits, decode_json, split_feed_message};
use crate::{Format, is_gtfs_rt_json, sniff_format};

/// Returns the time in the header of a message, in Unix seconds above 0; `None` for a body without one or of another
/// format.
pub fn read_header_timestamp(body: Bytes) -> Option<i64> {
    if sniff_format(&body) != Some(Format::GtfsRt) {
        return None;
    }
    let limits = FeedMessageLimits::default();
    let header = match is_gtfs_rt_json(&body) {
        true => decode_json(&body, &limits).ok()?.0.header,
        false => split_feed_message(body, &limits).ok()?.0.header,
    };
    i64::try_from(header.timestamp.filter(|&seconds| seconds > 0)?).ok()
}
