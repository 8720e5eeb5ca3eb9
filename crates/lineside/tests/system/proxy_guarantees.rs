//! The promises of the proxy, tested with separate producers: the last good bytes at once, one request per poll.

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};
use futures_util::future::join_all;
use lineside_testkit::{WAIT_MAX, wait_for_freshness, wait_for_json, wait_for_status, wait_until};
use reqwest::Method;

use crate::support::http::{assert_problem, get, get_json, get_with, header, problem, send};
use crate::support::process::ServerProcess;
use crate::support::producer::{Answer, Producer, answer, unmeasured};

const MAX_BYTES: usize = 1 << 20;

/// A real-time message of one vehicle, without a timestamp.
const MESSAGE: &[u8] = b"\x0a\x05\x0a\x032.0\
    \x12\x19\x0a\x03bus\x22\x12\x12\x0a\x0d\x00\x00\x40\x42\x15\x00\x00\x00\x40\x42\x04\x0a\x02b1";
/// A malformed further vehicle.
const BAD_ENTITY: &[u8] = b"\x12\x08\x0a\x03bad\x22\x01\xff";

/// Starts a server with these feeds: each has an id, an address, and further keys. The default poll interval is one
/// second.
fn serve(feeds: &[(&str, String, &str)]) -> (tempfile::TempDir, ServerProcess) {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n".to_owned();
    for (id, url, more) in feeds {
        let poll = if more.contains("poll") { "" } else { "poll = \"1s\"\n" };
        text += &format!(
            "[[feed]]\nid = {id:?}\nurl = {url:?}\n{poll}max_bytes = {MAX_BYTES}\n{more}\n"
        );
    }
    let server = ServerProcess::serving(folder.path(), text);
    (folder, server)
}

fn good(headers: &[&str], body: &[u8]) -> Answer {
    Answer::Bytes(answer("200 OK", headers, body))
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

/// Returns a body of several packets that compresses well.
fn long_body() -> Vec<u8> {
    (0..40_000).flat_map(|n: u32| format!("line {n}\n").into_bytes()).collect()
}

#[tokio::test]
async fn many_clients_cause_one_request_to_the_producer() {
    let producer = Producer::start(good(&[], b"a,b\n1,2\n")).await;
    let rarely = "format = \"raw\"\npoll = \"1h\"";
    let (_folder, server) = serve(&[("f", producer.url("/lines.csv"), rarely)]);
    let url = format!("{}/proxy/f", server.url);
    wait_for_freshness(&url, "fresh").await;
    let asking = (0..300).map(|n| {
        let url = &url;
        async move {
            let method = if n % 3 == 0 { Method::HEAD } else { Method::GET };
            let coding = ["identity", "gzip", "br", "zstd"][n % 4];
            send(method, url, &[("accept-encoding", coding)]).await.status()
        }
    });
    assert!(join_all(asking).await.iter().all(|status| *status == 200));
    assert_eq!(producer.heads().len(), 1, "{:?}", producer.heads());
    let fresh = get(&url).await;
    let cache = header(&fresh, "cache-control").to_owned();
    let seconds = |name: &str| -> u64 {
        let directive = cache.split(", ").find_map(|directive| directive.strip_prefix(name));
        directive.unwrap_or_else(|| panic!("{name} in {cache}")).parse().unwrap()
    };
    // The rest of an hour, with a jitter of five percent.
    assert!((3_000..=3_780).contains(&seconds("max-age=")), "{cache}");
    assert_eq!(seconds("stale-if-error="), 7 * 24 * 60 * 60 - seconds("max-age="));
    assert_eq!(header(&fresh, "age"), "", "fresh bytes have none");
}

#[tokio::test]
async fn polls_are_conditional_and_the_same_bytes_change_nothing() {
    let whole = answer("200 OK", &["etag: \"one\""], MESSAGE);
    let conditional = Producer::start(Answer::Conditional("\"one\"", whole)).await;
    let repeating = Producer::start(good(&[], MESSAGE)).await;
    let (_folder, server) = serve(&[
        ("conditional", conditional.url("/vp.pb"), ""),
        ("repeating", repeating.url("/vp.pb"), ""),
    ]);
    for (id, producer) in [("conditional", &conditional), ("repeating", &repeating)] {
        let url = format!("{}/proxy/{id}", server.url);
        let first = wait_for_freshness(&url, "fresh").await;
        let about = format!("{}/api/v1/feeds/{id}", server.url);
        let state = format!("{}/api/v1/state?channel=feed/{id}", server.url);
        // The bytes are served before the API reports them.
        let detail = wait_for_json(&about, |found| found["last_success"].is_string()).await;
        let confirmed = detail["last_success"].clone();
        let position = header(&get(&state).await, "lineside-position").to_owned();
        wait_for_json(&about, |found| found["last_success"] != confirmed).await;
        let second = get(&url).await;
        for name in ["etag", "last-modified", "lineside-status"] {
            assert_eq!(header(&second, name), header(&first, name), "{id} {name}");
        }
        assert_eq!(header(&get(&state).await, "lineside-position"), position, "{id}");
        let heads = producer.heads();
        assert!(heads.iter().all(|head| head.contains("accept-encoding: gzip")), "{heads:?}");
    }
    let heads = conditional.heads();
    assert!(heads[1..].iter().all(|head| head.contains("if-none-match: \"one\"")), "{heads:?}");
}

#[tokio::test]
async fn no_client_waits_while_the_producer_hangs() {
    let producer = Producer::start(good(&[], MESSAGE)).await;
    let (_folder, server) = serve(&[("f", producer.url("/vp.pb"), "timeout = \"10m\"")]);
    let url = format!("{}/proxy/f", server.url);
    wait_for_freshness(&url, "fresh").await;
    producer.set(Answer::ThenHang(Vec::new()));
    let before = producer.heads().len();
    // The current request may still be answered, but the one after it hangs.
    wait_until("the producer is asked again", async || producer.heads().len() > before).await;
    let asking = join_all((0..50).map(|_| get(&url)));
    let replies = tokio::time::timeout(WAIT_MAX, asking).await.expect("no client waits");
    for reply in replies {
        assert_eq!(reply.status(), 200);
        assert_eq!(reply.bytes().await.unwrap(), MESSAGE);
    }
}

#[tokio::test]
async fn the_last_good_bytes_are_served_with_the_reason_for_every_failure() {
    let large = vec![7; 2 * MAX_BYTES];
    let bomb = gzip(&vec![0; 64 * MAX_BYTES]);
    let whole = answer("200 OK", &[], MESSAGE);
    let cut = |bytes: &[u8]| bytes[..bytes.len() - 3].to_vec();
    let faults = [
        ("http_500", Answer::Bytes(answer("500 Internal Server Error", &[], b"oops"))),
        ("http_404", Answer::Bytes(answer("404 Not Found", &[], b""))),
        ("http_429", Answer::Bytes(answer("429 Too Many Requests", &[], b""))),
        ("html", good(&["content-type: text/html"], b"<!doctype html><p>Soon</p>")),
        ("empty", good(&[], b"")),
        ("decode", good(&[], b"certainly no protobuf")),
        ("truncated", Answer::Bytes(cut(&whole))),
        ("truncated", good(&[], &cut(MESSAGE))),
        ("truncated", good(&["content-encoding: gzip"], &cut(&gzip(MESSAGE)))),
        ("too_large", good(&[], &large)),
        ("too_large", Answer::Bytes(unmeasured(&[], &large))),
        ("too_large", good(&["content-encoding: gzip"], &bomb)),
        ("timeout", Answer::ThenHang(Vec::new())),
        ("timeout", Answer::ThenHang(cut(&whole))),
        ("connect", Answer::Bytes(Vec::new())),
    ];
    let ids: Vec<String> = (0..faults.len()).map(|n| format!("f{n}")).collect();
    let mut producers = Vec::new();
    for _ in &faults {
        producers.push(Producer::start(good(&[], MESSAGE)).await);
    }
    let feeds = ids.iter().zip(&producers);
    let feeds: Vec<_> = feeds
        .map(|(id, producer)| (id.as_str(), producer.url("/vp.pb"), "timeout = \"500ms\""))
        .collect();
    let (_folder, server) = serve(&feeds);
    let url = |id: &str| format!("{}/proxy/{id}", server.url);
    let mut tags = Vec::new();
    for ((id, producer), (_, fault)) in ids.iter().zip(&producers).zip(&faults) {
        tags.push(wait_for_freshness(&url(id), "fresh").await.headers()["etag"].clone());
        producer.set(fault.clone());
    }
    for ((id, tag), (code, _)) in ids.iter().zip(&tags).zip(&faults) {
        let expect = format!("stale; reason={code}; since=2");
        let stale = wait_for_freshness(&url(id), &expect).await;
        assert_eq!(stale.status(), 200, "{code}");
        assert_eq!(stale.headers()["etag"], tag, "{code}");
        assert!(header(&stale, "age").parse::<u64>().is_ok(), "{code}");
        assert_eq!(stale.bytes().await.unwrap(), MESSAGE, "{code}");
        let not_modified = get_with(&url(id), &[("if-none-match", tag.to_str().unwrap())]).await;
        assert_eq!(not_modified.status(), 304, "{code}");
        assert!(header(&not_modified, "lineside-status").starts_with("stale"), "{code}");
        let feed = get_json(&format!("{}/api/v1/feeds/{id}", server.url)).await;
        // An empty body is a valid reply: then the state is named after it, and there is no failure.
        let names_reason =
            feed["state"] == *code || feed["reason"].as_str().unwrap().contains(code);
        assert!(names_reason, "{feed}");
    }
    for producer in &producers {
        producer.set(good(&[], MESSAGE));
    }
    for id in &ids {
        wait_for_freshness(&url(id), "fresh").await;
    }
}

#[tokio::test]
async fn nothing_is_served_before_the_first_success_or_past_max_age() {
    let never = Producer::start(Answer::Bytes(answer("500 Sorry", &[], b""))).await;
    let once = Producer::start(good(&[], b"x,y\n")).await;
    let (_folder, server) = serve(&[
        ("never", never.url("/a.csv"), "format = \"raw\""),
        ("once", once.url("/b.csv"), "format = \"raw\"\nmax_age = \"3s\""),
    ]);
    let (never, url) =
        (format!("{}/proxy/never", server.url), format!("{}/proxy/once", server.url));
    let refused = wait_for_status(&never, 503).await;
    assert_eq!(header(&refused, "cache-control"), "no-store");
    assert!(refused.headers().contains_key("retry-after"));
    assert_problem(503, "no_data", problem(&never).await);
    let fresh = wait_for_freshness(&url, "fresh").await;
    let cache = header(&fresh, "cache-control");
    let good_for = cache.split("stale-if-error=").nth(1).unwrap();
    assert!(
        good_for.parse::<u64>().unwrap() <= 3,
        "{cache}: caches must not serve data past max_age"
    );
    once.set(Answer::Bytes(answer("500 Sorry", &[], b"")));
    wait_for_status(&url, 503).await;
    assert_problem(503, "stale", problem(&url).await);
    once.set(good(&[], b"x,y\n"));
    wait_for_freshness(&url, "fresh").await;
}

#[tokio::test]
async fn an_invalid_entity_does_not_affect_the_others() {
    let producer = Producer::start(good(&[], &[MESSAGE, BAD_ENTITY].concat())).await;
    let (_folder, server) = serve(&[("f", producer.url("/vp.pb"), "")]);
    let url = format!("{}/proxy/f", server.url);
    let response = wait_for_freshness(&url, "fresh").await;
    assert_eq!(response.bytes().await.unwrap(), [MESSAGE, BAD_ENTITY].concat());
    // The bytes are served before the API reports their content.
    let about = format!("{}/api/v1/feeds/f", server.url);
    let feed = wait_for_json(&about, |feed| feed["entities"] == 1).await;
    assert!(feed.to_string().contains("bad"), "its problem is named: {feed}");
}

#[tokio::test]
async fn a_large_body_can_be_requested_in_ranges() {
    let body = long_body();
    let producer =
        Producer::start(good(&["last-modified: Wed, 04 Mar 2026 07:00:00 GMT"], &body)).await;
    let (_folder, server) = serve(&[("f", producer.url("/l.csv"), "format = \"raw\"")]);
    let url = format!("{}/proxy/f", server.url);
    let whole = wait_for_freshness(&url, "fresh").await;
    assert_eq!(header(&whole, "accept-ranges"), "bytes");
    let (tag, date) =
        (header(&whole, "etag").to_owned(), header(&whole, "last-modified").to_owned());
    let end = body.len() - 1;
    for (range, first, last) in [
        ("bytes=0-99".to_owned(), 0, 99),
        (format!("bytes={}-", end - 9), end - 9, end),
        ("bytes=-10".to_owned(), end - 9, end),
        (format!("bytes=100-{}", end + 500), 100, end),
    ] {
        for condition in [None, Some(&tag), Some(&date)] {
            let mut headers = vec![("range", range.as_str()), ("accept-encoding", "gzip")];
            headers.extend(condition.map(|it| ("if-range", it.as_str())));
            let part = get_with(&url, &headers).await;
            assert_eq!(part.status(), 206, "{range} {condition:?}");
            let content_range = format!("bytes {first}-{last}/{}", body.len());
            assert_eq!(header(&part, "content-range"), content_range);
            assert_eq!(header(&part, "etag"), tag);
            assert_eq!(header(&part, "content-encoding"), "");
            assert_eq!(part.bytes().await.unwrap(), body[first..=last], "{range}");
        }
    }
    let part = ("range", "bytes=0-9");
    for all in [
        vec![("range", "bytes=0-9,20-29")],
        vec![("range", "lines=0-9")],
        vec![part, ("if-range", "\"another\"")],
        vec![part, ("if-range", "Wed, 04 Mar 2026 06:00:00 GMT")],
    ] {
        let whole = get_with(&url, &all).await;
        assert_eq!(whole.status(), 200, "{all:?}");
        assert_eq!(whole.bytes().await.unwrap().len(), body.len(), "{all:?}");
    }
    assert_eq!(get_with(&url, &[part, ("if-none-match", &tag)]).await.status(), 304);
    let head = send(Method::HEAD, &url, &[part]).await;
    assert_eq!(
        (head.status(), header(&head, "content-length")),
        (reqwest::StatusCode::OK, body.len().to_string().as_str())
    );
    let beyond = get_with(&url, &[("range", &format!("bytes={}-", end + 1))]).await;
    assert_eq!(beyond.status(), 416);
    assert_eq!(header(&beyond, "content-range"), format!("bytes */{}", body.len()));
    assert!(beyond.text().await.unwrap().contains("bad_range"));
}

#[tokio::test]
async fn proxied_bytes_have_file_name_licence_and_cors_headers() {
    let producer = Producer::start(good(&["content-type: text/csv"], &long_body())).await;
    let licence = "licence = \"https://example.org/licence\"\nformat = \"raw\"";
    let words = "licence = \"CC-BY-4.0\"\nformat = \"raw\"";
    let (_folder, server) = serve(&[
        ("linked", producer.url("/lines.csv"), licence),
        ("named", producer.url("/lines.csv"), words),
    ]);
    let url = |id: &str| format!("{}/proxy/{id}", server.url);
    let named = wait_for_freshness(&url("named"), "fresh").await;
    assert_eq!(header(&named, "link"), "");
    wait_for_freshness(&url("linked"), "fresh").await;
    let mut tags = Vec::new();
    for coding in ["identity", "gzip", "br", "zstd"] {
        let reply = get_with(&url("linked"), &[("accept-encoding", coding)]).await;
        assert_eq!(header(&reply, "link"), "<https://example.org/licence>; rel=\"license\"");
        assert_eq!(header(&reply, "content-disposition"), "inline; filename=\"lines.csv\"");
        assert_eq!(header(&reply, "content-type"), "text/csv");
        assert_eq!(header(&reply, "vary"), "Accept-Encoding");
        let exposed = header(&reply, "access-control-expose-headers").to_ascii_lowercase();
        for name in reply.headers().keys().map(|name| name.as_str()) {
            let own_headers = ["etag", "link", "last-modified", "lineside-status", "accept-ranges"];
            let is_reported = exposed.split(", ").any(|known| known == name);
            assert!(is_reported || !own_headers.contains(&name), "{name} is not in {exposed}");
        }
        let tag = header(&reply, "etag").to_owned();
        assert!(!tag.starts_with("W/") && !tags.contains(&tag), "{coding}: {tag} of {tags:?}");
        let if_none_match = [("accept-encoding", coding), ("if-none-match", tag.as_str())];
        let second = get_with(&url("linked"), &if_none_match).await;
        assert_eq!((second.status().as_u16(), header(&second, "etag")), (304, tag.as_str()));
        tags.push(tag);
    }
}
