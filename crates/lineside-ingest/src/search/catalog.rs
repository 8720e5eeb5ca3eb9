//! The catalog's search: feeds by what is configured of them, and by the routes and stops of their schedules.

use std::sync::Arc;

use super::{
    fold::{fold, has_words, query_words},
    stops::{StopQuery, stops},
};
use crate::{feed::Feed, limits::SEARCH_LIMIT_MAX, network::Network};

/// What of a feed was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CatalogHitKind {
    /// The feed itself: its id, name, publisher, theme or format.
    Feed,
    /// A route of its schedule.
    Route {
        /// `route_id`.
        id: String,
        /// Short name and long name.
        name: String,
    },
    /// A stop of its schedule.
    Stop {
        /// `stop_id`.
        id: String,
        /// Its name.
        name: String,
    },
}

/// A thing that was found, and the feed that has it.
#[derive(Clone, Debug)]
pub struct CatalogHit {
    /// The feed.
    pub feed: Arc<Feed>,
    /// What of it.
    pub kind: CatalogHitKind,
}

/// Finds feeds, then routes, then stops, at most `limit` of each.
pub(crate) fn catalog(
    feeds: &[Arc<Feed>],
    networks: &[Arc<Network>],
    query: &str,
    limit: usize,
) -> Vec<CatalogHit> {
    let limit = limit.min(SEARCH_LIMIT_MAX);
    let words = query_words(query);
    if words.is_empty() {
        return Vec::new();
    }
    let found = feeds.iter().filter(|feed| has_words(&fold(&describe(feed)), &words)).take(limit);
    let mut hits: Vec<CatalogHit> = found
        .map(|feed| CatalogHit { feed: Arc::clone(feed), kind: CatalogHitKind::Feed })
        .collect();
    hits.extend(networks.iter().flat_map(|network| routes(network, &words)).take(limit));
    let query = StopQuery { text: Some(query.to_owned()), limit, ..StopQuery::default() };
    hits.extend(stops(networks, &query).into_iter().filter_map(|hit| {
        let stop = hit.dataset.timetable.stop(hit.stop);
        let kind = CatalogHitKind::Stop { id: stop.id.to_owned(), name: stop.name.to_owned() };
        Some(CatalogHit { feed: hit.network.schedule_feed()?, kind })
    }));
    hits
}

fn describe(feed: &Feed) -> String {
    let config = feed.config();
    let status = feed.status();
    let texts = [
        Some(config.id.as_str()),
        config.name.as_deref(),
        config.publisher.as_deref(),
        config.theme.as_deref(),
        status.format.map(|format| format.as_str()),
    ];
    texts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn routes(network: &Arc<Network>, words: &[String]) -> Vec<CatalogHit> {
    let (Some(dataset), Some(feed)) = (network.dataset(), network.schedule_feed()) else {
        return Vec::new();
    };
    let timetable = &dataset.timetable;
    let folded = dataset.search.routes().iter();
    let found = timetable.routes().zip(folded).filter(|(_, name)| has_words(name, words));
    let hits = found.take(SEARCH_LIMIT_MAX).map(|(route, _)| {
        let names = [route.short_name, route.long_name].into_iter().filter(|name| !name.is_empty());
        let (id, name) = (route.id.to_owned(), names.collect::<Vec<_>>().join(" "));
        CatalogHit { feed: Arc::clone(&feed), kind: CatalogHitKind::Route { id, name } }
    });
    hits.collect()
}
