//! Departures of trips that a real-time feed updates and the timetable does not have. Some producers use other trip ids
//! than their timetable, so that no live trip can be matched with a scheduled one.

use std::{collections::HashMap, sync::Arc};

use lineside_formats::{
    gtfs::{StopIdx, Timetable},
    gtfs_rt::proto::{
        TripUpdate, trip_descriptor::ScheduleRelationship, trip_update::stop_time_update,
    },
};

use super::{
    DepartureSearch, TripRunUpdate,
    announced::{find_stop_of_call, predicted_departure_or_arrival},
    has_better_update_elsewhere,
};
use crate::{
    dataset::Dataset,
    limits::LIVE_ONLY_EARLY_MAX,
    network_state::{FeedStateInNetwork, NetworkState},
    record::{Departure, DepartureStatus, Record},
    trip_identity::{is_extra_trip, text_if_nonempty},
};

/// The departures of one feed's live-only trips by stop, computed once per state of the feed. A trip is live-only if
/// the feed updates it as a scheduled one and the timetable does not have it.
#[derive(Debug, Default)]
pub(crate) struct UnmatchedTripCalls {
    by_stop: HashMap<StopIdx, Vec<UnmatchedTripCall>>,
}

/// A call of a live-only trip that is a departure.
#[derive(Clone, Copy, Debug)]
struct UnmatchedTripCall {
    /// The number of the trip update among those of the feed.
    record: u32,
    /// The number of the call in the trip update.
    call: u32,
}

impl UnmatchedTripCalls {
    fn from_slice(slice: &FeedStateInNetwork, timetable: &Timetable) -> UnmatchedTripCalls {
        let mut calls = UnmatchedTripCalls::default();
        for (number, record) in (0..).zip(slice.tables.trip_updates.records()) {
            let Some(update) = record.trip_update() else { continue };
            if is_trip_in_timetable(update, timetable) == Some(false) {
                calls.add_trip_calls(number, update, timetable);
            }
        }
        calls
    }

    fn add_trip_calls(&mut self, record: u32, update: &TripUpdate, timetable: &Timetable) {
        // The last call is no departure.
        let Some((_, departing)) = update.stop_time_update.split_last() else { return };
        for (number, call) in (0..).zip(departing) {
            let is_served =
                call.schedule_relationship() != stop_time_update::ScheduleRelationship::Skipped;
            let stop = find_stop_of_call(timetable, call).filter(|_| is_served);
            if let Some(stop) = stop.filter(|_| predicted_departure_or_arrival(call).is_some()) {
                self.by_stop
                    .entry(stop)
                    .or_default()
                    .push(UnmatchedTripCall { record, call: number });
            }
        }
    }
}

/// Returns true if the timetable has the trip of an update; `None` if the update names no trip, or one that is declared
/// not to be in the timetable, such as an added trip.
fn is_trip_in_timetable(update: &TripUpdate, timetable: &Timetable) -> Option<bool> {
    let id = text_if_nonempty(&update.trip.trip_id).filter(|_| !is_extra_trip(&update.trip))?;
    let is_known = timetable.find_trip(id).is_some();
    let is_scheduled = update.trip.schedule_relationship() == ScheduleRelationship::Scheduled;
    (is_known || is_scheduled).then_some(is_known)
}

/// True for a feed whose trips cannot be matched with the timetable.
struct HasNoMatchingTrips(bool);

impl FeedStateInNetwork {
    fn unmatched_trip_calls(&self, dataset: &Dataset) -> &UnmatchedTripCalls {
        let make = || UnmatchedTripCalls::from_slice(self, &dataset.timetable);
        self.cache.get_or_init(make)
    }

    /// Returns true if the feed updates trips and the timetable has none of them. Then its trips cannot be matched with
    /// the timetable: each may be a scheduled trip with another id. Visits trip updates up to the first that the
    /// timetable has.
    fn has_only_unmatched_trips(&self, dataset: &Dataset) -> bool {
        let find = || {
            let updates = self.tables.trip_updates.records().iter();
            let mut known = updates.filter_map(|record| {
                is_trip_in_timetable(record.trip_update()?, &dataset.timetable)
            });
            HasNoMatchingTrips(known.next() == Some(false) && !known.any(|is_known| is_known))
        };
        self.cache.get_or_init(find).0
    }
}

impl NetworkState {
    /// Returns true if one of the network's feeds updates trips of which the timetable has none. Boards then show the
    /// live trips of a line in place of its timetable, as far ahead as there are live trips.
    pub fn has_feed_without_matches(&self) -> bool {
        let Some(dataset) = &self.dataset else { return false };
        self.feeds.iter().any(|feed| feed.has_only_unmatched_trips(dataset))
    }

    /// Returns true if a feed's trips become or cease to be comparable with the timetable in the next state: this
    /// changes at any stop which scheduled departures are shown.
    pub fn has_matching_changed(&self, next: &[Arc<FeedStateInNetwork>]) -> bool {
        let Some(dataset) = &self.dataset else { return false };
        let mut slices = self.feeds.iter().zip(next);
        slices.any(|(old, new)| {
            !Arc::ptr_eq(old, new)
                && old.has_only_unmatched_trips(dataset) != new.has_only_unmatched_trips(dataset)
        })
    }
}

/// A line at a stop or platform: `route_id` and `stop_id`.
type LineAtStop<'a> = (&'a str, &'a str);

impl<'a> DepartureSearch<'a> {
    /// Lists departures of live-only trips, with their live times and without scheduled ones.
    pub(super) fn list_unmatched_trip_departures(&self) -> Vec<Departure> {
        let departures = self.list_unmatched_trip_calls().filter_map(|(feed, record, call)| {
            let said = TripRunUpdate::new(feed, record.trip_update()?, self.now);
            let leaves = predicted_departure_or_arrival(said.update.stop_time_update.get(call)?)?;
            let is_shown = self.is_in_board_window(leaves)
                && !said.is_out_of_date(self.now)
                && !has_better_update_elsewhere(self.state, record, self.now, |_| true);
            is_shown.then(|| self.build_extra_trip_departure(&said, &record.id, call))?
        });
        departures.collect()
    }

    /// Removes scheduled departures that may be the same trains as live-only ones: for each line at each platform,
    /// those until the last live departure of a feed whose trips cannot be matched with the timetable.
    pub(super) fn remove_likely_duplicate_departures(&self, departures: &mut Vec<Departure>) {
        let last_live = self.find_last_unmatched_departures();
        if last_live.is_empty() {
            return;
        }
        let early = i64::try_from(LIVE_ONLY_EARLY_MAX.as_secs()).unwrap_or(i64::MAX);
        departures.retain(|departure| {
            let line = (departure.route_id.as_str(), departure.stop_id.as_str());
            let is_covered = last_live.get(&line).is_some_and(|last| {
                departure.expected_or_scheduled_time() <= last.saturating_add(early)
            });
            departure.status != DepartureStatus::Scheduled || !is_covered
        });
    }

    fn find_last_unmatched_departures(&self) -> HashMap<LineAtStop<'a>, i64> {
        let mut last_live: HashMap<LineAtStop<'a>, i64> = HashMap::new();
        for (feed, record, call) in self.list_unmatched_trip_calls() {
            let Some(update) = record.trip_update() else { continue };
            let is_comparable = !feed.has_only_unmatched_trips(self.dataset);
            if is_comparable || TripRunUpdate::new(feed, update, self.now).is_out_of_date(self.now)
            {
                continue;
            }
            let call = update.stop_time_update.get(call);
            let found = call.and_then(|call| {
                let stop = find_stop_of_call(&self.dataset.timetable, call)?;
                Some((self.dataset.timetable.stop(stop).id, predicted_departure_or_arrival(call)?))
            });
            if let Some((stop, leaves)) = found {
                let route = text_if_nonempty(&update.trip.route_id).unwrap_or_default();
                let last = last_live.entry((route, stop)).or_insert(leaves);
                *last = leaves.max(*last);
            }
        }
        last_live
    }

    /// Lists the calls of live-only trips at the stop or at the stops of the station: the feed, the trip update and the
    /// number of the call in it.
    fn list_unmatched_trip_calls(
        &self,
    ) -> impl Iterator<Item = (&'a FeedStateInNetwork, &'a Arc<Record>, usize)> {
        let here = self.dataset.timetable.stop_and_descendants(self.stop);
        let dataset = self.dataset;
        self.state.feeds.iter().flat_map(move |feed| {
            let feed: &FeedStateInNetwork = feed;
            let known = feed.unmatched_trip_calls(dataset);
            let calls: Vec<UnmatchedTripCall> =
                here.iter().filter_map(|stop| known.by_stop.get(stop)).flatten().copied().collect();
            calls.into_iter().filter_map(move |call| {
                let record = feed.tables.trip_updates.records().get(call.record as usize)?;
                Some((feed, record, call.call as usize))
            })
        })
    }
}
