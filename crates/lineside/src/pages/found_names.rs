//! What a question finds among the names of stops and lines.

use std::collections::BTreeSet;

use lineside_ingest::{CatalogHit, CatalogHitKind, Feed};

use super::{board, map};
use crate::app::App;

/// Stops and lines that a page lists of each.
const LISTED_MAX: usize = 8;

/// Lines shown with a stop.
const LINES_MAX: usize = 8;

/// A stop that was found.
#[derive(Debug)]
pub(super) struct FoundStop {
    pub(super) feed: String,
    pub(super) id: String,
    pub(super) name: String,
    /// Some of the lines that call there, with their colors: what tells two stops of one name apart.
    pub(super) lines: Vec<(String, Option<[u8; 3]>)>,
}

/// A line that was found.
#[derive(Debug)]
pub(super) struct FoundRoute {
    pub(super) feed: String,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) long_name: String,
    pub(super) color: Option<[u8; 3]>,
}

/// Everything that was found, and the feeds that say it or whose schedule has it.
#[derive(Debug, Default)]
pub(super) struct FoundNames {
    pub(super) stops: Vec<FoundStop>,
    pub(super) routes: Vec<FoundRoute>,
    pub(super) feeds: BTreeSet<String>,
}

/// Looks for a question's words; an empty question finds nothing.
pub(super) fn find_names(app: &App, question: &str) -> FoundNames {
    let mut found = FoundNames::default();
    for CatalogHit { feed, kind } in app.ingest().catalog_search(question) {
        let id = feed.id().to_string();
        match kind {
            CatalogHitKind::Feed => {}
            CatalogHitKind::Stop { id: stop, name } if found.stops.len() < LISTED_MAX => {
                let lines = lines_at(&feed, &stop);
                found.stops.push(FoundStop { feed: id.clone(), id: stop, name, lines });
            }
            CatalogHitKind::Route { id: route, .. } if found.routes.len() < LISTED_MAX => {
                found.routes.extend(route_of(&feed, &route));
            }
            CatalogHitKind::Stop { .. } | CatalogHitKind::Route { .. } => {}
        }
        found.feeds.insert(id);
    }
    found
}

fn lines_at(feed: &Feed, stop: &str) -> Vec<(String, Option<[u8; 3]>)> {
    let Some(timetable) = feed.network().timetable() else { return Vec::new() };
    let Some(stop) = timetable.find_stop(stop) else { return Vec::new() };
    let mut lines: Vec<_> = timetable
        .stop_and_descendants(stop)
        .into_iter()
        .flat_map(|stop| timetable.routes_of_stop(stop))
        .map(|route| timetable.route(route))
        .map(|route| (route.name().len(), route.name().to_owned(), route.color))
        .collect();
    lines.sort();
    lines.dedup();
    lines.into_iter().map(|(_, name, color)| (name, color)).take(LINES_MAX).collect()
}

fn route_of(feed: &Feed, id: &str) -> Option<FoundRoute> {
    let timetable = feed.network().timetable()?;
    let route = timetable.route(timetable.find_route(id)?);
    Some(FoundRoute {
        feed: feed.id().to_string(),
        id: id.to_owned(),
        name: route.name().to_owned(),
        long_name: route.long_name.to_owned(),
        color: route.color,
    })
}

impl FoundStop {
    /// Its departure board.
    pub(super) fn address(&self) -> String {
        board::address(&self.feed, &self.id)
    }
}

impl FoundRoute {
    /// The map with only this line.
    pub(super) fn address(&self) -> String {
        format!("/map?route={}:{}", self.feed, map::query_value(&self.id))
    }

    pub(super) fn title(&self) -> &str {
        if self.long_name.is_empty() { &self.name } else { &self.long_name }
    }
}
