//! The polling policy: producers' cache headers are obeyed, rate limits hold, and requests identify their sender.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lineside::{Config, RunningServer};
use lineside_testkit::{wait_for_feed, wait_for_feed_state, wait_until};
use serde_json::Value;

use crate::support::http::get;
use crate::support::producer::{Producer, Reply};
use crate::support::serve;

/// Starts a server with these feeds, and returns its address.
async fn server(toml: &str) -> (RunningServer, String) {
    let toml =
        format!("[server]\nlisten = \"127.0.0.1:0\"\nuser_agent = \"acme-lineside\"\n{toml}");
    let config = Config::parse(Path::new("lineside.toml"), &toml);
    let running = serve(config.unwrap_or_else(|errors| panic!("{errors}"))).await;
    let url = format!("http://{}", running.listen_address());
    (running, url)
}

fn feed(id: &str, url: &str, keys: &str) -> String {
    format!("[[feed]]\nid = {id:?}\nurl = {url:?}\nformat = \"raw\"\npoll = \"1s\"\n{keys}\n")
}

/// Returns the seconds until the feed's next poll, by the API.
fn next_poll(feed: &Value) -> i64 {
    let Some(at) = feed["next_poll"].as_str() else { return 0 };
    let at: jiff::Timestamp = at.parse().unwrap();
    at.as_second() - jiff::Timestamp::now().as_second()
}

#[tokio::test]
async fn retry_after_and_cache_control_of_a_producer_are_respected() {
    let producer = Producer::answering(|request| match request.split(' ').nth(1) {
        Some("/busy") => Reply::refused("429 Too Many Requests", "").with("retry-after: 600"),
        Some("/fresh") => Reply::ok("a").with("cache-control: public, max-age=300"),
        _ => Reply::ok("b"),
    })
    .await;
    let (running, url) = server(
        &[
            feed("busy", &producer.url("/busy"), ""),
            feed("fresh", &producer.url("/fresh"), "").replace("1s", "20s"),
            feed("bounded", &producer.url("/fresh"), ""),
            feed("kept", &producer.url("/kept"), "ttl = \"120s\""),
        ]
        .concat(),
    )
    .await;
    for (id, state, waits) in [
        ("busy", "failing", 540..=640),
        // While the reply is fresh, but at most ten poll intervals.
        ("fresh", "ok", 180..=220),
        ("bounded", "ok", 5..=11),
        ("kept", "ok", 100..=127),
    ] {
        let is_met = |feed: &Value| feed["state"] == state && waits.contains(&next_poll(feed));
        wait_for_feed(&url, id, is_met).await;
    }
    assert_eq!(producer.count_requests("/busy"), 1);
    assert_eq!(producer.count_requests("/kept"), 1);
    running.shut_down().await;
}

#[tokio::test]
async fn feeds_of_one_host_and_credential_share_the_strictest_rate() {
    let producer = Producer::answering(|_| Reply::ok("a")).await;
    let (running, url) = server(
        &[
            feed("first", &producer.url("/first"), "rate = \"1/h\""),
            feed("second", &producer.url("/second"), "rate = \"100/h\""),
            feed("other", &producer.url("/other"), "headers = { x-key = \"another\" }"),
        ]
        .concat(),
    )
    .await;
    let waits_long = |feed: &Value| next_poll(feed) > 3_000;
    wait_for_feed(&url, "first", |feed| feed["state"] == "ok" && waits_long(feed)).await;
    let second = wait_for_feed(&url, "second", waits_long).await;
    assert_eq!(second["state"], "unknown", "its turn has not come: {second}");
    // Feeds with another key are polled meanwhile.
    wait_until("the other is asked", async || producer.count_requests("/other") >= 3).await;
    assert_eq!((producer.count_requests("/first"), producer.count_requests("/second")), (1, 0));
    running.shut_down().await;
}

#[tokio::test]
async fn a_limit_on_concurrent_requests_applies_to_the_host() {
    let producer = Producer::slow(Duration::from_millis(400), |_| Reply::ok("a")).await;
    let feeds: Vec<String> = (0..4)
        .map(|number| {
            let keys = if number == 0 { "max_concurrent_requests = 1" } else { "" };
            feed(&format!("f{number}"), &producer.url(&format!("/{number}")), keys)
        })
        .collect();
    let (running, _) = server(&feeds.concat()).await;
    let is_polled_twice = |number| producer.count_requests(&format!("/{number}")) >= 2;
    wait_until("each is asked twice", async || (0..4).all(is_polled_twice)).await;
    assert_eq!(producer.n_open_most(), 1);
    running.shut_down().await;
}

#[tokio::test]
async fn requests_identify_the_client_to_producers() {
    let producer = Producer::answering(|_| Reply::ok("a")).await;
    let own = "headers = { ET-Client-Name = \"acme-buses\" }";
    let (running, url) =
        server(&[feed("a", &producer.url("/a"), ""), feed("b", &producer.url("/b"), own)].concat())
            .await;
    wait_for_feed_state(&url, "a", "ok").await;
    wait_for_feed_state(&url, "b", "ok").await;
    for request in producer.requests() {
        let request = request.to_ascii_lowercase();
        assert!(request.contains("user-agent: acme-lineside\r\n"), "{request}");
        let name = if request.contains(" /b ") { "acme-buses" } else { "acme-lineside" };
        assert!(request.contains(&format!("et-client-name: {name}\r\n")), "{request}");
        assert_eq!(request.matches("et-client-name").count(), 1, "{request}");
    }
    running.shut_down().await;
}

/// Returns a server that gives tokens to one client, and data for the latest token.
fn guarded(n_tokens: &Arc<AtomicUsize>) -> impl Fn(&str) -> Reply + Send + Sync + 'static {
    let n_tokens = Arc::clone(n_tokens);
    move |request| {
        let head = request.to_ascii_lowercase();
        if request.starts_with("POST /token ") {
            // "me:s3cret" in a header, as RFC 6749 requires.
            if !head.contains("authorization: basic bwu6cznjcmv0\r\n") {
                return Reply::refused("401 Unauthorized", r#"{"error":"invalid_client"}"#);
            }
            let n = n_tokens.fetch_add(1, Ordering::SeqCst) + 1;
            let token = format!(r#"{{"access_token":"t0ken-{n}","expires_in":3600}}"#);
            return Reply::ok(&token);
        }
        let n = n_tokens.load(Ordering::SeqCst);
        if head.contains(&format!("authorization: bearer t0ken-{n}\r\n")) {
            return Reply::ok("a");
        }
        Reply::refused("401 Unauthorized", &format!("what do you want? {request}"))
    }
}

fn oauth2(producer: &Producer, secret: &str) -> String {
    let url = producer.url("/token");
    format!(
        "oauth2 = {{ token_url = {url:?}, client_id = \"me\", client_secret = {secret:?}, \
         scope = \"read\", audience = \"all\" }}"
    )
}

#[tokio::test]
async fn feeds_of_one_oauth_client_share_a_token_and_renew_it_if_refused() {
    let n_tokens = Arc::new(AtomicUsize::new(0));
    let producer = Producer::answering(guarded(&n_tokens)).await;
    let keys = oauth2(&producer, "s3cret");
    let feeds: Vec<String> = (0..5)
        .map(|number| feed(&format!("f{number}"), &producer.url(&format!("/{number}")), &keys))
        .collect();
    let (running, url) = server(&feeds.concat()).await;
    for number in 0..5 {
        wait_for_feed_state(&url, &format!("f{number}"), "ok").await;
    }
    assert_eq!(producer.count_requests("/token"), 1);
    let token_request = producer.requests().into_iter().find(|request| request.starts_with("POST"));
    let token_request = token_request.unwrap();
    assert!(
        token_request.ends_with("grant_type=client_credentials&scope=read&audience=all"),
        "{token_request}"
    );
    // The producer revokes the token before it expires: one new token serves all feeds, and no poll fails.
    n_tokens.fetch_add(1, Ordering::SeqCst);
    let last = |number: usize| {
        let is_for = |request: &&String| request.starts_with(&format!("GET /{number} "));
        let requests = producer.requests();
        let last = requests.iter().rev().find(is_for).cloned().unwrap_or_default();
        last.to_ascii_lowercase().contains("bearer t0ken-3\r\n")
    };
    wait_until("all show the new token", async || (0..5).all(last)).await;
    assert_eq!(producer.count_requests("/token"), 2);
    let feed = wait_for_feed_state(&url, "f0", "ok").await;
    assert_eq!(feed["last_error"], Value::Null);
    running.shut_down().await;
}

#[tokio::test]
async fn a_failed_token_request_is_reported_without_secrets() {
    let producer = Producer::answering(guarded(&Arc::default())).await;
    let (running, url) =
        server(&feed("f", &producer.url("/f"), &oauth2(&producer, "wr0ng-secret"))).await;
    let feed = wait_for_feed_state(&url, "f", "failing").await;
    let told = "cannot get an access token from 127.0.0.1: the server returned 401 Unauthorized, invalid_client";
    assert_eq!(feed["last_error"]["detail"], told, "{feed}");
    let page = get(&format!("{url}/feeds/f")).await.text().await.unwrap();
    assert!(page.contains(told) && !page.contains("wr0ng-secret"));
    assert!(!feed.to_string().contains("wr0ng-secret"));
    assert_eq!(producer.count_requests("/f"), 0, "nothing is asked without the token");
    running.shut_down().await;
}

#[tokio::test]
async fn the_client_secret_is_sent_in_the_body_if_the_header_is_refused() {
    let producer = Producer::answering(|request| {
        if request.starts_with("POST") {
            return match request.contains("&client_id=me&client_secret=s3cret") {
                true => Reply::ok(r#"{"access_token":"t0ken","token_type":"bearer"}"#),
                false => Reply::refused("400 Bad Request", r#"{"error":"invalid_request"}"#),
            };
        }
        Reply::ok("a")
    })
    .await;
    let (running, url) =
        server(&feed("f", &producer.url("/f"), &oauth2(&producer, "s3cret"))).await;
    wait_for_feed_state(&url, "f", "ok").await;
    assert_eq!(producer.count_requests("/token"), 2);
    running.shut_down().await;
}

#[tokio::test]
async fn basic_credentials_are_sent_and_redacted_if_the_producer_repeats_them() {
    // "ann:s3cret".
    let header = "authorization: Basic YW5uOnMzY3JldA==\r\n";
    let producer = Producer::answering(move |request| {
        let is_sent = request.contains(header);
        match request.split(' ').nth(1) {
            Some("/good") if is_sent => Reply::ok("a"),
            _ => Reply::refused("403 Forbidden", &format!("<b>sent: s3cret\n{request}")),
        }
    })
    .await;
    let keys = "basic = { user = \"ann\", password = \"s3cret\" }";
    let feeds =
        [feed("good", &producer.url("/good"), keys), feed("bad", &producer.url("/bad"), keys)];
    let (running, url) = server(&feeds.concat()).await;
    wait_for_feed_state(&url, "good", "ok").await;
    let bad = wait_for_feed_state(&url, "bad", "failing").await;
    let error = &bad["last_error"];
    assert_eq!((&error["phase"], &error["status"]), (&"wait".into(), &403.into()), "{bad}");
    let head = error["first_bytes"].as_str().unwrap();
    assert!(head.starts_with("<b>sent: ***\nGET /bad") && head.len() <= 512, "{head}");
    assert!(head.contains("Basic ***"), "{head}");
    let page = get(&format!("{url}/feeds/bad")).await.text().await.unwrap();
    assert!(page.contains("&lt;b&gt;sent: ***") && page.contains("403"), "{page}");
    for shown in [&page, &bad.to_string()] {
        assert!(!shown.contains("s3cret") && !shown.contains("YW5uOnMzY3JldA"), "{shown}");
    }
    running.shut_down().await;
}

#[tokio::test]
async fn a_failure_gives_the_phase_of_the_poll_and_the_received_body() {
    let producer = Producer::answering(|request| match request.split(' ').nth(1) {
        Some("/decode") => Reply::ok("certainly no protobuf"),
        Some("/html") => Reply::ok("<!doctype html><p>Soon</p>"),
        Some("/empty") => Reply::ok(""),
        _ => Reply::refused("500 Internal Server Error", "the database is down"),
    })
    .await;
    let as_messages = |id: &str, url: &str| feed(id, url, "").replace("\"raw\"", "\"gtfs-rt\"");
    let feeds = [
        as_messages("decode", &producer.url("/decode")),
        as_messages("html", &producer.url("/html")),
        // For real-time data an empty body is not a failure.
        feed("empty", &producer.url("/empty"), ""),
        as_messages("broken", &producer.url("/broken")),
        as_messages("connect", "http://127.0.0.1:1/"),
    ];
    let (running, url) = server(&feeds.concat()).await;
    for (id, code, phase, status, head) in [
        ("decode", "decode", "decode", Some(200), Some("certainly no protobuf")),
        ("html", "html", "decode", Some(200), Some("<!doctype html><p>Soon</p>")),
        ("empty", "empty", "body", Some(200), None),
        ("broken", "http_500", "wait", Some(500), Some("the database is down")),
        ("connect", "connect", "connect", None, None),
    ] {
        let feed = wait_for_feed_state(&url, id, "failing").await;
        let error = &feed["last_error"];
        let expect = serde_json::json!({
            "code": code, "phase": phase, "status": status, "first_bytes": head,
            "bytes": head.map_or(0, str::len),
            "detail": error["detail"], "at": error["at"],
        });
        assert_eq!(*error, expect, "{feed}");
    }
    running.shut_down().await;
}
