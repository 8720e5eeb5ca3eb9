//! The options of a subscription: everything or changes only, the minimum change of a time, and the rate.

use lineside_formats::siri::VehicleJourney;

use super::*;

/// Returns a subscription request with additional elements.
fn wish_with(service: &str, id: &str, policy: &str) -> String {
    let end = format!("</{service}SubscriptionRequest>");
    wish(service, id, &in_minutes(10).to_string()).replace(&end, &format!("{policy}{end}"))
}

/// Returns the journeys of each delivery to a subscription: their trips, and the delay of the first departure.
fn told(consumer: &Consumer, subscription: &str) -> Vec<Vec<(String, i64)>> {
    let of = |journey: &VehicleJourney| {
        let call = journey.estimated_calls.first().unwrap();
        let expected = call.expected_departure_time.unwrap().as_seconds();
        let late = expected - call.aimed_departure_time.unwrap().as_seconds();
        (journey.journey_ref().unwrap().to_string(), late)
    };
    let all = consumer.deliveries().into_iter().flat_map(|it| it.estimated_timetables);
    all.filter(|it| it.head.subscription_ref.as_deref() == Some(subscription))
        .map(|it| it.journeys().map(of).collect())
        .collect()
}

fn set(producer: &Producer, lines: Lines, trips: &[(&str, i32)]) {
    let trips = trips.iter().map(|(trip, late)| lines.behind(trip, *late)).collect();
    producer.set(good(&message_of(now(), trips)));
}

async fn subscribe(server: &ServerProcess, wishes: &str) -> Consumer {
    let consumer = Consumer::default();
    let address = consumer.start().await;
    let answer = statuses(post(&server.url, &subscription(&at(&address), wishes), &[]).await);
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
    let wishes = wish_with("EstimatedTimetable", "fine", "")
        + &wish_with("EstimatedTimetable", "coarse", coarse);
    let consumer = subscribe(&server, &wishes).await;
    let tells = |subscription: &str, trip: &str, late: i64| {
        told(&consumer, subscription).iter().flatten().any(|it| *it == (trip.to_owned(), late))
    };
    until("both are told all", async || {
        ["fine", "coarse"].iter().all(|it| tells(it, "a4", 0) && tells(it, "a5", 0))
    })
    .await;
    set(&producer, lines, &[("a4", 60), ("a5", 400)]);
    until("who wants every change is told it", async || tells("fine", "a4", 60)).await;
    until("who wants large ones is told that", async || tells("coarse", "a5", 400)).await;
    assert!(!tells("coarse", "a4", 60));
    // Together with the previous change it is large enough.
    set(&producer, lines, &[("a4", 121), ("a5", 400)]);
    until("small changes add up", async || tells("coarse", "a4", 121)).await;
    schema::hold("what a subscriber to large changes is sent", &consumer.named_bodies());
}

#[tokio::test]
async fn without_incremental_updates_every_change_delivers_all_data() {
    let folder = tempfile::tempdir().unwrap();
    let (server, lines, producer) = town(folder.path()).await;
    set(&producer, lines, &[("a3", 0), ("a4", 0), ("a5", 0)]);
    let whole = "<IncrementalUpdates>false</IncrementalUpdates>\
                 <ChangeBeforeUpdates>PT2M</ChangeBeforeUpdates>";
    let wishes = wish_with("EstimatedTimetable", "whole", whole);
    let consumer = subscribe(&server, &wishes).await;
    let last = || told(&consumer, "whole").pop().unwrap_or_default();
    let of = |all: &[(&str, i64)]| {
        all.iter().map(|(trip, late)| ((*trip).to_owned(), *late)).collect::<Vec<_>>()
    };
    let sorted = || {
        let mut last = last();
        last.sort();
        last
    };
    until("all is told", async || sorted() == of(&[("a3", 0), ("a4", 0), ("a5", 0)])).await;
    let before = told(&consumer, "whole").len();
    set(&producer, lines, &[("a3", 400), ("a4", 0)]);
    until("all there is is told", async || sorted() == of(&[("a3", 400), ("a4", 0)])).await;
    assert!(told(&consumer, "whole").len() <= before + 2, "and not all the time");
}

#[tokio::test]
async fn vehicles_are_delivered_at_the_requested_interval() {
    let (running, server) = server("allow_private_subscribers = true").await;
    let consumer = Consumer::default();
    let address = consumer.start().await;
    let wishes = wish_with("VehicleMonitoring", "often", "")
        + &wish_with("VehicleMonitoring", "rarely", "<UpdateInterval>PT10M</UpdateInterval>");
    post(&server, &subscription(&at(&address), &wishes), &[]).await;
    let n_of = |subscription: &str| {
        let all = consumer.deliveries().into_iter().flat_map(|it| it.vehicle_monitorings);
        all.filter(|it| it.head.subscription_ref.as_deref() == Some(subscription)).count()
    };
    until("both are told, and one of them goes on", async || {
        n_of("often") >= 3 && n_of("rarely") > 0
    })
    .await;
    assert_eq!(n_of("rarely"), 1);
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
    let of = |service: &str, id: &str, asked: &str| {
        let whole = format!("<{service}Request>{asked}</{service}Request>");
        wish(service, id, &ends).replace(&format!("<{service}Request/>"), &whole)
    };
    let line = |line: &str| format!("<LineRef>{line}</LineRef>");
    let stop = "<MonitoringRef>nowhere</MonitoringRef>";
    // No feed of this server has a schedule, so any line or stop may become known later.
    let wishes = of("VehicleMonitoring", "known", &line(&known))
        + &of("VehicleMonitoring", "line", &line("nope"))
        + &of("StopMonitoring", "stop", stop);
    let answer = statuses(post(&server, &subscription(&address, &wishes), &[]).await);
    let said: Vec<(Option<bool>, String)> = answer
        .iter()
        .map(|status| {
            let said = status.error_condition.as_ref().and_then(|it| it.text.clone());
            (status.status, said.unwrap_or_default().to_string())
        })
        .collect();
    let [(Some(true), none), (Some(true), line), (Some(true), stop)] = &said[..] else {
        panic!("{said:?}")
    };
    assert_eq!(none, "");
    assert!(line.starts_with("line \"nope\" does not exist yet"), "{line}");
    assert!(stop.starts_with("stop \"nowhere\" does not exist yet"), "{stop}");
    running.shut_down().await;
}
