//! Producers of SIRI, over real sockets: how they are asked, and what of their answers is known.

use std::sync::Arc;

use lineside_formats::{Format, gtfs_rt::proto::trip_descriptor::ScheduleRelationship};
use lineside_ingest::{
    FailureCode, FeedConfig, FeedState, Inboxes, Ingest, NotTaken, Options, Secret, SiriEnvelope,
    SiriIds, SiriMode, SiriService, SiriSource, exports, exports::Part,
};

use crate::{
    running::{config, options as running_options, start, until, until_failed, write_city},
    support::*,
    upstream::{Answer, Upstream, http},
};

/// A delivery of estimated timetables.
fn timetables(journeys: &str, more: bool) -> String {
    let now = jiff::Timestamp::now();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Siri xmlns=\"http://www.siri.org.uk/siri\" \
         version=\"2.0\"><ServiceDelivery><ResponseTimestamp>{now}</ResponseTimestamp>\
         <MoreData>{more}</MoreData><EstimatedTimetableDelivery><EstimatedJourneyVersionFrame>\
         {journeys}</EstimatedJourneyVersionFrame></EstimatedTimetableDelivery>\
         </ServiceDelivery></Siri>"
    )
}

/// The day of all journeys: one that is long over is not held.
fn today() -> jiff::civil::Date {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date()
}

fn journey(id: &str, inside: &str) -> String {
    let today = today();
    format!(
        "<EstimatedVehicleJourney><LineRef>L</LineRef><FramedVehicleJourneyRef>\
         <DataFrameRef>{today}</DataFrameRef>\
         <DatedVehicleJourneyRef>{id}</DatedVehicleJourneyRef></FramedVehicleJourneyRef>{inside}\
         </EstimatedVehicleJourney>"
    )
}

fn ok(body: &str) -> Vec<u8> {
    http("200 OK", &["content-type: text/xml"], body.as_bytes())
}

fn siri(url: &str, siri: SiriSource) -> FeedConfig {
    FeedConfig { siri: Some(Arc::new(siri)), ..config("siri", url) }
}

fn request() -> SiriSource {
    SiriSource {
        mode: SiriMode::Request,
        requestor_ref: Some(Secret::new("hunter2")),
        ..SiriSource::default()
    }
}

/// The trips that are known now.
fn trips(ingest: &Ingest) -> Vec<String> {
    let state = ingest.feed("siri").unwrap().network().state();
    let updates = state.trip_updates().filter_map(|record| record.trip_update());
    let mut trips: Vec<String> = updates.filter_map(|it| it.trip.trip_id.clone()).collect();
    trips.sort_unstable();
    trips
}

#[tokio::test]
async fn a_request_of_siri_brings_trip_updates_that_leave_as_gtfs_realtime() {
    let answer = timetables(&journey("J", "<Cancellation>true</Cancellation>"), false);
    let upstream = Upstream::start(Answer::Bytes(ok(&answer))).await;
    let ingest = start(vec![siri(&upstream.url("/siri"), request())]);
    until("the journey is known", || trips(&ingest) == ["J"]).await;
    let feed = ingest.feed("siri").unwrap();
    let state = feed.network().state();
    let update = state.trip_updates().next().unwrap().trip_update().unwrap().clone();
    assert_eq!(update.trip.schedule_relationship(), ScheduleRelationship::Canceled);
    let today = today().strftime("%Y%m%d").to_string();
    assert_eq!(update.trip.start_date, Some(today));
    let export = exports::gtfs_rt(&state, "siri", Part::TripUpdates).unwrap();
    let (message, problems) =
        lineside_formats::gtfs_rt::decode(export.bytes, &Default::default()).unwrap();
    assert_eq!((message.entity.len(), problems.total()), (1, 0));
    assert_eq!(message.entity[0].trip_update.as_ref().unwrap(), &update);
    assert_eq!(feed.format(), Some(Format::Siri));
    until("the feed is well", || feed.status().state == FeedState::Ok).await;
    assert_eq!(feed.snapshot().unwrap().bytes, answer.as_bytes(), "the producer's own bytes");
    let asked = upstream.requests().remove(0);
    assert!(asked.starts_with("post /siri http/1.1") && asked.contains("content-type: text/xml"));
    assert!(
        asked.contains("<RequestorRef>hunter2</RequestorRef>")
            && asked.contains("<EstimatedTimetableRequest"),
        "{asked}"
    );
    ingest.shut_down().await;
}

#[tokio::test]
async fn pages_are_one_answer() {
    let pages = vec![
        ok(&timetables(&journey("A", ""), true)),
        ok(&timetables(&journey("B", ""), false)),
        ok(&timetables(&journey("B", ""), true)),
        ok(&timetables(&journey("C", ""), false)),
    ];
    let upstream = Upstream::start(Answer::InTurn(pages)).await;
    let mut siri = siri(&upstream.url("/siri"), request());
    // Pages do not wait for the interval of the feed.
    siri.poll = Some(std::time::Duration::from_secs(3600));
    let ingest = start(vec![siri]);
    until("both pages are there", || trips(&ingest) == ["A", "B"]).await;
    assert!(upstream.requests().len() == 2, "the answer is whole");
    ingest.poll_now("siri").await.unwrap();
    until("what the next answer does not hold is gone", || trips(&ingest) == ["B", "C"]).await;
    ingest.shut_down().await;
}

#[tokio::test]
async fn an_address_that_answers_with_changes_is_asked_under_one_name() {
    let ahead = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(1);
    let past = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(1);
    let calls = |at: jiff::Timestamp| {
        format!(
            "<EstimatedCalls><EstimatedCall><StopPointRef>S</StopPointRef>\
             <ExpectedArrivalTime>{at}</ExpectedArrivalTime></EstimatedCall></EstimatedCalls>"
        )
    };
    let answers = vec![
        ok(&timetables(&(journey("A", &calls(ahead)) + &journey("over", &calls(past))), false)),
        ok(&timetables(&journey("B", &calls(ahead)), false)),
        ok(&timetables("", false)),
    ];
    let upstream = Upstream::start(Answer::InTurn(answers)).await;
    let lite = SiriSource { mode: SiriMode::Lite, ..request() };
    let ingest = start(vec![siri(&upstream.url("/et?datasetId=X"), lite)]);
    until("the change is put to what is known", || trips(&ingest) == ["A", "B"]).await;
    until("it was asked again", || upstream.requests().len() >= 4).await;
    assert_eq!(trips(&ingest), ["A", "B"], "no change is a change of nothing");
    let name = |request: &str| {
        let line = request.lines().next().unwrap().to_owned();
        assert!(line.starts_with("get /et?datasetid=x&requestorid=hunter2-"), "{line}");
        line
    };
    let requests = upstream.requests();
    assert_eq!(name(&requests[0]), name(&requests[1]));
    // What did not come whole has to be asked for anew, all of it.
    upstream.set(Answer::Bytes(ok("<Siri><ServiceDelivery>")));
    until_failed(&ingest.feed("siri").unwrap(), FailureCode::Truncated).await;
    let n_before = upstream.requests().len();
    upstream.set(Answer::Bytes(ok(&timetables(&journey("C", &calls(ahead)), false))));
    until("the new answer is all there is", || trips(&ingest) == ["C"]).await;
    let after = upstream.requests();
    assert_ne!(name(&requests[0]), name(after.last().unwrap()), "{n_before} requests before");
    ingest.shut_down().await;
}

#[tokio::test]
async fn a_producer_that_refuses_is_told_in_its_words() {
    let fault = "<S:Envelope xmlns:S=\"http://schemas.xmlsoap.org/soap/envelope/\"><S:Body><S:Fault>\
                 <faultcode>S:Server</faultcode><faultstring>No such user hunter2</faultstring>\
                 </S:Fault></S:Body></S:Envelope>";
    let fault = http("500 Internal Server Error", &["content-type: text/xml"], fault.as_bytes());
    let good = ok(&timetables(&journey("J", ""), false));
    let upstream = Upstream::start(Answer::Bytes(good)).await;
    let soap = SiriSource { envelope: SiriEnvelope::Soap, ..request() };
    let ingest = start(vec![siri(&upstream.url("/siri"), soap)]);
    until("the journey is known", || trips(&ingest) == ["J"]).await;
    assert!(upstream.requests()[0].contains("soapaction: \"getestimatedtimetable\""));
    upstream.set(Answer::Bytes(fault));
    until_failed(&ingest.feed("siri").unwrap(), FailureCode::Http(500)).await;
    let error = ingest.feed("siri").unwrap().status().last_error.clone().unwrap();
    assert_eq!(error.detail, "the answer was 500 Internal Server Error: No such user ***");
    let refused = timetables("", false).replace(
        "<EstimatedTimetableDelivery>",
        "<EstimatedTimetableDelivery><Status>false</Status><ErrorCondition>\
         <AccessNotAllowedError><ErrorText>Closed</ErrorText></AccessNotAllowedError>\
         </ErrorCondition>",
    );
    upstream.set(Answer::Bytes(ok(&refused)));
    until_failed(&ingest.feed("siri").unwrap(), FailureCode::Refused).await;
    assert_eq!(trips(&ingest), ["J"], "the last good answer stays");
    ingest.shut_down().await;
}

#[tokio::test]
async fn siri_is_joined_to_the_schedule_by_its_ids_and_known_by_its_content() {
    let dir = tempfile::tempdir().unwrap();
    write_city(dir.path());
    let body = timetables(&journey("X:VehicleJourney::T1:LOC", ""), false);
    let upstream = Upstream::start(Answer::Bytes(ok(&body))).await;
    let mut schedule = config("city", "unused");
    schedule.url = lineside_ingest::Location::of_path(dir.path());
    let plain =
        FeedConfig { static_feed: Some(feed("city")), ..config("plain", &upstream.url("/plain")) };
    let mut mapped = siri(
        &upstream.url("/mapped"),
        SiriSource {
            ids: SiriIds::Netex,
            services: vec![SiriService::Timetables, SiriService::Vehicles],
            ..request()
        },
    );
    mapped.static_feed = Some(feed("city"));
    let ingest = start(vec![schedule, plain, mapped]);
    until("both are known", || {
        let state = ingest.feed("siri").unwrap().network().state();
        let network = ingest.feed("siri").unwrap().network();
        state.trip_updates().count() == 2 && network.dataset().is_some()
    })
    .await;
    assert_eq!(ingest.feed("plain").unwrap().format(), Some(Format::Siri), "by its content");
    let state = ingest.feed("siri").unwrap().network().state();
    let route = |feed: &str| {
        let record = state.trip_updates().find(|record| record.feed.as_str() == feed).unwrap();
        record.join.headsign.clone()
    };
    assert_eq!(route("plain"), None);
    assert!(route("siri").is_some(), "the schedule knows where it goes");
    ingest.shut_down().await;
}

fn xml(inside: &str) -> String {
    format!("<Siri xmlns=\"http://www.siri.org.uk/siri\">{inside}</Siri>")
}

const AGREED: &str = "<SubscriptionResponse><ResponseStatus><Status>true</Status></ResponseStatus>\
                      </SubscriptionResponse>";

/// A subscribed feed of a producer that agrees, and the key that the producer was told.
async fn subscribed(upstream: &Upstream) -> (Arc<Ingest>, String) {
    subscribed_to(upstream, vec![SiriService::Timetables]).await
}

async fn subscribed_to(upstream: &Upstream, services: Vec<SiriService>) -> (Arc<Ingest>, String) {
    let source = SiriSource { mode: SiriMode::Subscribe, services, ..request() };
    let mut config = siri(&upstream.url("/siri"), source);
    config.poll = Some(std::time::Duration::from_secs(3600));
    let options = running_options(vec![config]);
    let ingest = Ingest::start(Options {
        inboxes: Inboxes {
            address: Some("https://me.example/".into()),
            keys: Arc::new(|| Secret::new("k3y-of-this-process")),
        },
        ..options
    });
    until("it has subscribed", || !upstream.requests().is_empty()).await;
    let asked = upstream.requests().remove(0);
    let (_, key) = asked.split_once("https://me.example/siri/inbox/siri?key=").unwrap();
    (ingest, key.split('<').next().unwrap().to_owned())
}

#[tokio::test]
async fn a_subscription_brings_news_by_itself_and_ends_with_the_server() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let (ingest, key) = subscribed(&upstream).await;
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
    ingest.shut_down().await;
    let farewell = upstream.requests().pop().unwrap();
    assert!(
        farewell.contains("<TerminateSubscriptionRequest>")
            && farewell.contains("<SubscriptionRef>lineside-siri-et</SubscriptionRef>"),
        "{farewell}"
    );
}

#[tokio::test]
async fn a_delivery_that_cannot_be_read_costs_nothing_of_what_is_known_and_all_is_asked_for_anew() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let (ingest, key) = subscribed(&upstream).await;
    let feed = ingest.feed("siri").unwrap();
    let inbox = feed.inbox().unwrap();
    inbox.take(&key, timetables(&journey("A", ""), false).into()).unwrap();
    until("the delivery is known", || trips(&ingest) == ["A"]).await;
    inbox.take(&key, "<Siri><ServiceDelivery>".into()).unwrap();
    until_failed(&feed, FailureCode::Truncated).await;
    inbox.take(&key, timetables(&journey("B", ""), false).into()).unwrap();
    until("what came before is still known", || trips(&ingest) == ["A", "B"]).await;
    // As after a failed poll, and not after the hours for which a subscription is good.
    let next = || {
        let status = feed.status();
        status.next_poll.map(|at| at.seconds() - jiff::Timestamp::now().as_second())
    };
    until("it is asked again soon", || next().is_some_and(|seconds| seconds < 60)).await;
    ingest.poll_now("siri").await.unwrap();
    until("it is asked again", || upstream.requests().len() == 2).await;
    ingest.shut_down().await;
}

#[tokio::test]
async fn a_producer_that_ends_the_subscription_is_asked_again_for_all_there_is() {
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(AGREED)))).await;
    let (ingest, key) = subscribed(&upstream).await;
    let inbox = ingest.feed("siri").unwrap().inbox().unwrap();
    inbox.take(&key, timetables(&journey("A", ""), false).into()).unwrap();
    until("the delivery is known", || trips(&ingest) == ["A"]).await;
    let beat = "<HeartbeatNotification><Status>true</Status></HeartbeatNotification>";
    inbox.take(&key, xml(beat).into()).unwrap();
    let over = "<SubscriptionTerminatedNotification></SubscriptionTerminatedNotification>";
    inbox.take(&key, xml(over).into()).unwrap();
    until("it is asked again", || upstream.requests().len() == 2).await;
    inbox.take(&key, timetables(&journey("B", ""), false).into()).unwrap();
    until("what it says then is all there is", || trips(&ingest) == ["B"]).await;
    ingest.shut_down().await;
}

#[tokio::test]
async fn a_subscription_that_is_refused_is_told_without_its_key() {
    let refused = AGREED.replace(
        "<Status>true</Status>",
        "<Status>false</Status><ErrorCondition><OtherError><ErrorText>Not you</ErrorText>\
         </OtherError></ErrorCondition>",
    );
    let upstream = Upstream::start(Answer::Bytes(ok(&xml(&refused)))).await;
    let (ingest, key) = subscribed(&upstream).await;
    let feed = ingest.feed("siri").unwrap();
    until_failed(&feed, FailureCode::Refused).await;
    let error = feed.status().last_error.clone().unwrap();
    assert_eq!(error.detail, "the producer refuses the subscription: Not you");
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
    let (ingest, key) = subscribed_to(&upstream, services).await;
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
