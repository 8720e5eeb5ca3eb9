//! The content of a loaded timetable.

use jiff::civil::date;
use lineside_formats::gtfs::{StopTime, Timetable, fields::FILES};

use super::{load, load_sound, town};

fn stop_times(timetable: &Timetable, trip: &str) -> Vec<String> {
    let trip = timetable.find_trip(trip).unwrap();
    let time = |time: Option<i32>| time.map_or("-".to_owned(), |time| time.to_string());
    let line = |call: StopTime<'_>| {
        let mark = if call.interpolated { " ~" } else { "" };
        let id = timetable.stop(call.stop).id;
        format!("{} {id} {} {}{mark}", call.stop_sequence, time(call.arrival), time(call.departure))
    };
    timetable.trip_stop_times(trip).map(line).collect()
}

#[test]
fn a_small_feed_loads_completely() {
    let timetable = load_sound(town());
    let counts: Vec<(&str, u64)> =
        timetable.row_counts().iter().map(|(name, n)| (&**name, *n)).collect();
    let expected =
        [("agency.txt", 1), ("calendar.txt", 1), ("routes.txt", 1), ("stop_times.txt", 4)];
    assert_eq!(counts, [&expected[..], &[("stops.txt", 4), ("trips.txt", 2)]].concat());

    let agency = timetable.agencies().next().unwrap();
    assert_eq!(
        (agency.id, agency.name, agency.url),
        ("t", "Town Lines", Some("https://town.example"))
    );
    assert_eq!(timetable.timezone_name(), "Europe/Oslo");

    let center = timetable.find_stop("center").unwrap();
    let platform = timetable.stop(timetable.find_stop("center:2").unwrap());
    assert_eq!(
        (platform.name, platform.platform_code, platform.parent),
        ("Center", Some("2"), Some(center))
    );
    assert_eq!((platform.lat, platform.lon), (Some(59.9102), Some(10.7502)));
    let children: Vec<&str> =
        timetable.child_stops(center).iter().map(|&stop| timetable.stop(stop).id).collect();
    assert_eq!(children, ["center:1", "center:2"]);

    let route = timetable.route(timetable.find_route("r1").unwrap());
    assert_eq!((route.display_name(), route.long_name, route.kind), ("1", "Center – Harbor", 0));
    assert_eq!((route.color, route.text_color), (Some([0xAA, 0, 0x44]), None));
    assert_eq!(route.agency, Some(agency.idx));
    assert_eq!(timetable.route_trips(route.idx).len(), 2);
    assert_eq!(timetable.routes_at_stop(center).collect::<Vec<_>>(), [route.idx]);

    let trip = timetable.trip(timetable.find_trip("back").unwrap());
    assert_eq!((trip.headsign, trip.direction, trip.shape), (Some("Center"), Some(1), None));
    assert_eq!(stop_times(&timetable, "back"), ["1 harbor 30000 30000", "2 center:2 30600 30660"]);
    assert_eq!(timetable.trip_start_time(trip.idx), Some(30_000));
    assert!(timetable.memory_bytes() < 16 << 10, "{}", timetable.memory_bytes());
}

#[test]
fn an_unknown_id_is_not_found() {
    let timetable = load_sound(town());
    assert_eq!(timetable.find_stop("centre"), None);
    assert_eq!(timetable.find_route(""), None);
    assert_eq!(timetable.find_trip("out "), None);
    assert_eq!(timetable.find_shape("out"), None);
}

#[test]
fn trips_with_equal_patterns_share_their_stop_times() {
    let mut trips = "route_id,service_id,trip_id\n".to_owned();
    let mut times = "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n".to_owned();
    for trip in 0..1_000 {
        trips += &format!("r1,week,{trip}\n");
        for (call, stop) in ["center:1", "harbor", "center:2"].iter().enumerate() {
            let time = format!("{:02}:{:02}:00", 5 + trip / 60 + call, trip % 60);
            times += &format!("{trip},{time},{time},{stop},{call}\n");
        }
    }
    let timetable =
        load_sound(town().with_file("trips.txt", trips).with_file("stop_times.txt", times));
    assert_eq!((timetable.pattern_count(), timetable.stop_time_count()), (1, 3_000));
    // Each trip has a start; all trips share one pattern and one profile.
    assert!(
        timetable.stop_time_memory_bytes() < 1_000 * 4 + 200,
        "{}",
        timetable.stop_time_memory_bytes()
    );
    assert_eq!(
        stop_times(&timetable, "61"),
        ["0 center:1 21660 21660", "1 harbor 25260 25260", "2 center:2 28860 28860"]
    );
}

#[test]
fn stop_times_are_compact_even_without_shared_patterns() {
    let n_calls = 40;
    let mut stops = "stop_id,stop_name,stop_lat,stop_lon\n".to_owned();
    let mut trips = "route_id,service_id,trip_id\n".to_owned();
    let mut times = "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n".to_owned();
    let mut random = fastrand::Rng::with_seed(1);
    for stop in 0..500 {
        stops += &format!("{stop},Stop {stop},59.9,10.7\n");
    }
    for trip in 0..500 {
        trips += &format!("r1,week,{trip}\n");
        for call in 0..n_calls {
            let time = format!("{:02}:{:02}:{:02}", 5 + call / 10, call % 10 * 6, random.u8(0..60));
            times += &format!("{trip},{time},{time},{},{call}\n", random.u16(0..500));
        }
    }
    let files = town()
        .with_file("stops.txt", stops)
        .with_file("trips.txt", trips)
        .with_file("stop_times.txt", times);
    let timetable = load_sound(files);
    assert_eq!(timetable.pattern_count(), 500);
    let rows = timetable.stop_time_count() as usize;
    // Patterns, profiles and the index by stop take slightly more than the rows.
    let per_row = timetable.stop_time_memory_bytes() as f64 / rows as f64;
    assert!(per_row < 16.0 + 8.0, "{per_row}");
}

#[test]
fn missing_times_are_interpolated_and_marked() {
    let times =
        "trip_id,arrival_time,departure_time,stop_id,stop_sequence,shape_dist_traveled,timepoint
        out,,,center:1,0,,
        out,08:00:00,08:01:00,center:1,1,0,1
        out,,,center:2,2,750,0
        out,08:11:00,,harbor,3,1000,
        out,,,center:2,4,,
        out,,08:21:00,center:1,9,,
        back,,,center:1,0,,
        back,,,center:2,1,,";
    let (timetable, _) = load(town().with_file("stop_times.txt", times.replace("        ", "")));
    assert_eq!(
        stop_times(&timetable, "out"),
        [
            "0 center:1 - -",
            "1 center:1 28800 28860",
            "2 center:2 29310 29310 ~",
            "3 harbor 29460 29460",
            "4 center:2 29760 29760 ~",
            "9 center:1 30060 30060",
        ]
    );
    let timepoints: Vec<bool> = timetable
        .trip_stop_times(timetable.find_trip("out").unwrap())
        .map(|call| call.timepoint)
        .collect();
    assert_eq!(timepoints, [true, true, false, true, true, true]);
    assert_eq!(stop_times(&timetable, "back"), ["0 center:1 - -", "1 center:2 - -"]);
    assert_eq!(timetable.trip_start_time(timetable.find_trip("back").unwrap()), None);
}

#[test]
fn calls_preserve_large_sequence_numbers_headsigns_and_boarding() {
    let times = "trip_id,arrival_time,departure_time,stop_id,stop_sequence,stop_headsign,pickup_type,drop_off_type
out,08:00:00,08:00:00,center:1,7,Harbor,,1
out,08:05:00,08:05:00,center:2,70000,Beach,2,3
out,08:10:00,08:10:00,harbor,4294967295,,1,0
";
    let timetable = load_sound(town().with_file("stop_times.txt", times));
    let trip = timetable.find_trip("out").unwrap();
    let calls: Vec<_> = timetable
        .trip_stop_times(trip)
        .map(|call| (call.stop_sequence, call.headsign, call.pickup, call.drop_off))
        .collect();
    // A stop's headsign that equals the trip's is not stored.
    assert_eq!(calls, [(7, None, 0, 1), (70_000, Some("Beach"), 2, 3), (u32::MAX, None, 1, 0)]);
    assert_eq!(timetable.trip_stop_time(trip, 1), timetable.trip_stop_times(trip).nth(1));
    assert_eq!(timetable.trip_stop_time(trip, 3), None);
}

#[test]
fn shape_points_are_sorted_by_sequence() {
    let shapes = "shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence
a,59.1,10.1,20
a,59.2,10.2,10
b,59.5,10.5,1
a,59.3,10.3,15
b,59.6,10.6,2
";
    let trips = "route_id,service_id,trip_id,shape_id\nr1,week,out,a\nr1,week,back,b\n";
    let timetable =
        load_sound(town().with_file("shapes.txt", shapes).with_file("trips.txt", trips));
    let shapes: Vec<(&str, Vec<(f64, f64)>)> = timetable
        .shapes()
        .map(|shape| (timetable.shape_id(shape), timetable.shape_points(shape).collect()))
        .collect();
    let a = vec![(59.2, 10.2), (59.3, 10.3), (59.1, 10.1)];
    assert_eq!(shapes, [("a", a), ("b", vec![(59.5, 10.5), (59.6, 10.6)])]);
    let out = timetable.trip(timetable.find_trip("out").unwrap());
    assert_eq!(out.shape, timetable.find_shape("a"));
}

#[test]
fn the_lines_of_a_route_cover_every_stop_without_duplicates() {
    let stops = "stop_id,stop_name,stop_lat,stop_lon
a,A,59.1,10.1
b,B,59.2,10.2
c,C,59.3,10.3
d,D,59.4,10.4
";
    let trips = "route_id,service_id,trip_id,shape_id
r1,week,full,long
r1,week,full2,long
r1,week,short,part
r1,week,branch,
";
    let shapes = "shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence
long,59.1,10.1,1
long,59.3,10.3,2
part,59.1,10.1,1
part,59.2,10.2,2
";
    let mut times = "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n".to_owned();
    for (trip, stops) in [("full", "abc"), ("full2", "abc"), ("short", "ab"), ("branch", "ad")] {
        for (call, stop) in stops.chars().enumerate() {
            times += &format!("{trip},08:0{call}:00,08:0{call}:00,{stop},{call}\n");
        }
    }
    let files = town()
        .with_file("stops.txt", stops)
        .with_file("trips.txt", trips)
        .with_file("shapes.txt", shapes);
    let timetable = load_sound(files.with_file("stop_times.txt", times));
    let route = timetable.find_route("r1").unwrap();
    let lines = timetable.route_map_lines(route);
    let shapes: Vec<Option<&str>> =
        lines.iter().map(|line| line.shape.map(|shape| timetable.shape_id(shape))).collect();
    assert_eq!(shapes, [Some("long"), None]);
    assert_eq!(lines[1].points, [(59.1, 10.1), (59.4, 10.4)]);
    let stops: Vec<&str> =
        timetable.route_stops(route).iter().map(|&stop| timetable.stop(stop).id).collect();
    assert_eq!(stops, ["a", "b", "c", "d"]);
    assert_eq!(timetable.route_patterns(route).len(), 3);
}

#[test]
fn feed_info_names_the_publisher() {
    let info = "feed_publisher_name,feed_publisher_url,feed_lang,feed_version,feed_start_date,feed_end_date
Town,https://town.example,nb,v7,20240101,20241231
";
    let timetable = load_sound(town().with_file("feed_info.txt", info));
    let info = timetable.feed_info().unwrap();
    assert_eq!((&*info.publisher_name, info.version.as_deref()), ("Town", Some("v7")));
    assert_eq!(
        (info.start_date, info.end_date),
        (Some(date(2024, 1, 1)), Some(date(2024, 12, 31)))
    );
    assert_eq!(load_sound(town()).feed_info(), None);
}

#[test]
fn rows_of_every_other_file_of_the_reference_are_counted() {
    let mut files = town();
    let mut n_files = 0;
    for spec in FILES {
        let header: Vec<&str> = spec.fields.iter().map(|field| field.name).collect();
        if timetable_needs(spec.name) {
            continue;
        }
        // Two rows of empty cells cause problems and are counted.
        let row = ",".repeat(header.len() - 1);
        files = files.with_file(spec.name, format!("{}\n{row}x\n{row}x\n", header.join(",")));
        n_files += 1;
    }
    let zones =
        "{\"type\": \"FeatureCollection\", \"features\": [{\"a\": [1, {\"b\": []}]}, {}, {}]}";
    let (timetable, _) =
        load(files.with_file("locations.geojson", zones).with_file("notes.txt", "a\nb\n"));
    assert_eq!(timetable.row_counts()["locations.geojson"], 3);
    let counted = timetable.row_counts().iter().filter(|(name, _)| !timetable_needs(name));
    assert_eq!(counted.filter(|(name, n)| name.ends_with(".txt") && **n == 2).count(), n_files);
    assert!(!timetable.row_counts().contains_key("notes.txt"));
}

fn timetable_needs(name: &str) -> bool {
    ["agency.txt", "stops.txt", "routes.txt", "calendar.txt", "trips.txt", "stop_times.txt"]
        .contains(&name)
}

#[test]
fn demand_responsive_calls_without_a_stop_are_accepted() {
    let times = "trip_id,stop_id,location_group_id,stop_sequence,start_pickup_drop_off_window,end_pickup_drop_off_window
out,,zone,1,08:00:00,17:00:00
out,,zone,2,08:00:00,17:00:00
";
    let timetable = load_sound(town().with_file("stop_times.txt", times));
    assert_eq!(timetable.row_counts()["stop_times.txt"], 2);
    assert!(stop_times(&timetable, "out").is_empty());

    let zones =
        town().without_file("stops.txt").with_file("locations.geojson", "{\"features\": []}");
    assert_eq!(load_sound(zones.with_file("stop_times.txt", times)).stops().len(), 0);
}
