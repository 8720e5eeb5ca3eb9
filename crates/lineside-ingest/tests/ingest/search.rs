//! Tests of stop and route search, with an ingest whose only source is a folder.

use std::{fs, path::Path, sync::Arc};

use lineside_ingest::{CatalogHitKind, Ingest, StopHit};
use lineside_model::{BoundingBox, FeedConfig, SourceLocation, StopSearchQuery};
use lineside_testkit::wait_until;

use crate::{
    running::{start, write_city},
    support::*,
};

async fn ingest() -> (Arc<Ingest>, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    write_city(dir.path());
    number_stops(&dir.path().join("stops.txt"));
    let mut config = FeedConfig::new(feed("city"), SourceLocation::Path(dir.path().to_owned()));
    config.publisher = Some("Ville de Zürich".into());
    let ingest = start(vec![config]);
    wait_until("the feed is polled", async || ingest.feeds()[0].has_been_polled()).await;
    (ingest, dir)
}

/// Gives each stop a code, beginning with `100`.
fn number_stops(file: &Path) {
    let rows = fs::read_to_string(file).unwrap();
    let mut rows = rows.lines().filter(|row| !row.is_empty());
    let mut numbered = format!("{},stop_code\n", rows.next().unwrap());
    for (at, row) in rows.enumerate() {
        numbered += &format!("{row},{}\n", 100 + at);
    }
    fs::write(file, numbered).unwrap();
}

fn ids(hits: &[StopHit]) -> Vec<String> {
    hits.iter().map(|hit| hit.dataset.timetable.stop(hit.stop).id.to_owned()).collect()
}

fn query(text: &str) -> StopSearchQuery {
    StopSearchQuery { text: Some(text.into()), limit: 10, ..StopSearchQuery::default() }
}

#[tokio::test]
async fn stops_are_found_by_name_box_and_distance() {
    let (ingest, _dir) = ingest().await;
    assert_eq!(ingest.feeds()[0].status().reason, "responds with fresh data");
    assert_eq!(ids(&ingest.search_stops(&query("nord bass"))), ["B"]);
    assert_eq!(ids(&ingest.search_stops(&query("DOCKS east"))), ["D"]);
    // The station is found instead of its platforms.
    assert_eq!(ids(&ingest.search_stops(&query("cent"))), ["C"]);
    assert_eq!(ids(&ingest.search_stops(&query("xyz"))), [""; 0]);
    let bbox = BoundingBox::parse("2.3,48.865,2.4,48.9");
    let boxed = StopSearchQuery { bbox, limit: 10, ..StopSearchQuery::default() };
    assert_eq!(ids(&ingest.search_stops(&boxed)).len(), 2);
    let near =
        StopSearchQuery { near: Some((48.919, 2.34)), limit: 2, ..StopSearchQuery::default() };
    let hits = ingest.search_stops(&near);
    assert_eq!(ids(&hits), ["A", "D"]);
    let meters = hits[0].distance.unwrap();
    assert!((meters - 111.2).abs() < 0.5, "{meters}");
    ingest.stop_polling().await;
}

#[tokio::test]
async fn names_with_the_whole_words_of_a_query_are_first() {
    let dir = tempfile::tempdir().unwrap();
    write_city(dir.path());
    let file = dir.path().join("stops.txt");
    let rows = fs::read_to_string(&file).unwrap();
    // Without a point, the shorter of two equal matches is first.
    let more =
        "s1,Sanford,48.9,2.3,0,,\ns2,San Antonio,48.9,2.3,0,,\ns3,East of San Jose,48.9,2.3,0,,\n";
    fs::write(&file, format!("{}\n{more}", rows.trim_end())).unwrap();
    let config = FeedConfig::new(feed("city"), SourceLocation::Path(dir.path().to_owned()));
    let ingest = start(vec![config]);
    wait_until("the feed is polled", async || ingest.feeds()[0].has_been_polled()).await;
    assert_eq!(ids(&ingest.search_stops(&query("san"))), ["s2", "s3", "s1"]);
    assert_eq!(ids(&ingest.search_stops(&query("sanf"))), ["s1"]);
    ingest.stop_polling().await;
}

#[tokio::test]
async fn stops_without_trips_are_last() {
    let dir = tempfile::tempdir().unwrap();
    write_city(dir.path());
    let file = dir.path().join("stops.txt");
    let rows = fs::read_to_string(&file).unwrap();
    let unserved = "x,Cent,48.9,2.3,0,,\ny,Aardvark Depot,48.9,2.3,0,,\n";
    fs::write(&file, format!("{}\n{unserved}", rows.trim_end())).unwrap();
    let config = FeedConfig::new(feed("city"), SourceLocation::Path(dir.path().to_owned()));
    let ingest = start(vec![config]);
    wait_until("the feed is polled", async || ingest.feeds()[0].has_been_polled()).await;
    // The name of the first hit only begins with the query; the second has exactly this name.
    assert_eq!(ids(&ingest.search_stops(&query("cent"))), ["C", "x"]);
    let dataset = ingest.networks()[0].dataset().unwrap();
    let stops = dataset.search_stops_page("", 0, 100).stops;
    let names: Vec<&str> = stops.iter().map(|stop| dataset.timetable.stop(*stop).name).collect();
    assert_eq!(names[names.len() - 3..], ["Aardvark Depot", "Cent", "Nowhere"], "{names:?}");
    ingest.stop_polling().await;
}

#[tokio::test]
async fn whole_words_are_found_first_and_names_have_a_natural_order() {
    let dir = tempfile::tempdir().unwrap();
    write_city(dir.path());
    let file = dir.path().join("stops.txt");
    let rows = fs::read_to_string(&file).unwrap();
    let names =
        [("x", "Avenue 1684"), ("y", "1681 St"), ("z", "Upper West Side 168"), ("w", "9 St")];
    let added = names.map(|(id, name)| format!("{id},{name},48.9,2.3,0,,\n")).concat();
    fs::write(&file, format!("{}\n{added}", rows.trim_end())).unwrap();
    let config = FeedConfig::new(feed("city"), SourceLocation::Path(dir.path().to_owned()));
    let ingest = start(vec![config]);
    wait_until("the feed is polled", async || ingest.feeds()[0].has_been_polled()).await;
    assert_eq!(ids(&ingest.search_stops(&query("168"))), ["z", "y", "x"]);
    let dataset = ingest.networks()[0].dataset().unwrap();
    let stops = dataset.search_stops_page("", 0, 100).stops;
    let ids: Vec<&str> = stops.iter().map(|stop| dataset.timetable.stop(*stop).id).collect();
    let place = |id: &str| ids.iter().position(|other| *other == id).unwrap();
    assert!(place("w") < place("y"), "{ids:?}");
    // The initials lead to the first stop of each letter.
    for (initial, at) in dataset.stop_name_initials() {
        let name = dataset.timetable.stop(stops[at]).name.to_lowercase();
        assert!(name.starts_with(initial), "{initial} {at} {name}");
    }
    ingest.stop_polling().await;
}

#[tokio::test]
async fn a_misspelled_name_and_a_code_are_found_near_a_place() {
    let (ingest, _dir) = ingest().await;
    let near = |text: &str| StopSearchQuery { near: Some((48.91, 2.34)), ..query(text) };
    let found = |text: &str| ids(&ingest.search_stops(&near(text)));
    assert_eq!(found("centrl"), ["C"]);
    assert_eq!(found("airport"), ["A"]);
    // Codes of a platform, and of a stop whose name has other words.
    assert_eq!(found("101"), ["C1"]);
    assert_eq!(found(" 104 "), ["B"]);
    assert_eq!(found("C"), ["C"], "an exact id finds one stop");
    assert_eq!(found("xyzzyx"), [""; 0]);
    let hit = &ingest.search_stops(&near("104"))[0];
    assert!(hit.distance.is_some_and(|meters| (meters - 4_448.0).abs() < 10.0));
    let bbox = BoundingBox::parse("2.3,48.915,2.4,48.95");
    let boxed = |text: &str| StopSearchQuery { bbox, ..near(text) };
    assert_eq!(ids(&ingest.search_stops(&boxed("104"))), [""; 0]);
    assert_eq!(
        ids(&ingest.search_stops(&boxed("airprot"))),
        [""; 0],
        "a search in a box corrects no typing errors"
    );
    assert_eq!(ids(&ingest.search_stops(&boxed("103"))), ["A"]);
    ingest.stop_polling().await;
}

#[tokio::test]
async fn near_a_place_the_best_match_comes_first_and_stops_without_routes_last() {
    let dir = tempfile::tempdir().unwrap();
    write_city(dir.path());
    let file = dir.path().join("stops.txt");
    let rows = fs::read_to_string(&file).unwrap();
    let first = rows.lines().find(|row| !row.is_empty()).unwrap();
    let column = |name: &str| first.split(',').position(|column| column == name).unwrap();
    let mut row = vec![""; first.split(',').count()];
    row[column("stop_id")] = "unserved";
    row[column("stop_name")] = "Airport";
    (row[column("stop_lat")], row[column("stop_lon")]) = ("48.91", "2.34");
    fs::write(&file, format!("{}\n{}\n", rows.trim_end(), row.join(","))).unwrap();
    let config = FeedConfig::new(feed("city"), SourceLocation::Path(dir.path().to_owned()));
    let ingest = start(vec![config]);
    wait_until("the feed is polled", async || ingest.feeds()[0].has_been_polled()).await;
    for near in [None, Some((48.91, 2.34))] {
        let found = ids(&ingest.search_stops(&StopSearchQuery { near, ..query("airport") }));
        assert_eq!(found, ["A", "unserved"], "{near:?}");
    }
    let nearest =
        StopSearchQuery { near: Some((48.91, 2.34)), limit: 1, ..StopSearchQuery::default() };
    assert_eq!(ids(&ingest.search_stops(&nearest)), ["unserved"], "without words, by distance");
    ingest.stop_polling().await;
}

#[tokio::test]
async fn the_catalog_search_finds_feeds_routes_and_stops() {
    let (ingest, _dir) = ingest().await;
    let kinds = |text: &str| -> Vec<CatalogHitKind> {
        ingest.search_catalog(text).hits.into_iter().map(|hit| hit.kind).collect()
    };
    assert_eq!(kinds("zurich gtfs"), [CatalogHitKind::Feed]);
    let route = CatalogHitKind::Route { id: "R1".into(), name: "12 Harbor – Airport".into() };
    let stop = CatalogHitKind::Stop { id: "A".into(), name: "Airport".into() };
    assert_eq!(kinds("airport"), [route.clone(), stop.clone()]);
    assert_eq!(kinds("line 12"), std::slice::from_ref(&route));
    let misspelled = ingest.search_catalog("airprot");
    assert_eq!(misspelled.corrected.as_deref(), Some("airport"));
    let found: Vec<_> = misspelled.hits.into_iter().map(|hit| hit.kind).collect();
    assert_eq!(found, [route, stop]);
    assert_eq!(ids(&ingest.search_stops(&query("airprot"))), ["A"]);
    assert_eq!(kinds("xyzzyx"), []);
    assert_eq!(kinds(" "), []);
    ingest.stop_polling().await;
}
