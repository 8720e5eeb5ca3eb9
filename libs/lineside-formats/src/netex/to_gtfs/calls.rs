//! The calls of a journey: its times brought together with the points of its pattern.

use std::ops::Range;

use super::{Index, find};
use crate::{
    gtfs::Text,
    netex::record::{DemandType, Journey, NO_TIME, Pattern, PatternPoint, Publication, StopUse},
};

/// Seconds of a day.
const DAY_SECONDS: i32 = 24 * 3_600;

/// One call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) stop_point: Text,
    pub(super) arrival: i32,
    pub(super) departure: i32,
    pub(super) use_of: StopUse,
    /// The destination that is shown from here on; empty where nothing changes.
    pub(super) display: Text,
}

/// Why a journey has no calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Its pattern is in no file.
    UnknownPattern,
    /// It names a point that its pattern does not have, or has more times than its pattern has points.
    UnknownPoint,
    /// It has no times, or they cannot be computed because a link's is missing.
    NoTimes,
    /// It only says between which times it comes.
    Windows,
    /// It begins on the day before.
    DayBefore,
}

/// The points of a pattern.
pub(super) fn points_of<'p>(publication: &'p Publication, pattern: &Pattern) -> &'p [PatternPoint] {
    let range = pattern.points.start as usize..pattern.points.end as usize;
    publication.pattern_points.get(range).unwrap_or_default()
}

/// Puts the calls of a journey into `calls`.
pub(super) fn read(
    publication: &Publication,
    index: &Index,
    journey: &Journey,
    calls: &mut Vec<Call>,
) -> Result<(), Fault> {
    calls.clear();
    let pattern = find(&publication.patterns, &index.patterns, journey.pattern);
    let points = pattern.map_or(&[][..], |pattern| points_of(publication, pattern));
    if journey.times.is_empty() {
        let demand_type = find(&publication.demand_types, &index.demand_types, journey.demand_type);
        let demand_type = demand_type.ok_or(Fault::NoTimes)?;
        if pattern.is_none() {
            return Err(Fault::UnknownPattern);
        }
        run(publication, index, journey, demand_type, points, calls)?;
    } else {
        pair(publication, journey, pattern.map(|_| points), calls)?;
    }
    calls.retain(|call| !call.use_of.passes);
    let is_timed = |call: &Call| call.departure != NO_TIME;
    match (calls.first(), calls.last()) {
        (Some(first), Some(last)) if is_timed(first) && is_timed(last) => {}
        _ => return Err(Fault::NoTimes),
    }
    let is_before = |time: i32| time < 0 && time != NO_TIME;
    if calls.iter().any(|call| is_before(call.arrival) || is_before(call.departure)) {
        return Err(Fault::DayBefore);
    }
    Ok(())
}

/// Pairs passing times with points: by the points that they name, or one by one.
fn pair(
    publication: &Publication,
    journey: &Journey,
    points: Option<&[PatternPoint]>,
    calls: &mut Vec<Call>,
) -> Result<(), Fault> {
    let range = journey.times.start as usize..journey.times.end as usize;
    let times = publication.passing_times.get(range).unwrap_or_default();
    if times
        .iter()
        .all(|time| time.is_window && time.departure == NO_TIME && time.arrival == NO_TIME)
    {
        return Err(Fault::Windows);
    }
    let mut next = 0;
    let (mut latest, mut days) = (NO_TIME, 0);
    for time in times {
        let known = points.unwrap_or_default();
        let at = match time.point {
            Text::EMPTY => Some(next),
            point if known.get(next).is_some_and(|it| it.id == point) => Some(next),
            point => known.iter().position(|it| it.id == point),
        };
        let point = at.and_then(|at| known.get(at));
        next = at.map_or(next, |at| at + 1);
        let stop_point = match (time.stop_point, point) {
            (Text::EMPTY, Some(point)) => point.stop_point,
            (Text::EMPTY, None) if points.is_none() => return Err(Fault::UnknownPattern),
            (Text::EMPTY, None) => return Err(Fault::UnknownPoint),
            (stop_point, _) => stop_point,
        };
        // A call may stand beside a pattern with other points; what is said there is then not about it.
        let point = point.filter(|point| point.stop_point == stop_point);
        let mut call = Call {
            stop_point,
            arrival: if time.arrival == NO_TIME { time.departure } else { time.arrival },
            departure: if time.departure == NO_TIME { time.arrival } else { time.departure },
            use_of: time.use_of.or(point.map(|point| point.use_of)).unwrap_or_default(),
            display: point.map_or(Text::EMPTY, |point| point.display),
        };
        for time_of in [&mut call.arrival, &mut call.departure] {
            if *time_of == NO_TIME {
                continue;
            }
            // Past midnight, and nothing says so: times go back by more than half a day.
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

/// Computes the times from the departure, how long each link takes, and how long one waits at each point.
fn run(
    publication: &Publication,
    index: &Index,
    journey: &Journey,
    demand_type: &DemandType,
    points: &[PatternPoint],
    calls: &mut Vec<Call>,
) -> Result<(), Fault> {
    let mut now = match (journey.departure, journey.headways.first()) {
        (NO_TIME, Some(&(first, ..))) => first,
        (NO_TIME, None) => return Err(Fault::NoTimes),
        (departure, _) => departure,
    };
    let listed = |range: &Range<u32>| {
        let range = range.start as usize..range.end as usize;
        publication.durations.get(range).unwrap_or_default()
    };
    let (runs, waits) = (listed(&demand_type.runs), listed(&demand_type.waits));
    let wait_at = |point: &PatternPoint| {
        let wait = waits.iter().find(|(of, _)| *of == point.stop_point);
        wait.map_or(0, |&(_, seconds)| seconds)
    };
    // Where a point does not say which link it begins, the link is known by its ends.
    let joins = |link: Text, from: &PatternPoint, to: &PatternPoint| {
        let link = find(&publication.timing_links, &index.timing_links, link);
        link.is_some_and(|link| link.from == from.stop_point && link.to == to.stop_point)
    };
    for (at, point) in points.iter().enumerate() {
        let (arrival, next) = (now, points.get(at + 1));
        if at > 0 && next.is_some() {
            now = now.saturating_add(wait_at(point));
        }
        let (use_of, display) = (point.use_of, point.display);
        calls.push(Call { stop_point: point.stop_point, arrival, departure: now, use_of, display });
        if let Some(next) = next {
            let is_it = |&&(link, _): &&(Text, i32)| match point.link {
                Text::EMPTY => joins(link, point, next),
                named => link == named,
            };
            now = now.saturating_add(runs.iter().find(is_it).ok_or(Fault::NoTimes)?.1);
        }
    }
    Ok(())
}
