//! Tests of data that producers announce and are then asked for.

use super::*;

#[tokio::test]
async fn announced_data_are_fetched_page_by_page() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let (ingest, key) = subscribed(&upstream, &clock).await;
    let feed = ingest.find_feed("siri").unwrap();
    let inbox = feed.inbox().unwrap();
    upstream.set(Answer::InTurn(vec![
        ok(&timetables(&journey("A", ""), true)),
        ok(&timetables(&journey("B", ""), false)),
    ]));
    inbox.queue_delivery_with_key(&key, ready()).unwrap();
    wait_until("both pages are known", async || {
        clock.advance_time(Duration::from_millis(100));
        trips(&ingest) == ["A", "B"]
    })
    .await;
    assert_eq!(fetched(&upstream), 2);
    let request = upstream.requests().pop().unwrap();
    assert!(request.contains("<ConsumerRef>hunter2</ConsumerRef>"), "{request}");
    // A direct delivery is merged.
    inbox.queue_delivery_with_key(&key, timetables(&journey("C", ""), false).into()).unwrap();
    wait_until("the direct delivery is merged", async || trips(&ingest) == ["A", "B", "C"]).await;
    ingest.stop_polling().await;
}

#[tokio::test]
async fn repeated_announcements_cause_one_fetch() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    // The rate is one request per minute, and the subscription has used the first.
    let feed = FeedConfig {
        rate: RequestRate::parse("1/min").ok(),
        ..subscriber(&upstream.url("/siri"), vec![SiriService::Timetables])
    };
    let (ingest, key) = start_subscribed(&upstream, feed, &clock).await;
    let feed = ingest.find_feed("siri").unwrap();
    let inbox = feed.inbox().unwrap();
    upstream.set(Answer::Bytes(ok(&timetables(&journey("A", ""), false))));
    for _ in 0..10 {
        inbox.queue_delivery_with_key(&key, ready()).unwrap();
    }
    assert_eq!(fetched(&upstream), 0, "the rate limit delays the fetch");
    wait_until("the announced data are fetched", async || {
        clock.advance_time(Duration::from_secs(1));
        trips(&ingest) == ["A"]
    })
    .await;
    // Waiting deliveries are read before the next ones.
    inbox.queue_delivery_with_key(&key, timetables(&journey("B", ""), false).into()).unwrap();
    wait_until("the first delivery is merged", async || trips(&ingest) == ["A", "B"]).await;
    clock.advance_time(Duration::from_secs(70));
    inbox.queue_delivery_with_key(&key, timetables(&journey("C", ""), false).into()).unwrap();
    wait_until("the second delivery is merged", async || trips(&ingest) == ["A", "B", "C"]).await;
    assert_eq!(fetched(&upstream), 1);
    ingest.stop_polling().await;
}

#[tokio::test]
async fn a_failed_fetch_of_announced_data_subscribes_again() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let (ingest, key) = subscribed(&upstream, &clock).await;
    let feed = ingest.find_feed("siri").unwrap();
    upstream.set(Answer::InTurn(vec![
        http("500 Internal Server Error", &[], b"broken"),
        ok(&xml(AGREED)),
    ]));
    feed.inbox().unwrap().queue_delivery_with_key(&key, ready()).unwrap();
    let subscriptions = || {
        let requests = upstream.requests();
        requests.iter().filter(|request| request.contains("<SubscriptionRequest>")).count()
    };
    wait_until("the feed subscribes again", async || {
        clock.advance_time(Duration::from_secs(1));
        subscriptions() == 2
    })
    .await;
    assert_eq!(fetched(&upstream), 1);
    ingest.stop_polling().await;
}
