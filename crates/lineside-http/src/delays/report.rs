//! The answer to a question about delays: a verdict, the counts behind it, and the trips.

use std::collections::HashMap;
use std::sync::Arc;

use lineside_model::{
    DelayCounts, DelayHistogramClass, TripDelay, TripDelayStatus, group_trips_by_delay,
};
use lineside_sync::UnixMillis;
use smol_str::SmolStr;

use super::day::DelayHistory;
use super::question::DelayReportRequest;
use super::vehicle_nouns::VehicleNoun;

/// The verdict on a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DelayVerdict {
    /// Trips are late or cancelled.
    Yes,
    /// All known trips are on time, and no data are missing.
    No,
    /// Data are stale or missing.
    Unknown,
}

impl DelayVerdict {
    /// Returns the verdict as written in JSON and on badges.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Unknown => "unknown",
        }
    }

    /// Returns true if trips are late; `None` if that is unknown.
    pub fn is_late(self) -> Option<bool> {
        match self {
            Self::Yes => Some(true),
            Self::No => Some(false),
            Self::Unknown => None,
        }
    }
}

/// The counted trips of one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineDelayCounts {
    pub route_id: SmolStr,
    pub name: SmolStr,
    pub color: Option<[u8; 3]>,
    pub counts: DelayCounts,
}

/// The complete answer.
#[derive(Debug)]
pub struct DelayReport {
    pub question: DelayReportRequest,
    pub verdict: DelayVerdict,
    /// True if a source is stale, or there is none.
    pub is_stale: bool,
    /// The time of the oldest data behind the answer.
    pub at: Option<UnixMillis>,
    /// `None` if no source is fresh.
    pub counts: Option<DelayCounts>,
    /// Late trips, the most delayed first.
    pub late: Vec<Arc<TripDelay>>,
    pub cancelled: Vec<Arc<TripDelay>>,
    pub classes: Vec<DelayHistogramClass>,
    /// Lines, those with the most late and cancelled trips first.
    pub lines: Vec<LineDelayCounts>,
    /// The history of the day; a stop's history begins with the first question about it, and one line at a stop has
    /// none.
    pub day: DelayHistory,
    pub noun: VehicleNoun,
    /// The time of the answer, by the server's clock and by that of the data.
    pub made_at: UnixMillis,
    pub now: UnixMillis,
}

impl DelayReport {
    /// Answers a question. The cost is linear in the number of its trips.
    pub fn compute_report(
        question: DelayReportRequest,
        day: DelayHistory,
        made_at: UnixMillis,
    ) -> Self {
        let now = question.network.data_time_now();
        let believed = question.fresh_sources();
        let trips = question.state.trip_delays(question.trip_query(&believed), now);
        let all_trips = || trips.iter().map(|trip| &**trip);
        let late_after = question.late_after;
        let counts = DelayCounts::from_trips(all_trips(), late_after);
        let is_known = !believed.is_empty();
        let stale = believed.len() < question.sources.len() || question.sources.is_empty();
        Self {
            verdict: delay_verdict(is_known, stale, &counts),
            is_stale: stale,
            at: data_time(&question),
            counts: is_known.then_some(counts),
            late: late_trips(&trips, question.late_after),
            cancelled: cancelled_trips(&trips),
            classes: group_trips_by_delay(all_trips(), late_after),
            lines: count_trips_by_line(&trips, question.late_after),
            noun: VehicleNoun::for_optional_route_types(
                all_trips().map(|trip| trip.route_type),
                question.timetable.as_deref(),
            ),
            day,
            made_at,
            now,
            question,
        }
    }
}

impl DelayReport {
    /// Returns true if the data are those of a recording, whose clock is not the server's.
    pub fn is_replaying_recording(&self) -> bool {
        self.question.network.replayed_time_now().is_some()
    }

    /// Returns true if the delay or the cancellation of a trip is known.
    pub fn has_known_trip(&self) -> bool {
        self.counts.is_some_and(|counts| counts.trips > counts.unknown)
    }

    /// Returns the share of trips that are neither late nor cancelled among the cancelled trips and those with known
    /// times, from 0 to 1; `None` if too little is known.
    pub fn on_time_share(&self) -> Option<f64> {
        let counts = self.counts.filter(|counts| counts.has_enough_known_trips())?;
        on_time_share(&counts)
    }
}

fn on_time_share(counts: &DelayCounts) -> Option<f64> {
    let known = counts.trips.saturating_sub(counts.unknown);
    (known > 0).then(|| (counts.on_time + counts.early) as f64 / known as f64)
}

/// Returns the verdict. A silent source may hold a late trip: then only "yes" is certain.
fn delay_verdict(is_known: bool, stale: bool, counts: &DelayCounts) -> DelayVerdict {
    if is_known && counts.late + counts.cancelled > 0 {
        DelayVerdict::Yes
    } else if is_known && !stale && counts.has_enough_known_trips() {
        DelayVerdict::No
    } else {
        DelayVerdict::Unknown
    }
}

/// Returns the time of the oldest fresh data; of the newest data, if none are fresh.
fn data_time(question: &DelayReportRequest) -> Option<UnixMillis> {
    let fresh = question.sources.iter().filter(|source| source.is_fresh);
    let oldest = fresh.filter_map(|source| source.at).min();
    oldest.or_else(|| question.sources.iter().filter_map(|source| source.at).max())
}

fn late_trips(trips: &[Arc<TripDelay>], late_after: std::time::Duration) -> Vec<Arc<TripDelay>> {
    let delay = |trip: &TripDelay| match trip.status {
        TripDelayStatus::Delayed(delay) => Some(delay),
        TripDelayStatus::Cancelled | TripDelayStatus::Unknown | TripDelayStatus::ScheduledOnly => {
            None
        }
    };
    let is_late = |trip: &&Arc<TripDelay>| {
        let seconds = delay(trip).and_then(|delay| u64::try_from(delay).ok());
        seconds.is_some_and(|delay| delay >= late_after.as_secs())
    };
    let mut late: Vec<_> = trips.iter().filter(is_late).cloned().collect();
    late.sort_by(|a, b| delay(b).cmp(&delay(a)).then_with(|| a.trip_id.cmp(&b.trip_id)));
    late
}

fn cancelled_trips(trips: &[Arc<TripDelay>]) -> Vec<Arc<TripDelay>> {
    let is_cancelled = |trip: &&Arc<TripDelay>| trip.status == TripDelayStatus::Cancelled;
    let mut off: Vec<_> = trips.iter().filter(is_cancelled).cloned().collect();
    let order = |trip: &TripDelay| (trip.route_short_name.clone(), trip.trip_id.clone());
    let at = |trip: &TripDelay| trip.scheduled.or(trip.begins_at).unwrap_or(i64::MAX);
    off.sort_by_cached_key(|trip| (at(trip), order(trip)));
    off
}

fn count_trips_by_line(
    trips: &[Arc<TripDelay>],
    late_after: std::time::Duration,
) -> Vec<LineDelayCounts> {
    let mut by_route: HashMap<&SmolStr, Vec<&TripDelay>> = HashMap::new();
    for trip in trips {
        if let Some(route) = &trip.route_id {
            by_route.entry(route).or_default().push(trip);
        }
    }
    let mut lines: Vec<LineDelayCounts> = by_route
        .into_iter()
        .map(|(route, trips)| LineDelayCounts {
            route_id: route.clone(),
            name: trips[0].route_short_name.clone().unwrap_or_else(|| route.clone()),
            color: trips[0].route_color,
            counts: DelayCounts::from_trips(trips, late_after),
        })
        .collect();
    lines.sort_by(|a, b| {
        let trouble = |line: &LineDelayCounts| line.counts.late + line.counts.cancelled;
        let name =
            |line: &LineDelayCounts| (line.name.len(), line.name.clone(), line.route_id.clone());
        trouble(b).cmp(&trouble(a)).then_with(|| name(a).cmp(&name(b)))
    });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(late: usize, cancelled: usize, on_time: usize, unknown: usize) -> DelayCounts {
        let trips = late + cancelled + on_time + unknown;
        DelayCounts { trips, late, cancelled, on_time, unknown, ..DelayCounts::default() }
    }

    #[test]
    fn the_verdict_is_no_only_if_no_data_are_stale_or_missing() {
        let all = [
            (true, false, counts(1, 0, 40, 0), DelayVerdict::Yes),
            (true, false, counts(0, 1, 40, 0), DelayVerdict::Yes),
            (true, false, counts(0, 0, 40, 3), DelayVerdict::No),
            (true, false, counts(0, 0, 0, 3), DelayVerdict::Unknown),
            (true, false, counts(0, 0, 0, 0), DelayVerdict::Unknown),
            (true, true, counts(0, 0, 40, 0), DelayVerdict::Unknown),
            (true, true, counts(2, 0, 40, 0), DelayVerdict::Yes),
            (false, true, counts(0, 0, 0, 0), DelayVerdict::Unknown),
        ];
        for (is_known, stale, counts, expect) in all {
            assert_eq!(
                delay_verdict(is_known, stale, &counts),
                expect,
                "{is_known} {stale} {counts:?}"
            );
        }
    }

    #[test]
    fn the_on_time_share_counts_known_trips_only() {
        assert_eq!(on_time_share(&counts(1, 1, 6, 12)), Some(0.75));
        assert_eq!(on_time_share(&counts(0, 0, 0, 3)), None);
    }

    #[test]
    fn unknown_is_neither_yes_nor_no() {
        assert_eq!(DelayVerdict::Unknown.is_late(), None);
        assert_eq!(
            (DelayVerdict::Yes.is_late(), DelayVerdict::No.is_late()),
            (Some(true), Some(false))
        );
    }
}
