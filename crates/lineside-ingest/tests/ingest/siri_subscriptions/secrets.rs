//! Tests of access to the inbox, and of redacted secrets.

use super::*;

#[tokio::test]
async fn data_that_a_producer_repeats_contain_no_secret() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let (ingest, key) = subscribed(&upstream, &clock()).await;
    let request = upstream.requests().remove(0);
    assert!(request.contains("<RequestorRef>hunter2</RequestorRef>"), "{request}");
    // A producer echoes the subscriber and the subscription in each delivery.
    let repeated = |name: &str| {
        let (_, rest) = request.split_once(&format!("<{name}>")).unwrap();
        rest.split_once("</").unwrap().0
    };
    let refs = format!(
        "<SubscriberRef>{}</SubscriberRef><SubscriptionRef>{}</SubscriptionRef>",
        repeated("SubscriberRef"),
        repeated("SubscriptionIdentifier")
    );
    let delivery = timetables(&journey("A", ""), false);
    let delivery = delivery
        .replace("<EstimatedTimetableDelivery>", &format!("<EstimatedTimetableDelivery>{refs}"));
    let feed = ingest.find_feed("siri").unwrap();
    feed.inbox().unwrap().queue_delivery_with_key(&key, delivery.into()).unwrap();
    wait_until("the delivery is applied", async || trips(&ingest) == ["A"]).await;
    let shown = feed.snapshot().unwrap().bytes.clone();
    let shown = String::from_utf8_lossy(&shown);
    assert!(shown.contains("<SubscriberRef>lineside-") && !shown.contains("hunter2"), "{shown}");
    assert!(!shown.contains(&key), "{shown}");
    ingest.stop_polling().await;
    let termination_request = upstream.requests().pop().unwrap();
    assert!(
        termination_request.contains(&refs.replace("Identifier", "Ref")[..40]),
        "{termination_request}"
    );
}

#[tokio::test]
async fn a_refusal_does_not_show_the_requestor() {
    let refused = "<SubscriptionResponse><ResponseStatus><Status>false</Status><ErrorCondition>\
                   <AccessNotAllowedError><ErrorText>hunter2 is not known here</ErrorText>\
                   </AccessNotAllowedError></ErrorCondition></ResponseStatus></SubscriptionResponse>";
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(refused)))).await;
    let (ingest, _) = subscribed(&upstream, &clock()).await;
    let feed = ingest.find_feed("siri").unwrap();
    wait_until_failed(&feed, FailureCode::Refused).await;
    let error = feed.status().last_error.clone().unwrap();
    let shown_text = format!("{error:?}");
    assert!(
        shown_text.contains("is not known here") && !shown_text.contains("hunter2"),
        "{shown_text}"
    );
    ingest.stop_polling().await;
}

#[tokio::test]
async fn the_inbox_key_is_redacted_after_any_request() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let (ingest, key) = subscribed(&upstream, &clock).await;
    let feed = ingest.find_feed("siri").unwrap();
    let inbox = feed.inbox().unwrap();
    upstream.set(Answer::Bytes(ok(&timetables(&journey("A", ""), false))));
    inbox.queue_delivery_with_key(&key, ready()).unwrap();
    wait_until("the announced data are fetched", async || {
        clock.advance_time(Duration::from_millis(100));
        trips(&ingest) == ["A"]
    })
    .await;
    let unreached = format!("cannot reach https://me.example/siri/inbox/siri?key={key} now");
    let refused = xml(&format!(
        "<ServiceDelivery><Status>false</Status><ErrorCondition><OtherError><ErrorText>{unreached}\
         </ErrorText></OtherError></ErrorCondition></ServiceDelivery>"
    ));
    inbox.queue_delivery_with_key(&key, refused.into()).unwrap();
    wait_until_failed(&feed, FailureCode::Refused).await;
    let shown_text = format!("{:?}", feed.status().last_error);
    assert!(!shown_text.contains(&key), "{shown_text}");
    ingest.stop_polling().await;
}

#[tokio::test]
async fn a_replaced_producer_is_unsubscribed_and_loses_access() {
    let first = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let second = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let (ingest, key) = subscribed(&first, &clock()).await;
    wait_until("the feed has subscribed", has_agreed(&ingest.find_feed("siri").unwrap(), 1)).await;
    let is_terminated = |upstream: &Upstream| {
        let request = upstream.requests().pop();
        request.is_some_and(|request| request.contains("<TerminateSubscriptionRequest>"))
    };
    let moved_subscription = subscriber(&second.url("/siri"), vec![SiriService::Timetables]);
    ingest.apply_feed_configs(vec![moved_subscription]).await.unwrap();
    wait_until("the first subscription is terminated", async || is_terminated(&first)).await;
    let feed = ingest.find_feed("siri").unwrap();
    wait_until("the second producer accepts the subscription", has_agreed(&feed, 2)).await;
    let inbox = feed.inbox().unwrap();
    let delivery = || timetables(&journey("A", ""), false).into();
    assert_eq!(inbox.queue_delivery_with_key(&key, delivery()), Err(DeliveryError::WrongKey));
    inbox.queue_delivery_with_key(&last_sent_key(&second), delivery()).unwrap();
    wait_until("its delivery is applied", async || trips(&ingest) == ["A"]).await;
    ingest.apply_feed_configs(Vec::new()).await.unwrap();
    wait_until("the second subscription is terminated", async || is_terminated(&second)).await;
    ingest.stop_polling().await;
}

#[tokio::test]
async fn a_refused_subscription_is_reported_without_its_key() {
    let refused = AGREED.replace(
        "<Status>true</Status>",
        "<Status>false</Status><ErrorCondition><OtherError><ErrorText>Not you, hunter2, at \
         siri?key=k3y-0</ErrorText></OtherError></ErrorCondition>",
    );
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(&refused)))).await;
    let (ingest, key) = subscribed(&upstream, &clock()).await;
    assert_eq!(key, "k3y-0", "the refusal must repeat the key");
    let feed = ingest.find_feed("siri").unwrap();
    wait_until_failed(&feed, FailureCode::Refused).await;
    let error = feed.status().last_error.clone().unwrap();
    let detail = "the producer refused the subscription: Not you, ***, at siri?key=***";
    assert_eq!(error.detail, detail);
    let part = AGREED.replace(
        "</SubscriptionResponse>",
        "<ResponseStatus><Status>false</Status><ErrorCondition><OtherError><ErrorText>Not \
         hunter2 at k3y-0</ErrorText></OtherError></ErrorCondition></ResponseStatus>\
         </SubscriptionResponse>",
    );
    upstream.set(Answer::Bytes(ok(&xml(&part))));
    ingest.poll_now("siri").await.unwrap();
    wait_until("a part of the subscription is accepted", has_agreed(&feed, 1)).await;
    feed.inbox()
        .unwrap()
        .queue_delivery_with_key(&key, timetables(&journey("A", ""), false).into())
        .unwrap();
    wait_until("the delivery is applied", async || trips(&ingest) == ["A"]).await;
    // The status follows the readers' data.
    let is_reported = async || {
        let status = feed.status();
        let problem = status.problems.retained_problems().first();
        problem.is_some_and(|it| it.value.as_deref() == Some("Not *** at ***"))
    };
    wait_until("the refusal is reported without the key", is_reported).await;
    upstream.set(Answer::Bytes(http("403 Forbidden", &[], format!("no {key}").as_bytes())));
    ingest.poll_now("siri").await.unwrap();
    wait_until_failed(&feed, FailureCode::Http(403)).await;
    let error = feed.status().last_error.clone().unwrap();
    assert!(!format!("{error:?}").contains(&key), "{error:?}");
    ingest.stop_polling().await;
}
