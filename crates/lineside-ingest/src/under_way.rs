//! Where trips of a line should be by the times that are predicted of them, where no vehicle tells where it is.

use std::collections::HashMap;

use lineside_formats::{gtfs::Timetable, gtfs_rt::proto::TripUpdate};
use lineside_sync::UnixMillis;
use smol_str::SmolStr;

use crate::{
    config::FeedId,
    network::NetworkState,
    normalize::{Forecast, Run, TripKey, event_time, given, is_extra, parse_date},
    record::{Kind, Record},
};

/// A trip that has begun and has not ended, by its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnderWay {
    /// The feed that predicts its times.
    pub feed: FeedId,
    /// The id of its trip update.
    pub id: SmolStr,
    /// Where it is headed.
    pub headsign: Option<SmolStr>,
    /// GTFS `direction_id`: of the timetable, else as the feed says.
    pub direction: Option<u32>,
    /// Seconds behind the timetable at the next stop, as far as that is known.
    pub delay: Option<i32>,
    /// The stop that it comes to next.
    pub next_stop_id: SmolStr,
    /// When it leaves there, at the last stop when it arrives, Unix seconds.
    pub next_at: i64,
}

/// A call as it is predicted.
#[derive(Clone, Debug)]
struct Call {
    stop_id: SmolStr,
    /// None where nothing is predicted.
    at: Option<i64>,
    delay: Option<i32>,
}

impl NetworkState {
    /// The trips of a line that are under way at `now`, the present of the network's data, and that no vehicle runs which
    /// tells of itself. At most `most`, the soonest at their next stop first. Looks at each call of each trip of the line.
    pub fn under_way<'a>(&'a self, route: &'a str, now: UnixMillis, most: usize) -> Vec<UnderWay> {
        let timetable = self.dataset.as_ref().map(|dataset| &*dataset.timetable);
        let has_vehicle = |key: TripKey<'_>| {
            self.by_trip(key.trip_id)
                .filter(|record| record.kind == Kind::Vehicle)
                .any(|record| record.trip().and_then(TripKey::of).is_some_and(|it| it.may_be(key)))
        };
        let records = self.by_route(route).filter(|record| record.kind == Kind::TripUpdate);
        // What several feeds tell of counts once.
        let mut told: HashMap<&str, Vec<TripKey<'_>>> = HashMap::new();
        let mut is_new = |key: TripKey<'a>| {
            let runs = told.entry(key.trip_id).or_default();
            let is_new = !runs.iter().any(|run| run.may_be(key));
            runs.extend(is_new.then_some(key));
            is_new
        };
        let mut trips: Vec<UnderWay> = records
            .filter(|record| {
                let key = record.trip().and_then(TripKey::of);
                key.is_none_or(|key| !has_vehicle(key) && is_new(key))
            })
            .filter_map(|record| under_way(record, timetable, now.seconds()))
            .collect();
        trips.sort_by(|a, b| (a.next_at, &a.id).cmp(&(b.next_at, &b.id)));
        trips.truncate(most);
        trips
    }
}

/// Where the trip of a record should be at `now`, Unix seconds; none if it has not begun, has ended or does not run.
fn under_way(record: &Record, timetable: Option<&Timetable>, now: i64) -> Option<UnderWay> {
    use lineside_formats::gtfs_rt::proto::trip_descriptor::ScheduleRelationship::{
        Canceled, Deleted,
    };
    let update = record.trip_update()?;
    if matches!(update.trip.schedule_relationship(), Canceled | Deleted) {
        return None;
    }
    let run = run_of(update, timetable);
    let (calls, begins) = match run {
        Some(run) => {
            (planned(run, update), run.calls().next().and_then(|(_, it)| run.departure(&it)))
        }
        None => (announced(update), None),
    };
    let is_ahead = |call: &Call| call.at.is_some_and(|at| at >= now);
    let next = calls.iter().position(is_ahead)?;
    // What is said of the calls before has mostly been dropped by then; that it has begun the timetable tells, too.
    let has_left = match calls[..next].iter().rev().find_map(|call| call.at) {
        Some(left) => left < now,
        None => next > 0 && begins.is_some_and(|begins| begins <= now),
    };
    if !has_left {
        return None;
    }
    let Call { stop_id, at, delay } = calls.get(next)?.clone();
    let direction = run.and_then(|run| run.timetable.trip(run.trip).direction).map(u32::from);
    Some(UnderWay {
        feed: record.feed.clone(),
        id: record.id.clone(),
        headsign: record.join.headsign.clone(),
        direction: direction.or(update.trip.direction_id),
        delay,
        next_stop_id: stop_id,
        next_at: at?,
    })
}

/// The run of the timetable that an update is about.
fn run_of<'a>(update: &TripUpdate, timetable: Option<&'a Timetable>) -> Option<Run<'a>> {
    let (timetable, key) = (timetable?, TripKey::of(&update.trip)?);
    let trip = timetable.find_trip(key.trip_id).filter(|_| !is_extra(&update.trip))?;
    parse_date(key.start_date)?;
    Run::named(timetable, trip, key.start_date, key.start_time)
}

/// The calls of a run with what is predicted of them; those that are left out are not among them.
fn planned(run: Run<'_>, update: &TripUpdate) -> Vec<Call> {
    let call = |(index, call): (usize, lineside_formats::gtfs::StopTime<'_>)| {
        let (at, delay) = match run.forecast(update, index) {
            Forecast::Skipped => return None,
            Forecast::Unknown => (None, None),
            Forecast::Predicted { departure, delay } => (Some(departure), Some(delay)),
        };
        Some(Call { stop_id: run.timetable.stop(call.stop).id.into(), at, delay })
    };
    run.calls().filter_map(call).collect()
}

/// The calls of a trip that the timetable does not have, as they are announced.
fn announced(update: &TripUpdate) -> Vec<Call> {
    let calls = update.stop_time_update.iter();
    let call = |call: &lineside_formats::gtfs_rt::proto::trip_update::StopTimeUpdate| {
        let event = call.departure.as_ref().or(call.arrival.as_ref());
        let stop_id = SmolStr::new(given(&call.stop_id)?);
        Some(Call { stop_id, at: event.and_then(|event| event_time(event, None)), delay: None })
    };
    calls.filter_map(call).collect()
}
