//! The disruptions of a day: incidents on a section of a route, closed stops, cancelled trips, skipped stops.

use super::runs::{TripRun, TripRunKind};
use crate::city::City;
use crate::network::TransportMode;
use crate::network::plan::BusKind;
use crate::noise;
use crate::time::{HOUR, ServiceDayNumber};

/// The number of incidents on a day.
const INCIDENTS: u64 = 15;
/// The number of stops that are closed for works on a day.
const CLOSURES: u64 = 3;
/// The chance that a trip is cancelled, on a normal day and during an incident on its route.
const CANCELLED: f64 = 0.007;
const CANCELLED_IN_INCIDENT: f64 = 0.09;
/// The chance that a bus or tram skips one of its stops.
const PASSES_A_STOP: f64 = 0.012;

/// A disruption of a section of a route for a while.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Incident {
    pub(super) number: u64,
    pub(super) route: u32,
    /// The start, in seconds of the city's time on its day.
    pub(super) from: i32,
    pub(super) until: i32,
    /// The section, as shares of the way in direction 0.
    pub(super) section: (f64, f64),
    /// The seconds that the first vehicle loses; later vehicles lose less and less.
    pub(super) severity: f64,
    pub(super) key: u64,
}

/// A stop that is closed on a day.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StopClosure {
    pub(super) stop: u32,
    pub(super) route: u32,
}

#[derive(Clone, Debug, Default)]
pub(super) struct DayDisruptions {
    pub(super) incidents: Vec<Incident>,
    pub(super) closures: Vec<StopClosure>,
}

impl Incident {
    /// Returns the seconds that the incident costs a run at a share of its way and a time, if it affects the run.
    pub(super) fn delay_for_run(&self, direction: u8, share: f64, seconds: f64) -> Option<f64> {
        let share = if direction == 0 { share } else { 1.0 - share };
        let (from, until) = (f64::from(self.from), f64::from(self.until));
        let inside =
            (self.section.0..self.section.1).contains(&share) && (from..until).contains(&seconds);
        inside.then(|| self.severity * (1.0 - 0.8 * (seconds - from) / (until - from)))
    }
}

impl City {
    pub(super) fn disruptions_on_day(&self, day: ServiceDayNumber) -> DayDisruptions {
        let key = noise::hash_two_numbers(
            noise::random_key_for_purpose(self.realtime_model().seed, "events"),
            day as u64,
        );
        let incidents = (0..INCIDENTS)
            .map(|n| self.generate_incident(n, noise::hash_two_numbers(key, n)))
            .collect();
        // Works last for three days.
        let works = noise::hash_two_numbers(
            noise::random_key_for_purpose(self.realtime_model().seed, "works"),
            day.div_euclid(3) as u64,
        );
        let closures = (0..CLOSURES)
            .filter_map(|n| self.generate_stop_closure(noise::hash_two_numbers(works, n)))
            .collect();
        DayDisruptions { incidents, closures }
    }

    fn generate_incident(&self, number: u64, key: u64) -> Incident {
        let share = |n: u64| noise::pseudo_random_share(noise::hash_two_numbers(key, n));
        // The first two are active in the morning rush hour, one on a tram route and one on a bus route.
        let (wanted, from) = match number {
            0 => (Some(TransportMode::Tram), 7 * HOUR + 16 * 60),
            1 => (Some(TransportMode::Bus), 7 * HOUR + 38 * 60),
            _ => (None, 6 * HOUR + (share(1) * 16.5 * f64::from(HOUR)) as i32),
        };
        let fits = |route: &crate::network::Route| {
            wanted.is_none_or(|mode| route.mode == mode)
                && route.mode != TransportMode::Ferry
                && matches!(route.bus_kind, None | Some(BusKind::City))
        };
        let routes: Vec<u32> = (0..self.network().routes.len() as u32)
            .filter(|r| fits(&self.network().routes[*r as usize]))
            .collect();
        let route = routes.get((share(2) * routes.len() as f64) as usize).copied().unwrap_or(0);
        let middle = 0.25 + share(3) * 0.5;
        Incident {
            number,
            route,
            from,
            until: from + 20 * 60 + (share(4) * 40.0 * 60.0) as i32,
            section: (middle - 0.13, middle + 0.13),
            severity: 150.0 + share(5) * 380.0,
            key,
        }
    }

    /// Returns a closure of a kerb on a bus route that is neither an end of the line nor part of a station.
    fn generate_stop_closure(&self, key: u64) -> Option<StopClosure> {
        let network = self.network();
        let buses: Vec<u32> = (0..network.routes.len() as u32)
            .filter(|r| network.routes[*r as usize].bus_kind == Some(BusKind::City))
            .collect();
        let route = *buses.get((noise::pseudo_random_share(key) * buses.len() as f64) as usize)?;
        let calls = &network.patterns[network.routes[route as usize].patterns[0] as usize].calls;
        let inner = &calls[1..calls.len() - 1];
        let from = (noise::pseudo_random_share(noise::hash_two_numbers(key, 1))
            * inner.len() as f64) as usize;
        let kerb = (0..inner.len())
            .map(|i| inner[(from + i) % inner.len()].stop)
            .find(|stop| network.stops[*stop as usize].platform.is_none())?;
        Some(StopClosure { stop: kerb, route })
    }

    /// Returns true if a run is cancelled.
    pub(super) fn is_run_cancelled(&self, run: &TripRun, events: &DayDisruptions) -> bool {
        if run.kind != TripRunKind::Scheduled {
            return false;
        }
        let route = self.network().patterns[run.trip.pattern as usize].route;
        let troubled = events
            .incidents
            .iter()
            .any(|i| i.route == route && (i.from..i.until).contains(&(run.trip.start + 10 * 60)));
        let chance = if troubled { CANCELLED_IN_INCIDENT } else { CANCELLED };
        noise::pseudo_random_share(noise::hash_two_numbers(run.key, 77)) < chance
    }

    /// Returns the call that a run skips, apart from closed stops.
    pub(super) fn randomly_skipped_call(&self, run: &TripRun) -> Option<usize> {
        let pattern = &self.network().patterns[run.trip.pattern as usize];
        let street = matches!(
            self.network().routes[pattern.route as usize].mode,
            TransportMode::Bus | TransportMode::Tram
        );
        let inner = pattern.calls.len().saturating_sub(4);
        let passes = street
            && inner > 0
            && noise::pseudo_random_share(noise::hash_two_numbers(run.key, 78)) < PASSES_A_STOP;
        passes.then(|| {
            2 + (noise::pseudo_random_share(noise::hash_two_numbers(run.key, 79)) * inner as f64)
                as usize
        })
    }
}
