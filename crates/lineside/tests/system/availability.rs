//! The history of polls and states, for operators and readers: it shows the side that caused an outage.

use lineside_testkit::{wait_for_json, wait_until_ready};
use serde_json::Value;

use crate::support::demo;
use crate::support::http::{get, get_json};
use crate::support::process::ServerProcess;

fn n_items(found: &Value) -> usize {
    found["items"].as_array().unwrap().len()
}

/// Returns the first and the last state of a strip.
fn ends(strip: &Value) -> [&str; 2] {
    let stretches = strip.as_array().unwrap();
    [0, stretches.len() - 1].map(|at| stretches[at]["state"].as_str().unwrap())
}

#[tokio::test]
async fn an_outage_of_the_source_is_distinct_from_one_of_serving() {
    // Not faster: on a slow machine a timeout would also fail the healthy feed.
    let server = demo(1.0, &["city-vehicles:500@0s+86400s"]).await;
    let availability_url =
        |feed: &str| format!("{}/api/v1/feeds/{feed}/availability", server.url());
    let found =
        wait_for_json(&availability_url("city-vehicles"), |found| n_items(found) >= 3).await;
    assert_eq!(ends(&found["source"]), ["off", "failed"]);
    assert_eq!(ends(&found["serving"]), ["off", "nothing"], "nothing good has ever come");
    let poll = &found["items"][0];
    assert_eq!(
        (poll["outcome"].as_str(), poll["code"].as_str()),
        (Some("failed"), Some("http_500"))
    );
    assert_eq!((poll["status"].as_u64(), poll["serving"].as_str()), (Some(500), Some("nothing")));
    assert!(poll["message"].as_str().unwrap().contains("500"), "{poll}");
    assert!(poll["duration"].as_f64().unwrap() >= 0.0 && poll["at"].is_string());
    let incident = &found["incidents"][0];
    assert_eq!((incident["state"].as_str(), &incident["ended"]), (Some("failing"), &Value::Null));
    // Polls in pages, newest first.
    let first = get_json(&format!("{}?limit=1", availability_url("city-vehicles"))).await;
    assert_eq!(n_items(&first), 1);
    let second = get_json(first["next"].as_str().unwrap()).await;
    assert!(second["items"][0]["at"].as_str() <= first["items"][0]["at"].as_str());

    let well = format!("{}?outcome=all", availability_url("city-trips"));
    let well = wait_for_json(&well, |found| n_items(found) >= 3).await;
    assert_eq!(ends(&well["source"]), ["off", "answered"]);
    assert_eq!(ends(&well["serving"]), ["off", "fresh"]);
    assert_eq!(n_items(&get_json(&availability_url("city-trips")).await), 0, "none of them failed");

    let table = get(&format!("{}/feeds/city-vehicles/availability.csv", server.url())).await;
    let saved_as = table.headers()["content-disposition"].to_str().unwrap().to_owned();
    assert!(saved_as.contains("city-vehicles-availability.csv"), "{saved_as}");
    let mut reader = csv::Reader::from_reader(std::io::Cursor::new(table.bytes().await.unwrap()));
    let heads = reader.headers().unwrap().clone();
    assert_eq!(heads.iter().take(4).collect::<Vec<_>>(), ["from", "until", "source", "serving"]);
    let lines: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert!(!lines.is_empty());
    assert!(lines.iter().all(|line| (&line[2], &line[3]) == ("failed", "nothing")), "{lines:?}");

    let page = get(&format!("{}/feeds/city-vehicles", server.url())).await.text().await.unwrap();
    for words in ["Availability", "requests failed", "Recorded since", "http_500"] {
        assert!(page.contains(words), "no {words:?} on the page");
    }
    server.stop().await;
}

#[tokio::test]
async fn the_availability_history_survives_a_kill_and_shows_the_gap() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("lineside.toml");
    let text = "[server]\nlisten = \"127.0.0.1:0\"\ndata_dir = \"data\"\ndrain = \"0s\"\n\
                [retention]\navailability = \"7d\"\n[[feed]]\nid = \"gone\"\nurl = \"gone.pb\"\npoll = \"1s\"\n";
    std::fs::write(&config, text).unwrap();
    let start = || ServerProcess::start(&["serve", "--config", config.to_str().unwrap()]);
    let past = |server: &ServerProcess| format!("{}/api/v1/feeds/gone/availability", server.url);
    let mut known = 0;
    for _ in 0..3 {
        let server = start();
        wait_until_ready(&server.url).await;
        let found = wait_for_json(&past(&server), |found| n_items(found) >= known + 2).await;
        known = n_items(&found);
        assert_eq!(found["items"][0]["code"], "file");
        server.stop("-KILL");
    }
    let server = start();
    wait_until_ready(&server.url).await;
    let found = get_json(&past(&server)).await;
    assert!(n_items(&found) >= known, "{} polls of {known}", n_items(&found));
    let metrics = get(&format!("{}/metrics", server.url)).await.text().await.unwrap();
    assert!(metrics.contains("lineside_store_failing 0"), "{metrics}");
    let (status, _) = server.stop("-TERM");
    assert!(status.success());
}

#[tokio::test]
async fn a_damaged_database_prevents_neither_polling_nor_serving() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(
        data.join("lineside.db"),
        "not a database, and long enough for one. ".repeat(99),
    )
    .unwrap();
    let config = folder.path().join("lineside.toml");
    let text = "[server]\nlisten = \"127.0.0.1:0\"\ndata_dir = \"data\"\ndrain = \"0s\"\n\
                [[feed]]\nid = \"text\"\nurl = \"text\"\nformat = \"raw\"\npoll = \"1s\"\n";
    std::fs::write(&config, text).unwrap();
    std::fs::write(folder.path().join("text"), "what a producer says").unwrap();
    let server = ServerProcess::start(&["serve", "--config", config.to_str().unwrap()]);
    wait_until_ready(&server.url).await;
    let served = get(&format!("{}/proxy/text", server.url)).await.text().await.unwrap();
    assert_eq!(served, "what a producer says");
    let past = format!("{}/api/v1/feeds/text/availability?outcome=all", server.url);
    wait_for_json(&past, |found| n_items(found) >= 1).await;
}
