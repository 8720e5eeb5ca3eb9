//! Finding stops and routes: through an ingest whose only source is a folder.

use std::sync::Arc;

use lineside_ingest::{
    BoundingBox, CatalogHitKind, FeedConfig, Ingest, Location, StopHit, StopQuery,
};

use crate::{
    running::{start, until, write_city},
    support::*,
};

async fn ingest() -> (Arc<Ingest>, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    write_city(dir.path());
    let mut config = FeedConfig::new(feed("city"), Location::Path(dir.path().to_owned()));
    config.publisher = Some("Ville de Zürich".into());
    let ingest = start(vec![config]);
    until("it is tried", || ingest.feeds()[0].was_tried()).await;
    (ingest, dir)
}

fn ids(hits: &[StopHit]) -> Vec<String> {
    hits.iter().map(|hit| hit.dataset.timetable.stop(hit.stop).id.to_owned()).collect()
}

fn query(text: &str) -> StopQuery {
    StopQuery { text: Some(text.into()), limit: 10, ..StopQuery::default() }
}

#[tokio::test]
async fn stops_are_found_by_name_box_and_nearness() {
    let (ingest, _dir) = ingest().await;
    assert_eq!(ingest.feeds()[0].status().reason, "answers, with fresh data");
    assert_eq!(ids(&ingest.stops_search(&query("nord bass"))), ["B"]);
    assert_eq!(ids(&ingest.stops_search(&query("DOCKS east"))), ["D"]);
    // A station stands for its platforms.
    assert_eq!(ids(&ingest.stops_search(&query("cent"))), ["C"]);
    assert_eq!(ids(&ingest.stops_search(&query("xyz"))), [""; 0]);
    let bbox = BoundingBox::parse("2.3,48.865,2.4,48.9");
    let boxed = StopQuery { bbox, limit: 10, ..StopQuery::default() };
    assert_eq!(ids(&ingest.stops_search(&boxed)).len(), 2);
    let near = StopQuery { near: Some((48.919, 2.34)), limit: 2, ..StopQuery::default() };
    let hits = ingest.stops_search(&near);
    assert_eq!(ids(&hits), ["A", "D"]);
    let meters = hits[0].distance.unwrap();
    assert!((meters - 111.2).abs() < 0.5, "{meters}");
    ingest.shut_down().await;
}

#[tokio::test]
async fn the_catalog_is_found_by_feed_route_and_stop() {
    let (ingest, _dir) = ingest().await;
    let kinds = |text: &str| -> Vec<CatalogHitKind> {
        ingest.catalog_search(text).hits.into_iter().map(|hit| hit.kind).collect()
    };
    assert_eq!(kinds("zurich gtfs"), [CatalogHitKind::Feed]);
    let route = CatalogHitKind::Route { id: "R1".into(), name: "12 Harbor – Airport".into() };
    let stop = CatalogHitKind::Stop { id: "A".into(), name: "Airport".into() };
    assert_eq!(kinds("airport"), [route.clone(), stop.clone()]);
    assert_eq!(kinds("line 12"), std::slice::from_ref(&route));
    let misspelled = ingest.catalog_search("airprot");
    assert_eq!(misspelled.corrected.as_deref(), Some("airport"));
    let found: Vec<_> = misspelled.hits.into_iter().map(|hit| hit.kind).collect();
    assert_eq!(found, [route, stop]);
    assert_eq!(ids(&ingest.stops_search(&query("airprot"))), ["A"]);
    assert_eq!(kinds("xyzzyx"), []);
    assert_eq!(kinds(" "), []);
    ingest.shut_down().await;
}
