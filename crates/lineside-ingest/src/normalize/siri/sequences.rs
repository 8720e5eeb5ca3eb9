//! Which of the schedule's calls the told ones are, where a trip comes to a stop more than once: there the stop alone does
//! not say it, so `stop_sequence` does.
//!
//! What is planned decides, then the producer's own numbers, then the order in which calls are told. Where all of that leaves
//! several, none is named: a reader may guess as well as we can.

use jiff::Timestamp;
use lineside_formats::{
    gtfs::{StopTime, Timetable, TripIdx},
    gtfs_rt::proto::{TripDescriptor, trip_update::StopTimeUpdate},
    siri::SiriCall,
};

use super::{SiriEntity, calls::CallQuays, to_unix_seconds};
use crate::normalize::{ScheduledRun, TripKey, is_extra_trip, nonempty_text};

/// What a producer says of which call of its journey one is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallHints {
    /// When it is planned to be, Unix seconds.
    pub(super) aimed_arrival: Option<i64>,
    pub(super) aimed_departure: Option<i64>,
    /// Its place among the calls of the journey.
    order: Option<u32>,
    /// The how manieth call at its stop it is.
    visit_number: Option<u32>,
}

impl CallHints {
    pub(super) fn from_call(call: &SiriCall) -> CallHints {
        CallHints {
            aimed_arrival: to_unix_seconds(call.aimed_arrival_time),
            aimed_departure: to_unix_seconds(call.aimed_departure_time),
            order: call.order,
            visit_number: call.visit_number,
        }
    }

    /// Of each call that becomes a stop time update.
    pub(super) fn from_calls<'c>(calls: impl Iterator<Item = &'c SiriCall>) -> Vec<CallHints> {
        let has_stop = |call: &&SiriCall| {
            CallQuays::from_call(call).planned.or(call.stop_point_ref.as_ref()).is_some()
        };
        calls.filter(has_stop).map(CallHints::from_call).collect()
    }
}

/// Has the calls of an entity's trip, and the one that its vehicle is at, say their `stop_sequence`, where the timetable has
/// the trip come to a stop more than once.
pub(super) fn put_sequences(entity: &mut SiriEntity, timetable: &Timetable) {
    let (told, near) = (std::mem::take(&mut entity.told), entity.near.take());
    if let Some(update) = &mut entity.entity.trip_update
        && let Some(plan) = TripPlan::from_trip(&update.trip, timetable)
    {
        let told = entity.visits.as_ref().map_or(told, |visits| visits.call_hints().collect());
        let sequences = plan.assign_sequences(&update.stop_time_update, &told);
        for (call, sequence) in update.stop_time_update.iter_mut().zip(&sequences) {
            call.stop_sequence = *sequence;
        }
        if let Some(visits) = &mut entity.visits {
            visits.put_sequences(&sequences);
        }
    }
    if let Some(vehicle) = &mut entity.entity.vehicle
        && let Some(near) = near
        && let Some(plan) =
            vehicle.trip.as_ref().and_then(|trip| TripPlan::from_trip(trip, timetable))
    {
        let at = StopTimeUpdate { stop_id: vehicle.stop_id.clone(), ..StopTimeUpdate::default() };
        vehicle.current_stop_sequence = plan.assign_sequences(&[at], &[near]).pop().flatten();
    }
}

/// A trip that comes to a stop more than once, as the timetable has it.
struct TripPlan<'a> {
    timetable: &'a Timetable,
    trip: TripIdx,
    calls: Vec<StopTime<'a>>,
    /// The run that is meant, where that is said.
    run: Option<ScheduledRun<'a>>,
}

impl<'a> TripPlan<'a> {
    /// None of a trip whose calls come from its update alone.
    fn from_trip(trip: &TripDescriptor, timetable: &'a Timetable) -> Option<TripPlan<'a>> {
        let key = TripKey::from_descriptor(trip).filter(|_| !is_extra_trip(trip))?;
        let trip = timetable.find_trip(key.trip_id)?;
        let mut stops: Vec<_> = timetable.stop_times(trip).map(|call| call.stop).collect();
        stops.sort_unstable();
        stops.windows(2).find(|pair| pair.first() == pair.last())?;
        let run = ScheduledRun::from_descriptor(timetable, trip, key.start_date, key.start_time);
        // Of a repeated trip nothing but the start says which run it is.
        let is_named = !timetable.trip(trip).has_frequencies || !key.start_time.is_empty();
        let calls = timetable.stop_times(trip).collect();
        Some(TripPlan { timetable, trip, calls, run: run.filter(|_| is_named) })
    }

    /// The numbers of calls in the order of the journey, as far as it is sure which they are.
    fn assign_sequences(&self, updates: &[StopTimeUpdate], told: &[CallHints]) -> Vec<Option<u32>> {
        let may_be: Vec<Vec<usize>> = updates
            .iter()
            .zip(told)
            .map(|(update, told)| self.candidate_calls(update, *told))
            .collect();
        // As early as the calls before it allow, and as late as those after it do.
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

    /// Which calls one may be by what is said of it alone.
    fn candidate_calls(&self, update: &StopTimeUpdate, told: CallHints) -> Vec<usize> {
        let stop = nonempty_text(&update.stop_id).and_then(|stop| self.timetable.find_stop(stop));
        let calls = self.calls.iter().enumerate();
        let here: Vec<usize> =
            calls.filter(|(_, call)| Some(call.stop) == stop).map(|(at, _)| at).collect();
        let by_number = || self.find_by_order(&here, told).or_else(|| find_by_visit(&here, told));
        match self.find_by_time(&here, told).or_else(by_number).filter(|_| here.len() > 1) {
            Some(at) => vec![at],
            None => here,
        }
    }

    /// The one that the timetable has nearest to when it is planned by the producer.
    fn find_by_time(&self, here: &[usize], told: CallHints) -> Option<usize> {
        let mut by_distance: Vec<(u64, usize)> = here
            .iter()
            .filter_map(|at| Some((self.time_distance(self.calls.get(*at)?, told)?, *at)))
            .collect();
        by_distance.sort_unstable();
        match by_distance[..] {
            [(nearest, _), (second, _), ..] if nearest == second => None,
            [(_, at), ..] if by_distance.len() == here.len() => Some(at),
            _ => None,
        }
    }

    /// How far from when a call is planned by the producer the timetable has it, in seconds.
    fn time_distance(&self, call: &StopTime<'_>, told: CallHints) -> Option<u64> {
        let departs = told.aimed_departure.filter(|_| call.departure.is_some());
        let aimed = departs.or(told.aimed_arrival)?;
        let of = |run: ScheduledRun<'_>| {
            let planned = if departs.is_some() {
                run.scheduled_departure(call)
            } else {
                run.scheduled_arrival(call)
            };
            Some(planned?.abs_diff(aimed))
        };
        if let Some(run) = self.run {
            return of(run);
        }
        if self.timetable.trip(self.trip).has_frequencies {
            return None;
        }
        // A journey of which no day is said may have begun the day before.
        let zone = self.timetable.timezone().clone();
        let today = Timestamp::from_second(aimed).ok()?.to_zoned(zone).date();
        let days = [Some(today), today.yesterday().ok()].into_iter().flatten();
        days.filter_map(|day| of(ScheduledRun::new(self.timetable, self.trip, day, None))).min()
    }

    /// The one that its producer's number names, which counts from 1, or as the schedule does.
    fn find_by_order(&self, here: &[usize], told: CallHints) -> Option<usize> {
        let order = told.order?;
        let is_it = |at: &&usize| {
            let sequence = self.calls.get(**at).map(|call| call.stop_sequence);
            u32::try_from(**at + 1) == Ok(order) || sequence == Some(order)
        };
        let mut found = here.iter().filter(is_it);
        found.next().filter(|_| found.next().is_none()).copied()
    }
}

/// The one that its producer's count of calls at the stop names. Many write 1 at each.
fn find_by_visit(here: &[usize], told: CallHints) -> Option<usize> {
    let number = usize::try_from(told.visit_number?).ok().filter(|number| *number > 1)?;
    here.get(number - 1).copied()
}
