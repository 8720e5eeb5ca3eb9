//! The match of a feed's ids with its timetable: the JSON, the section of the feed's page, and their content without a
//! timetable.

use std::path::Path;

use jiff::Timestamp;
use lineside_testkit::{wait_for_feed, wait_for_json};
use serde_json::{Value, json};

use crate::support::http::{assert_problem, get_json, get_text, problem};
use crate::support::producer::{Answer, Producer, answer};
use crate::support::site::{configure, serve};
use crate::support::timetable::{Lines, alert, message, now};
use crate::support::town::Town;

/// Returns SIRI on trips of line A with prefixed ids, and on an unknown trip.
fn timetables(lines: Lines) -> String {
    let date = lines.date();
    let journey = |id: &str, more: &str| {
        let framed = format!(
            "<FramedVehicleJourneyRef><DataFrameRef>{date}</DataFrameRef>\
             <DatedVehicleJourneyRef>{id}</DatedVehicleJourneyRef></FramedVehicleJourneyRef>"
        );
        format!(
            "<EstimatedVehicleJourney><LineRef>net:A</LineRef>{framed}{more}<EstimatedCalls>\
             <EstimatedCall><StopPointRef>net:s3</StopPointRef><ExpectedArrivalTime>{}\
             </ExpectedArrivalTime></EstimatedCall></EstimatedCalls></EstimatedVehicleJourney>",
            Timestamp::now() + jiff::SignedDuration::from_mins(10)
        )
    };
    let journeys = [
        journey("net:a0", ""),
        journey("net:a1", ""),
        journey("net:&lt;i&gt;gone", ""),
        journey("net:more", "<ExtraJourney>true</ExtraJourney>"),
    ];
    format!(
        "<Siri xmlns=\"http://www.siri.org.uk/siri\" version=\"2.0\"><ServiceDelivery>\
         <ResponseTimestamp>{}</ResponseTimestamp><EstimatedTimetableDelivery>\
         <EstimatedJourneyVersionFrame>{}</EstimatedJourneyVersionFrame>\
         </EstimatedTimetableDelivery></ServiceDelivery></Siri>",
        Timestamp::now(),
        journeys.concat()
    )
}

/// Returns the configuration of a schedule in a folder and of the SIRI feed `trips` with this mapping of ids.
fn feeds(folder: &Path, producer: &Producer, ids: &str) -> String {
    format!(
        "[[feed]]\nid = \"town\"\nname = \"Town & Lines\"\nurl = {:?}\n\
         [[feed]]\nid = \"trips\"\nurl = {:?}\nstatic = \"town\"\npoll = \"1s\"\n\
         siri = {{ services = [\"et\"], ids = {ids:?} }}\n",
        folder.join("town").to_str().unwrap(),
        producer.url("/siri"),
    )
}

#[tokio::test]
async fn the_report_shows_differing_ids_and_later_matching_ones() {
    let folder = tempfile::tempdir().unwrap();
    let lines = Lines::write(&folder.path().join("town"));
    let body = timetables(lines);
    let reply = answer("200 OK", &["content-type: text/xml"], body.as_bytes());
    let producer = Producer::start(Answer::Bytes(reply)).await;
    let town = serve(folder.path(), &feeds(folder.path(), &producer, "same")).await;
    let (url, matches) = (&town.url, format!("{}/api/v1/feeds/trips/matches", town.url));
    let found = wait_for_json(&matches, |found| found["unmatched"] == 3).await;
    assert_eq!((&found["static"], &found["why"]), (&json!("town"), &Value::Null), "{found}");
    assert_eq!(
        [&found["matched"], &found["unmatched"], &found["match_rate"]],
        [&json!(0), &json!(3), &json!(0.0)],
        "{found}"
    );
    let reasons = &found["trip_updates"]["reasons"];
    assert_eq!(reasons[0]["reason"], "unknown_trip", "{found}");
    assert_eq!(reasons[0]["samples"], json!(["net:<i>gone", "net:a0", "net:a1"]));
    assert_eq!(reasons[0]["known_ids"].as_array().map(Vec::len), Some(3), "{found}");
    assert_eq!(
        [&reasons[1]["reason"], &reasons[1]["count"], &reasons[1]["unmatched"]],
        [&json!("added"), &json!(1), &json!(false)]
    );
    assert_eq!(found["routes"]["reasons"][0]["samples"], json!(["net:A"]));
    assert_eq!(found["stops"]["reasons"][0]["samples"], json!(["net:s3"]));
    let causes = found["causes"].as_array().unwrap();
    assert_eq!(causes[0]["cause"], "extra_prefix", "{found}");
    assert_eq!((&causes[0]["kind"], &causes[0]["prefix"]), (&json!("trip"), &json!("net:")));
    let html = get_text(&format!("{url}/feeds/trips")).await;
    for expected_part in [
        "<strong class=\"numeric\">0 of 3</strong> trips are in the timetable of <a href=\"/feeds/town\">Town &amp; Lines</a>.",
        "data-cause=\"extra_prefix\"",
        "<code>net:</code>",
        "<span class=\"mono\">net:&lt;i&gt;gone</span>",
        "<code>&quot;same&quot;</code>",
    ] {
        assert!(html.contains(expected_part), "{expected_part} is not in {html}");
    }

    // The operator corrects the mapping; the producer sends the same data.
    configure(folder.path(), &feeds(folder.path(), &producer, "prefix:net:"));
    let found = wait_for_json(&matches, |found| found["matched"] == 2).await;
    assert_eq!(found["unmatched"], 1, "{found}");
    assert_eq!(found["trip_updates"]["reasons"][0]["samples"], json!(["<i>gone"]));
    assert_eq!(
        (&found["routes"]["match_rate"], &found["stops"]["match_rate"]),
        (&json!(1.0), &json!(1.0))
    );
    let html = get_text(&format!("{url}/feeds/trips")).await;
    assert!(!html.contains("data-cause=\"extra_prefix\""), "{html}");
    assert!(html.contains("2 of 3</strong> trips are in the timetable of"), "{html}");
    assert!(html.contains("1 of 1</strong> stop is in it."), "{html}");
}

#[tokio::test]
async fn vehicles_and_alerts_are_matched_by_their_references() {
    let build_message = |lines: Lines| {
        let texts = [("en", "Look out")];
        let removed = alert(Some("Z"), None, &texts);
        let entities = vec![lines.vehicle("a1", "one"), lines.vehicle("zz", "two"), removed];
        message(now(), entities)
    };
    let town = Town::start_town(["", ""], build_message).await;
    let has_vehicles = |found: &Value| found["vehicles"]["matched"] == 1;
    let found = wait_for_json(&town.url("/api/v1/feeds/town-trips/matches"), has_vehicles).await;
    assert_eq!((&found["matched"], &found["unmatched"]), (&json!(1), &json!(2)), "{found}");
    assert_eq!(found["trip_updates"]["match_rate"], Value::Null, "there is nothing to match");
    assert_eq!(found["alerts"]["reasons"][0]["reason"], "unknown_route");
    assert_eq!(found["alerts"]["reasons"][0]["samples"], json!(["Z"]));
    let html = town.page("/feeds/town-trips").await;
    assert!(html.contains("1 of 2</strong> vehicles"), "{html}");
    assert!(html.contains("0 of 1</strong> reference of an alert is in it."), "{html}");
    assert!(!town.page("/feeds/town").await.contains("matches-title"), "a schedule has none");
    let refused = problem(&town.url("/api/v1/feeds/town/matches")).await;
    assert_problem(404, "other_format", refused);
}

#[tokio::test]
async fn without_a_timetable_nothing_counts_as_unmatched() {
    let folder = tempfile::tempdir().unwrap();
    let lines = Lines::write(&folder.path().join("town"));
    let body = message(now(), vec![lines.behind("a0", 60)]);
    let producer = Producer::start(Answer::Bytes(answer("200 OK", &[], &body))).await;
    let feeds = format!(
        "[[feed]]\nid = \"gone\"\nurl = {:?}\nformat = \"gtfs\"\n\
         [[feed]]\nid = \"alone\"\nurl = {:?}\nformat = \"gtfs-rt\"\n\
         [[feed]]\nid = \"waits\"\nurl = {:?}\nformat = \"gtfs-rt\"\nstatic = \"gone\"\n",
        folder.path().join("nothing.zip").to_str().unwrap(),
        producer.url("/a.pb"),
        producer.url("/b.pb"),
    );
    let server = serve(folder.path(), &feeds).await;
    let url = &server.url;
    for (feed, schedule, why, expected_part) in [
        ("alone", Value::Null, "no_static", "This feed names no schedule"),
        ("waits", json!("gone"), "no_dataset", "Nothing can be matched yet"),
    ] {
        wait_for_feed(url, feed, |found| found["entities"] == 1).await;
        let found = get_json(&format!("{url}/api/v1/feeds/{feed}/matches")).await;
        assert_eq!((&found["static"], &found["why"]), (&schedule, &json!(why)), "{found}");
        for key in
            ["dataset", "matched", "unmatched", "match_rate", "trip_updates", "stops", "causes"]
        {
            assert_eq!(found[key], Value::Null, "{key}: {found}");
        }
        let html = get_text(&format!("{url}/feeds/{feed}")).await;
        assert!(html.contains(expected_part), "{expected_part} is not in {html}");
    }
}
