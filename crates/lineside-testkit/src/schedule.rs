//! Small schedules that tests build.

use std::collections::BTreeMap;
use std::io::{Cursor, Write as _};
use std::path::Path;

use lineside_formats::gtfs::{DatasetLimits, TextFiles, Timetable, load_timetable};
use zip::{DateTime, ZipWriter, write::SimpleFileOptions};

const HEADERS: [(&str, &str); 6] = [
    ("agency.txt", "agency_id,agency_name,agency_url,agency_timezone"),
    ("stops.txt", "stop_id,stop_name,stop_lat,stop_lon"),
    ("routes.txt", "route_id,agency_id,route_short_name,route_type"),
    (
        "calendar.txt",
        "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date",
    ),
    ("trips.txt", "route_id,service_id,trip_id"),
    ("stop_times.txt", "trip_id,arrival_time,departure_time,stop_id,stop_sequence"),
];

/// A small GTFS schedule. A test adds only what it depends on.
///
/// ```
/// use lineside_testkit::TestSchedule;
///
/// let schedule = TestSchedule::new("Europe/Oslo")
///     .stop("s", "Market", 59.9, 10.7)
///     .stop("t", "Harbour", 59.91, 10.7)
///     .trip("morning", "s 08:00, t 08:10")
///     .trip("evening", "t 20:00, s 20:10");
/// assert_eq!(schedule.timetable().trips().len(), 2);
/// ```
#[derive(Clone, Debug)]
pub struct TestSchedule {
    files: BTreeMap<String, String>,
    route: Option<String>,
    service: Option<String>,
}

impl TestSchedule {
    /// Creates a schedule of the agency `a` in a time zone.
    pub fn new(timezone: &str) -> Self {
        let files = HEADERS.map(|(name, header)| (name.to_owned(), format!("{header}\n")));
        Self { files: files.into(), route: None, service: None }
            .row("agency.txt", &format!("a,Agency,https://a.example,{timezone}"))
    }

    /// Adds a stop.
    pub fn stop(self, id: &str, name: &str, lat: f64, lon: f64) -> Self {
        self.row("stops.txt", &format!("{id},{name},{lat},{lon}"))
    }

    /// Adds a route, which the following trips use. Without one, they use the bus `r`, which is called 7.
    pub fn route(mut self, id: &str, short_name: &str, route_type: u16) -> Self {
        self.route = Some(id.to_owned());
        self.row("routes.txt", &format!("{id},a,{short_name},{route_type}"))
    }

    /// Adds a service, which the following trips use. `days` is a digit for each weekday, from Monday. Without a
    /// service, they use `d`, which runs every day from 2020 to 2040.
    pub fn service(mut self, id: &str, days: &str, dates: [&str; 2]) -> Self {
        self.service = Some(id.to_owned());
        let days = days.split("").filter(|day| !day.is_empty()).collect::<Vec<_>>().join(",");
        self.row("calendar.txt", &format!("{id},{days},{}", dates.join(",")))
    }

    /// Adds a trip. Each of its calls is a stop with a time, or with the times of arrival and departure:
    /// `s 08:00, t 08:10/08:12`. The stop sequences are 1, 2 and so on; a call may name another one: `t 08:10 #5`.
    ///
    /// # Panics
    /// Panics if a call has no time.
    pub fn trip(mut self, id: &str, calls: &str) -> Self {
        if self.route.is_none() {
            self = self.route("r", "7", 3);
        }
        if self.service.is_none() {
            self = self.service("d", "1111111", ["20200101", "20401231"]);
        }
        let (route, service) = (self.route.as_deref(), self.service.as_deref());
        let trip = format!("{},{},{id}", route.unwrap_or_default(), service.unwrap_or_default());
        self = self.row("trips.txt", &trip);
        for (call, sequence) in calls.split(',').zip(1..) {
            let mut words = call.split_whitespace();
            let stop = words.next().expect("a call has a stop");
            let time = words.next().expect("a call has a time");
            let (arrival, departure) = time.split_once('/').unwrap_or((time, time));
            let default_sequence = format!("#{sequence}");
            let sequence = words.next().unwrap_or(&default_sequence).trim_start_matches('#');
            let row = format!("{id},{arrival}:00,{departure}:00,{stop},{sequence}");
            self = self.row("stop_times.txt", &row);
        }
        self
    }

    /// Adds a row to a table of the schedule.
    ///
    /// # Panics
    /// Panics if the schedule has no such table.
    pub fn row(mut self, table: &str, row: &str) -> Self {
        let text = self.files.get_mut(table).expect("the table exists");
        text.push_str(row);
        text.push('\n');
        self
    }

    /// Adds a table with exactly this text, or replaces it.
    pub fn table(mut self, name: &str, text: impl Into<String>) -> Self {
        self.files.insert(name.to_owned(), text.into());
        self
    }

    /// Returns the names and texts of the files.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// Returns the schedule as a zip. Equal schedules have equal bytes.
    pub fn zip(&self) -> Vec<u8> {
        zip_files(self.files())
    }

    /// Writes the files into a folder, which is created if it does not exist.
    ///
    /// # Panics
    /// Panics if a file cannot be written.
    pub fn write_to(&self, folder: &Path) {
        std::fs::create_dir_all(folder).expect("the folder can be created");
        for (name, text) in self.files() {
            std::fs::write(folder.join(name), text).expect("the file can be written");
        }
    }

    /// Loads the schedule.
    ///
    /// # Panics
    /// Panics if it has a fatal fault.
    pub fn timetable(&self) -> Timetable {
        let mut files = self
            .files()
            .fold(TextFiles::new(), |files, (name, text)| files.with_file(name, text.as_bytes()));
        load_timetable(&mut files, &DatasetLimits::default()).expect("the schedule is sound").0
    }
}

/// Returns a zip of files, without their times.
///
/// # Panics
/// Panics if a name occurs twice.
pub fn zip_files<N: AsRef<str>, T: AsRef<[u8]>>(
    files: impl IntoIterator<Item = (N, T)>,
) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().last_modified_time(DateTime::default());
    for (name, content) in files {
        archive.start_file(name.as_ref(), options).expect("a new name");
        archive.write_all(content.as_ref()).expect("memory accepts all bytes");
    }
    archive.finish().expect("memory accepts all bytes").into_inner()
}
