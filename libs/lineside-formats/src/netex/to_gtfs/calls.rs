//! Combines the times of a journey with the points of its pattern to calls.

use std::{collections::HashMap, ops::Range};

use super::{RecordIndex, find_record_by_id, index_by_id};
use crate::{
    gtfs::TextId,
    netex::{
        PublicationLimits,
        record::{
            JourneyPattern, NO_TIME, PassingTime, PatternPoint, Publication, ServiceJourney,
            StopBoardingRules,
        },
    },
};

const DAY_SECONDS: i32 = 24 * 3_600;

#[derive(Clone, Copy, Debug)]
pub(super) struct ScheduledCall {
    pub(super) stop_point: TextId,
    /// True if it has an unreadable time.
    has_unread_time: bool,
    pub(super) arrival: i32,
    pub(super) departure: i32,
    pub(super) use_of: StopBoardingRules,
    /// The destination shown from this call on; empty if it does not change.
    pub(super) display: TextId,
}

/// The reason why a journey has no calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MissingCallsReason {
    /// The pattern is in no file.
    UnknownPattern,
    /// The journey refers to a point that its pattern does not have, or has more times than its pattern has points.
    UnknownPoint,
    /// There are no times, or they cannot be computed because that of a link is missing.
    NoTimes,
    /// There are times, but they are unreadable.
    UnreadTimes,
    /// The journey only has windows of times.
    Windows,
    /// The journey starts on the previous day.
    DayBefore,
    /// The calls of the journey or the points of its pattern exceed the limit.
    TooLong,
}

/// The run times of a demand type's links, by their ids and by their ends, and its wait times at points. [`NO_TIME`]
/// marks an unreadable run time.
pub(super) struct DemandTypeRunTimes {
    links: HashMap<TextId, i32>,
    ends: HashMap<(TextId, TextId), i32>,
    waits: HashMap<TextId, i32>,
}

/// Computes the times of all demand types. Of several values for one link or point the first readable one applies.
pub(super) fn compute_demand_type_times(publication: &Publication) -> Vec<DemandTypeRunTimes> {
    let links = index_by_id(&publication.timing_links, |link| link.id);
    let listed = |range: &Range<u32>| {
        let range = range.start as usize..range.end as usize;
        publication.durations.get(range).unwrap_or_default()
    };
    let is_read = |it: &&(TextId, i32)| it.1 != NO_TIME;
    let pace = |runs: &Range<u32>, waits: &Range<u32>| {
        let (runs, waits) = (listed(runs), listed(waits).iter().rev().filter(is_read));
        let unread = runs.iter().filter(|it| !is_read(it));
        let runs = unread.chain(runs.iter().rev().filter(is_read));
        let of_ends = runs.clone().filter_map(|&(link, seconds)| {
            let link = find_record_by_id(&publication.timing_links, &links, link)?;
            Some(((link.from, link.to), seconds))
        });
        DemandTypeRunTimes {
            ends: of_ends.collect(),
            links: runs.copied().collect(),
            waits: waits.copied().collect(),
        }
    };
    publication.demand_types.iter().map(|it| pace(&it.runs, &it.waits)).collect()
}

pub(super) fn pattern_points<'p>(
    publication: &'p Publication,
    pattern: &JourneyPattern,
) -> &'p [PatternPoint] {
    let range = pattern.points.start as usize..pattern.points.end as usize;
    publication.pattern_points.get(range).unwrap_or_default()
}

/// Replaces `calls` by the calls of a journey.
pub(super) fn build_journey_calls(
    publication: &Publication,
    index: &RecordIndex,
    journey: &ServiceJourney,
    calls: &mut Vec<ScheduledCall>,
) -> Result<(), MissingCallsReason> {
    calls.clear();
    let pattern = find_record_by_id(&publication.patterns, &index.patterns, journey.pattern);
    let points = pattern.map_or(&[][..], |pattern| pattern_points(publication, pattern));
    if points.len().max(journey.times.len()) > PublicationLimits::CALLS {
        return Err(MissingCallsReason::TooLong);
    }
    if journey.times.is_empty() {
        let pace =
            find_record_by_id(&index.demand_type_times, &index.demand_types, journey.demand_type);
        let pace = pace.ok_or(MissingCallsReason::NoTimes)?;
        if pattern.is_none() {
            return Err(MissingCallsReason::UnknownPattern);
        }
        compute_calls_from_run_times(journey, pace, points, calls)?;
    } else {
        pair_times_with_points(publication, journey, pattern.map(|_| points), calls)?;
    }
    calls.retain(|call| !call.use_of.passes);
    let (Some(first), Some(last)) = (calls.first(), calls.last()) else {
        return Err(MissingCallsReason::NoTimes);
    };
    let mut untimed = [first, last].into_iter().filter(|call| call.departure == NO_TIME).peekable();
    if untimed.peek().is_some() {
        let are_unread = untimed.all(|call| call.has_unread_time);
        return Err(if are_unread {
            MissingCallsReason::UnreadTimes
        } else {
            MissingCallsReason::NoTimes
        });
    }
    let is_before = |time: i32| time < 0 && time != NO_TIME;
    if calls.iter().any(|call| is_before(call.arrival) || is_before(call.departure)) {
        return Err(MissingCallsReason::DayBefore);
    }
    Ok(())
}

/// Pairs passing times with points: by the points that they refer to, or by position.
fn pair_times_with_points(
    publication: &Publication,
    journey: &ServiceJourney,
    points: Option<&[PatternPoint]>,
    calls: &mut Vec<ScheduledCall>,
) -> Result<(), MissingCallsReason> {
    let range = journey.times.start as usize..journey.times.end as usize;
    let times = publication.passing_times.get(range).unwrap_or_default();
    if times
        .iter()
        .all(|time| time.is_window && time.departure == NO_TIME && time.arrival == NO_TIME)
    {
        return Err(MissingCallsReason::Windows);
    }
    let (mut latest, mut days) = (NO_TIME, 0);
    let known = points.unwrap_or_default();
    for (time, at) in match_passing_times_to_points(times, known) {
        let point = at.and_then(|at| known.get(at));
        let stop_point = match (time.stop_point, point) {
            (TextId::EMPTY, Some(point)) => point.stop_point,
            (TextId::EMPTY, None) if points.is_none() => {
                return Err(MissingCallsReason::UnknownPattern);
            }
            (TextId::EMPTY, None) => return Err(MissingCallsReason::UnknownPoint),
            (stop_point, _) => stop_point,
        };
        // A call may differ from the pattern's points; data of another point do not apply to it.
        let point = point.filter(|point| point.stop_point == stop_point);
        let mut call = ScheduledCall {
            stop_point,
            has_unread_time: time.has_unread_time,
            arrival: if time.arrival == NO_TIME { time.departure } else { time.arrival },
            departure: if time.departure == NO_TIME { time.arrival } else { time.departure },
            use_of: time.use_of.or(point.map(|point| point.use_of)).unwrap_or_default(),
            display: point.map_or(TextId::EMPTY, |point| point.display),
        };
        for time_of in [&mut call.arrival, &mut call.departure] {
            if *time_of == NO_TIME {
                continue;
            }
            // The time is after midnight without an offset: it goes back by more than half a day.
            if !time.has_offset
                && latest != NO_TIME
                && time_of.saturating_add(days) < latest - DAY_SECONDS / 2
            {
                days = days.saturating_add(DAY_SECONDS);
            }
            if !time.has_offset {
                *time_of = time_of.saturating_add(days);
            }
            latest = *time_of;
        }
        calls.push(call);
    }
    Ok(())
}

/// Returns the passing times, each with the index of its point in the pattern. They are in the order of the points if
/// all refer to one, else in their own. If none refers to a point and their number equals that of the calls, points
/// without a stop have no time.
fn match_passing_times_to_points<'t>(
    times: &'t [PassingTime],
    points: &[PatternPoint],
) -> Vec<(&'t PassingTime, Option<usize>)> {
    let mut next = 0;
    let mut placed: Vec<_> = Vec::with_capacity(times.len());
    let n_calls = points.iter().filter(|point| !point.use_of.passes).count();
    let steps_over = times.len() == n_calls && times.iter().all(|time| time.point == TextId::EMPTY);
    for time in times {
        while steps_over && points.get(next).is_some_and(|point| point.use_of.passes) {
            next += 1;
        }
        let at = match time.point {
            TextId::EMPTY => Some(next),
            point if points.get(next).is_some_and(|it| it.id == point) => Some(next),
            point => points.iter().position(|it| it.id == point),
        };
        next = at.map_or(next, |at| at + 1);
        placed.push((time, at));
    }
    let all_named = times.iter().all(|time| time.point != TextId::EMPTY);
    if all_named && placed.iter().all(|(_, at)| at.is_some()) {
        placed.sort_by_key(|(_, at)| *at);
    }
    placed
}

/// Computes the times from the departure, the run times of links and the wait times at points.
fn compute_calls_from_run_times(
    journey: &ServiceJourney,
    pace: &DemandTypeRunTimes,
    points: &[PatternPoint],
    calls: &mut Vec<ScheduledCall>,
) -> Result<(), MissingCallsReason> {
    // A missing value is reported even if others are unreadable.
    let mut is_unread = false;
    let mut now = match (journey.departure, journey.headways.first()) {
        (NO_TIME, Some(&(first, ..))) => first,
        (NO_TIME, None) if !journey.has_unread_start => return Err(MissingCallsReason::NoTimes),
        (NO_TIME, None) => {
            is_unread = true;
            0
        }
        (departure, _) => departure,
    };
    for (at, point) in points.iter().enumerate() {
        let (arrival, next) = (now, points.get(at + 1));
        if at > 0 && next.is_some() {
            let wait = pace.waits.get(&point.stop_point).copied();
            now = now.saturating_add(wait.unwrap_or(0));
        }
        let (use_of, display) = (point.use_of, point.display);
        calls.push(ScheduledCall {
            stop_point: point.stop_point,
            has_unread_time: false,
            arrival,
            departure: now,
            use_of,
            display,
        });
        if let Some(next) = next {
            let takes = match point.link {
                // A point that does not name its link is matched by the ends of the link.
                TextId::EMPTY => pace.ends.get(&(point.stop_point, next.stop_point)),
                named => pace.links.get(&named),
            };
            match *takes.ok_or(MissingCallsReason::NoTimes)? {
                NO_TIME => is_unread = true,
                seconds => now = now.saturating_add(seconds),
            }
        }
    }
    if is_unread { Err(MissingCallsReason::UnreadTimes) } else { Ok(()) }
}
