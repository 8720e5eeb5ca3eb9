//! A GBFS system is passed on: its files, their addresses, and a malicious producer.

use lineside_testkit::{wait_for_some, wait_for_status};
use serde_json::{Value, json};

use crate::support::http::{assert_problem, get, get_json, get_with, problem};
use crate::support::site::{Site, serve};

const INFORMATION: &str = r#"{"last_updated":1,"ttl":3600,"version":"2.3","data":{"x":1.5000}}"#;
const STATUS: &str = r#"{"last_updated":1,"ttl":0,"version":"2.3","data":{"stations":[]}}"#;

#[tokio::test]
async fn gbfs_files_are_proxied_and_the_discovery_file_links_to_them() {
    let site = Site::default();
    let producer = site.start().await;
    // The text is unchanged except for the addresses, down to the digits of a number.
    let discovery = format!(
        r#"{{"ttl":60, "x": 1.50000000000000000000001,"data":{{"en":{{"feeds":[{{"name":"system_information","url":"{producer}/i?lang=en"}},{{"name":"station_status","url":"status"}}]}},"fr":{{"feeds":[{{"url":"{producer}/i?lang=fr","name":"system_information"}}]}}}}}}"#
    );
    for (path, page) in [
        ("/gbfs.json", &*discovery),
        ("/i?lang=en", INFORMATION),
        ("/i?lang=fr", STATUS),
        ("/status", STATUS),
    ] {
        site.put(path, page);
    }
    let folder = tempfile::tempdir().unwrap();
    let feeds = format!(
        "[[feed]]\nid = \"bikes\"\nurl = \"{producer}/gbfs.json\"\nformat = \"gbfs\"\npoll = \"1s\"\n"
    );
    let server = serve(folder.path(), &feeds).await;
    let url = &server.url;
    for (path, expect) in [
        ("/proxy/bikes/system_information", INFORMATION),
        ("/proxy/bikes/system_information.json", INFORMATION),
        ("/proxy/bikes/en/system_information.json", INFORMATION),
        ("/resource/bikes/fr/system_information", STATUS),
        ("/resource/bikes/station_status", STATUS),
    ] {
        let response = wait_for_status(&format!("{url}{path}"), 200).await;
        let headers = response.headers().clone();
        assert_eq!(headers["lineside-status"], "fresh", "{path}");
        assert_eq!(headers["content-type"], "application/json");
        let known = [("if-none-match", headers["etag"].to_str().unwrap())];
        assert_eq!(get_with(&format!("{url}{path}"), &known).await.status(), 304);
        assert_eq!(response.text().await.unwrap(), expect, "{path}");
    }
    for (prefix, address) in [
        ("proxy", "/proxy/bikes"),
        ("proxy", "/proxy/bikes/gbfs.json"),
        ("resource", "/resource/bikes/gbfs"),
    ] {
        let found = get(&format!("{url}{address}")).await.text().await.unwrap();
        let served_file = discovery
            .replace(
                &format!("{producer}/i?lang=en"),
                &format!("{url}/{prefix}/bikes/en/system_information.json"),
            )
            .replace(
                &format!("{producer}/i?lang=fr"),
                &format!("{url}/{prefix}/bikes/fr/system_information.json"),
            )
            .replace("\"status\"", &format!("\"{url}/{prefix}/bikes/en/station_status.json\""));
        assert_eq!(found, served_file, "{address}");
    }
    let page = get(&format!("{url}/feeds/bikes")).await.text().await.unwrap();
    assert!(page.contains("/proxy/bikes/en/station_status.json"), "{page}");
    let link = "<link rel=\"gbfs\" type=\"application/json\" href=\"/gbfs/bikes/3/gbfs.json\">";
    assert!(page.contains(link), "{page}");
    assert_eq!(get(&format!("{url}/gbfs/bikes/3/gbfs.json")).await.status(), 200);
    let feed = wait_for_some("its data of 1970 are stale", async || {
        let feed = get_json(&format!("{url}/api/v1/feeds/bikes")).await;
        (feed["state"] == "stale").then_some(feed)
    })
    .await;
    assert_eq!(
        (feed["entities"].as_u64(), &feed["data_time"]),
        (Some(3), &json!("1970-01-01T00:00:01Z"))
    );
    let reason = feed["reason"].as_str().unwrap();
    assert!(reason.contains("station_status") && reason.contains("old"), "{reason}");
    for path in [
        "/proxy/bikes/vehicle_types",
        "/proxy/bikes/de/system_information",
        "/proxy/bikes/i",
        "/proxy/bikes/en/gbfs",
    ] {
        assert_problem(404, "not_found", problem(&format!("{url}{path}")).await);
    }
    server.stop("-TERM");
}

#[tokio::test]
async fn a_failing_file_stays_served_and_an_unlisted_one_is_removed() {
    let site = Site::default();
    let producer = site.start().await;
    let list = |names: &[&str]| {
        let file = |name: &&str| json!({"name": name, "url": format!("{producer}/{name}")});
        let files: Vec<Value> = names.iter().map(file).collect();
        json!({"version": "3.0", "ttl": 0, "data": {"feeds": files}}).to_string()
    };
    site.put("/gbfs.json", &list(&["status", "zones"]));
    site.put("/status", STATUS);
    site.put("/zones", INFORMATION);
    let folder = tempfile::tempdir().unwrap();
    let feeds = format!(
        "[[feed]]\nid = \"bikes\"\nurl = \"{producer}/gbfs.json\"\nformat = \"gbfs\"\npoll = \"1s\"\nheaders = {{ key = \"s3cret\" }}\n"
    );
    let server = serve(folder.path(), &feeds).await;
    wait_for_status(&format!("{}/proxy/bikes/status", server.url), 200).await;
    wait_for_status(&format!("{}/proxy/bikes/zones", server.url), 200).await;
    assert!(site.requests_for("/status").iter().all(|head| head.contains("key: s3cret")));
    // An invalid or failing file leaves its own last good bytes and the other files alone.
    site.put("/status", "<html>sorry</html>");
    let stale = async || {
        let response = get(&format!("{}/proxy/bikes/status", server.url)).await;
        let status = response.headers()["lineside-status"].to_str().unwrap().to_owned();
        status.starts_with("stale; reason=html").then_some(response)
    };
    let response = wait_for_some("the file is stale", stale).await;
    assert!(response.headers().contains_key("age"));
    assert_eq!(response.text().await.unwrap(), STATUS);
    let other = get(&format!("{}/proxy/bikes/zones", server.url)).await;
    assert_eq!(other.headers()["lineside-status"], "fresh");
    // Everything survives a crash while the producer is down.
    server.stop("-KILL");
    for path in ["/gbfs.json", "/status", "/zones"] {
        site.take(path);
    }
    let server = serve(folder.path(), &feeds).await;
    for (file, expect) in [("status", STATUS), ("zones", INFORMATION)] {
        let response =
            wait_for_status(&format!("{}/proxy/bikes/{file}.json", server.url), 200).await;
        assert_eq!(response.text().await.unwrap(), expect);
    }
    site.put("/gbfs.json", &list(&["status"]));
    wait_for_status(&format!("{}/proxy/bikes/zones", server.url), 404).await;
    // The discovery file is stored before it is served.
    let discovery = format!("{}/proxy/bikes/gbfs.json", server.url);
    wait_for_some("the list is the new one", async || {
        let found = get(&discovery).await.text().await.unwrap();
        (!found.contains("zones")).then_some(())
    })
    .await;
    server.stop("-TERM");
}

#[tokio::test]
async fn files_are_polled_at_their_ttl_and_only_at_the_host_of_the_feed() {
    let (site, other_site) = (Site::default(), Site::default());
    let (producer, other) = (site.start().await, other_site.start().await);
    other_site.put("/secret", STATUS);
    let file = |name: &str, url: &str| json!({"name": name, "url": url});
    let mut files: Vec<Value> =
        (0..1_000).map(|n| file(&format!("f{n}"), &format!("{producer}/none/{n}"))).collect();
    files.splice(
        0..0,
        [
            file("slow", &format!("{producer}/slow")),
            file("quick", "/quick"),
            file("elsewhere", &format!("{other}/secret")),
            file("local", "file:///etc/passwd"),
            file("quick", &format!("{producer}/twice")),
            file("reported", &format!("{other}/x?token=s3cret")),
        ],
    );
    let body = json!({"ttl": 99_999_999_999_u64, "data": {"feeds": files}}).to_string();
    site.put("/gbfs.json", &body);
    site.put("/slow", INFORMATION);
    site.put("/quick", STATUS);
    let folder = tempfile::tempdir().unwrap();
    let feeds = format!(
        "[[feed]]\nid = \"bikes\"\nurl = \"{producer}/gbfs.json\"\nformat = \"gbfs\"\npoll = \"1s\"\nquery = {{ token = \"s3cret\" }}\n"
    );
    let server = serve(folder.path(), &feeds).await;
    // The operator's parameter is added, so these are the requested paths.
    for (path, page) in [("/gbfs.json", &*body), ("/slow", INFORMATION), ("/quick", STATUS)] {
        site.put(&format!("{path}?token=s3cret"), page);
    }
    wait_for_status(&format!("{}/proxy/bikes/slow", server.url), 200).await;
    wait_for_some("the quick one is asked for again and again", async || {
        (site.requests_for("/quick?token=s3cret").len() >= 4).then_some(())
    })
    .await;
    let (n_slow, n_quick) = (
        site.requests_for("/slow?token=s3cret").len(),
        site.requests_for("/quick?token=s3cret").len(),
    );
    assert!(n_slow < n_quick, "asked {n_slow} times for what is good for an hour");
    assert!(site.requests_for("/twice?token=s3cret").is_empty());
    assert!(other_site.heads().is_empty());
    for name in ["elsewhere", "local", "reported", "f900"] {
        let url = format!("{}/proxy/bikes/{name}", server.url);
        assert_problem(404, "not_found", problem(&url).await);
    }
    let found = get(&format!("{}/proxy/bikes/gbfs.json", server.url)).await.text().await.unwrap();
    assert!(found.contains(&format!("{other}/secret")), "what is elsewhere stays there");
    assert!(!found.contains("s3cret"));
    let feed = get_json(&format!("{}/api/v1/feeds/bikes", server.url)).await;
    let codes: Vec<&str> = feed["problem_counts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["code"].as_str().unwrap())
        .collect();
    for code in ["not_public", "duplicate_file", "too_many_files"] {
        assert!(codes.contains(&code), "{codes:?}");
    }
    server.stop("-TERM");
}

#[tokio::test]
async fn a_system_of_a_proxy_yaml_is_served_at_its_addresses() {
    let site = Site::default();
    let producer = site.start().await;
    let list = json!({"version": "3.0", "data": {"feeds": [
        {"name": "status", "url": format!("{producer}/v/status")},
        {"name": "vehicle_status", "url": "free_bikes.json"},
    ]}});
    site.put("/v/gbfs.json", &list.to_string());
    site.put("/v/status", STATUS);
    let vehicles = json!({"version": "3.0", "data": {"vehicles": []}}).to_string();
    site.put("/v/free_bikes.json", &vehicles);
    let folder = tempfile::tempdir().unwrap();
    let yaml = format!(
        "feeds:\n  - identifier: bikes\n    type: gbfs\n    base_url: {producer}/v/gbfs.json\n    ttl: 1\n"
    );
    std::fs::write(folder.path().join("proxy.yml"), yaml).unwrap();
    let server = serve(folder.path(), "[import]\nfeeds = \"proxy.yml\"\n").await;
    wait_for_status(&format!("{}/resource/bikes/status.json", server.url), 200).await;
    let found = get_json(&format!("{}/resource/bikes/gbfs.json", server.url)).await;
    let address = format!("{}/resource/bikes/status.json", server.url);
    assert_eq!(found["data"]["feeds"][0]["url"], address);
    // Clients of that proxy also find a file under the name in its address.
    for name in ["vehicle_status.json", "free_bikes.json", "free_bikes"] {
        let url = format!("{}/resource/bikes/{name}", server.url);
        assert_eq!(wait_for_status(&url, 200).await.text().await.unwrap(), vehicles, "{name}");
    }
    server.stop("-TERM");
}
