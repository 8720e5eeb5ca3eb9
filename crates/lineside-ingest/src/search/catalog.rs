//! Catalog search: feeds by their configuration, and by the routes and stops of their schedules.

use std::sync::Arc;

use lineside_formats::gtfs::RouteIdx;

use super::{
    fold::{fold_text, has_words, query_words},
    routes::RouteQuery,
    stops::{StopQuery, correct_words, search_stops_by_words},
};
use crate::{dataset::Dataset, feed::Feed, limits::SEARCH_LIMIT_MAX, network::Network};

/// The kind of a hit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CatalogHitKind {
    /// A feed, by its id, name, publisher, theme, description or format.
    Feed,
    /// A route of the feed's schedule.
    Route {
        /// `route_id`.
        id: String,
        /// Short name and long name.
        name: String,
    },
    /// A stop of the feed's schedule.
    Stop {
        /// `stop_id`.
        id: String,
        /// The stop's name.
        name: String,
    },
}

/// A hit and its feed.
#[derive(Clone, Debug)]
pub struct CatalogHit {
    /// The feed.
    pub feed: Arc<Feed>,
    /// The kind of the hit.
    pub kind: CatalogHitKind,
}

/// The results of a catalog search.
#[derive(Clone, Debug, Default)]
pub struct CatalogResults {
    /// Feeds, then routes, then stops, at most [`SEARCH_LIMIT_MAX`] of each, the best matches first.
    pub hits: Vec<CatalogHit>,
    /// The corrected query, if the original one has no hits.
    pub corrected: Option<String>,
}

/// Searches for feeds, then routes, then stops, at most `limit` of each. A query without hits is repeated with its
/// misspelled words corrected.
pub(crate) fn search_catalog(
    feeds: &[Arc<Feed>],
    networks: &[Arc<Network>],
    query: &str,
    limit: usize,
) -> CatalogResults {
    let limit = limit.min(SEARCH_LIMIT_MAX);
    let words = query_words(query);
    if words.is_empty() {
        return CatalogResults::default();
    }
    let hits = find_feeds(feeds, networks, query, limit);
    if !hits.is_empty() {
        return CatalogResults { hits, corrected: None };
    }
    let Some(words) = correct_words(networks, &words) else { return CatalogResults::default() };
    let corrected = words.join(" ");
    let hits = find_feeds(feeds, networks, &corrected, limit);
    let is_found = !hits.is_empty();
    CatalogResults { hits, corrected: is_found.then_some(corrected) }
}

fn find_feeds(
    feeds: &[Arc<Feed>],
    networks: &[Arc<Network>],
    query: &str,
    limit: usize,
) -> Vec<CatalogHit> {
    let words = query_words(query);
    let found =
        feeds.iter().filter(|feed| has_words(&fold_text(&describe_feed(feed)), &words)).take(limit);
    let mut hits: Vec<CatalogHit> = found
        .map(|feed| CatalogHit { feed: Arc::clone(feed), kind: CatalogHitKind::Feed })
        .collect();
    hits.extend(search_routes(networks, &RouteQuery::new(words), limit));
    let query = StopQuery { text: Some(query.to_owned()), limit, ..StopQuery::default() };
    hits.extend(search_stops_by_words(networks, &query).into_iter().filter_map(|hit| {
        let stop = hit.dataset.timetable.stop(hit.stop);
        let kind = CatalogHitKind::Stop { id: stop.id.to_owned(), name: stop.name.to_owned() };
        Some(CatalogHit { feed: hit.network.schedule_feed()?, kind })
    }));
    hits
}

fn describe_feed(feed: &Feed) -> String {
    let config = feed.config();
    let status = feed.status();
    let texts = [
        Some(config.id.as_str()),
        config.name.as_deref(),
        config.publisher.as_deref(),
        config.theme.as_deref(),
        config.description.as_deref(),
        status.format.map(|format| format.as_str()),
    ];
    texts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn search_routes(networks: &[Arc<Network>], query: &RouteQuery, limit: usize) -> Vec<CatalogHit> {
    let mut found = Vec::new();
    for network in networks {
        let (Some(dataset), Some(feed)) = (network.dataset(), network.schedule_feed()) else {
            continue;
        };
        for (rank, idx) in rank_routes(&dataset, query) {
            let route = dataset.timetable.route(idx);
            let names = [route.short_name, route.long_name].into_iter();
            let name = names.filter(|name| !name.is_empty()).collect::<Vec<_>>().join(" ");
            let kind = CatalogHitKind::Route { id: route.id.to_owned(), name };
            found.push((rank, CatalogHit { feed: Arc::clone(&feed), kind }));
        }
    }
    found.sort_by_key(|&(rank, _)| rank);
    found.into_iter().take(limit).map(|(_, hit)| hit).collect()
}

/// Returns the matching routes of a dataset with their rank: the least is best.
fn rank_routes(
    dataset: &Dataset,
    query: &RouteQuery,
) -> impl Iterator<Item = ((u8, usize), RouteIdx)> {
    let routes = dataset.timetable.routes().zip(dataset.search.route_names());
    routes.filter_map(|(route, folded)| {
        let rank = query.rank_route(folded, &fold_text(route.short_name), route.kind)?;
        Some(((rank, route.short_name.len()), route.idx))
    })
}

impl Dataset {
    /// Returns the routes that a text names, the best matches first: by names, and as in "line 1", "tram 1" and "T1".
    pub fn find_routes(&self, text: &str) -> Vec<RouteIdx> {
        let words = query_words(text);
        if words.is_empty() {
            return Vec::new();
        }
        let query = RouteQuery::new(words);
        let mut found: Vec<_> = rank_routes(self, &query).collect();
        found.sort_by_key(|&(rank, _)| rank);
        found.into_iter().map(|(_, route)| route).collect()
    }
}
