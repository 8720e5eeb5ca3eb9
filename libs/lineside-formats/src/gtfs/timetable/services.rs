//! Services: the days on which trips run. A week and its exceptions, never unrolled, so a calendar
//! of a thousand years costs as much as one of a week.

use jiff::civil::Date;

use super::{Groups, ServiceIdx, Text, Timetable};

/// A service of `calendar.txt`, `calendar_dates.txt` or both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServiceRow {
    pub(crate) id: Text,
    /// Bit 0 is Monday. 0 where only `calendar_dates.txt` names the service.
    pub(crate) weekdays: u8,
    pub(crate) start: Date,
    pub(crate) end: Date,
}

/// A row of `calendar_dates.txt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exception {
    pub(crate) date: Date,
    pub(crate) runs: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Services {
    pub(crate) rows: Vec<ServiceRow>,
    /// By service, in order of their dates.
    pub(crate) exceptions: Groups<Exception>,
}

impl Services {
    /// Sorts the exceptions of each service; of two for one date the first stays the one that
    /// counts.
    pub(crate) fn link(&mut self, exceptions: &[(ServiceIdx, Exception)]) {
        let pairs = exceptions.iter().map(|&(service, exception)| (service.get(), exception));
        self.exceptions = Groups::new(self.rows.len(), pairs);
        for service in 0..self.rows.len() {
            self.exceptions.of_mut(service).sort_by_key(|exception| exception.date);
        }
    }

    pub(crate) fn is_active(&self, service: ServiceIdx, date: Date) -> bool {
        let exceptions = self.exceptions.of(service.get());
        let at = exceptions.partition_point(|exception| exception.date < date);
        if let Some(exception) = exceptions.get(at).filter(|exception| exception.date == date) {
            return exception.runs;
        }
        let row = &self.rows[service.get()];
        let weekday = date.weekday().to_monday_zero_offset();
        row.weekdays & (1 << weekday) != 0 && (row.start..=row.end).contains(&date)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.rows.capacity() * size_of::<ServiceRow>() + self.exceptions.memory_bytes()
    }
}

impl Timetable {
    /// How many services there are; their indices are the numbers below it.
    pub fn n_services(&self) -> usize {
        self.services.rows.len()
    }

    /// The `service_id`.
    pub fn service_id(&self, idx: ServiceIdx) -> &str {
        self.strings.get(self.services.rows[idx.get()].id)
    }

    /// Whether the service runs on that service date.
    pub fn is_active(&self, service: ServiceIdx, date: Date) -> bool {
        self.services.is_active(service, date)
    }

    /// The first and the last date on which any service may run, exceptions included.
    pub fn service_range(&self) -> Option<(Date, Date)> {
        self.service_range
    }
}

impl Services {
    /// What [`Timetable::service_range`] says.
    pub(crate) fn range(&self) -> Option<(Date, Date)> {
        let weeks = self.rows.iter().filter(|row| row.weekdays != 0 && row.start <= row.end);
        let weeks = weeks.flat_map(|row| [row.start, row.end]);
        let extra = (0..self.rows.len())
            .flat_map(|service| self.exceptions.of(service))
            .filter(|exception| exception.runs)
            .map(|exception| exception.date);
        weeks.chain(extra).fold(None, |range, date| match range {
            None => Some((date, date)),
            Some((first, last)) => Some((date.min(first), date.max(last))),
        })
    }
}
