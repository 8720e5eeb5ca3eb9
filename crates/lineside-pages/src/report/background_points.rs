//! Known locations around the findings in real-time data: the stops or stations of the network.

use lineside_formats::Format;
use lineside_ingest::{Feed, Network};
use lineside_quality::check::{LatLon, sample_points_evenly};

/// Returns some stops of a feed's network, or some stations and vehicles of a system.
pub(crate) fn list_background_points(feed: &Feed, network: &Network) -> Vec<LatLon> {
    let state = network.state();
    if feed.format().is_some_and(Format::is_shared_mobility) {
        let all = state.stations().chain(state.rental_vehicles());
        let vehicle_records = all.filter(|record| record.feed == *feed.id());
        return sample_points_evenly(
            vehicle_records.map(|record| split_position(record.position())),
        );
    }
    match network.timetable() {
        Some(timetable) => sample_points_evenly(timetable.stops().map(|stop| (stop.lat, stop.lon))),
        None => {
            sample_points_evenly(state.vehicles().map(|record| split_position(record.position())))
        }
    }
}

fn split_position(position: Option<(f64, f64)>) -> (Option<f64>, Option<f64>) {
    position.unzip()
}
