//! Loads `frequencies.txt`.

use super::{LimitedFileSet, NOT_FOUND, TimetableLoader, require_columns};
use crate::{
    Error, Problem, Problems,
    gtfs::{
        Frequency, TripIdx,
        rows::{TableColumn, TableRow},
        values::{self, CellFault},
    },
};

const FILE: &str = "frequencies.txt";
/// The longest accepted headway, in seconds: a week.
const HEADWAY_MAX: u32 = 7 * 24 * 3_600;
/// The largest plausible number of runs of a trip per day: one every 43 seconds around the clock.
const RUNS_MAX: i64 = 2_000;
const HEADWAY: CellFault =
    CellFault { code: "number_out_of_range", detail: "is not between 1 second and 1 week" };
const BACKWARDS: CellFault =
    CellFault { code: "start_and_end_range_out_of_order", detail: "ends before it starts" };

impl TimetableLoader {
    pub(super) fn load_frequencies(
        &mut self,
        source: &mut LimitedFileSet<'_>,
    ) -> Result<(), Error> {
        let Some(mut rows) = source.open_table_reader(FILE, &mut self.problems)? else {
            return self.store_zero_rows_if_present(FILE, source);
        };
        let id = rows.find_column("trip_id");
        let [start, end, headway, exact] =
            ["start_time", "end_time", "headway_secs", "exact_times"]
                .map(|name| rows.find_column_checked_by_caller(name));
        require_columns(
            FILE,
            &[("trip_id", id), ("start_time", start), ("end_time", end), ("headway_secs", headway)],
        )?;
        while let Some(row) = rows.next_row(&mut self.problems)? {
            if row.get(id).is_empty() {
                continue;
            }
            let Some(trip) = self.find_trip_index(row.cell_bytes(id)) else {
                row.report_column_fault(id, NOT_FOUND, &mut self.problems);
                continue;
            };
            let from = read_time_with_warning(&row, start, &mut self.problems);
            let until = read_time_with_warning(&row, end, &mut self.problems);
            let every = row.parse_cell(headway, read_headway, &mut self.problems);
            let exact = row.parse_cell(
                exact,
                |text| values::parse_enum_value(text, &[0, 1]),
                &mut self.problems,
            ) == Some(1);
            let (Some(from), Some(until), Some(every)) = (from, until, every) else { continue };
            if until < from {
                row.report_column_fault(end, BACKWARDS, &mut self.problems);
                continue;
            }
            self.trips.rows[trip as usize].has_frequencies = true;
            let trip = TripIdx::new(trip);
            self.frequencies.rows.push(Frequency {
                trip,
                start: from,
                end: until,
                headway: every,
                exact,
            });
        }
        let count = rows.row_count();
        drop(rows);
        self.frequencies.rows.sort_by_key(|frequency| (frequency.trip, frequency.start));
        self.frequencies.rows.shrink_to_fit();
        self.report_too_many_trip_runs();
        self.store_table_row_count(FILE, count);
        Ok(())
    }
}

impl TimetableLoader {
    /// Reports trips with more runs per day than [`RUNS_MAX`].
    fn report_too_many_trip_runs(&mut self) {
        let runs_of = |row: &Frequency| {
            let span = i64::from(row.end) - i64::from(row.start);
            (span + i64::from(row.headway) - 1) / i64::from(row.headway)
        };
        for rows in self.frequencies.rows.chunk_by(|a, b| a.trip == b.trip) {
            let runs: i64 = rows.iter().map(runs_of).sum();
            if runs <= RUNS_MAX {
                continue;
            }
            let detail = format!(
                "the trip runs {runs} times a day; the limit is {RUNS_MAX}, and departure boards \
                and line pages may omit some of its runs"
            );
            let Some(first) = rows.first() else { continue };
            let id = self.strings.get(self.trips.rows[first.trip.get()].id);
            let problem = Problem::new(FILE, "too_many_runs", detail).with_record(id);
            self.problems.push(problem.with_field("headway_secs"));
        }
    }
}

fn read_headway(text: &[u8]) -> Result<i32, CellFault> {
    match values::parse_unsigned(text)? {
        headway @ 1..=HEADWAY_MAX => Ok(headway as i32),
        _ => Err(HEADWAY),
    }
}

/// Parses a time, and reports a warning if it is implausible.
pub(super) fn read_time_with_warning(
    row: &TableRow<'_>,
    column: TableColumn,
    problems: &mut Problems,
) -> Option<i32> {
    let time = row.parse_cell(column, values::parse_gtfs_time, problems)?;
    if let Some(doubt) = values::implausible_time_warning(time) {
        row.report_column_fault(column, doubt, problems);
    }
    Some(time)
}
