//! GBFS systems in versions 2.3 and 3.0, independent of their producers' version.

use lineside_testkit::{wait_for_json, wait_for_some, wait_for_status};
use serde_json::{Value, json};

use crate::support::http::{assert_problem, get, get_json, get_with, header, problem};
use crate::support::site::{Site, serve};

fn feed(id: &str, url: &str) -> String {
    format!("[[feed]]\nid = \"{id}\"\nurl = \"{url}\"\nformat = \"gbfs\"\npoll = \"1s\"\n")
}

/// Publishes a system of this version with these files at a path.
fn put(site: &Site, path: &str, version: &str, files: &[(&str, Value)]) {
    let body = |data: &Value| {
        let at = if version.starts_with('3') {
            json!("2023-11-14T22:13:20Z")
        } else {
            json!(1_700_000_000)
        };
        json!({"last_updated": at, "ttl": 60, "version": version, "data": data}).to_string()
    };
    let feeds: Vec<Value> = files
        .iter()
        .map(|(name, _)| json!({"name": name, "url": format!("{name}.json")}))
        .collect();
    let list = json!({"feeds": feeds});
    let list = if version.starts_with('3') { list } else { json!({"de": list}) };
    site.put(&format!("{path}/gbfs.json"), &body(&list));
    for (name, data) in files {
        site.put(&format!("{path}/{name}.json"), &body(data));
    }
}

fn old_files() -> Vec<(&'static str, Value)> {
    vec![
        (
            "system_information",
            json!({"system_id": "hafen", "language": "de", "name": "Hafenrad",
            "timezone": "Europe/Berlin"}),
        ),
        (
            "system_hours",
            json!({"rental_hours": [{"user_types": ["member", "nonmember"],
            "days": ["mon", "sat"], "start_time": "06:00:00", "end_time": "23:59:59"}]}),
        ),
        (
            "station_information",
            json!({"stations": [{"station_id": 7, "name": "Hafen", "lat": "53.54",
            "lon": 9.98, "vehicle_type_capacity": {"bike": 5}}]}),
        ),
        (
            "station_status",
            json!({"stations": [{"station_id": "7", "num_bikes_available": 3,
            "is_renting": 1, "last_reported": 1_700_000_000}]}),
        ),
        (
            "free_bike_status",
            json!({"bikes": [{"bike_id": "b", "lat": 53.5, "lon": 9.9, "is_reserved": 0}]}),
        ),
        (
            "geofencing_zones",
            json!({"geofencing_zones": {"type": "FeatureCollection", "features": []}}),
        ),
        ("vehicle_availability", json!({"vehicles": []})),
    ]
}

/// Publishes a version 2 system in German and in French, with a station's name in each.
fn put_in_two_languages(site: &Site) {
    let body = |data: Value| {
        json!({"last_updated": 1_700_000_000, "ttl": 60, "version": "2.3", "data": data})
            .to_string()
    };
    let list = |language: &str| {
        let feed = |name: &str| json!({"name": name, "url": format!("{language}/{name}.json")});
        json!({"feeds": [feed("system_information"), feed("station_information")]})
    };
    site.put("/two/gbfs.json", &body(json!({"de": list("de"), "fr": list("fr")})));
    for (language, name) in [("de", "Hafen"), ("fr", "Port")] {
        let system = json!({"system_id": "hafen", "language": language, "name": name,
            "timezone": "Europe/Berlin"});
        site.put(&format!("/two/{language}/system_information.json"), &body(system));
        let station = json!({"stations": [
            {"station_id": "7", "name": name, "lat": 53.54, "lon": 9.98, "mood": "good"}
        ]});
        site.put(&format!("/two/{language}/station_information.json"), &body(station));
    }
}

#[tokio::test]
async fn a_file_shared_by_languages_is_requested_once_for_all() {
    let site = Site::default();
    let producer = site.start().await;
    put_in_two_languages(&site);
    let list = |language: &str| {
        let feed = |name: &str, url: String| json!({"name": name, "url": url});
        json!({"feeds": [
            feed("system_information", format!("{language}/system_information.json")),
            feed("station_information", "de/station_information.json".to_owned()),
        ]})
    };
    let discovery = json!({"last_updated": 1_700_000_000, "ttl": 60, "version": "2.3",
        "data": {"de": list("de"), "fr": list("fr")}});
    site.put("/two/gbfs.json", &discovery.to_string());
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), &feed("bikes", &format!("{producer}/two/gbfs.json"))).await;
    for language in ["de", "fr"] {
        for name in ["system_information", "station_information"] {
            wait_for_status(&format!("{}/proxy/bikes/{language}/{name}", server.url), 200).await;
        }
        let out = format!("{}/gbfs/bikes/2/{language}/station_information.json", server.url);
        assert_eq!(get_json(&out).await["data"]["stations"][0]["name"], "Hafen");
    }
    // The files are fresh for a minute, so each is polled once, even if languages share it.
    for (path, n) in
        [("de/station_information", 1), ("fr/system_information", 1), ("fr/station_information", 0)]
    {
        assert_eq!(site.requests_for(&format!("/two/{path}.json")).len(), n, "{path}");
    }
    // Problems of a shared file are reported once.
    let expected_problems =
        json!([{"file": "de/station_information.json", "code": "unknown_field", "count": 1}]);
    let api = format!("{}/api/v1/feeds/bikes", server.url);
    let found = wait_for_json(&api, |found| found["problem_counts"] == expected_problems).await;
    let last = found["files"][3]["url"].as_str().unwrap();
    assert!(last.ends_with("/proxy/bikes/fr/station_information.json"), "{found}");
}

#[tokio::test]
async fn a_shared_file_does_not_depend_on_the_order_of_languages() {
    let site = Site::default();
    let producer = site.start().await;
    put_in_two_languages(&site);
    let list = |languages: [&str; 2]| {
        let url = format!("{producer}/two/de/station_information.json");
        let feeds = json!({"feeds": [{"name": "station_information", "url": url}]}).to_string();
        let listed = languages.map(|language| format!(r#""{language}":{feeds}"#)).join(",");
        format!(r#"{{"last_updated":1700000000,"ttl":0,"version":"2.3","data":{{{listed}}}}}"#)
    };
    site.put("/two/gbfs.json", &list(["de", "fr"]));
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), &feed("bikes", &format!("{producer}/two/gbfs.json"))).await;
    let file =
        |language: &str| format!("{}/proxy/bikes/{language}/station_information", server.url);
    wait_for_status(&file("fr"), 200).await;
    site.take("/two/de/station_information.json");
    site.put("/two/gbfs.json", &list(["fr", "de"]));
    let api = format!("{}/api/v1/feeds/bikes", server.url);
    let is_turned = |found: &Value| {
        let urls = found["files"].as_array().into_iter().flatten();
        let first =
            urls.filter_map(|file| file["url"].as_str()).find(|url| url.contains("station"));
        first.is_some_and(|url| url.contains("/fr/"))
    };
    wait_for_json(&api, is_turned).await;
    for language in ["de", "fr"] {
        let response = get(&file(language)).await;
        assert_eq!(response.status(), 200, "{language}");
        assert!(response.text().await.unwrap().contains("Hafen"));
    }
}

#[tokio::test]
async fn two_languages_are_one_system_in_version_3_and_two_in_version_2() {
    let site = Site::default();
    let producer = site.start().await;
    put_in_two_languages(&site);
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), &feed("bikes", &format!("{producer}/two/gbfs.json"))).await;
    let out = format!("{}/gbfs/bikes", server.url);
    for language in ["de", "fr"] {
        for name in ["system_information", "station_information"] {
            wait_for_status(&format!("{}/proxy/bikes/{language}/{name}", server.url), 200).await;
        }
    }
    // Problems in both languages are reported for each.
    let count = |language: &str| {
        let file = format!("{language}/station_information.json");
        json!({"file": file, "code": "unknown_field", "count": 1})
    };
    let both = json!([count("de"), count("fr")]);
    let api = format!("{}/api/v1/feeds/bikes", server.url);
    wait_for_json(&api, |found| found["problem_counts"] == both).await;
    let page = get(&format!("{}/feeds/bikes", server.url)).await.text().await.unwrap();
    assert!(page.contains("fr/station_information.json"), "{page}");
    let both = json!([{"text": "Hafen", "language": "de"}, {"text": "Port", "language": "fr"}]);
    let file = get_json(&format!("{out}/3/station_information.json")).await;
    assert_eq!(file["data"]["stations"][0]["name"], both);
    let system = get_json(&format!("{out}/3/system_information.json")).await;
    assert_eq!(
        (&system["data"]["name"], &system["data"]["languages"]),
        (&both, &json!(["de", "fr"]))
    );
    assert_eq!(system["data"]["opening_hours"], "24/7");
    let discovery = get_json(&format!("{out}/2/gbfs.json")).await;
    for (language, name) in [("de", "Hafen"), ("fr", "Port")] {
        let feeds = discovery["data"][language]["feeds"].as_array().unwrap();
        assert_eq!(feeds.len(), 3, "{feeds:?}");
        let file = get_json(feeds[1]["url"].as_str().unwrap()).await;
        assert_eq!(file["data"]["stations"][0]["name"], name);
    }
    let feeds = get_json(&format!("{out}/3/gbfs.json")).await;
    assert_eq!(feeds["data"]["feeds"].as_array().unwrap().len(), 3, "each file once");
    for unknown in ["2/it/station_information", "3/de/station_information", "2/de/gbfs"] {
        assert_problem(404, "unknown_file", problem(&format!("{out}/{unknown}.json")).await);
    }
    // An invalid file removes nothing.
    site.put(
        "/two/de/station_information.json",
        r#"{"version":"2.3","ttl":1,"data":{"error":"maintenance"}}"#,
    );
    site.put("/two/gbfs.json", r#"{"version":"2.3","ttl":1,"data":{}}"#);
    wait_for_some("both are reported", async || {
        let feed = get_json(&format!("{}/api/v1/feeds/bikes", server.url)).await;
        let is_reported =
            feed["state"] != "ok" && feed["files"].as_array()?.iter().any(|it| it["state"] != "ok");
        is_reported.then_some(())
    })
    .await;
    let file = get_json(&format!("{out}/3/station_information.json")).await;
    assert_eq!(file["data"]["stations"][0]["name"], both);
}

#[tokio::test]
async fn a_version_2_system_is_served_as_version_3_and_as_cleaned_version_2() {
    let site = Site::default();
    let producer = site.start().await;
    put(&site, "/old", "2.2", &old_files());
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), &feed("bikes", &format!("{producer}/old/gbfs.json"))).await;
    let out = format!("{}/gbfs/bikes", server.url);
    // Without a file of zones the feed is not empty, and only current-state files are stale by that time.
    wait_for_some("all is read", async || {
        let feed = get_json(&format!("{}/api/v1/feeds/bikes", server.url)).await;
        let is_read = |it: &Value| it["state"] == "ok" || it["state"] == "stale";
        (feed["state"] == "stale" && feed["files"].as_array()?.iter().all(is_read)).then_some(())
    })
    .await;
    for (name, _) in old_files() {
        wait_for_status(&format!("{}/proxy/bikes/{name}", server.url), 200).await;
    }
    let discovery = get_json(&format!("{out}/3/gbfs.json")).await;
    assert_eq!((&discovery["version"], &discovery["ttl"]), (&json!("3.0"), &json!(60)));
    let listed: Vec<&str> = discovery["data"]["feeds"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["url"].as_str().unwrap())
        .collect();
    let names = [
        "system_information",
        "station_information",
        "station_status",
        "vehicle_status",
        "geofencing_zones",
        "gbfs_versions",
    ];
    assert_eq!(listed, names.map(|name| format!("{out}/3/{name}.json")));
    for url in listed {
        let file = get_json(url).await;
        assert_eq!(file["version"], "3.0", "{url}");
    }
    let file = get_json(&format!("{out}/3/station_information.json")).await;
    assert_eq!(file["last_updated"], "2023-11-14T22:13:20Z");
    assert_eq!(
        file["data"]["stations"],
        json!([{
            "station_id": "7", "name": [{"text": "Hafen", "language": "de"}], "lat": 53.54, "lon": 9.98,
            "vehicle_docks_capacity": [{"vehicle_type_ids": ["bike"], "count": 5}],
        }])
    );
    let file = get_json(&format!("{out}/3/station_status")).await;
    assert_eq!(
        file["data"]["stations"],
        json!([{"station_id": "7", "num_vehicles_available": 3,
        "is_renting": true, "last_reported": "2023-11-14T22:13:20Z"}])
    );
    let file = get_json(&format!("{out}/3/vehicle_status.json")).await;
    assert_eq!(file["data"]["vehicles"][0]["vehicle_id"], "b");
    let system = get_json(&format!("{out}/3/system_information.json")).await;
    assert_eq!(system["data"]["languages"], json!(["de"]));
    assert_eq!(system["data"]["opening_hours"], "Mo,Sa 06:00-24:00");
    // In version 2.3 the hours are in a separate file.
    let discovery = get_json(&format!("{out}/2/gbfs.json")).await;
    let listed = discovery["data"]["de"]["feeds"].as_array().unwrap();
    let names: Vec<&str> = listed.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "system_information",
            "system_hours",
            "station_information",
            "station_status",
            "free_bike_status",
            "geofencing_zones",
            "gbfs_versions"
        ]
    );
    let file = get_json(&format!("{out}/2/station_information.json")).await;
    assert_eq!((&file["version"], &file["last_updated"]), (&json!("2.3"), &json!(1_700_000_000)));
    assert_eq!(
        file["data"]["stations"],
        json!([{"station_id": "7", "name": "Hafen", "lat": 53.54,
        "lon": 9.98, "vehicle_type_capacity": {"bike": 5}}])
    );
    let versions = get_json(&format!("{out}/2/gbfs_versions.json")).await;
    assert_eq!(
        versions["data"]["versions"][1],
        json!({"version": "3.0", "url": format!("{out}/3/gbfs.json")})
    );
    for path in [
        "2/vehicle_status.json",
        "3/free_bike_status.json",
        "3/system_hours.json",
        "3/vehicle_types.json",
        "4/gbfs.json",
        "3/vehicle_availability",
        "2/manifest.json",
    ] {
        assert_problem(404, "unknown_file", problem(&format!("{out}/{path}")).await);
    }
    server.stop("-TERM");
}

#[tokio::test]
async fn a_converted_file_is_rebuilt_when_its_sources_change() {
    let site = Site::default();
    let producer = site.start().await;
    put(&site, "/old", "2.2", &old_files());
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), &feed("bikes", &format!("{producer}/old/gbfs.json"))).await;
    let url = format!("{}/gbfs/bikes/3/system_information.json", server.url);
    wait_for_status(&format!("{}/proxy/bikes/system_hours", server.url), 200).await;
    let first = wait_for_status(&url, 200).await;
    let tag = header(&first, "etag").to_owned();
    assert!(first.headers().contains_key("last-modified"));
    assert!(header(&first, "cache-control").starts_with("public, max-age="));
    assert_eq!(header(&first, "lineside-status"), "fresh");
    let if_none_match = [("if-none-match", &*tag)];
    assert_eq!(get_with(&url, &if_none_match).await.status(), 304);
    let coded = get_with(&url, &[("accept-encoding", "gzip")]).await;
    assert_eq!(coded.status(), 200);
    // Another source file of the converted one.
    let mut files = old_files();
    files[1].1["rental_hours"][0]["start_time"] = json!("05:00:00");
    put(&site, "/old", "2.2", &files);
    wait_for_some("the hours are the new ones", async || {
        let file = get_json(&url).await;
        (file["data"]["opening_hours"] == "Mo,Sa 05:00-24:00").then_some(())
    })
    .await;
    assert_eq!(get_with(&url, &if_none_match).await.status(), 200);
    // While the producer fails, the last converted file stays, marked as stale.
    site.put("/old/system_information.json", "<html>sorry</html>");
    wait_for_some("the form is stale", async || {
        let response = get(&url).await;
        header(&response, "lineside-status").starts_with("stale; reason=html").then_some(())
    })
    .await;
    server.stop("-TERM");
}

#[tokio::test]
async fn the_manifest_lists_all_systems_and_version_2_omits_unsupported_fields() {
    let site = Site::default();
    let producer = site.start().await;
    let name = json!([{"text": "Quay", "language": "en"}, {"text": "Kai", "language": "de"}]);
    put(&site, "/old", "1.1", &old_files());
    put(
        &site,
        "/new",
        "3.0",
        &[
            (
                "system_information",
                json!({"system_id": "quays", "languages": ["de", "en"], "name": name,
            "opening_hours": "24/7", "timezone": "Europe/Oslo", "phone_number": "1-800-555-1234",
            "email": "riders@quays.example", "manifest_url": "https://quays.example/manifest.json"}),
            ),
            (
                "vehicle_status",
                json!({"vehicles": [{"vehicle_id": "v", "lat": 59.9, "lon": 10.7,
            "is_reserved": false, "is_disabled": false, "last_reported": "2026-01-01T00:00:00Z"}]}),
            ),
        ],
    );
    let folder = tempfile::tempdir().unwrap();
    let feeds = feed("old", &format!("{producer}/old/gbfs.json"))
        + &feed("new", &format!("{producer}/new/gbfs.json"));
    let server = serve(folder.path(), &feeds).await;
    let url = &server.url;
    for path in ["old/system_information", "new/system_information", "new/vehicle_status"] {
        wait_for_status(&format!("{url}/proxy/{path}"), 200).await;
    }
    let manifest = get_json(&format!("{url}/gbfs/manifest.json")).await;
    let entry = |id: &str, system: &str| {
        json!({"system_id": system, "versions": [
            {"version": "2.3", "url": format!("{url}/gbfs/{id}/2/gbfs.json")},
            {"version": "3.0", "url": format!("{url}/gbfs/{id}/3/gbfs.json")},
        ]})
    };
    assert_eq!(manifest["data"]["datasets"], json!([entry("old", "hafen"), entry("new", "quays")]));
    let system = get_json(&format!("{url}/gbfs/new/2/system_information.json")).await;
    assert_eq!(system["data"]["language"], "de");
    assert_eq!(system["data"]["name"], "Kai");
    assert_eq!(system["data"].get("opening_hours"), None);
    // The contacts that version 3 requires are there, and only our manifest.
    let system = get_json(&format!("{url}/gbfs/new/3/system_information.json")).await;
    assert_eq!(system["data"].get("phone_number"), None, "not of E.164");
    assert_eq!(system["data"]["feed_contact_email"], "riders@quays.example");
    assert_eq!(system["data"]["manifest_url"], format!("{url}/gbfs/manifest.json"));
    let unnamed = get_json(&format!("{url}/gbfs/old/3/system_information.json")).await;
    assert_eq!(unnamed["data"]["feed_contact_email"], "feed-contact-unknown@example.org");
    let bikes = get_json(&format!("{url}/gbfs/new/2/free_bike_status.json")).await;
    assert_eq!(
        bikes["data"]["bikes"][0],
        json!({"bike_id": "v", "lat": 59.9, "lon": 10.7,
        "is_reserved": false, "is_disabled": false, "last_reported": 1_767_225_600})
    );
    let page = get(&format!("{url}/feeds/new")).await.text().await.unwrap();
    for expected_part in
        ["1 vehicle can be rented, all of them free-floating.", "/gbfs/new/3/gbfs.json"]
    {
        assert!(page.contains(expected_part), "{page}");
    }
    let listed = get_json(&format!("{url}/api/v1/feeds/new")).await;
    assert_eq!(listed["links"]["gbfs_3"], format!("{url}/gbfs/new/3/gbfs.json"));
    server.stop("-TERM");
}

#[tokio::test]
async fn a_file_that_was_never_received_is_not_served() {
    let site = Site::default();
    let producer = site.start().await;
    let list = json!({"version": "3.0", "ttl": 0, "data": {"feeds": [{"name": "vehicle_types", "url": "none"}]}});
    site.put("/gbfs.json", &list.to_string());
    let folder = tempfile::tempdir().unwrap();
    let feeds = feed("bikes", &format!("{producer}/gbfs.json"))
        + &feed("down", &format!("{producer}/down"));
    let server = serve(folder.path(), &feeds).await;
    wait_for_status(&format!("{}/proxy/bikes/gbfs.json", server.url), 200).await;
    for path in ["bikes/3/vehicle_types.json", "down/3/gbfs.json"] {
        assert_problem(503, "no_data", problem(&format!("{}/gbfs/{path}", server.url)).await);
    }
    server.stop("-TERM");
}
