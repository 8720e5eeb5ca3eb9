//! Departure boards and pages of lines without scripts.

use lineside_testkit::{wait_for_status, wait_until};

use crate::support::http::{get, get_with, header};
use crate::support::process::ServerProcess;
use crate::support::timetable::{Lines, alert, message, now};
use crate::support::town::{Town, good};

/// Returns a late trip, one from another platform, a cancelled one, a vehicle, and an alert.
fn morning(lines: Lines) -> Vec<u8> {
    let texts = [("fr", "Travaux <i>"), ("de-CH", "Bauarbeiten"), ("en", "Works")];
    let entities = vec![
        lines.behind("a1", 240),
        lines.moved("b1"),
        lines.cancelled("a2"),
        lines.vehicle("a0", "Car <b>12</b>"),
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

fn row<'a>(page: &'a str, trip: &str) -> &'a str {
    let rows = page.split("<tr ").find(|row| row.contains(&format!("data-id=\"{trip}:")));
    rows.unwrap_or_else(|| panic!("no {trip} in {page}"))
}

#[tokio::test]
async fn a_board_shows_deviations_from_the_timetable() {
    let town = town().await;
    let page = town.page("/stops/town/S").await;
    let late = row(&page, "a1");
    assert!(late.contains("data-source=\"town-trips\"") && !late.contains("class=\"source\""));
    let moved = row(&page, "b1");
    assert!(moved.contains("<s class=\"platform-was\">1</s>"), "{moved}");
    assert!(moved.contains("platform-sign is-changed\">2</span>"), "{moved}");
    assert!(!row(&page, "a1").contains("platform-was"));
    let cancelled = row(&page, "a2");
    assert!(cancelled.contains("is-cancelled") && cancelled.contains("Cancelled"), "{cancelled}");
    assert!(
        page.contains("href=\"/delays/town?stop=S\"") && page.contains("href=\"/routes/town/A\"")
    );
}

#[tokio::test]
async fn alerts_are_shown_in_the_preferred_language_of_the_reader() {
    let town = town().await;
    let fetch = async |accept: &str, path: &str| {
        let reply = get_with(&town.url(path), &[("accept-language", accept)]).await;
        assert_eq!(header(&reply, "vary"), "Accept-Encoding, Accept-Language");
        reply.text().await.unwrap()
    };
    for path in ["/stops/town/S", "/routes/town/A"] {
        assert!(
            fetch("fr-CA, en;q=0.5", path).await.contains("<h2 lang=\"fr\">Travaux &lt;i&gt;</h2>")
        );
        assert!(fetch("de", path).await.contains("<h2 lang=\"de-CH\">Bauarbeiten</h2>"));
        assert!(fetch("ja", path).await.contains("<h2 lang=\"en\">Works</h2>"));
        assert!(fetch("ja", &format!("{path}?lang=fr")).await.contains("Travaux"));
    }
}

#[tokio::test]
async fn alerts_of_an_agency_or_mode_are_shown_at_stops_of_its_lines() {
    let about = |agency: Option<&str>, route_type: Option<i32>, text: &str| {
        let mut entity = alert(None, None, &[("en", text)]);
        text.clone_into(&mut entity.id);
        let alert = entity.alert.as_mut().unwrap();
        alert.informed_entity[0].agency_id = agency.map(str::to_owned);
        alert.informed_entity[0].route_type = route_type;
        entity
    };
    let town = Town::start_town(["", ""], |lines| {
        let entities = vec![
            lines.behind("a1", 240),
            about(None, Some(2), "All trains"),
            about(Some("x"), None, "All of the agency"),
            about(Some("x"), Some(2), "Its trains"),
            about(None, Some(3), "All buses"),
            about(Some("y"), None, "Another agency"),
            about(Some("x"), Some(3), "Its buses"),
        ];
        message(now(), entities)
    })
    .await;
    for path in ["/stops/town/S", "/routes/town/A"] {
        wait_until("the alerts are on the board", async || {
            let reply = get(&town.url(path)).await;
            reply.status() == 200 && reply.text().await.unwrap().contains("All trains")
        })
        .await;
        let page = town.page(path).await;
        assert!(page.contains("All of the agency") && page.contains("Its trains"), "{page}");
        for other in ["All buses", "Another agency", "Its buses"] {
            assert!(!page.contains(other), "{path} tells {other}");
        }
    }
}

#[tokio::test]
async fn a_rare_line_is_shown_despite_many_earlier_departures() {
    let folder = tempfile::tempdir().unwrap();
    let schedule = folder.path().join("town");
    let lines = Lines::write(&schedule);
    let mut trips = "route_id,service_id,trip_id,trip_headsign\nB,D,rare,Rarely\n".to_owned();
    let mut times = "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n".to_owned();
    let mut call = |trip: &str, minutes: i64| {
        for (call, stop) in (0..).zip(["s1", "s3"]) {
            let at = lines.second_of_day(now()) + (minutes + call) * 60;
            let at = format!("{:02}:{:02}:00", at / 3600, at / 60 % 60);
            times += &format!("{trip},{at},{at},{stop},{}\n", call + 1);
        }
    };
    call("rare", 90);
    for number in 0..50 {
        trips += &format!("A,D,a{number},Often\n");
        call(&format!("a{number}"), number + 5);
    }
    std::fs::write(schedule.join("trips.txt"), trips).unwrap();
    std::fs::write(schedule.join("stop_times.txt"), times).unwrap();
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n[[feed]]\nid = \"town\"\nurl = {:?}\n",
        schedule.to_str().unwrap(),
    );
    let server = ServerProcess::serving(folder.path(), text);
    let url = format!("{}/stops/town/s1", server.url);
    wait_for_status(&url, 200).await;
    let all = get(&url).await.text().await.unwrap();
    assert!(all.contains("Often") && !all.contains("Rarely"), "{all}");
    let rare = get(&format!("{url}?lines=B")).await.text().await.unwrap();
    assert!(rare.contains("Rarely") && !rare.contains("Often"), "{rare}");
}

#[tokio::test]
async fn a_board_shows_the_requested_lines_and_number_of_departures() {
    let town = town().await;
    let rows = |page: &str| {
        page.matches("<tr class=").count() + page.matches("<tr role=\"row\" data").count()
    };
    let all = town.page("/stops/town/S").await;
    let only = town.page("/stops/town/S?lines=B,none").await;
    assert!(rows(&only) > 0 && rows(&only) < rows(&all), "{only}");
    assert!(all.contains("Harbour A") && !only.contains("Harbour A"));
    assert_eq!(rows(&town.page("/stops/town/S?limit=1").await), 1);
    let framed = get(&town.url("/stops/town/S?embed=1")).await;
    let policy = header(&framed, "content-security-policy");
    assert!(policy.contains("frame-ancestors *"), "{policy}");
    let framed = framed.text().await.unwrap();
    assert!(!framed.contains("class=\"masthead\"") && framed.contains("4 min late"));
}

#[tokio::test]
async fn stale_times_are_marked() {
    let town = town().await;
    assert!(!row(&town.page("/stops/town/S").await, "a1").contains("is-stale"));
    // Times that are twice as old are left out.
    let old = message(now() - 600, vec![town.lines.behind("a1", 240)]);
    town.producer.set(good(&old));
    let url = town.url("/stops/town/S");
    wait_until("the time is marked", async || {
        let page = get(&url).await.text().await.unwrap();
        row(&page, "a1").contains("is-stale")
    })
    .await;
}

#[tokio::test]
async fn a_vehicle_without_a_direction_is_shown_in_that_of_its_trip() {
    let town = Town::start_town(["", ""], |lines| {
        message(now(), vec![lines.vehicle("b0", "There"), lines.vehicle("b1", "Back")])
    })
    .await;
    let url = town.url("/routes/town/B");
    wait_until("both are there", async || {
        let reply = get(&url).await;
        reply.status() == 200
            && reply.text().await.unwrap().matches("class=\"vehicle\"").count() == 2
    })
    .await;
    let page = town.page("/routes/town/B").await;
    for (direction, label) in [("0", "There"), ("1", "Back")] {
        let (_, section) = page.split_once(&format!("data-direction=\"{direction}\"")).unwrap();
        let (section, _) = section.split_once("</section>").unwrap();
        assert!(section.contains(label), "{section}");
        assert_eq!(section.matches("class=\"vehicle\"").count(), 1, "{section}");
    }
}

#[tokio::test]
async fn a_line_page_shows_vehicles_between_its_ordered_stops() {
    let town = town().await;
    let page = town.page("/routes/town/A").await;
    let positions: Vec<usize> =
        ["s1", "s2", "s3"].map(|stop| page.find(&format!("data-stop=\"{stop}\"")).unwrap()).into();
    assert!(positions.is_sorted(), "{page}");
    let at_station = &page[positions[1]..positions[2]];
    assert!(at_station.contains("Car &lt;b&gt;12&lt;/b&gt;"), "{page}");
    assert!(at_station.contains("href=\"/stops/town/s2\""));
    assert!(!town.page("/routes/town/B").await.contains("class=\"vehicle\""));
    for path in ["/routes/town/none", "/routes/none/A"] {
        assert_eq!(get(&town.url(path)).await.status(), 404, "{path}");
    }
}

#[tokio::test]
async fn a_line_with_branches_shows_the_usual_route_and_mentions_others() {
    let folder = tempfile::tempdir().unwrap();
    let schedule = folder.path().join("town");
    Lines::write(&schedule);
    let mut stops =
        "stop_id,stop_name,stop_lat,stop_lon\nback1,Market,59.9,10.7\nback2,Mill,59.91,10.7\n"
            .to_owned();
    let mut trips = "route_id,service_id,trip_id,direction_id\n".to_owned();
    let mut times = "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n".to_owned();
    let mut trip = |id: &str, direction: u8, calls: &[String]| {
        trips += &format!("A,D,{id},{direction}\n");
        for (call, stop) in calls.iter().enumerate() {
            times += &format!("{id},{:02}:00:00,{:02}:00:00,{stop},{call}\n", call + 6, call + 6);
        }
    };
    for branch in 0..9 {
        let calls: Vec<String> = (0..3).map(|at| format!("b{branch}-{at}")).collect();
        for stop in &calls {
            stops += &format!("{stop},Village {stop},59.9,10.7\n");
        }
        trip(&format!("rare{branch}"), 0, &calls);
    }
    for number in 0..20 {
        trip(&format!("usual{number}"), 1, &["back1", "back2"].map(str::to_owned));
    }
    for (name, rows) in [("stops.txt", stops), ("trips.txt", trips), ("stop_times.txt", times)] {
        std::fs::write(schedule.join(name), rows).unwrap();
    }
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n[[feed]]\nid = \"town\"\nurl = {:?}\n",
        schedule.to_str().unwrap(),
    );
    let server = ServerProcess::serving(folder.path(), text);
    let url = format!("{}/routes/town/A", server.url);
    wait_for_status(&url, 200).await;
    let page = get(&url).await.text().await.unwrap();
    assert!(
        page.contains("data-direction=\"1\"") && page.contains("data-stop=\"back1\""),
        "{page}"
    );
    assert_eq!(page.matches("data-direction=\"0\"").count(), 8, "{page}");
    assert!(page.contains("1 trip of the timetable takes a different one."), "{page}");
}

#[tokio::test]
async fn a_trip_without_a_vehicle_is_shown_at_its_estimated_place() {
    let build_message = |lines: Lines| {
        message(now(), vec![lines.behind("a0", 60), lines.behind("a1", 0), lines.cancelled("b0")])
    };
    let town = Town::start_town(["", ""], build_message).await;
    let url = town.url("/routes/town/A");
    let page = async || get(&url).await.text().await.unwrap();
    wait_until("a trip is reckoned", async || page().await.contains("class=\"vehicle reckoned\""))
        .await;
    let shown = page().await;
    // The next trip has not begun.
    assert_eq!(shown.matches("class=\"vehicle reckoned\"").count(), 1, "{shown}");
    let [before, after] =
        ["s1", "s3"].map(|stop| shown.find(&format!("data-stop=\"{stop}\"")).unwrap());
    let at_station = &shown[before..after];
    assert!(at_station.contains("data-id=\"a0:") && at_station.contains("1 min late"), "{shown}");
    assert!(!shown.contains("data-reckoned=\"note\" hidden"));
    let other = town.page("/routes/town/B").await;
    assert!(!other.contains("vehicle reckoned") && other.contains("data-reckoned=\"note\" hidden"));
    // The position of its vehicle takes precedence.
    let entities = vec![town.lines.behind("a0", 60), town.lines.vehicle("a0", "Car 12")];
    town.producer.set(good(&message(now(), entities)));
    wait_until("the vehicle is shown instead", async || {
        let page = page().await;
        page.contains("Car 12") && !page.contains("vehicle reckoned")
    })
    .await;
    // Outdated times are ignored.
    let without_realtime = vec![town.lines.behind("a0", 60)];
    town.producer.set(good(&message(now(), without_realtime)));
    wait_until("it is reckoned again", async || page().await.contains("vehicle reckoned")).await;
    let old = vec![town.lines.behind("a0", 60)];
    town.producer.set(good(&message(now() - 3_600, old)));
    wait_until("it is not any more", async || !page().await.contains("vehicle reckoned")).await;
}
