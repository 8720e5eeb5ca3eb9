//! Tests of deliveries and the data from them.

use super::*;

#[tokio::test]
async fn deliveries_need_no_polls_and_the_subscription_ends_with_the_server() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let (ingest, key) = subscribed(&upstream, &clock()).await;
    let request = upstream.requests().remove(0);
    assert!(
        request.contains("<EstimatedTimetableSubscriptionRequest>")
            && request
                .contains("<SubscriptionIdentifier>lineside-siri-et</SubscriptionIdentifier>")
            && request.contains("<HeartbeatInterval>"),
        "{request}"
    );
    let feed = ingest.find_feed("siri").unwrap();
    let inbox = feed.inbox().unwrap();
    assert_eq!(inbox.queue_delivery_with_key("forged", "".into()), Err(DeliveryError::WrongKey));
    inbox.queue_delivery_with_key(&key, timetables(&journey("A", ""), false).into()).unwrap();
    wait_until("the first delivery is applied", async || trips(&ingest) == ["A"]).await;
    inbox.queue_delivery_with_key(&key, timetables(&journey("B", ""), false).into()).unwrap();
    wait_until("the second delivery is merged", async || trips(&ingest) == ["A", "B"]).await;
    assert_eq!(upstream.requests().len(), 1, "no request is sent");
    // Deliveries count as polls, also in the archive.
    let all = PollQuery { from: UnixMillis(0), only_failed: false, offset: 0, limit: 100 };
    let polls = || ingest.poll_archive().list_polls(feed.id(), all).unwrap();
    wait_until("the archive has both deliveries", async || polls().len() == 3).await;
    let outcomes: Vec<_> = polls().iter().map(|it| (it.outcome.to_string(), it.serving)).collect();
    assert_eq!(
        outcomes[2],
        ("subscribed".to_owned(), ServedContentFreshness::Nothing),
        "polls are listed newest first"
    );
    assert_eq!(outcomes[0], ("brought".to_owned(), ServedContentFreshness::Fresh));
    ingest.stop_polling().await;
    let termination_request = upstream.requests().pop().unwrap();
    assert!(
        termination_request.contains("<TerminateSubscriptionRequest>")
            && termination_request.contains("<SubscriptionRef>lineside-siri-et</SubscriptionRef>"),
        "{termination_request}"
    );
}

#[tokio::test]
async fn an_unreadable_delivery_keeps_the_data_and_requests_all_again() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let (ingest, key) = subscribed(&upstream, &clock).await;
    let feed = ingest.find_feed("siri").unwrap();
    let inbox = feed.inbox().unwrap();
    let several = ["A", "X", "Y", "Z"].map(|id| journey(id, "")).concat();
    inbox.queue_delivery_with_key(&key, timetables(&several, false).into()).unwrap();
    wait_until("the delivery is applied", async || trips(&ingest) == ["A", "X", "Y", "Z"]).await;
    inbox.queue_delivery_with_key(&key, "<Siri><ServiceDelivery>".into()).unwrap();
    wait_until_failed(&feed, FailureCode::Truncated).await;
    inbox.queue_delivery_with_key(&key, timetables(&journey("B", ""), false).into()).unwrap();
    wait_until("the earlier trips stay", async || trips(&ingest) == ["A", "B", "X", "Y", "Z"])
        .await;
    // The delay is that after a failed poll, not the hours until the renewal.
    let next = || {
        let status = feed.status();
        status.next_poll.map(|at| at.unix_seconds() - jiff::Timestamp::now().as_second())
    };
    wait_until("the next request is due soon", async || next().is_some_and(|seconds| seconds < 60))
        .await;
    ingest.poll_now("siri").await.unwrap();
    wait_until("the feed subscribes again", has_agreed(&feed, 2)).await;
    // A producer that considers it the same subscription continues with changes.
    let (c, d) = (journey("C", ""), journey("D", ""));
    inbox.queue_delivery_with_key(&key, timetables(&c, false).into()).unwrap();
    wait_until("the change is applied", async || trips(&ingest).len() == 6).await;
    clock.advance_time(Duration::from_secs(61));
    // Each delivery triggers a check for expired entities.
    inbox.queue_delivery_with_key(&key, timetables(&d, false).into()).unwrap();
    inbox.queue_delivery_with_key(&key, timetables(&journey("E", ""), false).into()).unwrap();
    wait_until("no trip is removed", async || trips(&ingest).concat() == "ABCDEXYZ").await;
    ingest.stop_polling().await;
}

#[tokio::test]
async fn the_first_deliveries_are_reported_as_partial() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let (ingest, key) = subscribed(&upstream, &clock).await;
    let feed = ingest.find_feed("siri").unwrap();
    let inbox = feed.inbox().unwrap();
    for (name, known) in [("A", "A"), ("B", "AB")] {
        inbox.queue_delivery_with_key(&key, timetables(&journey(name, ""), false).into()).unwrap();
        wait_until("the delivery is applied", async || trips(&ingest).concat() == known).await;
        wait_until("the data are marked as partial", async || feed.status().is_beginning).await;
    }
    clock.advance_time(Duration::from_secs(59));
    assert!(feed.status().is_beginning);
    clock.advance_time(Duration::from_secs(2));
    wait_until("the data are complete", async || !feed.status().is_beginning).await;
    wait_until("the feed is ok", async || feed.status().state == FeedState::Ok).await;
    inbox.queue_delivery_with_key(&key, timetables(&journey("C", ""), false).into()).unwrap();
    wait_until("the next delivery is merged", async || trips(&ingest).concat() == "ABC").await;
    assert!(!feed.status().is_beginning);
    ingest.stop_polling().await;
}

#[tokio::test]
async fn earlier_data_stay_until_a_new_subscription_is_complete() {
    let first = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let second = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let (ingest, key) = subscribed(&first, &clock).await;
    let inbox = ingest.find_feed("siri").unwrap().inbox().unwrap();
    let both = journey("A", "") + &journey("B", "");
    inbox.queue_delivery_with_key(&key, timetables(&both, false).into()).unwrap();
    wait_until("the delivery is applied", async || trips(&ingest).concat() == "AB").await;
    // The new subscription sees from the status that there were data before.
    let feed = ingest.find_feed("siri").unwrap();
    wait_until("the status counts both", async || feed.status().entities == 2).await;
    let moved_subscription = subscriber(&second.url("/siri"), vec![SiriService::Timetables]);
    ingest.apply_feed_configs(vec![moved_subscription]).await.unwrap();
    let feed = ingest.find_feed("siri").unwrap();
    wait_until("the second producer accepts the subscription", has_agreed(&feed, 2)).await;
    let (inbox, key) = (feed.inbox().unwrap(), last_sent_key(&second));
    let before = feed.status().bytes;
    inbox.queue_delivery_with_key(&key, timetables(&journey("B", ""), false).into()).unwrap();
    inbox
        .queue_delivery_with_key(
            &key,
            xml("<HeartbeatNotification><Status>true</Status></HeartbeatNotification>").into(),
        )
        .unwrap();
    wait_until("a part has arrived", async || {
        feed.status().bytes > before && feed.status().is_beginning
    })
    .await;
    inbox.queue_delivery_with_key(&key, timetables(&journey("C", ""), false).into()).unwrap();
    let has_c =
        async || feed.snapshot().is_some_and(|it| it.bytes.windows(3).any(|it| it == b">C<"));
    wait_until("another part has arrived", has_c).await;
    assert_eq!(trips(&ingest).concat(), "AB", "partial data are not published");
    clock.advance_time(Duration::from_secs(61));
    wait_until("the full data are published", async || trips(&ingest).concat() == "BC").await;
    ingest.stop_polling().await;
}

#[tokio::test]
async fn a_heartbeat_confirms_the_data() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let (ingest, key) = subscribed(&upstream, &clock).await;
    let inbox = ingest.find_feed("siri").unwrap().inbox().unwrap();
    inbox.queue_delivery_with_key(&key, timetables(&journey("A", ""), false).into()).unwrap();
    wait_until("the delivery is applied", async || trips(&ingest) == ["A"]).await;
    let made_at = || {
        let state = ingest.find_feed("siri").unwrap().network().state();
        let export =
            exports::get_gtfs_rt_export(&state, "siri", ExportedEntityKinds::TripUpdates).unwrap();
        let decoded =
            lineside_formats::gtfs_rt::decode_feed_message(export.bytes, &Default::default());
        decoded.unwrap().0.header.timestamp.unwrap()
    };
    let before = made_at();
    clock.advance_time(Duration::from_secs(100));
    let beat = "<HeartbeatNotification><Status>true</Status></HeartbeatNotification>";
    inbox.queue_delivery_with_key(&key, xml(beat).into()).unwrap();
    wait_until("the data are as fresh as the heartbeat", async || made_at() >= before + 99).await;
    assert_eq!(trips(&ingest), ["A"]);
    ingest.stop_polling().await;
}

#[tokio::test]
async fn accepted_parts_are_delivered_if_a_part_is_refused() {
    let answer = AGREED.replace(
        "</SubscriptionResponse>",
        "<ResponseStatus><SubscriptionRef>lineside-siri-vm</SubscriptionRef><Status>false</Status>\
         </ResponseStatus></SubscriptionResponse>",
    );
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(&answer)))).await;
    let (ingest, key) = subscribed(&upstream, &clock()).await;
    let feed = ingest.find_feed("siri").unwrap();
    feed.inbox()
        .unwrap()
        .queue_delivery_with_key(&key, timetables(&journey("A", ""), false).into())
        .unwrap();
    wait_until("the delivery is applied", async || trips(&ingest) == ["A"]).await;
    wait_until("the feed is ok", async || feed.status().state == FeedState::Ok).await;
    let problems = feed.status().problems.clone();
    let problem =
        problems.retained_problems().iter().find(|it| it.code == "subscription_refused").unwrap();
    assert_eq!(problem.value.as_deref(), Some("lineside-siri-vm: the producer gives no reason"));
    ingest.stop_polling().await;
}

#[tokio::test]
async fn a_vehicle_delivery_does_not_undo_a_cancellation() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let services = vec![SiriService::Timetables, SiriService::Vehicles];
    let feed = subscriber(&upstream.url("/siri"), services);
    let (ingest, key) = start_subscribed(&upstream, feed, &clock()).await;
    let inbox = ingest.find_feed("siri").unwrap().inbox().unwrap();
    let cancelled = journey("A", "<Cancellation>true</Cancellation>");
    inbox.queue_delivery_with_key(&key, timetables(&cancelled, false).into()).unwrap();
    wait_until("the cancellation is known", async || trips(&ingest) == ["A"]).await;
    let (now, today) = (jiff::Timestamp::now(), today());
    let activity = format!(
        "<ServiceDelivery><ResponseTimestamp>{now}</ResponseTimestamp><VehicleMonitoringDelivery>\
         <VehicleActivity><RecordedAtTime>{now}</RecordedAtTime><MonitoredVehicleJourney>\
         <FramedVehicleJourneyRef><DataFrameRef>{today}</DataFrameRef>\
         <DatedVehicleJourneyRef>A</DatedVehicleJourneyRef></FramedVehicleJourneyRef>\
         <VehicleLocation><Longitude>5.5</Longitude><Latitude>60.25</Latitude></VehicleLocation>\
         <Delay>PT30S</Delay><VehicleRef>V</VehicleRef></MonitoredVehicleJourney>\
         </VehicleActivity></VehicleMonitoringDelivery></ServiceDelivery>"
    );
    inbox.queue_delivery_with_key(&key, xml(&activity).into()).unwrap();
    let state = || ingest.find_feed("siri").unwrap().network().state();
    wait_until("the vehicle is known", async || state().vehicles().count() == 1).await;
    let state = state();
    let update = state.trip_updates().next().unwrap().trip_update().unwrap();
    assert_eq!(update.trip.schedule_relationship(), ScheduleRelationship::Canceled);
    ingest.stop_polling().await;
}
