//! Tests of SIRI producers over real sockets: requests, and the data from their answers.

use std::{sync::Arc, time::Duration};

use lineside_formats::{Format, gtfs_rt::proto::trip_descriptor::ScheduleRelationship};
use lineside_ingest::{Ingest, IngestOptions};
use lineside_model::{
    FailureCode, FeedConfig, FeedState, RequestRate, Secret, SiriAnswers, SiriEnvelope,
    SiriIdMapping, SiriMode, SiriService, SiriSourceSettings, exports,
    exports::ExportedEntityKinds,
};

use lineside_sync::{Clock, RealClock, SimulatedClock, UnixMillis};
use lineside_testkit::wait_until;

use crate::{
    running::{config, options, start, wait_until_failed, write_city},
    support::*,
    upstream::{Answer, Upstream, http},
};

/// Returns a delivery of estimated timetables.
pub(crate) fn timetables(journeys: &str, more: bool) -> String {
    let now = jiff::Timestamp::now();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Siri xmlns=\"http://www.siri.org.uk/siri\" \
         version=\"2.0\"><ServiceDelivery><ResponseTimestamp>{now}</ResponseTimestamp>\
         <MoreData>{more}</MoreData><EstimatedTimetableDelivery><EstimatedJourneyVersionFrame>\
         {journeys}</EstimatedJourneyVersionFrame></EstimatedTimetableDelivery>\
         </ServiceDelivery></Siri>"
    )
}

/// The day of all journeys: a journey of the past would be removed.
pub(crate) fn today() -> jiff::civil::Date {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date()
}

pub(crate) fn journey(id: &str, inside: &str) -> String {
    let today = today();
    format!(
        "<EstimatedVehicleJourney><LineRef>L</LineRef><FramedVehicleJourneyRef>\
         <DataFrameRef>{today}</DataFrameRef>\
         <DatedVehicleJourneyRef>{id}</DatedVehicleJourneyRef></FramedVehicleJourneyRef>{inside}\
         </EstimatedVehicleJourney>"
    )
}

pub(crate) fn ok(body: &str) -> Vec<u8> {
    http("200 OK", &["content-type: text/xml"], body.as_bytes())
}

pub(crate) fn siri(url: &str, siri: SiriSourceSettings) -> FeedConfig {
    FeedConfig { siri: Some(Arc::new(siri)), ..config("siri", url) }
}

pub(crate) fn request() -> SiriSourceSettings {
    SiriSourceSettings {
        mode: SiriMode::Request,
        requestor_ref: Some(Secret::new("hunter2")),
        ..SiriSourceSettings::default()
    }
}

pub(crate) fn trips(ingest: &Ingest) -> Vec<String> {
    let state = ingest.find_feed("siri").unwrap().network().state();
    let updates = state.trip_updates().filter_map(|record| record.trip_update());
    let mut trips: Vec<String> = updates.filter_map(|it| it.trip.trip_id.clone()).collect();
    trips.sort_unstable();
    trips
}

#[tokio::test]
async fn a_siri_request_gives_trip_updates_in_gtfs_realtime() {
    let answer = timetables(&journey("J", "<Cancellation>true</Cancellation>"), false);
    let upstream = Upstream::start(Answer::Bytes(ok(&answer))).await;
    let ingest = start(vec![siri(&upstream.url("/siri"), request())]);
    wait_until("the journey is known", async || trips(&ingest) == ["J"]).await;
    let feed = ingest.find_feed("siri").unwrap();
    let state = feed.network().state();
    let update = state.trip_updates().next().unwrap().trip_update().unwrap().clone();
    assert_eq!(update.trip.schedule_relationship(), ScheduleRelationship::Canceled);
    let today = today().strftime("%Y%m%d").to_string();
    assert_eq!(update.trip.start_date, Some(today));
    let export =
        exports::get_gtfs_rt_export(&state, "siri", ExportedEntityKinds::TripUpdates).unwrap();
    let (message, problems) =
        lineside_formats::gtfs_rt::decode_feed_message(export.bytes, &Default::default()).unwrap();
    assert_eq!((message.entity.len(), problems.total_count()), (1, 0));
    assert_eq!(message.entity[0].trip_update.as_ref().unwrap(), &update);
    assert_eq!(feed.format(), Some(Format::Siri));
    wait_until("the feed is ok", async || feed.status().state == FeedState::Ok).await;
    assert_eq!(feed.snapshot().unwrap().bytes, answer.as_bytes(), "the producer's original bytes");
    let build_trial_request = upstream.requests().remove(0);
    assert!(
        build_trial_request.starts_with("post /siri http/1.1")
            && build_trial_request.contains("content-type: text/xml")
    );
    assert!(
        build_trial_request.contains("<RequestorRef>hunter2</RequestorRef>")
            && build_trial_request.contains("<EstimatedTimetableRequest"),
        "{build_trial_request}"
    );
    ingest.stop_polling().await;
}

#[tokio::test]
async fn vehicles_of_two_producers_with_one_id_stay_distinct() {
    let now = jiff::Timestamp::now();
    let vehicle = |producer: &str, longitude: f32| {
        format!(
            "<VehicleActivity><RecordedAtTime>{now}</RecordedAtTime><MonitoredVehicleJourney>\
             <LineRef>{producer}:Line:1</LineRef><VehicleLocation><Longitude>{longitude}\
             </Longitude><Latitude>60</Latitude></VehicleLocation><VehicleRef>277</VehicleRef>\
             </MonitoredVehicleJourney></VehicleActivity>"
        )
    };
    let delivery = |vehicles: &[String]| {
        ok(&format!(
            "<Siri xmlns=\"http://www.siri.org.uk/siri\"><ServiceDelivery>\
             <ResponseTimestamp>{now}</ResponseTimestamp><VehicleMonitoringDelivery>{}\
             </VehicleMonitoringDelivery></ServiceDelivery></Siri>",
            vehicles.concat()
        ))
    };
    let answers = vec![
        delivery(&[vehicle("ATB", 10.0), vehicle("KOL", 5.0)]),
        delivery(&[vehicle("KOL", 6.0)]),
    ];
    let upstream = Upstream::start(Answer::InTurn(answers)).await;
    let source = SiriSourceSettings { services: vec![SiriService::Vehicles], ..request() };
    let mut siri = siri(&upstream.url("/siri"), source);
    siri.poll = Some(Duration::from_secs(3600));
    let ingest = start(vec![siri]);
    let vehicle_positions = || {
        let state = ingest.find_feed("siri").unwrap().network().state();
        let vehicles = state.vehicles().map(|record| {
            let vehicle = record.vehicle().unwrap();
            let label = vehicle.vehicle.as_ref().unwrap().label.clone().unwrap();
            (record.id.to_string(), label, vehicle.position.as_ref().unwrap().longitude)
        });
        let mut vehicles: Vec<_> = vehicles.collect();
        vehicles.sort_by(|one, other| one.0.cmp(&other.0));
        vehicles
    };
    let at = |id: &str, longitude| (id.to_owned(), "277".to_owned(), longitude);
    wait_until("both vehicles are known", async || {
        vehicle_positions() == [at("ATB:277", 10.0), at("KOL:277", 5.0)]
    })
    .await;
    ingest.poll_now("siri").await.unwrap();
    wait_until("one vehicle is removed and the other moved", async || {
        vehicle_positions() == [at("KOL:277", 6.0)]
    })
    .await;
    ingest.stop_polling().await;
}

#[tokio::test]
async fn pages_are_merged_into_one_answer() {
    let pages = vec![
        ok(&timetables(&journey("A", ""), true)),
        ok(&timetables(&journey("B", ""), false)),
        ok(&timetables(&journey("B", ""), true)),
        ok(&timetables(&journey("C", ""), false)),
    ];
    let upstream = Upstream::start(Answer::InTurn(pages)).await;
    let mut siri = siri(&upstream.url("/siri"), request());
    // Pages do not wait for the feed's interval.
    siri.poll = Some(Duration::from_secs(3600));
    let ingest = start(vec![siri]);
    wait_until("both pages are known", async || trips(&ingest) == ["A", "B"]).await;
    assert!(upstream.requests().len() == 2, "the answer has two pages");
    ingest.poll_now("siri").await.unwrap();
    wait_until("the next answer replaces the first", async || trips(&ingest) == ["B", "C"]).await;
    ingest.stop_polling().await;
}

#[tokio::test]
async fn requests_for_changes_keep_one_session_name() {
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
    let lite = SiriSourceSettings { mode: SiriMode::Lite, ..request() };
    let ingest = start(vec![siri(&upstream.url("/et?datasetId=X"), lite)]);
    wait_until("the change is merged", async || trips(&ingest) == ["A", "B"]).await;
    wait_until("the producer is requested again", async || upstream.requests().len() >= 4).await;
    assert_eq!(trips(&ingest), ["A", "B"], "an empty answer changes nothing");
    let name = |request: &str| {
        let line = request.lines().next().unwrap().to_owned();
        assert!(line.starts_with("get /et?datasetid=x&requestorid=lineside-"), "{line}");
        assert!(!line.contains("hunter2"), "the name must not be sent: {line}");
        line
    };
    let requests = upstream.requests();
    assert_eq!(name(&requests[0]), name(&requests[1]));
    // After an incomplete answer all data must be requested again.
    upstream.set(Answer::Bytes(ok("<Siri><ServiceDelivery>")));
    wait_until_failed(&ingest.find_feed("siri").unwrap(), FailureCode::Truncated).await;
    let n_before = upstream.requests().len();
    upstream.set(Answer::Bytes(ok(&timetables(&journey("C", &calls(ahead)), false))));
    wait_until("the new answer replaces all data", async || trips(&ingest) == ["C"]).await;
    let after = upstream.requests();
    assert_ne!(name(&requests[0]), name(after.last().unwrap()), "{n_before} requests before");
    ingest.stop_polling().await;
}

#[tokio::test]
async fn a_producer_may_answer_requests_with_changes_too() {
    let answers = vec![
        ok(&timetables(&journey("A", ""), false)),
        ok(&timetables(&journey("B", ""), false)),
        ok(&timetables("", false)),
    ];
    let upstream = Upstream::start(Answer::InTurn(answers)).await;
    let source = SiriSourceSettings { answers: Some(SiriAnswers::Changes), ..request() };
    let ingest = start(vec![siri(&upstream.url("/siri"), source)]);
    wait_until("the change is merged", async || trips(&ingest) == ["A", "B"]).await;
    wait_until("the producer is requested again", async || upstream.requests().len() >= 4).await;
    assert_eq!(trips(&ingest), ["A", "B"], "an empty answer changes nothing");
    let name = |request: &str| {
        let (_, name) = request.split_once("<RequestorRef>").unwrap();
        name.split('<').next().unwrap().to_owned()
    };
    let first = name(&upstream.requests()[0]);
    assert!(first.starts_with("lineside-") && !first.contains("hunter2"), "{first}");
    assert!(upstream.requests().iter().all(|request| name(request) == first));
    upstream.set(Answer::HangUp);
    let feed = ingest.find_feed("siri").unwrap();
    wait_until("a poll has failed", async || feed.status().failures_in_a_row > 0).await;
    assert_eq!(trips(&ingest), ["A", "B"]);
    upstream.set(Answer::Bytes(ok(&timetables(&journey("C", ""), false))));
    wait_until("the next answer replaces all data", async || trips(&ingest) == ["C"]).await;
    assert_ne!(name(upstream.requests().last().unwrap()), first);
    ingest.stop_polling().await;
}

#[tokio::test]
async fn a_failed_poll_keeps_the_data_and_requests_all_again() {
    let all = ok(&timetables(&(journey("A", "") + &journey("B", "")), false));
    let upstream = Upstream::start(Answer::Bytes(all.clone())).await;
    let lite = SiriSourceSettings { mode: SiriMode::Lite, ..request() };
    let ingest = start(vec![siri(&upstream.url("/et"), lite)]);
    let feed = ingest.find_feed("siri").unwrap();
    wait_until("all trips are known", async || trips(&ingest) == ["A", "B"]).await;
    let name = || upstream.requests().pop().unwrap().lines().next().unwrap().to_owned();
    let before = name();
    upstream.set(Answer::HangUp);
    wait_until("a poll has failed", async || feed.status().failures_in_a_row > 0).await;
    assert_eq!(trips(&ingest), ["A", "B"]);
    // The same bytes now contain all data, in a new session.
    upstream.set(Answer::Bytes(all));
    wait_until("the producer responds again", async || feed.status().failures_in_a_row == 0).await;
    let after = name();
    assert_ne!(before, after, "a new session has a new name");
    upstream.set(Answer::Bytes(ok(&timetables(&journey("C", ""), false))));
    wait_until("the change is merged", async || trips(&ingest) == ["A", "B", "C"]).await;
    assert_eq!(name(), after);
    upstream.set(Answer::HangUp);
    wait_until("a poll has failed", async || feed.status().failures_in_a_row > 0).await;
    upstream.set(Answer::Bytes(ok(&timetables(&journey("B", ""), false))));
    wait_until("a full answer removes other trips", async || trips(&ingest) == ["B"]).await;
    ingest.stop_polling().await;
}

#[tokio::test]
async fn a_producer_that_repeats_pages_is_not_requested_endlessly() {
    let page = || ok(&timetables(&journey("A", ""), true));
    let hour = Duration::from_secs(3600);
    for pages in [vec![page()], vec![page(), page(), page()]] {
        let upstream = Upstream::start(Answer::InTurn(pages)).await;
        let mut siri = siri(&upstream.url("/siri"), request());
        siri.poll = Some(hour);
        let ingest = start(vec![siri]);
        let feed = ingest.find_feed("siri").unwrap();
        wait_until("the next page is requested", async || upstream.requests().len() == 2).await;
        wait_until("the next poll waits for the interval", async || {
            let next = feed.status().next_poll.map(|at| at.unix_seconds());
            next.is_some_and(|at| at - jiff::Timestamp::now().as_second() > 600)
        })
        .await;
        assert_eq!((upstream.requests().len(), trips(&ingest)), (2, vec!["A".to_owned()]));
        ingest.stop_polling().await;
    }
}

#[tokio::test]
async fn failures_and_pages_respect_a_rate_of_one_per_ten_minutes() {
    let answers = vec![
        http("503 Service Unavailable", &[], b""),
        ok(&timetables(&journey("A", ""), true)),
        ok(&timetables(&journey("B", ""), false)),
    ];
    let upstream = Upstream::start(Answer::InTurn(answers)).await;
    let mut siri = siri(&upstream.url("/siri"), request());
    siri.poll = Some(Duration::from_secs(1));
    siri.rate = RequestRate::parse("1/10min").ok();
    let clock = Arc::new(SimulatedClock::new(RealClock::new().wall_time()));
    let ingest = Ingest::start_polling(IngestOptions {
        clock: Arc::clone(&clock) as _,
        ..options(vec![siri])
    });
    let feed = ingest.find_feed("siri").unwrap();
    // The starts of feeds are staggered.
    wait_until("the producer is requested", async || {
        clock.advance_time(Duration::from_millis(1));
        !upstream.requests().is_empty()
    })
    .await;
    let mut request_times = Vec::new();
    for n in 1..=4 {
        wait_until("the producer has responded", async || {
            let status = feed.status();
            status.fetches == n && status.next_poll > Some(clock.wall_time())
        })
        .await;
        assert_eq!(upstream.requests().len() as u64, n);
        request_times.push(clock.monotonic());
        let wait = feed.status().next_poll.unwrap().duration_since(clock.wall_time());
        clock.advance_time(wait + Duration::from_millis(1));
    }
    let gaps: Vec<Duration> = request_times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // The clock may have advanced some milliseconds before the first request was seen.
    let minutes = Duration::from_secs(10 * 60 - 1);
    assert!(gaps.iter().all(|gap| *gap >= minutes && *gap < minutes * 11 / 10), "{gaps:?}");
    assert_eq!(trips(&ingest), ["A", "B"], "both pages are merged");
    ingest.stop_polling().await;
}

#[tokio::test]
async fn a_refusal_shows_the_text_of_the_producer() {
    let fault = "<S:Envelope xmlns:S=\"http://schemas.xmlsoap.org/soap/envelope/\"><S:Body><S:Fault>\
                 <faultcode>S:Server</faultcode><faultstring>No such user hunter2</faultstring>\
                 </S:Fault></S:Body></S:Envelope>";
    let fault = http("500 Internal Server Error", &["content-type: text/xml"], fault.as_bytes());
    let good = ok(&timetables(&journey("J", ""), false));
    let upstream = Upstream::start(Answer::Bytes(good)).await;
    let soap = SiriSourceSettings { envelope: SiriEnvelope::Soap, ..request() };
    let ingest = start(vec![siri(&upstream.url("/siri"), soap)]);
    wait_until("the journey is known", async || trips(&ingest) == ["J"]).await;
    assert!(upstream.requests()[0].contains("soapaction: \"getestimatedtimetable\""));
    upstream.set(Answer::Bytes(fault));
    // SOAP sends refusals with this status, which counts as a valid answer.
    wait_until_failed(&ingest.find_feed("siri").unwrap(), FailureCode::Refused).await;
    let error = ingest.find_feed("siri").unwrap().status().last_error.clone().unwrap();
    assert_eq!(
        (error.detail.as_str(), error.status),
        ("the producer refused the request: No such user ***", Some(500))
    );
    let unwell = |body: &str| http("500 Internal Server Error", &[], body.as_bytes());
    upstream.set(Answer::Bytes(unwell("<html>No luck</html>")));
    wait_until_failed(&ingest.find_feed("siri").unwrap(), FailureCode::Http(500)).await;
    assert_eq!(trips(&ingest), ["J"]);
    upstream.set(Answer::Bytes(unwell(&timetables(&journey("K", ""), false))));
    wait_until("data with status 500 are accepted", async || trips(&ingest) == ["K"]).await;
    let refused = timetables("", false).replace(
        "<EstimatedTimetableDelivery>",
        "<EstimatedTimetableDelivery><Status>false</Status><ErrorCondition>\
         <AccessNotAllowedError><ErrorText>Closed to hunter2</ErrorText>\
         </AccessNotAllowedError></ErrorCondition>",
    );
    upstream.set(Answer::Bytes(ok(&refused)));
    wait_until_failed(&ingest.find_feed("siri").unwrap(), FailureCode::Refused).await;
    let error = ingest.find_feed("siri").unwrap().status().last_error.clone().unwrap();
    assert_eq!(
        error.detail,
        "the producer refused the request: AccessNotAllowedError: Closed to ***"
    );
    assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    assert_eq!(trips(&ingest), ["K"], "the last good answer is served");
    ingest.stop_polling().await;
}

#[tokio::test]
async fn an_extra_call_keeps_planned_calls_unless_the_list_is_complete() {
    let call = |stop: &str, minute: u8, inside: &str| {
        format!(
            "<EstimatedCall><StopPointRef>{stop}</StopPointRef>{inside}\
             <AimedDepartureTime>2026-03-04T07:{minute:02}:00Z</AimedDepartureTime>\
             <ExpectedDepartureTime>2026-03-04T07:{:02}:00Z</ExpectedDepartureTime>\
             </EstimatedCall>",
            minute + 1
        )
    };
    let answer = |complete: bool| {
        let calls = call("C1", 0, "") + &call("C2", 7, "<ExtraCall>true</ExtraCall>");
        ok(&format!(
            "<Siri xmlns=\"http://www.siri.org.uk/siri\"><ServiceDelivery>\
             <ResponseTimestamp>2026-03-04T07:00:00Z</ResponseTimestamp>\
             <EstimatedTimetableDelivery><EstimatedJourneyVersionFrame><EstimatedVehicleJourney>\
             <LineRef>R1</LineRef><FramedVehicleJourneyRef><DataFrameRef>2026-03-04</DataFrameRef>\
             <DatedVehicleJourneyRef>T18</DatedVehicleJourneyRef></FramedVehicleJourneyRef>\
             <EstimatedCalls>{calls}</EstimatedCalls>\
             <IsCompleteStopSequence>{complete}</IsCompleteStopSequence>\
             </EstimatedVehicleJourney></EstimatedJourneyVersionFrame>\
             </EstimatedTimetableDelivery></ServiceDelivery></Siri>"
        ))
    };
    let dir = tempfile::tempdir().unwrap();
    write_city(dir.path());
    let upstream = Upstream::start(Answer::Bytes(answer(false))).await;
    let mut schedule = config("city", "unused");
    schedule.url = lineside_model::SourceLocation::Path(dir.path().to_owned());
    let mut feed = siri(&upstream.url("/siri"), request());
    feed.static_feed = Some(crate::support::feed("city"));
    let clock = Arc::new(SimulatedClock::new(UnixMillis::from_seconds(EIGHT)));
    let feeds = vec![schedule, feed];
    let ingest =
        Ingest::start_polling(IngestOptions { clock: Arc::clone(&clock) as _, ..options(feeds) });
    let board = |stop: &str| {
        let network = ingest.find_feed("city").unwrap().network();
        let board = next_departures(&network, stop, EIGHT, 40).unwrap_or_default();
        let trip_departures =
            board.into_iter().filter(|it| it.trip_id == "T18" && it.expected.is_some());
        trip_departures
            .map(|it| ((it.scheduled.unwrap() - EIGHT) / 60, it.delay))
            .collect::<Vec<_>>()
    };
    wait_until("the extra call is on the board", async || {
        clock.advance_time(Duration::from_millis(5));
        board("C") == [(0, Some(60)), (7, Some(60))]
    })
    .await;
    assert_eq!((board("B"), board("D")), (vec![(5, Some(60))], vec![(10, Some(60))]));
    upstream.set(Answer::Bytes(answer(true)));
    wait_until("a complete stop sequence removes the other calls", async || {
        clock.advance_time(Duration::from_millis(5));
        board("B").is_empty() && board("D").is_empty()
    })
    .await;
    ingest.stop_polling().await;
}

#[tokio::test]
async fn siri_is_detected_by_content_and_joined_by_mapped_ids() {
    let dir = tempfile::tempdir().unwrap();
    write_city(dir.path());
    let body = timetables(&journey("X:VehicleJourney::T1:LOC", ""), false);
    let upstream = Upstream::start(Answer::Bytes(ok(&body))).await;
    let mut schedule = config("city", "unused");
    schedule.url = lineside_model::SourceLocation::Path(dir.path().to_owned());
    let plain =
        FeedConfig { static_feed: Some(feed("city")), ..config("plain", &upstream.url("/plain")) };
    let mut mapped = siri(
        &upstream.url("/mapped"),
        SiriSourceSettings {
            ids: SiriIdMapping::Netex,
            services: vec![SiriService::Timetables, SiriService::Vehicles],
            ..request()
        },
    );
    mapped.static_feed = Some(feed("city"));
    let ingest = start(vec![schedule, plain, mapped]);
    wait_until("both trips are known", async || {
        let state = ingest.find_feed("siri").unwrap().network().state();
        let network = ingest.find_feed("siri").unwrap().network();
        state.trip_updates().count() == 2 && network.dataset().is_some()
    })
    .await;
    assert_eq!(
        ingest.find_feed("plain").unwrap().format(),
        Some(Format::Siri),
        "the format is detected from the content"
    );
    let state = ingest.find_feed("siri").unwrap().network().state();
    let route = |feed: &str| {
        let record = state.trip_updates().find(|record| record.feed.as_str() == feed).unwrap();
        record.join.headsign.clone()
    };
    assert_eq!(route("plain"), None);
    assert!(route("siri").is_some(), "the headsign is missing");
    ingest.stop_polling().await;
}
