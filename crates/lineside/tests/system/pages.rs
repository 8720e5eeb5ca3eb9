//! Tests of the pages without a browser; `web/tests` uses one.

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;

use http::Method;
use lineside_testkit::wait_until_ready;

use crate::support::http::{get, get_json, get_text, send};
use crate::support::process::ServerProcess;
use crate::support::shared_demo;

/// A text that must never appear as markup, in every name of a schedule.
const EVIL: &str = "<script>alert(1)</script>";

fn write_evil_schedule(folder: &Path) {
    let files = [
        ("agency.txt", format!("agency_id,agency_name,agency_url,agency_timezone\nA,{EVIL},https://example.org,Europe/Oslo\n")),
        ("stops.txt", format!("stop_id,stop_name,stop_lat,stop_lon,platform_code\n{EVIL},{EVIL},59.91,10.75,{EVIL}\nb,{EVIL},59.92,10.76,\n")),
        ("routes.txt", format!("route_id,agency_id,route_short_name,route_long_name,route_type,route_color\n{EVIL},A,{EVIL},{EVIL},3,{EVIL}\n")),
        ("calendar.txt", "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\nD,1,1,1,1,1,1,1,20200101,20401231\n".to_owned()),
        ("trips.txt", format!("route_id,service_id,trip_id,trip_headsign\n{EVIL},D,t,{EVIL}\n")),
        ("frequencies.txt", "trip_id,start_time,end_time,headway_secs\nt,00:00:00,26:00:00,300\n".to_owned()),
        ("stop_times.txt", format!("trip_id,arrival_time,departure_time,stop_id,stop_sequence\nt,00:00:00,00:00:00,{EVIL},1\nt,00:05:00,00:05:00,b,2\n")),
        ("feed_info.txt", format!("feed_publisher_name,feed_publisher_url,feed_lang,feed_version\n{EVIL},https://example.org,en,{EVIL}\n")),
    ];
    for (name, text) in files {
        std::fs::write(folder.join(name), text).unwrap();
    }
}

async fn serve(folder: &Path, feeds: &str) -> ServerProcess {
    let text = format!("[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n{feeds}");
    let server = ServerProcess::serving(folder, text);
    wait_until_ready(&server.url).await;
    server
}

#[tokio::test]
async fn text_of_a_feed_is_escaped_on_every_page() {
    let folder = tempfile::tempdir().unwrap();
    let schedule = folder.path().join("evil");
    std::fs::create_dir(&schedule).unwrap();
    write_evil_schedule(&schedule);
    let feeds = format!(
        "[[feed]]\nid = \"evil\"\nurl = {:?}\nname = {EVIL:?}\npublisher = {EVIL:?}\nlicence = {EVIL:?}\ntheme = {EVIL:?}\n",
        schedule.to_str().unwrap()
    );
    let server = serve(folder.path(), &feeds).await;
    let url = &server.url;
    let question = "%3Cscript%3Ealert(1)%3C%2Fscript%3E";
    let line = format!("/routes/evil/{question}");
    let delays_path = format!("/delays/evil?route={question}");
    for path in [
        "/",
        "/?q=script",
        "/feeds/evil",
        "/map",
        "/map?q=script",
        "/stops/evil/b",
        "/delays/evil",
        "/networks/evil",
        "/networks/evil?q=script",
        "/trips/evil/t?start=08:00:00",
        &line,
        &delays_path,
    ] {
        let text = get_text(&format!("{url}{path}")).await;
        assert!(!text.contains(EVIL), "{path} holds a script of the feed's");
        assert!(text.contains("alert(1)"), "{path} does not show the feed's name");
    }
    for path in [format!("/?q={question}&theme={question}"), format!("/stops/evil/{question}")] {
        assert!(!get_text(&format!("{url}{path}")).await.contains(EVIL), "{path}");
    }
}

#[tokio::test]
async fn a_long_feed_list_is_paged_and_filtered() {
    let folder = tempfile::tempdir().unwrap();
    let mut feeds = String::new();
    for number in 0..60 {
        let file = folder.path().join(format!("{number}.json"));
        std::fs::write(&file, "{}").unwrap();
        let theme = if number % 2 == 0 { "roads" } else { "bikes" };
        feeds += &format!(
            "[[feed]]\nid = \"raw-{number}\"\nurl = {:?}\nformat = \"raw\"\ntheme = \"{theme}\"\n",
            file.to_str().unwrap()
        );
    }
    let server = serve(folder.path(), &feeds).await;
    let url = &server.url;
    let rows = |text: &str| text.matches("class=\"feed-name\"").count();
    assert_eq!(rows(&get_text(&format!("{url}/")).await), 25);
    assert_eq!(rows(&get_text(&format!("{url}/?page=3")).await), 10);
    assert_eq!(
        rows(&get_text(&format!("{url}/?page=99")).await),
        10,
        "the last page is shown instead"
    );
    let second = get_text(&format!("{url}/?theme=roads&page=2")).await;
    assert_eq!(rows(&second), 5);
    assert!(second.contains("href=\"/?theme=roads\""), "the way back keeps the filter");
    assert_eq!(rows(&get_text(&format!("{url}/?q=raw-42")).await), 1);
    assert_eq!(rows(&get_text(&format!("{url}/?state=failing")).await), 0);
}

#[tokio::test]
async fn pages_forbid_inline_scripts_and_support_head() {
    let url = shared_demo();
    for path in ["/", "/feeds/city", "/map"] {
        let response = send(Method::HEAD, &format!("{url}{path}"), &[]).await;
        assert_eq!(response.status(), 200, "{path}");
        let policy = response.headers()["content-security-policy"].to_str().unwrap().to_owned();
        assert!(policy.contains("script-src 'self'"), "{path}: {policy}");
        let text = get_text(&format!("{url}{path}")).await;
        for inline in ["<style", "onclick=", "javascript:", "<script>"] {
            assert!(!text.contains(inline), "{path} holds {inline}");
        }
    }
}

/// Returns the links of a page on this server.
fn links(page: &str) -> Vec<String> {
    let hrefs = page.split("href=\"/").skip(1).filter_map(|rest| rest.split('"').next());
    hrefs.map(|href| format!("/{}", href.replace("&amp;", "&"))).collect()
}

#[tokio::test]
async fn every_linked_page_has_a_content_security_policy() {
    const PAGES: usize = 40;
    let url = shared_demo();
    // Includes pages without a link, and missing ones.
    let mut ahead: VecDeque<String> =
        ["/", "/map", "/demo/faults", "/nowhere", "/feeds/none"].map(str::to_owned).into();
    let mut known: BTreeSet<String> = ahead.iter().cloned().collect();
    let mut pages = Vec::new();
    while let Some(path) = ahead.pop_front().filter(|_| pages.len() < PAGES) {
        let html_request = [("accept", "text/html")];
        let response = send(Method::GET, &format!("{url}{path}"), &html_request).await;
        let header = |name: &str| {
            let value = response.headers().get(name);
            value.map_or(String::new(), |value| value.to_str().unwrap().to_owned())
        };
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
        if !header("content-type").starts_with("text/html") {
            continue;
        }
        let policy = header("content-security-policy");
        // Pages for frames of other sites have this in their address.
        let frames = if path.contains("embed=1") { "*" } else { "'none'" };
        let frames = format!("frame-ancestors {frames}");
        for rule in [
            "default-src 'self';",
            "script-src 'self';",
            "object-src 'none';",
            "base-uri 'none';",
            "form-action 'self';",
            &*frames,
        ] {
            assert!(policy.contains(rule), "{path}: no {rule} in {policy}");
        }
        assert_eq!(header("referrer-policy"), "strict-origin-when-cross-origin", "{path}");
        assert_eq!(header("cross-origin-opener-policy"), "same-origin", "{path}");
        assert!(header("permissions-policy").contains("camera=()"), "{path}");
        for link in links(&response.text().await.unwrap()) {
            if known.insert(link.clone()) {
                ahead.push_back(link);
            }
        }
        pages.push(path);
    }
    for kind in ["/feeds/city", "/stops/", "/nowhere", "/demo/faults"] {
        assert!(pages.iter().any(|page| page.starts_with(kind)), "no {kind} among {pages:?}");
    }
}

#[tokio::test]
async fn a_page_has_an_etag_and_a_content_coding() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), "").await;
    let url = format!("{}/", server.url);
    let first = send(Method::GET, &url, &[("accept-encoding", "gzip")]).await;
    assert_eq!(first.headers()["content-encoding"], "gzip");
    assert_eq!(first.headers()["cache-control"], "no-cache");
    assert!(first.headers()["etag"].to_str().unwrap().ends_with("-gzip\""));
    // A page contains its time of creation, so only `*` matches.
    let second = send(Method::GET, &url, &[("if-none-match", "*")]).await;
    assert_eq!(second.status(), 304);
    let head = send(Method::HEAD, &url, &[]).await;
    assert!(
        head.headers().contains_key("etag") && !head.headers().contains_key("content-encoding")
    );
}

#[tokio::test]
async fn missing_pages_are_404_and_assets_are_cached() {
    let url = shared_demo();
    for path in [
        "/feeds/none",
        "/stops/city/none",
        "/stops/none/x",
        "/assets/none.js",
        "/map/stop?feed=city&stop_id=none",
        "/map/trip?feed=city&trip_id=none",
    ] {
        assert_eq!(get(&format!("{url}{path}")).await.status(), 404, "{path}");
    }
    let catalog = get_text(&format!("{url}/")).await;
    let style = catalog
        .split("href=\"")
        .filter_map(|rest| rest.split('"').next())
        .find(|href| href.ends_with("lineside.css"));
    let response = get(&format!("{url}{}", style.expect("the page has a style"))).await;
    assert_eq!(response.headers()["content-type"], "text/css; charset=utf-8");
    assert!(response.headers()["cache-control"].to_str().unwrap().contains("max-age=31536000"));
}

#[tokio::test]
async fn the_map_lists_live_feeds_and_counts_their_vehicles() {
    let url = shared_demo();
    let map = get_text(&format!("{url}/map")).await;
    let (_, island) = map.split_once("id=\"map-data\">").unwrap();
    let data: serde_json::Value =
        serde_json::from_str(island.split("</script>").next().unwrap()).unwrap();
    let region = data["regions"].as_array().unwrap().iter().find(|it| it["id"] == "city").unwrap();
    let ids = |name: &str| -> BTreeSet<&str> {
        region[name].as_array().unwrap().iter().filter_map(|id| id.as_str()).collect()
    };
    assert!(ids("feeds").contains("city-alerts") && ids("feeds").contains("city"), "{region}");
    assert_eq!(ids("live"), BTreeSet::from(["city-trips", "city-vehicles"]), "{region}");
    let counts = get_json(&format!("{url}/map/counts")).await;
    let city = counts.as_array().unwrap().iter().find(|it| it["id"] == "city").unwrap();
    assert!(city["vehicles"].as_u64() > Some(0) && city["stations"] == 0, "{counts}");
}

#[tokio::test]
async fn the_sections_of_a_feed_page_have_a_fixed_order() {
    let url = shared_demo();
    let city = get_text(&format!("{url}/feeds/city")).await;
    let position_of =
        |id: &str| city.find(&format!("id=\"{id}\"")).unwrap_or_else(|| panic!("no {id}"));
    let ids =
        ["health", "contents", "validity", "area", "publisher", "use", "availability", "addresses"];
    assert!(ids.map(position_of).is_sorted(), "{:?}", ids.map(position_of));
    for id in ["health", "validity", "use", "availability", "addresses"] {
        assert!(city.contains(&format!("<a href=\"#{id}\">")), "{id} is not in the contents");
    }
    assert!(city.contains("href=\"/gtfs/city.zip\" download"), "{city}");
    for (feed, link) in
        [("city-trips", "/routes/city/"), ("city-vehicles", "/map?vehicle=city-vehicles")]
    {
        let text = get_text(&format!("{url}/feeds/{feed}")).await;
        let (_, current) = text.split_once("id=\"current\"").expect("what it says now");
        assert!(current.contains(link), "{feed}: {current}");
    }
}

#[tokio::test]
async fn a_feed_without_any_data_offers_no_download() {
    let folder = tempfile::tempdir().unwrap();
    let feeds = "[[feed]]\nid = \"gone\"\nurl = \"gone.zip\"\nformat = \"gtfs\"\n";
    let server = serve(folder.path(), feeds).await;
    let text = get_text(&format!("{}/feeds/gone", server.url)).await;
    let (_, usage) = text.split_once("id=\"use\"").unwrap();
    let (usage, _) = usage.split_once("</section>").unwrap();
    assert!(!usage.contains("class=\"downloads\"") && !usage.contains("/gtfs/gone.zip"), "{usage}");
    assert!(usage.contains("data-recipe=\"curl-events\""), "{usage}");
}

#[tokio::test]
async fn every_rule_has_a_page_and_a_sample_report_shows_findings() {
    let url = shared_demo();
    assert!(get_text(&format!("{url}/rules")).await.contains("href=\"/rules/expired_calendar\""));
    let rule = get_text(&format!("{url}/rules/foreign_key_violation")).await;
    assert!(rule.contains("How to fix") && rule.contains("data-example=\"wrong\""), "{rule}");
    assert!(get_text(&format!("{url}/rules/unreadable_file")).await.contains("unreadable_"));
    assert_eq!(get(&format!("{url}/rules/none")).await.status(), 404);
    let sample = get_text(&format!("{url}/validate/sample")).await;
    assert!(sample.contains("href=\"/rules/foreign_key_violation\""), "{sample}");
    assert!(sample.contains("R9,D,T2"), "the offending row: {sample}");
}
