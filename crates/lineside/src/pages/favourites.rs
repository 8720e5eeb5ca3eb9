//! Favourites: a star beside a stop or a line, and the list of what is starred. The reader's browser keeps them
//! (`web/plain/favourites.js`), so both are hidden where no scripts run.

use maud::{Markup, html};

use super::icons;

/// The script and the style sheet that a page with a star or the list needs.
pub(super) const SCRIPT: &str = "star.js";
pub(super) const STYLE: &str = "favourites.css";

/// What a star stands beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FavouriteKind {
    Stop,
    Line,
}

impl FavouriteKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Line => "line",
        }
    }
}

/// The star of a stop or a line. `address` is its page, `name` how the list calls it.
pub(super) fn star(kind: FavouriteKind, address: &str, name: &str) -> Markup {
    html! {
        button.star type="button" hidden aria-pressed="false" title="Favourite" data-favourite=(kind.as_str()) data-href=(address) data-name=(name) {
            (icons::star())
            span.visually-hidden { "Favourite" }
        }
    }
}

/// The list of favourites, of one network if it is given.
pub(super) fn list(network: Option<&str>) -> Markup {
    html! {
        section.card.favourites data-favourites data-network=[network] aria-labelledby="favourites-title" hidden {
            h2 #favourites-title { "Your stops and lines" }
            ul.favourite-list {}
        }
    }
}
