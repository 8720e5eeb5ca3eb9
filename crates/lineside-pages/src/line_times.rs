//! The times of a line: its departures on a service date, the first and the last trip of each direction, and its next
//! trip.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, ToSpan};
use lineside_formats::gtfs::{RouteIdx, ServiceIdx, Timetable, TripIdx};
use maud::{Markup, html};

use super::words;
use crate::links;
use crate::links::line_departures_url;

/// Departures of one direction that are listed.
const DEPARTURES_MAX: usize = 600;
/// The days in which the next trip of an idle line is searched.
const NEXT_DAYS: i64 = 60;
/// Days that the page offers.
const DAYS_OFFERED: i64 = 7;

/// The reason for a line without further trips.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdleReason {
    /// The timetable has no trips of the line on any day.
    NoTrips,
    /// The timetable has ended, so nothing is known about later trips.
    TimetableEnded,
    /// The timetable has no trip within [`NEXT_DAYS`] days.
    NoFurtherTrips,
}

impl IdleReason {
    fn as_str(self) -> &'static str {
        match self {
            Self::NoTrips => "no_trips",
            Self::TimetableEnded => "timetable_ended",
            Self::NoFurtherTrips => "no_further_trips",
        }
    }
}

/// The times of a line on a service date.
#[derive(Debug)]
pub(super) struct LineDepartures {
    date: Date,
    today: Date,
    directions: Vec<DirectionDepartures>,
    /// The next trip, if none is running now; `Some(None)` if there is none.
    next: Option<Option<TripStart>>,
}

/// The trips of a direction on the date, in order of their starts.
#[derive(Debug)]
struct DirectionDepartures {
    to: String,
    starts: Vec<TripStart>,
    /// Starts beyond [`DEPARTURES_MAX`].
    n_more: usize,
    /// The last start of the day.
    last: TripStart,
}

/// A run of a trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct TripStart {
    /// Unix seconds.
    at: i64,
    trip: TripIdx,
    date: Date,
    /// The start of the run if the trip is repeated, in seconds after noon minus 12 h.
    start_time: Option<i32>,
}

impl LineDepartures {
    /// Computes the times of a line. `date` is a service date, `now` Unix seconds; `runs_now` is true if real-time data
    /// show a vehicle.
    pub(super) fn new(
        timetable: &Timetable,
        route: RouteIdx,
        date: Option<Date>,
        now: i64,
        runs_now: bool,
    ) -> Self {
        let today = timetable.local_date_at(now);
        let date = date.unwrap_or(today);
        let is_idle = !runs_now && !is_running(timetable, route, today, now);
        Self {
            date,
            today,
            directions: list_direction_departures(timetable, route, date),
            next: is_idle.then(|| find_next_start(timetable, route, today, now)),
        }
    }

    /// Returns true if trips run on the date.
    pub(super) fn has_departures(&self) -> bool {
        !self.directions.is_empty()
    }

    /// Renders the note that the line does not run now, with its next trip. The page's script replaces it with that of
    /// a newer page.
    pub(super) fn render_idle_note(
        &self,
        timetable: &Timetable,
        now: i64,
        reason: IdleReason,
    ) -> Markup {
        html! {
            div data-reckoned="idle" {
                @if let Some(next) = &self.next { (render_next(timetable, next.as_ref(), now, reason)) }
            }
        }
    }

    pub(super) fn render_departures_section(
        &self,
        timetable: &Timetable,
        feed: &str,
        route_id: &str,
    ) -> Markup {
        let zone = timetable.timezone();
        html! {
            section.card.line-times #times aria-labelledby="times-title" {
                div.card-head {
                    h2 #times-title { "Departures" @if self.date == self.today { " today" } }
                    span.soft.small { (words::format_date_with_weekday(self.date)) }
                }
                nav.days aria-label="Days" {
                    @for days in 0..DAYS_OFFERED {
                        @if let Ok(day) = self.today.checked_add(days.days()) {
                            a.target href=(line_departures_url(feed, route_id, day, self.today)) aria-current=[(day == self.date).then_some("date")] {
                                @if days == 0 { "Today" } @else { (day.strftime("%a %-d %b").to_string()) }
                            }
                        }
                    }
                }
                @if self.directions.is_empty() { p.board-empty { "No trips on this day." } }
                @for direction in &self.directions { (render_direction(timetable, feed, direction, zone)) }
            }
        }
    }
}

fn render_next(
    timetable: &Timetable,
    next: Option<&TripStart>,
    now: i64,
    reason: IdleReason,
) -> Markup {
    let zone = timetable.timezone();
    html! {
        p.note.line-idle data-idle=(if next.is_some() { "next_trip" } else { reason.as_str() }) {
            @match next {
                Some(next) => {
                    "This line does not run now. Next trip: "
                    time datetime=(words::format_rfc3339(next.at, zone)) { (words::format_clock_or_day(next.at, now, zone)) }
                    " from " (first_stop_name(timetable, next.trip)) "."
                }
                None => @match reason {
                    IdleReason::NoTrips => "The timetable has no trips of this line.",
                    IdleReason::TimetableEnded => "The timetable has ended, and no position of this line is known now. Its stops may have live departures.",
                    IdleReason::NoFurtherTrips => "This line does not run now, and the timetable has no further trips.",
                }
            }
        }
    }
}

fn render_direction(
    timetable: &Timetable,
    feed: &str,
    direction: &DirectionDepartures,
    zone: &TimeZone,
) -> Markup {
    let mut hours: BTreeMap<i64, Vec<&TripStart>> = BTreeMap::new();
    for start in &direction.starts {
        hours.entry(start.at.div_euclid(3600)).or_default().push(start);
    }
    let render_start = |start: &TripStart| {
        html! {
            a.target href=(trip_url(timetable, feed, start)) { time datetime=(words::format_rfc3339(start.at, zone)) { (words::format_clock(start.at, zone)) } }
            " from " (first_stop_name(timetable, start.trip))
        }
    };
    html! {
        div.direction-times {
            h3 { "To " (direction.to) }
            p {
                @if let Some(first) = direction.starts.first() { "First " (render_start(first)) ", last " (render_start(&direction.last)) ". " }
                span.soft { (words::format_count((direction.starts.len() + direction.n_more) as u64, "trip", "trips")) "." }
            }
            details {
                summary { "All departures" }
                ul.hours {
                    @for (hour, starts) in &hours {
                        li {
                            b { (words::format_clock(hour * 3600, zone).split(':').next().unwrap_or_default()) }
                            @for start in starts { " " a.minute href=(trip_url(timetable, feed, start)) aria-label=(words::format_clock(start.at, zone)) { (words::format_clock(start.at, zone).split(':').nth(1).unwrap_or_default()) } }
                        }
                    }
                }
                @if direction.n_more > 0 { p.soft.small { "and " (direction.n_more) " more" } }
            }
        }
    }
}

fn trip_url(timetable: &Timetable, feed: &str, start: &TripStart) -> String {
    let seconds = start.start_time;
    let time = |seconds: i32| {
        format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
    };
    let date = start.date.strftime("%Y%m%d").to_string();
    links::trip_page_url(
        feed,
        timetable.trip(start.trip).id,
        &date,
        &seconds.map(time).unwrap_or_default(),
    )
}

fn first_stop_name(timetable: &Timetable, trip: TripIdx) -> &str {
    stop_name(timetable, timetable.trip_stop_time(trip, 0).map(|call| call.stop))
}

fn last_stop_name(timetable: &Timetable, trip: TripIdx) -> &str {
    stop_name(timetable, timetable.trip_stop_times(trip).last().map(|call| call.stop))
}

fn stop_name(timetable: &Timetable, stop: Option<lineside_formats::gtfs::StopIdx>) -> &str {
    let Some(stop) = stop.map(|stop| timetable.stop(stop)) else { return "" };
    words::shorten_name(if stop.name.is_empty() { stop.id } else { stop.name })
}

/// Returns the starts of a trip on a service date on which it runs, at most [`DEPARTURES_MAX`] for each row of
/// `frequencies.txt`.
fn trip_starts(timetable: &Timetable, trip: TripIdx, date: Date) -> Vec<TripStart> {
    let start = |seconds: i32, start_time| TripStart {
        at: timetable.service_time_to_unix(date, seconds),
        trip,
        date,
        start_time,
    };
    if !timetable.trip(trip).has_frequencies {
        return timetable
            .trip_start_time(trip)
            .map(|seconds| start(seconds, None))
            .into_iter()
            .collect();
    }
    let rows = timetable.frequencies_of_trip(trip).iter();
    let runs = rows.flat_map(|row| {
        let step = usize::try_from(row.headway.max(1)).unwrap_or(1);
        (row.start..row.end).step_by(step).take(DEPARTURES_MAX)
    });
    runs.map(|seconds| start(seconds, Some(seconds))).collect()
}

/// Returns the trips of a line that run on a date. Services are looked up once.
fn trips_on(timetable: &Timetable, route: RouteIdx, date: Date) -> impl Iterator<Item = TripIdx> {
    let trips = timetable.route_trips(route).iter().copied();
    let services: BTreeSet<ServiceIdx> =
        trips.clone().map(|trip| timetable.trip(trip).service).collect();
    let active: BTreeSet<ServiceIdx> = services
        .into_iter()
        .filter(|service| timetable.is_service_active(*service, date))
        .collect();
    trips.filter(move |trip| active.contains(&timetable.trip(*trip).service))
}

fn list_direction_departures(
    timetable: &Timetable,
    route: RouteIdx,
    date: Date,
) -> Vec<DirectionDepartures> {
    let mut by_direction: BTreeMap<(Option<u8>, &str), Vec<TripStart>> = BTreeMap::new();
    for trip in trips_on(timetable, route, date) {
        let direction = timetable.trip(trip).direction;
        // Without directions, trips are grouped by their last stop.
        let to = if direction.is_some() { "" } else { last_stop_name(timetable, trip) };
        by_direction.entry((direction, to)).or_default().extend(trip_starts(timetable, trip, date));
    }
    let directions = by_direction.into_values().filter_map(|mut starts| {
        starts.sort_unstable();
        let last = *starts.last()?;
        let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
        for start in &starts {
            *ends.entry(last_stop_name(timetable, start.trip)).or_default() += 1;
        }
        let to = ends.into_iter().max_by_key(|(_, count)| *count)?.0.to_owned();
        let n_more = starts.len().saturating_sub(DEPARTURES_MAX);
        starts.truncate(DEPARTURES_MAX);
        Some(DirectionDepartures { to, starts, n_more, last })
    });
    directions.collect()
}

/// Returns true if a trip of the line is running at `now` by the timetable; trips of the previous day run past
/// midnight.
fn is_running(timetable: &Timetable, route: RouteIdx, today: Date, now: i64) -> bool {
    let days = [today.yesterday(), Ok(today)].into_iter().flatten();
    { days }.any(|date| {
        trips_on(timetable, route, date).any(|trip| {
            let first = timetable.trip_start_time(trip);
            let last =
                timetable.trip_stop_times(trip).last().and_then(|it| it.arrival.or(it.departure));
            let Some(lasts) = first.zip(last).map(|(first, last)| i64::from(last - first)) else {
                return false;
            };
            let runs = trip_starts(timetable, trip, date);
            runs.iter().any(|run| (run.at..=run.at + lasts).contains(&now))
        })
    })
}

/// Returns the first start after `now`, within the next [`NEXT_DAYS`] days.
fn find_next_start(
    timetable: &Timetable,
    route: RouteIdx,
    today: Date,
    now: i64,
) -> Option<TripStart> {
    let first_on = |date: Date| {
        let all =
            trips_on(timetable, route, date).flat_map(|trip| trip_starts(timetable, trip, date));
        all.filter(|start| start.at > now).min()
    };
    let end = timetable.service_date_range()?.1;
    let first_day = today.checked_sub(Span::new().days(1)).unwrap_or(today);
    let mut found: Option<TripStart> = None;
    for days in 0..=NEXT_DAYS {
        let date = first_day.checked_add(days.days()).ok().filter(|date| *date <= end)?;
        let first = first_on(date);
        // A trip of one service day may start after midnight, later than the first trips of the next day.
        let is_last_day = found.is_some();
        found = found.into_iter().chain(first).min();
        if is_last_day || date == end && found.is_some() {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use lineside_testkit::TestSchedule;

    use super::*;

    /// Returns Unix seconds of a second of Monday, 23 November 2026.
    fn at(second: i64) -> i64 {
        1_795_392_000 + second
    }

    fn times(now: i64) -> (LineDepartures, Timetable) {
        let timetable = TestSchedule::new("UTC")
            .stop("s1", "First", 59.9, 10.7)
            .stop("s2", "Last", 59.91, 10.71)
            .route("n", "N1", 3)
            .service("d", "1111100", ["20260101", "20261231"])
            .trip("early", "s1 00:30, s2 00:50")
            .trip("late", "s1 24:30, s2 24:50")
            .table(
                "trips.txt",
                "route_id,service_id,trip_id,direction_id\nn,d,early,0\nn,d,late,0\n",
            )
            .timetable();
        let route = timetable.find_route("n").unwrap();
        (LineDepartures::new(&timetable, route, None, now, false), timetable)
    }

    #[test]
    fn a_line_has_its_first_last_and_next_trip() {
        let (times, _) = times(at(7 * 3600));
        assert_eq!(times.date, Date::constant(2026, 11, 23));
        let [direction] = &times.directions[..] else { panic!("{times:?}") };
        let starts: Vec<i64> = direction.starts.iter().map(|start| start.at).collect();
        assert_eq!((starts, direction.to.as_str()), (vec![at(1_800), at(86_400 + 1_800)], "Last"));
        assert_eq!(times.next.unwrap().unwrap().at, at(86_400 + 1_800));
    }

    #[test]
    fn a_running_line_has_no_next_trip() {
        assert!(times(at(2_000)).0.next.is_none());
        // Friday's trip at 24:30 runs on Saturday, which has no service of its own.
        let saturday = times(at(5 * 86_400 + 2_000)).0;
        assert!(saturday.next.is_none() && saturday.directions.is_empty());
        let later = times(at(5 * 86_400 + 7_200)).0;
        assert_eq!(later.next.unwrap().unwrap().at, at(7 * 86_400 + 1_800));
    }

    #[test]
    fn after_the_last_service_date_there_is_no_next_trip() {
        assert_eq!(times(at(60 * 86_400)).0.next, Some(None));
    }
}
