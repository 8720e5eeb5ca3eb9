//! Departures from a stop, and active trips.

use jiff::civil::date;
use lineside_formats::gtfs::{ScheduledDeparture, Timetable};

use super::{load_sound, town};

const H: i64 = 3_600;

/// Returns the Unix time of `seconds` after the zero of Monday 3 June 2024 in the town.
fn monday(timetable: &Timetable, seconds: i64) -> i64 {
    timetable.service_time_to_unix(date(2024, 6, 3), 0) + seconds
}

/// Returns the departures from a stop on that Monday, as `trip stop time`.
fn board(timetable: &Timetable, stop: &str, from: i64, until: i64, limit: usize) -> Vec<String> {
    let stop = timetable.find_stop(stop).unwrap();
    let zero = monday(timetable, 0);
    let line = |call: ScheduledDeparture| {
        let (trip, stop) = (timetable.trip(call.trip).id, timetable.stop(call.stop).id);
        let at = call.departure - zero;
        let start = call.start_time.map_or(String::new(), |start| format!(" run {start}"));
        format!("{trip} {stop} {:02}:{:02}{start}", at / H, at / 60 % 60)
    };
    timetable
        .departures_from_stop(stop, zero + from, zero + until, limit)
        .into_iter()
        .map(line)
        .collect()
}

#[test]
fn a_station_shows_the_departures_of_its_platforms() {
    let timetable = load_sound(town());
    assert_eq!(board(&timetable, "center", 0, 24 * H, 10), ["out center:1 08:00"]);
    assert_eq!(board(&timetable, "center:1", 0, 24 * H, 10), ["out center:1 08:00"]);
    // A trip has no departure from its last stop.
    assert!(board(&timetable, "center:2", 0, 24 * H, 10).is_empty());
    assert_eq!(board(&timetable, "harbor", 0, 24 * H, 10), ["back harbor 08:20"]);
    assert_eq!(
        board(&timetable, "harbor", 8 * H + 20 * 60, 8 * H + 20 * 60, 10),
        ["back harbor 08:20"]
    );
    assert!(board(&timetable, "harbor", 8 * H + 20 * 60 + 1, 24 * H, 10).is_empty());
}

#[test]
fn a_departure_identifies_its_trip_and_call() {
    let timetable = load_sound(town());
    let harbor = timetable.find_stop("harbor").unwrap();
    let from = monday(&timetable, 0);
    let found = timetable.departures_from_stop(harbor, from, from + 24 * H, 1);
    let expected = ScheduledDeparture {
        departure: from + 30_000,
        arrival: from + 30_000,
        trip: timetable.find_trip("back").unwrap(),
        service_date: date(2024, 6, 3),
        start_time: None,
        stop_time_index: 0,
        stop_sequence: 1,
        stop: harbor,
    };
    assert_eq!(found, [expected]);
}

#[test]
fn calls_without_boarding_are_not_departures() {
    let times = "trip_id,arrival_time,departure_time,stop_id,stop_sequence,pickup_type
out,08:00:00,08:00:00,center:1,1,0
out,08:10:00,08:10:00,harbor,2,1
out,08:20:00,08:20:00,center:2,3,0
back,09:00:00,09:00:00,harbor,1,3
back,09:10:00,09:10:00,center:2,2,
";
    let timetable = load_sound(town().with_file("stop_times.txt", times));
    assert_eq!(board(&timetable, "harbor", 0, 24 * H, 10), ["back harbor 09:00"]);
}

#[test]
fn trips_after_midnight_are_on_the_board_of_the_next_day() {
    let times = "trip_id,arrival_time,departure_time,stop_id,stop_sequence
out,25:10:00,25:10:00,center:1,1
out,200:00:00,200:00:00,harbor,2
out,200:10:00,200:10:00,center:2,3
";
    let (timetable, _) = super::load(town().with_file("stop_times.txt", times));
    // Monday has no departures, because there is no service on Sunday; Tuesday has those of Monday's trip.
    assert!(board(&timetable, "center:1", 0, 24 * H, 10).is_empty());
    assert_eq!(board(&timetable, "center:1", 24 * H, 48 * H, 10), ["out center:1 25:10"]);
    // 200 hours are eight days and eight hours, so Monday's trip arrives on the Tuesday of the following week.
    assert!(board(&timetable, "harbor", 0, 24 * H, 10).is_empty());
    assert_eq!(board(&timetable, "harbor", 24 * H, 48 * H, 10), ["out harbor 32:00"]);
}

#[test]
fn boards_are_sorted_and_respect_the_limit() {
    let mut trips = "route_id,service_id,trip_id\n".to_owned();
    let mut times = "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n".to_owned();
    for trip in (0..60).rev() {
        trips += &format!("r1,week,{trip}\n");
        times += &format!(
            "{trip},10:{trip:02}:00,10:{trip:02}:00,harbor,1\n{trip},11:00:00,11:00:00,center:1,2\n"
        );
    }
    let timetable =
        load_sound(town().with_file("trips.txt", trips).with_file("stop_times.txt", times));
    let board = |from, limit| board(&timetable, "harbor", from, 24 * H, limit);
    assert_eq!(board(10 * H, 3), ["0 harbor 10:00", "1 harbor 10:01", "2 harbor 10:02"]);
    assert_eq!(
        board(10 * H + 57 * 60, 9),
        ["57 harbor 10:57", "58 harbor 10:58", "59 harbor 10:59"]
    );
    assert_eq!(board(0, 0), [] as [&str; 0]);
    assert_eq!(board(0, 1_000).len(), 60);
}

#[test]
fn frequencies_are_expanded_to_runs() {
    let frequencies = "trip_id,start_time,end_time,headway_secs,exact_times
out,06:00:00,07:00:00,1800,1
out,07:00:00,07:30:00,600,0
";
    let times = "trip_id,arrival_time,departure_time,stop_id,stop_sequence
out,00:00:00,00:00:00,center:1,1
out,00:10:00,00:12:00,harbor,2
out,00:20:00,00:20:00,center:2,3
";
    let timetable = load_sound(
        town().with_file("frequencies.txt", frequencies).with_file("stop_times.txt", times),
    );
    let trip = timetable.find_trip("out").unwrap();
    assert!(timetable.trip(trip).has_frequencies);
    assert_eq!(
        timetable.frequencies_of_trip(trip).iter().map(|row| row.exact).collect::<Vec<_>>(),
        [true, false]
    );
    assert_eq!(
        board(&timetable, "harbor", 0, 24 * H, 10),
        [
            "out harbor 06:12 run 21600",
            "out harbor 06:42 run 23400",
            "out harbor 07:12 run 25200",
            "out harbor 07:22 run 25800",
            "out harbor 07:32 run 26400",
        ]
    );
    let under_way = |seconds| -> Vec<Option<i32>> {
        let instances = timetable.active_trips_at(monday(&timetable, seconds));
        instances.into_iter().map(|instance| instance.start_time).collect()
    };
    assert_eq!(under_way(7 * H + 15 * 60), [Some(25_200), Some(25_800)]);
    assert!(under_way(9 * H).is_empty());
}

#[test]
fn trips_are_active_between_their_first_and_last_call() {
    let timetable = load_sound(town());
    let under_way = |from, until| -> Vec<String> {
        let instances =
            timetable.active_trips_between(monday(&timetable, from), monday(&timetable, until));
        instances
            .into_iter()
            .map(|one| format!("{} {}", timetable.trip(one.trip).id, one.service_date))
            .collect()
    };
    assert_eq!(under_way(8 * H, 8 * H), ["out 2024-06-03"]);
    assert_eq!(under_way(8 * H + 600, 8 * H + 600), ["out 2024-06-03"]);
    assert!(under_way(8 * H + 601, 8 * H + 1_199).is_empty());
    assert_eq!(under_way(8 * H + 1_800, 32 * H), ["out 2024-06-04", "back 2024-06-03"]);
    // Saturday and Sunday.
    assert!(under_way(5 * 24 * H, 7 * 24 * H - 1).is_empty());
}
