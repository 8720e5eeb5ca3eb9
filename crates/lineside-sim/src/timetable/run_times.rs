//! The travel times of each pattern from stop to stop.

use super::demand::mode_slowness_factor;
use crate::geography::Geography;
use crate::network::plan::BusKind;
use crate::network::{Route, StopPattern, TransitNetwork, TransportMode};

/// Times are rounded to this many seconds.
const STEP: f64 = 10.0;

/// Arrival and departure at each stop, seconds after the departure from the first.
pub(crate) type StopTimeOffsets = Vec<(i32, i32)>;

/// Returns the times of each pattern in each of the three profiles.
pub(crate) fn build_run_times(
    network: &TransitNetwork,
    geography: &Geography,
) -> Vec<[StopTimeOffsets; 3]> {
    let of_pattern = |pattern: &StopPattern| {
        let route = &network.routes[pattern.route as usize];
        [0, 1, 2].map(|profile| compute_run_times(pattern, route, geography, profile))
    };
    network.patterns.iter().map(of_pattern).collect()
}

fn compute_run_times(
    pattern: &StopPattern,
    route: &Route,
    geography: &Geography,
    profile: u8,
) -> StopTimeOffsets {
    let slowness = mode_slowness_factor(route.mode, profile);
    let dwell = f64::from(dwell_seconds(route.mode));
    let last = pattern.calls.len() - 1;
    let mut clock = 0.0;
    let mut times = vec![(0, 0)];
    for (i, pair) in pattern.calls.windows(2).enumerate() {
        let metres = pair[1].along - pair[0].along;
        let middle = pattern.line.point_at((pair[0].along + pair[1].along) / 2.0);
        let density = geography.field.built_up_density(middle);
        let seconds = travel_seconds(route, metres, density) * slowness;
        let arrival = clock + ((seconds / STEP).round() * STEP).max(STEP * 2.0);
        let departure = if i + 1 == last { arrival } else { arrival + dwell };
        times.push((arrival as i32, departure as i32));
        clock = departure;
    }
    times
}

/// Returns the scheduled dwell time at a stop in seconds; for buses and trams it is part of the
/// travel time.
pub(crate) fn dwell_seconds(mode: TransportMode) -> i32 {
    match mode {
        TransportMode::Rail => 50,
        TransportMode::Metro => 20,
        TransportMode::Ferry => 120,
        TransportMode::Tram | TransportMode::Bus => 0,
    }
}

/// Returns the seconds from one stop to the next; for buses and trams including the dwell time.
fn travel_seconds(route: &Route, metres: f64, density: f64) -> f64 {
    let open = 1.0 - density.clamp(0.0, 1.0);
    match route.mode {
        TransportMode::Rail => metres / (19.0 + 13.0 * open) + 38.0,
        TransportMode::Metro => metres / 16.5 + 22.0,
        TransportMode::Ferry => metres / 8.5 + 50.0,
        TransportMode::Tram => metres / (8.2 + 4.5 * open) + 24.0,
        TransportMode::Bus if route.bus_kind == Some(BusKind::Express) => {
            metres / (9.0 + 8.5 * open) + 26.0
        }
        TransportMode::Bus => metres / (7.6 + 6.5 * open) + 20.0,
    }
}
