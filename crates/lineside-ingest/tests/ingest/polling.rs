//! Tests of polling over real sockets: replies of a source, and the resulting feed states.

use std::{fmt, io::Write as _, time::Duration};

use flate2::{Compression, write::GzEncoder};
use lineside_formats::{
    Format,
    gtfs_rt::proto::{FeedHeader, FeedMessage},
};
use lineside_ingest::PollStage;
use lineside_model::{
    FailureCode, FeedConfig, FeedState, FetchPhase, PollQuery, Secret, ServedContentFreshness,
};
use lineside_sync::UnixMillis;
use lineside_testkit::wait_until;
use prost::Message as _;

use crate::{
    running::{body, config, start, wait_until_failed, zip},
    support::*,
    upstream::{Answer, Upstream, http, unmeasured},
};

/// Returns the configuration of a feed whose producer hangs.
fn impatient(id: &str, url: &str) -> FeedConfig {
    FeedConfig { timeout: Duration::from_millis(300), ..config(id, url) }
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn every_stage_of_a_poll_is_timed() {
    let good = http("200 OK", &["etag: \"one\""], &body(48.87));
    let upstream = Upstream::start(Answer::Conditional("\"one\"", good)).await;
    let ingest = start(vec![config("f", &upstream.url("/vp.pb"))]);
    let feed = ingest.find_feed("f").unwrap();
    wait_until("three polls have ended", async || feed.status().fetches >= 3).await;
    ingest.stop_polling().await;
    let times = |stage| ingest.poll_stage_durations(stage);
    assert!(times(PollStage::Fetch).value_count() >= 3, "each poll requests the source");
    for stage in [PollStage::Decode, PollStage::Apply, PollStage::Publish] {
        assert_eq!(
            times(stage).value_count(),
            1,
            "only one poll had new data: {}",
            stage.stage_name()
        );
    }
    assert!(times(PollStage::Fetch).min() > Some(0) && times(PollStage::Decode).min() > Some(0));
}

#[tokio::test]
async fn each_poll_is_archived_with_outcome_and_served_content() {
    let good = http("200 OK", &["etag: \"one\""], &body(48.87));
    let upstream = Upstream::start(Answer::Bytes(http("404 Not Found", &[], b"no"))).await;
    let ingest = start(vec![config("f", &upstream.url("/vp.pb"))]);
    let feed = ingest.find_feed("f").unwrap();
    wait_until_failed(&feed, FailureCode::Http(404)).await;
    upstream.set(Answer::Conditional("\"one\"", good.clone()));
    wait_until("a reply is 304", async || {
        feed.status().outcomes.iter().any(|it| it.0 == "not_modified")
    })
    .await;
    upstream.set(Answer::Bytes(http("500 Internal Server Error", &[], b"")));
    wait_until_failed(&feed, FailureCode::Http(500)).await;
    ingest.stop_polling().await;
    let all = PollQuery { from: UnixMillis(0), only_failed: false, offset: 0, limit: 1_000 };
    let mut polls = ingest.poll_archive().list_polls(feed.id(), all).unwrap();
    polls.reverse();
    assert_eq!(polls.len() as u64, feed.status().fetches);
    assert!(polls.windows(2).all(|pair| pair[0].at <= pair[1].at));
    let find_poll = |outcome: &str| polls.iter().find(|poll| poll.outcome == outcome).unwrap();
    assert_eq!(find_poll("http_404").serving, ServedContentFreshness::Nothing);
    let failure = find_poll("http_404").failure.as_ref().unwrap();
    assert_eq!((failure.phase, failure.status), (Some(FetchPhase::Wait), Some(404)));
    assert!(failure.message.contains("404"), "{failure:?}");
    assert_eq!(
        (find_poll("new").serving, find_poll("new").bytes),
        (ServedContentFreshness::Fresh, body(48.87).len() as u64)
    );
    assert_eq!(
        (find_poll("not_modified").serving, find_poll("not_modified").bytes),
        (ServedContentFreshness::Fresh, 0)
    );
    assert_eq!(find_poll("http_500").serving, ServedContentFreshness::Stale);
    assert!(polls.iter().all(|poll| poll.took > Duration::ZERO));
    let mut incidents =
        ingest.poll_archive().list_feed_state_periods(feed.id(), UnixMillis(0), 100).unwrap();
    incidents.reverse();
    let states: Vec<_> = incidents.iter().map(|incident| incident.state).collect();
    let expect = [FeedState::Unknown, FeedState::Failing, FeedState::Ok, FeedState::Stale];
    assert_eq!(states, expect);
    assert!(incidents.windows(2).all(|pair| pair[0].ended == Some(pair[1].began)));
    assert!(incidents[3].reason.contains("http_500"));
}

#[tokio::test]
async fn requests_are_conditional_and_name_the_client() {
    let first = body(48.87);
    let good =
        http("200 OK", &["etag: \"one\"", "last-modified: Wed, 04 Mar 2026 07:00:00 GMT"], &first);
    let upstream = Upstream::start(Answer::Conditional("\"one\"", good)).await;
    let ingest = start(vec![config("f", &upstream.url("/vp.pb"))]);
    let feed = ingest.find_feed("f").unwrap();
    wait_until("three polls have ended", async || feed.status().fetches >= 3).await;
    let requests = upstream.requests();
    assert!(requests[0].contains("user-agent: test-client/1"), "{}", requests[0]);
    assert!(requests[0].contains("accept-encoding: gzip"));
    assert!(!requests[0].contains("if-none-match"));
    assert!(requests[1].contains("if-none-match: \"one\""));
    assert!(requests[1].contains("if-modified-since: wed, 04 mar 2026 07:00:00 gmt"));
    let status = feed.status();
    assert_eq!((status.state, status.entities, status.failures), (FeedState::Ok, 1, 0));
    assert_eq!(status.outcomes[0], ("new".into(), 1));
    assert_eq!(status.outcomes[1].0, "not_modified");
    let snapshot = feed.snapshot().unwrap();
    assert_eq!((&snapshot.bytes[..], snapshot.file_name.as_str()), (&first[..], "vp.pb"));
    assert_eq!(snapshot.last_modified, Some(UnixMillis::from_seconds(EIGHT)));
    assert_eq!(snapshot.content_type, "application/x-protobuf");
    assert!(ingest.is_ready());
    ingest.stop_polling().await;
}

#[tokio::test]
async fn the_same_bytes_again_publish_nothing() {
    let upstream = Upstream::start(Answer::Bytes(http("200 OK", &[], &body(48.87)))).await;
    let ingest = start(vec![config("f", &upstream.url("/"))]);
    let feed = ingest.find_feed("f").unwrap();
    wait_until("the data are known", async || feed.status().entities == 1).await;
    let revision = feed.network().state().revision;
    let success = feed.status().last_success;
    wait_until("the same body arrives twice", async || {
        feed.status().outcomes.iter().any(|it| it.0 == "same" && it.1 >= 2)
    })
    .await;
    assert_eq!(feed.network().state().revision, revision);
    assert!(feed.status().last_success > success);
    ingest.stop_polling().await;
}

#[tokio::test]
async fn a_bad_reply_keeps_the_last_good_bytes_until_recovery() {
    let first = body(48.87);
    let good = http("200 OK", &[], &first);
    let upstream = Upstream::start(Answer::Bytes(good.clone())).await;
    let ingest = start(vec![impatient("f", &upstream.url("/"))]);
    let feed = ingest.find_feed("f").unwrap();
    let bomb = gzip(&vec![0; 64 << 20]);
    let large = vec![7; 2 << 20];
    let ok = |headers: &[&str], body: &[u8]| Answer::Bytes(http("200 OK", headers, body));
    let cut = |mut bytes: Vec<u8>, n_bytes: usize| {
        bytes.truncate(bytes.len() - n_bytes);
        bytes
    };
    let answers = [
        (Answer::Bytes(http("500 Internal Server Error", &[], b"oops")), FailureCode::Http(500)),
        (Answer::Bytes(http("404 Not Found", &[], b"")), FailureCode::Http(404)),
        (ok(&["content-type: text/html"], b"<!doctype html><p>Soon</p>"), FailureCode::Html),
        (ok(&[], b"certainly no protobuf"), FailureCode::Decode),
        (ok(&[], &cut(first.clone(), 3)), FailureCode::Truncated),
        (Answer::Bytes(cut(good.clone(), 3)), FailureCode::Truncated),
        (ok(&["content-encoding: gzip"], &cut(gzip(&first), 6)), FailureCode::Truncated),
        (ok(&["content-encoding: gzip"], &bomb), FailureCode::TooLarge),
        (ok(&["content-encoding: br"], &first), FailureCode::Decode),
        (ok(&[], &large), FailureCode::TooLarge),
        (Answer::Bytes(unmeasured(&[], &large)), FailureCode::TooLarge),
        (Answer::ThenHang(Vec::new()), FailureCode::Timeout),
        (Answer::ThenHang(cut(good.clone(), 3)), FailureCode::Timeout),
        (Answer::HangUp, FailureCode::Connect),
    ];
    for (answer, code) in answers {
        upstream.set(Answer::Bytes(good.clone()));
        wait_until("the feed is ok", async || feed.status().state == FeedState::Ok).await;
        upstream.set(answer);
        wait_until_failed(&feed, code).await;
        let status = feed.status();
        assert_eq!(status.state, FeedState::Stale, "{}", status.reason);
        assert!(status.reason.contains(&format!("({code})")), "{}", status.reason);
        assert_eq!(feed.snapshot().unwrap().bytes, first);
        assert_eq!(feed.network().state().vehicles().count(), 1);
    }
    ingest.stop_polling().await;
}

#[tokio::test]
async fn a_failure_records_its_phase_status_and_bytes() {
    let first = body(48.87);
    let good = http("200 OK", &[], &first);
    let head = good.len() - first.len();
    let upstream = Upstream::start(Answer::HangUp).await;
    let ingest = start(vec![impatient("f", &upstream.url("/"))]);
    let feed = ingest.find_feed("f").unwrap();
    let zipped = gzip(&[b'x'; 3_000]);
    let cut = http("200 OK", &["content-encoding: gzip"], &zipped[..zipped.len() - 9]);
    for (answer, code, phase, status, bytes) in [
        (Answer::HangUp, FailureCode::Connect, FetchPhase::Wait, None, 0),
        (Answer::ThenHang(Vec::new()), FailureCode::Timeout, FetchPhase::Wait, None, 0),
        (
            Answer::ThenHang(good[..head + 9].into()),
            FailureCode::Timeout,
            FetchPhase::Body,
            Some(200),
            9,
        ),
        (
            Answer::Bytes(good[..head + 8].into()),
            FailureCode::Truncated,
            FetchPhase::Body,
            Some(200),
            8,
        ),
        (
            Answer::Bytes(cut),
            FailureCode::Truncated,
            FetchPhase::Body,
            Some(200),
            zipped.len() as u64 - 9,
        ),
    ] {
        upstream.set(answer);
        let last_error = || {
            let error = feed.status().last_error.clone()?;
            Some((error.code, error.phase?, error.status, error.bytes))
        };
        let what = fmt::from_fn(|f| {
            write!(f, "the poll fails with {code} in {phase}: {:?}", last_error())
        });
        wait_until(what, async || last_error() == Some((code, phase, status, bytes))).await;
    }
    let error = feed.status().last_error.clone().unwrap();
    assert_eq!(error.head, Some("x".repeat(512)), "the head is decompressed");
    ingest.stop_polling().await;
}

#[tokio::test]
async fn a_body_that_drips_is_a_timeout() {
    let first = body(48.87);
    let good = http("200 OK", &[], &first);
    let upstream = Upstream::start(Answer::Bytes(good.clone())).await;
    let ingest = start(vec![impatient("f", &upstream.url("/"))]);
    let feed = ingest.find_feed("f").unwrap();
    wait_until("the data are known", async || feed.status().entities == 1).await;
    let hour = vec![b'x'; 180_000];
    let reply = http("200 OK", &[], &hour);
    let (head, rest) = reply.split_at(reply.len() - hour.len());
    upstream.set(Answer::Drip(head.into(), rest.into()));
    wait_until_failed(&feed, FailureCode::Timeout).await;
    let failure = feed.status().last_error.clone().unwrap();
    assert_eq!((failure.phase, failure.status), (Some(FetchPhase::Body), Some(200)));
    assert!((1..1_024).contains(&failure.bytes), "{}", failure.bytes);
    assert_eq!(feed.snapshot().unwrap().bytes, first);
    ingest.stop_polling().await;
}

#[tokio::test]
async fn compressed_bodies_are_accepted() {
    let first = body(48.87);
    let answer = http("200 OK", &["content-encoding: gzip"], &gzip(&first));
    let upstream = Upstream::start(Answer::Bytes(answer)).await;
    let ingest = start(vec![config("f", &upstream.url("/"))]);
    let feed = ingest.find_feed("f").unwrap();
    wait_until("the data are known", async || feed.status().entities == 1).await;
    assert_eq!(feed.snapshot().unwrap().bytes, first);
    ingest.stop_polling().await;
}

#[tokio::test]
async fn secrets_are_sent_to_the_configured_origin_only() {
    let other_upstream = Upstream::start(Answer::Bytes(http("200 OK", &[], &body(48.87)))).await;
    let location = format!("location: {}", other_upstream.url("/moved"));
    let upstream = Upstream::start(Answer::Bytes(http("302 Found", &[&location], b""))).await;
    let mut config = config("f", &upstream.url("/vp?line=4"));
    config.headers = vec![("X-Api-Key".into(), Secret::new("s3cret"))];
    config.query = vec![("token".into(), Secret::new("t0ken"))];
    let ingest = start(vec![config]);
    let feed = ingest.find_feed("f").unwrap();
    wait_until("the data are known", async || feed.status().entities == 1).await;
    let request = &upstream.requests()[0];
    assert!(
        request.contains("get /vp?line=4&token=t0ken") && request.contains("x-api-key: s3cret")
    );
    let redirected_request = &other_upstream.requests()[0];
    assert!(redirected_request.starts_with("get /moved http"), "{redirected_request}");
    assert!(!redirected_request.contains("s3cret") && !redirected_request.contains("t0ken"));
    // Secrets are not shown in failures either.
    upstream.set(Answer::HangUp);
    wait_until_failed(&feed, FailureCode::Connect).await;
    assert!(!format!("{:?}", feed.status()).contains("t0ken"));
    ingest.stop_polling().await;
}

#[tokio::test]
async fn the_user_of_the_url_follows_redirects_on_the_same_host() {
    let upstream = Upstream::start(Answer::HangUp).await;
    let location = format!("location: {}", upstream.url("/moved"));
    upstream.set(Answer::Bytes(http("302 Found", &[&location], b"")));
    let url = upstream.url("/").replace("http://", "http://me:p4ss%2F@");
    let ingest = start(vec![config("f", &url)]);
    wait_until("the redirect is followed", async || upstream.requests().len() >= 2).await;
    ingest.stop_polling().await;
    let requests = upstream.requests();
    assert!(requests[1].starts_with("get /moved "), "{}", requests[1]);
    for request in &requests[..2] {
        // `me:p4ss/` in base64, lower-cased like all recorded request heads.
        assert!(request.contains("authorization: basic bwu6cdrzcy8="), "{request}");
    }
}

#[tokio::test]
async fn a_realtime_body_is_limited_by_the_decoder_limit() {
    const DECODED_MAX: u64 = 128 << 20;
    let large = [body(48.87), vec![0; 132 << 20]].concat();
    let length = large.len() as u64;
    let upstream = Upstream::start(Answer::Bytes(unmeasured(&[], &large))).await;
    let with = |id: &str, format| FeedConfig {
        format,
        max_bytes: 512 << 20,
        ..config(id, &upstream.url("/"))
    };
    for (id, format) in [("promised", Some(Format::GtfsRt)), ("seen", None)] {
        let ingest = start(vec![with(id, format)]);
        let feed = ingest.find_feed(id).unwrap();
        wait_until_failed(&feed, FailureCode::TooLarge).await;
        let bytes = feed.status().last_error.as_ref().unwrap().bytes;
        assert!(bytes <= DECODED_MAX && bytes < length, "{id}: {bytes}");
        ingest.stop_polling().await;
    }
}

#[tokio::test]
async fn a_timestamp_outside_the_calendar_is_ignored() {
    for timestamp in [i64::MAX as u64, u64::MAX] {
        let header = FeedHeader {
            gtfs_realtime_version: "2.0".into(),
            timestamp: Some(timestamp),
            ..Default::default()
        };
        let mut entity = vehicle("1", None, 48.87, 2.34, 0);
        entity.vehicle.as_mut().unwrap().timestamp = Some(timestamp);
        let message = FeedMessage { header, entity: vec![entity] }.encode_to_vec();
        let upstream = Upstream::start(Answer::Bytes(http("200 OK", &[], &message))).await;
        let ingest = start(vec![config("f", &upstream.url("/"))]);
        let feed = ingest.find_feed("f").unwrap();
        wait_until("the message is accepted", async || feed.status().entities == 1).await;
        let status = feed.status();
        assert_eq!((status.data_time, status.last_error.as_ref()), (None, None), "{timestamp}");
        assert_ne!(status.state, FeedState::Ok, "{timestamp}: {}", status.reason);
        ingest.stop_polling().await;
    }
}

#[tokio::test]
async fn redirects_are_limited() {
    let upstream = Upstream::start(Answer::HangUp).await;
    upstream.set(Answer::Bytes(http("302 Found", &["location: /again"], b"")));
    let ingest = start(vec![config("f", &upstream.url("/"))]);
    let feed = ingest.find_feed("f").unwrap();
    wait_until_failed(&feed, FailureCode::Http(302)).await;
    assert_eq!(feed.status().state, FeedState::Failing);
    ingest.stop_polling().await;
}

#[tokio::test]
async fn an_unusable_reply_after_a_redirect_names_its_host() {
    let bad = http("200 OK", &[], b"certainly no protobuf");
    let other = Upstream::start(Answer::Bytes(bad)).await;
    let to = format!("location: http://localhost:{}/secret-path", other.address.port());
    let upstream = Upstream::start(Answer::Bytes(http("302 Found", &[&to], b""))).await;
    let ingest =
        start(vec![FeedConfig { format: Some(Format::GtfsRt), ..config("f", &upstream.url("/")) }]);
    let feed = ingest.find_feed("f").unwrap();
    wait_until_failed(&feed, FailureCode::Decode).await;
    let error = feed.status().last_error.clone().unwrap();
    assert!(error.detail.contains("localhost"), "{error:?}");
    assert!(!error.detail.contains("secret-path"), "{error:?}");
    assert!(error.head.is_none_or(|head| head.is_empty()));
    ingest.stop_polling().await;
}

#[tokio::test]
async fn connection_tls_dns_and_file_failures_are_distinguished() {
    // A server that sends data first, and not TLS.
    let talker = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let talks_at = talker.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = talker.accept().await {
            let _ =
                tokio::io::AsyncWriteExt::write_all(&mut socket, b"HTTP/1.1 400 Bad Request").await;
        }
    });
    // No name may be that long, so no resolver is contacted.
    let unnamed = format!("http://{}.invalid/", "x".repeat(64));
    let ingest = start(vec![
        config("connect", "http://127.0.0.1:1/"),
        config("tls", &format!("https://{talks_at}/")),
        config("dns", &unnamed),
        config("file", "/no/such/file.pb"),
    ]);
    for (id, code, phase) in [
        ("connect", FailureCode::Connect, Some(FetchPhase::Connect)),
        ("tls", FailureCode::Tls, Some(FetchPhase::Tls)),
        ("dns", FailureCode::Dns, Some(FetchPhase::Dns)),
        ("file", FailureCode::File, None),
    ] {
        let feed = ingest.find_feed(id).unwrap();
        wait_until_failed(&feed, code).await;
        assert_eq!(feed.status().last_error.as_ref().unwrap().phase, phase, "{id}");
    }
    ingest.stop_polling().await;
}

#[tokio::test]
async fn gtfs_rt_json_is_accepted() {
    let json = br#"{"header":{"gtfs_realtime_version":"2.0","timestamp":4000000000},
        "entity":[{"id":"1","vehicle":{"vehicle":{"id":"7"},"position":{"latitude":48.8,"longitude":2.3}}}]}"#;
    let upstream = Upstream::start(Answer::Bytes(http("200 OK", &[], json))).await;
    let ingest = start(vec![config("f", &upstream.url("/vp.json"))]);
    let feed = ingest.find_feed("f").unwrap();
    wait_until("the data are known", async || feed.network().state().vehicles().count() == 1).await;
    assert_eq!(feed.network().state().vehicles().next().unwrap().id, "7");
    ingest.stop_polling().await;
}

#[tokio::test]
async fn raw_feeds_are_served_unchanged() {
    let upstream =
        Upstream::start(Answer::Bytes(http("200 OK", &[], b"stop;name\n1;Here\n"))).await;
    let ingest = start(vec![config("f", &upstream.url("/list.csv"))]);
    let feed = ingest.find_feed("f").unwrap();
    wait_until("the data are known", async || feed.snapshot().is_some()).await;
    wait_until("the feed is ok", async || feed.status().state == FeedState::Ok).await;
    assert_eq!(feed.snapshot().unwrap().file_name, "list.csv");
    ingest.stop_polling().await;
}

#[tokio::test]
async fn an_error_message_as_first_reply_does_not_fix_the_format() {
    let refusal = http("200 OK", &[], b"{\"error\": \"too many requests\"}");
    let upstream = Upstream::start(Answer::Bytes(refusal)).await;
    let ingest = start(vec![config("f", &upstream.url("/vp.pb"))]);
    let feed = ingest.find_feed("f").unwrap();
    wait_until("the message is served raw", async || feed.format() == Some(Format::Raw)).await;
    upstream.set(Answer::Bytes(http("200 OK", &[], &body(48.87))));
    wait_until("the format is GTFS-Realtime", async || feed.format() == Some(Format::GtfsRt)).await;
    wait_until("the records are published", async || feed.status().entities == 1).await;
    // From then on, a body that does not look like the format is a failure.
    upstream.set(Answer::Bytes(http("200 OK", &[], b"{\"error\": \"too many requests\"}")));
    wait_until("the body is rejected", async || feed.status().last_error.is_some()).await;
    assert_eq!(feed.format(), Some(Format::GtfsRt));
    ingest.stop_polling().await;
}

#[tokio::test]
async fn a_raw_discovery_file_has_a_problem_about_its_format() {
    let discovery = br#"{"last_updated":1,"ttl":60,"version":"2.3","data":{"en":{"feeds":[
        {"name":"station_information","url":"http://127.0.0.1:9/station_information.json"}]}}}"#;
    let upstream = Upstream::start(Answer::Bytes(http("200 OK", &[], discovery))).await;
    let url = upstream.url("/gbfs.json");
    let mut raw_feed = config("raw", &url);
    raw_feed.format = Some(Format::Raw);
    let ingest = start(vec![config("unsaid", &url), raw_feed]);
    let codes = |id: &str| -> Option<Vec<&'static str>> {
        let feed = ingest.find_feed(id).unwrap();
        let status = feed.status();
        (status.state == FeedState::Ok).then(|| {
            status.problems.retained_problems().iter().map(|problem| problem.code).collect()
        })
    };
    wait_until("both feeds are ok", async || codes("unsaid").is_some() && codes("raw").is_some())
        .await;
    assert_eq!(codes("unsaid").unwrap(), ["looks_like_gbfs"]);
    assert_eq!(codes("raw").unwrap(), [""; 0], "the operator set format = raw");
    ingest.stop_polling().await;
}

#[tokio::test]
async fn a_schedule_stays_until_a_valid_new_one_is_loaded() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("city.zip");
    std::fs::write(&path, zip(0)).unwrap();
    let ingest = start(vec![config("city", path.to_str().unwrap())]);
    let feed = ingest.find_feed("city").unwrap();
    let network = feed.network();
    let headsign = || {
        let timetable = network.timetable()?;
        let trip = timetable.find_trip("T18")?;
        Some(timetable.trip(trip).headsign?.to_owned())
    };
    wait_until("the first version is loaded", async || headsign().as_deref() == Some("Airport"))
        .await;
    wait_until("the feed is ok", async || feed.status().state == FeedState::Ok).await;
    assert_eq!(feed.status().entities, 102);
    let revision = network.state().revision;
    let mut cut = zip(1);
    cut.truncate(cut.len() / 2);
    for (bad, code) in [
        (cut, FailureCode::Truncated),
        (b"route_id,route_type\n1,3\n".to_vec(), FailureCode::Decode),
        (b"<html>Come back later</html>".to_vec(), FailureCode::Html),
    ] {
        std::fs::write(&path, bad).unwrap();
        let failed =
            async || feed.status().last_error.as_ref().is_some_and(|error| error.code == code);
        wait_until(format!("{code}"), failed).await;
        assert_eq!(feed.status().state, FeedState::Stale);
        assert_eq!(headsign().as_deref(), Some("Airport"));
        assert_eq!(feed.snapshot().unwrap().bytes, zip(0));
    }
    std::fs::write(&path, zip(1)).unwrap();
    wait_until("the next version is loaded", async || headsign().as_deref() == Some("Aéroport"))
        .await;
    wait_until("the feed is ok", async || feed.status().state == FeedState::Ok).await;
    assert!(network.state().revision > revision);
    ingest.stop_polling().await;
}
