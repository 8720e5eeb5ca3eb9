//! Search over all networks: stops, and feeds by their configuration or by the routes and stops of their schedules.

use std::sync::Arc;

use lineside_formats::gtfs::StopIdx;

use crate::{
    catalog::{Feed, Network},
    dataset::Dataset,
    limits::{SEARCH_LIMIT_MAX, SPELLING_COMPARISONS_MAX},
    search::{
        StopSearchQuery,
        fold::{fold_for_search, has_words_by_prefix, parse_query_words},
        routes::RouteQuery,
        stops::correct_misspelled_words,
    },
};

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
    pub feed: Arc<Feed>,
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

/// A stop that matches a search.
#[derive(Clone, Debug)]
pub struct StopHit {
    pub network: Arc<Network>,
    pub dataset: Arc<Dataset>,
    pub stop: StopIdx,
    /// Distance in meters from the requested point.
    pub distance: Option<f64>,
}

/// Searches for stops in all networks: stations instead of their platforms, no entrances; the nearest first, else the
/// best matching names.
pub(crate) fn search_stops(networks: &[Arc<Network>], query: &StopSearchQuery) -> Vec<StopHit> {
    let hits = search_stops_without_correction(networks, query);
    // For a box, an empty result is no sign of a misspelling.
    let is_corrected = hits.is_empty() && query.bbox.is_none();
    let corrected = query.text.as_deref().filter(|_| is_corrected);
    match corrected.and_then(|text| correct_query_spelling(networks, &parse_query_words(text))) {
        Some(words) => search_stops_without_correction(
            networks,
            &StopSearchQuery { text: Some(words.join(" ")), ..query.clone() },
        ),
        None => hits,
    }
}

/// Corrects the misspelled words of a query: those that begin no word of any stop or route. `None` if there is nothing
/// to correct.
fn correct_query_spelling(networks: &[Arc<Network>], words: &[String]) -> Option<Vec<String>> {
    let datasets: Vec<Arc<Dataset>> = networks.iter().filter_map(|it| it.dataset()).collect();
    let mut left = SPELLING_COMPARISONS_MAX;
    let has_prefix =
        |word: &str| datasets.iter().any(|dataset| dataset.search.is_prefix_of_any_word(word));
    correct_misspelled_words(words, has_prefix, |matcher| {
        for dataset in &datasets {
            dataset.search.compare_with_index_words(matcher, &mut left);
        }
    })
}

/// Searches for stops in all networks by the query's words as written.
fn search_stops_without_correction(
    networks: &[Arc<Network>],
    query: &StopSearchQuery,
) -> Vec<StopHit> {
    let limit = query.limit.min(SEARCH_LIMIT_MAX);
    let mut hits: Vec<(f64, StopHit)> = Vec::new();
    for network in networks {
        let Some(dataset) = network.dataset() else { continue };
        for (rank, stop, distance) in
            dataset.search.search_stops_with_ranks(&dataset.timetable, query, limit)
        {
            let hit = StopHit {
                network: Arc::clone(network),
                dataset: Arc::clone(&dataset),
                stop,
                distance,
            };
            hits.push((rank, hit));
        }
    }
    let meters = |hit: &StopHit| hit.distance.unwrap_or_default();
    hits.sort_by(|(a, near), (b, far)| a.total_cmp(b).then(meters(near).total_cmp(&meters(far))));
    hits.truncate(limit);
    hits.into_iter().map(|(_, hit)| hit).collect()
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
    let words = parse_query_words(query);
    if words.is_empty() {
        return CatalogResults::default();
    }
    let hits = search_feeds_routes_and_stops(feeds, networks, query, limit);
    if !hits.is_empty() {
        return CatalogResults { hits, corrected: None };
    }
    let Some(words) = correct_query_spelling(networks, &words) else {
        return CatalogResults::default();
    };
    let corrected = words.join(" ");
    let hits = search_feeds_routes_and_stops(feeds, networks, &corrected, limit);
    let is_found = !hits.is_empty();
    CatalogResults { hits, corrected: is_found.then_some(corrected) }
}

fn search_feeds_routes_and_stops(
    feeds: &[Arc<Feed>],
    networks: &[Arc<Network>],
    query: &str,
    limit: usize,
) -> Vec<CatalogHit> {
    let words = parse_query_words(query);
    let found = feeds
        .iter()
        .filter(|feed| has_words_by_prefix(&fold_for_search(&searchable_feed_text(feed)), &words))
        .take(limit);
    let mut hits: Vec<CatalogHit> = found
        .map(|feed| CatalogHit { feed: Arc::clone(feed), kind: CatalogHitKind::Feed })
        .collect();
    hits.extend(search_routes(networks, &RouteQuery::new(words), limit));
    let query =
        StopSearchQuery { text: Some(query.to_owned()), limit, ..StopSearchQuery::default() };
    hits.extend(search_stops_without_correction(networks, &query).into_iter().filter_map(|hit| {
        let stop = hit.dataset.timetable.stop(hit.stop);
        let kind = CatalogHitKind::Stop { id: stop.id.to_owned(), name: stop.name.to_owned() };
        Some(CatalogHit { feed: hit.network.schedule_feed()?, kind })
    }));
    hits
}

fn searchable_feed_text(feed: &Feed) -> String {
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
        for (rank, idx) in dataset.search.rank_routes(&dataset.timetable, query) {
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
