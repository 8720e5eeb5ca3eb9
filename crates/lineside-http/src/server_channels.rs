//! The channels that the server fills itself.

use std::sync::Arc;

use bytes::Bytes;
use lineside_hub::{
    BadChannelName, ChannelResolveError, ChannelState, ChannelStateSource, EncodedChannelName,
    Position, RoomKey,
};
use lineside_ingest::messages::encode_state_parts;
use lineside_quality::reports::{
    CHANNEL_PREFIX, LatestValidationReports, encode_report_upsert, parse_report_channel,
    report_channel_room_key,
};
use lineside_sync::UnixMillis;

use crate::ops::OpsDashboard;

/// The channels that the server fills itself: those of the dashboard and of reports.
#[derive(Debug)]
pub struct ServerChannels {
    pub ops: Arc<OpsDashboard>,
    pub reports: Arc<LatestValidationReports>,
}

impl ChannelStateSource for ServerChannels {
    fn resolve_channel(
        &self,
        channel: &EncodedChannelName,
    ) -> Result<RoomKey, ChannelResolveError> {
        let is_report = channel.decoded_segments().next().as_deref() == Some(CHANNEL_PREFIX);
        match parse_report_channel(channel) {
            Some(feed) if self.reports.has_feed(&feed) => Ok(report_channel_room_key(&feed)),
            Some(_) => Err(ChannelResolveError::UnknownFeed),
            None if is_report => Err(BadChannelName::UnknownForm.into()),
            None => self.ops.resolve_channel(channel),
        }
    }

    fn sequence_name(&self, channel: &EncodedChannelName, _: RoomKey) -> String {
        channel.as_str().to_owned()
    }

    fn current_position(&self, _: &EncodedChannelName, _: RoomKey) -> Option<Position> {
        None
    }

    fn read_state(&self, channel: &EncodedChannelName, key: RoomKey) -> ChannelState {
        let Some(feed) = parse_report_channel(channel) else {
            return self.ops.read_state(channel, key);
        };
        let reports = self.reports.latest_reports_of_feed(&feed).unwrap_or_default();
        let at = reports.all_reports().map(|report| report.at).max().unwrap_or(UnixMillis(0));
        let upserts: Vec<Bytes> =
            reports.all_reports().map(|report| encode_report_upsert(report)).collect();
        ChannelState { position: None, parts: encode_state_parts(at, &upserts) }
    }
}
