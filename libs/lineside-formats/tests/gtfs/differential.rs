//! Compares departures and active trips with a model without indexes, which iterates over all dates, trips and calls.

use jiff::{ToSpan, civil::Date, civil::date, tz::TimeZone};
use lineside_formats::gtfs::{
    self, DatasetLimits, ScheduledDeparture, TextFiles, Timetable, TripInstance,
};
use proptest::prelude::*;

/// A random schedule.
#[derive(Clone, Debug)]
struct Plan {
    zone: &'static str,
    services: Vec<Service>,
    trips: Vec<Trip>,
}

#[derive(Clone, Debug)]
struct Service {
    weekdays: [bool; 7],
    /// Start in days after the first day of the plan.
    start: i64,
    days: i64,
    exceptions: Vec<(i64, bool)>,
}

#[derive(Clone, Debug)]
struct Trip {
    service: usize,
    /// Stop, travel seconds from the previous call, dwell seconds, and true if boarding is allowed.
    calls: Vec<(usize, i32, i32, bool)>,
    start: i32,
    frequency: Option<(i32, i32, i32)>,
}

const N_STOPS: usize = 5;
/// The index of the station, whose platforms are the last two stops.
const STATION: usize = N_STOPS;

fn first_day() -> Date {
    date(2024, 3, 25)
}

fn day(after: i64) -> Date {
    first_day().checked_add(after.days()).unwrap()
}

fn plans() -> impl Strategy<Value = Plan> {
    let exceptions = prop::collection::vec((0_i64..14, any::<bool>()), 0..3);
    let service = (any::<[bool; 7]>(), 0_i64..10, 0_i64..14, exceptions).prop_map(
        |(weekdays, start, days, exceptions)| Service { weekdays, start, days, exceptions },
    );
    let call = (0..N_STOPS, 0_i32..7_000, 0_i32..300, prop::bool::weighted(0.9));
    let frequency = (0_i32..90_000, 0_i32..9_000, 60_i32..4_000);
    // Few distinct starts and gaps produce trips that share profiles.
    let start = prop_oneof![(0_i32..30).prop_map(|hour| hour * 3_600), 0_i32..720_000];
    let trip = (
        0_usize..3,
        prop::collection::vec(call, 1..6),
        start,
        prop::option::weighted(0.2, frequency),
    )
        .prop_map(|(service, calls, start, frequency)| Trip {
            service,
            calls,
            start,
            frequency,
        });
    let zone =
        prop::sample::select(vec!["Europe/Oslo", "America/New_York", "UTC", "Australia/Lord_Howe"]);
    (zone, prop::collection::vec(service, 3), prop::collection::vec(trip, 1..8)).prop_map(
        |(zone, services, trips)| {
            // The trips are repeated an hour later, so that patterns and profiles are shared.
            let later = trips.iter().map(|trip| Trip { start: trip.start + 3_600, ..trip.clone() });
            let trips = trips.iter().cloned().chain(later).collect();
            Plan { zone, services, trips }
        },
    )
}

impl Plan {
    fn to_files(&self) -> TextFiles {
        let time = |seconds: i32| {
            format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
        };
        let mut stops =
            "stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station\n".to_owned();
        for stop in 0..=N_STOPS {
            let (kind, parent) = if stop == STATION {
                (1, "")
            } else {
                (0, ["", "5"][usize::from(stop + 2 >= N_STOPS)])
            };
            stops += &format!("{stop},Stop,59.9,10.7,{kind},{parent}\n");
        }
        let mut calendar =
            "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n".to_owned();
        let mut dates = "service_id,date,exception_type\n".to_owned();
        for (id, service) in self.services.iter().enumerate() {
            let week: Vec<&str> =
                service.weekdays.iter().map(|&runs| if runs { "1" } else { "0" }).collect();
            let (start, end) = (day(service.start), day(service.start + service.days));
            calendar += &format!(
                "{id},{},{},{}\n",
                week.join(","),
                start.strftime("%Y%m%d"),
                end.strftime("%Y%m%d")
            );
            for &(after, runs) in &service.exceptions {
                dates += &format!(
                    "{id},{},{}\n",
                    day(after).strftime("%Y%m%d"),
                    if runs { 1 } else { 2 }
                );
            }
        }
        let mut trips = "route_id,service_id,trip_id\n".to_owned();
        let mut times =
            "trip_id,arrival_time,departure_time,stop_id,stop_sequence,pickup_type\n".to_owned();
        let mut frequencies = "trip_id,start_time,end_time,headway_secs\n".to_owned();
        for (id, trip) in self.trips.iter().enumerate() {
            trips += &format!("r,{},{id}\n", trip.service);
            for (at, (stop, arrival, departure, boards)) in trip.timed().into_iter().enumerate() {
                let pickup = if boards { 0 } else { 1 };
                times +=
                    &format!("{id},{},{},{stop},{at},{pickup}\n", time(arrival), time(departure));
            }
            if let Some((start, length, headway)) = trip.frequency {
                frequencies +=
                    &format!("{id},{},{},{headway}\n", time(start), time(start + length));
            }
        }
        TextFiles::new()
            .with_file(
                "agency.txt",
                format!(
                    "agency_name,agency_url,agency_timezone\nA,https://a.example,{}\n",
                    self.zone
                ),
            )
            .with_file("stops.txt", stops)
            .with_file("routes.txt", "route_id,route_short_name,route_type\nr,1,3\n")
            .with_file("calendar.txt", calendar)
            .with_file("calendar_dates.txt", dates)
            .with_file("trips.txt", trips)
            .with_file("stop_times.txt", times)
            .with_file("frequencies.txt", frequencies)
    }

    fn runs_on(&self, service: usize, date: Date) -> bool {
        let service = &self.services[service];
        if let Some(&(_, runs)) = service.exceptions.iter().find(|(after, _)| day(*after) == date) {
            return runs;
        }
        let within = (day(service.start)..=day(service.start + service.days)).contains(&date);
        within && service.weekdays[date.weekday().to_monday_zero_offset() as usize]
    }

    /// Returns the runs of all trips on all days: trip, date, start of the run, and the offset of the times of its
    /// calls.
    fn runs(&self) -> Vec<(usize, Date, Option<i32>, i64)> {
        let zone = TimeZone::get(self.zone).unwrap();
        let mut runs = Vec::new();
        for date in (0..40).map(day) {
            let noon = date.at(12, 0, 0, 0).to_zoned(zone.clone()).unwrap().timestamp().as_second();
            let zero = noon - 12 * 3_600;
            for (id, trip) in
                self.trips.iter().enumerate().filter(|(_, trip)| self.runs_on(trip.service, date))
            {
                match trip.frequency {
                    None => runs.push((id, date, None, zero)),
                    Some((start, length, headway)) => {
                        let first = trip.timed()[0].2;
                        let starts = (start..start + length).step_by(headway as usize);
                        runs.extend(
                            starts.map(|run| (id, date, Some(run), zero + i64::from(run - first))),
                        );
                    }
                }
            }
        }
        runs
    }

    fn departures(&self, stop: usize, from: i64, until: i64) -> Vec<Row> {
        let is_there = |other: usize| other == stop || (stop == STATION && other + 2 >= N_STOPS);
        let mut rows = Vec::new();
        for (id, date, run, zero) in self.runs() {
            let calls = self.trips[id].timed();
            for (at, &(other, arrival, departure, boards)) in calls.iter().enumerate() {
                let departure = zero + i64::from(departure);
                let shown = at + 1 < calls.len() && boards && is_there(other);
                if shown && (from..=until).contains(&departure) {
                    rows.push((
                        departure,
                        zero + i64::from(arrival),
                        id as u32,
                        date,
                        run,
                        at as u32,
                        other as u32,
                    ));
                }
            }
        }
        rows.sort_unstable();
        rows
    }

    fn under_way(&self, from: i64, until: i64) -> Vec<(u32, Date, Option<i32>)> {
        let mut found = Vec::new();
        for (id, date, run, zero) in self.runs() {
            let calls = self.trips[id].timed();
            let (first, last) = (calls[0].2, calls[calls.len() - 1].1);
            if zero + i64::from(first) <= until && zero + i64::from(last) >= from {
                found.push((id as u32, date, run));
            }
        }
        found.sort_unstable();
        found
    }
}

/// Departure, arrival, trip, date, run, call and stop.
type Row = (i64, i64, u32, Date, Option<i32>, u32, u32);

impl Trip {
    /// Returns stop, arrival, departure and boarding of each call.
    fn timed(&self) -> Vec<(usize, i32, i32, bool)> {
        let mut clock = self.start;
        let mut calls = Vec::new();
        for &(stop, travel, stay, boards) in &self.calls {
            let arrival = if calls.is_empty() { clock } else { clock + travel };
            clock = arrival + if calls.is_empty() { 0 } else { stay };
            calls.push((stop, arrival, clock, boards));
        }
        calls
    }
}

fn row(call: ScheduledDeparture) -> Row {
    let (trip, stop) = (call.trip.number(), call.stop.number());
    (
        call.departure,
        call.arrival,
        trip,
        call.service_date,
        call.start_time,
        call.stop_time_index,
        stop,
    )
}

fn under_way(timetable: &Timetable, from: i64, until: i64) -> Vec<(u32, Date, Option<i32>)> {
    let found = timetable.active_trips_between(from, until).into_iter();
    found
        .map(|TripInstance { trip, service_date, start_time }| {
            (trip.number(), service_date, start_time)
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn boards_equal_those_of_a_naive_search(
        plan in plans(),
        from in 0_i64..20 * 86_400,
        length in 0_i64..3 * 86_400,
        limit in 0_usize..60,
    ) {
        let (timetable, _) = gtfs::load_timetable(&mut plan.to_files(), &DatasetLimits::default()).unwrap();
        let from = timetable.service_time_to_unix(first_day(), 0) + from;
        let until = from + length;
        for stop in timetable.stops() {
            let found: Vec<Row> = timetable.departures_from_stop(stop.idx, from, until, limit).into_iter().map(row).collect();
            let mut expected = plan.departures(stop.idx.get(), from, until);
            expected.truncate(limit);
            prop_assert_eq!(found, expected, "stop {}", stop.id);
        }
        prop_assert_eq!(under_way(&timetable, from, until), plan.under_way(from, until));
        prop_assert_eq!(under_way(&timetable, from, from), plan.under_way(from, from));
    }
}
