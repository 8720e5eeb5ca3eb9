//! Builds a timetable while tables are written: stop times, nearly all of a schedule, never become text.

use std::{borrow::Cow, fmt};

use super::{
    LimitedFileSet, NOT_FOUND, TimetableLoader,
    stop_times::{CurrentTrip, FILE, ParsedStopTime, TripAssembler, WITHOUT_STOP},
    unindexed_tables,
};
use crate::{
    Error, ErrorKind, Problem, Problems,
    gtfs::{
        DatasetLimits, FileSet, InMemoryTables, StopTimeRow, TableWriter, Timetable, fields,
        rows::{MISSING, report_cell_fault},
        timetable::{CallFlags, NO_TIME, TextId},
        values,
        write::{format_gtfs_time, normalize_cell_whitespace},
    },
};

/// The tables that may follow the stop times, apart from those that the timetable does not use.
const AFTER: [&str; 2] = ["feed_info.txt", fields::LOCATIONS];

/// A writer of tables whose result equals that of [`load_timetable`](crate::gtfs::load_timetable) for
/// [`InMemoryTables`] with the same rows.
///
/// Stop times are written by [`TableWriter::write_stop_time`], after all tables that
/// [`load_timetable`](crate::gtfs::load_timetable) reads before them; only the other tables are held as text.
pub struct TimetableBuilder {
    limits: DatasetLimits,
    tables: InMemoryTables,
    intake: Option<Box<StopTimeRowLoader>>,
}

impl fmt::Debug for TimetableBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimetableBuilder").field("tables", &self.tables).finish_non_exhaustive()
    }
}

impl TimetableBuilder {
    /// Creates a builder without tables.
    pub fn new(limits: DatasetLimits) -> TimetableBuilder {
        TimetableBuilder { limits, tables: InMemoryTables::new(), intake: None }
    }

    /// Returns the timetable and the problems of the tables.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`load_timetable`](crate::gtfs::load_timetable).
    pub fn build_timetable(mut self) -> Result<(Timetable, Problems), Error> {
        let Some(intake) = self.intake else {
            return super::load_timetable(&mut self.tables, &self.limits);
        };
        let loader = intake.into_loader();
        loader.load_tables_after_stop_times(&mut LimitedFileSet {
            files: &mut self.tables,
            limits: &self.limits,
        })
    }
}

impl TableWriter for TimetableBuilder {
    fn begin_table(&mut self, table: &'static str, columns: &[&str]) -> Result<(), Error> {
        if self.intake.is_some()
            && !AFTER.contains(&table)
            && !unindexed_tables::TABLES.contains(&table)
        {
            let detail = "was written after stop_times.txt, which refers to it";
            return Err(Error::new(ErrorKind::Decode, detail).with_file(table));
        }
        self.tables.begin_table(table, columns)?;
        if table != FILE {
            return Ok(());
        }
        let mut loader = TimetableLoader::new();
        let names = self.tables.file_names();
        let mut source = LimitedFileSet { files: &mut self.tables, limits: &self.limits };
        loader.load_tables_before_stop_times(&names, &mut source)?;
        self.intake = Some(Box::new(StopTimeRowLoader::new(loader, self.limits.rows)));
        Ok(())
    }

    fn write_row(&mut self, cells: &[&str]) -> Result<(), Error> {
        self.tables.write_row(cells)
    }

    #[inline]
    fn write_stop_time(&mut self, row: &StopTimeRow<'_>) -> Result<(), Error> {
        let Some(intake) = &mut self.intake else {
            let detail = "a stop time was written before its table was begun";
            return Err(Error::new(ErrorKind::MissingFile, detail).with_file(FILE));
        };
        intake.load_stop_time_row(row);
        Ok(())
    }
}

/// A loader that receives stop times row by row.
struct StopTimeRowLoader {
    loader: TimetableLoader,
    current_trip: CurrentTrip,
    assembly: TripAssembler,
    count: u64,
    rows_max: u64,
    has_too_many: bool,
}

impl StopTimeRowLoader {
    fn new(loader: TimetableLoader, rows_max: u64) -> StopTimeRowLoader {
        StopTimeRowLoader {
            current_trip: CurrentTrip::new(&loader),
            assembly: TripAssembler::new(&loader),
            loader,
            count: 0,
            rows_max,
            has_too_many: false,
        }
    }

    fn into_loader(mut self) -> TimetableLoader {
        // No row has a distance.
        self.assembly.finish_all_trips(false, &mut self.loader);
        self.loader.store_table_row_count(FILE, self.count);
        self.loader
    }

    #[inline]
    fn load_stop_time_row(&mut self, row: &StopTimeRow<'_>) {
        if self.count >= self.rows_max {
            return self.report_excess_row_once();
        }
        self.count += 1;
        let trip_id = if self.current_trip.id == row.trip_id.as_bytes() {
            Cow::Borrowed(row.trip_id)
        } else {
            normalize_cell_whitespace(row.trip_id)
        };
        if trip_id.is_empty() {
            return self.report_stop_time_fault("trip_id", "", MISSING);
        }
        match self.current_trip.switch_to_trip(trip_id.as_bytes(), &self.loader) {
            Some(trip) => {
                if let Some(call) = self.convert_stop_time_row(row, trip) {
                    self.assembly.add_trip_stop_time(trip, call, &mut self.loader);
                }
            }
            None => self.report_stop_time_fault("trip_id", &trip_id, NOT_FOUND),
        }
    }

    #[inline]
    fn convert_stop_time_row(
        &mut self,
        row: &StopTimeRow<'_>,
        trip: u32,
    ) -> Option<ParsedStopTime> {
        let arrival = self.convert_time_with_warning("arrival_time", row.arrival);
        let departure = if arrival != NO_TIME && row.departure == row.arrival {
            arrival
        } else {
            self.convert_time_with_warning("departure_time", row.departure)
        };
        let stop = self.find_stop_index(row.stop_id)?;
        let headsign = match row.headsign {
            "" => TextId::EMPTY,
            text => self.loader.intern_distinct_headsign(trip, &normalize_cell_whitespace(text)),
        };
        Some(ParsedStopTime {
            sequence: row.sequence,
            stop,
            arrival,
            departure,
            headsign,
            flags: CallFlags::new(row.pickup as u8, row.drop_off as u8, true),
            line: self.equivalent_csv_line(),
            ..ParsedStopTime::default()
        })
    }

    /// Converts a time, and reports the warning that a reader of its text would report.
    #[inline]
    fn convert_time_with_warning(&mut self, field: &str, time: Option<i32>) -> i32 {
        match time {
            None => NO_TIME,
            Some(time) if time >= 0 && values::implausible_time_warning(time).is_none() => time,
            Some(time) => self.warn_about_implausible_time(field, time),
        }
    }

    #[cold]
    fn warn_about_implausible_time(&mut self, field: &str, time: i32) -> i32 {
        let text = format_gtfs_time(time);
        match values::parse_gtfs_time(text.as_bytes()) {
            Ok(time) => {
                if let Some(doubt) = values::implausible_time_warning(time) {
                    self.report_stop_time_fault(field, &text, doubt);
                }
                time
            }
            Err(fault) => {
                self.report_stop_time_fault(field, &text, fault);
                NO_TIME
            }
        }
    }

    #[inline]
    fn find_stop_index(&mut self, id: &str) -> Option<u32> {
        // Known ids are valid, so a predicted one is, too.
        if !id.is_empty()
            && let Some(stop) =
                self.current_trip.predictor.find_predicted_stop(id.as_bytes(), &self.loader)
        {
            return Some(stop);
        }
        let id = normalize_cell_whitespace(id);
        if id.is_empty() {
            self.report_stop_time_fault("stop_id", "", WITHOUT_STOP);
            return None;
        }
        let found = self.current_trip.predictor.look_up_stop(id.as_bytes(), &self.loader);
        if found.is_none() {
            self.report_stop_time_fault("stop_id", &id, NOT_FOUND);
        }
        found
    }

    /// Returns the line that the last row would have in a file, where the header is the first.
    fn equivalent_csv_line(&self) -> u64 {
        self.count + 1
    }

    #[cold]
    fn report_stop_time_fault(&mut self, field: &str, value: &str, fault: values::CellFault) {
        let place = (FILE, self.equivalent_csv_line(), field);
        report_cell_fault(place, value.as_bytes(), fault, &mut self.loader.problems);
    }

    #[cold]
    fn report_excess_row_once(&mut self) {
        if !self.has_too_many {
            self.has_too_many = true;
            let detail = "has more rows than the limit; the rest is ignored";
            self.loader.problems.push(Problem::new(FILE, "too_many_rows", detail));
        }
    }
}
