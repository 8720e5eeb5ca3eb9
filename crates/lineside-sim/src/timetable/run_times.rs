//! How long each pattern takes from stop to stop.

use super::demand::slowness;
use crate::geography::Geography;
use crate::network::plan::BusKind;
use crate::network::{Mode, Network, Pattern, Route};

/// Times are written in steps of this many seconds.
const STEP: f64 = 10.0;

/// Arrival and departure at each stop, seconds after the departure from the first.
pub(crate) type RunTimes = Vec<(i32, i32)>;

/// For each pattern its times in each of the three profiles.
pub(crate) fn build(network: &Network, geography: &Geography) -> Vec<[RunTimes; 3]> {
    let of_pattern = |pattern: &Pattern| {
        let route = &network.routes[pattern.route as usize];
        [0, 1, 2].map(|profile| run_times(pattern, route, geography, profile))
    };
    network.patterns.iter().map(of_pattern).collect()
}

fn run_times(pattern: &Pattern, route: &Route, geography: &Geography, profile: u8) -> RunTimes {
    let slowness = slowness(route.mode, profile);
    let dwell = f64::from(dwell(route.mode));
    let last = pattern.calls.len() - 1;
    let mut clock = 0.0;
    let mut times = vec![(0, 0)];
    for (i, pair) in pattern.calls.windows(2).enumerate() {
        let metres = pair[1].along - pair[0].along;
        let middle = pattern.line.point_at((pair[0].along + pair[1].along) / 2.0);
        let density = geography.field.density(middle);
        let seconds = travel(route, metres, density) * slowness;
        let arrival = clock + ((seconds / STEP).round() * STEP).max(STEP * 2.0);
        let departure = if i + 1 == last { arrival } else { arrival + dwell };
        times.push((arrival as i32, departure as i32));
        clock = departure;
    }
    times
}

/// Seconds that the timetable allows at a stop; buses and trams have them in their travel time.
pub(crate) fn dwell(mode: Mode) -> i32 {
    match mode {
        Mode::Rail => 50,
        Mode::Metro => 20,
        Mode::Ferry => 120,
        Mode::Tram | Mode::Bus => 0,
    }
}

/// Seconds from one stop to the next; buses and trams with the halt.
fn travel(route: &Route, metres: f64, density: f64) -> f64 {
    let open = 1.0 - density.clamp(0.0, 1.0);
    match route.mode {
        Mode::Rail => metres / (19.0 + 13.0 * open) + 38.0,
        Mode::Metro => metres / 16.5 + 22.0,
        Mode::Ferry => metres / 8.5 + 50.0,
        Mode::Tram => metres / (8.2 + 4.5 * open) + 24.0,
        Mode::Bus if route.bus_kind == Some(BusKind::Express) => metres / (9.0 + 8.5 * open) + 26.0,
        Mode::Bus => metres / (7.6 + 6.5 * open) + 20.0,
    }
}
