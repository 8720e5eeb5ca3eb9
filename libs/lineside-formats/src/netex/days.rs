//! Days as numbers, and sets of days.

use std::ops::RangeInclusive;

use jiff::civil::{Date, date};
use xxhash_rust::xxh3::Xxh3;

/// A day, counted from 1970-01-01.
pub(super) type EpochDay = i32;

const EPOCH: Date = date(1970, 1, 1);

/// Every day of the week, bit 0 is Monday.
pub(super) const ALL_WEEK: u8 = 0b111_1111;

/// The accepted years: they cover any timetable, and their days are few enough to iterate over.
const YEARS: RangeInclusive<i16> = 1900..=2199;
/// The days of [`YEARS`].
const DAYS: RangeInclusive<EpochDay> = -25_567..=84_005;

/// The bounds assumed for a missing start or end; a timetable of another century is considered a fault.
pub(super) const OPEN: RangeInclusive<EpochDay> = 10_957..=47_481;

/// Parses a date, or the local date of a timestamp: `2024-05-01`, `2024-05-01T00:00:00+02:00`.
pub(super) fn parse_day(text: &str) -> Option<EpochDay> {
    let date: Date = text.get(..10)?.parse().ok()?;
    if !YEARS.contains(&date.year()) {
        return None;
    }
    Some(date.duration_since(EPOCH).as_hours().div_euclid(24) as EpochDay)
}

/// Formats a day as in GTFS: `20240501`.
pub(super) fn format_gtfs_date(day: EpochDay) -> String {
    let date = EPOCH.saturating_add(jiff::SignedDuration::from_hours(i64::from(day) * 24));
    format!("{:04}{:02}{:02}", date.year(), date.month(), date.day())
}

/// Returns the bit of a day's weekday. 1970-01-01 was a Thursday.
pub(super) fn weekday_bit(day: EpochDay) -> u8 {
    1 << (day + 3).rem_euclid(7)
}

/// A set of days: a bitmap from the first day's word to the last day's word. Ten years take half a kilobyte, and sets
/// of any structure are combined word by word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DaySet {
    /// The number of the first word; its first day is 64 times this.
    first_word: i32,
    words: Vec<u64>,
}

/// Number of days in a word.
const WORD: i32 = u64::BITS as i32;

impl DaySet {
    /// Creates the set of days from `first` to `last` whose weekday is in `weekdays`.
    pub(super) fn from_weekdays(first: EpochDay, last: EpochDay, weekdays: u8) -> DaySet {
        let (first, last) = (first.max(*DAYS.start()), last.min(*DAYS.end()));
        DaySet::from_days((first..=last).filter(|&day| weekday_bit(day) & weekdays != 0))
    }

    /// Creates a set from days in any order. Days outside [`YEARS`] are dropped.
    pub(super) fn from_days(days: impl IntoIterator<Item = EpochDay>) -> DaySet {
        let mut all = DaySet::default();
        for day in days.into_iter().filter(|day| DAYS.contains(day)) {
            let word = all.bitmap_word_mut(day.div_euclid(WORD));
            *word |= 1 << day.rem_euclid(WORD);
        }
        all
    }

    /// Returns the word with that number, and extends the set to it.
    fn bitmap_word_mut(&mut self, number: i32) -> &mut u64 {
        if self.words.is_empty() {
            self.first_word = number;
        }
        if number < self.first_word {
            let missing = (self.first_word - number) as usize;
            self.words.splice(0..0, std::iter::repeat_n(0, missing));
            self.first_word = number;
        }
        let at = (number - self.first_word) as usize;
        if at >= self.words.len() {
            self.words.resize(at + 1, 0);
        }
        &mut self.words[at]
    }

    fn bitmap_word_at(&self, number: i32) -> u64 {
        let at = usize::try_from(number - self.first_word).ok();
        at.and_then(|at| self.words.get(at)).copied().unwrap_or(0)
    }

    /// Adds the days of another set.
    pub(super) fn union_with(&mut self, other: &DaySet) {
        for (number, &word) in (other.first_word..).zip(&other.words) {
            if word != 0 {
                *self.bitmap_word_mut(number) |= word;
            }
        }
    }

    /// Returns the days in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = EpochDay> + '_ {
        (self.first_word..).zip(&self.words).flat_map(|(number, &word)| {
            (0..WORD).filter(move |bit| word & (1 << bit) != 0).map(move |bit| number * WORD + bit)
        })
    }

    /// Returns a hash that is equal for sets of the same days, regardless of their allocated words.
    pub(super) fn content_hash(&self) -> u128 {
        let is_some = |word: &u64| *word != 0;
        let Some(first) = self.words.iter().position(is_some) else { return 0 };
        let last = self.words.iter().rposition(is_some).unwrap_or(first);
        let mut hasher = Xxh3::new();
        hasher.update(&(self.first_word + first as i32).to_le_bytes());
        for word in &self.words[first..=last] {
            hasher.update(&word.to_le_bytes());
        }
        hasher.digest128()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<DaySet>() + self.words.capacity() * size_of::<u64>()
    }

    pub(super) fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    pub(super) fn contains(&self, day: EpochDay) -> bool {
        self.bitmap_word_at(day.div_euclid(WORD)) & (1 << day.rem_euclid(WORD)) != 0
    }

    /// Retains the days that are in `other` if `keep_common` is true, else those that are not.
    pub(super) fn retain_days(&mut self, other: &DaySet, keep_common: bool) {
        for (number, word) in (self.first_word..).zip(&mut self.words) {
            let common = other.bitmap_word_at(number);
            *word &= if keep_common { common } else { !common };
        }
    }
}

/// Days as a row of `calendar.txt` with exceptions, or as exceptions alone, whichever needs fewer rows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct GtfsCalendarRows {
    /// The weekdays, the first and the last day.
    pub(super) week: Option<(u8, EpochDay, EpochDay)>,
    /// The exceptions: true for an added day, false for a removed one.
    pub(super) exceptions: Vec<(EpochDay, bool)>,
}

impl GtfsCalendarRows {
    pub(super) fn from_days(days: &DaySet) -> GtfsCalendarRows {
        let alone = || days.iter().map(|day| (day, true)).collect();
        let (mut runs, mut ends) = ([0_i32; 7], None);
        for day in days.iter() {
            runs[weekday_bit(day).trailing_zeros() as usize] += 1;
            ends = Some((ends.map_or(day, |(first, _)| first), day));
        }
        let Some((first, last)) = ends else { return GtfsCalendarRows::default() };
        // A weekday that runs on more than half of its days is set in the row.
        let weekdays = (0..7_usize).filter(|&weekday| {
            let of_kind = (first..=last).filter(|&day| weekday_bit(day) == 1 << weekday).count();
            runs[weekday] * 2 > of_kind as i32
        });
        let weekdays = weekdays.fold(0, |bits, weekday| bits | 1_u8 << weekday);
        let exceptions: Vec<(EpochDay, bool)> = (first..=last)
            .filter_map(|day| {
                let (is_in_week, runs) = (weekday_bit(day) & weekdays != 0, days.contains(day));
                (is_in_week != runs).then_some((day, runs))
            })
            .collect();
        if weekdays == 0 || exceptions.len() + 1 >= days.len() {
            return GtfsCalendarRows { week: None, exceptions: alone() };
        }
        GtfsCalendarRows { week: Some((weekdays, first, last)), exceptions }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_open_period_covers_this_century() {
        let ends = [*OPEN.start(), *OPEN.end()].map(format_gtfs_date);
        assert_eq!(ends, ["20000101", "20991231"]);
    }

    #[test]
    fn equal_day_sets_have_equal_hashes_regardless_of_capacity() {
        let (day, far) = (parse_day("2026-06-15").unwrap(), parse_day("2030-01-01").unwrap());
        let alone = DaySet::from_days([day]);
        let mut narrowed = DaySet::from_days([parse_day("2020-01-01").unwrap(), day, far]);
        narrowed.retain_days(&DaySet::from_days([day]), true);
        assert_eq!((alone.content_hash(), narrowed.len()), (narrowed.content_hash(), 1));
        assert_ne!(alone.content_hash(), DaySet::from_days([day + 1]).content_hash());
        assert_ne!(
            alone.content_hash(),
            DaySet::from_days([day + WORD]).content_hash(),
            "the same bit of another machine word"
        );
        narrowed.retain_days(&DaySet::default(), true);
        assert_eq!(narrowed.content_hash(), DaySet::default().content_hash());
    }

    #[test]
    fn days_are_parsed_and_formatted() {
        for (text, written) in [
            ("2024-02-29", "20240229"),
            ("2018-12-31T23:59:59+00:00", "20181231"),
            ("1969-12-31", "19691231"),
        ] {
            assert_eq!(parse_day(text).map(format_gtfs_date).as_deref(), Some(written));
        }
        for text in ["", "2024", "2023-02-29", "20240229", "2024-0é-01", "9999-12-31"] {
            assert_eq!(parse_day(text), None, "{text}");
        }
        assert_eq!(weekday_bit(parse_day("2024-05-06").unwrap()), 1);
        assert_eq!(weekday_bit(parse_day("2024-05-05").unwrap()), 1 << 6);
    }

    #[test]
    fn a_year_of_working_days_is_one_calendar_row_plus_exceptions() {
        let (first, last) = (parse_day("2024-01-01").unwrap(), parse_day("2024-12-31").unwrap());
        let mut days = DaySet::from_weekdays(first, last, 0b1_1111);
        let holiday = parse_day("2024-05-01").unwrap();
        days.retain_days(&DaySet::from_days([holiday]), false);
        let weekly = GtfsCalendarRows::from_days(&days);
        assert_eq!(weekly.week, Some((0b1_1111, first, last)));
        assert_eq!(weekly.exceptions, [(holiday, false)]);
    }

    #[test]
    fn days_without_a_weekly_pattern_are_written_one_by_one() {
        let apart = DaySet::from_days([20_003, 20_000, 20_018, 20_000]);
        let expected = vec![(20_000, true), (20_003, true), (20_018, true)];
        assert_eq!(
            GtfsCalendarRows::from_days(&apart),
            GtfsCalendarRows { week: None, exceptions: expected }
        );
        let (monday, tuesday) =
            (parse_day("2024-05-06").unwrap(), parse_day("2024-05-07").unwrap());
        let close = GtfsCalendarRows::from_days(&DaySet::from_days([monday, tuesday]));
        assert_eq!(
            close,
            GtfsCalendarRows { week: Some((0b11, monday, tuesday)), exceptions: Vec::new() }
        );
        assert_eq!(GtfsCalendarRows::from_days(&DaySet::default()), GtfsCalendarRows::default());
    }

    #[test]
    fn days_from_1900_to_2199_are_accepted() {
        let (first, last) = (date(1900, 1, 1), date(2199, 12, 31));
        let day = |date: Date| (date.duration_since(EPOCH).as_hours() / 24) as EpochDay;
        assert_eq!(DAYS, day(first)..=day(last));
        assert_eq!(parse_day("1900-01-01"), Some(*DAYS.start()));
        assert!(DaySet::from_days([DAYS.start() - 1, DAYS.end() + 1]).is_empty());
    }

    proptest! {
        #[test]
        fn day_sets_behave_like_btree_sets(
            a in prop::collection::btree_set(-300..300_i32, 0..60),
            b in prop::collection::btree_set(-300..300_i32, 0..60),
        ) {
            let (mut sum, of_b) = (DaySet::from_days(a.iter().rev().copied()), DaySet::from_days(b.iter().copied()));
            let (mut both, mut rest) = (sum.clone(), sum.clone());
            prop_assert_eq!(sum.iter().collect::<Vec<_>>(), a.iter().copied().collect::<Vec<_>>());
            sum.union_with(&of_b);
            both.retain_days(&of_b, true);
            rest.retain_days(&of_b, false);
            prop_assert_eq!(sum.iter().collect::<Vec<_>>(), a.union(&b).copied().collect::<Vec<_>>());
            prop_assert_eq!(both.iter().collect::<Vec<_>>(), a.intersection(&b).copied().collect::<Vec<_>>());
            prop_assert_eq!(rest.iter().collect::<Vec<_>>(), a.difference(&b).copied().collect::<Vec<_>>());
            prop_assert_eq!((sum.len(), both.is_empty()), (a.union(&b).count(), a.is_disjoint(&b)));
            prop_assert!((-310..310).all(|day| sum.contains(day) == (a.contains(&day) || b.contains(&day))));
        }

        #[test]
        fn calendar_rows_describe_exactly_the_days_of_the_set(offsets in prop::collection::vec(0..500_i32, 0..200)) {
            let days = DaySet::from_days(offsets.iter().map(|offset| 19_000 + offset));
            let weekly = GtfsCalendarRows::from_days(&days);
            for day in 18_900..19_600 {
                let exception = weekly.exceptions.iter().find(|(other, _)| *other == day);
                let is_in_week = weekly.week.is_some_and(|(weekdays, first, last)| {
                    (first..=last).contains(&day) && weekday_bit(day) & weekdays != 0
                });
                prop_assert_eq!(exception.map_or(is_in_week, |&(_, runs)| runs), days.contains(day));
            }
            prop_assert!(weekly.exceptions.len() <= days.len());
        }
    }
}
