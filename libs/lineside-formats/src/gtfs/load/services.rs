//! `calendar.txt` and `calendar_dates.txt`.

use jiff::civil::Date;

use super::{Loader, Source, TWICE, require, too_many};
use crate::{
    Error, Problems,
    gtfs::{
        ServiceIdx,
        rows::{Column, Row},
        timetable::{Exception, ServiceRow},
        values,
    },
};

const WEEKDAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
/// `exception_type` of a date that is added.
const ADDED: u16 = 1;

impl Loader {
    pub(super) fn load_calendar(&mut self, source: &mut Source<'_>) -> Result<(), Error> {
        const FILE: &str = "calendar.txt";
        let Some(mut rows) = source.open(FILE, &mut self.problems)? else {
            return self.count_empty(FILE, source);
        };
        let id = rows.column("service_id");
        let weekdays = WEEKDAYS.map(|name| rows.claim(name));
        let [start, end] = ["start_date", "end_date"].map(|name| rows.claim(name));
        require(FILE, &[("service_id", id)])?;
        while let Some(row) = rows.next_row(&mut self.problems)? {
            if row.get(id).is_empty() {
                continue;
            }
            let mut runs = 0;
            for (bit, &column) in weekdays.iter().enumerate() {
                let day =
                    row.parse(column, |text| values::choice(text, &[0, 1]), &mut self.problems);
                runs |= u8::from(day == Some(1)) << bit;
            }
            let start = read_date(&row, start, &mut self.problems);
            let end = read_date(&row, end, &mut self.problems);
            // Without both dates the week cannot be placed: only exceptions are left.
            let (runs, start, end) =
                start.zip(end).map_or((0, Date::ZERO, Date::ZERO), |(a, b)| (runs, a, b));
            let n_before = self.service_rows.len();
            let service = self.service_of(row.get(id), FILE)?;
            if service.get() < n_before {
                row.complain_of(id, TWICE, &mut self.problems);
                continue;
            }
            let service = &mut self.service_rows[service.get()];
            (service.weekdays, service.start, service.end) = (runs, start, end);
        }
        let count = rows.count();
        drop(rows);
        self.count(FILE, count);
        Ok(())
    }

    pub(super) fn load_calendar_dates(&mut self, source: &mut Source<'_>) -> Result<(), Error> {
        const FILE: &str = "calendar_dates.txt";
        let Some(mut rows) = source.open(FILE, &mut self.problems)? else {
            return self.count_empty(FILE, source);
        };
        let id = rows.column("service_id");
        let [date, kind] = ["date", "exception_type"].map(|name| rows.claim(name));
        require(FILE, &[("service_id", id)])?;
        // Rows of one service mostly follow each other.
        let mut last = (String::new(), None);
        while let Some(row) = rows.next_row(&mut self.problems)? {
            if row.get(id).is_empty() {
                continue;
            }
            let service = match last.1 {
                Some(service) if last.0 == row.get(id) => service,
                _ => self.service_of(row.get(id), FILE)?,
            };
            if last.1 != Some(service) {
                last = (row.get(id).to_owned(), Some(service));
            }
            let date = read_date(&row, date, &mut self.problems);
            let kind =
                row.parse(kind, |text| values::choice(text, &[ADDED, 2]), &mut self.problems);
            if let Some((date, kind)) = date.zip(kind) {
                self.exceptions.push((service, Exception { date, runs: kind == ADDED }));
            }
        }
        let count = rows.count();
        drop(rows);
        self.count(FILE, count);
        Ok(())
    }

    /// The service of that id; one that never runs if it was not seen before.
    pub(super) fn service_of(&mut self, id: &str, file: &str) -> Result<ServiceIdx, Error> {
        let number = u32::try_from(self.service_rows.len()).map_err(|_| too_many(file))?;
        let id_of = |other: u32| self.strings.get(self.service_rows[other as usize].id);
        if let Err(found) = self.service_ids.insert(id, number, id_of) {
            return Ok(ServiceIdx::new(found));
        }
        let id = self.strings.intern(id);
        self.service_rows.push(ServiceRow { id, weekdays: 0, start: Date::ZERO, end: Date::ZERO });
        Ok(ServiceIdx::new(number))
    }
}

fn read_date(row: &Row<'_>, column: Column, problems: &mut Problems) -> Option<Date> {
    let date = row.parse(column, values::date, problems)?;
    if let Some(doubt) = values::doubt_date(date) {
        row.complain_of(column, doubt, problems);
    }
    Some(date)
}
