//! Pages for riders while live data are missing, old or wrong.

use lineside_testkit::{wait_for_json, wait_until};
use serde_json::Value;

use crate::support::http::{get, get_json};
use crate::support::process::ServerProcess;
use crate::support::producer::{Answer, answer};
use crate::support::timetable::{Lines, alert, message, now};
use crate::support::town::{Town, good};

/// Returns the banner that lists a feed: its element's first tag, and the rest of the page; `None` without one.
fn banner<'a>(page: &'a str, feed: &str) -> Option<(&'a str, &'a str)> {
    let (tag, rest) = page.split_once("data-trouble=")?.1.split_once('>')?;
    rest.contains(&format!("data-trouble-of=\"{feed}\"")).then_some((tag, rest))
}

fn is_shown(page: &str, feed: &str) -> bool {
    let Some((tag, rest)) = banner(page, feed) else { return false };
    let (_, entry) = rest.split_once(&format!("data-trouble-of=\"{feed}\"")).unwrap();
    let (entry, _) = entry.split_once('>').unwrap();
    assert!(tag.contains("hidden") <= entry.contains("hidden"), "{tag} {entry}");
    !entry.contains("hidden")
}

/// Returns the time since which the banner that lists a feed reports missing live data, in seconds.
fn since(page: &str, feed: &str) -> i64 {
    let (_, rest) = banner(page, feed).unwrap();
    let (_, rest) = rest.split_once("datetime=\"").unwrap();
    let text = rest.split('"').next().unwrap();
    text.parse::<jiff::Timestamp>().unwrap().as_second()
}

fn down() -> Answer {
    Answer::Bytes(answer("502 Bad Gateway", &[], b""))
}

fn one_late(lines: Lines) -> Vec<u8> {
    message(now(), vec![lines.behind("a1", 240)])
}

#[tokio::test]
async fn an_outage_is_dated_from_the_last_data_and_keeps_codes_behind_details() {
    // Longer than several polls, so that no test misses the state.
    let town = Town::start_town(["", "max_age = \"6s\""], one_late).await;
    town.wait_for_state("ok").await;
    let data_time = get_json(&town.url("/api/v1/feeds/town-trips")).await["data_time"].clone();
    let data_time: jiff::Timestamp = data_time.as_str().unwrap().parse().unwrap();
    assert!(!is_shown(&town.page("/stops/town/S").await, "town-trips"));
    town.producer.set(down());
    let feed = town.wait_for_state("failing").await;
    assert!(feed["unreliable_since"].is_string(), "{feed}");
    // The predictions have expired, and the banner still names the feed.
    for path in ["/stops/town/S", "/routes/town/A", "/trips/town/a1"] {
        let page = town.page(path).await;
        assert!(is_shown(&page, "town-trips"), "{path}: {page}");
        assert_eq!(since(&page, "town-trips"), data_time.as_second(), "{path}");
        let (_, rest) = banner(&page, "town-trips").unwrap();
        let (before, details) = rest.split_once("<details").unwrap();
        assert!(!before.contains("http_502"), "{path}: {before}");
        let details = details.split("</details>").next().unwrap();
        assert!(details.contains("data-reason-of=\"town-trips\""), "{path}: {details}");
    }
    let delays = town.page("/delays/town").await;
    let (before, _) = delays.split_once("http_502").unwrap();
    assert!(before.rfind("<details") > before.rfind("</details>"), "{delays}");
    town.producer.set(good(&one_late(town.lines)));
    let url = town.url("/stops/town/S");
    let is_gone = async || !is_shown(&get(&url).await.text().await.unwrap(), "town-trips");
    wait_until("the banner is gone", is_gone).await;
    assert_eq!(town.wait_for_state("ok").await["unreliable_since"], Value::Null);
}

#[tokio::test]
async fn a_failed_poll_does_not_make_recent_data_unreliable() {
    let town = Town::start_town(["", "late_after = \"1h\""], one_late).await;
    town.wait_for_state("ok").await;
    town.producer.set(down());
    assert_eq!(town.wait_for_state("stale").await["unreliable_since"], Value::Null);
    assert!(!is_shown(&town.page("/stops/town/S").await, "town-trips"));
}

#[tokio::test]
async fn data_of_earlier_years_are_dated_with_the_year() {
    const AT: i64 = 1_537_282_800;
    let old = |lines: Lines| message(AT, vec![lines.behind("a1", 240)]);
    let town = Town::start_town(["", ""], old).await;
    let feed = town.wait_for_state("stale").await;
    assert_eq!(feed["unreliable_since"], "2018-09-18T15:00:00Z");
    for path in ["/stops/town/S", "/routes/town/A"] {
        let page = town.page(path).await;
        assert!(is_shown(&page, "town-trips"), "{path}");
        assert_eq!(since(&page, "town-trips"), AT, "{path}");
        assert!(banner(&page, "town-trips").unwrap().1.contains("2018"), "{path}");
    }
    assert!(town.page("/delays/town").await.contains("2018"));
}

#[tokio::test]
async fn a_feed_without_any_data_has_a_banner_and_an_alert_feed_has_none() {
    let folder = tempfile::tempdir().unwrap();
    let schedule = folder.path().join("town");
    Lines::write(&schedule);
    // Nothing listens on port 1.
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n[[feed]]\nid = \"town\"\nurl = {:?}\n\
         [[feed]]\nid = \"town-trips\"\nurl = \"http://127.0.0.1:1/tu.pb\"\nstatic = \"town\"\npoll = \"1s\"\n\
         [[feed]]\nid = \"town-other\"\nurl = \"http://127.0.0.1:1/other.pb\"\nstatic = \"town\"\npoll = \"1s\"\n",
        schedule.to_str().unwrap(),
    );
    let server = ServerProcess::serving(folder.path(), text);
    for (feed, state) in [("town", "ok"), ("town-trips", "failing"), ("town-other", "failing")] {
        let url = format!("{}/api/v1/feeds/{feed}", server.url);
        wait_for_json(&url, |found| found["state"] == state).await;
    }
    for path in ["/stops/town/S", "/routes/town/A", "/trips/town/a1"] {
        let page = get(&format!("{}{path}", server.url)).await.text().await.unwrap();
        assert!(is_shown(&page, "town-trips") && is_shown(&page, "town-other"), "{path}: {page}");
        assert_eq!(page.matches("data-trouble=").count(), 1, "one banner for both: {page}");
    }
    let alerts = get(&format!("{}/alerts/town", server.url)).await.text().await.unwrap();
    assert!(alerts.contains("data-source=\"outdated\""), "{alerts}");
    assert!(!alerts.contains("id=\"live\""), "{alerts}");
    server.stop("-TERM");

    let alerts = |_| message(now(), vec![alert(Some("A"), None, &[("", "Works")])]);
    let town = Town::start_town(["", ""], alerts).await;
    let listed = town.url("/alerts/town");
    let has_alert = async || get(&listed).await.text().await.unwrap().contains("data-alert=");
    wait_until("the alert is listed", has_alert).await;
    town.producer.set(down());
    town.wait_for_state("stale").await;
    for path in ["/stops/town/S", "/routes/town/A"] {
        assert!(banner(&town.page(path).await, "town-trips").is_none(), "{path}");
    }
}
