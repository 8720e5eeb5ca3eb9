//! How producers are asked: what they say is obeyed, budgets are kept, and they are told who asks.

use std::path::Path;
use std::time::{Duration, Instant};

use lineside::{Config, Running};
use serde_json::Value;

use crate::support::http::get_json;
use crate::support::asked::{Producer, Reply};
use crate::support::serve;

const PATIENCE: Duration = Duration::from_secs(20);

/// A server with these feeds, and its address.
async fn server(toml: &str) -> (Running, String) {
    let toml =
        format!("[server]\nlisten = \"127.0.0.1:0\"\nclient_name = \"acme-lineside\"\n{toml}");
    let config = Config::parse(Path::new("lineside.toml"), &toml);
    let running = serve(config.unwrap_or_else(|errors| panic!("{errors}"))).await;
    let url = format!("http://{}", running.address());
    (running, url)
}

fn feed(id: &str, url: &str, keys: &str) -> String {
    format!("[[feed]]\nid = {id:?}\nurl = {url:?}\nformat = \"raw\"\npoll = \"1s\"\n{keys}\n")
}

/// The feed as soon as `is_so`.
async fn until(url: &str, id: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let feed = get_json(&format!("{url}/api/v1/feeds/{id}")).await;
        if is_so(&feed) {
            return feed;
        }
        assert!(Instant::now() < deadline, "{id} stays as it is: {feed}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Seconds from now until the feed is asked next, as the server says.
fn next_poll(feed: &Value) -> i64 {
    let Some(at) = feed["next_poll"].as_str() else { return 0 };
    let at: jiff::Timestamp = at.parse().unwrap();
    at.as_second() - jiff::Timestamp::now().as_second()
}

#[tokio::test]
async fn what_a_producer_says_about_the_next_poll_is_obeyed_and_shown() {
    let producer = Producer::start(|request| match request.split(' ').nth(1) {
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
        // As long as the reply is fresh, but ten polls at most.
        ("fresh", "ok", 180..=220),
        ("bounded", "ok", 5..=11),
        ("kept", "ok", 100..=127),
    ] {
        let is_so = |feed: &Value| feed["state"] == state && waits.contains(&next_poll(feed));
        until(&url, id, is_so).await;
    }
    assert_eq!(producer.n_asked("/busy"), 1);
    assert_eq!(producer.n_asked("/kept"), 1);
    running.stop().await;
}

#[tokio::test]
async fn feeds_of_one_host_and_credential_share_the_strictest_rate() {
    let producer = Producer::start(|_| Reply::ok("a")).await;
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
    until(&url, "first", |feed| feed["state"] == "ok" && waits_long(feed)).await;
    let second = until(&url, "second", waits_long).await;
    assert_eq!(second["state"], "unknown", "its turn has not come: {second}");
    // Whoever shows another key is asked meanwhile, again and again.
    let deadline = Instant::now() + PATIENCE;
    while producer.n_asked("/other") < 3 {
        assert!(Instant::now() < deadline, "{:?}", producer.requests());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!((producer.n_asked("/first"), producer.n_asked("/second")), (1, 0));
    running.stop().await;
}

#[tokio::test]
async fn a_host_that_wants_it_is_never_asked_twice_at_a_time() {
    let producer = Producer::slow(Duration::from_millis(400), |_| Reply::ok("a")).await;
    let feeds: Vec<String> = (0..4)
        .map(|number| {
            let keys = if number == 0 { "serial = true" } else { "" };
            feed(&format!("f{number}"), &producer.url(&format!("/{number}")), keys)
        })
        .collect();
    let (running, _) = server(&feeds.concat()).await;
    let deadline = Instant::now() + PATIENCE;
    while (0..4).any(|number| producer.n_asked(&format!("/{number}")) < 2) {
        assert!(Instant::now() < deadline, "{:?}", producer.requests());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(producer.n_open_most(), 1);
    running.stop().await;
}

#[tokio::test]
async fn producers_are_told_who_asks() {
    let producer = Producer::start(|_| Reply::ok("a")).await;
    let own = "headers = { ET-Client-Name = \"acme-buses\" }";
    let (running, url) =
        server(&[feed("a", &producer.url("/a"), ""), feed("b", &producer.url("/b"), own)].concat())
            .await;
    until(&url, "a", |feed| feed["state"] == "ok").await;
    until(&url, "b", |feed| feed["state"] == "ok").await;
    for request in producer.requests() {
        let request = request.to_ascii_lowercase();
        assert!(request.contains("user-agent: acme-lineside\r\n"), "{request}");
        let name = if request.contains(" /b ") { "acme-buses" } else { "acme-lineside" };
        assert!(request.contains(&format!("et-client-name: {name}\r\n")), "{request}");
        assert_eq!(request.matches("et-client-name").count(), 1, "{request}");
    }
    running.stop().await;
}
