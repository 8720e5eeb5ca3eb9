//! A GBFS system whose configuration or producer changes, and its conditional requests.

use lineside_testkit::{wait_for_body, wait_for_some, wait_for_status};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::http::{assert_problem, get, get_json, get_with, problem, send};
use crate::support::site::{Site, configure, serve};

fn file(ttl: u64, content: &str) -> String {
    json!({"last_updated": 1, "ttl": ttl, "version": "3.0", "data": {"says": content}}).to_string()
}

/// Returns a discovery file of version 3 that lists these files in its own folder.
fn list(names: &[&str]) -> String {
    let file = |name: &&str| json!({"name": name, "url": name});
    let files: Vec<Value> = names.iter().map(file).collect();
    json!({"version": "3.0", "ttl": 0, "data": {"feeds": files}}).to_string()
}

fn bikes(url: &str, more: &str) -> String {
    format!("[[feed]]\nid = \"bikes\"\nurl = \"{url}\"\nformat = \"gbfs\"\npoll = \"1s\"\n{more}")
}

#[tokio::test]
async fn a_reconfigured_system_is_polled_at_its_new_address() {
    let site = Site::default();
    let producer = site.start().await;
    // The same discovery file in two places, with different files.
    for folder_name in ["one", "two"] {
        site.put(&format!("/{folder_name}/gbfs.json"), &list(&["status", "zones"]));
        site.put(&format!("/{folder_name}/status"), &file(0, folder_name));
        site.put(&format!("/{folder_name}/zones"), &file(0, folder_name));
    }
    let folder = tempfile::tempdir().unwrap();
    let one = bikes(&format!("{producer}/one/gbfs.json"), "");
    let server = serve(folder.path(), &one).await;
    let (status, zones) =
        (format!("{}/proxy/bikes/status", server.url), format!("{}/proxy/bikes/zones", server.url));
    wait_for_body(&status, file(0, "one").as_bytes()).await;
    wait_for_body(&zones, file(0, "one").as_bytes()).await;
    configure(folder.path(), &bikes(&format!("{producer}/two/gbfs.json"), ""));
    wait_for_body(&status, file(0, "two").as_bytes()).await;
    wait_for_body(&zones, file(0, "two").as_bytes()).await;
    let before = site.requests_for("/one/status").len();
    let n_two = site.requests_for("/two/status").len();
    wait_for_some("the new place is asked again", async || {
        (site.requests_for("/two/status").len() > n_two + 2).then_some(())
    })
    .await;
    assert!(site.requests_for("/one/status").len() <= before + 1, "the old place is left alone");
    // Another interval and a maximum age: the files stay, and are polled by the new rules.
    let slow = bikes(&format!("{producer}/two/gbfs.json"), "ttl = \"1h\"\nmax_age = \"1d\"\n");
    configure(folder.path(), &slow);
    let far = async || {
        let feed = get_json(&format!("{}/api/v1/feeds/bikes", server.url)).await;
        let cached = get(&status).await.headers()["cache-control"].to_str().unwrap().to_owned();
        let seconds: u64 = cached.split(['=', ',']).nth(2).unwrap().parse().unwrap();
        (seconds > 1_000 && feed["state"] == "ok").then_some(())
    };
    wait_for_some("the files are good for an hour", far).await;
    // A removed feed is gone; an added one is back.
    let other = one.replace("\"bikes\"", "\"others\"");
    configure(folder.path(), &other);
    wait_for_status(&status, 404).await;
    for path in ["gbfs.json", "status", "zones"] {
        let url = format!("{}/proxy/bikes/{path}", server.url);
        assert_problem(404, "unknown_feed", problem(&url).await);
    }
    configure(folder.path(), &one);
    wait_for_body(&status, file(0, "one").as_bytes()).await;
    // In another format the feed has no files.
    let raw = one.replace("format = \"gbfs\"", "format = \"raw\"");
    configure(folder.path(), &raw);
    wait_for_status(&status, 404).await;
    assert_problem(404, "not_found", problem(&zones).await);
    server.stop("-TERM");
}

#[tokio::test]
async fn poll_and_pause_apply_to_all_files_of_a_system() {
    let site = Site::default();
    let producer = site.start().await;
    site.put("/gbfs.json", &list(&["status"]));
    site.put("/status", &file(3_600, "x"));
    let folder = tempfile::tempdir().unwrap();
    let feeds = bikes(&format!("{producer}/gbfs.json"), "").replace("poll = \"1s\"\n", "");
    let token = "a token of the tests";
    let admin = format!("[admin]\ntoken = \"{token}\"\n");
    let server = serve(folder.path(), &format!("{admin}{feeds}")).await;
    let status = format!("{}/proxy/bikes/status", server.url);
    wait_for_body(&status, file(3_600, "x").as_bytes()).await;
    let bearer = format!("Bearer {token}");
    let send_request = async |what: &str| {
        let url = format!("{}/api/v1/admin/feeds/bikes/{what}", server.url);
        let reply = send(Method::POST, &url, &[("authorization", &bearer)]).await;
        assert!(reply.status().is_success(), "{what}: {}", reply.status());
    };
    // The file's own `ttl` is an hour.
    assert_eq!(site.requests_for("/status").len(), 1);
    send_request("poll").await;
    wait_for_some("the file is asked for", async || {
        (site.requests_for("/status").len() >= 2).then_some(())
    })
    .await;
    send_request("pause").await;
    let reason = async || {
        let feed = get_json(&format!("{}/api/v1/feeds/bikes", server.url)).await;
        feed["files"][0]["reason"].as_str()?.starts_with("paused").then_some(())
    };
    wait_for_some("the file says that it is paused", reason).await;
    // Subscribers receive the state of the API.
    let channel_state = async |expect: &str| {
        let message = get_json(&format!("{}/api/v1/feeds/bikes/state", server.url)).await;
        let mut changes = message["changes"].as_array()?.iter();
        let feed = changes.find(|change| change["kind"] == "feed")?;
        (feed["record"]["state"] == expect).then_some(())
    };
    wait_for_some("the channel has the pause", async || channel_state("paused").await).await;
    let n_requests = site.heads().len();
    let response = get(&status).await;
    assert_eq!(
        (response.status(), response.text().await.unwrap()),
        (200.try_into().unwrap(), file(3_600, "x"))
    );
    assert!(site.heads().len() <= n_requests + 1, "one may have been on its way");
    site.put("/status", &file(3_600, "y"));
    send_request("resume").await;
    wait_for_body(&status, file(3_600, "y").as_bytes()).await;
    wait_for_some("the channel has the end of the pause", async || channel_state("ok").await).await;
    server.stop("-TERM");
}

#[tokio::test]
async fn a_failing_file_appears_in_the_state_and_availability_of_its_system() {
    let site = Site::default();
    let producer = site.start().await;
    site.put("/gbfs.json", &list(&["status", "zones"]));
    site.put("/status", &file(0, "good"));
    site.put("/zones", &file(0, "zones"));
    let folder = tempfile::tempdir().unwrap();
    let feeds = bikes(&format!("{producer}/gbfs.json"), "");
    let server = serve(folder.path(), &feeds).await;
    let status = format!("{}/proxy/bikes/status", server.url);
    wait_for_body(&status, file(0, "good").as_bytes()).await;
    let catalog = format!("{}/api/v1/feeds/bikes", server.url);
    site.take("/status");
    let stale = async || {
        let feed = get_json(&catalog).await;
        (feed["state"] == "stale").then_some(feed)
    };
    let feed = wait_for_some("the system is stale", stale).await;
    let reason = feed["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("1 of 2 files: status: ") && reason.contains("(http_500)"),
        "{reason}"
    );
    let states: Vec<&Value> =
        feed["files"].as_array().unwrap().iter().map(|file| &file["state"]).collect();
    assert_eq!(states, ["stale", "ok"]);
    let response = get(&status).await;
    assert_eq!(response.text().await.unwrap(), file(0, "good"), "the last good bytes");
    let zones = get(&format!("{}/proxy/bikes/zones", server.url)).await;
    assert_eq!(zones.headers()["lineside-status"], "fresh");
    let page = get(&format!("{}/feeds/bikes", server.url)).await.text().await.unwrap();
    assert!(page.contains("1 of 2 files: status"), "{page}");
    let past = async || {
        let past = get_json(&format!("{catalog}/availability")).await.to_string();
        let is_told =
            past.contains("status: the server returned 500") && past.contains("1 of 2 files");
        is_told.then_some(())
    };
    wait_for_some("the poll that failed is remembered with its file", past).await;
    let metrics = get(&format!("{}/metrics", server.url)).await.text().await.unwrap();
    let fetches = "lineside_ingest_fetches_total{feed=\"bikes\",outcome=\"http_5xx\"}";
    assert!(metrics.contains(fetches), "{metrics}");
    site.put("/status", &file(0, "again"));
    wait_for_body(&status, file(0, "again").as_bytes()).await;
    wait_for_some("all is well", async || {
        (get_json(&catalog).await["state"] == "ok").then_some(())
    })
    .await;
    server.stop("-TERM");
}

#[tokio::test]
async fn every_file_supports_conditional_compressed_and_head_requests() {
    let site = Site::default();
    let producer = site.start().await;
    let long = file(0, &"station ".repeat(1_000));
    let names: Vec<String> = (0..30).map(|n| format!("regions_{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).chain(["status"]).collect();
    site.put("/gbfs.json", &list(&names));
    site.put("/status", &long);
    let folder = tempfile::tempdir().unwrap();
    let more = "licence = \"https://example.org/licence\"\n";
    let feeds = bikes(&format!("{producer}/gbfs.json"), more);
    let server = serve(folder.path(), &feeds).await;
    wait_for_status(&format!("{}/proxy/bikes/status", server.url), 200).await;
    for path in ["/proxy/bikes/gbfs.json", "/proxy/bikes/status.json", "/resource/bikes/status"] {
        let url = format!("{}{path}", server.url);
        let whole = get(&url).await;
        let headers = whole.headers().clone();
        assert_eq!(headers["access-control-allow-origin"], "*", "{path}");
        assert_eq!(headers["link"], "<https://example.org/licence>; rel=\"license\"", "{path}");
        assert!(headers["cache-control"].to_str().unwrap().contains("stale-if-error="), "{path}");
        let head = send(Method::HEAD, &url, &[]).await;
        assert_eq!(head.status(), 200, "{path}");
        for name in ["etag", "content-type", "content-length", "last-modified", "link"] {
            assert_eq!(head.headers()[name], headers[name], "{path} {name}");
        }
        let tag = headers["etag"].to_str().unwrap();
        let date = headers["last-modified"].to_str().unwrap();
        for condition in [("if-none-match", tag), ("if-modified-since", date)] {
            let known = get_with(&url, &[condition]).await;
            assert_eq!(known.status(), 304, "{path} {condition:?}");
            assert!(known.headers().contains_key("lineside-status"), "{path}");
        }
        let plain = whole.bytes().await.unwrap();
        for coding in ["gzip", "br", "zstd"] {
            let coded = get_with(&url, &[("accept-encoding", coding)]).await;
            assert_eq!(coded.headers()["vary"], "Accept-Encoding", "{path}");
            assert_ne!(coded.headers()["etag"], headers["etag"], "{path} {coding}");
            assert_eq!(coded.headers()["content-encoding"], coding, "{path}");
            assert!(coded.bytes().await.unwrap().len() < plain.len(), "{path} {coding}");
        }
    }
    // Requests to the producer are conditional too.
    wait_for_some("the producer is asked with what it said", async || {
        site.requests_for("/status")
            .iter()
            .any(|head| head.contains("if-none-match: "))
            .then_some(())
    })
    .await;
    server.stop("-TERM");
}

#[tokio::test]
async fn a_discovery_file_cannot_cause_requests_to_private_networks() {
    let (site, inside) = (Site::default(), Site::default());
    let (producer, hidden) = (site.start().await, inside.start().await);
    inside.put("/secret", &file(0, "secret"));
    let port = hidden.rsplit(':').next().unwrap();
    let entry = |name: &str, url: &str| json!({"name": name, "url": url});
    let files = [
        entry("status", "status"),
        entry("loopback", &format!("{hidden}/secret")),
        entry("cloud", "http://169.254.169.254/latest/meta-data"),
        entry("number", &format!("http://2130706433:{port}/secret")),
        entry("mapped", &format!("http://[::ffff:127.0.0.1]:{port}/secret")),
        entry("named", &format!("http://localhost:{port}/secret")),
        entry("file", "file:///etc/passwd"),
    ];
    site.put(
        "/gbfs.json",
        &json!({"version": "3.0", "ttl": 0, "data": {"feeds": files}}).to_string(),
    );
    site.put("/status", &file(0, "x"));
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), &bikes(&format!("{producer}/gbfs.json"), "")).await;
    // The host of the discovery file is loopback too, but the operator named it.
    wait_for_body(&format!("{}/proxy/bikes/status", server.url), file(0, "x").as_bytes()).await;
    let catalog = format!("{}/api/v1/feeds/bikes", server.url);
    let refused = async || {
        let feed = get_json(&catalog).await;
        feed["reason"].as_str()?.contains("named: not requested").then_some(feed)
    };
    let feed = wait_for_some("what a name leads to is refused with the reason", refused).await;
    assert!(feed["reason"].as_str().unwrap().contains("not on the public internet"), "{feed}");
    let mut problems: Vec<&str> = feed["problem_samples"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["code"] == "not_public")
        .map(|it| it["file"].as_str().unwrap())
        .collect();
    problems.sort_unstable();
    assert_eq!(problems, ["cloud", "file", "loopback", "mapped", "number"]);
    for name in problems {
        let url = format!("{}/proxy/bikes/{name}", server.url);
        assert_problem(404, "not_found", problem(&url).await);
    }
    assert_problem(503, "no_data", problem(&format!("{}/proxy/bikes/named", server.url)).await);
    assert!(inside.heads().is_empty());
    server.stop("-TERM");
}
