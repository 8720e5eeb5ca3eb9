//! The current stations and vehicles of a GBFS system, in a sentence.

use lineside_formats::Format;
use lineside_ingest::{Feed, Network};

use super::words;

/// The numbers of a system's stations and vehicles.
#[derive(Debug, Default, PartialEq, Eq)]
struct SystemCounts {
    stations: u64,
    /// Vehicles that can be rented at the stations.
    vehicles_at_stations: u64,
    /// True if a station reports its vehicles.
    has_status: bool,
    /// Vehicles that can be rented elsewhere.
    free_vehicles: u64,
}

/// Describes the stations and vehicles of a system; `None` for other feeds, or if the system has none yet.
pub(super) fn describe_gbfs_system(feed: &Feed, network: &Network) -> Option<String> {
    let now = count_stations_and_vehicles(feed, network);
    let is_known =
        feed.format().is_some_and(Format::is_shared_mobility) && now != SystemCounts::default();
    is_known.then(|| describe_system_counts(&now))
}

fn count_stations_and_vehicles(feed: &Feed, network: &Network) -> SystemCounts {
    let (state, id) = (network.state(), feed.id());
    let mut now = SystemCounts::default();
    for record in state.stations().filter(|record| record.feed == *id) {
        now.stations += 1;
        if let Some(station) = record.station() {
            now.has_status |= station.has_status();
            now.vehicles_at_stations += u64::from(station.vehicles_available_count());
        }
    }
    let vehicles = state.rental_vehicles().filter(|record| record.feed == *id);
    let free = vehicles.filter_map(|record| record.rental_vehicle());
    now.free_vehicles =
        free.filter(|vehicle| vehicle.is_available_outside_station()).count() as u64;
    now
}

fn describe_system_counts(now: &SystemCounts) -> String {
    let vehicles = |n: u64| words::format_count(n, "vehicle", "vehicles");
    let stations = words::format_count(now.stations, "station", "stations");
    match (now.stations, now.has_status) {
        (0, _) => {
            format!("{} can be rented, all of them free-floating.", vehicles(now.free_vehicles))
        }
        (_, false) if now.free_vehicles == 0 => {
            format!("{stations}, without live counts.")
        }
        (_, false) => format!(
            "{} can be rented free-floating; {stations} without live counts.",
            vehicles(now.free_vehicles)
        ),
        _ if now.free_vehicles == 0 => {
            format!("{} can be rented at {stations}.", vehicles(now.vehicles_at_stations))
        }
        _ => format!(
            "{} can be rented: {} at {stations}, {} free-floating.",
            vehicles(now.vehicles_at_stations + now.free_vehicles),
            words::format_number(now.vehicles_at_stations),
            words::format_number(now.free_vehicles)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_a_system_are_described_in_words() {
        let describe = |stations, at_stations, has_status, free| {
            describe_system_counts(&SystemCounts {
                stations,
                vehicles_at_stations: at_stations,
                has_status,
                free_vehicles: free,
            })
        };
        assert_eq!(describe(0, 0, false, 1), "1 vehicle can be rented, all of them free-floating.");
        assert_eq!(describe(2, 0, false, 0), "2 stations, without live counts.");
        assert_eq!(
            describe(2, 0, false, 5),
            "5 vehicles can be rented free-floating; 2 stations without live counts."
        );
        assert_eq!(describe(1, 1, true, 0), "1 vehicle can be rented at 1 station.");
        assert_eq!(
            describe(57, 300, true, 12),
            "312 vehicles can be rented: 300 at 57 stations, 12 free-floating."
        );
    }
}
