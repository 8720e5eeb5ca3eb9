//! The validity of each version as a bar on a shared time axis with a mark for today.

use jiff::civil::Date;
use lineside_store::ScheduleVersion;
use maud::{Markup, html};

/// The length of the axis, in units of the drawing.
const LENGTH: i64 = 1_000;
/// The least length of a bar, so that it is visible.
const BAR_MIN: i64 = 12;
/// The width of the mark for today.
const NOW_WIDTH: i64 = 8;
/// The longest axis: a version that claims to be valid for centuries would squeeze the others.
const DAYS_MAX: i64 = 20 * 366;

/// A time axis.
#[derive(Debug)]
pub(super) struct Timeline {
    start: Date,
    end: Date,
    days: i64,
    today: Date,
    /// True if a version is valid before the axis begins, and after it ends.
    is_cut: (bool, bool),
}

impl Timeline {
    /// Returns the axis with all of these versions, cut far from today; `None` if no version has dates.
    pub(super) fn from_versions(versions: &[ScheduleVersion], today: Date) -> Option<Timeline> {
        let spans = versions.iter().filter_map(validity);
        let (start, end) =
            spans.reduce(|(start, end), (from, until)| (start.min(from), end.max(until)))?;
        let (first, last) = (start.min(today), end.max(today));
        let start = first.max(today.saturating_sub(days(DAYS_MAX)));
        let end = last.min(today.saturating_add(days(DAYS_MAX)));
        let cut = (first < start, last > end);
        Some(Timeline {
            start,
            end,
            days: i64::from((end - start).get_days()) + 1,
            today,
            is_cut: cut,
        })
    }

    /// Renders the bar of one version. The dates are next to it as text.
    pub(super) fn render_validity_bar(&self, version: &ScheduleVersion) -> Markup {
        let Some((from, until)) = validity(version) else { return html! {} };
        let (left, right) = (self.day_offset(from, 0), self.day_offset(until, 1));
        let width = (right - left).max(BAR_MIN);
        let left = left.min(LENGTH - width);
        let today = self.day_offset(self.today, 0);
        let class = if version.facts.has_ended(self.today) { "bar over" } else { "bar" };
        html! {
            div {
                svg.validity-bar viewBox=(format!("0 0 {LENGTH} 10")) preserveAspectRatio="none" aria-hidden="true" {
                    rect.axis x="0" y="4" width=(LENGTH) height="2" {}
                    rect class=(class) x=(left) y="1" width=(width) height="8" {}
                    rect.now x=(today.min(LENGTH - NOW_WIDTH)) y="0" width=(NOW_WIDTH) height="10" {}
                }
                div.validity-years.small.soft aria-hidden="true" {
                    @let (first, last) = self.first_and_last_day();
                    span { (first) }
                    span { (last) }
                }
            }
        }
    }

    /// Returns the first and the last day of the axis.
    fn first_and_last_day(&self) -> (String, String) {
        let written = |day: Date, cut: Option<&str>| {
            format!("{}{}", cut.unwrap_or_default(), day.strftime("%-d %b %Y"))
        };
        let (before, after) = self.is_cut;
        (
            written(self.start, before.then_some("before ")),
            written(self.end, after.then_some("after ")),
        )
    }

    /// Returns the position of a day's beginning, or of its end with `after` 1.
    fn day_offset(&self, day: Date, after: i64) -> i64 {
        let at = i64::from((day - self.start).get_days()) + after;
        (at * LENGTH / self.days).clamp(0, LENGTH)
    }
}

fn days(n: i64) -> jiff::Span {
    jiff::Span::new().days(n)
}

/// Returns the first and the last day of a version, if it has both.
fn validity(version: &ScheduleVersion) -> Option<(Date, Date)> {
    let day = |text: &Option<String>| text.as_deref()?.parse::<Date>().ok();
    let (from, until) = (day(&version.facts.valid_from)?, day(&version.facts.valid_until)?);
    (from <= until).then_some((from, until))
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use lineside_model::ScheduleVersionFacts;
    use lineside_store::BlobHash;
    use lineside_sync::UnixMillis;

    use super::*;

    fn version(from: &str, until: &str) -> ScheduleVersion {
        ScheduleVersion {
            hash: BlobHash::parse_hex(&"0".repeat(64)).unwrap(),
            size: 1,
            first_seen: UnixMillis(0),
            last_seen: UnixMillis(0),
            is_current: false,
            facts: ScheduleVersionFacts {
                valid_from: Some(from.to_owned()),
                valid_until: Some(until.to_owned()),
                ..ScheduleVersionFacts::default()
            },
        }
    }

    #[test]
    fn bars_share_one_axis_with_today() {
        let today = date(2026, 1, 6);
        let versions = [version("2026-01-01", "2026-01-10"), version("2026-01-01", "2026-01-05")];
        let timeline = Timeline::from_versions(&versions, today).unwrap();
        let whole = timeline.render_validity_bar(&versions[0]).into_string();
        assert!(whole.contains("class=\"bar\" x=\"0\" y=\"1\" width=\"1000\""), "{whole}");
        let expired_bar = timeline.render_validity_bar(&versions[1]).into_string();
        assert!(
            expired_bar.contains("class=\"bar over\" x=\"0\" y=\"1\" width=\"500\""),
            "{expired_bar}"
        );
        assert!(expired_bar.contains("class=\"now\" x=\"500\""), "{expired_bar}");
    }

    #[test]
    fn the_ends_of_the_axis_are_labeled() {
        let ends = |from, until| {
            let timeline = Timeline::from_versions(&[version(from, until)], date(2026, 3, 6));
            timeline.unwrap().first_and_last_day()
        };
        let expect = |first: &str, last: &str| (first.to_owned(), last.to_owned());
        assert_eq!(ends("2009-06-01", "2009-09-27"), expect("1 Jun 2009", "6 Mar 2026"));
        assert_eq!(ends("2026-01-01", "2026-12-31"), expect("1 Jan 2026", "31 Dec 2026"));
        assert_eq!(
            ends("1900-01-01", "9999-12-31"),
            expect("before 19 Feb 2006", "after 21 Mar 2046")
        );
    }

    #[test]
    fn hostile_dates_stay_on_the_axis() {
        let today = date(2026, 1, 6);
        let all = [version("0001-01-01", "9999-12-31"), version("9998-01-01", "9999-12-31")];
        let timeline = Timeline::from_versions(&all, today).unwrap();
        for version in &all {
            assert!(timeline.render_validity_bar(version).into_string().contains("class=\"bar\""));
        }
        assert!(Timeline::from_versions(&[version("2026-01-02", "2026-01-01")], today).is_none());
        assert!(Timeline::from_versions(&[version("soon", "later")], today).is_none());
    }
}
