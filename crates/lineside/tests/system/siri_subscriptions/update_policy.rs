//! The options of a subscription: everything or changes only, the minimum change of a time, and the rate.

use lineside_formats::siri::VehicleJourney;

use super::*;

/// Returns a subscription request with additional elements.
fn subscription_with(service: &str, id: &str, policy: &str) -> String {
    let end = format!("</{service}SubscriptionRequest>");
    subscription_xml(service, id, &in_minutes(10).to_string())
        .replace(&end, &format!("{policy}{end}"))
}

/// Returns the journeys of each delivery to a subscription: their trips, and the delay of the first departure.
fn list_delivered_times(consumer: &Consumer, subscription: &str) -> Vec<Vec<(String, i64)>> {
    let time_of = |journey: &VehicleJourney| {
        let call = journey.estimated_calls.first().unwrap();
        let expected = call.expected_departure_time.unwrap().as_seconds();
        let late = expected - call.aimed_departure_time.unwrap().as_seconds();
        (journey.journey_ref().unwrap().to_string(), late)
    };
    let all = consumer.deliveries().into_iter().flat_map(|it| it.estimated_timetables);
    all.filter(|it| it.head.subscription_ref.as_deref() == Some(subscription))
        .map(|it| it.estimated_journeys().map(time_of).collect())
        .collect()
}

fn set(producer: &Producer, lines: Lines, trips: &[(&str, i32)]) {
    let trips = trips.iter().map(|(trip, late)| lines.behind(trip, *late)).collect();
    producer.set(good(&message_of(now(), trips)));
}

async fn subscribe(server: &ServerProcess, requests_xml: &str) -> Consumer {
    let consumer = Consumer::default();
    let address = consumer.start().await;
    let answer = statuses(post(&server.url, &subscription(&at(&address), requests_xml), &[]).await);
    assert!(answer.iter().all(|it| it.status == Some(true)), "{answer:?}");
    consumer
}

#[tokio::test]
async fn time_changes_below_the_requested_threshold_are_not_delivered() {
    let folder = tempfile::tempdir().unwrap();
    let (server, lines, producer) = town(folder.path()).await;
    set(&producer, lines, &[("a4", 0), ("a5", 0)]);
    let coarse = "<IncrementalUpdates>true</IncrementalUpdates>\
                  <ChangeBeforeUpdates>PT2M</ChangeBeforeUpdates>";
    let requests_xml = subscription_with("EstimatedTimetable", "fine", "")
        + &subscription_with("EstimatedTimetable", "coarse", coarse);
    let consumer = subscribe(&server, &requests_xml).await;
    let has_delay = |subscription: &str, trip: &str, late: i64| {
        list_delivered_times(&consumer, subscription)
            .iter()
            .flatten()
            .any(|it| *it == (trip.to_owned(), late))
    };
    wait_until("both subscribers have all journeys", async || {
        ["fine", "coarse"].iter().all(|it| has_delay(it, "a4", 0) && has_delay(it, "a5", 0))
    })
    .await;
    set(&producer, lines, &[("a4", 60), ("a5", 400)]);
    wait_until("the fine subscriber gets the small change", async || has_delay("fine", "a4", 60))
        .await;
    wait_until("the coarse subscriber gets the large change", async || {
        has_delay("coarse", "a5", 400)
    })
    .await;
    assert!(!has_delay("coarse", "a4", 60));
    // Together with the previous change it is large enough.
    set(&producer, lines, &[("a4", 121), ("a5", 400)]);
    wait_until("small changes add up", async || has_delay("coarse", "a4", 121)).await;
    schema::hold("what a subscriber to large changes is sent", &consumer.named_bodies());
}

#[tokio::test]
async fn without_incremental_updates_every_change_delivers_all_data() {
    let folder = tempfile::tempdir().unwrap();
    let (server, lines, producer) = town(folder.path()).await;
    set(&producer, lines, &[("a3", 0), ("a4", 0), ("a5", 0)]);
    let whole = "<IncrementalUpdates>false</IncrementalUpdates>\
                 <ChangeBeforeUpdates>PT2M</ChangeBeforeUpdates>";
    let requests_xml = subscription_with("EstimatedTimetable", "whole", whole);
    let consumer = subscribe(&server, &requests_xml).await;
    let last = || list_delivered_times(&consumer, "whole").pop().unwrap_or_default();
    let list_times = |all: &[(&str, i64)]| {
        all.iter().map(|(trip, late)| ((*trip).to_owned(), *late)).collect::<Vec<_>>()
    };
    let sorted = || {
        let mut last = last();
        last.sort();
        last
    };
    wait_until("all times are delivered", async || {
        sorted() == list_times(&[("a3", 0), ("a4", 0), ("a5", 0)])
    })
    .await;
    let before = list_delivered_times(&consumer, "whole").len();
    set(&producer, lines, &[("a3", 400), ("a4", 0)]);
    wait_until("all current times are delivered", async || {
        sorted() == list_times(&[("a3", 400), ("a4", 0)])
    })
    .await;
    assert!(list_delivered_times(&consumer, "whole").len() <= before + 2, "and not all the time");
}

#[tokio::test]
async fn vehicles_are_delivered_at_the_requested_interval() {
    let (running, server) = server("allow_private_subscribers = true").await;
    let consumer = Consumer::default();
    let address = consumer.start().await;
    let requests_xml = subscription_with("VehicleMonitoring", "often", "")
        + &subscription_with(
            "VehicleMonitoring",
            "rarely",
            "<UpdateInterval>PT10M</UpdateInterval>",
        );
    post(&server, &subscription(&at(&address), &requests_xml), &[]).await;
    let n_updates = |subscription: &str| {
        let all = consumer.deliveries().into_iter().flat_map(|it| it.vehicle_monitorings);
        all.filter(|it| it.head.subscription_ref.as_deref() == Some(subscription)).count()
    };
    wait_until("both are delivered, and one subscription continues", async || {
        n_updates("often") >= 3 && n_updates("rarely") > 0
    })
    .await;
    assert_eq!(n_updates("rarely"), 1);
    running.shut_down().await;
}

#[tokio::test]
async fn subscribing_to_an_unknown_line_or_stop_gives_a_warning() {
    let (running, server) = server("allow_private_subscribers = true").await;
    let vehicles = get(&format!("{server}/siri/rest/vm")).await.text().await.unwrap();
    let (_, line) = vehicles.split_once("<LineRef>").unwrap();
    // Both feeds have this line.
    let known = format!("city-vehicles:{}", line.split('<').next().unwrap());
    let consumer = Consumer::default();
    let address = at(&consumer.start().await);
    let ends = in_minutes(10).to_string();
    let subscription_for = |service: &str, id: &str, query_xml: &str| {
        let whole = format!("<{service}Request>{query_xml}</{service}Request>");
        subscription_xml(service, id, &ends).replace(&format!("<{service}Request/>"), &whole)
    };
    let line = |line: &str| format!("<LineRef>{line}</LineRef>");
    let stop = "<MonitoringRef>nowhere</MonitoringRef>";
    // No feed of this server has a schedule, so any line or stop may become known later.
    let requests_xml = subscription_for("VehicleMonitoring", "known", &line(&known))
        + &subscription_for("VehicleMonitoring", "line", &line("nope"))
        + &subscription_for("StopMonitoring", "stop", stop);
    let answer = statuses(post(&server, &subscription(&address, &requests_xml), &[]).await);
    let replies: Vec<(Option<bool>, String)> = answer
        .iter()
        .map(|status| {
            let error_text = status.error_condition.as_ref().and_then(|it| it.text.clone());
            (status.status, error_text.unwrap_or_default().to_string())
        })
        .collect();
    let [(Some(true), none), (Some(true), line), (Some(true), stop)] = &replies[..] else {
        panic!("{replies:?}")
    };
    assert_eq!(none, "");
    assert!(line.starts_with("line \"nope\" does not exist yet"), "{line}");
    assert!(stop.starts_with("stop \"nowhere\" does not exist yet"), "{stop}");
    running.shut_down().await;
}
