//! Reports on GBFS systems: the files of a system are validated together as they arrive.

use std::time::{SystemTime, UNIX_EPOCH};

use lineside_testkit::wait_for_json;

use crate::reports::count;
use crate::support::http::get;
use crate::support::site::{Site, serve};

/// The code for a vehicle that keeps its id after a trip.
const KEPT_ID: &str = "vehicle_id_kept_after_move";

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs())
}

fn page(data: &str) -> String {
    format!(r#"{{"last_updated":{},"ttl":1,"version":"2.3","data":{data}}}"#, now())
}

fn status(station: &str) -> String {
    page(&format!(
        r#"{{"stations":[{{"station_id":"{station}","num_bikes_available":1,"is_installed":true,
            "is_renting":true,"is_returning":true,"last_reported":{}}}]}}"#,
        now()
    ))
}

/// Returns bikes at these places.
fn bikes(coordinates_by_id: &[(&str, f64)]) -> String {
    let bike = |(id, lat): &(&str, f64)| {
        format!(
            r#"{{"bike_id":"{id}","lat":{lat},"lon":10.7,"is_reserved":false,"is_disabled":false,"vehicle_type_id":"T"}}"#
        )
    };
    let bikes: Vec<String> = coordinates_by_id.iter().map(bike).collect();
    page(&format!(r#"{{"bikes":[{}]}}"#, bikes.join(",")))
}

/// Starts a system of these files and `system_information`. Returns the configuration of its feed.
async fn start_server(site: &Site, files: [&str; 2]) -> String {
    let producer = site.start().await;
    let listed = ["system_information", files[0], files[1]]
        .map(|name| format!(r#"{{"name":"{name}","url":"{producer}/{name}"}}"#));
    site.put("/gbfs.json", &page(&format!(r#"{{"en":{{"feeds":[{}]}}}}"#, listed.join(","))));
    site.put(
        "/system_information",
        &page(r#"{"system_id":"b","language":"en","name":"Bikes","timezone":"Europe/Oslo"}"#),
    );
    format!(
        "[[feed]]\nid = \"bikes\"\nurl = \"{producer}/gbfs.json\"\nformat = \"gbfs\"\npoll = \"1s\"\n"
    )
}

#[tokio::test]
async fn vehicles_with_unrotated_ids_after_a_trip_are_reported() {
    let site = Site::default();
    let feeds = start_server(&site, ["vehicle_types", "free_bike_status"]).await;
    site.put(
        "/vehicle_types",
        &page(r#"{"vehicle_types":[{"vehicle_type_id":"T","form_factor":"bicycle","propulsion_type":"human"}]}"#),
    );
    site.put("/free_bike_status", &bikes(&[("stays", 59.90), ("kept", 59.91), ("new-1", 59.92)]));
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), &feeds).await;
    let url = format!("{}/api/v1/feeds/bikes/report", server.url);
    let found = wait_for_json(&url, |found| found["notices"].is_array()).await;
    assert_eq!(count(&found, KEPT_ID), 0, "{found}");
    // Each bike except the first has made a trip of a kilometer.
    site.put("/free_bike_status", &bikes(&[("stays", 59.90), ("kept", 59.92), ("new-2", 59.93)]));
    let found = wait_for_json(&url, |found| count(found, KEPT_ID) == 1).await;
    assert!(found.to_string().contains("\"kept\""), "{found}");
    server.stop("-TERM");
}

#[tokio::test]
async fn every_language_of_a_gbfs_system_is_validated() {
    let site = Site::default();
    let producer = site.start().await;
    let listed = |language: &str| {
        let files = [("system_information", language), ("free_bike_status", "all")];
        let files = files.map(|(name, folder)| {
            format!(r#"{{"name":"{name}","url":"{producer}/{folder}/{name}"}}"#)
        });
        format!(r#""{language}":{{"feeds":[{}]}}"#, files.join(","))
    };
    site.put("/gbfs.json", &page(&format!("{{{},{}}}", listed("en"), listed("fr"))));
    for (language, zone) in [("en", "Europe/Oslo"), ("fr", "Oslo")] {
        let about = format!(
            r#"{{"system_id":"b","language":"{language}","name":"Bikes","timezone":"{zone}"}}"#
        );
        site.put(&format!("/{language}/system_information"), &page(&about));
    }
    site.put("/all/free_bike_status", &bikes(&[("origin", 0.0)]).replace("10.7", "0.0"));
    let folder = tempfile::tempdir().unwrap();
    let feeds = format!(
        "[[feed]]\nid = \"bikes\"\nurl = \"{producer}/gbfs.json\"\nformat = \"gbfs\"\npoll = \"1s\"\n"
    );
    let server = serve(folder.path(), &feeds).await;
    let url = format!("{}/api/v1/feeds/bikes/report", server.url);
    let found = wait_for_json(&url, |found| found["notices"].is_array()).await;
    assert_eq!(count(&found, "invalid_timezone"), 1, "{found}");
    assert!(found.to_string().contains("\"fr/system_information.json\""), "{found}");
    assert_eq!(count(&found, "point_near_origin"), 1, "both languages have one file: {found}");
    server.stop("-TERM");
}

#[tokio::test]
async fn gbfs_files_are_validated_alone_and_against_each_other() {
    let site = Site::default();
    let feeds = start_server(&site, ["station_information", "station_status"]).await;
    site.put(
        "/station_information",
        &page(r#"{"stations":[{"station_id":"S1","name":"Square","lat":59.9,"lon":10.7},{"station_id":"S2","name":"Sea","lat":0.1,"lon":0.1}]}"#),
    );
    site.put("/station_status", &status("S1"));
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), &feeds).await;
    let url = format!("{}/api/v1/feeds/bikes/report", server.url);
    let found = wait_for_json(&url, |found| found["notices"].is_array()).await;
    assert_eq!(found["lineside"]["subject"], "realtime");
    assert_eq!(
        (count(&found, "point_near_origin"), count(&found, "unknown_station_id")),
        (1, 0),
        "{found}"
    );
    site.put("/station_status", &status("<b>S9</b>"));
    let found = wait_for_json(&url, |found| count(found, "unknown_station_id") == 1).await;
    assert_eq!(found["summary"]["isSystem"], true);
    let page = get(&format!("{}/feeds/bikes", server.url)).await.text().await.unwrap();
    for part in ["id=\"report-realtime\"", "report-since", "&lt;b&gt;S9", "report-map\"><svg"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    server.stop("-TERM");
}
