//! States of feeds as signs: a shape and a word, in a color that only repeats them.

use jiff::tz::TimeZone;
use lineside_formats::Format;
use lineside_ingest::{EXPIRES_SOON_DAYS, Feed, FeedState, FeedStatus, Network};
use maud::{Markup, html};

use super::{icons, network_page, words};
use crate::app::App;

/// Networks of recordings that a list names.
const RECORDINGS_MAX: usize = 5;

/// What the sign shows.
fn render_icon(state: FeedState) -> Markup {
    let (icon, word) = match state {
        FeedState::Ok => (icons::ok(), "OK"),
        FeedState::Late => (icons::late(), "Late"),
        FeedState::Stale => (icons::stale(), "Stale"),
        FeedState::Expired => (icons::expired(), "Expired"),
        FeedState::Failing => (icons::failing(), "Failing"),
        FeedState::Empty => (icons::empty(), "Empty"),
        FeedState::Paused => (icons::paused(), "Paused"),
        FeedState::Unknown => (icons::unknown(), "Unknown"),
    };
    html! { (icon) span { (word) } }
}

/// The sign of a feed's state, which the page's script keeps as it is.
pub(super) fn render_sign(feed: &str, state: FeedState) -> Markup {
    html! { span.state data-state-of=(feed) data-state=(state) { (render_icon(state)) } }
}

/// The same as a filled label, for a page's head.
pub(super) fn render_label(feed: &str, state: FeedState) -> Markup {
    html! { span.state.filled data-state-of=(feed) data-state=(state) { (render_icon(state)) } }
}

/// The sign of a state that stays as it is.
pub(super) fn render_static_sign(state: FeedState) -> Markup {
    html! { span.state data-state=(state) { (render_icon(state)) } }
}

/// Since when a feed is in its state; the page's script keeps it.
pub(super) fn render_since(feed: &str, status: &FeedStatus, zone: &TimeZone) -> Markup {
    let name = zone.iana_name().unwrap_or("UTC");
    html! { span.soft.small data-since-of=(feed) data-zone=(name) { "since " (words::render_time(status.since, zone)) } }
}

/// The days of service of a timetable, from today.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::pages) struct ServiceCountdown {
    /// Days until the last service day; negative once it is past.
    pub(in crate::pages) days_left: Option<i64>,
    /// Days until the first service day; 0 once it has come.
    pub(in crate::pages) days_until_start: Option<i64>,
}

impl ServiceCountdown {
    /// That of a feed; empty unless it is a schedule.
    pub(super) fn for_feed(feed: &Feed) -> Self {
        let (window, now) = (feed.service_window(), feed.network().data_now());
        Self {
            days_left: window.as_ref().and_then(|window| window.days_left(now)),
            days_until_start: window.as_ref().and_then(|window| window.days_until_start(now)),
        }
    }
}

/// That a timetable is not yet valid, expires soon, or has expired while the state says something else; the page's script
/// keeps it.
pub(super) fn render_service_tag(
    feed: &str,
    service: ServiceCountdown,
    state: FeedState,
) -> Markup {
    let (words, tone) = describe_service(service, state);
    html! { span.tag.service-tag data-service-of=(feed) data-tone=(tone) hidden[words.is_empty()] { (words) } }
}

/// The same of a feed as it is now.
pub(super) fn service_tag_of(feed: &Feed, state: FeedState) -> Markup {
    render_service_tag(feed.id().as_str(), ServiceCountdown::for_feed(feed), state)
}

/// What the tag says, and how much it matters. `web/plain/words.js` says the same.
fn describe_service(service: ServiceCountdown, state: FeedState) -> (String, &'static str) {
    match service.days_left {
        _ if service.days_until_start.is_some_and(|days| days > 0) => {
            ("Not yet valid".to_owned(), "warn")
        }
        Some(..0) if state != FeedState::Expired => ("Expired".to_owned(), "bad"),
        Some(0) => ("Expires today".to_owned(), "warn"),
        Some(1) => ("Expires tomorrow".to_owned(), "warn"),
        Some(days @ 2..=EXPIRES_SOON_DAYS) => (format!("Expires in {days} days"), "warn"),
        _ => (String::new(), "none"),
    }
}

/// That a network plays a recording, with the day of the moment that is played; nothing of a network that is live.
pub(super) fn recording_tag(network: &Network) -> Markup {
    let zone = words::network_zone(network);
    html! {
        @if let Some(at) = network.replay_time() {
            span.tag.recording-tag data-recording-of=(network.id()) title="Times on this page are those of the recording" {
                "Recording of "
                time datetime=(words::format_rfc3339(at.unix_seconds(), &zone)) { (words::day_at(at, &zone)) }
            }
        }
    }
}

/// The signs for the page's script to choose from.
pub(super) fn render_templates() -> Markup {
    html! {
        @for state in FeedState::ALL {
            template id=(format!("state-{state}")) { (render_icon(state)) }
        }
    }
}

/// The same as a line of a page's head.
pub(super) fn recording_line(network: &Network) -> Markup {
    html! { @if network.replay_time().is_some() { p { (recording_tag(network)) } } }
}

/// The networks that play a recording, for a page that shows many; nothing where none does.
pub(super) fn recording_list(app: &App) -> Markup {
    let mut networks = app.ingest().networks();
    networks.retain(|network| network.replay_time().is_some());
    html! {
        @if !networks.is_empty() {
            ul.recordings.small {
                @for network in networks.iter().take(RECORDINGS_MAX) {
                    li { (network_page::network_name(app, network)) ": " (recording_tag(network)) }
                }
                @if networks.len() > RECORDINGS_MAX { li.soft { "and " (networks.len() - RECORDINGS_MAX) " more recordings" } }
            }
        }
    }
}

/// A format as people write it.
pub(super) fn format_name(format: Option<Format>) -> &'static str {
    match format {
        Some(Format::Gtfs) => "GTFS",
        Some(Format::GtfsRt) => "GTFS-Realtime",
        Some(Format::Gbfs) => "GBFS",
        Some(Format::Netex) => "NeTEx",
        Some(Format::Siri) => "SIRI",
        Some(Format::Raw) => "Raw",
        None => "not yet known",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_service_is_described_as_in_the_browser() {
        let cases = words::tests::load_cases();
        for case in cases["service"].as_array().expect("a list of cases") {
            let state = case[1].as_str().and_then(FeedState::parse).expect("a state");
            let days_until_start = case[4].as_i64();
            let service = ServiceCountdown { days_left: case[0].as_i64(), days_until_start };
            let (words, tone) = describe_service(service, state);
            assert_eq!((Some(&*words), Some(tone)), (case[2].as_str(), case[3].as_str()));
        }
    }

    #[test]
    fn every_state_has_a_word_besides_its_color() {
        for state in FeedState::ALL {
            let text = render_sign("x", state).into_string();
            let word = state.as_str();
            assert!(text.to_lowercase().contains(&format!("<span>{word}</span>")), "{text}");
        }
    }
}
