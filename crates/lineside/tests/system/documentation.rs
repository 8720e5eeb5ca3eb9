//! `/docs`: the documentation in the server, and the reference of its API.

use std::collections::{BTreeSet, VecDeque};

use lineside_testkit::wait_for_status;

use crate::support::http::{get, get_json, header};
use crate::support::shared_demo;

/// Returns the values of an attribute in a page, as text.
fn attributes<'a>(page: &'a str, mark: &'a str) -> impl Iterator<Item = String> + 'a {
    page.split(mark)
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .map(|value| value.replace("&amp;", "&"))
}

#[tokio::test]
async fn every_internal_documentation_link_has_a_page_and_anchor() {
    let server = shared_demo();
    let mut open = VecDeque::from(["/docs".to_owned()]);
    let mut known = BTreeSet::from(["/docs".to_owned()]);
    let mut pages = std::collections::BTreeMap::new();
    let mut anchors = Vec::new();
    while let Some(path) = open.pop_front() {
        let response = get(&format!("{server}{path}")).await;
        assert_eq!(response.status(), 200, "{path}");
        let page = response.text().await.unwrap();
        for link in attributes(&page, "href=\"").filter(|link| link.starts_with("/docs")) {
            let (address, anchor) = link.split_once('#').unwrap_or((&link, ""));
            if !anchor.is_empty() {
                anchors.push((path.clone(), address.to_owned(), anchor.to_owned()));
            }
            if known.insert(address.to_owned()) {
                open.push_back(address.to_owned());
            }
        }
        pages.insert(path, page);
    }
    assert!(pages.len() > 100, "the pages of the rules are among them: {}", pages.len());
    for (from, address, anchor) in anchors {
        let there = pages[&address].contains(&format!("id=\"{anchor}\""));
        assert!(there, "{from} links to {address}#{anchor}");
    }
}

#[tokio::test]
async fn documentation_examples_use_the_address_of_the_server() {
    let server = shared_demo();
    let page = get(&format!("{server}/docs/protocol/http")).await.text().await.unwrap();
    assert!(page.contains(&format!("{server}/geojson/city/routes.geojson")));
    assert!(!page.contains("http://127.0.0.1:8080"));
}

#[tokio::test]
async fn an_address_with_the_file_extension_redirects_to_the_page() {
    let server = shared_demo();
    for (path, to) in [
        ("/docs/guide/checking.md", "/docs/guide/checking"),
        ("/docs/guide/README.md", "/docs/guide"),
        ("/api", "/docs/api"),
        ("/api/v1", "/docs/api"),
    ] {
        let response = get(&format!("{server}{path}")).await;
        assert_eq!(
            (response.status().as_u16(), header(&response, "location")),
            (307, to),
            "{path}"
        );
    }
    assert_eq!(get(&format!("{server}/docs/nothing")).await.status(), 404);
}

#[tokio::test]
async fn the_reference_has_every_operation_with_a_working_example() {
    let server = shared_demo();
    let document = get_json(&format!("{server}/api/v1/openapi.json")).await;
    let page = get(&format!("{server}/docs/api")).await.text().await.unwrap();
    for item in document["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            let Some(id) = operation["operationId"].as_str() else { continue };
            assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
        }
    }
    for schema in document["components"]["schemas"].as_object().unwrap().keys() {
        assert!(page.contains(&format!("id=\"schema-{schema}\"")), "{schema}");
    }
    assert!(!page.contains("<script src=\"http"), "no script of others");
    let examples: Vec<String> = page
        .split("data-example")
        .skip(1)
        .filter_map(|rest| attributes(rest, "href=\"").next())
        .collect();
    assert!(examples.len() > 25, "{}", examples.len());
    for example in examples {
        // A report exists once the demo's first validation has ended.
        wait_for_status(&format!("{server}{example}"), 200).await;
    }
}
