//! A dataset to a timetable: one file after the other, each streamed once, in the order in which
//! they refer to each other.

mod agencies;
mod finish;
mod frequencies;
mod grouping;
mod interpolate;
mod locations;
mod others;
mod routes;
mod services;
mod sharing;
mod shapes;
mod stop_times;
mod stops;
mod trips;
mod written;

use std::{
    collections::BTreeMap,
    hash::{BuildHasher, RandomState},
    io::Read,
};

use jiff::tz::TimeZone;

use self::sharing::Sharing;
pub use self::written::LoadedTables;
use super::{
    FeedInfo, Files, Limits, Timetable,
    fields::{self, FileSpec},
    files::{Limited, too_large},
    rows::{Column, Rows},
    timetable::{
        AgencyRow, Exception, Frequencies, Ids, Interner, Patterns, Routes, ServiceRow, Shapes,
        Stops, Trips,
    },
    values::Fault,
};
use crate::{Error, ErrorKind, Problem, Problems, gtfs::ServiceIdx};

/// Reads a dataset.
///
/// Streams each file once (`stop_times.txt` and `shapes.txt` a second time if their rows are not
/// grouped by trip or shape). Memory: the timetable, one row, and while it is built the tables that
/// find equal texts and patterns.
///
/// # Errors
///
/// If the dataset is of no use as a whole: `stops.txt`, `routes.txt`, `trips.txt` or
/// `stop_times.txt` is missing, lacks a column that it cannot do without, or cannot be read to its
/// end; or a limit is passed. Everything else is a problem.
pub fn load(files: &mut dyn Files, limits: &Limits) -> Result<(Timetable, Problems), Error> {
    let names = files.names();
    let mut source = Source { files, limits };
    let mut loader = Loader::new();
    loader.load_until_stop_times(&names, &mut source)?;
    loader.load_stop_times(&mut source)?;
    loader.load_from_stop_times(&mut source)
}

/// The files, with their limits.
struct Source<'a> {
    files: &'a mut dyn Files,
    limits: &'a Limits,
}

/// The tables of which each row is a thing that the timetable keeps by itself.
const THINGS: [&str; 5] = ["agency.txt", "stops.txt", "routes.txt", "calendar.txt", "trips.txt"];

type TableRows<'a> = Rows<Box<dyn Read + 'a>>;

impl Source<'_> {
    /// Opens a table; `None` if it is not there, or empty.
    fn open(
        &mut self,
        name: &str,
        problems: &mut Problems,
    ) -> Result<Option<TableRows<'_>>, Error> {
        let Some(spec) = fields::find_file(name) else { return Ok(None) };
        let mut limits = self.limits.clone();
        if THINGS.contains(&name) {
            limits.rows = limits.rows.min(limits.things);
        }
        match self.open_bytes(name)? {
            Some(reader) => Rows::new(reader, spec, &limits, problems),
            None => Ok(None),
        }
    }

    fn open_bytes(&mut self, name: &str) -> Result<Option<Box<dyn Read + '_>>, Error> {
        let bytes_max = self.limits.entry_bytes;
        let reader = self.files.open(name)?;
        Ok(reader.map(|reader| {
            Box::new(Limited::new(reader, bytes_max, too_large)) as Box<dyn Read + '_>
        }))
    }
}

/// A timetable that is being built.
struct Loader {
    problems: Problems,
    row_counts: BTreeMap<Box<str>, u64>,
    strings: Interner,
    agencies: Vec<AgencyRow>,
    agency_ids: Ids,
    timezone: TimeZone,
    timezone_name: Box<str>,
    feed_info: Option<FeedInfo>,
    stops: Stops,
    routes: Routes,
    service_rows: Vec<ServiceRow>,
    service_ids: Ids,
    exceptions: Vec<(ServiceIdx, Exception)>,
    shapes: Shapes,
    trips: Trips,
    frequencies: Frequencies,
    patterns: Patterns,
    day_span: Option<(i32, i32)>,
}

const NOT_FOUND: Fault =
    Fault { code: "foreign_key_violation", detail: "names no row of the file that it refers to" };
const TWICE: Fault = Fault {
    code: "duplicate_key",
    detail: "stands in an earlier row already; the first row counts",
};

impl Loader {
    fn new() -> Loader {
        // Ids come from strangers: hashes that nobody can foresee keep lookups fast whatever they
        // send.
        let seed = RandomState::new().hash_one("ids");
        let ids = || Ids::new(seed);
        Loader {
            problems: Problems::new(),
            row_counts: BTreeMap::new(),
            strings: Interner::new(seed),
            agencies: Vec::new(),
            agency_ids: ids(),
            timezone: TimeZone::UTC,
            timezone_name: "UTC".into(),
            feed_info: None,
            stops: Stops { ids: ids(), ..Stops::default() },
            routes: Routes { ids: ids(), ..Routes::default() },
            service_rows: Vec::new(),
            service_ids: ids(),
            exceptions: Vec::new(),
            shapes: Shapes { ids: ids(), ..Shapes::default() },
            trips: Trips { ids: ids(), ..Trips::default() },
            frequencies: Frequencies::default(),
            patterns: Patterns::default(),
            day_span: None,
        }
    }

    /// Loads what the rows of stop times refer to, and all that comes before them.
    fn load_until_stop_times(
        &mut self,
        names: &[String],
        source: &mut Source<'_>,
    ) -> Result<(), Error> {
        self.problems.merge(source.files.take_problems());
        self.check_presence(names)?;
        self.load_agencies(source)?;
        self.load_stops(source)?;
        self.load_routes(source)?;
        self.load_calendar(source)?;
        self.load_calendar_dates(source)?;
        self.tolerate("shapes.txt", |loader| loader.load_shapes(source))?;
        self.load_trips(source)?;
        self.tolerate("frequencies.txt", |loader| loader.load_frequencies(source))
    }

    /// Loads what comes after the stop times.
    fn load_from_stop_times(
        mut self,
        source: &mut Source<'_>,
    ) -> Result<(Timetable, Problems), Error> {
        self.tolerate("feed_info.txt", |loader| loader.load_feed_info(source))?;
        self.tolerate(fields::LOCATIONS, |loader| loader.load_locations(source))?;
        for spec in others::TABLES.iter().filter_map(|name| fields::find_file(name)) {
            self.tolerate(spec.name, |loader| loader.check_rows(spec, source))?;
        }
        self.finish()
    }

    /// Refuses a dataset without its main tables and complains about other missing files.
    fn check_presence(&mut self, names: &[String]) -> Result<(), Error> {
        let has = |name: &str| names.iter().any(|other| other == name);
        // A purely demand-responsive dataset has zones or groups in place of stops.
        let places = ["stops.txt", fields::LOCATIONS, "location_groups.txt"];
        if !places.into_iter().any(has) {
            return Err(missing_file("stops.txt"));
        }
        if let Some(missing) =
            ["routes.txt", "trips.txt", "stop_times.txt"].into_iter().find(|name| !has(name))
        {
            return Err(missing_file(missing));
        }
        if !has("agency.txt") {
            self.problems.push(Problem::new("agency.txt", "missing_required_file", "is missing"));
        }
        if !has("calendar.txt") && !has("calendar_dates.txt") {
            let code = "missing_calendar_and_calendar_date_files";
            self.problems.push(Problem::new(
                "calendar.txt",
                code,
                "is missing, and so is calendar_dates.txt",
            ));
        }
        Ok(())
    }

    /// Runs a step that the timetable can do without: a file that breaks off becomes a problem.
    /// Passing a limit stays a refusal.
    fn tolerate(
        &mut self,
        name: &str,
        step: impl FnOnce(&mut Loader) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match step(self) {
            Err(error)
                if !matches!(
                    error.kind(),
                    ErrorKind::Bomb | ErrorKind::TooLarge | ErrorKind::Io
                ) =>
            {
                let text = error.to_string();
                let detail =
                    text.strip_prefix(name).map_or(&*text, |rest| rest.trim_start_matches(": "));
                self.problems.push(Problem::new(name, "csv_parsing_failed", detail));
                Ok(())
            }
            other => other,
        }
    }

    fn count(&mut self, spec_name: &str, rows: u64) {
        self.row_counts.insert(spec_name.into(), rows);
    }

    /// Streams a table that the timetable does not keep, for its count and its problems.
    fn check_rows(&mut self, spec: &FileSpec, source: &mut Source<'_>) -> Result<(), Error> {
        let Some(mut rows) = source.open(spec.name, &mut self.problems)? else {
            return self.count_empty(spec.name, source);
        };
        while rows.next_row(&mut self.problems)?.is_some() {}
        let count = rows.count();
        drop(rows);
        self.count(spec.name, count);
        Ok(())
    }

    /// A file that is there without even a header has no rows; one that is not there has no count.
    fn count_empty(&mut self, name: &str, source: &mut Source<'_>) -> Result<(), Error> {
        if source.files.open(name)?.is_some() {
            self.count(name, 0);
        }
        Ok(())
    }
}

fn missing_file(name: &str) -> Error {
    Error::new(ErrorKind::MissingFile, "is missing").in_file(name)
}

/// Refuses a table without a column that nothing can be made of it without.
fn require(file: &str, columns: &[(&str, Column)]) -> Result<(), Error> {
    match columns.iter().find(|(_, column)| !column.is_there()) {
        Some((name, column)) => {
            let detail = format!("the header has no column {name}{}", column.hint());
            Err(Error::new(ErrorKind::BadHeader, detail).in_file(file))
        }
        None => Ok(()),
    }
}

/// The refusal of a table that has more rows, or more text, than indices of 32 bits reach.
fn too_many(file: &str) -> Error {
    Error::new(ErrorKind::TooLarge, "holds more than fits 32 bits").in_file(file)
}
