//! Services: the days on which trips run. They are stored as a week and its exceptions and never expanded, so a
//! calendar of a thousand years costs as much as one of a week.

use jiff::{ToSpan as _, civil::Date};

use super::{Frequency, ItemsByKey, ServiceIdx, TextId, Timetable};

/// A service of `calendar.txt`, `calendar_dates.txt` or both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServiceRow {
    pub(crate) id: TextId,
    /// The weekdays; bit 0 is Monday. 0 if only `calendar_dates.txt` names the service.
    pub(crate) weekdays: u8,
    pub(crate) start: Date,
    pub(crate) end: Date,
}

/// A row of `calendar_dates.txt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServiceException {
    pub(crate) date: Date,
    pub(crate) runs: bool,
}

#[derive(Debug, Default)]
pub(crate) struct ServiceTable {
    pub(crate) rows: Vec<ServiceRow>,
    /// The exceptions by service, ordered by date.
    pub(crate) exceptions: ItemsByKey<ServiceException>,
}

impl ServiceTable {
    /// Sorts the exceptions of each service by date; of two for the same date the first applies.
    pub(crate) fn set_service_exceptions(&mut self, exceptions: &[(ServiceIdx, ServiceException)]) {
        let pairs = exceptions.iter().map(|&(service, exception)| (service.get(), exception));
        self.exceptions = ItemsByKey::new(self.rows.len(), pairs);
        for service in 0..self.rows.len() {
            self.exceptions.items_of_key_mut(service).sort_by_key(|exception| exception.date);
        }
    }

    pub(crate) fn is_service_active_on(&self, service: ServiceIdx, date: Date) -> bool {
        let exceptions = self.exceptions.items_of_key(service.get());
        let at = exceptions.partition_point(|exception| exception.date < date);
        if let Some(exception) = exceptions.get(at).filter(|exception| exception.date == date) {
            return exception.runs;
        }
        self.rows[service.get()].is_in_weekly_calendar(date)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.rows.capacity() * size_of::<ServiceRow>() + self.exceptions.memory_bytes()
    }

    /// Returns, for each day from `first` to `last`, the sum of `weights` of the services that run on it.
    fn sum_service_weights_by_day(&self, weights: &[u64], first: Date, last: Date) -> Vec<u64> {
        let index_of = |date: Date| usize::try_from((date - first).get_days()).unwrap_or(0);
        if last < first {
            return Vec::new();
        }
        let n_days = index_of(last) + 1;
        // By day and weekday: the weight of the weeks that begin on the day, and of those that ended the day before.
        let mut begun = vec![[0_u64; 7]; n_days + 1];
        let mut ended = begun.clone();
        for (row, &weight) in self.rows.iter().zip(weights) {
            let (start, end) = (row.start.max(first), row.end.min(last));
            if start > end {
                continue;
            }
            for weekday in (0..7).filter(|weekday| row.weekdays & (1 << weekday) != 0) {
                begun[index_of(start)][weekday] += weight;
                ended[index_of(end) + 1][weekday] += weight;
            }
        }
        let mut running = [0_u64; 7];
        let mut sums = Vec::with_capacity(n_days);
        for (day, date) in first.series(1.day()).take(n_days).enumerate() {
            for weekday in 0..7 {
                running[weekday] = running[weekday] + begun[day][weekday] - ended[day][weekday];
            }
            sums.push(running[weekday_index(date)]);
        }
        for (service, &weight) in weights.iter().enumerate() {
            let mut previous = None;
            for exception in self.exceptions.items_of_key(service) {
                // The first of two exceptions for one date applies.
                let is_first = previous.replace(exception.date) != Some(exception.date);
                if !is_first || !(first..=last).contains(&exception.date) {
                    continue;
                }
                let sum = &mut sums[index_of(exception.date)];
                match (exception.runs, self.rows[service].is_in_weekly_calendar(exception.date)) {
                    (true, false) => *sum += weight,
                    (false, true) => *sum -= weight,
                    _ => {}
                }
            }
        }
        sums
    }
}

impl ServiceRow {
    /// Returns true if the week of `calendar.txt` includes the date, ignoring exceptions.
    fn is_in_weekly_calendar(&self, date: Date) -> bool {
        self.weekdays & (1 << weekday_index(date)) != 0 && (self.start..=self.end).contains(&date)
    }
}

/// Returns the weekday of a date; 0 is Monday.
fn weekday_index(date: Date) -> usize {
    usize::try_from(date.weekday().to_monday_zero_offset()).unwrap_or(0)
}

impl Timetable {
    /// Returns the number of services; their indices are the numbers below it.
    pub fn service_count(&self) -> usize {
        self.services.rows.len()
    }

    /// Returns the `service_id`.
    pub fn service_id(&self, idx: ServiceIdx) -> &str {
        self.strings.get(self.services.rows[idx.get()].id)
    }

    /// Returns true if the service runs on that service date.
    pub fn is_service_active(&self, service: ServiceIdx, date: Date) -> bool {
        self.services.is_service_active_on(service, date)
    }

    /// Returns the first and the last date on which any service may run, including exceptions.
    pub fn service_date_range(&self) -> Option<(Date, Date)> {
        self.service_range
    }

    /// Returns the number of trips on each service day from `first` to `last`. A trip of `frequencies.txt` counts once
    /// per run.
    ///
    /// O(trips + services + exceptions + days): a week is not expanded per service.
    pub fn count_trips_by_day(&self, first: Date, last: Date) -> Vec<u64> {
        self.services.sum_service_weights_by_day(&self.count_trips_by_service(), first, last)
    }

    fn count_trips_by_service(&self) -> Vec<u64> {
        let mut counts = vec![0_u64; self.service_count()];
        for trip in self.trips() {
            let runs = match self.frequencies_of_trip(trip.idx) {
                [] => 1,
                rows => rows.iter().map(Frequency::trip_run_count).sum(),
            };
            let count = &mut counts[trip.service.get()];
            *count = count.saturating_add(runs);
        }
        counts
    }
}

impl ServiceTable {
    /// Computes [`Timetable::service_range`].
    pub(crate) fn compute_service_date_range(&self) -> Option<(Date, Date)> {
        let weeks = self.rows.iter().filter(|row| row.weekdays != 0 && row.start <= row.end);
        let weeks = weeks.flat_map(|row| [row.start, row.end]);
        let extra = (0..self.rows.len())
            .flat_map(|service| self.exceptions.items_of_key(service))
            .filter(|exception| exception.runs)
            .map(|exception| exception.date);
        weeks.chain(extra).fold(None, |range, date| match range {
            None => Some((date, date)),
            Some((first, last)) => Some((date.min(first), date.max(last))),
        })
    }
}
