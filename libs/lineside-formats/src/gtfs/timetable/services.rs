//! Services: the days on which trips run. A week and its exceptions, never unrolled, so a calendar
//! of a thousand years costs as much as one of a week.

use jiff::{ToSpan as _, civil::Date};

use super::{Frequency, GroupedItems, ServiceIdx, TextId, Timetable};

/// A service of `calendar.txt`, `calendar_dates.txt` or both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServiceRow {
    pub(crate) id: TextId,
    /// Bit 0 is Monday. 0 where only `calendar_dates.txt` names the service.
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
    /// By service, in order of their dates.
    pub(crate) exceptions: GroupedItems<ServiceException>,
}

impl ServiceTable {
    /// Sorts the exceptions of each service; of two for one date the first stays the one that
    /// counts.
    pub(crate) fn link_exceptions(&mut self, exceptions: &[(ServiceIdx, ServiceException)]) {
        let pairs = exceptions.iter().map(|&(service, exception)| (service.get(), exception));
        self.exceptions = GroupedItems::new(self.rows.len(), pairs);
        for service in 0..self.rows.len() {
            self.exceptions.group_items_mut(service).sort_by_key(|exception| exception.date);
        }
    }

    pub(crate) fn is_service_active(&self, service: ServiceIdx, date: Date) -> bool {
        let exceptions = self.exceptions.group_items(service.get());
        let at = exceptions.partition_point(|exception| exception.date < date);
        if let Some(exception) = exceptions.get(at).filter(|exception| exception.date == date) {
            return exception.runs;
        }
        self.rows[service.get()].is_regular_on(date)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.rows.capacity() * size_of::<ServiceRow>() + self.exceptions.memory_bytes()
    }

    /// For each day from `first` to `last`, the sum of `weights` of the services that run on it.
    fn sum_by_day(&self, weights: &[u64], first: Date, last: Date) -> Vec<u64> {
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
            sums.push(running[weekday_of(date)]);
        }
        for (service, &weight) in weights.iter().enumerate() {
            let mut previous = None;
            for exception in self.exceptions.group_items(service) {
                // Of two for one date the first counts.
                let is_first = previous.replace(exception.date) != Some(exception.date);
                if !is_first || !(first..=last).contains(&exception.date) {
                    continue;
                }
                let sum = &mut sums[index_of(exception.date)];
                match (exception.runs, self.rows[service].is_regular_on(exception.date)) {
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
    /// Whether the week of `calendar.txt` has the date, whatever its exceptions say.
    fn is_regular_on(&self, date: Date) -> bool {
        self.weekdays & (1 << weekday_of(date)) != 0 && (self.start..=self.end).contains(&date)
    }
}

/// 0 is Monday.
fn weekday_of(date: Date) -> usize {
    usize::try_from(date.weekday().to_monday_zero_offset()).unwrap_or(0)
}

impl Timetable {
    /// How many services there are; their indices are the numbers below it.
    pub fn service_count(&self) -> usize {
        self.services.rows.len()
    }

    /// The `service_id`.
    pub fn service_id(&self, idx: ServiceIdx) -> &str {
        self.strings.get(self.services.rows[idx.get()].id)
    }

    /// Whether the service runs on that service date.
    pub fn is_service_active(&self, service: ServiceIdx, date: Date) -> bool {
        self.services.is_service_active(service, date)
    }

    /// The first and the last date on which any service may run, exceptions included.
    pub fn service_range(&self) -> Option<(Date, Date)> {
        self.service_range
    }

    /// The trips of each service day from `first` to `last`. A trip of `frequencies.txt` counts once per run.
    ///
    /// O(trips + services + exceptions + days): a week is not unrolled per service.
    pub fn count_trips_by_day(&self, first: Date, last: Date) -> Vec<u64> {
        self.services.sum_by_day(&self.count_trips_by_service(), first, last)
    }

    fn count_trips_by_service(&self) -> Vec<u64> {
        let mut counts = vec![0_u64; self.service_count()];
        for trip in self.trips() {
            let runs = match self.frequencies(trip.idx) {
                [] => 1,
                rows => rows.iter().map(Frequency::n_runs).sum(),
            };
            let count = &mut counts[trip.service.get()];
            *count = count.saturating_add(runs);
        }
        counts
    }
}

impl ServiceTable {
    /// What [`Timetable::service_range`] says.
    pub(crate) fn active_date_range(&self) -> Option<(Date, Date)> {
        let weeks = self.rows.iter().filter(|row| row.weekdays != 0 && row.start <= row.end);
        let weeks = weeks.flat_map(|row| [row.start, row.end]);
        let extra = (0..self.rows.len())
            .flat_map(|service| self.exceptions.group_items(service))
            .filter(|exception| exception.runs)
            .map(|exception| exception.date);
        weeks.chain(extra).fold(None, |range, date| match range {
            None => Some((date, date)),
            Some((first, last)) => Some((date.min(first), date.max(last))),
        })
    }
}
