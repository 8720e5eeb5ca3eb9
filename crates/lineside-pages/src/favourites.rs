//! Favourites: the star of a stop or a line, and the list of starred pages. The reader's browser stores them
//! (`web/plain/favourites.js`), so both are hidden without scripts.

use lineside_http::app::App;
use lineside_ingest::Network;
use maud::{Markup, html};

use super::icons;
use crate::network_names;

/// The script and the style sheet of a page with a star or the list.
pub(super) const SCRIPT: &str = "star.js";
pub(super) const STYLE: &str = "favourites.css";

/// The kind of page that a reader can star.
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

/// Renders the star of a stop or a line of a network. `address` is its page; the list shows its title, with the
/// network's name if the server has several. `badge` is the name and the color of a line.
pub(super) fn render_star(
    app: &App,
    network: &Network,
    kind: FavouriteKind,
    address: &str,
    title: &str,
    badge: Option<(&str, Option<[u8; 3]>)>,
) -> Markup {
    let name = match app.ingest().networks().len() {
        ..=1 => title.to_owned(),
        _ => format!("{title} · {}", network_names::network_name(app, network)),
    };
    let color = badge.and_then(|(_, color)| color);
    let color = color.map(|[red, green, blue]| format!("{red:02x}{green:02x}{blue:02x}"));
    html! {
        button.star type="button" hidden aria-pressed="false" title="Favourite" data-favourite=(kind.as_str()) data-href=(address) data-name=(name) data-badge=[badge.map(|(name, _)| name)] data-color=[color] {
            (icons::star())
            span.visually-hidden { "Favourite" }
        }
    }
}

/// Renders the list of favourites, of one network if given.
pub(super) fn render_list(network: Option<&str>) -> Markup {
    html! {
        section.card.favourites data-favourites data-network=[network] aria-labelledby="favourites-title" hidden {
            h2 #favourites-title { "Your stops and lines" }
            ul.favourite-list {}
        }
    }
}
