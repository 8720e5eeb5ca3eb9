//! The active periods of an alert, and its link: `until 1 Dec 2026, 01:44`, `today 07:00 to 07:58`.

use jiff::tz::TimeZone;
use lineside_formats::gtfs_rt::proto;
use maud::{Markup, html};

use super::languages::PreferredLanguages;
use super::words;

/// The most periods shown of one alert.
const PERIODS_MAX: usize = 6;

/// Renders the active periods of an alert, and its link to more information. `now` in Unix seconds.
pub(super) fn render_periods_and_link(
    alert: &proto::Alert,
    languages: &PreferredLanguages,
    now: i64,
    zone: &TimeZone,
) -> Markup {
    let url = alert.url.as_ref().and_then(|url| {
        languages.pick_best_translation(&url.translation, |it| it.language.as_deref())
    });
    let url = url.map(|url| url.text.as_str()).filter(|url| is_http_url(url));
    html! {
        (render_periods(alert, now, zone))
        @if let Some(url) = url { p.small { a.target href=(url) rel="noopener nofollow" { "More information" } } }
    }
}

/// Returns true if a producer's link leads to a website; other schemes could run code.
fn is_http_url(text: &str) -> bool {
    url::Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
}

fn render_periods(alert: &proto::Alert, now: i64, zone: &TimeZone) -> Markup {
    let n_more = alert.active_period.len().saturating_sub(PERIODS_MAX);
    html! {
        @if !alert.active_period.is_empty() {
            p.small.periods {
                @for (index, period) in alert.active_period.iter().take(PERIODS_MAX).enumerate() {
                    @if index > 0 { "; " }
                    (render_period(period, now, zone))
                }
                @if n_more > 0 { "; and " (n_more) " more periods" }
            }
        }
    }
}

fn render_period(period: &proto::TimeRange, now: i64, zone: &TimeZone) -> Markup {
    let seconds = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
    let is_in_force = period_contains_time(period, now);
    let is_one_day = |start: i64, end: i64| {
        words::format_local_day(start, zone) == words::format_local_day(end, zone)
    };
    let moment = |at: i64| render_time_with_day(at, now, zone);
    html! {
        @match (period.start.map(seconds), period.end.map(seconds)) {
            (Some(start), Some(end)) if is_one_day(start, end) => span data-period="day" { (moment(start)) " to " (render_time(end, &words::format_clock(end, zone), zone)) },
            // Riders need the end of what has begun on another day.
            (Some(_), Some(end)) if is_in_force => span data-period="until" { "until " (moment(end)) },
            (Some(start), Some(end)) => span data-period="days" { (moment(start)) " to " (moment(end)) },
            (Some(start), None) if is_in_force => span data-period="since" { "since " (moment(start)) },
            (Some(start), None) => span data-period="from" { "from " (moment(start)) },
            (None, Some(end)) => span data-period="until" { "until " (moment(end)) },
            (None, None) => span data-period="open" { "until further notice" },
        }
    }
}

/// Renders a time with its day, which is `today` for the day of `now`.
fn render_time_with_day(at: i64, now: i64, zone: &TimeZone) -> Markup {
    let text = words::format_clock_or_day(at, now, zone);
    let is_today = words::format_local_day(at, zone) == words::format_local_day(now, zone);
    html! { @if is_today { "today " } (render_time(at, &text, zone)) }
}

fn render_time(at: i64, text: &str, zone: &TimeZone) -> Markup {
    html! { time datetime=(words::format_rfc3339(at, zone)) { (text) } }
}

/// Returns true if a period contains `now`, Unix seconds.
pub(super) fn period_contains_time(period: &proto::TimeRange, now: i64) -> bool {
    let now = u64::try_from(now).unwrap_or(0);
    period.start.is_none_or(|start| start <= now) && period.end.is_none_or(|end| now < end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_web_addresses_become_links() {
        assert!(is_http_url("https://example.org/works"));
        for wrong in ["javascript:alert(1)", "data:text/html,x", "works", ""] {
            assert!(!is_http_url(wrong), "{wrong}");
        }
    }

    /// 23 November 2026, 12:00 UTC.
    const NOON: i64 = 1_795_435_200;
    const HOUR: i64 = 3_600;

    /// Returns the kind of a period and the texts of its times.
    fn describe(start: Option<i64>, end: Option<i64>) -> (String, Vec<String>) {
        let seconds = |at: i64| u64::try_from(at).unwrap();
        let period = proto::TimeRange { start: start.map(seconds), end: end.map(seconds) };
        let text = render_period(&period, NOON, &TimeZone::UTC).into_string();
        let kind = text.split('"').nth(1).unwrap().to_owned();
        let times = text.split("\">").skip(2).map(|it| it.split('<').next().unwrap().to_owned());
        (kind, times.collect())
    }

    #[test]
    fn a_period_has_its_day_and_the_time_that_is_ahead() {
        let (yesterday, tomorrow) = (NOON - 24 * HOUR, NOON + 24 * HOUR);
        let kinds = [
            ((Some(NOON - HOUR), Some(NOON + HOUR)), "day", vec!["11:00", "13:00"]),
            ((Some(yesterday), Some(tomorrow)), "until", vec!["24\u{a0}Nov\u{a0}2026, 12:00"]),
            ((Some(NOON - HOUR), Some(tomorrow)), "until", vec!["24\u{a0}Nov\u{a0}2026, 12:00"]),
            ((Some(yesterday), Some(NOON + HOUR)), "until", vec!["13:00"]),
            (
                (Some(NOON + HOUR), Some(tomorrow)),
                "days",
                vec!["13:00", "24\u{a0}Nov\u{a0}2026, 12:00"],
            ),
            ((Some(yesterday), None), "since", vec!["22\u{a0}Nov\u{a0}2026, 12:00"]),
            ((Some(tomorrow), None), "from", vec!["24\u{a0}Nov\u{a0}2026, 12:00"]),
            ((None, Some(tomorrow)), "until", vec!["24\u{a0}Nov\u{a0}2026, 12:00"]),
            ((None, None), "open", vec![]),
        ];
        for ((start, end), kind, times) in kinds {
            let times = times.into_iter().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(describe(start, end), (kind.to_owned(), times), "{start:?} {end:?}");
        }
    }

    #[test]
    fn a_time_of_today_says_so() {
        let text = |at| render_time_with_day(at, NOON, &TimeZone::UTC).into_string();
        assert!(!text(NOON + HOUR).starts_with('<'), "{}", text(NOON + HOUR));
        assert!(text(NOON + 24 * HOUR).starts_with("<time"), "{}", text(NOON + 24 * HOUR));
    }
}
