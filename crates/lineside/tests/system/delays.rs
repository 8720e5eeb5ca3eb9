//! "Is my train late?": the page, the JSON, the badge, and their replies without data.

use std::path::Path;

use lineside_testkit::{wait_for_feed, wait_for_json, wait_for_status, wait_until};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::http::{assert_problem, get, get_json, header, problem, send};
use crate::support::process::ServerProcess;
use crate::support::producer::{Answer, Producer, answer};
use crate::support::timetable::{Lines, alert, message, now};
use crate::support::town::{Town, good};
use crate::support::{demo, shared_demo};

/// Returns updates of six trips: one late, one on time, one early, one cancelled, one on time, and a late one of the
/// other line.
fn morning(lines: Lines) -> Vec<u8> {
    let entities = vec![
        lines.behind("a0", 400),
        lines.behind("a1", 20),
        lines.behind("a2", -120),
        lines.cancelled("a3"),
        lines.behind("b0", 0),
        lines.behind("b1", 299),
    ];
    message(now(), entities)
}

fn has_trips(found: &Value) -> bool {
    // Without the schedule the times of a trip are unknown.
    let known = found["trips"].as_u64().zip(found["unknown"].as_u64());
    known.is_some_and(|(trips, unknown)| unknown < trips)
}

#[tokio::test]
async fn late_and_cancelled_trips_are_counted_without_early_ones() {
    let town = Town::start_town(["", ""], morning).await;
    for id in ["town", "town-trips"] {
        let url = town.url(&format!("/api/v1/feeds/{id}/delays"));
        let found = wait_for_json(&url, has_trips).await;
        let expect = json!({
            "late": true, "answer": "yes", "worst": 400, "late_trips": 1, "cancelled": 1, "trips": 6,
            "late_after": 300, "stale": false, "early": 1, "on_time": 3, "unknown": 0, "scheduled_only": 0
        });
        for (key, value) in expect.as_object().unwrap() {
            assert_eq!(&found[key], value, "{id} {key}: {found}");
        }
        assert!(found["at"].as_str().is_some_and(|at| at.starts_with("20")), "{found}");
        assert_eq!(found["trips_late"][0]["trip_id"], "a0");
        assert_eq!(found["trips_late"][0]["headsign"], "Harbour A");
        assert_eq!(found["trips_cancelled"][0]["trip_id"], "a3");
        assert_eq!(found["lines"][0]["route_id"], "A", "the line with the trouble is first");
    }
    let line_delays_reply = get_json(&town.url("/api/v1/feeds/town/delays?route=B")).await;
    let list_counts = |found: &Value| {
        ["late", "trips", "late_trips", "cancelled", "worst"].map(|key| found[key].clone())
    };
    assert_eq!(
        list_counts(&line_delays_reply),
        [json!(false), json!(2), json!(0), json!(0), json!(299)]
    );
    let at_stop = get_json(&town.url("/api/v1/feeds/town/delays?stop=S&route=A")).await;
    assert_eq!((&at_stop["late"], &at_stop["trips"]), (&json!(true), &json!(6)), "{at_stop}");
    assert_eq!(
        (&at_stop["unknown"], &at_stop["scheduled_only"]),
        (&json!(2), &json!(2)),
        "{at_stop}"
    );
    let at_last = get_json(&town.url("/api/v1/feeds/town/delays?stop=s3")).await;
    assert_eq!((&at_last["late"], &at_last["trips"]), (&Value::Null, &json!(0)), "nothing leaves");
}

#[tokio::test]
async fn the_operator_configures_the_threshold_of_late_trips() {
    // The schedule's value applies to its network, and a feed's own value overrides it.
    let town = Town::start_town(["trip_late_after = \"2m\"", ""], morning).await;
    let found = wait_for_json(&town.url("/api/v1/feeds/town-trips/delays"), has_trips).await;
    assert_eq!((&found["late_after"], &found["late_trips"]), (&json!(120), &json!(2)), "{found}");
    let more = ["trip_late_after = \"2m\"", "trip_late_after = \"10m\""];
    let town = Town::start_town(more, morning).await;
    let found = wait_for_json(&town.url("/api/v1/feeds/town-trips/delays"), has_trips).await;
    assert_eq!((&found["late_after"], &found["late_trips"]), (&json!(600), &json!(0)), "{found}");
    assert_eq!(found["late"], true, "one is cancelled");
    let network = get_json(&town.url("/api/v1/feeds/town/delays")).await;
    assert_eq!(network["late_after"], 120);
}

#[tokio::test]
async fn the_page_shows_the_answer_and_details_with_escaped_text() {
    let town = Town::start_town(["", ""], morning).await;
    wait_for_json(&town.url("/api/v1/feeds/town/delays"), has_trips).await;
    let page = town.page("/delays/town").await;
    for expected_part in [
        "Are trains on time?",
        "<strong>66 %</strong>",
        "data-answer=\"yes\"",
        "<span data-figure=\"late\">1 late</span>",
        "<span data-figure=\"cancelled\">1 cancelled</span>",
        "6 min late",
        "Harbour A",
        "http-equiv=\"refresh\"",
        "Town &lt;b&gt;Lines&lt;/b&gt;",
    ] {
        assert!(page.contains(expected_part), "{expected_part} is not in {page}");
    }
    let calm = town.page("/delays/town?route=B").await;
    assert!(calm.contains("<strong>No</strong>") && calm.contains("data-answer=\"no\""));
    let badge = get(&town.url("/delays/town/badge.svg")).await;
    assert_eq!(header(&badge, "content-type"), "image/svg+xml");
    assert!(badge.text().await.unwrap().contains("trains: 66 % on time"));
    let calm = get(&town.url("/delays/town/badge.svg?route=B")).await.text().await.unwrap();
    assert!(calm.contains("trains B: on time"), "{calm}");
}

#[tokio::test]
async fn with_few_live_data_the_answer_is_not_no() {
    // One trip of the line has live data; five more leave at the stop, and another of the line is running.
    let little = |lines: Lines| message(now(), vec![lines.behind("a1", 0)]);
    let town = Town::start_town(["", ""], little).await;
    for (query, trips, scheduled_only, late) in [
        ("?stop=S", 12, 11, Value::Null),
        ("?stop=S&route=A", 6, 5, Value::Null),
        ("?route=A", 2, 1, json!(false)),
        ("?route=B", 1, 1, Value::Null),
        ("", 3, 2, Value::Null),
    ] {
        let url = town.url(&format!("/api/v1/feeds/town/delays{query}"));
        let n_on_time = u64::from(query != "?route=B");
        let found = wait_for_json(&url, |found| found["on_time"] == n_on_time).await;
        let counts = ["trips", "unknown", "scheduled_only"].map(|key| found[key].as_u64());
        assert_eq!(
            counts,
            [Some(trips), Some(scheduled_only), Some(scheduled_only)],
            "{query}: {found}"
        );
        assert_eq!((&found["late"], &found["stale"]), (&late, &json!(false)), "{query}: {found}");
    }
    // The feed alone covers only its own lines, and this is not one of them.
    let without_realtime = get_json(&town.url("/api/v1/feeds/town-trips/delays?stop=S")).await;
    assert_eq!(
        (&without_realtime["trips"], &without_realtime["late"]),
        (&json!(6), &Value::Null),
        "{without_realtime}"
    );
    let page = town.page("/delays/town?stop=S").await;
    assert!(page.contains("<strong>Unknown</strong>"), "{page}");
    assert!(page.contains("12 running; 11 timetable only"), "{page}");
    let page = town.page("/delays/town?route=B").await;
    assert!(page.contains("There is no live data for these trips, only the timetable."), "{page}");
}

#[tokio::test]
async fn with_stale_data_the_answer_is_not_no() {
    let calm = |lines: Lines| message(now(), vec![lines.behind("a0", 0), lines.behind("a1", 10)]);
    let town = Town::start_town(["", ""], calm).await;
    let url = town.url("/api/v1/feeds/town/delays");
    let fresh = wait_for_json(&url, has_trips).await;
    assert_eq!((&fresh["late"], &fresh["answer"]), (&json!(false), &json!("no")));
    town.producer.set(Answer::Bytes(answer("500 Internal Server Error", &[], b"down")));
    let stale = wait_for_json(&url, |found| found["stale"] == true).await;
    for key in ["late", "worst", "late_trips", "cancelled", "trips"] {
        assert_eq!(stale[key], Value::Null, "{key}: {stale}");
    }
    assert_eq!(stale["answer"], "unknown");
    let page = town.page("/delays/town").await;
    assert!(page.contains("<strong>Unknown</strong>") && page.contains("http_500"), "{page}");
    let badge = get(&town.url("/delays/town/badge.svg")).await.text().await.unwrap();
    assert!(badge.contains("trains: unknown"), "{badge}");
    // The producer is back, with a late train.
    town.producer.set(good(&message(now(), vec![town.lines.behind("a0", 900)])));
    wait_for_json(&url, |found| found["late"] == true && found["worst"] == 900).await;
}

#[tokio::test]
async fn data_with_an_old_timestamp_are_stale_however_often_they_arrive() {
    let old = |lines: Lines| message(now() - 1_800, vec![lines.behind("a0", 0)]);
    let town = Town::start_town(["", ""], old).await;
    let url = town.url("/api/v1/feeds/town-trips");
    wait_for_json(&url, |found| found["state"] == "late").await;
    let found = get_json(&town.url("/api/v1/feeds/town/delays")).await;
    assert_eq!((&found["late"], &found["stale"]), (&Value::Null, &json!(true)), "{found}");
}

#[tokio::test]
async fn without_live_data_the_answer_is_unknown() {
    let folder = tempfile::tempdir().unwrap();
    Lines::write(&folder.path().join("town"));
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n[[feed]]\nid = \"town\"\nurl = {:?}\n\
         [[feed]]\nid = \"notes\"\nurl = {:?}\nformat = \"raw\"\n",
        folder.path().join("town").to_str().unwrap(),
        folder.path().join("town/agency.txt").to_str().unwrap(),
    );
    let server = ServerProcess::serving(folder.path(), text);
    let url = format!("{}/api/v1/feeds/town/delays", server.url);
    wait_for_status(&format!("{url}?route=A"), 200).await;
    let found = get_json(&url).await;
    assert_eq!(
        (&found["late"], &found["stale"], &found["at"]),
        (&Value::Null, &json!(true), &Value::Null)
    );
    let page = get(&format!("{}/delays/town", server.url)).await.text().await.unwrap();
    assert!(page.contains("<strong>Unknown</strong>") && page.contains("only the timetable"));
    for (path, code) in [
        ("/api/v1/feeds/none/delays", "unknown_feed"),
        ("/api/v1/feeds/town/delays?route=none", "unknown_route"),
        ("/api/v1/feeds/town/delays?stop=none", "unknown_stop"),
        ("/api/v1/feeds/notes/delays", "other_format"),
        ("/delays/none/badge.svg", "unknown_feed"),
    ] {
        assert_problem(404, code, problem(&format!("{}{path}", server.url)).await);
    }
    for path in ["/delays/none", "/delays/town?route=none", "/delays/notes"] {
        let reply = get(&format!("{}{path}", server.url)).await;
        assert_eq!(
            (reply.status().as_u16(), header(&reply, "content-type")),
            (404, "text/html; charset=utf-8")
        );
    }
}

#[tokio::test]
async fn before_the_schedule_is_loaded_no_stop_or_line_is_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let schedule = folder.path().join("town");
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n\
         [[feed]]\nid = \"town\"\nurl = {:?}\npoll = \"1s\"\n",
        schedule.to_str().unwrap(),
    );
    let server = ServerProcess::serving(folder.path(), text);
    for query in ["?stop=S", "?route=A"] {
        for path in ["/api/v1/feeds/town/delays", "/delays/town/badge.svg"] {
            let found = problem(&format!("{}{path}{query}", server.url)).await;
            assert_problem(503, "no_data", found);
        }
    }
    for path in [
        "/delays/town?stop=S",
        "/delays/town?stop=S&embed=1",
        "/stops/town/S?embed=1",
        "/routes/town/A",
    ] {
        let page = get(&format!("{}{path}", server.url)).await;
        let headers =
            ["refresh", "retry-after", "content-type"].map(|name| header(&page, name).to_owned());
        assert_eq!(headers, ["15", "5", "text/html; charset=utf-8"], "{path} asks again by itself");
        let may_be_framed = header(&page, "content-security-policy").contains("frame-ancestors *");
        assert_eq!(may_be_framed, path.contains("embed"), "{path}");
        let status = page.status();
        let text = page.text().await.unwrap();
        assert!(
            status == 503 && text.contains("Feed town has no data yet"),
            "{path}: {status} {text}"
        );
    }
    Lines::write(&schedule);
    for query in ["stop=S", "route=A"] {
        let url = format!("{}/api/v1/feeds/town/delays?{query}", server.url);
        wait_for_status(&url, 200).await;
        let other = problem(&format!("{url}none")).await;
        assert_eq!(other.0, 404, "{other:?}");
    }
    for path in ["/stops/town/S?embed=1", "/routes/town/A"] {
        assert_eq!(get(&format!("{}{path}", server.url)).await.status(), 200, "{path}");
    }
    // The next version may have a stop that this one lacks, so its frame reloads, but less often.
    for (path, refresh) in [
        ("/stops/town/none?embed=1", "300"),
        ("/delays/town?stop=none&embed=1", "300"),
        ("/stops/town/none", ""),
        ("/routes/town/none", ""),
    ] {
        let page = get(&format!("{}{path}", server.url)).await;
        assert_eq!((page.status().as_u16(), header(&page, "refresh")), (404, refresh), "{path}");
        let may_be_framed = header(&page, "content-security-policy").contains("frame-ancestors *");
        assert_eq!(may_be_framed, !refresh.is_empty(), "{path}");
        let text = page.text().await.unwrap();
        assert_eq!(text.contains("All feeds"), refresh.is_empty(), "a frame leads nowhere: {text}");
    }
}

#[tokio::test]
async fn a_feed_of_alerts_has_no_delays() {
    let feed = format!("{}/api/v1/feeds/city-alerts", shared_demo());
    wait_for_json(&feed, |found| found["entities"].as_u64() > Some(0)).await;
    for path in ["/api/v1/feeds/city-alerts/delays", "/delays/city-alerts/badge.svg"] {
        let found = problem(&format!("{}{path}", shared_demo())).await;
        assert_problem(404, "other_format", found);
    }
    let page = get(&format!("{}/delays/city-alerts", shared_demo())).await;
    assert_eq!(page.status(), 404);
    let page = get(&format!("{}/feeds/city-alerts", shared_demo())).await.text().await.unwrap();
    assert!(!page.contains("/delays/city-alerts"), "nothing leads there");
    assert_eq!(get(&format!("{}/delays/city-trips", shared_demo())).await.status(), 200);
}

#[tokio::test]
async fn an_answer_is_computed_per_change_and_not_per_request() {
    // The feed is polled once and then not for an hour, so that nothing changes except the statistics of the day, once
    // a minute.
    let town = Town::start_town(["", "rate = \"1/h\""], morning).await;
    let url = town.url("/api/v1/feeds/town/delays");
    wait_for_json(&url, has_trips).await;
    for path in [
        "/delays/town",
        "/delays/town?stop=S",
        "/delays/town/badge.svg",
        "/api/v1/feeds/town/delays",
    ] {
        let url = town.url(path);
        wait_until(format_args!("{path} is given out as it lies there"), async || {
            let first = get(&url).await;
            let tag = header(&first, "etag").to_owned();
            let second = send(Method::GET, &url, &[("if-none-match", &tag)]).await;
            let same = send(Method::HEAD, &url, &[]).await;
            assert!(!header(&first, "last-modified").is_empty(), "{path}");
            assert!(header(&first, "cache-control").starts_with("public, max-age="), "{path}");
            second.status() == 304 && header(&same, "etag") == tag
        })
        .await;
        // Its `Last-Modified` shows its time of creation: a reply that is created for the request is as old as the
        // request.
        wait_until(format_args!("{path} is given out that was made before"), async || {
            let reply = get(&url).await;
            let at = |name: &str| jiff::fmt::rfc2822::parse(header(&reply, name)).unwrap();
            at("date").timestamp().duration_since(at("last-modified").timestamp()).as_secs() >= 2
        })
        .await;
        let coded = send(Method::GET, &url, &[("accept-encoding", "gzip")]).await;
        let is_coded = header(&coded, "content-encoding") == "gzip";
        let is_short = coded.bytes().await.unwrap().len() < 1_024;
        assert!(is_coded || is_short, "{path}");
    }
}

#[tokio::test]
async fn only_the_embedded_form_may_be_framed() {
    let url = shared_demo();
    let rule = async |path: &str| {
        let reply = get(&format!("{url}{path}")).await;
        assert_eq!(reply.status(), 200, "{path}");
        let policy = header(&reply, "content-security-policy").to_owned();
        (policy, reply.text().await.unwrap())
    };
    let (policy, page) = rule("/delays/city").await;
    assert!(policy.contains("frame-ancestors 'none'") && page.contains("class=\"masthead\""));
    let (policy, page) = rule("/delays/city?embed=1").await;
    assert!(
        policy.contains("frame-ancestors *") && policy.contains("script-src 'self';"),
        "{policy}"
    );
    assert!(!page.contains("class=\"masthead\"") && page.contains("data-answer="));
}

#[tokio::test]
async fn a_trip_in_two_feeds_counts_once_in_the_day() {
    let folder = tempfile::tempdir().unwrap();
    let schedule = folder.path().join("town");
    let producer = Producer::start(good(&morning(Lines::write(&schedule)))).await;
    let feed = |id: &str| {
        let url = producer.url(&format!("/{id}.pb"));
        format!("[[feed]]\nid = {id:?}\nurl = {url:?}\nstatic = \"town\"\npoll = \"1s\"\n")
    };
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n[[feed]]\nid = \"town\"\nurl = {:?}\n{}{}",
        schedule.to_str().unwrap(),
        feed("one"),
        feed("two"),
    );
    let server = ServerProcess::serving(folder.path(), text);
    let trips = async |id: &str| -> u64 {
        let found = get_json(&format!("{}/api/v1/feeds/{id}/delays", server.url)).await;
        let day = found["day"].as_array().cloned().unwrap_or_default();
        day.iter().filter_map(|quarter| quarter["trips"].as_u64()).sum()
    };
    wait_until("the network has as many trips as each of its feeds", async || {
        let (one, two, town) = (trips("one").await, trips("two").await, trips("town").await);
        one >= 6 && one == two && one == town
    })
    .await;
}

/// Returns the configuration of a server with a data folder, and of a town with one feed.
fn write_config(schedule: &Path, producer: &Producer) -> String {
    format!(
        "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\ndata_dir = \"data\"\n[[feed]]\nid = \"town\"\nurl = {schedule:?}\n\
         [[feed]]\nid = \"trips\"\nurl = {:?}\nstatic = \"town\"\npoll = \"1s\"\n",
        producer.url("/tu.pb"),
    )
}

#[tokio::test]
async fn the_days_of_a_line_and_of_its_feed_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let schedule = folder.path().join("town");
    let producer = Producer::start(good(&morning(Lines::write(&schedule)))).await;
    let text = write_config(&schedule, &producer);
    let server = ServerProcess::serving(folder.path(), &text);
    let day = async |url: &str, query: &str| -> [u64; 3] {
        let found =
            wait_for_json(&format!("{url}/api/v1/feeds/town/delays{query}"), |_| true).await;
        let day = found["day"].as_array().cloned().unwrap_or_default();
        ["trips", "late", "cancelled"].map(|key| day.iter().filter_map(|it| it[key].as_u64()).sum())
    };
    let before =
        wait_for_json(&format!("{}/api/v1/feeds/town/delays?route=A", server.url), |found| {
            found["day"].as_array().is_some_and(|day| !day.is_empty())
        })
        .await;
    assert_eq!(before["day"][0]["cancelled"], before["day"][0]["late"], "{before}");
    // No more data: the next process must have stored the statistics.
    producer.set(Answer::Bytes(answer("500 Internal Server Error", &[], b"down")));
    wait_for_json(&format!("{}/api/v1/feeds/town/delays", server.url), |it| it["stale"] == true)
        .await;
    let queries = ["", "?route=A", "?route=B", "?stop=S"];
    let mut known = Vec::new();
    for query in queries {
        known.push(day(&server.url, query).await);
    }
    let [all, a, b, stop] = known[..] else { panic!("{known:?}") };
    assert!(a[0] >= 4 && b[0] >= 2 && a[1] >= 1 && b[1] == 0, "{known:?}");
    assert_eq!((all, stop), (std::array::from_fn(|at| a[at] + b[at]), [0; 3]));
    assert!(server.stop("-TERM").0.success());
    let server = ServerProcess::serving(folder.path(), &text);
    wait_until("the day is there again", async || day(&server.url, "").await == all).await;
    for (query, known) in queries.iter().zip(&known) {
        assert_eq!(&day(&server.url, query).await, known, "{query}");
    }
    let page = get(&format!("{}/delays/town?route=A", server.url)).await.text().await.unwrap();
    for expected_part in [
        "Over the last 24 hours",
        "aria-label=\"Most trips were late",
        "url(#not-known)",
        "nothing is known",
    ] {
        assert!(page.contains(expected_part), "{expected_part} is not in {page}");
    }
}

#[tokio::test]
async fn a_feed_with_trips_before_a_restart_has_delays_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let schedule = folder.path().join("town");
    let producer = Producer::start(good(&morning(Lines::write(&schedule)))).await;
    let text = write_config(&schedule, &producer);
    let server = ServerProcess::serving(folder.path(), &text);
    wait_for_json(&format!("{}/api/v1/feeds/town/delays", server.url), |found| {
        found["day"].as_array().is_some_and(|day| !day.is_empty())
    })
    .await;
    // At night nothing runs, and closed stops stay closed.
    let night = message(now(), vec![alert(None, Some("S"), &[("en", "Closed")])]);
    producer.set(good(&night));
    let has_one = |found: &Value| found["entities"] == 1 && found["state"] == "ok";
    wait_for_feed(&server.url, "trips", has_one).await;
    assert!(server.stop("-TERM").0.success());
    let server = ServerProcess::serving(folder.path(), &text);
    wait_for_feed(&server.url, "trips", has_one).await;
    wait_until("there is an answer still", async || {
        get(&format!("{}/delays/trips/badge.svg", server.url)).await.status() == 200
    })
    .await;
    let found = get_json(&format!("{}/api/v1/feeds/trips/delays", server.url)).await;
    assert_eq!(found["late"], Value::Null, "{found}");
    let page = get(&format!("{}/feeds/trips", server.url)).await.text().await.unwrap();
    assert!(page.contains("/delays/trips"), "its page leads there");
}

#[tokio::test]
async fn the_day_is_recorded_by_quarter_hours() {
    // An hour of the city passes in some seconds.
    let server = demo(240.0, &[]).await;
    let url = format!("{}/api/v1/feeds/city/delays", server.url());
    let found =
        wait_for_json(&url, |found| found["day"].as_array().is_some_and(|day| day.len() > 2)).await;
    for quarter in found["day"].as_array().unwrap() {
        let [trips, late, cancelled] =
            ["trips", "late", "cancelled"].map(|key| quarter[key].as_u64().unwrap());
        assert!(trips > 0 && late + cancelled <= trips, "{quarter}");
    }
    let page = get(&format!("{}/delays/city", server.url())).await.text().await.unwrap();
    assert!(page.contains("aria-label=\"Most trips were late in the quarter of an hour from"));
    // A stop has statistics from its first request on.
    let stops = get_json(&format!("{}/api/v1/stops?q=Central", server.url())).await;
    let stop = stops["items"][0]["id"].as_str().unwrap_or_default();
    assert!(!stop.is_empty(), "{stops}");
    wait_for_json(&format!("{url}?stop={stop}"), |found| {
        found["day"].as_array().is_some_and(|day| !day.is_empty())
    })
    .await;
    server.stop().await;
}
