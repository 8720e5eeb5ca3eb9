//! Loads `calendar.txt` and `calendar_dates.txt`.

use jiff::civil::Date;

use super::{LimitedFileSet, TWICE, TimetableLoader, require_columns, too_many_rows_error};
use crate::{
    Error, Problems,
    gtfs::{
        ServiceIdx,
        rows::{TableColumn, TableRow},
        timetable::{ServiceException, ServiceRow},
        values,
    },
};

const WEEKDAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
/// `exception_type` of an added date.
const ADDED: u16 = 1;

impl TimetableLoader {
    pub(super) fn load_calendar(&mut self, source: &mut LimitedFileSet<'_>) -> Result<(), Error> {
        const FILE: &str = "calendar.txt";
        let Some(mut rows) = source.open_table_reader(FILE, &mut self.problems)? else {
            return self.store_zero_rows_if_present(FILE, source);
        };
        let id = rows.find_column("service_id");
        let weekdays = WEEKDAYS.map(|name| rows.find_column_checked_by_caller(name));
        let [start, end] =
            ["start_date", "end_date"].map(|name| rows.find_column_checked_by_caller(name));
        require_columns(FILE, &[("service_id", id)])?;
        while let Some(row) = rows.next_row(&mut self.problems)? {
            if row.get(id).is_empty() {
                continue;
            }
            let mut runs = 0;
            for (bit, &column) in weekdays.iter().enumerate() {
                let day = row.parse_cell(
                    column,
                    |text| values::parse_enum_value(text, &[0, 1]),
                    &mut self.problems,
                );
                runs |= u8::from(day == Some(1)) << bit;
            }
            let start = read_date_with_warning(&row, start, &mut self.problems);
            let end = read_date_with_warning(&row, end, &mut self.problems);
            // The weekdays apply to no date without both ends of the range, so only exceptions remain.
            let (runs, start, end) =
                start.zip(end).map_or((0, Date::ZERO, Date::ZERO), |(a, b)| (runs, a, b));
            let n_before = self.service_rows.len();
            let service = self.find_or_add_service(row.get(id), FILE)?;
            if service.get() < n_before {
                row.report_column_fault(id, TWICE, &mut self.problems);
                continue;
            }
            let service = &mut self.service_rows[service.get()];
            (service.weekdays, service.start, service.end) = (runs, start, end);
        }
        let count = rows.row_count();
        drop(rows);
        self.store_table_row_count(FILE, count);
        Ok(())
    }

    pub(super) fn load_calendar_dates(
        &mut self,
        source: &mut LimitedFileSet<'_>,
    ) -> Result<(), Error> {
        const FILE: &str = "calendar_dates.txt";
        let Some(mut rows) = source.open_table_reader(FILE, &mut self.problems)? else {
            return self.store_zero_rows_if_present(FILE, source);
        };
        let id = rows.find_column("service_id");
        let [date, kind] =
            ["date", "exception_type"].map(|name| rows.find_column_checked_by_caller(name));
        require_columns(FILE, &[("service_id", id)])?;
        // Rows of one service are mostly consecutive.
        let mut last = (String::new(), None);
        while let Some(row) = rows.next_row(&mut self.problems)? {
            if row.get(id).is_empty() {
                continue;
            }
            let service = match last.1 {
                Some(service) if last.0 == row.get(id) => service,
                _ => self.find_or_add_service(row.get(id), FILE)?,
            };
            if last.1 != Some(service) {
                last = (row.get(id).to_owned(), Some(service));
            }
            let date = read_date_with_warning(&row, date, &mut self.problems);
            let kind = row.parse_cell(
                kind,
                |text| values::parse_enum_value(text, &[ADDED, 2]),
                &mut self.problems,
            );
            if let Some((date, kind)) = date.zip(kind) {
                self.exceptions.push((service, ServiceException { date, runs: kind == ADDED }));
            }
        }
        let count = rows.row_count();
        drop(rows);
        self.store_table_row_count(FILE, count);
        Ok(())
    }

    /// Returns the service with that id; a new one never runs.
    pub(super) fn find_or_add_service(
        &mut self,
        id: &str,
        file: &str,
    ) -> Result<ServiceIdx, Error> {
        let number =
            u32::try_from(self.service_rows.len()).map_err(|_| too_many_rows_error(file))?;
        let id_of = |other: u32| self.strings.get(self.service_rows[other as usize].id);
        if let Err(found) = self.service_ids.insert(id, number, id_of) {
            return Ok(ServiceIdx::new(found));
        }
        let id = self.strings.intern(id);
        self.service_rows.push(ServiceRow { id, weekdays: 0, start: Date::ZERO, end: Date::ZERO });
        Ok(ServiceIdx::new(number))
    }
}

fn read_date_with_warning(
    row: &TableRow<'_>,
    column: TableColumn,
    problems: &mut Problems,
) -> Option<Date> {
    let date = row.parse_cell(column, values::parse_gtfs_date, problems)?;
    if let Some(doubt) = values::implausible_date_warning(date) {
        row.report_column_fault(column, doubt, problems);
    }
    Some(date)
}
