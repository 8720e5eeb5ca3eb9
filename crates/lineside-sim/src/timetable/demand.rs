//! The frequency and speed of services by the hour.

use super::services::Service;
use crate::network::TransportMode;
use crate::network::plan::BusKind;
use crate::time::HOUR;

const fn seconds_at_hour(hours: f64) -> i32 {
    (hours * HOUR as f64) as i32
}

/// The share of the rush hour's departures from each time on; the last entry ends the day.
pub(crate) type DemandCurve = &'static [(i32, f64)];

const WEEKDAY: DemandCurve = &[
    (seconds_at_hour(4.75), 0.4),
    (seconds_at_hour(6.2), 0.8),
    (seconds_at_hour(6.8), 1.0),
    (seconds_at_hour(9.2), 0.65),
    (seconds_at_hour(14.8), 0.85),
    (seconds_at_hour(15.8), 1.0),
    (seconds_at_hour(18.4), 0.6),
    (seconds_at_hour(20.9), 0.36),
    (seconds_at_hour(25.25), 0.0),
];
const SATURDAY: DemandCurve = &[
    (seconds_at_hour(5.5), 0.3),
    (seconds_at_hour(8.0), 0.5),
    (seconds_at_hour(10.0), 0.62),
    (seconds_at_hour(19.0), 0.42),
    (seconds_at_hour(22.0), 0.33),
    (seconds_at_hour(25.25), 0.0),
];
const SUNDAY: DemandCurve = &[
    (seconds_at_hour(6.5), 0.28),
    (seconds_at_hour(9.5), 0.45),
    (seconds_at_hour(19.0), 0.33),
    (seconds_at_hour(24.75), 0.0),
];
const NIGHT_METRO: DemandCurve = &[(seconds_at_hour(25.4), 0.25), (seconds_at_hour(28.2), 0.0)];
const NIGHT_BUS: DemandCurve = &[(seconds_at_hour(24.5), 1.0), (seconds_at_hour(28.25), 0.0)];
const SCHOOL: DemandCurve = &[(seconds_at_hour(7.0), 1.0), (seconds_at_hour(8.15), 0.0)];
const FESTIVAL: DemandCurve = &[(seconds_at_hour(18.0), 1.0), (seconds_at_hour(26.0), 0.0)];
const FERRY_DAY: DemandCurve = &[
    (seconds_at_hour(6.0), 0.7),
    (seconds_at_hour(7.0), 1.0),
    (seconds_at_hour(9.5), 0.7),
    (seconds_at_hour(15.5), 1.0),
    (seconds_at_hour(19.0), 0.6),
    (seconds_at_hour(22.5), 0.0),
];

/// Returns the curve of a route on a service and its headway in the rush hour in seconds, for a fleet factor of 1.
pub(crate) fn demand_curve_and_headway(
    route: &crate::network::Route,
    service: Service,
) -> Option<(DemandCurve, f64)> {
    let night_bus = route.bus_kind == Some(BusKind::Night);
    let curve = match service {
        Service::Weekday | Service::Saturday | Service::Sunday if night_bus => NIGHT_BUS,
        _ if night_bus => return None,
        Service::Weekday | Service::Saturday if route.mode == TransportMode::Ferry => FERRY_DAY,
        Service::Weekday => WEEKDAY,
        Service::Saturday => SATURDAY,
        Service::Sunday => SUNDAY,
        Service::School if matches!(route.short_name.as_str(), "11" | "16") => SCHOOL,
        Service::Night if route.mode == TransportMode::Metro => NIGHT_METRO,
        Service::Festival if route.mode == TransportMode::Ferry => FESTIVAL,
        Service::School | Service::Night | Service::Festival => return None,
    };
    let headway = match (route.mode, route.bus_kind) {
        (TransportMode::Rail, _) if route.limited => 1_500.0,
        (TransportMode::Rail, _) => 1_050.0,
        (TransportMode::Metro, _) => 330.0,
        (TransportMode::Tram, _) => 500.0,
        (TransportMode::Ferry, _) => 1_900.0,
        (_, Some(BusKind::Night)) => 1_800.0,
        (_, Some(BusKind::Express)) => 1_200.0,
        (_, Some(BusKind::Shuttle)) => 480.0,
        _ => 620.0,
    };
    Some((curve, headway))
}

/// Returns the share of the rush hour at a time; 0 outside the curve.
pub(crate) fn demand_share_at(curve: DemandCurve, time: i32) -> f64 {
    curve.iter().rev().find(|(from, _)| time >= *from).map_or(0.0, |(_, share)| *share)
}

/// Rounds a headway to one that passengers can remember.
pub(crate) fn round_headway(headway: f64) -> i32 {
    let step = match headway {
        h if h >= 1_000.0 => 300.0,
        h if h >= 330.0 => 60.0,
        h if h >= 100.0 => 30.0,
        _ => 5.0,
    };
    ((headway / step).round() * step).max(15.0) as i32
}

/// Returns the profile of run times: 0 for empty streets, 2 for the rush hour.
pub(crate) fn select_run_time_profile(service: Service, share: f64, time: i32) -> u8 {
    if !(6 * HOUR..21 * HOUR).contains(&time) {
        0
    } else if matches!(service, Service::Weekday | Service::School) && share > 0.95 {
        2
    } else {
        1
    }
}

/// Returns the factor by which a mode is slower in a profile than at midday.
pub(crate) fn mode_slowness_factor(mode: TransportMode, profile: u8) -> f64 {
    let by_profile = match mode {
        TransportMode::Bus => [0.87, 1.0, 1.13],
        TransportMode::Tram => [0.92, 1.0, 1.06],
        TransportMode::Metro | TransportMode::Rail | TransportMode::Ferry => [1.0, 1.0, 1.0],
    };
    by_profile[usize::from(profile.min(2))]
}

/// Returns the traffic density, 0 to 1, by the time of day: two peaks on working days.
pub(crate) fn traffic_density(service: Service, seconds: f64) -> f64 {
    let hours = (seconds / f64::from(HOUR)).rem_euclid(24.0);
    let hump = |middle: f64, width: f64| (-((hours - middle) / width).powi(2)).exp();
    let day = 0.12 + 0.33 * hump(13.5, 5.5);
    match service {
        Service::Weekday | Service::School => day + 0.55 * hump(8.0, 1.2) + 0.55 * hump(17.2, 1.5),
        Service::Saturday | Service::Festival => day + 0.2 * hump(14.0, 3.0),
        Service::Sunday | Service::Night => day * 0.8,
    }
}
