//! States of feeds as signs: a shape and a word, in a color that only repeats them.

use lineside_formats::Format;
use lineside_ingest::FeedState;
use maud::{Markup, html};

use super::icons;

/// What the sign shows.
fn inside(state: FeedState) -> Markup {
    let (icon, word) = match state {
        FeedState::Ok => (icons::ok(), "OK"),
        FeedState::Late => (icons::late(), "Late"),
        FeedState::Stale => (icons::stale(), "Stale"),
        FeedState::Failing => (icons::failing(), "Failing"),
        FeedState::Empty => (icons::empty(), "Empty"),
        FeedState::Unknown => (icons::unknown(), "Unknown"),
    };
    html! { (icon) span { (word) } }
}

/// Whether people who rely on a feed would be misled by what it says, or by its silence.
pub(super) fn misleads_riders(state: FeedState) -> bool {
    matches!(state, FeedState::Late | FeedState::Stale | FeedState::Failing)
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
    fn every_state_has_a_word_besides_its_color() {
        for state in FeedState::ALL {
            let text = sign("x", state).into_string();
            let word = state.as_str();
            assert!(text.to_lowercase().contains(&format!("<span>{word}</span>")), "{text}");
        }
    }
}
