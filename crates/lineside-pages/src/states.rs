//! States of feeds as icons with a word, in a color that only repeats them.

use jiff::tz::TimeZone;
use lineside_formats::Format;
use lineside_http::app::App;
use lineside_ingest::{Feed, Network};
use lineside_model::{EXPIRES_SOON_DAYS, FeedState, FeedStatus};
use lineside_sync::UnixMillis;
use maud::{Markup, html};

use super::{icons, words};
use crate::network_names;

/// Networks of recordings that a list names.
const RECORDINGS_MAX: usize = 5;

/// Renders the icon and the word of a state.
fn render_state_icon_and_word(state: FeedState) -> Markup {
    let (icon, state_name) = match state {
        FeedState::Ok => (icons::ok(), "OK"),
        FeedState::Late => (icons::late(), "Late"),
        FeedState::Stale => (icons::stale(), "Stale"),
        FeedState::Expired => (icons::expired(), "Expired"),
        FeedState::Failing => (icons::failing(), "Failing"),
        FeedState::Empty => (icons::empty(), "Empty"),
        FeedState::Paused => (icons::paused(), "Paused"),
        FeedState::Unknown => (icons::unknown(), "Unknown"),
    };
    html! { (icon) span { (state_name) } }
}

/// Renders a feed's state, which the page's script updates.
pub(super) fn render_live_state(feed: &str, state: FeedState) -> Markup {
    html! { span.state data-state-of=(feed) data-state=(state) { (render_state_icon_and_word(state)) } }
}

/// Renders a feed's state as a filled label, for a page's head.
pub(super) fn render_live_state_label(feed: &str, state: FeedState) -> Markup {
    html! { span.state.filled data-state-of=(feed) data-state=(state) { (render_state_icon_and_word(state)) } }
}

/// Renders a state that is not updated.
pub(super) fn render_static_state(state: FeedState) -> Markup {
    html! { span.state data-state=(state) { (render_state_icon_and_word(state)) } }
}

/// Renders the time since which a feed is in its state; the page's script updates it.
pub(super) fn render_since(feed: &str, status: &FeedStatus, zone: &TimeZone) -> Markup {
    let name = zone.iana_name().unwrap_or("UTC");
    // Browsers abbreviate zones in other ways than the page's other times.
    let abbreviation = words::zone_name(status.since.unix_seconds(), zone);
    html! { span.soft.small data-since-of=(feed) data-zone=(name) data-zone-name=(abbreviation) { span data-since-word { (since_word(status.state)) } " " (words::render_time_with_zone(status.since, zone)) } }
}

/// Returns the word before the beginning of a state. The server knows when a timetable ended and since when it has had
/// good data; it sees other trouble only from its start.
fn since_word(state: FeedState) -> &'static str {
    if matches!(state, FeedState::Ok | FeedState::Expired) { "since" } else { "seen since" }
}

/// The days of service of a timetable, from today.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TimetableCountdown {
    /// Days until the last service day; negative once it is past.
    pub(crate) days_left: Option<i64>,
    /// Days until the first service day; 0 once it has come.
    pub(crate) days_until_start: Option<i64>,
}

impl TimetableCountdown {
    /// Returns the countdown of a feed; empty unless it is a schedule.
    pub(super) fn for_feed(feed: &Feed) -> Self {
        let (window, now) = (feed.service_date_range(), feed.network().data_time_now());
        Self {
            days_left: window.as_ref().and_then(|window| window.days_until_end(now)),
            days_until_start: window.as_ref().and_then(|window| window.days_until_start(now)),
        }
    }
}

/// Renders a tag if a timetable is not yet valid, expires soon, or has expired while the state is another one; the
/// page's script updates it.
pub(super) fn render_timetable_validity_tag(
    feed: &str,
    service: TimetableCountdown,
    state: FeedState,
) -> Markup {
    let (service_text, tone) = describe_timetable_validity(service, state);
    html! { span.tag.service-tag data-service-of=(feed) data-tone=(tone) hidden[service_text.is_empty()] { (service_text) } }
}

/// Renders the tag of a feed's current timetable.
pub(super) fn render_validity_tag_of_feed(feed: &Feed, state: FeedState) -> Markup {
    render_timetable_validity_tag(feed.id().as_str(), TimetableCountdown::for_feed(feed), state)
}

/// Returns the tag's text and tone. `web/plain/words.js` does the same.
fn describe_timetable_validity(
    service: TimetableCountdown,
    state: FeedState,
) -> (String, &'static str) {
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

/// Renders a tag with the recorded day if a network plays a recording.
pub(super) fn render_recording_tag(network: &Network) -> Markup {
    let zone = words::network_zone(network);
    html! {
        @if let Some(now) = network.replayed_time_now() {
            @let ended = network.replay_ended_at();
            @let at = ended.unwrap_or(now);
            span.tag.recording-tag data-ended[ended.is_some()] data-recording-of=(network.id()) title="Times on this page are those of the recording" {
                "Recording of "
                time datetime=(words::format_rfc3339(at.unix_seconds(), &zone)) { (words::format_day_of_time(at, &zone)) }
                @if ended.is_some() { ", ended" }
            }
        }
    }
}

/// Renders the state icons as templates for the page's script.
pub(super) fn render_state_templates() -> Markup {
    html! {
        @for state in FeedState::ALL {
            template id=(format!("state-{state}")) { (render_state_icon_and_word(state)) }
        }
    }
}

/// Renders the recording's tag as a line of a page's head.
pub(super) fn render_recording_line(network: &Network) -> Markup {
    html! { @if network.replayed_time_now().is_some() { p { (render_recording_tag(network)) } } }
}

/// Renders the networks that play a recording, for a page that shows many; nothing if there are none.
pub(super) fn render_recording_networks(app: &App) -> Markup {
    let mut networks = app.ingest().networks();
    networks.retain(|network| network.replayed_time_now().is_some());
    html! {
        @if !networks.is_empty() {
            ul.recordings.small {
                @for network in networks.iter().take(RECORDINGS_MAX) {
                    li { (network_names::network_name(app, network)) ": " (render_recording_tag(network)) }
                }
                @if networks.len() > RECORDINGS_MAX { li.soft { "and " (networks.len() - RECORDINGS_MAX) " more recordings" } }
            }
        }
    }
}

/// Returns the usual spelling of a format.
pub(super) fn format_display_name(format: Option<Format>) -> &'static str {
    format.map_or("not yet known", Format::display_name)
}

/// Renders the age of the data by their own time; the page's script updates it. For a recording, the age is relative to
/// the recording's clock. Schedules have no such time: their age is the time since the fetch.
pub(super) fn render_data_age(feed: &Feed, status: &FeedStatus, wall: UnixMillis) -> Markup {
    let now = feed.network().data_time_now();
    let behind = (wall.0 - now.0) / 1000;
    html! {
        @if let Some(at) = status.data_time {
            span.age data-age-of=(feed.id()) data-time=(at.0 / 1000) data-behind=[(behind > 1).then_some(behind)] {
                (words::format_age((now.0 - at.0) / 1000))
            }
        } @else if let Some(at) = status.last_success {
            span.age { "fetched " span.nowrap { (words::format_age((wall.0 - at.0) / 1000)) } }
        } @else { span.soft { "none yet" } }
    }
}

/// Returns the smallest channel with a feed's state. Every channel's state contains the record of its feed, and one
/// feed's alerts are few; a schedule has none.
pub(super) fn state_channel(feed: &Feed, format: Option<Format>) -> String {
    let id = feed.config().id.as_str();
    match format {
        Some(format) if format.is_schedule() || format.is_realtime() => format!("alerts/{id}"),
        _ => format!("feed/{id}"),
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
            let service = TimetableCountdown { days_left: case[0].as_i64(), days_until_start };
            let (service_text, tone) = describe_timetable_validity(service, state);
            assert_eq!((Some(&*service_text), Some(tone)), (case[2].as_str(), case[3].as_str()));
        }
    }

    #[test]
    fn every_state_has_a_word_besides_its_color() {
        for state in FeedState::ALL {
            let text = render_live_state("x", state).into_string();
            let state_name = state.as_str();
            assert!(text.to_lowercase().contains(&format!("<span>{state_name}</span>")), "{text}");
        }
    }
}
