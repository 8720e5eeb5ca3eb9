//! Small schedules.

use lineside_formats::gtfs::{self, DatasetLimits, TextFiles, Timetable};

/// An agency in Oslo, its line `r`, and the service `d`, which runs on each day of 2026.
const LINE: &str = "\
# agency.txt
agency_id,agency_name,agency_url,agency_timezone
a,A,https://a.example,Europe/Oslo
# routes.txt
route_id,agency_id,route_short_name,route_type
r,a,7,3
# calendar.txt
service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date
d,1,1,1,1,1,1,1,20260101,20261231
";

/// Loads a schedule of the line `r` with these tables: stops, trips, times.
///
/// # Panics
/// Panics if a table is invalid.
pub fn load_test_timetable(tables: &str) -> Timetable {
    let mut files = TextFiles::from_sections(&format!("{LINE}{tables}"));
    gtfs::load_timetable(&mut files, &DatasetLimits::default()).expect("the schedule is sound").0
}
