//! The current version: its state, its validity, its contents, and the trips of each of its days.

use jiff::civil::Date;
use lineside_model::{
    EXPIRES_SOON_DAYS, ScheduleCountDifferences, ScheduleVersionFacts, ServiceDateRange,
};
use lineside_store::ScheduleVersion;
use maud::{Markup, html};

use super::super::{states, words};
use super::{VersionsView, calendar, format_signed_number, render_iso_day};

/// The remaining validity of a timetable, or the time since it expired: the text after the badges *Expired*, *Expires
/// in 6 days* and *Not yet valid*.
#[derive(Debug, PartialEq, Eq)]
struct ValidityText {
    text: String,
    tone: &'static str,
}

impl ValidityText {
    fn new(window: &ServiceDateRange, today: Date) -> ValidityText {
        let days = |day: Date| i64::from((day - today).get_days());
        let build_validity = |validity: String, tone| ValidityText { text: validity, tone };
        let (start, end) = (format_validity_day(window.start), format_validity_day(window.end));
        match (days(window.start), days(window.end)) {
            (_, ..0) => {
                let since = window.end.tomorrow().map_or_else(|_| end.clone(), format_validity_day);
                build_validity(format!("since {since}; the last service day was {end}"), "bad")
            }
            (1, _) => build_validity(format!("service starts tomorrow, {start}"), "warn"),
            (ahead @ 2.., _) => {
                build_validity(format!("service starts in {ahead} days, on {start}"), "warn")
            }
            (_, ..=EXPIRES_SOON_DAYS) => {
                build_validity(format!("the last service day is {end}"), "warn")
            }
            (_, left) => {
                let left = words::format_count(left.unsigned_abs(), "day", "days");
                build_validity(format!("valid until {end}, {left} from now"), "good")
            }
        }
    }
}

fn format_validity_day(day: Date) -> String {
    words::format_day(day)
}

impl VersionsView<'_> {
    /// Renders the state of the feed, and the validity of its timetable.
    pub(super) fn render_feed_state(&self) -> Markup {
        let status = self.feed.status();
        let validity = self.feed.service_date_range().map(|it| ValidityText::new(&it, self.today));
        html! {
            div.feed-state {
                (states::render_live_state_label(self.feed_id().as_str(), status.state))
                (states::render_validity_tag_of_feed(self.feed, status.state))
                (states::render_recording_tag(&self.feed.network()))
                @if let Some(ValidityText { text, tone }) = validity { span.validity-words data-tone=(tone) { (text) } }
            }
        }
    }

    /// Renders the card of the current version; nothing if the feed is not a schedule or has not been read.
    pub(super) fn render_current_version(&self) -> Markup {
        let Some(dataset) = &self.dataset else { return html! {} };
        let days = dataset.service_calendar().and_then(|it| it.twelve_months_around(self.today));
        html! {
            section.card #current-version aria-labelledby="current-version-title" {
                div.card-head {
                    h2 #current-version-title { "Current version" }
                    @if let Some(version) = self.current_version() {
                        a.small.target href=(self.version_download_url(&version.hash.to_string())) download { "Download, " (words::format_bytes(version.size)) }
                    }
                }
                div.version-parts {
                    (self.render_version_facts(dataset.timetable.service_date_range()))
                    @match days {
                        Some(days) => (calendar::render_calendar_section(days, self.today, self.current_day_label(), dataset.timetable.service_date_range())),
                        None => p.card-body.soft { "No service of this timetable ever runs." },
                    }
                }
            }
        }
    }

    fn current_version(&self) -> Option<&ScheduleVersion> {
        self.versions.as_ref()?.first().filter(|version| version.is_current)
    }

    fn render_version_facts(&self, service: Option<(Date, Date)>) -> Markup {
        let version = self.current_version();
        let previous = version.and_then(|_| self.versions.as_ref()?.get(1));
        let timetable = self.dataset.as_ref().map(|dataset| &dataset.timetable);
        let label = timetable.and_then(|it| it.feed_info()?.version.as_deref());
        let changes = version.zip(previous);
        let changes = changes.map(|(it, previous)| it.facts.compare_counts(&previous.facts));
        let counts = timetable.map(|it| {
            [("Lines", it.routes().len()), ("Stops", it.stops().len()), ("Trips", it.trips().len())]
        });
        html! {
            dl.facts.card-body {
                dt { "Publisher's version" } dd { (label.unwrap_or("unknown")) }
                @if let Some((first, last)) = service {
                    dt { "Service" } dd.numeric { (render_day(first)) " to " (render_day(last)) }
                }
                @if let Some((from, until)) = version.and_then(|version| differing_publisher_validity(&version.facts)) {
                    dt { "Publisher says valid" } dd.numeric data-publisher-validity { (render_iso_day(from)) " to " (render_iso_day(until)) }
                }
                @for (name, count) in counts.into_iter().flatten() {
                    dt { (name) } dd.numeric { (words::format_number(count as u64)) }
                }
                @if let Some(version) = version {
                    dt { "First seen" } dd { (words::render_time_to_minute(version.first_seen, &self.zone)) }
                    dt { "Changes" } dd data-has-previous[changes.is_some()] { (describe_version_changes(changes)) }
                }
            }
        }
    }
}

/// Describes the changes since the previous version, if it is still stored.
fn describe_version_changes(changes: Option<ScheduleCountDifferences>) -> String {
    let Some(ScheduleCountDifferences { routes, stops, trips }) = changes else {
        return "The first version that is stored here".to_owned();
    };
    let parts = [(routes, "line", "lines"), (stops, "stop", "stops"), (trips, "trip", "trips")];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(change, _, _)| *change != 0)
        .map(|(change, one, many)| {
            format!(
                "{} {}",
                format_signed_number(change),
                if change.abs() == 1 { one } else { many }
            )
        })
        .collect();
    match parts.len() {
        0 => "As many lines, stops and trips as the previous version".to_owned(),
        _ => format!("{} since the previous version", parts.join(", ")),
    }
}

/// Returns the validity that the publisher states, if it is not that of the calendar.
pub(super) fn differing_publisher_validity(
    facts: &ScheduleVersionFacts,
) -> Option<(Option<&str>, Option<&str>)> {
    let stated = (facts.valid_from.as_deref(), facts.valid_until.as_deref());
    let service = (facts.service_start.as_deref(), facts.service_end.as_deref());
    (service.0.is_some() && stated != service).then_some(stated)
}

fn render_day(day: Date) -> Markup {
    html! { time.nowrap datetime=(day) { (words::format_day(day)) } }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use jiff::tz::TimeZone;

    use super::*;

    #[test]
    fn validity_is_described_relative_to_today() {
        let window = ServiceDateRange {
            start: date(2024, 1, 1),
            end: date(2024, 6, 1),
            zone: TimeZone::UTC,
        };
        let describe_validity = |today| ValidityText::new(&window, today);
        let validity_text = |today| describe_validity(today).text;
        assert!(validity_text(date(2026, 11, 27)).starts_with("since 2\u{a0}Jun\u{a0}2024"));
        for last_days in [date(2024, 5, 25), date(2024, 6, 1)] {
            assert!(validity_text(last_days).contains("1\u{a0}Jun\u{a0}2024"));
            assert_eq!(describe_validity(last_days).tone, "warn");
        }
        assert!(validity_text(date(2023, 12, 30)).contains("in 2 days, on 1\u{a0}Jan\u{a0}2024"));
        assert!(validity_text(date(2023, 12, 31)).contains("tomorrow, 1\u{a0}Jan\u{a0}2024"));
        assert_eq!(describe_validity(date(2024, 5, 24)).tone, "good");
        assert_eq!(describe_validity(date(2026, 1, 1)).tone, "bad");
    }

    #[test]
    fn a_publishers_validity_is_named_only_if_the_calendar_differs() {
        let day = |text: &str| Some(text.to_owned());
        let mut facts = ScheduleVersionFacts {
            valid_from: day("2025-01-01"),
            valid_until: day("2025-12-31"),
            ..ScheduleVersionFacts::default()
        };
        assert_eq!(differing_publisher_validity(&facts), None, "nothing is known of the calendar");
        (facts.service_start, facts.service_end) = (day("2025-01-01"), day("2025-12-31"));
        assert_eq!(differing_publisher_validity(&facts), None);
        facts.service_start = day("2024-01-01");
        let stated = (Some("2025-01-01"), Some("2025-12-31"));
        assert_eq!(differing_publisher_validity(&facts), Some(stated));
    }

    #[test]
    fn only_changed_counts_are_listed() {
        let changes = ScheduleCountDifferences { routes: 1, stops: 0, trips: -1_344 };
        assert!(
            describe_version_changes(Some(changes))
                .starts_with("+1 line, −1\u{202f}344 trips since")
        );
        assert!(!describe_version_changes(Some(ScheduleCountDifferences::default())).contains('+'));
    }
}
