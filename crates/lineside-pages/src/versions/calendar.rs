//! The calendar of the served version: a square for each service day, sized by the day's trips, and the same numbers as
//! text.

use jiff::civil::{Date, Weekday};
use lineside_model::DailyTripCountsRange;
use maud::{Markup, html};

use super::super::words;

/// The side of a day's cell, and the distance between two, in units of the drawing.
const SIDE: u64 = 12;
const STEP: u64 = 14;
/// Sides of the squares, the most trips last.
const SIZES: [u64; 4] = [5, 7, 9, 12];
/// The most days without service that are named.
const NAMED_MAX: usize = 6;
const WEEKDAYS: [&str; 7] =
    ["Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays"];

/// The days of one month.
#[derive(Debug)]
struct Month {
    first: Date,
    days: Vec<(Date, u64)>,
}

/// Renders the section with the calendar of these days. `present` is the name of the mark for the current day,
/// `service` the whole service of the timetable.
pub(super) fn render_calendar_section(
    days: DailyTripCountsRange<'_>,
    today: Date,
    present: &str,
    service: Option<(Date, Date)>,
) -> Markup {
    let trips_max = days.trips.iter().copied().max().unwrap_or(0);
    let months = split_months(days);
    let n_months = service.map_or(0, |(first, last)| count_months(first, last));
    html! {
        div.card-body.service-calendar #calendar data-days=(days.trips.len()) {
            div.calendar-head {
                h3 {
                    "Trips per day"
                    @if n_months > months.len() {
                        span.soft.small data-months=(n_months) { ", " (months.len()) " of " (words::format_number(n_months as u64)) " months" }
                    }
                }
                (legend(trips_max, days.iter().any(|(day, _)| day == today).then_some(present)))
            }
            div.months {
                @for month in &months { (month.render_month(trips_max, today)) }
            }
            dl.facts {
                @for usual in usual_trips_by_weekday(days) {
                    dt { (usual.weekdays) }
                    dd.numeric { @if !usual.is_always { "usually " } (format_trip_count(usual.trips)) }
                }
                dt { "No service" } dd { (describe_days_without_service(days)) }
            }
            details.past {
                summary { "Trips per day by month" }
                div.scroll { (month_table(&months)) }
            }
        }
    }
}

/// Returns the number of calendar months from one day to another.
fn count_months(first: Date, last: Date) -> usize {
    let months = |day: Date| i32::from(day.year()) * 12 + i32::from(day.month());
    usize::try_from(months(last) - months(first) + 1).unwrap_or(0)
}

fn split_months(days: DailyTripCountsRange<'_>) -> Vec<Month> {
    let mut months: Vec<Month> = Vec::new();
    for (day, trips) in days.iter() {
        match months.last_mut().filter(|month| month.first == day.first_of_month()) {
            Some(month) => month.days.push((day, trips)),
            None => months.push(Month { first: day.first_of_month(), days: vec![(day, trips)] }),
        }
    }
    months
}

impl Month {
    fn name(&self) -> String {
        self.first.strftime("%B %Y").to_string()
    }

    fn count_days_without_service(&self) -> usize {
        self.days.iter().filter(|(_, trips)| *trips == 0).count()
    }

    /// Returns the fewest trips of a day with service, and the most.
    fn trips_per_day_range(&self) -> Option<(u64, u64)> {
        let trips = || self.days.iter().map(|(_, trips)| *trips).filter(|trips| *trips > 0);
        Some((trips().min()?, trips().max()?))
    }

    /// Describes the drawing for screen readers.
    fn describe_month(&self) -> String {
        let served = self.days.len() - self.count_days_without_service();
        let service = format!("service on {} of {} days", served, self.days.len());
        match self.trips_per_day_range() {
            None => format!("{}: no service", self.name()),
            Some((trips_min, trips_max)) if trips_min == trips_max => {
                format!("{}: {service}, {} a day", self.name(), format_trip_count(trips_max))
            }
            Some((trips_min, trips_max)) => {
                let (trips_min, trips_max) =
                    (words::format_number(trips_min), format_trip_count(trips_max));
                format!("{}: {service}, {trips_min} to {trips_max} a day", self.name())
            }
        }
    }

    /// Renders the month; weeks are rows that begin on Monday.
    fn render_month(&self, trips_max: u64, today: Date) -> Markup {
        let position_of = |day: Date| {
            let first = u64::from(weekday_of(self.first));
            let at = first + u64::from(day.day().unsigned_abs()) - 1;
            (at % 7 * STEP, at / 7 * STEP)
        };
        let view = format!("-1 -1 {} {}", 7 * STEP, 6 * STEP);
        html! {
            figure.month data-month=(self.first.strftime("%Y-%m")) {
                figcaption { (self.first.strftime("%b %Y")) }
                svg viewBox=(view) role="img" aria-label=(self.describe_month()) {
                    @for (day, trips) in &self.days {
                        @let (x, y) = position_of(*day);
                        g data-trips=(trips) {
                            title { (words::format_date_with_weekday(*day)) ": " (if *trips == 0 { "no service".to_owned() } else { format_trip_count(*trips) }) }
                            rect.day x=(x) y=(y) width=(SIDE) height=(SIDE) rx="2" {}
                            @if let Some(level) = trip_count_level(*trips, trips_max) { (render_day_square(level, x, y)) }
                            @if *day == today { (today_mark(x, y)) }
                        }
                    }
                }
            }
        }
    }
}

/// Renders the square of a level in a day's cell.
fn render_day_square(level: usize, x: u64, y: u64) -> Markup {
    let size = SIZES[level];
    let inset = (SIDE - size) as f64 / 2.0;
    html! {
        rect class=(format!("level-{level}")) x=(x as f64 + inset) y=(y as f64 + inset) width=(size) height=(size) rx="1.5" {}
    }
}

/// Returns the level of a day as a quarter of the most trips; `None` for a day without service.
fn trip_count_level(trips: u64, trips_max: u64) -> Option<usize> {
    let last = SIZES.len() as u64 - 1;
    let level = trips.saturating_mul(SIZES.len() as u64).checked_div(trips_max)?.min(last);
    (trips > 0).then(|| usize::try_from(level).unwrap_or(0))
}

fn today_mark(x: u64, y: u64) -> Markup {
    html! { rect.today x=(x) y=(y) width=(SIDE) height=(SIDE) rx="2" {} }
}

/// Returns the fewest and the most trips of a level; `None` if no number of trips has this level.
fn trip_range_of_level(level: usize, trips_max: u64) -> Option<(u64, u64)> {
    let quarters = |n: usize| trips_max.saturating_mul(n as u64).div_ceil(SIZES.len() as u64);
    let trips_min = quarters(level).max(1);
    let greatest =
        if level + 1 == SIZES.len() { trips_max } else { quarters(level + 1).saturating_sub(1) };
    (trips_min <= greatest).then_some((trips_min, greatest))
}

fn legend(most: u64, present: Option<&str>) -> Markup {
    let view = format!("-1 -1 {STEP} {STEP}");
    let range = |low: u64, greatest: u64| match low == greatest {
        true => words::format_number(low),
        false => format!("{} to {}", words::format_number(low), words::format_number(greatest)),
    };
    let sign = |level: Option<usize>| {
        html! {
            svg viewBox=(view) aria-hidden="true" {
                rect class="day" x="0" y="0" width=(SIDE) height=(SIDE) rx="2" {}
                @if let Some(level) = level { (render_day_square(level, 0, 0)) }
            }
        }
    };
    html! {
        ul.calendar-legend.small {
            li { (sign(None)) "none" }
            @for level in 0..SIZES.len() {
                @if let Some((least, greatest)) = trip_range_of_level(level, most) { li { (sign(Some(level))) (range(least, greatest)) } }
            }
            @if let Some(present) = present { li data-present=(present) { svg viewBox=(view) aria-hidden="true" { (today_mark(0, 0)) } (present) } }
        }
    }
}

/// The usual trips of some weekdays.
#[derive(Debug, PartialEq, Eq)]
struct UsualWeekdayTrips {
    weekdays: String,
    trips: u64,
    /// True if each of these days has this number of trips.
    is_always: bool,
}

/// Returns the usual number of trips by weekday: the median. Consecutive weekdays with equal numbers are one entry.
fn usual_trips_by_weekday(days: DailyTripCountsRange<'_>) -> Vec<UsualWeekdayTrips> {
    let mut by_weekday: [Vec<u64>; 7] = Default::default();
    for (day, trips) in days.iter() {
        by_weekday[usize::from(weekday_of(day))].push(trips);
    }
    let mut week: Vec<(usize, usize, u64, bool)> = Vec::new();
    for (weekday, trips) in by_weekday.iter_mut().enumerate().filter(|(_, trips)| !trips.is_empty())
    {
        trips.sort_unstable();
        let median = trips[trips.len() / 2];
        let is_same = trips.iter().all(|trips| *trips == median);
        match week.last_mut().filter(|(_, last, trips, _)| last + 1 == weekday && *trips == median)
        {
            Some((_, last, _, is_always)) => {
                *last = weekday;
                *is_always &= is_same;
            }
            None => week.push((weekday, weekday, median, is_same)),
        }
    }
    let names = |first: usize, last: usize| match first == last {
        true => WEEKDAYS[first].to_owned(),
        false if last == first + 1 => format!("{} and {}", WEEKDAYS[first], WEEKDAYS[last]),
        false => format!("{} to {}", WEEKDAYS[first], WEEKDAYS[last]),
    };
    week.into_iter()
        .map(|(first, last, trips, is_always)| UsualWeekdayTrips {
            weekdays: names(first, last),
            trips,
            is_always,
        })
        .collect()
}

/// Describes the days without service: a few are named, more are counted.
fn describe_days_without_service(days: DailyTripCountsRange<'_>) -> String {
    let idle: Vec<Date> =
        days.iter().filter(|(_, trips)| *trips == 0).map(|(day, _)| day).collect();
    match idle.len() {
        0 => "on no day".to_owned(),
        1..=NAMED_MAX => idle
            .iter()
            .map(|day| words::format_date_with_weekday(*day))
            .collect::<Vec<_>>()
            .join(", "),
        n => format!(
            "{} of {}",
            words::format_number(n as u64),
            words::format_count(days.trips.len() as u64, "day", "days")
        ),
    }
}

fn month_table(months: &[Month]) -> Markup {
    html! {
        table.list-table.month-table {
            thead { tr {
                th scope="col" { "Month" }
                th.end scope="col" { "Days with service" }
                th.end scope="col" { "Fewest trips" }
                th.end scope="col" { "Most trips" }
            } }
            tbody {
                @for month in months {
                    @let range = month.trips_per_day_range();
                    tr {
                        th scope="row" { (month.name()) }
                        td.end.numeric { (month.days.len() - month.count_days_without_service()) " of " (month.days.len()) }
                        td.end.numeric { @if let Some((least, _)) = range { (words::format_number(least)) } @else { "–" } }
                        td.end.numeric { @if let Some((_, most)) = range { (words::format_number(most)) } @else { "–" } }
                    }
                }
            }
        }
    }
}

fn format_trip_count(trips: u64) -> String {
    words::format_count(trips, "trip", "trips")
}

/// Returns the weekday; 0 is Monday.
fn weekday_of(day: Date) -> u8 {
    day.weekday().since(Weekday::Monday).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    const TODAY: &str = "today";

    #[test]
    fn each_day_has_a_square_and_each_month_a_description() {
        // 30 November 2026 is a Monday.
        let trips = [0, 8, 8, 4, 1];
        let days = DailyTripCountsRange { first: date(2026, 11, 28), trips: &trips };
        let text = render_calendar_section(days, date(2026, 11, 30), TODAY, None).into_string();
        assert_eq!(text.matches("<figure class=\"month\"").count(), 2);
        assert_eq!(text.matches("class=\"today\"").count(), 2, "with the legend");
        let squares = |level: usize| text.matches(&format!("class=\"level-{level}\"")).count();
        assert_eq!([0, 1, 2, 3].map(squares), [2, 1, 2, 3], "with all in the legend");
        assert!(
            text.contains("aria-label=\"November 2026: service on 2 of 3 days, 8 trips a day\"")
        );
        assert!(
            text.contains(
                "aria-label=\"December 2026: service on 2 of 2 days, 1 to 4 trips a day\""
            )
        );
        // The 30th is the first square of the sixth week.
        assert!(text.contains("class=\"today\" x=\"0\" y=\"70\""), "{text}");
        let later = render_calendar_section(days, date(2027, 1, 1), TODAY, None).into_string();
        assert!(!later.contains("class=\"today\"") && !later.contains("data-present"), "{later}");
    }

    #[test]
    fn a_cut_calendar_states_the_months_of_the_whole_service() {
        let days = DailyTripCountsRange { first: date(2026, 11, 30), trips: &[1, 1] };
        let text = |service| {
            render_calendar_section(days, date(2026, 11, 30), TODAY, service).into_string()
        };
        let whole = text(Some((date(2026, 11, 30), date(2026, 12, 1))));
        assert!(!whole.contains("data-months"), "{whole}");
        let cut = text(Some((date(2025, 1, 31), date(2026, 12, 1))));
        assert!(cut.contains("data-months=\"24\""), "{cut}");
    }

    #[test]
    fn a_typical_week_groups_similar_days() {
        let week = [5, 5, 5, 5, 5, 3, 0];
        let mut trips = week.repeat(4);
        trips[2] = 0;
        let days = DailyTripCountsRange { first: date(2026, 11, 30), trips: &trips };
        let found = usual_trips_by_weekday(days);
        let expected =
            [("Mondays to Fridays", 5, false), ("Saturdays", 3, true), ("Sundays", 0, true)];
        assert_eq!(
            found,
            expected.map(|(name, trips, is_always)| UsualWeekdayTrips {
                weekdays: name.to_owned(),
                trips,
                is_always
            })
        );
        assert_eq!(
            describe_days_without_service(days).matches("2026").count(),
            5,
            "{}",
            describe_days_without_service(days)
        );
    }

    #[test]
    fn levels_are_quarters_of_the_maximum() {
        assert_eq!(
            [0, 1, 24, 25, 99, 100].map(|trips| trip_count_level(trips, 100)),
            [None, Some(0), Some(0), Some(1), Some(3), Some(3)]
        );
        assert_eq!(trip_count_level(0, 0), None);
        assert_eq!(trip_count_level(1, 1), Some(3));
    }

    #[test]
    fn the_legend_covers_each_number_of_trips_once() {
        for trips_max in [0, 1, 2, 3, 5, 100, 272] {
            let mut next = 1;
            for level in 0..SIZES.len() {
                let Some((low, greatest)) = trip_range_of_level(level, trips_max) else { continue };
                assert_eq!(low, next, "level {level} of {trips_max}");
                assert!(
                    (low..=greatest).all(|trips| trip_count_level(trips, trips_max) == Some(level))
                );
                next = greatest + 1;
            }
            assert_eq!(next, trips_max + 1);
        }
    }
}
