//! Times of the schedule: service days, clock changes, calendars and their exceptions.

use jiff::{Timestamp, ToSpan as _, civil::date, tz::TimeZone};
use lineside_formats::gtfs::Timetable;

use super::{load, load_sound, town};

/// Returns the local wall clock in the town at a time of the schedule.
fn local(timetable: &Timetable, day: jiff::civil::Date, seconds: i32) -> String {
    let at = Timestamp::from_second(timetable.service_time_to_unix(day, seconds)).unwrap();
    at.to_zoned(timetable.timezone().clone()).strftime("%F %T %:z").to_string()
}

#[test]
fn a_service_day_counts_from_noon_minus_twelve_hours() {
    let timetable = load_sound(town());
    let h = 3_600;
    let check =
        |day, seconds, expected: &str| assert_eq!(local(&timetable, day, seconds), expected);
    check(date(2024, 6, 3), 0, "2024-06-03 00:00:00 +02:00");
    check(date(2024, 6, 3), 25 * h + 600, "2024-06-04 01:10:00 +02:00");
    check(date(2024, 6, 3), 200 * h, "2024-06-11 08:00:00 +02:00");

    // Clocks go forward at 02:00: the day is 23 hours long, and its zero an hour before midnight.
    check(date(2024, 3, 31), 0, "2024-03-30 23:00:00 +01:00");
    check(date(2024, 3, 31), 2 * h, "2024-03-31 01:00:00 +01:00");
    check(date(2024, 3, 31), 3 * h, "2024-03-31 03:00:00 +02:00");
    check(date(2024, 3, 31), 8 * h, "2024-03-31 08:00:00 +02:00");
    check(date(2024, 3, 30), 27 * h, "2024-03-31 04:00:00 +02:00");

    // Clocks go back at 03:00: the day is 25 hours long, and its zero an hour after midnight.
    check(date(2024, 10, 27), 0, "2024-10-27 01:00:00 +02:00");
    check(date(2024, 10, 27), 2 * h, "2024-10-27 02:00:00 +01:00");
    check(date(2024, 10, 27), 8 * h, "2024-10-27 08:00:00 +01:00");
    check(date(2024, 10, 26), 27 * h, "2024-10-27 02:00:00 +01:00");
}

#[test]
fn departures_follow_daylight_saving_time() {
    let agency = "agency_id,agency_name,agency_url,agency_timezone\nt,Town,https://t.example,America/New_York\n";
    let calendar =
        "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date
week,1,1,1,1,1,1,1,20240101,20241231
";
    let times = "trip_id,arrival_time,departure_time,stop_id,stop_sequence
out,01:30:00,01:30:00,harbor,1
out,03:30:00,03:30:00,center:1,2
";
    let files = town().with_file("agency.txt", agency).with_file("calendar.txt", calendar);
    let timetable = load_sound(files.with_file("stop_times.txt", times));
    let harbor = timetable.find_stop("harbor").unwrap();
    let zone = TimeZone::get("America/New_York").unwrap();
    let midnight =
        |day: jiff::civil::Date| day.to_zoned(zone.clone()).unwrap().timestamp().as_second();
    let found: Vec<String> = timetable
        .departures_from_stop(
            harbor,
            midnight(date(2024, 3, 9)),
            midnight(date(2024, 3, 12)) - 1,
            9,
        )
        .into_iter()
        .map(|call| {
            let at = Timestamp::from_second(call.departure).unwrap().to_zoned(zone.clone());
            format!("{} {}", call.service_date, at.strftime("%F %T"))
        })
        .collect();
    // On the day of the clock change, 01:30 after noon minus 12 h is 00:30 on the clock.
    let expected = [
        "2024-03-09 2024-03-09 01:30:00",
        "2024-03-10 2024-03-10 00:30:00",
        "2024-03-11 2024-03-11 01:30:00",
    ];
    assert_eq!(found, expected);
}

#[test]
fn dates_beyond_the_calendar_do_not_panic() {
    let timetable = load_sound(town());
    let last = jiff::civil::Date::MAX;
    assert!(
        timetable.service_time_to_unix(last, i32::MAX) > timetable.service_time_to_unix(last, 0)
    );
    let harbor = timetable.find_stop("harbor").unwrap();
    for (from, until) in [(i64::MIN, i64::MIN), (i64::MAX, i64::MAX), (i64::MAX, i64::MIN), (0, 0)]
    {
        assert!(timetable.departures_from_stop(harbor, from, until, 10).is_empty());
        assert!(timetable.active_trips_between(from, until).is_empty());
    }
    assert_eq!(timetable.departures_from_stop(harbor, i64::MIN, i64::MAX, 10).len(), 10);
    assert_eq!(timetable.local_date_at(i64::MAX), timetable.local_date_at(i64::MAX - 1));
}

#[test]
fn weekdays_and_exceptions_determine_when_a_service_runs() {
    let dates = "service_id,date,exception_type
week,20240606,2
week,20240608,1
extra,20250101,1
extra,20250102,2
week,20240606,1
";
    let trips = "route_id,service_id,trip_id\nr1,week,out\nr1,extra,back\n";
    let (timetable, _) =
        load(town().with_file("calendar_dates.txt", dates).with_file("trips.txt", trips));
    let [week, extra] =
        ["out", "back"].map(|id| timetable.trip(timetable.find_trip(id).unwrap()).service);
    assert_eq!((timetable.service_id(week), timetable.service_id(extra)), ("week", "extra"));
    let runs =
        |service, year, month, day| timetable.is_service_active(service, date(year, month, day));
    assert!(runs(week, 2024, 6, 3) && runs(week, 2024, 6, 7));
    assert!(!runs(week, 2024, 6, 9), "a Sunday");
    assert!(!runs(week, 2024, 6, 6), "a removed Thursday; the first of two rows is used");
    assert!(runs(week, 2024, 6, 8), "an added Saturday");
    assert!(runs(week, 2024, 1, 1) && runs(week, 2024, 12, 31));
    assert!(!runs(week, 2023, 12, 29) && !runs(week, 2025, 1, 1));
    assert!(runs(extra, 2025, 1, 1) && !runs(extra, 2025, 1, 2) && !runs(extra, 2024, 6, 3));
    assert_eq!(timetable.service_date_range(), Some((date(2024, 1, 1), date(2025, 1, 1))));
    // The trips of each day are those of the services that run on it, also for a part of the range.
    let days = |from: jiff::civil::Date, until| {
        let days = from.series(1.day()).take_while(move |day| *day <= until);
        let runs = |service, day| u64::from(timetable.is_service_active(service, day));
        days.map(|day| runs(week, day) + runs(extra, day)).collect::<Vec<_>>()
    };
    for (from, until) in [
        (date(2023, 12, 1), date(2025, 2, 1)),
        (date(2024, 6, 6), date(2024, 6, 8)),
        (date(2024, 6, 6), date(2024, 6, 6)),
        (date(2024, 6, 7), date(2024, 6, 6)),
    ] {
        assert_eq!(timetable.count_trips_by_day(from, until), days(from, until), "{from}");
    }
}

#[test]
fn a_trip_of_frequencies_counts_once_per_run() {
    let frequencies = "trip_id,start_time,end_time,headway_secs\nout,06:00:00,07:00:00,600\nout,07:00:00,07:10:00,600\n";
    let timetable = load_sound(town().with_file("frequencies.txt", frequencies));
    let monday = date(2024, 6, 3);
    let plain = load_sound(town()).count_trips_by_day(monday, monday);
    assert_eq!(timetable.count_trips_by_day(monday, monday), [plain[0] + 6]);
}
