//! Matching of reported calls with scheduled ones for trips that visit a stop more than once: there the stop alone does
//! not identify the call, so `stop_sequence` does.
//!
//! The aimed times decide, then the producer's own numbers, then the order of the reported calls. If several candidates
//! remain, no number is set: a reader can guess as well.

use jiff::Timestamp;
use lineside_formats::{
    gtfs::{StopTime, Timetable, TripIdx},
    gtfs_rt::proto::{TripDescriptor, trip_update::StopTimeUpdate},
    siri::SiriCall,
};

use super::{SiriEntity, calls::CallQuays, to_unix_seconds};
use crate::trip_forecast::ScheduledRun;
use crate::trip_identity::{TripKey, is_extra_trip, text_if_nonempty};

/// A producer's hints that identify a call within its journey.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallMatchingHints {
    /// The aimed arrival, in Unix seconds.
    pub(super) aimed_arrival: Option<i64>,
    pub(super) aimed_departure: Option<i64>,
    /// The call's position in the journey.
    order: Option<u32>,
    /// The count of visits to the call's stop so far.
    visit_number: Option<u32>,
}

impl CallMatchingHints {
    pub(super) fn from_call(call: &SiriCall) -> CallMatchingHints {
        CallMatchingHints {
            aimed_arrival: to_unix_seconds(call.aimed_arrival_time),
            aimed_departure: to_unix_seconds(call.aimed_departure_time),
            order: call.order,
            visit_number: call.visit_number,
        }
    }

    /// Returns the hints of each call that becomes a stop time update.
    pub(super) fn from_calls<'c>(
        calls: impl Iterator<Item = &'c SiriCall>,
    ) -> Vec<CallMatchingHints> {
        let has_stop = |call: &&SiriCall| {
            CallQuays::from_call(call).planned.or(call.stop_point_ref.as_ref()).is_some()
        };
        calls.filter(has_stop).map(CallMatchingHints::from_call).collect()
    }
}

/// Sets the `stop_sequence` of an entity's calls and of its vehicle's current call, if the timetable's trip visits a
/// stop more than once.
pub(super) fn set_stop_sequences(entity: &mut SiriEntity, timetable: &Timetable) {
    let (hints, vehicle_hints) =
        (std::mem::take(&mut entity.call_hints), entity.vehicle_call_hints.take());
    if let Some(update) = &mut entity.entity.trip_update
        && let Some(plan) = RepeatedStopTrip::from_trip(&update.trip, timetable)
    {
        let hints = entity.visits.as_ref().map_or(hints, |visits| visits.call_hints().collect());
        let sequences = plan.certain_stop_sequences(&update.stop_time_update, &hints);
        for (call, sequence) in update.stop_time_update.iter_mut().zip(&sequences) {
            call.stop_sequence = *sequence;
        }
        if let Some(visits) = &mut entity.visits {
            visits.set_stop_sequences(&sequences);
        }
    }
    if let Some(vehicle) = &mut entity.entity.vehicle
        && let Some(near) = vehicle_hints
        && let Some(plan) =
            vehicle.trip.as_ref().and_then(|trip| RepeatedStopTrip::from_trip(trip, timetable))
    {
        let at = StopTimeUpdate { stop_id: vehicle.stop_id.clone(), ..StopTimeUpdate::default() };
        vehicle.current_stop_sequence = plan.certain_stop_sequences(&[at], &[near]).pop().flatten();
    }
}

/// A scheduled trip that visits a stop more than once.
struct RepeatedStopTrip<'a> {
    timetable: &'a Timetable,
    trip: TripIdx,
    calls: Vec<StopTime<'a>>,
    /// The run, if it is identified.
    run: Option<ScheduledRun<'a>>,
}

impl<'a> RepeatedStopTrip<'a> {
    /// Returns `None` for a trip whose calls come from its update alone.
    fn from_trip(trip: &TripDescriptor, timetable: &'a Timetable) -> Option<RepeatedStopTrip<'a>> {
        let key = TripKey::from_descriptor(trip).filter(|_| !is_extra_trip(trip))?;
        let trip = timetable.find_trip(key.trip_id)?;
        let mut stops: Vec<_> = timetable.trip_stop_times(trip).map(|call| call.stop).collect();
        stops.sort_unstable();
        stops.windows(2).find(|pair| pair.first() == pair.last())?;
        let run = ScheduledRun::from_descriptor(timetable, trip, key.start_date, key.start_time);
        // Only the start time identifies a run of a frequency-based trip.
        let is_named = !timetable.trip(trip).has_frequencies || !key.start_time.is_empty();
        let calls = timetable.trip_stop_times(trip).collect();
        Some(RepeatedStopTrip { timetable, trip, calls, run: run.filter(|_| is_named) })
    }

    /// Returns the stop sequences of calls in the order of the journey, where they are certain.
    fn certain_stop_sequences(
        &self,
        updates: &[StopTimeUpdate],
        hints: &[CallMatchingHints],
    ) -> Vec<Option<u32>> {
        let may_be: Vec<Vec<usize>> = updates
            .iter()
            .zip(hints)
            .map(|(update, hints)| self.candidate_scheduled_calls(update, *hints))
            .collect();
        // Each call as early as the preceding calls allow, and as late as the following ones allow.
        let mut next = 0;
        let earliest: Vec<Option<usize>> = may_be
            .iter()
            .map(|may_be| {
                let found = may_be.iter().copied().find(|at| *at >= next)?;
                next = found + 1;
                Some(found)
            })
            .collect();
        let mut end = self.calls.len();
        let latest = may_be.iter().rev().map(|may_be| {
            let found = may_be.iter().copied().rev().find(|at| *at < end)?;
            end = found;
            Some(found)
        });
        let mut latest: Vec<Option<usize>> = latest.collect();
        latest.reverse();
        let sure = earliest.into_iter().zip(latest).map(|(early, late)| {
            let at = early.filter(|_| early == late)?;
            Some(self.calls.get(at)?.stop_sequence)
        });
        sure.collect()
    }

    /// Returns the indexes of the scheduled calls that a call may be by its own hints.
    fn candidate_scheduled_calls(
        &self,
        update: &StopTimeUpdate,
        hints: CallMatchingHints,
    ) -> Vec<usize> {
        let stop =
            text_if_nonempty(&update.stop_id).and_then(|stop| self.timetable.find_stop(stop));
        let calls = self.calls.iter().enumerate();
        let candidates: Vec<usize> =
            calls.filter(|(_, call)| Some(call.stop) == stop).map(|(at, _)| at).collect();
        let by_number = || {
            self.find_call_by_order(&candidates, hints)
                .or_else(|| find_call_by_visit_number(&candidates, hints))
        };
        match self
            .find_call_by_aimed_time(&candidates, hints)
            .or_else(by_number)
            .filter(|_| candidates.len() > 1)
        {
            Some(at) => vec![at],
            None => candidates,
        }
    }

    /// Returns the call whose scheduled time is nearest to the aimed time.
    fn find_call_by_aimed_time(
        &self,
        candidates: &[usize],
        hints: CallMatchingHints,
    ) -> Option<usize> {
        let mut by_distance: Vec<(u64, usize)> = candidates
            .iter()
            .filter_map(|at| Some((self.aimed_time_difference(self.calls.get(*at)?, hints)?, *at)))
            .collect();
        by_distance.sort_unstable();
        match by_distance[..] {
            [(nearest, _), (second, _), ..] if nearest == second => None,
            [(_, at), ..] if by_distance.len() == candidates.len() => Some(at),
            _ => None,
        }
    }

    /// Returns the difference between the aimed and the scheduled time of a call, in seconds.
    fn aimed_time_difference(&self, call: &StopTime<'_>, hints: CallMatchingHints) -> Option<u64> {
        let departs = hints.aimed_departure.filter(|_| call.departure.is_some());
        let aimed = departs.or(hints.aimed_arrival)?;
        let time_in_run = |run: ScheduledRun<'_>| {
            let planned = if departs.is_some() {
                run.scheduled_departure(call)
            } else {
                run.scheduled_arrival(call)
            };
            Some(planned?.abs_diff(aimed))
        };
        if let Some(run) = self.run {
            return time_in_run(run);
        }
        if self.timetable.trip(self.trip).has_frequencies {
            return None;
        }
        // A journey without a date may have begun on the day before.
        let zone = self.timetable.timezone().clone();
        let today = Timestamp::from_second(aimed).ok()?.to_zoned(zone).date();
        let days = [Some(today), today.yesterday().ok()].into_iter().flatten();
        days.filter_map(|day| time_in_run(ScheduledRun::new(self.timetable, self.trip, day, None)))
            .min()
    }

    /// Returns the call with the producer's number, counted from 1 or as in the schedule.
    fn find_call_by_order(&self, candidates: &[usize], hints: CallMatchingHints) -> Option<usize> {
        let order = hints.order?;
        let is_match = |at: &&usize| {
            let sequence = self.calls.get(**at).map(|call| call.stop_sequence);
            u32::try_from(**at + 1) == Ok(order) || sequence == Some(order)
        };
        let mut found = candidates.iter().filter(is_match);
        found.next().filter(|_| found.next().is_none()).copied()
    }
}

/// Returns the call with the producer's visit number. Many producers write 1 for every call.
fn find_call_by_visit_number(candidates: &[usize], hints: CallMatchingHints) -> Option<usize> {
    let number = usize::try_from(hints.visit_number?).ok().filter(|number| *number > 1)?;
    candidates.get(number - 1).copied()
}
