//! Scheduled-only trips: they run by the timetable, and no feed has a trip update for them.

use std::{collections::HashMap, sync::Arc};

use jiff::civil::Date;
use lineside_formats::{
    gtfs::{Timetable, TripIdx, TripInstance},
    gtfs_rt::proto::trip_descriptor::ScheduleRelationship,
};
use lineside_sync::UnixMillis;
use smol_str::SmolStr;

use super::{DelayQuery, TripDelay, TripDelayStatus};
use crate::{
    departures::format_gtfs_time,
    feed_id::FeedId,
    limits::DELAYS_AHEAD,
    network_state::NetworkState,
    record::Departure,
    trip_identity::{TripKey, format_gtfs_date},
};

impl NetworkState {
    /// Returns the scheduled-only trips of the network or of a route that run now; none if no feed is reliable. Visits
    /// each running trip of the timetable's list for the minute.
    pub(super) fn scheduled_only_trips(
        &self,
        selection: DelayQuery<'_>,
        now: UnixMillis,
    ) -> Vec<Arc<TripDelay>> {
        let dataset = self.dataset.as_ref().filter(|_| !selection.feeds.is_empty());
        let Some(dataset) = dataset else { return Vec::new() };
        let timetable = &*dataset.timetable;
        let mut by_headway = HashMap::new();
        let mut is_unreported = |run: &&TripInstance| {
            let route = timetable.route(timetable.trip(run.trip).route).id;
            selection.route.is_none_or(|requested| requested == route)
                && self.counts_unreported_route(selection, route)
                && !self.is_run_reported(timetable, run, &mut by_headway)
        };
        let active_runs = dataset.active_trips_at(now);
        let scheduled_only = active_runs.iter().filter(|run| is_unreported(run));
        scheduled_only
            .map(|run| Arc::new(build_scheduled_only_trip_delay(&dataset.feed, timetable, run)))
            .collect()
    }

    /// Returns true if a departure that only the timetable knows counts in a selection. On a reported route it counts
    /// once its trip is due; on an unreported route it is as unknown later as now.
    pub(super) fn counts_as_scheduled_only(
        &self,
        selection: DelayQuery<'_>,
        departure: &Departure,
        now: UnixMillis,
    ) -> bool {
        let is_soon = departure.expected_or_scheduled_time() <= (now + DELAYS_AHEAD).unix_seconds();
        self.counts_unreported_route(selection, &departure.route_id)
            && (is_soon || !self.is_route_reported(selection, &departure.route_id))
    }

    /// Returns true if scheduled-only trips of a route count in a selection.
    fn counts_unreported_route(&self, selection: DelayQuery<'_>, route: &str) -> bool {
        match selection.all_lines {
            true => !selection.feeds.is_empty(),
            false => self.is_route_reported(selection, route),
        }
    }

    /// Returns true if a feed of a selection reports the route.
    fn is_route_reported(&self, selection: DelayQuery<'_>, route: &str) -> bool {
        selection.feeds.iter().any(|id| {
            let slice = self.find_feed_slice(id.as_str());
            slice.is_some_and(|slice| self.feed_delays(slice).by_route.contains_key(route))
        })
    }

    /// Returns true if a trip update of any feed is about a run. The time does not identify a run of a headway: there,
    /// as many runs count as reported as there are updates.
    fn is_run_reported(
        &self,
        timetable: &Timetable,
        run: &TripInstance,
        by_headway: &mut HashMap<(TripIdx, Date), usize>,
    ) -> bool {
        let (date, time) = (format_gtfs_date(run.service_date), format_start_time(run));
        let trip_id = timetable.trip(run.trip).id;
        let is_exact = has_exact_start_time(timetable, run);
        let start_time = if is_exact { time.as_str() } else { "" };
        let key = TripKey { trip_id, start_date: &date, start_time };
        let about = self.feeds.iter().flat_map(|slice| {
            let updates = slice.tables.trip_updates.records_by_trip(trip_id);
            updates.filter_map(|record| record.trip_update()).filter(|update| {
                let relationship = update.trip.schedule_relationship();
                relationship != ScheduleRelationship::Duplicated
                    && TripKey::from_descriptor(&update.trip)
                        .is_some_and(|other| key.may_be_same_run(other))
            })
        });
        if is_exact {
            return { about }.next().is_some();
        }
        let left = by_headway.entry((run.trip, run.service_date)).or_insert_with(|| about.count());
        let is_reported = *left > 0;
        *left = left.saturating_sub(1);
        is_reported
    }
}

/// Returns true if a run leaves at exactly its scheduled time.
fn has_exact_start_time(timetable: &Timetable, run: &TripInstance) -> bool {
    run.start_time.is_none_or(|start| {
        let mut rows = timetable.frequencies_of_trip(run.trip).iter();
        rows.any(|row| row.exact && (row.start..row.end).contains(&start))
    })
}

fn format_start_time(run: &TripInstance) -> SmolStr {
    run.start_time.map_or_else(SmolStr::default, format_gtfs_time)
}

fn build_scheduled_only_trip_delay(
    feed: &FeedId,
    timetable: &Timetable,
    run: &TripInstance,
) -> TripDelay {
    let trip = timetable.trip(run.trip);
    let route = timetable.route(trip.route);
    TripDelay {
        feed: feed.clone(),
        trip_id: SmolStr::new(trip.id),
        start_date: SmolStr::new(format_gtfs_date(run.service_date)),
        start_time: format_start_time(run),
        route_id: Some(SmolStr::new(route.id)),
        route_short_name: Some(route.display_name())
            .filter(|name| !name.is_empty())
            .map(SmolStr::new),
        route_color: route.color,
        route_type: Some(route.kind),
        headsign: trip.headsign.map(SmolStr::new),
        stop_id: None,
        stop_name: None,
        scheduled: None,
        begins_at: None,
        first_stop_name: None,
        status: TripDelayStatus::ScheduledOnly,
        is_delay_only: false,
    }
}
