//! Loads a dataset into a timetable: each file is streamed once, in an order in which references point to loaded files.

mod agencies;
mod finish;
mod frequencies;
mod grouping;
mod interpolate;
mod locations;
mod unindexed_tables;
mod routes;
mod services;
mod pattern_interner;
mod shapes;
mod stop_times;
mod stops;
mod trips;
mod timetable_builder;

use std::{
    collections::BTreeMap,
    hash::{BuildHasher, RandomState},
    io::Read,
};

use jiff::tz::TimeZone;

use self::pattern_interner::PatternInterner;
pub use self::timetable_builder::TimetableBuilder;
use super::{
    DatasetLimits, FeedInfo, FileSet, Timetable,
    fields::{self, FileSpec},
    files::{SizeLimitedReader, too_large_error},
    rows::{TableColumn, TableReader},
    timetable::{
        AgencyRow, FrequencyTable, PatternTable, RouteTable, RowNumberById, ServiceException,
        ServiceRow, ShapeTable, StopTable, StringInterner, TripTable,
    },
    values::CellFault,
};
use crate::{Error, ErrorKind, Problem, Problems, gtfs::ServiceIdx};

/// Loads a dataset.
///
/// Streams each file once (`stop_times.txt` and `shapes.txt` a second time if their rows are not grouped by trip or
/// shape). Memory: the timetable, one row, and during the load the hash tables that deduplicate texts and patterns.
///
/// # Errors
///
/// Returns an error if the dataset is useless as a whole: `stops.txt`, `routes.txt`, `trips.txt` or `stop_times.txt` is
/// missing, lacks a required column, or is truncated; or a limit is exceeded. All other faults are problems.
pub fn load_timetable(
    files: &mut dyn FileSet,
    limits: &DatasetLimits,
) -> Result<(Timetable, Problems), Error> {
    let names = files.file_names();
    let mut source = LimitedFileSet { files, limits };
    let mut loader = TimetableLoader::new();
    loader.load_tables_before_stop_times(&names, &mut source)?;
    loader.load_stop_times(&mut source)?;
    loader.load_tables_after_stop_times(&mut source)
}

struct LimitedFileSet<'a> {
    files: &'a mut dyn FileSet,
    limits: &'a DatasetLimits,
}

/// The tables to which [`DatasetLimits::things`] applies.
const ENTITY_TABLES: [&str; 5] =
    ["agency.txt", "stops.txt", "routes.txt", "calendar.txt", "trips.txt"];

type BoxedTableReader<'a> = TableReader<Box<dyn Read + 'a>>;

impl LimitedFileSet<'_> {
    /// Opens a table; `None` if it is missing or empty.
    fn open_table_reader(
        &mut self,
        name: &str,
        problems: &mut Problems,
    ) -> Result<Option<BoxedTableReader<'_>>, Error> {
        let Some(spec) = fields::find_file_spec(name) else { return Ok(None) };
        let mut limits = self.limits.clone();
        if ENTITY_TABLES.contains(&name) {
            limits.rows = limits.rows.min(limits.entities);
        }
        match self.open_size_limited_file(name)? {
            Some(reader) => TableReader::new(reader, spec, &limits, problems),
            None => Ok(None),
        }
    }

    fn open_size_limited_file(&mut self, name: &str) -> Result<Option<Box<dyn Read + '_>>, Error> {
        let bytes_max = self.limits.entry_bytes;
        let reader = self.files.open_file(name)?;
        Ok(reader.map(|reader| {
            Box::new(SizeLimitedReader::new(reader, bytes_max, too_large_error))
                as Box<dyn Read + '_>
        }))
    }
}

/// A timetable during the load.
struct TimetableLoader {
    problems: Problems,
    row_counts: BTreeMap<Box<str>, u64>,
    strings: StringInterner,
    agencies: Vec<AgencyRow>,
    agency_ids: RowNumberById,
    timezone: TimeZone,
    timezone_name: Box<str>,
    feed_info: Option<FeedInfo>,
    stops: StopTable,
    routes: RouteTable,
    service_rows: Vec<ServiceRow>,
    service_ids: RowNumberById,
    exceptions: Vec<(ServiceIdx, ServiceException)>,
    shapes: ShapeTable,
    trips: TripTable,
    frequencies: FrequencyTable,
    patterns: PatternTable,
    day_span: Option<(i32, i32)>,
}

const NOT_FOUND: CellFault =
    CellFault { code: "foreign_key_violation", detail: "does not exist in the referenced file" };
const TWICE: CellFault =
    CellFault { code: "duplicate_key", detail: "appears in an earlier row; the first row is used" };

impl TimetableLoader {
    fn new() -> TimetableLoader {
        // Ids are untrusted input: a random seed keeps lookups fast against crafted collisions.
        let seed = RandomState::new().hash_one("ids");
        let ids = || RowNumberById::new(seed);
        TimetableLoader {
            problems: Problems::new(),
            row_counts: BTreeMap::new(),
            strings: StringInterner::new(seed),
            agencies: Vec::new(),
            agency_ids: ids(),
            timezone: TimeZone::UTC,
            timezone_name: "UTC".into(),
            feed_info: None,
            stops: StopTable { ids: ids(), ..StopTable::default() },
            routes: RouteTable { ids: ids(), ..RouteTable::default() },
            service_rows: Vec::new(),
            service_ids: ids(),
            exceptions: Vec::new(),
            shapes: ShapeTable { ids: ids(), ..ShapeTable::default() },
            trips: TripTable { ids: ids(), ..TripTable::default() },
            frequencies: FrequencyTable::default(),
            patterns: PatternTable::default(),
            day_span: None,
        }
    }

    /// Loads the tables that stop times refer to, and all those before them.
    fn load_tables_before_stop_times(
        &mut self,
        names: &[String],
        source: &mut LimitedFileSet<'_>,
    ) -> Result<(), Error> {
        self.problems.merge(source.files.take_problems());
        self.check_required_files(names)?;
        self.load_agencies(source)?;
        self.load_stops(source)?;
        self.load_routes(source)?;
        self.load_calendar(source)?;
        self.load_calendar_dates(source)?;
        self.load_optional_file("shapes.txt", |loader| loader.load_shapes(source))?;
        self.load_trips(source)?;
        self.load_optional_file("frequencies.txt", |loader| loader.load_frequencies(source))
    }

    fn load_tables_after_stop_times(
        mut self,
        source: &mut LimitedFileSet<'_>,
    ) -> Result<(Timetable, Problems), Error> {
        self.load_optional_file("feed_info.txt", |loader| loader.load_feed_info(source))?;
        self.load_optional_file(fields::LOCATIONS, |loader| {
            loader.count_geojson_locations(source)
        })?;
        for spec in unindexed_tables::TABLES.iter().filter_map(|name| fields::find_file_spec(name))
        {
            self.load_optional_file(spec.name, |loader| {
                loader.validate_unindexed_table(spec, source)
            })?;
        }
        self.build_timetable()
    }

    /// Refuses a dataset without its main tables and reports other missing files.
    fn check_required_files(&mut self, names: &[String]) -> Result<(), Error> {
        let has = |name: &str| names.iter().any(|other| other == name);
        // A purely demand-responsive dataset has zones or groups instead of stops.
        let places = ["stops.txt", fields::LOCATIONS, "location_groups.txt"];
        if !places.into_iter().any(has) {
            return Err(missing_file_error("stops.txt"));
        }
        if let Some(missing) =
            ["routes.txt", "trips.txt", "stop_times.txt"].into_iter().find(|name| !has(name))
        {
            return Err(missing_file_error(missing));
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

    /// Runs a step without which the timetable is still usable: a truncated file becomes a problem. An exceeded limit
    /// remains an error.
    fn load_optional_file(
        &mut self,
        name: &str,
        step: impl FnOnce(&mut TimetableLoader) -> Result<(), Error>,
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

    fn store_table_row_count(&mut self, spec_name: &str, rows: u64) {
        self.row_counts.insert(spec_name.into(), rows);
    }

    /// Streams a table that the timetable does not use, to count its rows and find its problems.
    fn validate_unindexed_table(
        &mut self,
        spec: &FileSpec,
        source: &mut LimitedFileSet<'_>,
    ) -> Result<(), Error> {
        let Some(mut rows) = source.open_table_reader(spec.name, &mut self.problems)? else {
            return self.store_zero_rows_if_present(spec.name, source);
        };
        while rows.next_row(&mut self.problems)?.is_some() {}
        let count = rows.row_count();
        drop(rows);
        self.store_table_row_count(spec.name, count);
        Ok(())
    }

    /// Counts zero rows for a file without a header; a missing file has no count.
    fn store_zero_rows_if_present(
        &mut self,
        name: &str,
        source: &mut LimitedFileSet<'_>,
    ) -> Result<(), Error> {
        if source.files.open_file(name)?.is_some() {
            self.store_table_row_count(name, 0);
        }
        Ok(())
    }
}

fn missing_file_error(name: &str) -> Error {
    Error::new(ErrorKind::MissingFile, "is missing").with_file(name)
}

/// Returns an error if a required column is missing.
fn require_columns(file: &str, columns: &[(&str, TableColumn)]) -> Result<(), Error> {
    match columns.iter().find(|(_, column)| !column.is_present()) {
        Some((name, column)) => {
            let detail = format!("the header has no column {name}{}", column.missing_column_hint());
            Err(Error::new(ErrorKind::BadHeader, detail).with_file(file))
        }
        None => Ok(()),
    }
}

/// Returns the error for a table that has more rows, or more text, than a 32-bit index can address.
fn too_many_rows_error(file: &str) -> Error {
    Error::new(ErrorKind::TooLarge, "has more rows or text than a 32-bit index can address")
        .with_file(file)
}
