//! Days as numbers, and sets of them.

use std::ops::RangeInclusive;

use jiff::civil::{Date, date};

use super::Limits;

/// A day, counted from 1970-01-01.
pub(super) type Day = i32;

const EPOCH: Date = date(1970, 1, 1);

/// Every day of the week, bit 0 is Monday.
pub(super) const ALL_WEEK: u8 = 0b111_1111;

/// The years that are taken: all that a timetable speaks about, and few enough to go through.
const YEARS: RangeInclusive<i16> = 1900..=2199;

/// The day of a date, or of a moment's local date: `2024-05-01`, `2024-05-01T00:00:00+02:00`.
pub(super) fn parse(text: &str) -> Option<Day> {
    let date: Date = text.get(..10)?.parse().ok()?;
    if !YEARS.contains(&date.year()) {
        return None;
    }
    Some(date.duration_since(EPOCH).as_hours().div_euclid(24) as Day)
}

/// As GTFS writes it: `20240501`.
pub(super) fn format(day: Day) -> String {
    let date = EPOCH.saturating_add(jiff::SignedDuration::from_hours(i64::from(day) * 24));
    format!("{:04}{:02}{:02}", date.year(), date.month(), date.day())
}

/// The bit of a day's weekday. 1970-01-01 was a Thursday.
pub(super) fn weekday_bit(day: Day) -> u8 {
    1 << (day + 3).rem_euclid(7)
}

/// Days in order, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Days(Vec<Day>);

impl Days {
    /// The days from `first` to `last` whose weekday is among `weekdays`.
    pub(super) fn of_week(first: Day, last: Day, weekdays: u8) -> Days {
        Days((first..=last).filter(|&day| weekday_bit(day) & weekdays != 0).collect())
    }

    pub(super) fn from_unordered(mut days: Vec<Day>) -> Days {
        days.sort_unstable();
        days.dedup();
        Days(days)
    }

    /// The days of any of many sets, in memory for what is in them once.
    pub(super) fn union(sets: impl Iterator<Item = Days>) -> Days {
        /// More days than there are in the years that are taken.
        const COMPACTED_FROM: usize = 1 << 18;
        let mut all = Vec::new();
        for set in sets {
            all.extend_from_slice(&set.0);
            if all.len() >= COMPACTED_FROM {
                all = Days::from_unordered(all).0;
            }
        }
        Days::from_unordered(all)
    }

    pub(super) fn as_slice(&self) -> &[Day] {
        &self.0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn contains(&self, day: Day) -> bool {
        self.0.binary_search(&day).is_ok()
    }

    /// The days that are in this one, and in `other` or not.
    pub(super) fn retain(&mut self, other: &Days, keep_common: bool) {
        self.0.retain(|&day| other.contains(day) == keep_common);
    }
}

/// Days as a row of `calendar.txt` with its exceptions, or as exceptions alone: whatever takes fewer rows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Weekly {
    /// The weekdays on which it runs, and from when to when.
    pub(super) week: Option<(u8, Day, Day)>,
    /// Days that differ, and whether it runs on them.
    pub(super) exceptions: Vec<(Day, bool)>,
}

impl Weekly {
    pub(super) fn of(days: &Days) -> Weekly {
        let alone = || days.as_slice().iter().map(|&day| (day, true)).collect();
        let (Some(&first), Some(&last)) = (days.0.first(), days.0.last()) else {
            return Weekly::default();
        };
        if last - first > Limits::PERIOD_DAYS {
            return Weekly { week: None, exceptions: alone() };
        }
        let mut runs = [0_i32; 7];
        for &day in &days.0 {
            runs[weekday_bit(day).trailing_zeros() as usize] += 1;
        }
        // A weekday that runs on more than half of its days is written as running.
        let weekdays = (0..7_usize).filter(|&weekday| {
            let of_kind = (first..=last).filter(|&day| weekday_bit(day) == 1 << weekday).count();
            runs[weekday] * 2 > of_kind as i32
        });
        let weekdays = weekdays.fold(0, |bits, weekday| bits | 1_u8 << weekday);
        let exceptions: Vec<(Day, bool)> = (first..=last)
            .filter_map(|day| {
                let (is_in_week, runs) = (weekday_bit(day) & weekdays != 0, days.contains(day));
                (is_in_week != runs).then_some((day, runs))
            })
            .collect();
        if weekdays == 0 || exceptions.len() + 1 >= days.0.len() {
            return Weekly { week: None, exceptions: alone() };
        }
        Weekly { week: Some((weekdays, first, last)), exceptions }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn days_are_read_and_written() {
        for (text, written) in [
            ("2024-02-29", "20240229"),
            ("2018-12-31T23:59:59+00:00", "20181231"),
            ("1969-12-31", "19691231"),
        ] {
            assert_eq!(parse(text).map(format).as_deref(), Some(written));
        }
        for text in ["", "2024", "2023-02-29", "20240229", "2024-0é-01", "9999-12-31"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(weekday_bit(parse("2024-05-06").unwrap()), 1);
        assert_eq!(weekday_bit(parse("2024-05-05").unwrap()), 1 << 6);
    }

    #[test]
    fn a_year_of_working_days_is_one_row_and_its_holidays() {
        let (first, last) = (parse("2024-01-01").unwrap(), parse("2024-12-31").unwrap());
        let mut days = Days::of_week(first, last, 0b1_1111);
        let holiday = Days(vec![parse("2024-05-01").unwrap()]);
        days.retain(&holiday, false);
        let weekly = Weekly::of(&days);
        assert_eq!(weekly.week, Some((0b1_1111, first, last)));
        assert_eq!(weekly.exceptions, [(holiday.0[0], false)]);
    }

    #[test]
    fn days_are_written_one_by_one_where_no_week_says_it_shorter() {
        let apart = Days::from_unordered(vec![20_003, 20_000, 20_018, 20_000]);
        let expected = vec![(20_000, true), (20_003, true), (20_018, true)];
        assert_eq!(Weekly::of(&apart), Weekly { week: None, exceptions: expected });
        let (monday, tuesday) = (parse("2024-05-06").unwrap(), parse("2024-05-07").unwrap());
        let close = Weekly::of(&Days::from_unordered(vec![monday, tuesday]));
        assert_eq!(close, Weekly { week: Some((0b11, monday, tuesday)), exceptions: Vec::new() });
        assert_eq!(Weekly::of(&Days::default()), Weekly::default());
    }

    proptest! {
        #[test]
        fn what_is_written_means_the_same_days(offsets in prop::collection::vec(0..500_i32, 0..200)) {
            let days = Days::from_unordered(offsets.iter().map(|offset| 19_000 + offset).collect());
            let weekly = Weekly::of(&days);
            for day in 18_900..19_600 {
                let exception = weekly.exceptions.iter().find(|(other, _)| *other == day);
                let is_in_week = weekly.week.is_some_and(|(weekdays, first, last)| {
                    (first..=last).contains(&day) && weekday_bit(day) & weekdays != 0
                });
                prop_assert_eq!(exception.map_or(is_in_week, |&(_, runs)| runs), days.contains(day));
            }
            prop_assert!(weekly.exceptions.len() <= days.as_slice().len());
        }
    }
}
