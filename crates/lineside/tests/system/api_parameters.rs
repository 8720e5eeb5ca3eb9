//! Parameters follow the API description: unknown, repeated and out-of-range ones are refused.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::Value;

use crate::support::http::{assert_problem, get, get_json, get_with, header, json, problem, send};
use crate::support::shared_demo;

/// Returns each address in the description with its operation of a method.
fn operations(document: &Value, method: &str) -> Vec<(String, Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    let methods_of_path = paths.filter_map(|(path, item)| Some((path, item.get(method)?)));
    methods_of_path
        .filter(|(path, _)| *path != "/connection/websocket")
        .map(|(path, operation)| (path.clone(), operation.clone()))
        .collect()
}

/// Returns each address that everyone may read, with its operation.
fn read_operations(document: &Value) -> Vec<(String, Value)> {
    let mut all = operations(document, "get");
    all.retain(|(_, operation)| operation["tags"][0] != "admin");
    all
}

/// Returns an address for a template: the city for a feed, and the first of several allowed words.
fn address(template: &str, operation: &Value) -> String {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    parameters.filter(|parameter| parameter["in"] == "path").fold(
        template.to_owned(),
        |path, parameter| {
            let name = parameter["name"].as_str().unwrap();
            let word = parameter["schema"]["enum"][0].as_str().unwrap_or("city");
            path.replace(&format!("{{{name}}}"), word)
        },
    )
}

async fn check_refused(url: &str, code: &str) -> Value {
    let (status, kind, refusal) = problem(url).await;
    assert_eq!((status, refusal["code"].as_str()), (400, Some(code)), "{url}: {refusal}");
    assert_problem(400, code, (status, kind, refusal.clone()));
    refusal
}

#[tokio::test]
async fn every_get_operation_refuses_an_unknown_parameter() {
    let server = shared_demo();
    let document = get_json(&format!("{server}/api/v1/openapi.json")).await;
    let operations = read_operations(&document);
    assert!(operations.len() > 30, "{}", operations.len());
    for (template, operation) in operations {
        let path = address(&template, &operation);
        check_refused(&format!("{server}{path}?unheard_of=1"), "unknown_parameter").await;
    }
}

#[tokio::test]
async fn every_method_refuses_an_unknown_parameter_without_any_effect() {
    let server = shared_demo();
    let document = get_json(&format!("{server}/api/v1/openapi.json")).await;
    let mut n_tested = 0;
    for method in [Method::GET, Method::POST, Method::PATCH, Method::DELETE] {
        for (template, operation) in operations(&document, &method.as_str().to_lowercase()) {
            let url = format!("{server}{}?dryrun=true", address(&template, &operation));
            let reply = send(method.clone(), &url, &[]).await;
            assert_eq!(reply.status(), 400, "{method} {url}");
            assert_eq!(json(reply).await["code"], "unknown_parameter", "{method} {url}");
            n_tested += usize::from(method != Method::GET);
        }
    }
    assert!(n_tested >= 15, "{n_tested}");
}

#[tokio::test]
async fn images_and_script_requests_refuse_unknown_parameters() {
    let server = shared_demo();
    for path in [
        "/delays/city/badge.svg?rute=1",
        "/feeds/city/report.svg?utm_source=mail",
        "/map/stop?feed=city&stop=1",
        "/map/trip?feed=city&trip=1",
        "/map/unplaced?feed=city",
        "/ops/tiles?ranges=1d",
        "/api/v1/openapi.json?pretty=1",
    ] {
        check_refused(&format!("{server}{path}"), "unknown_parameter").await;
    }
    for path in ["/delays/city/badge.svg?_=1", "/feeds/city/report.svg?_=1"] {
        assert_eq!(get(&format!("{server}{path}")).await.status(), 200, "{path}");
    }
}

#[tokio::test]
async fn a_page_refuses_a_parameter_with_links_to_corrected_addresses() {
    let server = shared_demo();
    let url = format!("{server}/delays/city?rute=R1&utm_source=mail");
    let reply = get_with(&url, &[("accept", "text/html")]).await;
    assert_eq!(reply.status(), 400);
    assert!(header(&reply, "content-type").starts_with("text/html"));
    let page = reply.text().await.unwrap();
    for link in [
        "class=\"corrected\" href=\"/delays/city?route=R1&amp;utm_source=mail\"",
        "class=\"without\" href=\"/delays/city?utm_source=mail\"",
        "noindex",
    ] {
        assert!(page.contains(link), "no {link} in {page}");
    }
    // Programs get the refusal as JSON.
    check_refused(&url, "unknown_parameter").await;
    let url = format!("{server}/delays/city?embed=1&x=1");
    let embedded = get_with(&url, &[("accept", "text/html")]).await;
    let policy = header(&embedded, "content-security-policy").to_owned();
    assert!(
        policy.contains("frame-ancestors *"),
        "the error page can be embedded like the page: {policy}"
    );
    for path in ["/?utm_source=mail", "/map?fbclid=1", "/docs/guide/reports?gclid=1"] {
        assert_eq!(get(&format!("{server}{path}")).await.status(), 200, "{path}");
    }
}

#[tokio::test]
async fn a_page_refuses_an_unknown_value_with_the_known_ones() {
    let server = shared_demo();
    let stops = get_json(&format!("{server}/api/v1/stops?limit=1")).await;
    let board = format!("/stops/city/{}", stops["items"][0]["id"].as_str().unwrap());
    for (page, name, known) in [
        ("/", "state", "expired"),
        ("/", "format", "gtfs-rt"),
        ("/", "report", "warnings"),
        ("/", "expires", "soon"),
        ("/", "page", "1"),
        ("/ops", "state", "expired"),
        ("/ops", "sort", "-lag"),
        ("/ops", "range", "1d"),
        ("/ops", "done", "pause"),
        ("/ops/tiles", "range", "1d"),
        ("/alerts/city", "page", "1"),
        ("/networks/city", "page", "1"),
        ("/networks/city", "lines", "1"),
        ("/feeds/city/versions", "offset", "0"),
        ("/delays/city", "embed", "1"),
        (&board, "embed", "1"),
        (&board, "limit", "40"),
        (&board, "after", "2026-11-28T07:30"),
        ("/routes/city/T1", "date", "2026-11-28"),
    ] {
        let url = format!("{server}{page}?{name}=nonsense");
        let reply = get_with(&url, &[("accept", "text/html")]).await;
        assert_eq!(reply.status(), 400, "{url}");
        let text = reply.text().await.unwrap();
        if page != "/ops/tiles" {
            assert!(text.contains(&format!("class=\"without\" href=\"{page}\"")), "{url}: {text}");
        }
        assert!(text.contains("nonsense") && text.contains(name), "{url}: {text}");
        // Programs get the refusal as JSON.
        check_refused(&url, "bad_parameter").await;
        for value in [known, ""] {
            let url = format!("{server}{page}?{name}={value}");
            assert_ne!(get(&url).await.status(), 400, "{url}");
        }
    }
}

/// Returns the addresses with a query that a page links to, or sends its forms to, on this server.
fn queried(page: &str) -> Vec<String> {
    let values = page.split("href=\"").chain(page.split("action=\"")).skip(1);
    let values = values.filter_map(|rest| rest.split('"').next());
    values
        .filter(|address| address.starts_with('/') && address.contains('?'))
        .map(|address| address.split('#').next().unwrap().replace("&amp;", "&"))
        .collect()
}

#[tokio::test]
async fn pages_link_only_to_addresses_with_known_parameters() {
    let server = shared_demo();
    let (mut seen, mut waiting) = (BTreeSet::new(), vec!["/".to_owned()]);
    let stops = get_json(&format!("{server}/api/v1/stops?limit=1")).await;
    let stop = stops["items"][0]["id"].as_str().unwrap();
    waiting.extend(
        [
            "/feeds/city",
            "/feeds/city-trips",
            "/networks/city",
            "/delays/city",
            "/alerts/city",
            "/map",
            "/ops",
            "/feeds/city/versions",
        ]
        .map(str::to_owned),
    );
    waiting.push(format!("/stops/city/{stop}"));
    while let Some(path) = waiting.pop() {
        if seen.len() > 150 || path.starts_with("/events") || !seen.insert(path.clone()) {
            continue;
        }
        let reply = get_with(&format!("{server}{path}"), &[("accept", "text/html")]).await;
        let (status, kind) = (reply.status(), header(&reply, "content-type").to_owned());
        let text = reply.text().await.unwrap();
        assert_ne!(status, 400, "{path}: {text}");
        if kind.starts_with("text/html") {
            waiting.extend(queried(&text));
        }
    }
    assert!(seen.len() > 30, "{seen:?}");
}

#[tokio::test]
async fn a_refusal_suggests_the_nearest_parameter() {
    let server = shared_demo();
    for (path, meant) in [
        ("/api/v1/stops?lat=54.7&lon=2.08&limit=12", "`near`"),
        ("/api/v1/vehicles?box=1,2,3,4", "`bbox`"),
        ("/events?chanel=feed/city", "`channel`"),
    ] {
        let refusal = check_refused(&format!("{server}{path}"), "unknown_parameter").await;
        let detail = refusal["detail"].as_str().unwrap();
        assert!(detail.contains(meant), "{path}: {detail}");
    }
}

#[tokio::test]
async fn a_repeated_parameter_is_refused() {
    let server = shared_demo();
    for path in ["/api/v1/stops?limit=&limit=x", "/api/v1/feeds?q=a&q=b", "/api/v1/stops?limit=0"] {
        check_refused(&format!("{server}{path}"), "bad_parameter").await;
    }
}

#[tokio::test]
async fn values_outside_the_described_bounds_are_refused() {
    let server = shared_demo();
    let document = get_json(&format!("{server}/api/v1/openapi.json")).await;
    let mut n_tested = 0;
    for (template, operation) in read_operations(&document) {
        let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
        for parameter in parameters.iter().filter(|parameter| parameter["in"] == "query") {
            let schema = &parameter["schema"];
            let wrong = match schema["maximum"].as_u64() {
                Some(maximum) => (maximum + 1).to_string(),
                None if schema["enum"].is_array() || schema["pattern"].is_string() => {
                    "no-such".to_owned()
                }
                None => continue,
            };
            let (path, name) =
                (address(&template, &operation), parameter["name"].as_str().unwrap());
            check_refused(&format!("{server}{path}?{name}={wrong}"), "bad_parameter").await;
            n_tested += 1;
        }
    }
    assert!(n_tested >= 15, "{n_tested}");
}

#[tokio::test]
async fn files_accept_a_cache_busting_parameter() {
    let server = shared_demo();
    for path in [
        "/proxy/city-vehicles",
        "/gtfs/city.zip",
        "/gtfs-rt/city.pb",
        "/geojson/city/stops.geojson",
    ] {
        assert_eq!(get(&format!("{server}{path}?_=1700000000")).await.status(), 200, "{path}");
    }
}
