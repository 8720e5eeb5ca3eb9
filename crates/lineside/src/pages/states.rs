//! States of feeds as signs: a shape and a word, in a color that only repeats them.

use jiff::tz::TimeZone;
use lineside_formats::Format;
use lineside_ingest::{EXPIRES_SOON_DAYS, Feed, FeedState, FeedStatus};
use maud::{Markup, html};

use super::{icons, words};

/// What the sign shows.
fn inside(state: FeedState) -> Markup {
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
pub(super) fn sign(feed: &str, state: FeedState) -> Markup {
    html! { span.state data-state-of=(feed) data-state=(state) { (inside(state)) } }
}

/// The same as a filled label, for a page's head.
pub(super) fn label(feed: &str, state: FeedState) -> Markup {
    html! { span.state.filled data-state-of=(feed) data-state=(state) { (inside(state)) } }
}

/// The sign of a state that stays as it is.
pub(super) fn mark(state: FeedState) -> Markup {
    html! { span.state data-state=(state) { (inside(state)) } }
}

/// Since when a feed is in its state; the page's script keeps it.
pub(super) fn since(feed: &str, status: &FeedStatus, zone: &TimeZone) -> Markup {
    let name = zone.iana_name().unwrap_or("UTC");
    html! { span.soft.small data-since-of=(feed) data-zone=(name) { "since " (words::time_at(status.since, zone)) } }
}

/// That a timetable expires soon, or has expired while the state says something else; the page's script keeps it.
pub(super) fn service_tag(feed: &str, days_left: Option<i64>, state: FeedState) -> Markup {
    let (words, tone) = service_words(days_left, state);
    html! { span.tag.service-tag data-service-of=(feed) data-tone=(tone) hidden[words.is_empty()] { (words) } }
}

/// What the tag says, and how much it matters. `web/plain/words.js` says the same.
fn service_words(days_left: Option<i64>, state: FeedState) -> (String, &'static str) {
    match days_left {
        Some(..0) if state != FeedState::Expired => ("Expired".to_owned(), "bad"),
        Some(0) => ("Expires today".to_owned(), "warn"),
        Some(1) => ("Expires tomorrow".to_owned(), "warn"),
        Some(days @ 2..=EXPIRES_SOON_DAYS) => (format!("Expires in {days} days"), "warn"),
        _ => (String::new(), "none"),
    }
}

/// Days until a feed's timetable ends, if it is a schedule.
pub(super) fn service_days_left(feed: &Feed) -> Option<i64> {
    feed.service_window()?.days_left(feed.network().now())
}

/// The signs for the page's script to choose from.
pub(super) fn templates() -> Markup {
    html! {
        @for state in FeedState::ALL {
            template id=(format!("state-{state}")) { (inside(state)) }
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
    fn the_end_of_service_is_told_in_the_same_words_as_by_the_script() {
        let cases = words::tests::cases();
        for case in cases["service"].as_array().expect("a list of cases") {
            let state = case[1].as_str().and_then(FeedState::parse).expect("a state");
            let (words, tone) = service_words(case[0].as_i64(), state);
            assert_eq!((Some(&*words), Some(tone)), (case[2].as_str(), case[3].as_str()));
        }
    }

    #[test]
    fn every_state_has_a_word_besides_its_color() {
        for state in FeedState::ALL {
            let text = sign("x", state).into_string();
            let word = state.as_str();
            assert!(text.to_lowercase().contains(&format!("<span>{word}</span>")), "{text}");
        }
    }
}
