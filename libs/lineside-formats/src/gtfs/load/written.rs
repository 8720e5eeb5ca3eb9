//! Tables that are loaded while they are written: stop times, which are nearly all of a schedule, never become text.

use std::{borrow::Cow, fmt};

use super::{
    Loader, NOT_FOUND, Source, others,
    stop_times::{Assembly, AtHand, FILE, RawCall, WITHOUT_STOP},
};
use crate::{
    Error, ErrorKind, Problem, Problems,
    gtfs::{
        Files, Limits, MemoryTables, StopTimeRow, Tables, Timetable, fields,
        rows::{MISSING, complain},
        timetable::{CallFlags, NO_TIME, Text},
        values,
        write::{clock, sound},
    },
};

/// The tables that may come after the stop times, besides those that no timetable keeps.
const AFTER: [&str; 2] = ["feed_info.txt", fields::LOCATIONS];

/// Tables that become a timetable: what [`load`](crate::gtfs::load) would make of [`MemoryTables`] with the same rows.
///
/// Stop times come by [`Tables::stop_time`], after all tables that [`load`](crate::gtfs::load) reads before them; only
/// the other tables are held as texts.
pub struct LoadedTables {
    limits: Limits,
    tables: MemoryTables,
    intake: Option<Box<Intake>>,
}

impl fmt::Debug for LoadedTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedTables").field("tables", &self.tables).finish_non_exhaustive()
    }
}

impl LoadedTables {
    /// No tables.
    pub fn new(limits: Limits) -> LoadedTables {
        LoadedTables { limits, tables: MemoryTables::new(), intake: None }
    }

    /// The timetable, with what was wrong about the tables.
    ///
    /// # Errors
    ///
    /// As [`load`](crate::gtfs::load), if it was not refused before.
    pub fn finish(mut self) -> Result<(Timetable, Problems), Error> {
        let Some(intake) = self.intake else {
            return super::load(&mut self.tables, &self.limits);
        };
        let loader = intake.finish();
        loader.load_from_stop_times(&mut Source { files: &mut self.tables, limits: &self.limits })
    }
}

impl Tables for LoadedTables {
    fn begin(&mut self, table: &'static str, columns: &[&str]) -> Result<(), Error> {
        if self.intake.is_some() && !AFTER.contains(&table) && !others::TABLES.contains(&table) {
            let detail = "comes after the stop times, which refer to it";
            return Err(Error::new(ErrorKind::Decode, detail).in_file(table));
        }
        self.tables.begin(table, columns)?;
        if table != FILE {
            return Ok(());
        }
        let mut loader = Loader::new();
        let names = self.tables.names();
        let mut source = Source { files: &mut self.tables, limits: &self.limits };
        loader.load_until_stop_times(&names, &mut source)?;
        self.intake = Some(Box::new(Intake::new(loader, self.limits.rows)));
        Ok(())
    }

    fn row(&mut self, cells: &[&str]) -> Result<(), Error> {
        self.tables.row(cells)
    }

    #[inline]
    fn stop_time(&mut self, row: &StopTimeRow<'_>) -> Result<(), Error> {
        let Some(intake) = &mut self.intake else {
            let detail = "a stop time comes before its table was begun";
            return Err(Error::new(ErrorKind::MissingFile, detail).in_file(FILE));
        };
        intake.take(row);
        Ok(())
    }
}

/// A loader to which stop times come row by row.
struct Intake {
    loader: Loader,
    at_hand: AtHand,
    assembly: Assembly,
    count: u64,
    rows_max: u64,
    has_too_many: bool,
}

impl Intake {
    fn new(loader: Loader, rows_max: u64) -> Intake {
        Intake {
            at_hand: AtHand::new(&loader),
            assembly: Assembly::new(&loader),
            loader,
            count: 0,
            rows_max,
            has_too_many: false,
        }
    }

    fn finish(mut self) -> Loader {
        // No row has a distance.
        self.assembly.finish(false, &mut self.loader);
        self.loader.count(FILE, self.count);
        self.loader
    }

    #[inline]
    fn take(&mut self, row: &StopTimeRow<'_>) {
        if self.count >= self.rows_max {
            return self.leave_out();
        }
        self.count += 1;
        let trip_id = if self.at_hand.id == row.trip_id.as_bytes() {
            Cow::Borrowed(row.trip_id)
        } else {
            sound(row.trip_id)
        };
        if trip_id.is_empty() {
            return self.complain("trip_id", "", MISSING);
        }
        match self.at_hand.trip_of(trip_id.as_bytes(), &self.loader) {
            Some(trip) => {
                if let Some(call) = self.call_of(row, trip) {
                    self.assembly.push(trip, call, &mut self.loader);
                }
            }
            None => self.complain("trip_id", &trip_id, NOT_FOUND),
        }
    }

    #[inline]
    fn call_of(&mut self, row: &StopTimeRow<'_>, trip: u32) -> Option<RawCall> {
        let arrival = self.time_of("arrival_time", row.arrival);
        let departure = if arrival != NO_TIME && row.departure == row.arrival {
            arrival
        } else {
            self.time_of("departure_time", row.departure)
        };
        let stop = self.stop_of(row.stop_id)?;
        let headsign = match row.headsign {
            "" => Text::EMPTY,
            text => self.loader.headsign_of(trip, &sound(text)),
        };
        Some(RawCall {
            sequence: row.sequence,
            stop,
            arrival,
            departure,
            headsign,
            flags: CallFlags::new(row.pickup as u8, row.drop_off as u8, true),
            line: self.line(),
            ..RawCall::default()
        })
    }

    /// A time, with a word about it where a reader of its text would have one.
    #[inline]
    fn time_of(&mut self, field: &str, time: Option<i32>) -> i32 {
        match time {
            None => NO_TIME,
            Some(time) if time >= 0 && values::doubt_time(time).is_none() => time,
            Some(time) => self.doubt_time(field, time),
        }
    }

    #[cold]
    fn doubt_time(&mut self, field: &str, time: i32) -> i32 {
        let text = clock(time);
        match values::time(text.as_bytes()) {
            Ok(time) => {
                if let Some(doubt) = values::doubt_time(time) {
                    self.complain(field, &text, doubt);
                }
                time
            }
            Err(fault) => {
                self.complain(field, &text, fault);
                NO_TIME
            }
        }
    }

    #[inline]
    fn stop_of(&mut self, id: &str) -> Option<u32> {
        // The ids that are known are sound, so one of them that is guessed right is, too.
        if !id.is_empty()
            && let Some(stop) = self.at_hand.guide.guess(id.as_bytes(), &self.loader)
        {
            return Some(stop);
        }
        let id = sound(id);
        if id.is_empty() {
            self.complain("stop_id", "", WITHOUT_STOP);
            return None;
        }
        let found = self.at_hand.guide.find(id.as_bytes(), &self.loader);
        if found.is_none() {
            self.complain("stop_id", &id, NOT_FOUND);
        }
        found
    }

    /// The line of the row that came last, if it stood in a file: the header is the first.
    fn line(&self) -> u64 {
        self.count + 1
    }

    #[cold]
    fn complain(&mut self, field: &str, value: &str, fault: values::Fault) {
        let place = (FILE, self.line(), field);
        complain(place, value.as_bytes(), fault, &mut self.loader.problems);
    }

    #[cold]
    fn leave_out(&mut self) {
        if !self.has_too_many {
            self.has_too_many = true;
            let detail = "has more rows than the limit; the rest was left out";
            self.loader.problems.push(Problem::new(FILE, "too_many_rows", detail));
        }
    }
}
