//! A misbehaving producer: the last good bytes are still served, and the reply names the reason.

use std::time::{Duration, Instant};

use lineside_testkit::{wait_for_feed, wait_for_freshness};

use crate::support::http::{get, json, send};
use crate::support::{DemoServer, demo};

async fn switch(server: &DemoServer, feed: &str, fault: &str) {
    let url = format!("{}/demo/faults", server.url());
    let client = crate::support::http::client();
    let form = format!("feed={feed}&fault={fault}");
    let request = client.post(&url).header("content-type", "application/x-www-form-urlencoded");
    let response = request.body(form).send().await.unwrap();
    assert!(
        response.status().is_redirection() || response.status().is_success(),
        "{}",
        response.status()
    );
}

#[tokio::test]
async fn pages_of_other_sites_cannot_switch_faults() {
    let url = format!("{}/demo/faults", crate::support::shared_demo());
    for (name, value, status) in [
        ("sec-fetch-site", "cross-site", 403),
        ("origin", "https://elsewhere.example", 403),
        ("sec-fetch-site", "same-origin", 303),
    ] {
        let request = crate::support::http::client().post(&url).header(name, value);
        let response = request.body("feed=city-trips&fault=").send().await.unwrap();
        assert_eq!(response.status(), status, "{name}: {value}");
    }
}

#[tokio::test]
async fn each_fault_preserves_the_last_good_bytes_and_has_a_reason() {
    // The timeout of a hanging producer passes sixteen times as fast.
    let server = demo(16.0, &[]).await;
    let url = server.url();
    for (fault, reason) in [
        ("500", "http_500"),
        ("html", "html"),
        ("truncate", "truncated"),
        ("empty", "empty"),
        ("hang", "timeout"),
    ] {
        wait_for_freshness(&format!("{url}/proxy/city-vehicles"), "fresh").await;
        switch(&server, "city-vehicles", fault).await;
        // On a slow machine a timeout may come first.
        wait_for_freshness(
            &format!("{url}/proxy/city-vehicles"),
            &format!("stale; reason={reason}; since=2"),
        )
        .await;
        let response = get(&format!("{url}/proxy/city-vehicles")).await;
        assert_eq!(response.status(), 200);
        assert!(response.headers()["age"].to_str().unwrap().parse::<u64>().is_ok());
        let bytes = response.bytes().await.unwrap();
        assert!(bytes.len() > 100 && !bytes.starts_with(b"<"), "{fault}: {} bytes", bytes.len());
        wait_for_feed(&url, "city-vehicles", |feed| {
            let [state, shown_reason] =
                ["state", "reason"].map(|key| feed[key].as_str().unwrap_or_default());
            // An empty body is a valid reply: the state is named after it, and there is no failure.
            let is_failure = ["stale", "failing"].contains(&state) && shown_reason.contains(reason);
            if fault == "empty" { state == "empty" } else { is_failure }
        })
        .await;
        switch(&server, "city-vehicles", "").await;
    }
    wait_for_freshness(&format!("{url}/proxy/city-vehicles"), "fresh").await;
    server.stop().await;
}

#[tokio::test]
async fn clients_never_wait_for_a_hanging_producer() {
    let server = demo(1.0, &["city-trips:hang@0s+600s"]).await;
    let url = server.url();
    let started = Instant::now();
    let response = get(&format!("{url}/proxy/city-trips")).await;
    assert_eq!(response.status(), 503, "nothing good has come yet");
    for path in ["/api/v1/feeds", "/gtfs-rt/city-trips.pb", "/gtfs-rt/city.pb", "/proxy/city-trips"]
    {
        drop(get(&format!("{url}{path}")).await);
    }
    // A client that waited for a poll would wait until its timeout, fifteen seconds each.
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    server.stop().await;
}

#[tokio::test]
async fn a_fault_is_switched_by_form_or_json_and_only_for_known_feeds() {
    let server = demo(1.0, &[]).await;
    let faults = format!("{}/demo/faults", server.url());
    switch(&server, "city-alerts", "html").await;
    let list = send(reqwest::Method::GET, &faults, &[("accept", "application/json")]).await;
    let list = json(list).await;
    let alerts =
        list["items"].as_array().unwrap().iter().find(|item| item["feed"] == "city-alerts");
    assert_eq!(alerts.unwrap()["fault"], "html");
    let client = crate::support::http::client();
    for (body, status) in [
        (r#"{"feed":"city-alerts","fault":null}"#, 200),
        (r#"{"feed":"city-alerts","fault":"none"}"#, 200),
        (r#"{"feed":"nothing","fault":"html"}"#, 404),
        (r#"{"feed":"city","fault":"flood"}"#, 400),
        ("nonsense", 400),
    ] {
        let request = client.post(&faults).header("content-type", "application/json");
        let response = request.body(body).send().await.unwrap();
        assert_eq!(response.status(), status, "{body}");
    }
    let request = client.post(&faults).header("content-type", "application/json");
    let refused = request.body(r#"{"feed":"city","fault":"nothing"}"#).send().await.unwrap();
    let detail = json(refused).await["detail"].as_str().unwrap().to_owned();
    for fault_name in ["none", "script", "hang", "ids"] {
        assert!(detail.contains(fault_name), "every accepted value is named: {detail}");
    }
    server.stop().await;
}

#[tokio::test]
async fn the_page_has_its_own_address_and_the_next_poll_of_each_feed() {
    let server = demo(1.0, &[]).await;
    let url = server.url();
    wait_for_freshness(&format!("{url}/proxy/city-trips"), "fresh").await;
    let page = get(&format!("{url}/demo/faults")).await.text().await.unwrap();
    let command = format!("curl -d 'feed=city-trips&amp;fault=hang' {url}/demo/faults");
    assert!(page.contains(&command), "{page}");
    let row = page.split("<tr>").find(|row| row.contains("/feeds/city-trips"));
    let row = row.expect("each feed has a row");
    // The demo polls every two seconds, with some jitter.
    let cells = [">now</td>", ">in 1 s</td>", ">in 2 s</td>", ">in 3 s</td>"];
    assert!(cells.iter().any(|cell| row.contains(cell)), "{row}");
    server.stop().await;
}
