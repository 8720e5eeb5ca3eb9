//! Subscriptions to producers of SIRI, over real sockets: what they are told, what they bring, and how it ends.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use lineside_formats::gtfs_rt::proto::trip_descriptor::ScheduleRelationship;
use lineside_ingest::{
    FailureCode, Feed, FeedConfig, FeedState, FeedStatus, Inboxes, Ingest, NotTaken, Options,
    PollQuery, Rate, Secret, Serving, SiriMode, SiriService, SiriSource, exports, exports::Part,
};
use lineside_sync::{Clock, RealClock, SimulatedClock, UnixMillis};

use crate::{
    running::{options as running_options, until, until_failed},
    siri_producers::{journey, ok, request, siri, timetables, today, trips},
    upstream::{Answer, Upstream, http},
};

fn xml(inside: &str) -> String {
    format!("<Siri xmlns=\"http://www.siri.org.uk/siri\">{inside}</Siri>")
}

const AGREED: &str = "<SubscriptionResponse><ResponseStatus><Status>true</Status></ResponseStatus>\
                      </SubscriptionResponse>";

/// A clock of ours that begins with the real one: what is told is dated by that.
fn clock() -> Arc<SimulatedClock> {
    Arc::new(SimulatedClock::new(RealClock::new().wall()))
}

/// A feed that subscribes.
fn subscriber(url: &str, services: Vec<SiriService>) -> FeedConfig {
    let source = SiriSource { mode: SiriMode::Subscribe, services, ..request() };
    FeedConfig { poll: Some(Duration::from_secs(3600)), ..siri(url, source) }
}

/// A subscribed feed of a producer that answers, and the key that the producer was told.
async fn subscribed(upstream: &Upstream, clock: &Arc<SimulatedClock>) -> (Arc<Ingest>, String) {
    let feed = subscriber(&upstream.url("/siri"), vec![SiriService::Timetables]);
    subscribed_by(upstream, feed, clock).await
}

async fn subscribed_by(
    upstream: &Upstream,
    feed: FeedConfig,
    clock: &Arc<SimulatedClock>,
) -> (Arc<Ingest>, String) {
    let made = AtomicU32::new(0);
    let key = move || Secret::new(format!("k3y-{}", made.fetch_add(1, Ordering::Relaxed)));
    let ingest = Ingest::start(Options {
        inboxes: Inboxes {
            address: Some("https://me.example/".into()),
            subscriber: "lineside-1".into(),
            keys: Arc::new(key),
        },
        clock: Arc::clone(clock) as _,
        ..running_options(vec![feed])
    });
    let feed = ingest.feed("siri").unwrap();
    // Who is refused was told a key, too.
    until("it has subscribed", || {
        // Feeds do not all begin at once.
        clock.advance(Duration::from_millis(1));
        feed.status().fetches > 0
    })
    .await;
    let key = key_told(upstream);
    (ingest, key)
}

/// The key that the producer was told last.
fn key_told(upstream: &Upstream) -> String {
    let asked = upstream.requests().pop().unwrap();
    let (_, key) = asked.split_once("https://me.example/siri/inbox/siri?key=").unwrap();
    key.split('<').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_subscription_brings_news_by_itself_and_ends_with_the_server() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let (ingest, key) = subscribed(&upstream, &clock()).await;
    let asked = upstream.requests().remove(0);
    assert!(
        asked.contains("<EstimatedTimetableSubscriptionRequest>")
            && asked.contains("<SubscriptionIdentifier>lineside-siri-et</SubscriptionIdentifier>")
            && asked.contains("<HeartbeatInterval>"),
        "{asked}"
    );
    let feed = ingest.feed("siri").unwrap();
    let inbox = feed.inbox().unwrap();
    assert_eq!(inbox.take("forged", "".into()), Err(NotTaken::WrongKey));
    inbox.take(&key, timetables(&journey("A", ""), false).into()).unwrap();
    until("the first delivery is known", || trips(&ingest) == ["A"]).await;
    inbox.take(&key, timetables(&journey("B", ""), false).into()).unwrap();
    until("the second one is put to it", || trips(&ingest) == ["A", "B"]).await;
    assert_eq!(upstream.requests().len(), 1, "nobody was asked");
    // What it brings counts as answers, also for what is remembered of it.
    let all = PollQuery { from: UnixMillis(0), only_failed: false, offset: 0, limit: 100 };
    let polls = || ingest.archive().list_polls(feed.id(), all).unwrap();
    until("what it brought is remembered", || polls().len() == 3).await;
    let told: Vec<_> = polls().iter().map(|it| (it.outcome.to_string(), it.serving)).collect();
    assert_eq!(told[2], ("subscribed".to_owned(), Serving::Nothing), "the newest is the first");
    assert_eq!(told[0], ("brought".to_owned(), Serving::Fresh));
    ingest.shut_down().await;
    let farewell = upstream.requests().pop().unwrap();
    assert!(
        farewell.contains("<TerminateSubscriptionRequest>")
            && farewell.contains("<SubscriptionRef>lineside-siri-et</SubscriptionRef>"),
        "{farewell}"
    );
}

#[tokio::test]
async fn what_a_producer_repeats_of_a_subscription_holds_no_secret() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let (ingest, key) = subscribed(&upstream, &clock()).await;
    let asked = upstream.requests().remove(0);
    assert!(asked.contains("<RequestorRef>hunter2</RequestorRef>"), "{asked}");
    // A producer repeats who has subscribed, and to what, in each delivery.
    let repeated = |name: &str| {
        let (_, rest) = asked.split_once(&format!("<{name}>")).unwrap();
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
    let feed = ingest.feed("siri").unwrap();
    feed.inbox().unwrap().take(&key, delivery.into()).unwrap();
    until("the delivery is known", || trips(&ingest) == ["A"]).await;
    let shown = feed.snapshot().unwrap().bytes.clone();
    let shown = String::from_utf8_lossy(&shown);
    assert!(shown.contains("<SubscriberRef>lineside-") && !shown.contains("hunter2"), "{shown}");
    assert!(!shown.contains(&key), "{shown}");
    ingest.shut_down().await;
    let farewell = upstream.requests().pop().unwrap();
    assert!(farewell.contains(&refs.replace("Identifier", "Ref")[..40]), "{farewell}");
}

#[tokio::test]
async fn a_refusal_does_not_tell_who_was_refused() {
    let refused = "<SubscriptionResponse><ResponseStatus><Status>false</Status><ErrorCondition>\
                   <AccessNotAllowedError><ErrorText>hunter2 is not known here</ErrorText>\
                   </AccessNotAllowedError></ErrorCondition></ResponseStatus></SubscriptionResponse>";
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(refused)))).await;
    let (ingest, _) = subscribed(&upstream, &clock()).await;
    let feed = ingest.feed("siri").unwrap();
    until_failed(&feed, FailureCode::Refused).await;
    let error = feed.status().last_error.clone().unwrap();
    let said = format!("{error:?}");
    assert!(said.contains("is not known here") && !said.contains("hunter2"), "{said}");
    ingest.shut_down().await;
}

/// How often the producer was asked for something.
fn asked_for(upstream: &Upstream, what: &str) -> usize {
    upstream.requests().iter().filter(|asked| asked.contains(what)).count()
}

fn status_of(started: &str) -> String {
    let started = format!("<ServiceStartedTime>{started}</ServiceStartedTime>");
    xml(&format!("<CheckStatusResponse><Status>true</Status>{started}</CheckStatusResponse>"))
}

const STARTED: &str = "2026-11-20T08:00:00Z";

#[tokio::test]
async fn who_is_silent_is_asked_whether_it_is_there_and_is_believed_for_ten_minutes() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let (ingest, key) = subscribed(&upstream, &clock).await;
    let feed = ingest.feed("siri").unwrap();
    feed.inbox().unwrap().take(&key, timetables(&journey("A", ""), false).into()).unwrap();
    until("the delivery is known", || trips(&ingest) == ["A"]).await;
    upstream.set(Answer::Bytes(ok(&status_of(STARTED))));
    for checks in 1..=4 {
        until("it is left alone", || next_in(&feed, &clock) == Some(130)).await;
        clock.advance(Duration::from_secs(130));
        until("it is asked", || asked_for(&upstream, "<CheckStatusRequest>") == checks).await;
    }
    let checked = || feed.status().outcomes.iter().any(|it| *it == ("checked".into(), 4));
    until("it has answered", checked).await;
    assert!(feed.status().last_error.is_none());
    assert_eq!(asked_for(&upstream, "<SubscriptionRequest>"), 1);
    until("it is not believed for ever", || next_in(&feed, &clock) == Some(80)).await;
    upstream.set(Answer::Bytes(ok(&xml(AGREED))));
    clock.advance(Duration::from_secs(80));
    until("it is subscribed to anew", || asked_for(&upstream, "<SubscriptionRequest>") == 2).await;
    until("it has agreed", has_agreed(&feed, 2)).await;
    assert_eq!(feed.status().failures, 1, "that nothing came is told");
    ingest.shut_down().await;
}

#[tokio::test]
async fn who_has_started_again_or_is_not_well_when_it_is_asked_is_subscribed_to_anew() {
    let unwell = xml("<CheckStatusResponse><Status>false</Status></CheckStatusResponse>");
    for answer in [status_of("2026-11-21T09:00:00Z"), unwell] {
        let agreed = AGREED
            .replace("</Sub", &format!("<ServiceStartedTime>{STARTED}</ServiceStartedTime></Sub"));
        let upstream = Upstream::start(Answer::Bytes(ok(&xml(&agreed)))).await;
        let clock = clock();
        let (ingest, _) = subscribed(&upstream, &clock).await;
        let feed = ingest.feed("siri").unwrap();
        until("it is left alone", || next_in(&feed, &clock) == Some(130)).await;
        upstream.set(Answer::InTurn(vec![ok(&answer), ok(&xml(&agreed))]));
        clock.advance(Duration::from_secs(130));
        until("it is subscribed to anew", || {
            clock.advance(Duration::from_millis(50));
            asked_for(&upstream, "<SubscriptionRequest>") == 2
        })
        .await;
        assert_eq!(asked_for(&upstream, "<CheckStatusRequest>"), 1);
        assert_eq!(feed.status().failures, 0);
        ingest.shut_down().await;
    }
}

#[tokio::test]
async fn who_does_not_know_the_question_is_not_asked_it_again() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let (ingest, _) = subscribed(&upstream, &clock).await;
    let feed = ingest.feed("siri").unwrap();
    until("it is left alone", || next_in(&feed, &clock) == Some(130)).await;
    upstream.set(Answer::Bytes(http("404 Not Found", &[], b"no")));
    clock.advance(Duration::from_secs(130));
    let unchecked = || feed.status().outcomes.iter().any(|it| *it == ("unchecked".into(), 1));
    until("it does not know it", unchecked).await;
    assert_eq!(feed.status().failures, 0);
    until("it may be silent a little longer", || next_in(&feed, &clock) == Some(60)).await;
    upstream.set(Answer::Bytes(ok(&xml(AGREED))));
    clock.advance(Duration::from_secs(60));
    until("it is subscribed to anew", has_agreed(&feed, 2)).await;
    until("it is asked when it is silent again", || next_in(&feed, &clock) == Some(190)).await;
    ingest.shut_down().await;
}

/// An announcement of news.
fn ready() -> bytes::Bytes {
    xml("<DataReadyNotification><MessageIdentifier>m</MessageIdentifier></DataReadyNotification>")
        .into()
}

/// How often something was fetched that had been announced.
fn fetched(upstream: &Upstream) -> usize {
    let requests = upstream.requests();
    requests.iter().filter(|asked| asked.contains("<DataSupplyRequest>")).count()
}

#[tokio::test]
async fn what_is_announced_is_fetched_page_by_page() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let (ingest, key) = subscribed(&upstream, &clock).await;
    let feed = ingest.feed("siri").unwrap();
    let inbox = feed.inbox().unwrap();
    upstream.set(Answer::InTurn(vec![
        ok(&timetables(&journey("A", ""), true)),
        ok(&timetables(&journey("B", ""), false)),
    ]));
    inbox.take(&key, ready()).unwrap();
    until("both pages are known", || {
        clock.advance(Duration::from_millis(100));
        trips(&ingest) == ["A", "B"]
    })
    .await;
    assert_eq!(fetched(&upstream), 2);
    let asked = upstream.requests().pop().unwrap();
    assert!(asked.contains("<ConsumerRef>hunter2</ConsumerRef>"), "{asked}");
    // What comes by itself is put to it.
    inbox.take(&key, timetables(&journey("C", ""), false).into()).unwrap();
    until("what was brought is known, too", || trips(&ingest) == ["A", "B", "C"]).await;
    ingest.shut_down().await;
}

#[tokio::test]
async fn the_key_is_hidden_whatever_was_asked_last() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let (ingest, key) = subscribed(&upstream, &clock).await;
    let feed = ingest.feed("siri").unwrap();
    let inbox = feed.inbox().unwrap();
    upstream.set(Answer::Bytes(ok(&timetables(&journey("A", ""), false))));
    inbox.take(&key, ready()).unwrap();
    until("what was announced is fetched", || {
        clock.advance(Duration::from_millis(100));
        trips(&ingest) == ["A"]
    })
    .await;
    let unreached = format!("cannot reach https://me.example/siri/inbox/siri?key={key} now");
    let refused = xml(&format!(
        "<ServiceDelivery><Status>false</Status><ErrorCondition><OtherError><ErrorText>{unreached}\
         </ErrorText></OtherError></ErrorCondition></ServiceDelivery>"
    ));
    inbox.take(&key, refused.into()).unwrap();
    until_failed(&feed, FailureCode::Refused).await;
    let said = format!("{:?}", feed.status().last_error);
    assert!(said.contains("cannot reach") && !said.contains(&key), "{said}");
    ingest.shut_down().await;
}

#[tokio::test]
async fn what_is_announced_again_and_again_is_fetched_once() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    // It may be asked once a minute, and the subscription has taken the first.
    let feed = FeedConfig {
        rate: Rate::parse("1/min").ok(),
        ..subscriber(&upstream.url("/siri"), vec![SiriService::Timetables])
    };
    let (ingest, key) = subscribed_by(&upstream, feed, &clock).await;
    let feed = ingest.feed("siri").unwrap();
    let inbox = feed.inbox().unwrap();
    upstream.set(Answer::Bytes(ok(&timetables(&journey("A", ""), false))));
    for _ in 0..10 {
        inbox.take(&key, ready()).unwrap();
    }
    assert_eq!(fetched(&upstream), 0, "a producer's manners hold here, too");
    until("what was announced is known", || {
        clock.advance(Duration::from_secs(1));
        trips(&ingest) == ["A"]
    })
    .await;
    // Whatever waits is read before the next one is.
    inbox.take(&key, timetables(&journey("B", ""), false).into()).unwrap();
    until("what was brought is known", || trips(&ingest) == ["A", "B"]).await;
    clock.advance(Duration::from_secs(70));
    inbox.take(&key, timetables(&journey("C", ""), false).into()).unwrap();
    until("what was brought then is known", || trips(&ingest) == ["A", "B", "C"]).await;
    assert_eq!(fetched(&upstream), 1);
    ingest.shut_down().await;
}

#[tokio::test]
async fn what_cannot_be_fetched_is_asked_for_with_all_there_is() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let (ingest, key) = subscribed(&upstream, &clock).await;
    let feed = ingest.feed("siri").unwrap();
    upstream.set(Answer::InTurn(vec![
        http("500 Internal Server Error", &[], b"broken"),
        ok(&xml(AGREED)),
    ]));
    feed.inbox().unwrap().take(&key, ready()).unwrap();
    let subscriptions = || {
        let requests = upstream.requests();
        requests.iter().filter(|asked| asked.contains("<SubscriptionRequest>")).count()
    };
    until("it is subscribed to anew", || {
        clock.advance(Duration::from_secs(1));
        subscriptions() == 2
    })
    .await;
    assert_eq!(fetched(&upstream), 1);
    ingest.shut_down().await;
}

#[tokio::test]
async fn a_delivery_that_cannot_be_read_costs_nothing_of_what_is_known_and_all_is_asked_for_anew() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let (ingest, key) = subscribed(&upstream, &clock).await;
    let feed = ingest.feed("siri").unwrap();
    let inbox = feed.inbox().unwrap();
    let several = ["A", "X", "Y", "Z"].map(|id| journey(id, "")).concat();
    inbox.take(&key, timetables(&several, false).into()).unwrap();
    until("the delivery is known", || trips(&ingest) == ["A", "X", "Y", "Z"]).await;
    inbox.take(&key, "<Siri><ServiceDelivery>".into()).unwrap();
    until_failed(&feed, FailureCode::Truncated).await;
    inbox.take(&key, timetables(&journey("B", ""), false).into()).unwrap();
    until("what came before is still known", || trips(&ingest) == ["A", "B", "X", "Y", "Z"]).await;
    // As after a failed poll, and not after the hours for which a subscription is good.
    let next = || {
        let status = feed.status();
        status.next_poll.map(|at| at.seconds() - jiff::Timestamp::now().as_second())
    };
    until("it is asked again soon", || next().is_some_and(|seconds| seconds < 60)).await;
    ingest.poll_now("siri").await.unwrap();
    until("it has agreed again", has_agreed(&feed, 2)).await;
    // A producer that takes it for the same subscription goes on with what changes.
    let (c, d) = (journey("C", ""), journey("D", ""));
    inbox.take(&key, timetables(&c, false).into()).unwrap();
    until("the change is known", || trips(&ingest).len() == 6).await;
    clock.advance(Duration::from_secs(61));
    // After each delivery it is looked what is over.
    inbox.take(&key, timetables(&d, false).into()).unwrap();
    inbox.take(&key, timetables(&journey("E", ""), false).into()).unwrap();
    until("nothing is forgotten", || trips(&ingest).concat() == "ABCDEXYZ").await;
    ingest.shut_down().await;
}

#[tokio::test]
async fn a_producer_that_ends_the_subscription_is_asked_again_for_all_there_is() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let (ingest, key) = subscribed(&upstream, &clock).await;
    let feed = ingest.feed("siri").unwrap();
    let inbox = feed.inbox().unwrap();
    inbox.take(&key, timetables(&journey("A", ""), false).into()).unwrap();
    until("the delivery is known", || trips(&ingest) == ["A"]).await;
    let over = "<SubscriptionTerminatedNotification></SubscriptionTerminatedNotification>";
    inbox.take(&key, xml(over).into()).unwrap();
    until("it is to be asked again", || next_in(&feed, &clock) == Some(15)).await;
    clock.advance(Duration::from_secs(15));
    until("it is asked again", has_agreed(&feed, 2)).await;
    // It tells all that there is in parts, of which none is the last one by its own word.
    inbox.take(&key, timetables(&journey("B", ""), false).into()).unwrap();
    until("the first part is known", || trips(&ingest) == ["A", "B"]).await;
    inbox.take(&key, timetables(&journey("C", ""), false).into()).unwrap();
    until("the second one, too", || trips(&ingest) == ["A", "B", "C"]).await;
    clock.advance(Duration::from_secs(61));
    until("what it did not say again is gone", || trips(&ingest) == ["B", "C"]).await;
    ingest.shut_down().await;
}

#[tokio::test]
async fn the_first_deliveries_are_parts_and_so_is_what_is_told_of_them() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let (ingest, key) = subscribed(&upstream, &clock).await;
    let feed = ingest.feed("siri").unwrap();
    let inbox = feed.inbox().unwrap();
    for (name, known) in [("A", "A"), ("B", "AB")] {
        inbox.take(&key, timetables(&journey(name, ""), false).into()).unwrap();
        until("the delivery is known", || trips(&ingest).concat() == known).await;
        let is_part = |it: &FeedStatus| it.is_beginning && it.reason.contains("not have told all");
        until("it is told as a part", || is_part(&feed.status())).await;
    }
    clock.advance(Duration::from_secs(59));
    assert!(feed.status().is_beginning);
    clock.advance(Duration::from_secs(2));
    until("it has told all", || !feed.status().is_beginning).await;
    until("and that is said", || feed.status().reason == "answers, with fresh data").await;
    inbox.take(&key, timetables(&journey("C", ""), false).into()).unwrap();
    until("what comes then is news", || trips(&ingest).concat() == "ABC").await;
    assert!(!feed.status().is_beginning);
    ingest.shut_down().await;
}

#[tokio::test]
async fn what_was_known_before_a_subscription_stays_until_it_has_told_all() {
    let first = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let second = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let (ingest, key) = subscribed(&first, &clock).await;
    let inbox = ingest.feed("siri").unwrap().inbox().unwrap();
    let both = journey("A", "") + &journey("B", "");
    inbox.take(&key, timetables(&both, false).into()).unwrap();
    until("the delivery is known", || trips(&ingest).concat() == "AB").await;
    let elsewhere = subscriber(&second.url("/siri"), vec![SiriService::Timetables]);
    ingest.change(vec![elsewhere]).await.unwrap();
    let feed = ingest.feed("siri").unwrap();
    until("the second producer is asked", has_agreed(&feed, 2)).await;
    let (inbox, key) = (feed.inbox().unwrap(), key_told(&second));
    let before = feed.status().bytes;
    inbox.take(&key, timetables(&journey("B", ""), false).into()).unwrap();
    inbox
        .take(
            &key,
            xml("<HeartbeatNotification><Status>true</Status></HeartbeatNotification>").into(),
        )
        .unwrap();
    until("a part has come", || feed.status().bytes > before && feed.status().is_beginning).await;
    inbox.take(&key, timetables(&journey("C", ""), false).into()).unwrap();
    let is_kept = || feed.snapshot().is_some_and(|it| it.bytes.windows(3).any(|it| it == b">C<"));
    until("another one, too", is_kept).await;
    assert_eq!(trips(&ingest).concat(), "AB", "nothing is gone, and nothing told in part");
    clock.advance(Duration::from_secs(61));
    until("all is told", || trips(&ingest).concat() == "BC").await;
    ingest.shut_down().await;
}

/// In how many seconds a feed is polled next.
fn next_in(feed: &Feed, clock: &SimulatedClock) -> Option<u64> {
    feed.status().next_poll.map(|at| at.since(clock.wall()).as_millis().div_ceil(1_000) as u64)
}

#[tokio::test]
async fn a_producer_that_agrees_and_is_not_well_is_not_asked_all_the_time() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let (ingest, key) = subscribed(&upstream, &clock).await;
    let feed = ingest.feed("siri").unwrap();
    let inbox = feed.inbox().unwrap();
    let unwell = "<HeartbeatNotification><Status>false</Status></HeartbeatNotification>";
    for (agreements, wait) in [(1, 15), (2, 30), (3, 60)] {
        until("it has agreed", has_agreed(&feed, agreements)).await;
        until("nothing else is planned", || next_in(&feed, &clock) > Some(100)).await;
        // It says so more than once.
        inbox.take(&key, xml(unwell).into()).unwrap();
        inbox.take(&key, xml(unwell).into()).unwrap();
        until("it is left alone for a while", || next_in(&feed, &clock) == Some(wait)).await;
        clock.advance(Duration::from_secs(wait));
    }
    until("it has agreed", has_agreed(&feed, 4)).await;
    inbox.take(&key, timetables(&journey("A", ""), false).into()).unwrap();
    inbox.take(&key, xml(unwell).into()).unwrap();
    until("who delivers is trusted more", || next_in(&feed, &clock) == Some(15)).await;
    assert_eq!((trips(&ingest), upstream.requests().len()), (vec!["A".to_owned()], 4));
    ingest.shut_down().await;
}

#[tokio::test]
async fn a_producer_that_is_heard_of_is_not_asked_until_half_of_the_time_is_over() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let (ingest, key) = subscribed(&upstream, &clock).await;
    let feed = ingest.feed("siri").unwrap();
    until("it is looked after", || next_in(&feed, &clock) == Some(130)).await;
    let beat = "<HeartbeatNotification><Status>true</Status></HeartbeatNotification>";
    for said in [timetables(&journey("A", ""), false), xml(beat)] {
        clock.advance(Duration::from_secs(100));
        feed.inbox().unwrap().take(&key, said.into()).unwrap();
        until("it may be silent from then on", || next_in(&feed, &clock) == Some(130)).await;
    }
    assert_eq!(upstream.requests().len(), 1);
    ingest.shut_down().await;
}

#[tokio::test]
async fn the_end_of_a_subscription_that_is_not_ours_changes_nothing() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let (ingest, key) = subscribed(&upstream, &clock).await;
    let feed = ingest.feed("siri").unwrap();
    until("it has agreed", has_agreed(&feed, 1)).await;
    let inbox = feed.inbox().unwrap();
    let over = "<SubscriptionTerminatedNotification><SubscriptionRef>lineside-other-et\
                </SubscriptionRef></SubscriptionTerminatedNotification>";
    inbox.take(&key, xml(over).into()).unwrap();
    inbox.take(&key, timetables(&journey("A", ""), false).into()).unwrap();
    until("what comes after it is known", || trips(&ingest) == ["A"]).await;
    until("it goes on", || next_in(&feed, &clock) > Some(100)).await;
    ingest.shut_down().await;
}

/// Whether a feed has come to so many agreements.
fn has_agreed(feed: &Arc<Feed>, times: u64) -> impl Fn() -> bool {
    let feed = Arc::clone(feed);
    move || feed.status().outcomes.iter().any(|(name, n)| name == "subscribed" && *n == times)
}

#[tokio::test]
async fn a_subscription_of_which_nothing_is_heard_is_in_trouble_and_asked_for_anew() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let (ingest, key) = subscribed(&upstream, &clock).await;
    let feed = ingest.feed("siri").unwrap();
    until("it has subscribed", has_agreed(&feed, 1)).await;
    assert_eq!(feed.status().state, FeedState::Unknown, "nothing has come");
    clock.advance(Duration::from_secs(191));
    until_failed(&feed, FailureCode::Timeout).await;
    until("it is asked again", has_agreed(&feed, 2)).await;
    let error = feed.status().last_error.clone().unwrap();
    assert_eq!(error.detail, "nothing was heard of the subscription");
    let inbox = feed.inbox().unwrap();
    inbox.take(&key, timetables(&journey("A", ""), false).into()).unwrap();
    until("it is well", || feed.status().state == FeedState::Ok).await;
    ingest.shut_down().await;
}

#[tokio::test]
async fn a_heartbeat_says_that_what_is_known_still_holds() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let clock = clock();
    let (ingest, key) = subscribed(&upstream, &clock).await;
    let inbox = ingest.feed("siri").unwrap().inbox().unwrap();
    inbox.take(&key, timetables(&journey("A", ""), false).into()).unwrap();
    until("the delivery is known", || trips(&ingest) == ["A"]).await;
    let made_at = || {
        let state = ingest.feed("siri").unwrap().network().state();
        let export = exports::gtfs_rt(&state, "siri", Part::TripUpdates).unwrap();
        let decoded = lineside_formats::gtfs_rt::decode(export.bytes, &Default::default());
        decoded.unwrap().0.header.timestamp.unwrap()
    };
    let before = made_at();
    clock.advance(Duration::from_secs(100));
    let beat = "<HeartbeatNotification><Status>true</Status></HeartbeatNotification>";
    inbox.take(&key, xml(beat).into()).unwrap();
    until("it is as fresh as the heartbeat", || made_at() >= before + 99).await;
    assert_eq!(trips(&ingest), ["A"]);
    ingest.shut_down().await;
}

#[tokio::test]
async fn a_renewal_that_fails_is_tried_again_after_a_while() {
    let until_when = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(240);
    let answer = AGREED.replace(
        "<Status>true</Status>",
        &format!("<Status>true</Status><ValidUntil>{until_when}</ValidUntil>"),
    );
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(&answer)))).await;
    let clock = clock();
    let (ingest, key) = subscribed(&upstream, &clock).await;
    let feed = ingest.feed("siri").unwrap();
    until("it has subscribed", has_agreed(&feed, 1)).await;
    feed.inbox().unwrap().take(&key, timetables(&journey("A", ""), false).into()).unwrap();
    until("the delivery is known", || trips(&ingest) == ["A"]).await;
    upstream.set(Answer::HangUp);
    // Half of its time is over, and it was heard of since.
    clock.advance(Duration::from_secs(125));
    until("it is asked again", || feed.status().failures > 0).await;
    let left = || feed.status().next_poll.map(|at| at.since(clock.wall()));
    until("it is left alone then", || left().is_some_and(|left| left.as_secs() >= 5)).await;
    assert_eq!((upstream.requests().len(), trips(&ingest)), (2, vec!["A".to_owned()]));
    ingest.shut_down().await;
}

#[tokio::test]
async fn who_is_asked_no_more_is_told_so_and_has_no_way_in_any_more() {
    let first = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let second = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let (ingest, key) = subscribed(&first, &clock()).await;
    until("it has subscribed", has_agreed(&ingest.feed("siri").unwrap(), 1)).await;
    let is_over = |upstream: &Upstream| {
        let asked = upstream.requests().pop();
        asked.is_some_and(|asked| asked.contains("<TerminateSubscriptionRequest>"))
    };
    let elsewhere = subscriber(&second.url("/siri"), vec![SiriService::Timetables]);
    ingest.change(vec![elsewhere]).await.unwrap();
    until("the first producer is told", || is_over(&first)).await;
    let feed = ingest.feed("siri").unwrap();
    until("the second one is asked", has_agreed(&feed, 2)).await;
    let inbox = feed.inbox().unwrap();
    let delivery = || timetables(&journey("A", ""), false).into();
    assert_eq!(inbox.take(&key, delivery()), Err(NotTaken::WrongKey));
    inbox.take(&key_told(&second), delivery()).unwrap();
    until("the second one is heard", || trips(&ingest) == ["A"]).await;
    ingest.change(Vec::new()).await.unwrap();
    until("the second one is told, too", || is_over(&second)).await;
    ingest.shut_down().await;
}

#[tokio::test]
async fn what_is_agreed_to_is_heard_where_a_part_is_refused() {
    let answer = AGREED.replace(
        "</SubscriptionResponse>",
        "<ResponseStatus><SubscriptionRef>lineside-siri-vm</SubscriptionRef><Status>false</Status>\
         </ResponseStatus></SubscriptionResponse>",
    );
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(&answer)))).await;
    let (ingest, key) = subscribed(&upstream, &clock()).await;
    let feed = ingest.feed("siri").unwrap();
    feed.inbox().unwrap().take(&key, timetables(&journey("A", ""), false).into()).unwrap();
    until("the delivery is known", || trips(&ingest) == ["A"]).await;
    until("it is well", || feed.status().state == FeedState::Ok).await;
    let problems = feed.status().problems.clone();
    let problem = problems.kept().iter().find(|it| it.code == "subscription_refused").unwrap();
    assert_eq!(problem.value.as_deref(), Some("lineside-siri-vm: it does not say why"));
    ingest.shut_down().await;
}

#[tokio::test]
async fn a_subscription_that_is_refused_is_told_without_its_key() {
    let refused = AGREED.replace(
        "<Status>true</Status>",
        "<Status>false</Status><ErrorCondition><OtherError><ErrorText>Not you, hunter2, at \
         siri?key=k3y-0</ErrorText></OtherError></ErrorCondition>",
    );
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(&refused)))).await;
    let (ingest, key) = subscribed(&upstream, &clock()).await;
    assert_eq!(key, "k3y-0", "it is repeated");
    let feed = ingest.feed("siri").unwrap();
    until_failed(&feed, FailureCode::Refused).await;
    let error = feed.status().last_error.clone().unwrap();
    let detail = "the producer refuses the subscription: Not you, ***, at siri?key=***";
    assert_eq!(error.detail, detail);
    let part = AGREED.replace(
        "</SubscriptionResponse>",
        "<ResponseStatus><Status>false</Status><ErrorCondition><OtherError><ErrorText>Not \
         hunter2 at k3y-0</ErrorText></OtherError></ErrorCondition></ResponseStatus>\
         </SubscriptionResponse>",
    );
    upstream.set(Answer::Bytes(ok(&xml(&part))));
    ingest.poll_now("siri").await.unwrap();
    until("it has agreed to a part", has_agreed(&feed, 1)).await;
    feed.inbox().unwrap().take(&key, timetables(&journey("A", ""), false).into()).unwrap();
    until("the delivery is known", || trips(&ingest) == ["A"]).await;
    let problems = feed.status().problems.clone();
    assert_eq!(problems.kept()[0].value.as_deref(), Some("Not *** at ***"));
    upstream.set(Answer::Bytes(http("403 Forbidden", &[], format!("no {key}").as_bytes())));
    ingest.poll_now("siri").await.unwrap();
    until_failed(&feed, FailureCode::Http(403)).await;
    let error = feed.status().last_error.clone().unwrap();
    assert!(!format!("{error:?}").contains(&key), "{error:?}");
    ingest.shut_down().await;
}

#[tokio::test]
async fn a_subscribed_vehicle_does_not_take_back_what_the_timetable_tells() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let services = vec![SiriService::Timetables, SiriService::Vehicles];
    let feed = subscriber(&upstream.url("/siri"), services);
    let (ingest, key) = subscribed_by(&upstream, feed, &clock()).await;
    let inbox = ingest.feed("siri").unwrap().inbox().unwrap();
    let cancelled = journey("A", "<Cancellation>true</Cancellation>");
    inbox.take(&key, timetables(&cancelled, false).into()).unwrap();
    until("the cancellation is known", || trips(&ingest) == ["A"]).await;
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
    inbox.take(&key, xml(&activity).into()).unwrap();
    let state = || ingest.feed("siri").unwrap().network().state();
    until("the vehicle is known", || state().vehicles().count() == 1).await;
    let state = state();
    let update = state.trip_updates().next().unwrap().trip_update().unwrap();
    assert_eq!(update.trip.schedule_relationship(), ScheduleRelationship::Canceled);
    ingest.shut_down().await;
}
