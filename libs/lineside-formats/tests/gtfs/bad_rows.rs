//! Faulty rows: each is a problem with its location and cause, and the rest of the dataset loads.

use lineside_formats::{
    ErrorKind, Problem,
    gtfs::{self, DatasetLimits, TextFiles},
};

use super::{load, town};

/// Returns the problems of the town with one file replaced.
fn problems(name: &str, text: &str) -> Vec<String> {
    problems_of(town().with_file(name, text))
}

fn problems_of(files: TextFiles) -> Vec<String> {
    let (_, problems) = load(files);
    assert_eq!(problems.total_count() as usize, problems.retained_problems().len());
    problems.retained_problems().iter().map(Problem::to_string).collect()
}

#[test]
fn implausible_stops_are_reported() {
    let stops = "stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station
center:1,Center,59.91,10.75,,
harbor,Harbor,0,0.0001,,
center:2,Center,91,10.75,0,nowhere
harbor,Again,59.9,10.7,,
door,Door,59.9,10.7,2,
north,North,59.9,10.7,1,center:1
south,South,59.9,10.7,,center:1
east,East,,,0,
a/b c#,Slash,59.9,10.7,7,
";
    assert_eq!(
        problems("stops.txt", stops),
        [
            "stops.txt line 3, stop_lat: is close to 0,0, where there is no stop; the position is ignored: \"0\"",
            "stops.txt line 4, stop_lat: out of range: \"91\"",
            "stops.txt line 5, stop_id: appears in an earlier row; the first row is used: \"harbor\"",
            "stops.txt line 6, parent_station: is missing, but the location_type requires a station",
            "stops.txt line 7, parent_station: must be empty for a station; it is ignored: \"center:1\"",
            "stops.txt line 9, stop_lat: has no latitude and longitude",
            "stops.txt line 10, location_type: not a value of the GTFS reference: \"7\"",
            "stops.txt line 4, parent_station: does not exist in the referenced file: \"nowhere\"",
            "stops.txt line 8, parent_station: is of the wrong location_type; it is ignored: \"center:1\"",
        ]
    );
    let (timetable, _) = load(town().with_file("stops.txt", stops));
    let stop = |id| timetable.stop(timetable.find_stop(id).unwrap());
    assert_eq!((stop("harbor").name, stop("harbor").lat), ("Harbor", None));
    assert_eq!((stop("center:2").lat, stop("center:2").parent), (None, None));
    assert_eq!(stop("a/b c#").location_type, 0);
}

#[test]
fn dangling_references_of_routes_and_trips_are_reported() {
    let routes = "route_id,agency_id,route_short_name,route_type,route_color
r1,ghost,1,99,red
r1,t,1,3,
,t,2,3,
";
    assert_eq!(
        problems("routes.txt", routes),
        [
            "routes.txt line 2, agency_id: does not exist in the referenced file: \"ghost\"",
            "routes.txt line 2, route_type: not a value of the GTFS reference: \"99\"",
            "routes.txt line 2, route_color: not a color of six hexadecimal digits: \"red\"",
            "routes.txt line 3, route_id: appears in an earlier row; the first row is used: \"r1\"",
            "routes.txt line 4, route_id: is required but empty",
        ]
    );
    let trips = "route_id,service_id,trip_id,shape_id,direction_id
r1,never,out,ghost,2
r9,week,back,,
r1,week,out,,
";
    assert_eq!(
        problems("trips.txt", trips),
        [
            "trips.txt line 2, shape_id: does not exist in the referenced file: \"ghost\"",
            "trips.txt line 2, service_id: does not exist in the referenced file: \"never\"",
            "trips.txt line 2, direction_id: not a value of the GTFS reference: \"2\"",
            "trips.txt line 3, route_id: does not exist in the referenced file: \"r9\"",
            "trips.txt line 4, trip_id: appears in an earlier row; the first row is used: \"out\"",
            "stop_times.txt line 4, trip_id: does not exist in the referenced file: \"back\"",
            "stop_times.txt line 5, trip_id: does not exist in the referenced file: \"back\"",
        ]
    );
}

#[test]
fn unreadable_stop_times_are_reported() {
    let times =
        "trip_id,arrival_time,departure_time,stop_id,stop_sequence,pickup_type,shape_dist_traveled
out,8:00,08:00:00,center:1,1,,
out,200:00:00,200:00:00,harbor,2,9,-1
out,1000:00:00,08:10:00,harbor,3,,x
out,08:20:00,08:20:00,harbor,3,,
out,08:20:00,08:20:00,ghost,4,,
out,08:20:00,08:20:00,,5,,
out,08:20:00,08:20:00,harbor,-6,,
out,08:20:00,08:20:00,harbor,,,
,08:20:00,08:20:00,harbor,7,,
";
    assert_eq!(
        problems("stop_times.txt", times),
        [
            "stop_times.txt line 2, arrival_time: not a time of the form HH:MM:SS: \"8:00\"",
            "stop_times.txt line 3, arrival_time: more than seven days after the start of the service day: \"200:00:00\"",
            "stop_times.txt line 3, shape_dist_traveled: is negative: \"-1\"",
            "stop_times.txt line 3, pickup_type: not a value of the GTFS reference: \"9\"",
            "stop_times.txt line 4, arrival_time: later than 999:00:00; it is ignored: \"1000:00:00\"",
            "stop_times.txt line 4, shape_dist_traveled: not a number: \"x\"",
            "stop_times.txt line 6, stop_id: does not exist in the referenced file: \"ghost\"",
            "stop_times.txt line 7, stop_id: is empty, and the row has no location or location group",
            "stop_times.txt line 8, stop_sequence: out of range: \"-6\"",
            "stop_times.txt line 9, stop_sequence: is required but empty",
            "stop_times.txt line 10, trip_id: is required but empty",
            "stop_times.txt line 5, stop_sequence: appears in an earlier row of the same trip; the first row is used: \"3\"",
        ]
    );
    let (timetable, _) = load(town().with_file("stop_times.txt", times));
    let calls: Vec<_> = timetable
        .trip_stop_times(timetable.find_trip("out").unwrap())
        .map(|call| call.arrival)
        .collect();
    assert_eq!(calls, [Some(28_800), Some(720_000), Some(29_400)]);
    assert_eq!(timetable.row_counts()["stop_times.txt"], 9);
}

#[test]
fn implausible_and_missing_calendar_dates_are_reported() {
    let calendar =
        "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date
week,1,1,1,1,1,0,yes,19000101,21991231
other,1,1,1,1,1,0,0,20240230,
week,1,1,1,1,1,0,0,20240101,20241231
";
    assert_eq!(
        problems("calendar.txt", calendar),
        [
            "calendar.txt line 2, sunday: not a whole number: \"yes\"",
            "calendar.txt line 2, start_date: of another century: \"19000101\"",
            "calendar.txt line 2, end_date: of another century: \"21991231\"",
            "calendar.txt line 3, start_date: not a date of the form YYYYMMDD: \"20240230\"",
            "calendar.txt line 3, end_date: is required but empty",
            "calendar.txt line 4, service_id: appears in an earlier row; the first row is used: \"week\"",
        ]
    );
}

#[test]
fn unknown_and_conflicting_time_zones_are_reported() {
    let agency = "agency_id,agency_name,agency_url,agency_timezone\nt,Town,https://t.example,";
    assert_eq!(
        problems("agency.txt", &format!("{agency}Europe/Olso\n")),
        [
            "agency.txt line 2, agency_timezone: not a time zone of the tz database: \"Europe/Olso\"",
            "agency.txt, agency_timezone: no agency has a known time zone; times are interpreted as UTC",
        ]
    );
    let (timetable, _) = load(town().with_file("agency.txt", format!("{agency}Mars/Base\n")));
    assert_eq!(timetable.timezone_name(), "UTC");
    let two = format!("{agency}Europe/Oslo\nu,Other,https://u.example,Europe/Paris\n");
    assert_eq!(
        problems("agency.txt", &two),
        [
            "agency.txt, agency_timezone: agencies have different time zones; Europe/Oslo is used for all"
        ]
    );
}

#[test]
fn invalid_frequencies_are_reported() {
    let frequencies = "trip_id,start_time,end_time,headway_secs,exact_times
out,06:00:00,09:00:00,0,
out,09:00:00,06:00:00,600,
ghost,06:00:00,09:00:00,600,
out,06:00:00,09:00:00,600,2
";
    assert_eq!(
        problems("frequencies.txt", frequencies),
        [
            "frequencies.txt line 2, headway_secs: is not between 1 second and 1 week: \"0\"",
            "frequencies.txt line 3, end_time: ends before it starts: \"06:00:00\"",
            "frequencies.txt line 4, trip_id: does not exist in the referenced file: \"ghost\"",
            "frequencies.txt line 5, exact_times: not a value of the GTFS reference: \"2\"",
        ]
    );
}

#[test]
fn a_trip_with_too_many_runs_is_reported_with_its_id_and_count() {
    let rows = |headway| {
        format!(
            "trip_id,start_time,end_time,headway_secs\n\
             out,06:00:00,07:00:00,{headway}\nout,07:00:00,08:00:00,{headway}\n"
        )
    };
    // Two hours have 7,200 seconds.
    assert_eq!(problems("frequencies.txt", &rows(4)), [""; 0]);
    let (_, problems) = load(town().with_file("frequencies.txt", rows(3)));
    let [problem] = problems.retained_problems() else { panic!("{problems:?}") };
    assert_eq!((problem.code, problem.id.as_deref()), ("too_many_runs", Some("out")));
    assert!(problem.detail.contains("2400"), "{}", problem.detail);
}

#[test]
fn files_outside_the_timetable_are_checked_too() {
    let transfers = "from_stop_id,to_stop_id,transfer_type,min_transfer_time\nharbor,harbor,8,-5\n";
    assert_eq!(
        problems("transfers.txt", transfers),
        [
            "transfers.txt line 2, transfer_type: not a value of the GTFS reference: \"8\"",
            "transfers.txt line 2, min_transfer_time: out of range: \"-5\"",
        ]
    );
    assert_eq!(problems("levels.txt", ""), ["levels.txt: is empty and has no header"]);
    assert_eq!(
        problems("shapes.txt", "shape_id,shape_pt_lat,shape_pt_lon\na,59,10\n"),
        [
            "shapes.txt line 1, shape_pt_sequence: is missing from the header",
            "shapes.txt: the header has no column shape_pt_sequence",
        ]
    );
    assert_eq!(
        problems("fare_media.txt", "<html><body>"),
        ["fare_media.txt: is a web page, not a table"]
    );
    let json = problems("locations.geojson", "{\"features\": [1, 2");
    assert!(json[0].starts_with("locations.geojson: is not valid JSON: EOF"), "{json:?}");
    assert_eq!(
        problems("locations.geojson", "{}"),
        ["locations.geojson: is not a GeoJSON FeatureCollection"]
    );
}

#[test]
fn missing_files_are_reported_or_refused() {
    assert_eq!(problems_of(town().without_file("agency.txt"))[0], "agency.txt: is missing");
    assert_eq!(
        problems_of(town().without_file("calendar.txt"))[0],
        "calendar.txt: is missing, and so is calendar_dates.txt"
    );
    for name in ["stops.txt", "routes.txt", "trips.txt", "stop_times.txt"] {
        let error = gtfs::load_timetable(&mut town().without_file(name), &DatasetLimits::default())
            .unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string()),
            (ErrorKind::MissingFile, format!("{name}: is missing"))
        );
    }
}

#[test]
fn tables_without_required_columns_are_refused() {
    for (name, header, missing) in [
        ("stops.txt", "stop_name", "stop_id"),
        ("routes.txt", "id", "route_id"),
        ("trips.txt", "trip_id,route_id", "service_id"),
        ("stop_times.txt", "trip_id,stop_id", "stop_sequence"),
        ("stop_times.txt", "\"trip_id,stop_id,stop_sequence\"", "trip_id"),
        ("calendar.txt", "monday", "service_id"),
    ] {
        let files = &mut town().with_file(name, format!("{header}\nx\n"));
        let error = gtfs::load_timetable(files, &DatasetLimits::default()).unwrap_err();
        let expected = format!("{name}: the header has no column {missing}");
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::BadHeader, expected));
    }
    for (text, kind) in
        [("<!doctype html>", ErrorKind::Html), ("\u{feff}s\0t\0o\0p\0", ErrorKind::Encoding)]
    {
        let error = gtfs::load_timetable(
            &mut town().with_file("stops.txt", text),
            &DatasetLimits::default(),
        )
        .unwrap_err();
        assert_eq!((error.kind(), error.file_name()), (kind, Some("stops.txt")));
    }
}

#[test]
fn all_line_endings_quotes_and_encodings_are_accepted() {
    let stops = b"\xEF\xBB\xBF\"stop_id\",\"stop_name\",stop_lat,stop_lon\r\n\
        center:1,\"Center, \"\"lower\"\"\nhall\",59.91,10.75\rcenter:2,Caf\xE9,59.91,10.75\n\n\
        harbor,\"Hafen\",59.9,10.7";
    let (timetable, problems) = load(town().with_file("stops.txt", *stops));
    let names: Vec<&str> = timetable.stops().map(|stop| stop.name).collect();
    assert_eq!(names, ["Center, \"lower\"\nhall", "Café", "Hafen"]);
    let problems: Vec<String> =
        problems.retained_problems().iter().map(Problem::to_string).collect();
    assert_eq!(problems, ["stops.txt line 4: is not UTF-8 and is read as Latin-1: \"Café\""]);
}

#[test]
fn a_file_above_the_size_limit_is_refused() {
    let limits = DatasetLimits { entry_bytes: 100, ..DatasetLimits::default() };
    let error = gtfs::load_timetable(&mut town(), &limits).unwrap_err();
    assert_eq!((error.kind(), error.file_name()), (ErrorKind::TooLarge, Some("stops.txt")));
}
