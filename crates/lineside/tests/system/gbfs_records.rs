//! The stations and vehicles of a GBFS system: as records, in channels, on the map.

use lineside_testkit::{WAIT_MAX, wait_for_some};
use serde_json::{Value, json};

use crate::support::events::Stream;
use crate::support::http::{assert_problem, get, get_json, problem};
use crate::support::site::{Site, serve};

/// A system of version 2.3 at `/v2`, with typical files.
struct Producer {
    site: Site,
    url: String,
}

impl Producer {
    async fn start(files: &[&str]) -> Self {
        let site = Site::default();
        let url = site.start().await;
        let producer = Self { site, url };
        producer.list(files);
        producer.put(
            "station_information",
            "stations",
            &json!([
                {"station_id": "s1", "name": "Canal", "lat": 59.91, "lon": 10.75, "capacity": 12},
                {"station_id": "s 2/b", "name": "Harbour", "lat": 59.90, "lon": 10.74},
                {"station_id": "lost", "name": "Nowhere", "lat": 0, "lon": 0},
            ]),
        );
        producer.status(3);
        producer.bikes("b1");
        producer
    }

    fn list(&self, files: &[&str]) {
        let feeds: Vec<Value> =
            files.iter().map(|name| json!({"name": name, "url": format!("{name}.json")})).collect();
        let list = json!({"last_updated": 1, "ttl": 0, "version": "2.3", "data": {"en": {"feeds": feeds}}});
        self.site.put("/v2/gbfs.json", &list.to_string());
    }

    fn put(&self, file: &str, list: &str, records: &Value) {
        let body = json!({"last_updated": 1_700_000_000, "ttl": 0, "version": "2.3", "data": {list: records}});
        self.site.put(&format!("/v2/{file}.json"), &body.to_string());
    }

    fn status(&self, bikes: u32) {
        self.put("station_status", "stations", &json!([
            {"station_id": "s1", "num_bikes_available": bikes, "is_renting": 1, "is_installed": "true",
             "is_returning": true, "last_reported": 1_700_000_000, "num_docks_available": 9},
            {"station_id": "s 2/b", "num_bikes_available": 5, "is_renting": false, "last_reported": 1_700_000_000},
        ]));
    }

    fn bikes(&self, id: &str) {
        self.put("free_bike_status", "bikes", &json!([
            {"bike_id": id, "lat": 59.911, "lon": 10.751, "is_reserved": false, "is_disabled": false},
            {"bike_id": "docked", "station_id": "s1", "is_reserved": false, "is_disabled": false},
        ]));
    }

    fn feed(&self) -> String {
        format!(
            "[[feed]]\nid = \"bikes\"\nurl = \"{}/v2/gbfs.json\"\nformat = \"gbfs\"\npoll = \"1s\"\n",
            self.url
        )
    }
}

const FILES: [&str; 3] = ["station_information", "station_status", "free_bike_status"];

/// Returns the records of a channel, each with its kind and id.
async fn records(server: &str, channel: &str) -> Vec<(String, String, Value)> {
    let state = get_json(&format!("{server}/api/v1/state?channel={channel}")).await;
    let changes = state["changes"].as_array().unwrap();
    let text = |change: &Value, key: &str| change[key].as_str().unwrap().to_owned();
    changes.iter().map(|it| (text(it, "kind"), text(it, "id"), it["record"].clone())).collect()
}

async fn wait_for_ids(
    server: &str,
    channel: &str,
    expect: &[&str],
) -> Vec<(String, String, Value)> {
    let fetch_ids = async || {
        let all = records(server, channel).await;
        let ids: Vec<String> = all.iter().map(|(kind, id, _)| format!("{kind} {id}")).collect();
        (ids == expect).then_some(all)
    };
    wait_for_some(&format!("{channel} holds {expect:?}"), fetch_ids).await
}

/// Returns the changes of one kind in the next publication that has any.
async fn next_changes(stream: &mut Stream, kind: &str) -> Vec<Value> {
    loop {
        let event = stream.next_within(WAIT_MAX).await.expect("something changes");
        let changes = event.data["data"]["changes"].as_array().unwrap();
        let kind_changes: Vec<Value> =
            changes.iter().filter(|change| change["kind"] == kind).cloned().collect();
        if !kind_changes.is_empty() {
            return kind_changes;
        }
    }
}

#[tokio::test]
async fn stations_and_vehicles_are_records_of_their_feed_and_the_map() {
    let producer = Producer::start(&FILES).await;
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), &producer.feed()).await;
    let url = &server.url;
    let all = [
        "feed bikes",
        "station lost",
        "station s 2/b",
        "station s1",
        "vehicle b1",
        "vehicle docked",
    ];
    wait_for_ids(url, "feed/bikes", &all).await;
    wait_for_some("the status is joined", async || {
        let all = records(url, "station/bikes/s1").await;
        all.iter().any(|(_, _, record)| record["is_renting"] == true).then_some(())
    })
    .await;
    let station = wait_for_ids(url, "station/bikes/s1", &["feed bikes", "station s1"]).await;
    let expect = json!({
        "station_id": "s1", "name": [{"text": "Canal", "language": "en"}], "lat": 59.91, "lon": 10.75,
        "capacity": 12, "num_vehicles_available": 3, "num_docks_available": 9, "is_installed": true,
        "is_renting": true, "is_returning": true, "last_reported": "2023-11-14T22:13:20Z",
    });
    assert_eq!(station[1].2, expect);
    wait_for_ids(url, "station/bikes/s%25202%252Fb", &["feed bikes", "station s 2/b"]).await;
    wait_for_ids(url, "area/u4xs", &["feed bikes", "station s 2/b", "station s1", "vehicle b1"])
        .await;
    // A vehicle whose id changes cannot be followed.
    wait_for_ids(url, "vehicle/bikes/b1", &["feed bikes"]).await;
    let points = get_json(&format!("{url}/geojson/bikes/stations.geojson")).await;
    let features = points["features"].as_array().unwrap();
    assert_eq!(features.len(), 2, "one has no place");
    assert_eq!(features[1]["geometry"]["coordinates"], json!([10.75, 59.91]));
    assert_eq!(features[1]["properties"]["num_vehicles_available"], 3);
    let points = get_json(&format!("{url}/geojson/bikes/vehicles.geojson")).await;
    assert_eq!(points["features"][0]["properties"]["vehicle_id"], "b1");
    // Problems are reported with their file and field.
    let feed = get_json(&format!("{url}/api/v1/feeds/bikes")).await;
    let problems: Vec<String> = feed["problem_samples"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| format!("{} {} {}", it["file"], it["code"], it["field"]).replace('"', ""))
        .collect();
    for expect in [
        "en/station_status.json unexpected_type stations[0].is_renting",
        "en/station_information.json bad_position stations[2]",
    ] {
        assert!(problems.iter().any(|it| it == expect), "{problems:?}");
    }
    let page = get(&format!("{url}/feeds/bikes")).await.text().await.unwrap();
    assert!(page.contains("stations[0].is_renting"), "{page}");
    for (path, code) in [
        ("/geojson/none/stations.geojson", "unknown_feed"),
        ("/geojson/bikes/stops.geojson", "other_format"),
        ("/gtfs-rt/bikes.pb", "other_format"),
    ] {
        assert_problem(404, code, problem(&format!("{url}{path}")).await);
    }
    server.stop("-TERM");
}

#[tokio::test]
async fn station_changes_are_published_and_removed_files_remove_records() {
    let producer = Producer::start(&FILES).await;
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), &producer.feed()).await;
    let url = &server.url;
    wait_for_some("all is there", async || {
        let all = records(url, "feed/bikes").await;
        let is_joined = |record: &Value| record["num_vehicles_available"] == 3;
        (all.len() == 6 && all.iter().any(|(_, _, it)| is_joined(it))).then_some(())
    })
    .await;
    let mut one = Stream::open(url, "channel=station/bikes/s1").await;
    let mut whole = Stream::open(url, "channel=feed/bikes").await;
    let mut area = Stream::open(url, "channel=area/u4xs").await;
    assert_eq!(next_changes(&mut one, "station").await.len(), 1);
    assert_eq!(next_changes(&mut whole, "station").await.len(), 3);
    assert_eq!(next_changes(&mut area, "station").await.len(), 2);
    producer.status(2);
    for stream in [&mut one, &mut whole, &mut area] {
        let changes = next_changes(stream, "station").await;
        assert_eq!(changes.len(), 1, "{changes:?}");
        assert_eq!((&changes[0]["op"], &changes[0]["id"]), (&json!("upsert"), &json!("s1")));
        assert_eq!(changes[0]["record"]["num_vehicles_available"], 2);
    }
    // After a rental it has another id: one vehicle is removed, another added.
    producer.bikes("b2");
    let changes = next_changes(&mut area, "vehicle").await;
    let listed_changes: Vec<String> =
        changes.iter().map(|it| format!("{} {}", it["op"], it["id"]).replace('"', "")).collect();
    assert_eq!(listed_changes, ["upsert b2", "remove b1"]);
    producer.list(&["station_information"]);
    wait_for_ids(url, "feed/bikes", &["feed bikes", "station lost", "station s 2/b", "station s1"])
        .await;
    let station = records(url, "station/bikes/s1").await;
    assert_eq!(station[1].2.get("num_vehicles_available"), None);
    server.stop("-TERM");
}

#[tokio::test]
async fn a_planned_restart_republishes_no_stations() {
    let producer = Producer::start(&FILES).await;
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), &producer.feed()).await;
    wait_for_some("all is there", async || {
        let all = records(&server.url, "feed/bikes").await;
        let is_joined = |record: &Value| record["num_vehicles_available"] == 3;
        (all.len() == 6 && all.iter().any(|(_, _, it)| is_joined(it))).then_some(())
    })
    .await;
    let mut stream = Stream::open(&server.url, "channel=station/bikes/s1").await;
    next_changes(&mut stream, "station").await;
    let known = stream.last_event_id.clone();
    server.stop("-TERM");
    let server = serve(folder.path(), &producer.feed()).await;
    wait_for_some("its files are asked for again", async || {
        (producer.site.requests_for("/v2/station_status.json").len() >= 4).then_some(())
    })
    .await;
    let mut stream = Stream::resume(&server.url, "channel=station/bikes/s1", &known).await;
    producer.status(1);
    let changes = next_changes(&mut stream, "station").await;
    assert_eq!(changes[0]["record"]["num_vehicles_available"], 1, "nothing else came before");
    server.stop("-TERM");
}

#[tokio::test]
async fn records_older_than_max_age_are_removed() {
    let producer = Producer::start(&FILES).await;
    let folder = tempfile::tempdir().unwrap();
    let feed = format!("{}max_age = \"2s\"\n", producer.feed());
    let server = serve(folder.path(), &feed).await;
    let all = [
        "feed bikes",
        "station lost",
        "station s 2/b",
        "station s1",
        "vehicle b1",
        "vehicle docked",
    ];
    wait_for_ids(&server.url, "feed/bikes", &all).await;
    for file in FILES {
        producer.site.take(&format!("/v2/{file}.json"));
    }
    wait_for_ids(&server.url, "feed/bikes", &["feed bikes"]).await;
    producer.bikes("b3");
    wait_for_ids(&server.url, "feed/bikes", &["feed bikes", "vehicle b3", "vehicle docked"]).await;
    server.stop("-TERM");
}
