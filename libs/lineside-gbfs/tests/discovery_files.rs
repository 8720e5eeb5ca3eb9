//! Discovery files of every version, and malicious ones.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use lineside_formats::ErrorKind;
use lineside_gbfs::{
    DiscoveryEntry, DiscoveryFile, DiscoveryLimits, decode_discovery_file, rewrite_discovery_urls,
};
use proptest::prelude::*;

const ONE: &str = r#"{
  "last_updated": 1434054678,
  "ttl": 0,
  "data": {
    "en": {"feeds": [
      {"name": "system_information", "url": "https:\/\/www.example.com\/gbfs\/1\/en\/system_information"},
      {"name": "station_information", "url": "https://www.example.com/gbfs/1/en/station_information"}
    ]},
    "fr" : {"feeds": [
      {"name": "system_information", "url": "https://www.example.com/gbfs/1/fr/system_information"}
    ]}
  }
}"#;

const TWO: &str = r#"{"last_updated":1640887163,"ttl":3600,"version":"2.3","x":1.50000000000000000001,
"data":{"nl":{"feeds":[{"name":"gbfs","url":"https://a.example/gbfs?x=1&y=?"},{"url":"https://a.example/status","name":"station_status","more":{"url":"https://stays.example"}}]}}}"#;

const THREE: &str = r#"{"last_updated":"2023-07-17T13:34:13+02:00","ttl":0,"version":"3.0",
"data":{"feeds":[{"name":"system_information","url":"https://a.example/3/system_information"},{"name":"vehicle_status.json","url":"https://a.example/3/vehicle_status.json"}]}}"#;

fn read(body: &str) -> DiscoveryFile {
    let (discovery, problems) =
        decode_discovery_file(body.as_bytes(), &DiscoveryLimits::default()).unwrap();
    assert!(problems.is_empty(), "{:?}", problems.retained_problems());
    discovery
}

fn names(discovery: &DiscoveryFile) -> Vec<(Option<&str>, &str)> {
    discovery.entries.iter().map(|entry| (entry.language.as_deref(), &*entry.name)).collect()
}

/// Rewrites each URL to `ours/<language>/<name>`.
fn ours(body: &str) -> String {
    let url = |entry: &DiscoveryEntry| {
        Some(format!("ours/{}/{}", entry.language.as_deref().unwrap_or("-"), entry.name))
    };
    String::from_utf8(
        rewrite_discovery_urls(body.as_bytes(), &DiscoveryLimits::default(), url).unwrap(),
    )
    .unwrap()
}

#[test]
fn version_one_lists_files_by_language() {
    let discovery = read(ONE);
    let expect = [
        (Some("en"), "system_information"),
        (Some("en"), "station_information"),
        (Some("fr"), "system_information"),
    ];
    assert_eq!(names(&discovery), expect);
    assert_eq!(discovery.distinct_languages(), ["en", "fr"]);
    assert_eq!(&*discovery.entries[0].url, "https://www.example.com/gbfs/1/en/system_information");
    let of =
        |language, name| discovery.find_discovery_entry(language, name).map(|entry| &*entry.url);
    assert_eq!(of(None, "system_information"), Some(&*discovery.entries[0].url));
    assert_eq!(of(Some("fr"), "system_information"), Some(&*discovery.entries[2].url));
    assert_eq!(of(Some("fr"), "station_information"), None);
    let expect = ONE
        .replace(
            r"https:\/\/www.example.com\/gbfs\/1\/en\/system_information",
            "ours/en/system_information",
        )
        .replace(
            "https://www.example.com/gbfs/1/en/station_information",
            "ours/en/station_information",
        )
        .replace(
            "https://www.example.com/gbfs/1/fr/system_information",
            "ours/fr/system_information",
        );
    assert_eq!(ours(ONE), expect);
}

#[test]
fn version_two_is_rewritten_with_new_urls_only() {
    let discovery = read(TWO);
    assert_eq!(names(&discovery), [(Some("nl"), "gbfs"), (Some("nl"), "station_status")]);
    let expect = TWO
        .replace("https://a.example/gbfs?x=1&y=?", "ours/nl/gbfs")
        .replace("https://a.example/status", "ours/nl/station_status");
    assert_eq!(ours(TWO), expect);
}

#[test]
fn version_three_lists_files_without_languages() {
    let discovery = read(THREE);
    assert_eq!(names(&discovery), [(None, "system_information"), (None, "vehicle_status")]);
    assert!(discovery.find_discovery_entry(Some("en"), "system_information").is_none());
    assert!(ours(THREE).contains(r#""name":"vehicle_status.json","url":"ours/-/vehicle_status""#));
}

#[test]
fn a_file_without_a_replacement_keeps_its_url() {
    let body = rewrite_discovery_urls(TWO.as_bytes(), &DiscoveryLimits::default(), |entry| {
        (&*entry.name == "gbfs").then(|| "\"quoted\"\n".to_owned())
    });
    let body = String::from_utf8(body.unwrap()).unwrap();
    assert_eq!(body, TWO.replace("https://a.example/gbfs?x=1&y=?", r#"\"quoted\"\n"#));
}

/// Checks the problem of a discovery file whose list is `feeds`, and the names that remain.
#[track_caller]
fn check(feeds: &str, code: &str, left: &[&str]) {
    let body = format!("{{\"data\":{{\"feeds\":[{feeds}]}}}}");
    let (discovery, problems) =
        decode_discovery_file(body.as_bytes(), &DiscoveryLimits::default()).unwrap();
    let codes: Vec<_> = problems.problem_counts().map(|(_, code, _)| code).collect();
    assert_eq!(codes, [code], "{feeds}");
    assert_eq!(names(&discovery), left.iter().map(|name| (None, *name)).collect::<Vec<_>>());
    // Any decoded file can be rewritten.
    let written = rewrite_discovery_urls(body.as_bytes(), &DiscoveryLimits::default(), |_| {
        Some("x".to_owned())
    })
    .unwrap();
    serde_json::from_slice::<serde_json::Value>(&written).unwrap();
}

#[test]
fn a_bad_entry_is_reported_and_only_the_others_are_listed() {
    let good = r#"{"name":"good","url":"https://a.example/good"}"#;
    let with = |bad: &str| format!("{bad},{good}");
    check(&with(r#"{"name":"a"}"#), "bad_file", &["good"]);
    check(&with("7"), "bad_file", &["good"]);
    check(&with(r#"{"name":"a","url":["https://a.example"]}"#), "bad_url", &["good"]);
    for name in ["../x", "a/b", "", "..", "a b", "é", ".json"] {
        let bad = format!(r#"{{"name":"{name}","url":"https://a.example"}}"#);
        check(&with(&bad), "bad_name", &["good"]);
    }
    let long = format!(r#"{{"name":"a","url":"https://a.example/{}"}}"#, "x".repeat(5_000));
    check(&with(&long), "long_url", &["good"]);
    let twice = format!(r#"{good},{{"name":"good.json","url":"https://elsewhere.example"}}"#);
    check(&twice, "duplicate_file", &["good"]);
}

#[test]
fn files_beyond_the_limit_are_left_out() {
    let many: Vec<String> =
        (0..1_000).map(|n| format!(r#"{{"name":"f{n}","url":"https://a.example/{n}"}}"#)).collect();
    let body = format!("{{\"data\":{{\"feeds\":[{}]}}}}", many.join(","));
    let (discovery, problems) =
        decode_discovery_file(body.as_bytes(), &DiscoveryLimits::default()).unwrap();
    assert_eq!(discovery.entries.len(), DiscoveryLimits::default().files);
    assert_eq!(problems.retained_problems()[0].code, "too_many_files");
}

#[test]
fn a_body_without_a_list_of_files_is_refused() {
    let kind = |body: &str| {
        decode_discovery_file(body.as_bytes(), &DiscoveryLimits::default()).unwrap_err().kind()
    };
    assert_eq!(kind("  "), ErrorKind::Empty);
    assert_eq!(kind(&ONE[..100]), ErrorKind::Truncated);
    for body in [
        "[]",
        "{\"data\":[]}",
        "{\"data\":{\"feeds\":7}}",
        "{\"data\":{\"stations\":[]}}",
        "{\"data\":{\"en\":{}}}",
        "<html></html>",
    ] {
        assert_eq!(kind(body), ErrorKind::Decode, "{body}");
    }
    let small = DiscoveryLimits { body_bytes: 10, ..DiscoveryLimits::default() };
    assert_eq!(
        decode_discovery_file(ONE.as_bytes(), &small).unwrap_err().kind(),
        ErrorKind::TooLarge
    );
    // A system without files is valid.
    assert!(read("{\"data\":{}}").entries.is_empty());
    assert!(read("{\"data\":{\"en\":{\"feeds\":[]}}}").entries.is_empty());
}

#[test]
fn deeply_nested_json_is_refused() {
    let deep = format!("{{\"data\":{}", "{\"a\":".repeat(100_000));
    assert!(decode_discovery_file(deep.as_bytes(), &DiscoveryLimits::default()).is_err());
    let deep = format!("{{\"data\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(decode_discovery_file(deep.as_bytes(), &DiscoveryLimits::default()).is_err());
}

proptest! {
    #[test]
    fn decoding_any_bytes_does_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = decode_discovery_file(&bytes, &DiscoveryLimits::default());
        let _ = rewrite_discovery_urls(&bytes, &DiscoveryLimits::default(), |_| Some("x".to_owned()));
    }

    #[test]
    fn a_truncated_file_is_refused(at in 1..ONE.len()) {
        prop_assert!(decode_discovery_file(&ONE.as_bytes()[..at], &DiscoveryLimits::default()).is_err());
    }
}
