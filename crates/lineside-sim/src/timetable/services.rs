//! The services and their days.

use jiff::civil::Weekday;

use crate::time::{CityTime, ServiceDayNumber};

/// A service as in calendar.txt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Service {
    Weekday,
    Saturday,
    Sunday,
    /// Extra buses on school days.
    School,
    /// The metro in the nights before Saturday and Sunday.
    Night,
    /// Extra ferries on the evening of the lantern festival: only in calendar_dates.txt.
    Festival,
}

impl Service {
    pub(crate) const ALL: [Self; 6] =
        [Self::Weekday, Self::Saturday, Self::Sunday, Self::School, Self::Night, Self::Festival];

    pub(crate) fn service_id(self) -> &'static str {
        match self {
            Self::Weekday => "wd",
            Self::Saturday => "sa",
            Self::Sunday => "su",
            Self::School => "school",
            Self::Night => "night",
            Self::Festival => "festival",
        }
    }

    /// Returns true if the service runs on a weekday, apart from exceptions.
    pub(crate) fn runs_on_weekday(self, weekday: Weekday) -> bool {
        match self {
            Self::Weekday | Self::School => !matches!(weekday, Weekday::Saturday | Weekday::Sunday),
            Self::Saturday => weekday == Weekday::Saturday,
            Self::Sunday => weekday == Weekday::Sunday,
            Self::Night => matches!(weekday, Weekday::Friday | Weekday::Saturday),
            Self::Festival => false,
        }
    }

    /// Returns true if the service runs on a day, including exceptions.
    pub(crate) fn is_active_on(self, time: &CityTime, day: ServiceDayNumber) -> bool {
        let (first, last) = time.calendar_day_range();
        if day < first || day > last {
            return false;
        }
        match list_service_exceptions(time).iter().find(|e| e.day == day && e.service == self) {
            Some(exception) => exception.added,
            None => self.runs_on_weekday(time.city_weekday(day)),
        }
    }
}

/// A row of `calendar_dates.txt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServiceException {
    pub(crate) service: Service,
    pub(crate) day: ServiceDayNumber,
    pub(crate) added: bool,
}

/// The first day that may have exceptions, so that the days before are ordinary.
const FIRST_EXCEPTION: ServiceDayNumber = 9;

/// Returns a public holiday with Sunday service, a week of school holidays, and the festival, ordered by day.
pub(crate) fn list_service_exceptions(time: &CityTime) -> Vec<ServiceException> {
    let next = |from: ServiceDayNumber, weekday: Weekday| {
        (from..from + 7).find(|day| time.city_weekday(*day) == weekday).unwrap_or(from)
    };
    let festival = next(FIRST_EXCEPTION, Weekday::Saturday);
    let holiday = next(FIRST_EXCEPTION + 7, Weekday::Thursday);
    let holidays = next(FIRST_EXCEPTION + 14, Weekday::Monday);
    let mut exceptions = vec![
        ServiceException { service: Service::Festival, day: festival, added: true },
        ServiceException { service: Service::Weekday, day: holiday, added: false },
        ServiceException { service: Service::School, day: holiday, added: false },
        ServiceException { service: Service::Sunday, day: holiday, added: true },
    ];
    exceptions.extend((holidays..holidays + 5).map(|day| ServiceException {
        service: Service::School,
        day,
        added: false,
    }));
    exceptions
}

#[cfg(test)]
mod tests {
    use lineside_sync::UnixMillis;

    use super::*;

    #[test]
    fn one_basic_service_runs_per_day_starting_with_a_working_day() {
        for start in 0..8 {
            let time = CityTime::with_start(UnixMillis(1_795_000_000_000 + start * 86_400_000));
            assert!(Service::Weekday.is_active_on(&time, 0));
            for day in 0..100 {
                let basic = [Service::Weekday, Service::Saturday, Service::Sunday];
                assert_eq!(
                    basic.iter().filter(|s| s.is_active_on(&time, day)).count(),
                    1,
                    "day {day}"
                );
            }
        }
    }

    #[test]
    fn the_calendar_has_an_end() {
        let time = CityTime::with_start(UnixMillis(1_795_000_000_000));
        assert!((0..1_000).any(|day| !Service::ALL.iter().any(|s| s.is_active_on(&time, day))));
    }
}
