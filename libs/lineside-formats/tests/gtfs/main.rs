//! Tests of GTFS: loading, problems, refusals, and queries of the timetable.
#![cfg(feature = "gtfs")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "a test that is skipped says why")]

mod archives;
mod bad_rows;
mod boards;
mod data;
mod differential;
mod loading;
mod properties;
mod service_days;
#[path = "../support/mod.rs"]
mod support;
mod writing;

use lineside_formats::{
    Problem, Problems,
    gtfs::{self, DatasetLimits, TextFiles, Timetable},
};

/// A small town: one station with two platforms, one more stop, one route, two trips.
const TOWN: &str = "
    # agency.txt
    agency_id,agency_name,agency_url,agency_timezone
    t,Town Lines,https://town.example,Europe/Oslo
    # stops.txt
    stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station,platform_code
    center,Center,59.91,10.75,1,,
    center:1,Center,59.9101,10.7501,0,center,1
    center:2,Center,59.9102,10.7502,0,center,2
    harbor,Harbor,59.90,10.74,,,
    # routes.txt
    route_id,agency_id,route_short_name,route_long_name,route_type,route_color
    r1,t,1,Center – Harbor,0,AA0044
    # calendar.txt
    service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date
    week,1,1,1,1,1,0,0,20240101,20241231
    # trips.txt
    route_id,service_id,trip_id,trip_headsign,direction_id
    r1,week,out,Harbor,0
    r1,week,back,Center,1
    # stop_times.txt
    trip_id,arrival_time,departure_time,stop_id,stop_sequence
    out,08:00:00,08:00:00,center:1,1
    out,08:10:00,08:10:00,harbor,2
    back,08:20:00,08:20:00,harbor,1
    back,08:30:00,08:31:00,center:2,2
";

fn town() -> TextFiles {
    TextFiles::from_sections(TOWN)
}

fn load(mut files: TextFiles) -> (Timetable, Problems) {
    gtfs::load_timetable(&mut files, &DatasetLimits::default()).unwrap()
}

fn load_sound(files: TextFiles) -> Timetable {
    let (timetable, problems) = load(files);
    assert_eq!(problems.retained_problems(), &[] as &[Problem]);
    timetable
}
