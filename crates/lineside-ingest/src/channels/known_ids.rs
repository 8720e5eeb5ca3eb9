//! Rejection of channels whose stop, route or trip the network does not know.

use lineside_hub::ChannelResolveError;

use super::ParsedChannelName;
use crate::catalog::Network;
use crate::channel_kinds::RoomKind;

/// Rejects the channel of a stop, route or trip that is neither in the network's timetable nor in its realtime data.
///
/// Without a timetable nothing is rejected: the first one may contain the id. Vehicles and stations are never rejected,
/// because no complete list of them exists.
///
/// # Errors
/// [`ChannelResolveError::UnknownItem`] with the error code for clients.
pub(super) fn check_channel_id_known(
    name: &ParsedChannelName<'_>,
    network: &Network,
    number: usize,
) -> Result<(), ChannelResolveError> {
    let Some(timetable) = network.timetable() else { return Ok(()) };
    let (id, whole) = (name.id.as_ref(), number == 0);
    let (is_known, code) = match name.kind {
        RoomKind::Stop if whole => (timetable.find_stop(id).is_some(), "unknown_stop"),
        RoomKind::Route if whole => {
            let is_planned = timetable.find_route(id).is_some();
            (
                is_planned || network.state().realtime_records_by_route(id).next().is_some(),
                "unknown_route",
            )
        }
        RoomKind::Trip => {
            let is_planned = timetable.find_trip(id).is_some();
            (is_planned || has_realtime_trip(network, id), "unknown_trip")
        }
        _ => return Ok(()),
    };
    if is_known { Ok(()) } else { Err(ChannelResolveError::UnknownItem(code)) }
}

/// Returns true if realtime data contain a trip that the timetable does not have.
fn has_realtime_trip(network: &Network, id: &str) -> bool {
    let state = network.state();
    let mut tables = state.feeds.iter().flat_map(|feed| feed.tables.all_tables());
    tables.any(|table| table.records_by_trip(id).next().is_some())
}
