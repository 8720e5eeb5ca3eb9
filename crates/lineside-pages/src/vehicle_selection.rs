//! Which vehicles of a network a page counts: those under way whose data are reliable.

use std::collections::BTreeSet;
use std::sync::Arc;

use lineside_ingest::Network;
use lineside_model::NetworkState;
use lineside_model::Record;
use lineside_model::TripPhase;
use lineside_sync::UnixMillis;

/// Counts the active vehicles of a network's reliable feeds that pass the filter.
pub(super) fn count_reliable_vehicles(network: &Network, filter: fn(&Record) -> bool) -> usize {
    list_reliable_vehicles(network, filter).len()
}

/// Returns true if a vehicle has a position, or its trip is running as far as is known. Some feeds report a vehicle for
/// each trip that they announce.
pub(super) fn is_under_way(state: &NetworkState, vehicle: &Record, now: UnixMillis) -> bool {
    vehicle.position().is_some()
        || state.find_trip_phase(vehicle, now).is_none_or(|phase| phase == TripPhase::UnderWay)
}

/// Returns the active vehicles of a network's reliable feeds that pass the filter.
pub(super) fn list_reliable_vehicles(
    network: &Network,
    filter: fn(&Record) -> bool,
) -> Vec<Arc<Record>> {
    let unreliable = list_unreliable_feeds(network);
    let (state, now) = (network.state(), network.data_time_now());
    let is_listed = |record: &&Arc<Record>| {
        filter(record)
            && !unreliable.contains(record.feed.as_str())
            && is_under_way(&state, record, now)
    };
    state.vehicles().filter(is_listed).cloned().collect()
}

/// Returns the vehicles of a network's unreliable feeds that have a position, which may be old.
pub(super) fn list_outdated_vehicles(network: &Network) -> Vec<Arc<Record>> {
    let unreliable = list_unreliable_feeds(network);
    let is_listed = |record: &&Arc<Record>| {
        record.position().is_some() && unreliable.contains(record.feed.as_str())
    };
    network.state().vehicles().filter(is_listed).cloned().collect()
}

/// Counts the vehicles of a network's reliable feeds without a position whose trips have not begun or have ended.
pub(super) fn count_idle_vehicles(network: &Network) -> usize {
    let unreliable = list_unreliable_feeds(network);
    let (state, now) = (network.state(), network.data_time_now());
    let is_idle = |record: &&Arc<Record>| {
        !unreliable.contains(record.feed.as_str()) && !is_under_way(&state, record, now)
    };
    state.vehicles().filter(is_idle).count()
}

/// Returns the ids of a network's real-time feeds whose data may be out of date.
pub(super) fn list_unreliable_feeds(network: &Network) -> BTreeSet<String> {
    let feeds = network.realtime_feeds();
    let unreliable = feeds.iter().filter(|feed| feed.status().unreliable_since.is_some());
    unreliable.map(|feed| feed.id().as_str().to_owned()).collect()
}
