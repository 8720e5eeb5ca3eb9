//! Entity tags, content encodings and HEAD, which caches and well-behaved clients rely on.

use crate::support::http::{get, get_with, send};
use crate::support::shared_demo;

/// Addresses whose content stays the same during a test.
const STEADY: &[&str] = &[
    "/proxy/city",
    "/gtfs/city.zip",
    "/geojson/city/stops.geojson",
    "/geojson/city/routes.geojson",
    "/api/v1/openapi.json",
    "/map/base-map.geojson",
];

#[tokio::test]
async fn matching_etags_receive_304() {
    let server = shared_demo();
    for path in STEADY {
        let url = format!("{server}{path}");
        let first = get(&url).await;
        let tag = first.headers()["etag"].to_str().unwrap().to_owned();
        assert!(tag.starts_with('"'), "{path}: a weak or bare tag {tag}");
        assert!(first.headers()["cache-control"].to_str().unwrap().contains("max-age="), "{path}");
        for sent in [tag.clone(), format!("\"other\", {tag}"), format!("W/{tag}"), "*".to_owned()] {
            let second = get_with(&url, &[("if-none-match", &sent)]).await;
            assert_eq!(second.status(), 304, "{path} {sent}");
            assert_eq!(second.headers()["etag"].to_str().unwrap(), tag);
            assert!(second.bytes().await.unwrap().is_empty());
        }
        let other = get_with(&url, &[("if-none-match", "\"other\"")]).await;
        assert_eq!(other.status(), 200, "{path}");
    }
}

#[tokio::test]
async fn if_modified_since_works_and_etags_take_precedence() {
    let server = shared_demo();
    for path in ["/proxy/city", "/gtfs/city.zip", "/geojson/city/stops.geojson", "/gtfs-rt/city.pb"]
    {
        let url = format!("{server}{path}");
        let modified = get(&url).await.headers()["last-modified"].to_str().unwrap().to_owned();
        let second =
            get_with(&url, &[("if-modified-since", "Fri, 01 Jan 2100 00:00:00 GMT")]).await;
        assert_eq!(second.status(), 304, "{path}");
        let older = get_with(&url, &[("if-modified-since", "Thu, 01 Jan 1970 00:00:00 GMT")]).await;
        assert_eq!(older.status(), 200, "{path}");
        let both = [("if-modified-since", modified.as_str()), ("if-none-match", "\"other\"")];
        assert_eq!(get_with(&url, &both).await.status(), 200, "{path}");
    }
}

#[tokio::test]
async fn head_has_the_headers_of_get() {
    let server = shared_demo();
    for path in STEADY {
        let url = format!("{server}{path}");
        let whole = get(&url).await;
        let head = send(reqwest::Method::HEAD, &url, &[]).await;
        assert_eq!(head.status(), 200, "{path}");
        for name in ["etag", "content-type", "content-length"] {
            assert_eq!(head.headers()[name], whole.headers()[name], "{path} {name}");
        }
        assert!(head.bytes().await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn every_content_coding_has_its_own_etag() {
    let server = shared_demo();
    let url = format!("{server}/geojson/city/stops.geojson");
    let plain = get(&url).await;
    let plain_tag = plain.headers()["etag"].clone();
    assert_eq!(plain.headers()["vary"], "Accept-Encoding");
    let body = plain.bytes().await.unwrap();
    let mut tags = vec![plain_tag];
    for coding in ["gzip", "br", "zstd"] {
        let coded = get_with(&url, &[("accept-encoding", coding)]).await;
        assert_eq!(coded.headers()["content-encoding"], coding);
        let tag = coded.headers()["etag"].clone();
        assert!(!tags.contains(&tag), "{coding} has the tag of another");
        let request_headers =
            [("accept-encoding", coding), ("if-none-match", tag.to_str().unwrap())];
        assert_eq!(get_with(&url, &request_headers).await.status(), 304);
        tags.push(tag);
        let coded = coded.bytes().await.unwrap();
        assert!(coded.len() < body.len() / 2, "{coding}: {} of {}", coded.len(), body.len());
        assert_eq!(decode(coding, &coded), body);
    }
}

fn decode(coding: &str, body: &[u8]) -> Vec<u8> {
    use std::io::Read as _;
    let mut out = Vec::new();
    match coding {
        "gzip" => drop(flate2::read::GzDecoder::new(body).read_to_end(&mut out).unwrap()),
        "br" => drop(brotli::Decompressor::new(body, 4096).read_to_end(&mut out).unwrap()),
        _ => out = zstd::stream::decode_all(body).unwrap(),
    }
    out
}

#[tokio::test]
async fn an_archive_is_sent_without_content_coding() {
    let url = format!("{}/proxy/city", shared_demo());
    let coded = get_with(&url, &[("accept-encoding", "gzip, br, zstd")]).await;
    assert!(!coded.headers().contains_key("content-encoding"));
    assert_eq!(coded.headers()["lineside-status"], "fresh");
    let bytes = coded.bytes().await.unwrap();
    assert!(bytes.starts_with(b"PK"));
}

#[tokio::test]
async fn proxied_bytes_are_sandboxed() {
    let response = get(&format!("{}/proxy/city", shared_demo())).await;
    let policy = response.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("sandbox"), "{policy}");
}

#[tokio::test]
async fn pages_load_resources_from_the_own_origin_only() {
    let server = shared_demo();
    for path in ["/", "/map", "/feeds/city"] {
        let response = get(&format!("{server}{path}")).await;
        let policy = response.headers()["content-security-policy"].to_str().unwrap().to_owned();
        assert!(policy.contains("default-src 'self'"), "{path}: {policy}");
        assert!(policy.contains("worker-src 'self' blob:"), "{path}: {policy}");
    }
}

#[tokio::test]
async fn if_match_refuses_another_version() {
    let server = shared_demo();
    for path in ["/proxy/city", "/geojson/city/stops.geojson", "/api/v1/openapi.json"] {
        let url = format!("{server}{path}");
        let tag = get(&url).await.headers()["etag"].to_str().unwrap().to_owned();
        assert_eq!(get_with(&url, &[("if-match", tag.as_str())]).await.status(), 200, "{path}");
        assert_eq!(get_with(&url, &[("if-match", "*")]).await.status(), 200, "{path}");
        let other = get_with(&url, &[("if-match", "\"other\"")]).await;
        assert_eq!(other.status(), 412, "{path}");
        assert_eq!(
            crate::support::http::json(other).await["code"],
            "precondition_failed",
            "{path}"
        );
    }
}
