//! Versions of a schedule: listed, shown, and downloaded unchanged.

use http::Method;
use jiff::civil::Date;
use lineside_testkit::{wait_for_json, wait_until_ready};
use serde_json::{Value, json};

use crate::restarts;
use crate::support::http::{assert_problem, get, get_json, get_with, problem, send};
use crate::support::process::ServerProcess;
use crate::support::producer::{Answer, Producer, answer};

/// A text that must never appear as markup.
const EVIL: &str = "<script>alert(1)</script>";

/// Returns a schedule whose feed version is `label`.
fn schedule(label: &str) -> Vec<u8> {
    schedule_until(label, "20261231")
}

/// Returns a schedule with this feed version and end date.
fn schedule_until(label: &str, end: &str) -> Vec<u8> {
    let info = format!(
        "feed_publisher_name,feed_publisher_url,feed_lang,feed_end_date,feed_version\nP,https://example.org,en,{end},{label}\n"
    );
    restarts::schedule().table("feed_info.txt", info).zip()
}

fn labels(found: &Value) -> Vec<&str> {
    let items = found["items"].as_array().unwrap();
    items.iter().map(|item| item["feed_version"].as_str().unwrap()).collect()
}

struct ServerSetup {
    folder: tempfile::TempDir,
    producer: Producer,
}

impl ServerSetup {
    async fn new() -> Self {
        let producer = Producer::start(Answer::Bytes(Vec::new())).await;
        let setup = Self { folder: tempfile::tempdir().unwrap(), producer };
        let config = format!(
            "[server]\nlisten = \"127.0.0.1:0\"\ndata_dir = \"data\"\ndrain = \"0s\"\n[retention]\nversions = 3\nversions_age = \"90d\"\n\
             [[feed]]\nid = \"city\"\nurl = \"{}\"\npoll = \"1s\"\n",
            setup.producer.url("/city.zip")
        );
        std::fs::write(setup.folder.path().join("lineside.toml"), config).unwrap();
        setup
    }

    fn give(&self, label: &str) -> Vec<u8> {
        self.give_zip(schedule(label))
    }

    fn give_zip(&self, zip: Vec<u8>) -> Vec<u8> {
        self.producer.set(Answer::Bytes(answer("200 OK", &[], &zip)));
        zip
    }

    async fn start(&self) -> ServerProcess {
        let config = self.folder.path().join("lineside.toml");
        let server = ServerProcess::start(&["serve", "--config", config.to_str().unwrap()]);
        wait_until_ready(&server.url).await;
        server
    }
}

#[tokio::test]
async fn every_version_of_a_schedule_can_be_downloaded() {
    let setup = ServerSetup::new().await;
    let first = setup.give("one");
    let server = setup.start().await;
    let list = |server: &ServerProcess| format!("{}/api/v1/feeds/city/versions", server.url);
    let found = wait_for_json(&list(&server), |found| labels(found) == ["one"]).await;
    let item = &found["items"][0];
    assert_eq!(
        (item["current"].as_bool(), item["size"].as_u64()),
        (Some(true), Some(first.len() as u64))
    );
    assert_eq!(
        (item["valid_from"].as_str(), item["valid_until"].as_str()),
        (Some("2020-01-01"), Some("2026-12-31"))
    );
    assert_eq!(
        (item["routes"].as_u64(), item["stops"].as_u64(), item["trips"].as_u64()),
        (Some(1), Some(2), Some(1))
    );
    assert!(item["first_seen"].is_string() && item["last_seen"].is_string());
    setup.give(EVIL);
    wait_for_json(&list(&server), |found| labels(found) == [EVIL, "one"]).await;
    let page = get(&format!("{}/feeds/city/versions", server.url)).await.text().await.unwrap();
    assert!(page.contains("&lt;script&gt;") && !page.contains(EVIL), "{page}");
    assert!(page.contains(&format!("/feeds/city/versions/{}.zip", item["hash"].as_str().unwrap())));
    let feed = get(&format!("{}/feeds/city", server.url)).await.text().await.unwrap();
    assert!(
        feed.contains("href=\"/feeds/city/versions\"") && feed.contains("href=\"/proxy/city\"")
    );
    // All versions survive a crash and an outage of the producer.
    server.stop("-KILL");
    setup.producer.set(Answer::Bytes(answer("500 Internal Server Error", &[], b"")));
    let server = setup.start().await;
    let found = get_json(&list(&server)).await;
    assert_eq!(labels(&found), [EVIL, "one"]);
    let page = get_json(&format!("{}?limit=1", list(&server))).await;
    assert_eq!(labels(&page), [EVIL]);
    assert_eq!(labels(&get_json(page["next"].as_str().unwrap()).await), ["one"]);
    downloads(found["items"][1]["url"].as_str().unwrap(), &first).await;
    refusals(&server.url).await;
    server.stop("-TERM");
}

async fn downloads(url: &str, zip: &[u8]) {
    let whole = get(url).await;
    let headers = whole.headers().clone();
    assert_eq!(whole.status(), 200);
    assert_eq!(headers["content-type"], "application/zip");
    assert_eq!(headers["cache-control"], "public, max-age=31536000, immutable");
    let name = headers["content-disposition"].to_str().unwrap();
    let hash = url.rsplit('/').next().unwrap().trim_end_matches(".zip");
    assert!(
        name.starts_with("attachment; filename=\"city_20")
            && name.ends_with(&format!("_{}.zip\"", &hash[..8])),
        "{name}"
    );
    let tag = headers["etag"].to_str().unwrap();
    assert_eq!(tag, format!("\"{hash}\""));
    assert_eq!(whole.bytes().await.unwrap(), zip);
    let part = get_with(url, &[("range", "bytes=10-19"), ("if-range", tag)]).await;
    assert_eq!(part.status(), 206);
    assert_eq!(part.headers()["content-range"], format!("bytes 10-19/{}", zip.len()));
    assert_eq!(part.bytes().await.unwrap(), &zip[10..20]);
    let other = get_with(url, &[("range", "bytes=10-19"), ("if-range", "\"other\"")]).await;
    assert_eq!((other.status().as_u16(), other.bytes().await.unwrap().len()), (200, zip.len()));
    let end = get_with(url, &[("range", "bytes=-5")]).await;
    assert_eq!(end.bytes().await.unwrap(), &zip[zip.len() - 5..]);
    let beyond = get_with(url, &[("range", "bytes=99999999-")]).await;
    assert_eq!(beyond.status(), 416);
    assert_eq!(beyond.headers()["content-range"], format!("bytes */{}", zip.len()));
    let known = get_with(url, &[("if-none-match", tag)]).await;
    assert_eq!((known.status().as_u16(), known.bytes().await.unwrap().len()), (304, 0));
    let head = send(Method::HEAD, url, &[]).await;
    assert_eq!(head.headers()["content-length"], zip.len().to_string());
    assert!(head.bytes().await.unwrap().is_empty());
}

async fn refusals(url: &str) {
    let none = "0".repeat(64);
    for (path, code) in [
        (format!("/feeds/city/versions/{none}.zip"), "not_found"),
        (format!("/feeds/city/versions/{none}"), "not_found"),
        ("/feeds/city/versions/..%2F..%2Flineside.db.zip".to_owned(), "not_found"),
        (format!("/feeds/nothing/versions/{none}.zip"), "unknown_feed"),
        ("/api/v1/feeds/nothing/versions".to_owned(), "unknown_feed"),
    ] {
        assert_problem(404, code, problem(&format!("{url}{path}")).await);
    }
}

#[tokio::test]
async fn an_expired_version_is_marked_and_changes_are_counted() {
    let setup = ServerSetup::new().await;
    setup.give_zip(schedule_until("old", "20240601"));
    let server = setup.start().await;
    let list = format!("{}/api/v1/feeds/city/versions", server.url);
    let has_days = |found: &Value| found["items"][0]["daily_trips"]["trips"].is_array();
    let found = wait_for_json(&list, |found| labels(found) == ["old"] && has_days(found)).await;
    let item = &found["items"][0];
    assert_eq!((&item["ended"], &item["not_yet_valid"]), (&json!(true), &json!(false)));
    assert_eq!(item["changes"], Value::Null);
    assert_eq!(item["service_start"], "2020-01-01");
    assert_eq!(item["service_end"], "2040-12-31");
    // Whole months from the current one on, with a trip on each day.
    let start: Date = item["daily_trips"]["start"].as_str().unwrap().parse().unwrap();
    let trips = item["daily_trips"]["trips"].as_array().unwrap();
    assert_eq!(start.day(), 1);
    assert!((365..=366).contains(&trips.len()) && trips.iter().all(|it| *it == 1), "{trips:?}");
    setup.give_zip(schedule_until("new", "29991231"));
    let found = wait_for_json(&list, |found| labels(found) == ["new", "old"]).await;
    let [new, old] = [0, 1].map(|at| &found["items"][at]);
    assert_eq!((&new["ended"], &old["ended"]), (&json!(false), &json!(true)));
    assert_eq!(new["changes"], json!({"routes": 0, "stops": 0, "trips": 0}));
    assert_eq!((&old["changes"], &old["daily_trips"]), (&Value::Null, &Value::Null));
    let page = get(&format!("{}/feeds/city/versions", server.url)).await.text().await.unwrap();
    let (_, after_new) = page.split_once(&format!("data-version={}", new["hash"])).unwrap();
    let (new_row, old_row) =
        after_new.split_once(&format!("data-version={}", old["hash"])).unwrap();
    assert!(!new_row.contains("data-ended") && old_row.contains("data-ended"), "{page}");
    assert!(page.contains(&format!("data-days=\"{}\"", trips.len())), "{page}");
    assert_eq!(page.matches("class=\"month\"").count(), 12, "{page}");
    server.stop("-TERM");
}

#[tokio::test]
async fn versions_beyond_the_limit_are_deleted() {
    let setup = ServerSetup::new().await;
    let version_labels = ["a", "b", "c", "d", "e"];
    setup.give(version_labels[0]);
    let server = setup.start().await;
    let list = format!("{}/api/v1/feeds/city/versions", server.url);
    for label in version_labels {
        setup.give(label);
        wait_for_json(&list, |found| labels(found).first() == Some(&label)).await;
    }
    wait_for_json(&list, |found| labels(found) == ["e", "d", "c"]).await;
    server.stop("-TERM");
}
