//! Pages for riders without scripts: networks, trips, alerts, later departures, search, and punctuality.

use jiff::civil::Date;
use lineside_formats::gtfs_rt::proto::Position;
use lineside_testkit::wait_until;

use crate::support::http::{get, get_json, header};
use crate::support::timetable::{Lines, alert, message, now};
use crate::support::town::{Town, good};

/// Returns a late trip, a trip from another platform, a cancelled one, a vehicle and an alert.
fn morning(lines: Lines) -> Vec<u8> {
    let texts = [("fr", "Travaux"), ("en", "Works <b>ahead</b>")];
    let mut vehicle = lines.vehicle("a1", "Car 12");
    let at = Position { latitude: 59.91, longitude: 10.75, ..Position::default() };
    vehicle.vehicle.as_mut().unwrap().position = Some(at);
    let entities = vec![
        lines.behind("a1", 240),
        lines.moved("b1"),
        lines.cancelled("a2"),
        vehicle,
        alert(Some("A"), None, &texts),
    ];
    message(now(), entities)
}

async fn town() -> Town {
    let town = Town::start_town(["", ""], morning).await;
    let url = town.url("/stops/town/S");
    wait_until("the board has live times", async || {
        let reply = get(&url).await;
        reply.status() == 200 && reply.text().await.unwrap().contains("4 min late")
    })
    .await;
    town
}

/// Returns the service date as in addresses.
fn date(town: &Town) -> String {
    let date = town.lines.date();
    format!("{}-{}-{}", &date[..4], &date[4..6], &date[6..])
}

#[tokio::test]
async fn a_network_page_lists_lines_by_mode_and_stops() {
    let town = town().await;
    let page = town.page("/networks/town").await;
    assert!(page.contains("data-mode=\"Trains\""), "{page}");
    for link in [
        "/routes/town/A",
        "/routes/town/B",
        "/stops/town/S",
        "/stops/town/s1",
        "/map?network=town",
        "/delays/town",
        "/alerts/town",
        "/feeds/town",
    ] {
        assert!(page.contains(&format!("href=\"{link}\"")), "no {link} in {page}");
    }
    assert!(!page.contains("/stops/town/s2\""), "a platform is not listed beside its station");
    let network_page = town.page("/networks/town-trips").await;
    assert!(network_page.contains("/routes/town/A"), "any feed of the network names it");
    let found = town.page("/networks/town?q=train+a").await;
    assert!(found.contains("/routes/town/A") && !found.contains("/routes/town/B"), "{found}");
    let corrected = town.page("/networks/town?q=midle").await;
    assert!(corrected.contains("data-corrected=\"middle\""), "{corrected}");
    assert!(corrected.contains("/stops/town/S\"") && !corrected.contains("/stops/town/s1\""));
    for (path, from) in [("/", "/networks/town"), ("/feeds/town", "/networks/town")] {
        assert!(town.page(path).await.contains(&format!("href=\"{from}\"")), "{path}");
    }
    assert_eq!(get(&town.url("/networks/none")).await.status(), 404);
    let index = town.page("/networks").await;
    let (_, entry) = index.split_once("data-network=\"town\"").unwrap();
    assert!(entry.contains("href=\"/networks/town\"") && entry.contains("Trains"), "{entry}");
    assert!(town.page("/").await.contains("href=\"/networks\""));
}

#[tokio::test]
async fn a_trip_page_has_the_calls_of_a_date_and_the_vehicle() {
    let town = town().await;
    let date = date(&town);
    let page = town.page(&format!("/trips/town/a1?date={date}")).await;
    let calls: Vec<&str> = page.split("<li ").filter(|it| it.contains("data-stop=")).collect();
    assert_eq!(calls.len(), 3, "{page}");
    assert!(calls.iter().all(|call| call.contains("data-status=\"realtime\"")), "{page}");
    assert!(calls[1].contains("href=\"/stops/town/s2\"") && calls[1].contains("4 min late"));
    assert!(page.contains("href=\"/map?vehicle=town-trips:v-a1\""), "{page}");
    assert!(page.contains("href=\"/routes/town/A\"") && page.contains("Works"), "{page}");
    let (before, details) = page.split_once("<details class=\"sources\"").unwrap();
    let feed_link = "href=\"/feeds/town-trips\"";
    assert!(details.contains(feed_link) && !before.contains(feed_link), "{page}");
    let moved = town.page(&format!("/trips/town/b1?date={date}")).await;
    assert!(moved.contains("<s class=\"platform-was\">1</s>"), "{moved}");
    assert!(moved.contains("platform-sign is-changed"), "{moved}");
    let cancelled = town.page(&format!("/trips/town/a2?date={date}")).await;
    assert_eq!(cancelled.matches("data-status=\"cancelled\"").count(), 3, "{cancelled}");
    let today = town.page("/trips/town/a3").await;
    assert_eq!(today.matches("data-status=\"scheduled\"").count(), 3, "{today}");
}

#[tokio::test]
async fn an_unknown_trip_differs_from_a_date_without_the_trip() {
    let town = town().await;
    let fetch_page = async |path: &str| {
        let reply = get(&town.url(path)).await;
        assert_eq!(reply.status(), 404, "{path}");
        reply.text().await.unwrap()
    };
    assert!(fetch_page("/trips/town/none").await.contains("no trip"));
    // A day without the trip leads to the last day with it.
    let text = fetch_page("/trips/town/a1?date=2101-01-01").await;
    let (_, offer) = text.split_once("data-service-day=\"").expect("another day is offered");
    let day = &offer[..10];
    assert!(text.contains(&format!("href=\"/trips/town/a1?date={day}\"")), "{text}");
    town.page(&format!("/trips/town/a1?date={day}")).await;
    for wrong in ["date=someday", "start=8"] {
        let url = town.url(&format!("/trips/town/a1?{wrong}"));
        assert_eq!(get(&url).await.status(), 400, "{url}");
    }
    fetch_page("/trips/none/a1").await;
}

#[tokio::test]
async fn departures_and_late_trips_link_to_their_trip() {
    let town = town().await;
    let link = format!("/trips/town/a1?date={}", date(&town));
    for path in ["/stops/town/S", "/delays/town?stop=S"] {
        let late = async || town.page(path).await.contains(&format!("href=\"{link}\""));
        if path.starts_with("/stops") {
            assert!(late().await, "{path}");
        }
    }
    let cancelled = format!("/trips/town/a2?date={}", date(&town));
    let page = town.page("/delays/town").await;
    assert!(page.contains(&format!("href=\"{cancelled}\"")), "{page}");
    assert!(!town.page("/stops/town/S?embed=1").await.contains("/trips/"), "not out of a frame");
}

#[tokio::test]
async fn a_network_lists_its_alerts_with_the_affected_lines_and_stops() {
    let town = town().await;
    let url = town.url("/alerts/town");
    wait_until("the alert is listed", async || {
        let reply = get(&url).await;
        reply.status() == 200 && reply.text().await.unwrap().contains("data-phase=\"now\"")
    })
    .await;
    let page = town.page("/alerts/town?lang=en").await;
    assert!(page.contains("<h3 lang=\"en\">Works &lt;b&gt;ahead&lt;/b&gt;</h3>"), "{page}");
    assert!(page.contains("href=\"/routes/town/A\"") && page.contains("hreflang=\"fr\""), "{page}");
    assert!(!page.contains("hreflang=\"en\""), "the page is in English: {page}");
    assert!(town.page("/alerts/town?lang=fr").await.contains("lang=\"fr\">Travaux"));
    assert!(town.page("/alerts/town-trips").await.contains("data-alert=\"alert\""));
    assert_eq!(get(&town.url("/alerts/none")).await.status(), 404);
    // A trip is named by its start and its destination.
    let mut closed = alert(None, None, &[("en", "Cancelled")]);
    closed.alert.as_mut().unwrap().informed_entity[0].trip = Some(town.lines.trip("a2"));
    town.producer.set(good(&message(now(), vec![closed])));
    let affected = format!("href=\"/trips/town/a2?date={}\">", date(&town));
    wait_until("the alert names the trip", async || {
        town.page("/alerts/town").await.contains(&affected)
    })
    .await;
    let page = town.page("/alerts/town").await;
    let (_, title) = page.split_once(&affected).unwrap();
    assert!(!title.split('<').next().unwrap().contains("a2"), "{page}");
}

#[tokio::test]
async fn a_board_links_to_later_and_earlier_departures() {
    let town = town().await;
    let rows = |page: &str| page.matches("data-trip=\"").count();
    let trips = |page: &str| -> Vec<String> {
        let trips = page.split("data-id=\"").skip(1).filter_map(|rest| rest.split('"').next());
        trips.map(str::to_owned).collect()
    };
    let first = town.page("/stops/town/S?limit=3").await;
    let link = |page: &str, rel: &str| {
        let (_, rest) =
            page.split_once(&format!("rel=\"{rel}\"")).unwrap_or_else(|| panic!("{page}"));
        let (_, rest) = rest.split_once("href=\"").unwrap();
        rest.split('"').next().unwrap().replace("&amp;", "&")
    };
    assert_eq!(rows(&first), 3);
    assert!(first.find("name=\"lines\"") < first.find("<table class=\"board"), "{first}");
    let chosen = town.page("/stops/town/S?lines=A").await;
    assert!(chosen.contains("value=\"A\" selected"), "{chosen}");
    let second = town.page(&link(&first, "next")).await;
    assert!(rows(&second) > 0, "{second}");
    assert_ne!(trips(&first), trips(&second));
    let back = town.page(&link(&second, "prev")).await;
    assert_eq!(trips(&back)[0], trips(&first)[0], "{back}");
    // Ten hours later nothing runs, and the board names its time.
    let later = town.page(&format!("/stops/town/S?after={}", now() + 10 * 3600)).await;
    assert!(rows(&later) == 0 && later.contains("data-later"), "{later}");
    // A board without rows leads to the next departure.
    let (_, step) = later.split_once("data-next-step=\"departure\"").expect(&later);
    let (_, step) = step.split_once("href=\"").unwrap();
    let next = step.split('"').next().unwrap().replace("&amp;", "&");
    let tomorrow = town.page(&next).await;
    assert!(rows(&tomorrow) > 0, "{next}: {tomorrow}");
    let past = town.page("/stops/town/S?after=0").await;
    assert_eq!(trips(&past), trips(&town.page("/stops/town/S").await));
}

#[tokio::test]
async fn a_line_page_has_times_and_a_link_to_the_map() {
    let town = town().await;
    let page = town.page("/routes/town/A").await;
    assert!(page.contains("href=\"/map?route=town:A\""), "{page}");
    assert!(page.contains("id=\"times\"") && page.contains("First "), "{page}");
    let to_trip = format!("href=\"/trips/town/a0?date={}\"", date(&town));
    assert!(page.contains(&to_trip), "no {to_trip} in {page}");
    assert!(!page.contains("line-idle"), "it runs now");
    let other = town.page("/routes/town/A?date=2101-01-01").await;
    assert!(other.contains("No trips on this day."), "{other}");
}

/// Returns the service date before that of the trips, as in GTFS.
fn day_before(lines: Lines) -> Date {
    Date::strptime("%Y%m%d", lines.date()).unwrap().yesterday().unwrap()
}

/// Returns a vehicle that was last seen at the middle stop of yesterday's run of a trip.
fn vehicle_of_yesterday(lines: Lines) -> Vec<u8> {
    let mut entity = lines.vehicle("a0", "Car 12");
    let vehicle = entity.vehicle.as_mut().unwrap();
    let at = Position { latitude: 59.92, longitude: 10.76, ..Position::default() };
    vehicle.position = Some(at);
    vehicle.timestamp = u64::try_from(now() - 86_400).ok();
    vehicle.trip.as_mut().unwrap().start_date =
        Some(day_before(lines).strftime("%Y%m%d").to_string());
    message(now(), vec![entity])
}

#[tokio::test]
async fn a_trip_that_has_ended_says_where_its_vehicle_was_last_seen() {
    let town = Town::start_town(["", ""], vehicle_of_yesterday).await;
    let url = town.url(&format!("/trips/town/a0?date={}", day_before(town.lines)));
    wait_until("the page has the last position", async || {
        let page = get(&url).await.text().await.unwrap();
        page.contains("data-ended=")
            && page.contains("data-last-seen")
            && page.contains("data-near=\"s2\"")
    })
    .await;
    let today = town.page(&format!("/trips/town/a0?date={}", date(&town))).await;
    assert!(!today.contains("data-last-seen"), "{today}");
}

#[tokio::test]
async fn only_a_trip_with_live_data_has_the_live_sign() {
    let town = town().await;
    let date = date(&town);
    let has_sign = async |path: String| town.page(&path).await.contains("id=\"live\"");
    assert!(has_sign(format!("/trips/town/a1?date={date}")).await, "it has live times");
    assert!(!has_sign(format!("/trips/town/a2?date={date}")).await, "it is cancelled");
    assert!(!has_sign(format!("/trips/town/a3?date={date}")).await, "it has no live times");
}

#[tokio::test]
async fn the_map_names_the_values_that_it_ignores() {
    let town = town().await;
    let ignored = async |query: &str| {
        let page = town.page(&format!("/map?{query}")).await;
        let (panel, _) = page.split_once("id=\"list\"").unwrap();
        let names = panel.split("data-ignored=\"").skip(1).map(|it| it.split('"').next().unwrap());
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    for (query, names) in [
        ("mode=nonsense", vec!["mode"]),
        ("at=here", vec!["at"]),
        ("route=town:none", vec!["route"]),
        ("route=none:A", vec!["route"]),
        ("vehicle=none:1", vec!["vehicle"]),
        ("station=none:1", vec!["station"]),
        ("mode=tram&at=59.9,10.7,12&route=town:A&vehicle=town-trips:v-a1&stop=town:S", vec![]),
    ] {
        assert_eq!(ignored(query).await, names, "{query}");
    }
}

#[tokio::test]
async fn vehicles_in_the_list_link_to_their_line_and_trip() {
    let town = town().await;
    let page = town.page("/map").await;
    let (_, list) = page.split_once("id=\"list\"").unwrap();
    let trip = format!("/trips/town/a1?date={}", date(&town));
    for link in ["/routes/town/A", &trip] {
        assert!(list.contains(&format!("href=\"{link}\"")), "no {link} in {list}");
    }
    let line = town.page("/routes/town/A").await;
    let (_, vehicle) = line.split_once("data-id=\"v-a1\"").unwrap();
    let (vehicle, _) = vehicle.split_once("</li>").unwrap();
    assert!(vehicle.contains(&format!("href=\"{trip}\"")), "{vehicle}");
}

#[tokio::test]
async fn a_search_finds_lines_by_mode_and_misspelled_stops() {
    let town = town().await;
    let found = town.page("/?q=line+A").await;
    assert!(found.contains("data-found=\"lines\"") && found.contains("href=\"/routes/town/A\""));
    // The feeds that contain it, and their filters, are folded.
    let (_, feeds) = found.split_once("<details class=\"feed-results\">").expect(&found);
    assert!(feeds.contains("name=\"format\"") && feeds.contains("id=\"feeds\""), "{feeds}");
    let filtered = town.page("/?q=line+A&format=gtfs").await;
    assert!(filtered.contains("<details class=\"feed-results\" open"), "{filtered}");
    let stop = town.page("/?q=Midle").await;
    assert!(stop.contains("data-corrected=\"middle\""), "{stop}");
    assert!(stop.contains("href=\"/stops/town/S\"") && stop.contains("Town &lt;b&gt;Lines"));
    let network = town.page("/?q=town").await;
    let (_, first) = network.split_once("data-found=\"").unwrap();
    assert!(
        first.starts_with("networks\"") && first.contains("data-network=\"town\""),
        "{network}"
    );
    assert!(town.page("/?q=zzzz").await.contains("data-nothing-found"));
    let reply = get(&town.url("/search?q=Midle")).await;
    assert_eq!((reply.status().as_u16(), header(&reply, "location")), (308, "/?q=Midle"));
    let map = town.page("/map?q=Midle").await;
    assert!(map.contains("value=\"Midle\"") && map.contains("plain-results-title"), "{map}");
    for query in ["q=Midle", "q=Midle&near=59.9,10.7"] {
        let stops = get_json(&town.url(&format!("/api/v1/stops?{query}"))).await;
        assert_eq!(stops["items"][0]["id"], "S", "{stops}");
    }
}

#[tokio::test]
async fn the_delay_answer_is_a_share_for_networks_and_a_word_for_lines() {
    let town = town().await;
    let network = town.page("/delays/town").await;
    assert!(network.contains("answer is-share") && network.contains("data-figure=\"cancelled\""));
    let line = town.page("/delays/town?route=A").await;
    assert!(!line.contains("is-share") && line.contains("data-answer=\"yes\""), "{line}");
    assert!(line.contains("Is my train late?"), "{line}");
    let badge = town.page("/delays/town/badge.svg").await;
    assert!(badge.contains("% on time") && !badge.contains("#a3231b"), "{badge}");
    let badge = town.page("/delays/town/badge.svg?route=A").await;
    assert!(badge.contains("late") && badge.contains("#a3231b"), "{badge}");
    let found = get_json(&town.url("/api/v1/feeds/town/delays")).await;
    let share = found["on_time_share"].as_f64().unwrap();
    assert!((0.0..1.0).contains(&share), "{found}");
}

#[tokio::test]
async fn pages_name_the_end_of_live_data() {
    let at = now() - 10 * 24 * 3600;
    let build_message = |lines: Lines| {
        let mut vehicle = lines.vehicle("a1", "Car 12");
        let position = Position { latitude: 59.91, longitude: 10.75, ..Position::default() };
        vehicle.vehicle.as_mut().unwrap().position = Some(position);
        message(at, vec![vehicle])
    };
    let town = Town::start_town(["", ""], build_message).await;
    let is_outdated = async || {
        let feed = get_json(&town.url("/api/v1/feeds/town-trips")).await;
        feed["state"] == "stale" && feed["unreliable_since"].is_string()
    };
    wait_until("the data are out of date", is_outdated).await;
    let alerts = town.page("/alerts/town").await;
    assert!(alerts.contains("data-source=\"without_alerts\""), "{alerts}");
    let (_, end) = alerts.split_once("data-live-end").expect(&alerts);
    let (_, end) = end.split_once("datetime=\"").unwrap();
    let end: jiff::Timestamp = end.split('"').next().unwrap().parse().unwrap();
    assert_eq!(end.as_second(), at);
    let index = town.page("/networks").await;
    assert!(index.contains("data-live-end"), "{index}");
    // Positions are no times: no line has an answer, and the page leads elsewhere.
    let delays = town.page("/delays/town").await;
    assert!(delays.contains("data-answer=\"unknown\""), "{delays}");
    assert!(delays.contains("data-next-step=\"network\"") && !delays.contains("<select"));
}
