//! Known locations around the findings in real-time data: the stops or stations of the network.

use lineside_formats::Format;
use lineside_ingest::{Feed, Network};
use lineside_quality::check::{Point, thin_outline};

/// Returns some stops of a feed's network, or some stations and vehicles of a system.
pub(crate) fn list_background_points(feed: &Feed, network: &Network) -> Vec<Point> {
    let state = network.state();
    if feed.format().is_some_and(Format::is_shared_mobility) {
        let all = state.stations().chain(state.rental_vehicles());
        let vehicle_records = all.filter(|record| record.feed == *feed.id());
        return thin_outline(vehicle_records.map(|record| split_degrees(record.position())));
    }
    match network.timetable() {
        Some(timetable) => thin_outline(timetable.stops().map(|stop| (stop.lat, stop.lon))),
        None => thin_outline(state.vehicles().map(|record| split_degrees(record.position()))),
    }
}

fn split_degrees(position: Option<(f64, f64)>) -> (Option<f64>, Option<f64>) {
    position.unzip()
}
