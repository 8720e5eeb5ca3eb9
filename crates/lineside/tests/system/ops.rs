//! The state of feeds and node, for those who may read it.

use std::time::Instant;

use lineside::{Config, RunningServer};
use lineside_testkit::{WAIT_MAX, wait_until};
use reqwest::Method;
use serde_json::Value;

use crate::support::admin::{self, BEARER};
use crate::support::events::{ReceivedState, Stream};
use crate::support::http::{assert_problem, get, get_json, get_with, header, problem, send};
use crate::support::producer::{Answer, Producer};
use crate::support::websocket_client::Socket;
use crate::support::{serve, shared_demo};

const BODY: &[u8] = b"a body of the tests";

/// Starts a server with one feed, whose producer replies "not modified" after the first request.
async fn server(more: &str) -> (RunningServer, Producer, String) {
    let mut reply =
        format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\netag: \"1\"\r\n\r\n", BODY.len());
    reply.push_str(std::str::from_utf8(BODY).unwrap());
    let producer = Producer::start(Answer::Conditional("\"1\"", reply.into_bytes())).await;
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n{}{more}\n\
         [[feed]]\nid = \"a\"\nname = \"A feed <of> the tests\"\nformat = \"raw\"\npoll = \"1s\"\nurl = \"{}\"\n",
        admin::table(),
        producer.url("/a")
    );
    let config = Config::parse(std::path::Path::new("lineside.toml"), &text).unwrap();
    let running = serve(config).await;
    let url = format!("http://{}", running.listen_address());
    (running, producer, url)
}

/// Follows a stream of one channel until its state satisfies `is_met`.
async fn follow_until(
    stream: &mut Stream,
    channel_state: &mut ReceivedState,
    is_met: impl Fn(&ReceivedState) -> bool,
) {
    let deadline = Instant::now() + WAIT_MAX;
    while !(channel_state.is_complete && is_met(channel_state)) {
        let event = stream.next_within(WAIT_MAX).await.expect("a message");
        channel_state.apply(&event.data);
        assert!(Instant::now() < deadline, "{:?}", channel_state.records);
    }
}

fn record<'a>(channel_state: &'a ReceivedState, feed: &str, kind: &str, id: &str) -> &'a Value {
    let key = (feed.to_owned(), kind.to_owned(), id.to_owned());
    channel_state.records.get(&key).unwrap_or(&Value::Null)
}

#[tokio::test]
async fn the_dashboard_is_for_admins_unless_it_is_public() {
    let (_running, _producer, server) = server("").await;
    let redirect_reply = get(&format!("{server}/ops?state=late&sort=-lag")).await;
    assert_eq!(redirect_reply.status(), 303);
    assert_eq!(
        header(&redirect_reply, "location"),
        "/login?next=%2Fops%3Fstate%3Dlate%26sort%3D-lag"
    );
    for channel in ["ops/feeds", "ops/node"] {
        for address in ["/events", "/api/v1/state"] {
            let url = format!("{server}{address}?channel={channel}");
            assert_problem(401, "not_admin", problem(&url).await);
            let wrong = get_with(&url, &[("authorization", "Bearer another")]).await;
            assert_eq!(wrong.status(), 401, "{url}");
            assert_eq!(get_with(&url, &[BEARER]).await.status(), 200, "{url}");
        }
    }
    assert_eq!(get(&format!("{server}/ops/rows/a")).await.status(), 401);
    let mixed = format!("{server}/events?channel=feed/a&channel=ops/node");
    assert_eq!(get(&mixed).await.status(), 401, "one of the two is not for everybody");
    let cookie = admin::session(&server).await;
    for address in
        ["/ops", "/ops/rows/a", "/events?channel=ops/feeds", "/api/v1/state?channel=ops/feeds"]
    {
        let seen = get_with(&format!("{server}{address}"), &[("cookie", &cookie)]).await;
        assert_eq!(seen.status(), 200, "{address}");
        assert_eq!(seen.headers()["cache-control"], "no-store", "{address}");
    }
}

#[tokio::test]
async fn a_public_dashboard_requires_no_login() {
    let (_running, _producer, server) = server("public_ops = true").await;
    assert_eq!(get(&format!("{server}/ops")).await.status(), 200);
    let mut socket = tokio::task::spawn_blocking({
        let server = server.clone();
        move || {
            let mut socket = Socket::open(&server);
            socket.subscribe("ops/node", None);
            socket
        }
    })
    .await
    .unwrap();
    let event = tokio::task::spawn_blocking(move || socket.publication("ops/node")).await.unwrap();
    assert!(event["data"]["changes"].is_array(), "{event}");
    let state = get_json(&format!("{server}/api/v1/state?channel=ops/feeds")).await;
    assert_eq!(state["changes"][0]["id"], "a", "{state}");
    let unknown = problem(&format!("{server}/events?channel=ops/other")).await;
    assert_problem(400, "bad_channel", unknown);
}

#[tokio::test]
async fn a_feed_row_has_figures_of_requests_to_its_producer_and_of_clients() {
    let (_running, producer, server) = server("public_ops = true").await;
    let mut stream = Stream::open(&server, "channel=ops/feeds").await;
    let mut channel_state = ReceivedState::default();
    follow_until(&mut stream, &mut channel_state, |channel_state| {
        record(channel_state, "a", "feed", "a")["state"] == "ok"
    })
    .await;
    let url = format!("{server}/proxy/a");
    let first = get(&url).await;
    let tag = first.headers()["etag"].to_str().unwrap().to_owned();
    get(&url).await;
    send(Method::HEAD, &url, &[]).await;
    assert_eq!(get_with(&url, &[("if-none-match", &tag)]).await.status(), 304);
    let _listener = Stream::open(&server, "channel=feed/a").await;
    follow_until(&mut stream, &mut channel_state, |channel_state| {
        let feed = record(channel_state, "a", "feed", "a");
        let fetches = &feed["fetches"];
        feed["served"]["total"] == 4
            && feed["subscribers"] == 1
            && fetches["not_modified"].as_u64().is_some_and(|n| n > 0)
    })
    .await;
    let feed = record(&channel_state, "a", "feed", "a");
    assert_eq!(feed["name"], "A feed <of> the tests");
    assert_eq!(feed["served"]["not_modified"], 1, "{feed}");
    assert_eq!(feed["served"]["bytes"], 2 * BODY.len(), "one had it, one wanted the head alone");
    assert_eq!(feed["cache"]["bytes"], BODY.len());
    assert_eq!(feed["fetches"]["bytes"], BODY.len(), "304 brings none");
    let fetches = feed["fetches"]["total"].as_u64().unwrap();
    assert!((2..=producer.requests().len() as u64).contains(&fetches), "{feed}");
    let times = feed["fetches"]["histogram"].as_array().unwrap().iter();
    assert_eq!(times.map(|n| n.as_u64().unwrap()).sum::<u64>(), fetches, "{feed}");
    let ratio = feed["amplification"].as_f64().unwrap();
    assert!((ratio - 4.0 / fetches as f64).abs() < 0.01, "{feed}");
}

#[tokio::test]
async fn a_new_stream_receives_the_recent_samples_and_then_each_second() {
    let (_running, _producer, server) = server("public_ops = true").await;
    let mut stream = Stream::open(&server, "channel=ops/node").await;
    let mut channel_state = ReceivedState::default();
    let is_well = |channel_state: &ReceivedState| {
        record(channel_state, "", "node", "now")["feeds"]["ok"] == 1
    };
    follow_until(&mut stream, &mut channel_state, |channel_state| {
        channel_state.publications >= 3 && is_well(channel_state)
    })
    .await;
    let samples = |channel_state: &ReceivedState| {
        let is_sample = |(_, kind, _): &&(String, String, String)| kind == "sample";
        channel_state
            .records
            .keys()
            .filter(is_sample)
            .map(|(_, _, id)| id.clone())
            .collect::<Vec<_>>()
    };
    assert!(samples(&channel_state).len() >= 3, "{:?}", channel_state.records);
    let last = samples(&channel_state).pop().unwrap();
    let sample = record(&channel_state, "", "sample", &last);
    assert!(sample["connections"].as_u64().is_some_and(|n| n >= 1), "{sample}");
    assert!(sample["memory"].as_u64().is_some_and(|bytes| bytes > 1 << 20), "{sample}");
    assert!(sample["cpu"].as_f64().is_some_and(|cores| cores >= 0.0), "{sample}");
    // A second stream receives the same samples.
    let mut later = Stream::open(&server, "channel=ops/node").await;
    let mut all = ReceivedState::default();
    let seen = samples(&channel_state);
    follow_until(&mut later, &mut all, |all| seen.iter().all(|id| samples(all).contains(id))).await;
}

#[tokio::test]
async fn the_page_works_without_scripts() {
    let server = shared_demo();
    let page = async |query: &str| get(&format!("{server}/ops{query}")).await.text().await.unwrap();
    let all = page("").await;
    for id in ["city", "city-vehicles", "city-trips", "city-alerts", "city-bikes"] {
        assert!(all.contains(&format!("id=\"feed-{id}\"")), "no row of {id}");
    }
    let found = page("?q=alerts").await;
    assert!(found.contains("id=\"feed-city-alerts\"") && !found.contains("id=\"feed-city-trips\""));
    let ids = |page: &str| -> Vec<String> {
        let rows = page.split("data-feed=\"").skip(1);
        rows.map(|row| row.split('"').next().unwrap().to_owned()).collect()
    };
    let (up, mut down) = (ids(&page("?sort=name").await), ids(&page("?sort=-name").await));
    down.reverse();
    assert_eq!((up.len(), up), (5, down));
    let opened = page("?open=city-trips").await;
    for words in ["p99", "representation", "unreadable"] {
        assert!(opened.contains(words), "no {words:?} in the details of the row");
    }
    let none = page("?q=no-such-feed").await;
    assert!(
        ids(&none).is_empty() && !none.contains("id=\"none\" hidden"),
        "it says that none match"
    );
    for address in ["/incidents.atom", "id=\"alert-rules\"", "application/atom+xml"] {
        assert!(all.contains(address), "no {address:?}");
    }
    for range in ["5m", "1h", "1d", "1w"] {
        let page = page(&format!("?range={range}")).await;
        assert_eq!(page.matches("data-gauge=").count(), 8, "{range}");
        let tiles = get(&format!("{server}/ops/tiles?range={range}")).await.text().await.unwrap();
        assert!(tiles.contains("data-points=\"[["), "no values over {range}: {tiles}");
    }
    let odd = page("?q=%3Cscript%3E&sort=size&state=good&open=nothing").await;
    assert!(!odd.contains("<script>"), "what is asked for is text");
}

#[tokio::test]
async fn failing_feeds_come_first_and_long_lists_are_paged() {
    let good =
        Producer::start(Answer::Bytes(crate::support::producer::answer("200 OK", &[], BODY))).await;
    let feed = |n: usize| {
        let url = if n == 130 { "http://127.0.0.1:1/x".to_owned() } else { good.url("/a") };
        format!("[[feed]]\nid = \"f{n:03}\"\nformat = \"raw\"\npoll = \"1h\"\nurl = \"{url}\"\n")
    };
    let feeds: String = (0..150).map(feed).collect();
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n{}public_ops = true\n\
         [[alert]]\nto = \"https://hooks.example/hunter2\"\n{feeds}",
        admin::table()
    );
    let config = Config::parse(std::path::Path::new("lineside.toml"), &text).unwrap();
    let running = serve(config).await;
    let server = format!("http://{}", running.listen_address());
    let page = async |query: &str| {
        get_with(&format!("{server}/ops{query}"), &[BEARER]).await.text().await.unwrap()
    };
    let ids = |page: &str| -> Vec<String> {
        let rows = page.split("data-feed=\"").skip(1);
        rows.map(|row| row.split('"').next().unwrap().to_owned()).collect()
    };
    wait_until("the feed in trouble is first", async || {
        ids(&page("").await).first().is_some_and(|id| id == "f130")
    })
    .await;
    let (first, second) = (ids(&page("").await), ids(&page("?page=2").await));
    assert_eq!((first.len(), second.len()), (100, 50));
    assert!(second.iter().all(|id| !first.contains(id)));
    assert_eq!(ids(&page("?page=99").await), second, "a page beyond the last is the last");
    let shown = page("").await;
    assert!(shown.contains("hooks.example") && !shown.contains("hunter2"), "no secret is shown");
    let public = get(&format!("{server}/ops")).await.text().await.unwrap();
    assert!(!public.contains("hooks.example"), "recipients are for admins");
}
