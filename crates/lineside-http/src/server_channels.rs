//! The channels that the server fills itself.

use std::sync::Arc;

use bytes::Bytes;
use lineside_hub::{BadChannel, Channel, Position, ResolveError, RoomKey, RoomState, StateSource};
use lineside_ingest::messages::encode_state_parts;
use lineside_quality::reports::{
    CHANNEL_PREFIX, LatestReports, encode_report_upsert, feed_from_channel, room_key,
};
use lineside_sync::UnixMillis;

use crate::ops::OpsDashboard;

/// The channels that the server fills itself: those of the dashboard and of reports.
#[derive(Debug)]
pub struct ServerChannels {
    pub ops: Arc<OpsDashboard>,
    pub reports: Arc<LatestReports>,
}

impl StateSource for ServerChannels {
    fn resolve_channel(&self, channel: &Channel) -> Result<RoomKey, ResolveError> {
        let is_report = channel.decoded_segments().next().as_deref() == Some(CHANNEL_PREFIX);
        match feed_from_channel(channel) {
            Some(feed) if self.reports.knows_feed(&feed) => Ok(room_key(&feed)),
            Some(_) => Err(ResolveError::UnknownFeed),
            None if is_report => Err(BadChannel::UnknownForm.into()),
            None => self.ops.resolve_channel(channel),
        }
    }

    fn sequence_name(&self, channel: &Channel, _: RoomKey) -> String {
        channel.as_str().to_owned()
    }

    fn current_position(&self, _: &Channel, _: RoomKey) -> Option<Position> {
        None
    }

    fn read_state(&self, channel: &Channel, key: RoomKey) -> RoomState {
        let Some(feed) = feed_from_channel(channel) else {
            return self.ops.read_state(channel, key);
        };
        let reports = self.reports.feed_reports(&feed).unwrap_or_default();
        let at = reports.all_reports().map(|report| report.at).max().unwrap_or(UnixMillis(0));
        let upserts: Vec<Bytes> =
            reports.all_reports().map(|report| encode_report_upsert(report)).collect();
        RoomState { position: None, parts: encode_state_parts(at, &upserts) }
    }
}
