//! Feeds that an admin changes by the API while the server runs, across crashes and restarts.

use std::path::Path;

use lineside_testkit::{wait_for_feed, wait_for_status, wait_until_ready};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::admin::{self, TOKEN};
use crate::support::http::{client, get, get_json};
use crate::support::process::ServerProcess;
use crate::support::producer::{Answer, Producer, answer};
use crate::support::shared_demo;

/// A server with the feed `a` in its file, and an admin.
struct Server {
    process: ServerProcess,
    producer: Producer,
}

async fn producer() -> Producer {
    Producer::start(Answer::Conditional("\"1\"", answer("200 OK", &["etag: \"1\""], b"bytes")))
        .await
}

fn configure(folder: &Path, producer: &Producer, has_data_dir: bool) {
    let data = if has_data_dir { "data_dir = \"data\"\n" } else { "" };
    let url = producer.url("/a");
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n{data}{}\
         [[feed]]\nid = \"a\"\nurl = \"{url}\"\nformat = \"raw\"\npoll = \"1s\"\n",
        admin::table()
    );
    std::fs::write(folder.join("lineside.toml"), text).unwrap();
}

impl Server {
    async fn start(folder: &Path, producer: Producer) -> Self {
        let config = folder.join("lineside.toml");
        let process = ServerProcess::start(&["serve", "--config", config.to_str().unwrap()]);
        wait_until_ready(&process.url).await;
        Self { process, producer }
    }

    /// Sends a request as the admin; returns the status and the body.
    async fn send_request(&self, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
        let url = format!("{}/api/v1/admin/{path}", self.process.url);
        let mut request = client().request(method, url).bearer_auth(TOKEN);
        if let Some(body) = body {
            request = request.body(body.to_string());
        }
        let reply = request.send().await.unwrap();
        let status = reply.status().as_u16();
        let text = reply.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    async fn post(&self, path: &str) -> (u16, Value) {
        self.send_request(Method::POST, path, None).await
    }

    async fn feed(&self, id: &str) -> Value {
        get_json(&format!("{}/api/v1/feeds/{id}", self.process.url)).await
    }

    async fn feed_status(&self, id: &str) -> u16 {
        get(&format!("{}/proxy/{id}", self.process.url)).await.status().as_u16()
    }

    async fn wait_until_served(&self, id: &str) {
        wait_for_status(&format!("{}/proxy/{id}", self.process.url), 200).await;
    }

    async fn wait_until_paused(&self, id: &str) {
        let is_paused = |feed: &Value| feed["reason"].as_str().unwrap().starts_with("paused");
        wait_for_feed(&self.process.url, id, is_paused).await;
    }
}

#[tokio::test]
async fn adding_changing_and_removing_a_feed_can_each_be_undone() {
    let folder = tempfile::tempdir().unwrap();
    let producer = producer().await;
    configure(folder.path(), &producer, true);
    let server = Server::start(folder.path(), producer).await;
    server.wait_until_served("a").await;
    let url = server.producer.url("/b?key=hunter2");
    let keys = json!({"id": "b", "url": url, "format": "raw", "headers": {"X-Key": "hunter3"}});
    let (status, dry_run) =
        server.send_request(Method::POST, "feeds?dry_run=true", Some(keys.clone())).await;
    assert_eq!((status, &dry_run["dry_run"], &dry_run["edit"]), (200, &json!(true), &Value::Null));
    assert_eq!(dry_run["changes"]["added"], json!(["b"]));
    let source = &dry_run["source"];
    assert_eq!((&source["ok"], &source["status"]), (&json!(true), &json!(200)), "{dry_run}");
    assert_eq!((&source["format"], &source["bytes"]), (&json!("raw"), &json!(5)), "{dry_run}");
    let keys_set: Vec<&Value> =
        dry_run["differences"].as_array().unwrap().iter().map(|it| &it["key"]).collect();
    assert_eq!(keys_set, ["format", "headers.X-Key", "url"], "defaults are no changes");
    assert_eq!(server.feed_status("b").await, 404);
    let (status, added) = server.send_request(Method::POST, "feeds", Some(keys.clone())).await;
    assert_eq!((status, &added["feed"]["persistent"]), (201, &json!(true)), "{added}");
    server.wait_until_served("b").await;
    assert!(server.producer.heads().iter().any(|it| it.contains("x-key: hunter3")));
    assert_eq!(server.send_request(Method::POST, "feeds", Some(keys)).await.0, 409);
    let patch = json!({"name": "B", "headers": {"X-Key": "***", "X-More": "hunter4"}});
    let (status, changed) = server.send_request(Method::PATCH, "feeds/b", Some(patch)).await;
    assert_eq!((status, &changed["changes"]["changed"]), (200, &json!(["b"])), "{changed}");
    let differences = json!([
        {"key": "headers.X-More", "old": null, "new": "***"},
        {"key": "name", "old": null, "new": "B"}
    ]);
    assert_eq!(changed["differences"], differences, "a secret that stays is no change");
    assert_eq!(server.feed("b").await["name"], "B");
    let (status, deleted_feed) = server.send_request(Method::DELETE, "feeds/b", None).await;
    assert_eq!((status, server.feed_status("b").await), (200, 404), "{deleted_feed}");
    let (_, history) = server.send_request(Method::GET, "feeds/b/history", None).await;
    let what: Vec<&str> = history["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["what"].as_str().unwrap())
        .collect();
    assert_eq!(what, ["remove", "change", "add"]);
    assert_eq!(history["items"][1]["differences"], differences);
    let (_, all) = server.send_request(Method::GET, "history", None).await;
    assert_eq!((&all["items"], &all["next"]), (&history["items"], &Value::Null));
    let before = format!("history?before={}", history["items"][1]["n"]);
    let (_, earlier) = server.send_request(Method::GET, &before, None).await;
    assert_eq!(earlier["items"], json!([history["items"][2]]));
    let shown =
        [&dry_run, &added, &changed, &deleted_feed, &history].map(ToString::to_string).concat();
    assert!(!shown.contains("hunter") && shown.contains("***"), "{shown}");
    // Undo all edits, the last one first.
    let n = |at: usize| history["items"][at]["n"].as_i64().unwrap();
    let undo = |n: i64| format!("feeds/b/history/{n}/undo");
    let (status, conflict) = server.post(&undo(n(1))).await;
    assert_eq!((status, &conflict["code"]), (409, &json!("changed_since")), "{conflict}");
    let detail = conflict["detail"].as_str().unwrap();
    assert!(detail.contains(&n(0).to_string()), "it names the later edit: {detail}");
    assert_eq!(server.post(&format!("history/{}/undo", n(0))).await.0, 200);
    server.wait_until_served("b").await;
    assert_eq!(server.feed("b").await["name"], "B");
    assert_eq!(server.post(&undo(n(1))).await.0, 200);
    assert_eq!(server.feed("b").await["name"], "b");
    assert_eq!(server.post(&undo(n(2))).await.0, 200);
    assert_eq!(server.feed_status("b").await, 404);
    assert_eq!(server.post(&undo(999)).await.0, 404);
}

#[tokio::test]
async fn confirmed_changes_survive_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let producer = producer().await;
    configure(folder.path(), &producer, true);
    let mut name = String::new();
    for round in 0..3 {
        let server = Server::start(folder.path(), producer.clone()).await;
        if round > 0 {
            server.wait_until_paused("a").await;
            assert_eq!(server.feed("a").await["name"], name, "round {round}");
            assert_eq!(server.post("feeds/a/poll").await.1["code"], "feed_paused");
            assert_eq!(server.post("feeds/a/resume").await.0, 200);
        }
        server.wait_until_served("a").await;
        name = format!("in round {round}");
        let patch = json!({"name": name});
        let (status, changed) = server.send_request(Method::PATCH, "feeds/a", Some(patch)).await;
        assert_eq!((status, &changed["feed"]["in_file"]), (200, &json!(true)), "{changed}");
        assert_eq!(server.post("feeds/a/pause").await.0, 200);
        server.process.stop("-KILL");
    }
    let server = Server::start(folder.path(), producer).await;
    let (status, reverted) = server.send_request(Method::DELETE, "feeds/a/override", None).await;
    assert_eq!((status, &reverted["feed"]["toml"]), (200, &Value::Null), "{reverted}");
    assert_eq!(server.feed("a").await["name"], "a");
}

#[tokio::test]
async fn invalid_changes_are_refused_by_key_without_any_effect() {
    let folder = tempfile::tempdir().unwrap();
    let producer = producer().await;
    configure(folder.path(), &producer, false);
    let server = Server::start(folder.path(), producer).await;
    server.wait_until_served("a").await;
    let refused = async |method, path: &str, body: Value, code: &str, expected_message: &str| {
        let (_, problem) = server.send_request(method, path, Some(body)).await;
        assert_eq!(problem["code"], code, "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(expected_message), "{problem}");
    };
    refused(Method::PATCH, "feeds/a", json!({"poll": "soon"}), "bad_feed", "poll: ").await;
    refused(Method::PATCH, "feeds/a", json!({"static": "b"}), "bad_feed", "feed b does not exist")
        .await;
    refused(Method::PATCH, "feeds/none", json!({}), "unknown_feed", "").await;
    refused(Method::PATCH, "feeds/a", json!([]), "bad_parameter", "object").await;
    let file = json!({"id": "b", "url": "/etc/passwd"});
    refused(Method::POST, "feeds", file, "bad_feed", "https://").await;
    let env = json!({"headers": {"X": {"env": "HOME"}}});
    refused(Method::PATCH, "feeds/a", env, "bad_feed", "headers.X").await;
    refused(Method::POST, "feeds", json!({"url": "http://a/"}), "bad_feed", "id").await;
    // The feed is the schedule of another one. That one has its own host, because a rate limit counts all requests to a
    // host.
    let url = self::producer().await.url("/c");
    let c = json!({"id": "c", "url": url, "static": "a", "rate": "1/h", "format": "raw"});
    let (status, added) = server.send_request(Method::POST, "feeds", Some(c)).await;
    assert_eq!((status, &added["feed"]["persistent"]), (201, &json!(false)), "{added}");
    refused(Method::DELETE, "feeds/a", Value::Null, "feed_in_use", "feed c").await;
    server.wait_until_served("c").await;
    let request = client().post(format!("{}/api/v1/admin/feeds/c/poll", server.process.url));
    let reply = request.bearer_auth(TOKEN).send().await.unwrap();
    assert_eq!(reply.status(), 429);
    let wait: u64 = reply.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((3_000..=3_600).contains(&wait), "{wait}");
    assert_eq!(server.post("feeds/a/poll").await.0, 202);
    let delete_request = client().delete(format!("{}/api/v1/admin/feeds/a", server.process.url));
    assert_eq!(delete_request.send().await.unwrap().status(), 401);
    assert_eq!(server.feed_status("a").await, 200);
    let (_, state) = server.send_request(Method::GET, "config", None).await;
    assert_eq!((&state["errors"], &state["deferred"]), (&json!([]), &json!([])), "{state}");
}

#[tokio::test]
async fn undoing_an_old_edit_preserves_later_edits_of_other_keys() {
    let folder = tempfile::tempdir().unwrap();
    let producer = producer().await;
    configure(folder.path(), &producer, true);
    let server = Server::start(folder.path(), producer).await;
    server.wait_until_served("a").await;
    let change = async |keys: Value| {
        let (status, changed) = server.send_request(Method::PATCH, "feeds/a", Some(keys)).await;
        assert_eq!(status, 200, "{changed}");
        changed["edit"].as_i64().unwrap()
    };
    let named = change(json!({"name": "A", "poll": "7s"})).await;
    let theme = change(json!({"theme": "bus"})).await;
    let polled = change(json!({"poll": "9s"})).await;
    let undo = |n: i64| format!("history/{n}/undo");
    let (status, conflict) = server.post(&undo(named)).await;
    assert_eq!((status, &conflict["code"]), (409, &json!("changed_since")), "{conflict}");
    let detail = conflict["detail"].as_str().unwrap();
    assert!(detail.contains("poll") && detail.contains(&polled.to_string()), "{detail}");
    let (status, dry_run) = server.post(&format!("{}?dry_run=true", undo(theme))).await;
    assert_eq!((status, &dry_run["edit"]), (200, &Value::Null), "{dry_run}");
    let (status, undone) = server.post(&undo(theme)).await;
    assert_eq!(status, 200, "{undone}");
    assert_eq!(undone["feed"]["keys"], json!({"name": "A", "poll": "9s"}));
    assert_eq!(server.post(&undo(theme)).await.1["code"], "changed_since", "it is undone already");
    assert_eq!(server.post(&undo(polled)).await.0, 200);
    let (status, undone) = server.post(&undo(named)).await;
    assert_eq!((status, &undone["feed"]["keys"]), (200, &json!({})), "{undone}");
    assert_eq!(server.post(&undo(999)).await.1["code"], "unknown_edit");
    // Overwrite later edits on request.
    let first = change(json!({"poll": "11s", "name": "B"})).await;
    change(json!({"poll": "12s"})).await;
    assert_eq!(server.post(&undo(first)).await.0, 409);
    let (status, dry_run) =
        server.post(&format!("{}?overwrite=true&dry_run=true", undo(first))).await;
    assert_eq!((status, &dry_run["edit"]), (200, &Value::Null), "{dry_run}");
    let (status, restored) = server.post(&format!("{}?overwrite=true", undo(first))).await;
    assert_eq!((status, &restored["feed"]["keys"]), (200, &json!({})), "{restored}");
}

#[tokio::test]
async fn a_misspelled_dry_run_applies_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let producer = producer().await;
    configure(folder.path(), &producer, false);
    let server = Server::start(folder.path(), producer).await;
    let keys = json!({"id": "b", "url": "http://127.0.0.1:1/x"});
    for (query, code) in [
        ("dryrun=true", "unknown_parameter"),
        ("dry_run", "bad_parameter"),
        ("dry_run=", "bad_parameter"),
        ("dry_run=yes", "bad_parameter"),
        ("dry_run=true&dry_run=false", "bad_parameter"),
    ] {
        let path = format!("feeds?{query}");
        let (status, refused) = server.send_request(Method::POST, &path, Some(keys.clone())).await;
        assert_eq!((status, refused["code"].as_str()), (400, Some(code)), "{query}: {refused}");
    }
    assert_eq!(server.post("feeds/a/pause?dry_run=true").await.1["code"], "unknown_parameter");
    let deleted = server.send_request(Method::DELETE, "feeds/a?dryrun=true", None).await;
    assert_eq!(deleted.1["code"], "unknown_parameter");
    assert_eq!(
        (server.feed_status("b").await, server.feed("a").await["paused"].clone()),
        (404, json!(false))
    );
}

#[tokio::test]
async fn all_errors_of_a_new_feed_are_reported_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let producer = producer().await;
    configure(folder.path(), &producer, false);
    let server = Server::start(folder.path(), producer).await;
    let keys = json!({"id": "a b", "url": "ftp://a.example/x", "poll": "soon", "static": "none"});
    let (status, refused) = server.send_request(Method::POST, "feeds", Some(keys)).await;
    assert_eq!((status, &refused["code"]), (422, &json!("bad_feed")), "{refused}");
    let detail = refused["detail"].as_str().unwrap();
    for key in ["id: ", "url: ", "poll: ", "static: "] {
        assert!(detail.contains(key), "no {key}in {detail}");
    }
    let cookie = admin::session(&server.process.url).await;
    let form = "id=a+b&url=file%3A%2F%2F%2Fetc%2Fpasswd&poll=soon&static=none&headers.value.0=x&do=preview";
    let page = client()
        .post(format!("{}/ops/add", server.process.url))
        .header("cookie", &cookie)
        .header("sec-fetch-site", "same-origin")
        .body(form)
        .send()
        .await
        .unwrap();
    assert_eq!(page.status(), 422);
    let page = page.text().await.unwrap();
    for field in ["e-id", "e-url", "e-poll", "e-static", "e-headers.name.0"] {
        assert!(page.contains(&format!("id=\"{field}\"")), "no fault at {field}");
    }
}

#[tokio::test]
async fn a_source_is_tested_before_its_feed_is_added() {
    let folder = tempfile::tempdir().unwrap();
    let own = producer().await;
    configure(folder.path(), &own, false);
    let server = Server::start(folder.path(), own).await;
    let dry_run = async |url: String| {
        let keys = json!({"id": "b", "url": url});
        let (status, dry_run) =
            server.send_request(Method::POST, "feeds?dry_run=true", Some(keys)).await;
        assert_eq!(status, 200, "{dry_run}");
        dry_run["source"].clone()
    };
    let trips = dry_run(format!("{}/gtfs-rt/city-trips.pb", shared_demo())).await;
    assert_eq!((&trips["ok"], &trips["format"]), (&json!(true), &json!("gtfs-rt")), "{trips}");
    assert!(trips["contents"]["trip updates"].as_u64().is_some_and(|n| n > 0), "{trips}");
    let zip = dry_run(format!("{}/gtfs/city.zip", shared_demo())).await;
    assert_eq!((&zip["ok"], &zip["format"]), (&json!(true), &json!("gtfs")), "{zip}");
    assert!(zip["contents"]["stops"].as_u64().is_some_and(|n| n > 0), "{zip}");
    let page = dry_run(format!("{}/", shared_demo())).await;
    assert_eq!((&page["ok"], &page["code"]), (&json!(false), &json!("html")), "{page}");
    let missing = dry_run(format!("{}/nowhere", shared_demo())).await;
    assert_eq!((&missing["code"], &missing["status"]), (&json!("http_404"), &json!(404)));
    let closed = dry_run("http://127.0.0.1:1/x".to_owned()).await;
    assert_eq!(closed["code"], "connect", "{closed}");
    let none = json!({"id": "b", "url": "http://127.0.0.1:1/x"});
    let (_, untested) =
        server.send_request(Method::POST, "feeds?dry_run=true&test=false", Some(none)).await;
    assert_eq!(untested["source"], Value::Null, "{untested}");
    assert_eq!(server.feed_status("b").await, 404, "nothing was added");
}
