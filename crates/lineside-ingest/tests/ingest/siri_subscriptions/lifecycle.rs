//! Tests of a subscription's lifecycle: renewal, silence and termination.

use super::*;

#[tokio::test]
async fn a_silent_producer_is_checked_and_trusted_for_ten_minutes() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let (ingest, key) = subscribed(&upstream, &clock).await;
    let feed = ingest.find_feed("siri").unwrap();
    feed.inbox()
        .unwrap()
        .queue_delivery_with_key(&key, timetables(&journey("A", ""), false).into())
        .unwrap();
    wait_until("the delivery is applied", async || trips(&ingest) == ["A"]).await;
    upstream.set(Answer::Bytes(ok(&status_of(STARTED))));
    for checks in 1..=4 {
        wait_until("the next request is scheduled", async || next_in(&feed, &clock) == Some(130))
            .await;
        clock.advance_time(Duration::from_secs(130));
        wait_until("the status is requested", async || {
            count_requests(&upstream, "<CheckStatusRequest>") == checks
        })
        .await;
    }
    let available = async || feed.status().outcomes.iter().any(|it| *it == ("available".into(), 4));
    wait_until("the producer has answered", available).await;
    assert!(feed.status().last_error.is_none());
    assert_eq!(count_requests(&upstream, "<SubscriptionRequest>"), 1);
    wait_until("the silence limit is scheduled", async || next_in(&feed, &clock) == Some(80)).await;
    upstream.set(Answer::Bytes(ok(&xml(AGREED))));
    clock.advance_time(Duration::from_secs(80));
    wait_until("the feed subscribes again", async || {
        count_requests(&upstream, "<SubscriptionRequest>") == 2
    })
    .await;
    wait_until("the producer has accepted the subscription", has_agreed(&feed, 2)).await;
    assert_eq!(feed.status().failures, 1, "the silence counts as a failure");
    ingest.stop_polling().await;
}

#[tokio::test]
async fn a_restarted_or_failing_producer_is_subscribed_to_again() {
    let unwell = xml("<CheckStatusResponse><Status>false</Status></CheckStatusResponse>");
    for answer in [status_of("2026-11-21T09:00:00Z"), unwell] {
        let agreed = AGREED
            .replace("</Sub", &format!("<ServiceStartedTime>{STARTED}</ServiceStartedTime></Sub"));
        let upstream = Upstream::start(Answer::Bytes(ok(&xml(&agreed)))).await;
        let clock = clock();
        let (ingest, _) = subscribed(&upstream, &clock).await;
        let feed = ingest.find_feed("siri").unwrap();
        wait_until("the next request is scheduled", async || next_in(&feed, &clock) == Some(130))
            .await;
        upstream.set(Answer::InTurn(vec![ok(&answer), ok(&xml(&agreed))]));
        clock.advance_time(Duration::from_secs(130));
        wait_until("the feed subscribes again", async || {
            clock.advance_time(Duration::from_millis(50));
            count_requests(&upstream, "<SubscriptionRequest>") == 2
        })
        .await;
        assert_eq!(count_requests(&upstream, "<CheckStatusRequest>"), 1);
        assert_eq!(feed.status().failures, 0);
        ingest.stop_polling().await;
    }
}

#[tokio::test]
async fn check_status_is_not_repeated_if_unsupported() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let (ingest, _) = subscribed(&upstream, &clock).await;
    let feed = ingest.find_feed("siri").unwrap();
    wait_until("the next request is scheduled", async || next_in(&feed, &clock) == Some(130)).await;
    upstream.set(Answer::Bytes(http("404 Not Found", &[], b"no")));
    clock.advance_time(Duration::from_secs(130));
    let not_available =
        async || feed.status().outcomes.iter().any(|it| *it == ("not_available".into(), 1));
    wait_until("the producer does not support CheckStatus", not_available).await;
    assert_eq!(feed.status().failures, 0);
    wait_until("the silence limit is scheduled", async || next_in(&feed, &clock) == Some(60)).await;
    upstream.set(Answer::Bytes(ok(&xml(AGREED))));
    clock.advance_time(Duration::from_secs(60));
    wait_until("the feed subscribes again", has_agreed(&feed, 2)).await;
    wait_until("the next silence limit is scheduled", async || next_in(&feed, &clock) == Some(190))
        .await;
    ingest.stop_polling().await;
}

#[tokio::test]
async fn a_terminated_subscription_is_renewed_with_all_data() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let (ingest, key) = subscribed(&upstream, &clock).await;
    let feed = ingest.find_feed("siri").unwrap();
    let inbox = feed.inbox().unwrap();
    inbox.queue_delivery_with_key(&key, timetables(&journey("A", ""), false).into()).unwrap();
    wait_until("the delivery is applied", async || trips(&ingest) == ["A"]).await;
    let terminated_xml =
        "<SubscriptionTerminatedNotification></SubscriptionTerminatedNotification>";
    inbox.queue_delivery_with_key(&key, xml(terminated_xml).into()).unwrap();
    wait_until("the next subscription is scheduled", async || next_in(&feed, &clock) == Some(15))
        .await;
    clock.advance_time(Duration::from_secs(15));
    wait_until("the feed subscribes again", has_agreed(&feed, 2)).await;
    // The producer sends all data in parts without marking the last one.
    inbox.queue_delivery_with_key(&key, timetables(&journey("B", ""), false).into()).unwrap();
    wait_until("the first part is applied", async || trips(&ingest) == ["A", "B"]).await;
    inbox.queue_delivery_with_key(&key, timetables(&journey("C", ""), false).into()).unwrap();
    wait_until("the second part is applied", async || trips(&ingest) == ["A", "B", "C"]).await;
    clock.advance_time(Duration::from_secs(61));
    wait_until("trips that were not repeated are removed", async || trips(&ingest) == ["B", "C"])
        .await;
    ingest.stop_polling().await;
}

#[tokio::test]
async fn the_end_of_one_service_is_noticed_at_any_time() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let services = vec![SiriService::Timetables, SiriService::Vehicles, SiriService::Situations];
    let feed = subscriber(&upstream.url("/siri"), services);
    let (ingest, key) = start_subscribed(&upstream, feed, &clock).await;
    let feed = ingest.find_feed("siri").unwrap();
    let inbox = feed.inbox().unwrap();
    let terminated_xml = |service: &str| {
        let name = format!("<SubscriptionRef>lineside-siri-{service}</SubscriptionRef>");
        let inside = format!("<ProducerRef>P</ProducerRef>{name}");
        let inside = format!("<SubscriptionTerminatedNotification>{inside}");
        xml(&format!("{inside}</SubscriptionTerminatedNotification>"))
    };
    let ends = [("et", 2), ("vm", 13), ("sx", 21), ("et", 40), ("vm", 62), ("sx", 92), ("et", 129)];
    for (agreements, (service, after)) in (1..).zip(ends) {
        wait_until("the producer has accepted the subscription", has_agreed(&feed, agreements))
            .await;
        wait_until("the next check is scheduled", async || next_in(&feed, &clock) == Some(130))
            .await;
        clock.advance_time(Duration::from_secs(after));
        // A producer that delivers is soon polled again.
        inbox.queue_delivery_with_key(&key, timetables(&journey("A", ""), false).into()).unwrap();
        wait_until("the delivery is applied", async || next_in(&feed, &clock) == Some(130)).await;
        inbox.queue_delivery_with_key(&key, terminated_xml(service).into()).unwrap();
        if after < 15 {
            wait_until("the next request is scheduled", async || {
                next_in(&feed, &clock) == Some(15 - after)
            })
            .await;
            clock.advance_time(Duration::from_secs(15 - after));
        }
    }
    wait_until("the producer has accepted the subscription", has_agreed(&feed, 8)).await;
    assert_eq!((upstream.requests().len(), feed.status().failures), (8, 0));
    ingest.stop_polling().await;
}

#[tokio::test]
async fn an_accepting_but_failing_producer_is_retried_with_backoff() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let (ingest, key) = subscribed(&upstream, &clock).await;
    let feed = ingest.find_feed("siri").unwrap();
    let inbox = feed.inbox().unwrap();
    let unwell = "<HeartbeatNotification><Status>false</Status></HeartbeatNotification>";
    for (agreements, wait) in [(1, 15), (2, 30), (3, 60)] {
        wait_until("the producer has accepted the subscription", has_agreed(&feed, agreements))
            .await;
        wait_until("the next check is scheduled", async || next_in(&feed, &clock) > Some(100))
            .await;
        // The producer repeats the notification.
        inbox.queue_delivery_with_key(&key, xml(unwell).into()).unwrap();
        inbox.queue_delivery_with_key(&key, xml(unwell).into()).unwrap();
        wait_until("the next subscription is delayed", async || {
            next_in(&feed, &clock) == Some(wait)
        })
        .await;
        clock.advance_time(Duration::from_secs(wait));
    }
    wait_until("the producer has accepted the subscription", has_agreed(&feed, 4)).await;
    inbox.queue_delivery_with_key(&key, timetables(&journey("A", ""), false).into()).unwrap();
    inbox.queue_delivery_with_key(&key, xml(unwell).into()).unwrap();
    wait_until("a delivery resets the delay", async || next_in(&feed, &clock) == Some(15)).await;
    assert_eq!((trips(&ingest), upstream.requests().len()), (vec!["A".to_owned()], 4));
    ingest.stop_polling().await;
}

#[tokio::test]
async fn messages_from_the_producer_postpone_the_check() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let (ingest, key) = subscribed(&upstream, &clock).await;
    let feed = ingest.find_feed("siri").unwrap();
    wait_until("the next check is scheduled", async || next_in(&feed, &clock) == Some(130)).await;
    let beat = "<HeartbeatNotification><Status>true</Status></HeartbeatNotification>";
    for notification in [timetables(&journey("A", ""), false), xml(beat)] {
        clock.advance_time(Duration::from_secs(100));
        feed.inbox().unwrap().queue_delivery_with_key(&key, notification.into()).unwrap();
        wait_until("the message postpones the check", async || next_in(&feed, &clock) == Some(130))
            .await;
    }
    assert_eq!(upstream.requests().len(), 1);
    ingest.stop_polling().await;
}

#[tokio::test]
async fn the_end_of_another_subscription_changes_nothing() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let (ingest, key) = subscribed(&upstream, &clock).await;
    let feed = ingest.find_feed("siri").unwrap();
    wait_until("the producer has accepted the subscription", has_agreed(&feed, 1)).await;
    let inbox = feed.inbox().unwrap();
    let terminated_xml = "<SubscriptionTerminatedNotification><SubscriptionRef>lineside-other-et\
                </SubscriptionRef></SubscriptionTerminatedNotification>";
    inbox.queue_delivery_with_key(&key, xml(terminated_xml).into()).unwrap();
    inbox.queue_delivery_with_key(&key, timetables(&journey("A", ""), false).into()).unwrap();
    wait_until("the next delivery is applied", async || trips(&ingest) == ["A"]).await;
    wait_until("the subscription continues", async || next_in(&feed, &clock) > Some(100)).await;
    ingest.stop_polling().await;
}

#[tokio::test]
async fn a_silent_subscription_fails_and_is_requested_again() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let (ingest, key) = subscribed(&upstream, &clock).await;
    let feed = ingest.find_feed("siri").unwrap();
    wait_until("the feed has subscribed", has_agreed(&feed, 1)).await;
    assert_eq!(feed.status().state, FeedState::Unknown, "no data have arrived");
    clock.advance_time(Duration::from_secs(191));
    wait_until_failed(&feed, FailureCode::Timeout).await;
    wait_until("the feed subscribes again", has_agreed(&feed, 2)).await;
    let error = feed.status().last_error.clone().unwrap();
    assert_eq!(error.detail, "no message of the subscription arrived in time");
    let inbox = feed.inbox().unwrap();
    inbox.queue_delivery_with_key(&key, timetables(&journey("A", ""), false).into()).unwrap();
    wait_until("the feed is ok", async || feed.status().state == FeedState::Ok).await;
    ingest.stop_polling().await;
}

#[tokio::test]
async fn a_failed_renewal_is_retried_after_a_delay() {
    let until_when = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(240);
    let answer = AGREED.replace(
        "<Status>true</Status>",
        &format!("<Status>true</Status><ValidUntil>{until_when}</ValidUntil>"),
    );
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(&answer)))).await;
    let clock = clock();
    let (ingest, key) = subscribed(&upstream, &clock).await;
    let feed = ingest.find_feed("siri").unwrap();
    wait_until("the feed has subscribed", has_agreed(&feed, 1)).await;
    feed.inbox()
        .unwrap()
        .queue_delivery_with_key(&key, timetables(&journey("A", ""), false).into())
        .unwrap();
    wait_until("the delivery is applied", async || trips(&ingest) == ["A"]).await;
    upstream.set(Answer::HangUp);
    // Half of its time is over, and there was a sign of life since.
    clock.advance_time(Duration::from_secs(125));
    wait_until("the feed subscribes again", async || feed.status().failures > 0).await;
    let left = || feed.status().next_poll.map(|at| at.duration_since(clock.wall_time()));
    wait_until("the retry is delayed", async || left().is_some_and(|left| left.as_secs() >= 5))
        .await;
    assert_eq!((upstream.requests().len(), trips(&ingest)), (2, vec!["A".to_owned()]));
    ingest.stop_polling().await;
}
