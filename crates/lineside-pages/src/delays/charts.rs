//! Charts of delays, drawn by the server: their current distribution, and the share of late trips over the day. Each
//! number is next to its bar or in a table below it; colour only repeats the text.

use jiff::tz::TimeZone;
use lineside_http::delays::{
    DelayReport, FEED_LINES_MAX, QuarterHour, STOPS_MAX, SampleGap, find_sample_gaps,
    last_day_start, quarter_hour_index,
};
use lineside_model::DelayHistogramClass;
use lineside_sync::UnixMillis;
use maud::{Markup, html};

use crate::words;

/// The length of the longest bar, in its own units.
const LENGTH: usize = 1_000;
/// The height of the day's chart, and the width of one quarter of an hour in it.
const HEIGHT: f64 = 60.0;
const WIDTH: i64 = 10;
const QUARTERS: i64 = 96;
/// The least upper end of the day's chart, so that one late trip does not fill it.
const SHARE_MIN: f64 = 0.1;

/// Renders the current distribution of delays.
pub(super) fn render_delay_distribution_chart(answer: &DelayReport) -> Markup {
    let Some(counts) = answer.counts else { return html! {} };
    let mut rows: Vec<(String, &str, usize)> = answer
        .classes
        .iter()
        .map(|class| (describe_delay_class(class), delay_class_css_name(class), class.trips))
        .collect();
    rows.push(("Cancelled".to_owned(), "cancelled", counts.cancelled));
    let unknown = counts.unknown.saturating_sub(counts.scheduled_only);
    for (words, trips) in
        [("Delay not known", unknown), ("Only the timetable", counts.scheduled_only)]
    {
        if trips > 0 {
            rows.push((words.to_owned(), "unknown", trips));
        }
    }
    let trips_max = rows.iter().map(|(_, _, trips)| *trips).max().unwrap_or(0).max(1);
    html! {
        section.card aria-labelledby="now-title" {
            h2 #now-title { "How late trips are now" }
            ul.classes.card-body {
                @for (words, tone, trips) in &rows {
                    li {
                        span.class-name { (words) }
                        svg.class-bar viewBox=(format!("0 0 {LENGTH} 1")) preserveAspectRatio="none" aria-hidden="true" {
                            rect class=(format!("fill-{tone}")) width=(trips * LENGTH / trips_max) height="1" {}
                        }
                        span.class-trips.numeric { (words::format_number(u64::try_from(*trips).unwrap_or(u64::MAX))) span.visually-hidden { " trips" } }
                    }
                }
            }
        }
    }
}

/// Describes a class: whole minutes as minutes, others as seconds.
fn describe_delay_class(class: &DelayHistogramClass) -> String {
    let time = |seconds: i64| match seconds % 60 {
        0 => format!("{} min", seconds / 60),
        _ => format!("{seconds} s"),
    };
    match (class.from, class.until) {
        (None, _) => "Early by 1 min or more".to_owned(),
        (Some(from), _) if from < 0 => "Less than 1 min behind".to_owned(),
        (Some(from), Some(until)) => {
            format!("{} to {} behind", format_class_lower_bound(from, until), time(until))
        }
        (Some(from), None) => format!("{} or more behind", time(from)),
    }
}

/// Returns the lower end of a class, without its unit if the upper end has the same unit.
fn format_class_lower_bound(from: i64, until: i64) -> String {
    if from % 60 == 0 && until % 60 == 0 {
        (from / 60).to_string()
    } else if from % 60 == 0 {
        format!("{} min", from / 60)
    } else {
        format!("{from} s")
    }
}

fn delay_class_css_name(class: &DelayHistogramClass) -> &'static str {
    match class.from {
        None => "early",
        Some(_) if class.is_late => "late",
        Some(from) if from < 0 => "good",
        Some(_) => "some",
    }
}

/// Renders the share of late trips over the day.
pub(super) fn render_late_share_chart(answer: &DelayReport) -> Markup {
    let quarters = &answer.day.quarters;
    html! {
        section.card aria-labelledby="day-title" {
            h2 #day-title { "Over the last 24 hours" @if answer.is_replaying_recording() { " of the recording" } }
            div.card-body.stack {
                @if answer.day.is_omitted && answer.question.stop.is_some() {
                    p.soft {
                        "No history for this stop: the server keeps it for "
                        (words::format_number(u64::try_from(STOPS_MAX).unwrap_or(u64::MAX)))
                        " stops at most, and others were opened first."
                    }
                } @else if answer.day.is_omitted {
                    p.soft {
                        "No history for this line: the server keeps it for "
                        (words::format_number(u64::try_from(FEED_LINES_MAX).unwrap_or(u64::MAX)))
                        " lines of a feed at most."
                    }
                } @else if quarters.is_empty() && answer.question.stop.is_some() {
                    p.soft { "No history yet. We record a value every minute from when somebody opens this page, while live data is up to date." }
                } @else if quarters.is_empty() {
                    p.soft { "No history yet. We record a value every minute while live data is up to date." }
                } @else if quarters.iter().all(|quarter| quarter.trips == 0) {
                    p.soft data-day="unknown" { "No delay of these trips was known." }
                } @else {
                    (draw_late_share_svg(answer))
                    (render_late_share_table(answer))
                }
            }
        }
    }
}

enum DayTableRow<'a> {
    Recorded(&'a QuarterHour),
    Gap(SampleGap),
}

impl DayTableRow<'_> {
    fn row_start(&self) -> i64 {
        match self {
            Self::Recorded(quarter) => quarter.start.unix_seconds(),
            Self::Gap(gap) => gap.start.unix_seconds(),
        }
    }
}

/// Returns the rows of the day's table, newest first, with quarters and gaps interleaved.
fn list_day_table_rows(quarters: &[QuarterHour], now: UnixMillis) -> Vec<DayTableRow<'_>> {
    let gaps = find_sample_gaps(quarters, now).into_iter().map(DayTableRow::Gap);
    let mut rows: Vec<DayTableRow<'_>> =
        quarters.iter().map(DayTableRow::Recorded).chain(gaps).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.row_start()));
    rows
}

fn render_late_share_table(answer: &DelayReport) -> Markup {
    let zone = answer.question.time_zone();
    let note = answer.question.utc_suffix();
    let rows = list_day_table_rows(&answer.day.quarters, answer.now);
    let now = answer.now.unix_seconds();
    html! {
        details {
            summary { "In numbers" }
            div.scroll tabindex="0" role="region" aria-label="The last 24 hours in numbers" {
                table.list-table {
                    thead { tr {
                        th scope="col" { "From" } th.end scope="col" { "Late" } th.end scope="col" { "Cancelled" }
                    } }
                    tbody {
                        @for row in &rows {
                            tr {
                                th scope="row" { time datetime=(words::format_rfc3339(row.row_start(), &zone)) { (words::format_clock_or_day(row.row_start(), now, &zone)) (note) } (render_gap_end(row, now, &zone)) }
                                @match row {
                                    DayTableRow::Gap(_) => td.end.soft colspan="2" { "no data" },
                                    DayTableRow::Recorded(quarter) if quarter.trips == 0 => td.end.soft colspan="2" { "no delays known" },
                                    DayTableRow::Recorded(quarter) => {
                                        td.end.numeric { (format_percent(quarter.late_share())) }
                                        td.end.numeric { (format_percent(quarter.cancelled_share())) }
                                    },
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Renders the end of a gap of several quarters: it is one row.
fn render_gap_end(row: &DayTableRow<'_>, now: i64, zone: &TimeZone) -> Markup {
    let end = match row {
        DayTableRow::Gap(gap) if gap.quarters > 1 => {
            gap.start.unix_seconds() + gap.quarters * 15 * 60
        }
        DayTableRow::Gap(_) | DayTableRow::Recorded(_) => return html! {},
    };
    html! { " to " time datetime=(words::format_rfc3339(end, zone)) { (words::format_clock_or_day(end, now, zone)) } }
}

fn list_data_gaps(answer: &DelayReport) -> impl Iterator<Item = SampleGap> {
    find_sample_gaps(&answer.day.quarters, answer.now).into_iter()
}

fn draw_late_share_svg(answer: &DelayReport) -> Markup {
    let zone = answer.question.time_zone();
    let quarters = &answer.day.quarters;
    let height = |quarter: &QuarterHour| quarter.late_share() + quarter.cancelled_share();
    let top = quarters.iter().map(height).fold(SHARE_MIN, f64::max).min(1.0);
    let scaled = |share: f64| share.min(1.0) / top * HEIGHT;
    let began = words::format_clock(last_day_start(answer.now).div_euclid(1_000), &zone);
    let has_gaps = list_data_gaps(answer).next().is_some();
    html! {
        div.day {
            span.day-top.soft.small { (format_percent(top)) }
            svg.day-bars viewBox=(format!("0 0 {} {HEIGHT}", QUARTERS * WIDTH)) preserveAspectRatio="none" role="img"
                aria-label=(describe_late_share_chart(answer)) {
                // Gaps are hatched, so that they look like no number.
                pattern #not-known width="10" height="10" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                    rect.fill-gap width="1" height="10" {}
                }
                @for gap in list_data_gaps(answer) {
                    rect fill="url(#not-known)" x=(quarter_hour_index(gap.start, answer.now) * WIDTH) width=(gap.quarters * WIDTH) height=(HEIGHT) {}
                }
                @for quarter in quarters.iter().filter(|quarter| quarter.trips > 0) {
                    @let x = quarter_hour_index(quarter.start, answer.now) * WIDTH;
                    @let late = scaled(quarter.late_share());
                    @let cancelled = scaled(quarter.cancelled_share()).min(HEIGHT - late);
                    rect.fill-seen x=(x) y=(format!("{:.2}", HEIGHT - 1.5)) width=(WIDTH - 1) height="1.5" {}
                    rect.fill-late x=(x) y=(format!("{:.2}", HEIGHT - late)) width=(WIDTH - 1) height=(format!("{late:.2}")) {}
                    rect.fill-cancelled x=(x) y=(format!("{:.2}", HEIGHT - late - cancelled)) width=(WIDTH - 1) height=(format!("{cancelled:.2}")) {}
                }
            }
            p.day-ends.soft.small { span { (began) (answer.question.utc_suffix()) } span data-day-end=(words::format_rfc3339(answer.now.unix_seconds(), &zone)) { @if answer.is_replaying_recording() { (words::format_clock(answer.now.unix_seconds(), &zone)) } @else { "now" } } }
            ul.legend.small.soft {
                li { (render_color_swatch("late")) "late" }
                li { (render_color_swatch("cancelled")) "cancelled" }
                li { (render_color_swatch("seen")) "none late" }
                @if has_gaps {
                    li { svg viewBox="0 0 18 18" aria-hidden="true" { rect fill="url(#not-known)" width="18" height="18" {} } "no data" }
                }
            }
        }
    }
}

fn render_color_swatch(fill: &str) -> Markup {
    html! { svg viewBox="0 0 1 1" aria-hidden="true" { rect class=(format!("fill-{fill}")) width="1" height="1" {} } }
}

/// Describes the chart for screen readers.
fn describe_late_share_chart(answer: &DelayReport) -> String {
    let (zone, note) = (answer.question.time_zone(), answer.question.utc_suffix());
    let unknown: i64 = list_data_gaps(answer).map(|gap| gap.quarters).sum();
    let not_known = match unknown {
        0 => String::new(),
        quarters => {
            format!(
                " Of {} nothing is known.",
                words::describe_duration(quarter_hours_to_seconds(quarters))
            )
        }
    };
    let with_trips = || answer.day.quarters.iter().filter(|quarter| quarter.trips > 0);
    let worst = with_trips().max_by(|a, b| a.late_share().total_cmp(&b.late_share()));
    let Some((worst, last)) = worst.zip(with_trips().next_back()) else {
        return format!("No delays of trips were known.{not_known}");
    };
    format!(
        "Most trips were late in the quarter of an hour from {}{note}: {}. In the last one it was {}, and {} were cancelled.{not_known}",
        words::format_clock(worst.start.unix_seconds(), &zone),
        format_percent(worst.late_share()),
        format_percent(last.late_share()),
        format_percent(last.cancelled_share()),
    )
}

fn quarter_hours_to_seconds(quarters: i64) -> u64 {
    u64::try_from(quarters * 15 * 60).unwrap_or(0)
}

/// Formats a share as percent, with one decimal if it is small.
fn format_percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 9.95 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use lineside_model::group_trips_by_delay;

    use super::*;

    #[test]
    fn delay_classes_are_described_in_minutes() {
        let none: [&lineside_model::TripDelay; 0] = [];
        let list_labels = |late_after| {
            let classes = group_trips_by_delay(none, Duration::from_secs(late_after));
            classes.iter().map(describe_delay_class).collect::<Vec<_>>()
        };
        let expect = [
            "Early by 1 min or more",
            "Less than 1 min behind",
            "1 to 3 min behind",
            "3 to 4 min behind",
            "4 to 5 min behind",
            "5 to 10 min behind",
            "10 to 20 min behind",
            "20 to 30 min behind",
            "30 min or more behind",
        ];
        assert_eq!(list_labels(240), expect);
        assert!(list_labels(90).contains(&"1 min to 90 s behind".to_owned()));
        assert!(list_labels(90).contains(&"90 s to 3 min behind".to_owned()));
    }

    #[test]
    fn the_rows_of_the_day_are_newest_first() {
        const QUARTER_MS: i64 = 15 * 60 * 1_000;
        let now = UnixMillis(1_795_791_600_000);
        // As in a recording: occasional samples with gaps in between.
        let quarters = [90, 70, 69, 12, 1, 0].map(|ago| QuarterHour {
            start: UnixMillis(now.0 - ago * QUARTER_MS),
            trips: 1,
            ..QuarterHour::default()
        });
        let rows = list_day_table_rows(&quarters, now);
        let starts: Vec<i64> = rows.iter().map(DayTableRow::row_start).collect();
        assert!(starts.windows(2).all(|pair| pair[0] > pair[1]), "{starts:?}");
        let n_gaps = rows.iter().filter(|row| matches!(row, DayTableRow::Gap(_))).count();
        assert_eq!((rows.len() - n_gaps, n_gaps), (6, 4), "{starts:?}");
    }

    #[test]
    fn small_shares_are_not_rounded_to_zero() {
        let texts: Vec<String> = [0.0, 0.004, 0.0996, 0.5, 1.0].map(format_percent).into();
        assert_eq!(texts, ["0 %", "0.4 %", "10 %", "50 %", "100 %"]);
    }
}
