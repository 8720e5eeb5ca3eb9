//! Interpolates missing times between two timed stops: by `shape_dist_traveled` if it is known and increases, else
//! evenly.

use super::stop_times::ParsedStopTime;
use crate::gtfs::timetable::NO_TIME;

/// Completes the times of one trip's calls, in their order. An arrival replaces a missing departure and vice versa.
/// Calls before the first or after the last known time remain untimed.
pub(super) fn fill_missing_trip_times(calls: &mut [ParsedStopTime]) {
    for call in calls.iter_mut() {
        match (call.arrival, call.departure) {
            (NO_TIME, departure) => call.arrival = departure,
            (arrival, NO_TIME) => call.departure = arrival,
            _ => {}
        }
    }
    let mut last_known: Option<usize> = None;
    for at in 0..calls.len() {
        if calls[at].arrival == NO_TIME {
            continue;
        }
        if let Some(from) = last_known.filter(|from| from + 1 < at) {
            interpolate_times(&mut calls[from..=at]);
        }
        last_known = Some(at);
    }
}

/// Interpolates between the first and the last call, whose times are known.
fn interpolate_times(calls: &mut [ParsedStopTime]) {
    let last = calls.len() - 1;
    let (from, until) = (f64::from(calls[0].departure), f64::from(calls[last].arrival));
    let (near, far) = (f64::from(calls[0].distance), f64::from(calls[last].distance));
    // Comparisons with an unknown distance, which is NaN, are false.
    let by_distance =
        far > near && calls.windows(2).all(|pair| pair[0].distance <= pair[1].distance);
    for (at, call) in calls.iter_mut().enumerate().take(last).skip(1) {
        let share = if by_distance {
            (f64::from(call.distance) - near) / (far - near)
        } else {
            at as f64 / last as f64
        };
        let time = (from + (until - from) * share).round() as i32;
        (call.arrival, call.departure) = (time, time);
        call.flags = call.flags.with_interpolated();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAN: f32 = f32::NAN;

    /// Completes calls of (arrival, departure, distance) and compares the results as (arrival, departure).
    fn check(calls: &[(i32, i32, f32)], expected: &[(i32, i32)]) {
        let raw = |&(arrival, departure, distance)| ParsedStopTime {
            arrival,
            departure,
            distance,
            ..ParsedStopTime::default()
        };
        let mut calls: Vec<ParsedStopTime> = calls.iter().map(raw).collect();
        fill_missing_trip_times(&mut calls);
        let found: Vec<(i32, i32)> =
            calls.iter().map(|call| (call.arrival, call.departure)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn missing_times_are_spaced_evenly_without_distances() {
        let none = (NO_TIME, NO_TIME, NAN);
        check(
            &[(0, 0, NAN), none, none, (300, 330, NAN), none, (430, 430, NAN)],
            &[(0, 0), (100, 100), (200, 200), (300, 330), (380, 380), (430, 430)],
        );
    }

    #[test]
    fn missing_times_are_interpolated_by_rising_distances() {
        let at = |distance| (NO_TIME, NO_TIME, distance);
        check(&[(0, 0, 0.0), at(9.0), (100, 100, 10.0)], &[(0, 0), (90, 90), (100, 100)]);
        check(&[(0, 0, 0.0), at(11.0), (100, 100, 10.0)], &[(0, 0), (50, 50), (100, 100)]);
        check(&[(0, 0, 0.0), at(NAN), (100, 100, 10.0)], &[(0, 0), (50, 50), (100, 100)]);
        check(&[(0, 0, 5.0), at(5.0), (100, 100, 5.0)], &[(0, 0), (50, 50), (100, 100)]);
    }

    #[test]
    fn first_and_last_calls_without_times_are_not_interpolated() {
        let none = (NO_TIME, NO_TIME, NAN);
        let unknown = (NO_TIME, NO_TIME);
        check(
            &[none, (60, NO_TIME, NAN), (NO_TIME, 90, NAN), none],
            &[unknown, (60, 60), (90, 90), unknown],
        );
        check(&[none, none], &[unknown, unknown]);
        check(&[], &[]);
    }
}
