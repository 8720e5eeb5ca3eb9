//! Tests of paged answers: parts are not published as the whole.

use std::{sync::Arc, time::Duration};

use lineside_ingest::{Ingest, IngestOptions};
use lineside_model::{FeedConfig, FeedState, MemorySnapshotStore, SiriMode, SiriSourceSettings};
use lineside_sync::{Clock, RealClock, SimulatedClock};
use lineside_testkit::wait_until;

use crate::{
    running::{options, start, start_with},
    siri_producers::{journey, ok, request, siri, timetables, trips},
    upstream::{Answer, Upstream, http},
};

fn page(id: &str, more: bool) -> Vec<u8> {
    ok(&timetables(&journey(id, ""), more))
}

fn is_well(ingest: &Ingest) -> bool {
    ingest.find_feed("siri").unwrap().status().state == FeedState::Ok
}

#[tokio::test]
async fn a_part_of_the_first_answer_is_not_published() {
    let broken = http("503 Service Unavailable", &[], b"");
    let upstream =
        Upstream::start(Answer::InTurn(vec![page("A", true), page("B", true), broken])).await;
    let ingest = start(vec![siri(&upstream.url("/siri"), request())]);
    let feed = ingest.find_feed("siri").unwrap();
    wait_until("the first page has arrived", async || {
        let status = feed.status();
        status.state == FeedState::Unknown && status.reason.contains("page by page")
    })
    .await;
    wait_until("the last page has failed", async || feed.status().failures > 0).await;
    assert_eq!(trips(&ingest), [""; 0], "a part is not published");
    assert!(!is_well(&ingest));
    upstream.set(Answer::Bytes(page("C", false)));
    wait_until("the answer is complete", async || trips(&ingest) == ["A", "B", "C"]).await;
    wait_until("the feed is ok", async || is_well(&ingest)).await;
    ingest.stop_polling().await;
}

#[tokio::test]
async fn an_empty_page_after_more_data_completes_the_answer() {
    let nothing = http("204 No Content", &[], b"");
    let upstream = Upstream::start(Answer::InTurn(vec![page("A", true), nothing])).await;
    let mut siri = siri(&upstream.url("/siri"), request());
    siri.poll = Some(Duration::from_secs(3600));
    let ingest = start(vec![siri]);
    wait_until("the page is published", async || trips(&ingest) == ["A"]).await;
    wait_until("the feed is ok", async || is_well(&ingest)).await;
    ingest.stop_polling().await;
}

#[tokio::test]
async fn an_endless_answer_is_limited_and_reported_until_one_ends() {
    let pages = (0..=200).map(|n| page(&format!("J{n}"), true)).collect();
    let upstream = Upstream::start(Answer::InTurn(pages)).await;
    let mut siri = siri(&upstream.url("/siri"), request());
    siri.poll = Some(Duration::from_secs(3600));
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
    let answered = async |n: u64| {
        wait_until(format!("{n} pages have arrived"), async || {
            let status = feed.status();
            status.fetches == n && status.next_poll > Some(clock.wall_time())
        })
        .await;
        let status = feed.status();
        let wait = status.next_poll.unwrap().duration_since(clock.wall_time());
        let problems = status
            .problems
            .retained_problems()
            .iter()
            .filter(|it| it.code == "too_many_pages")
            .count();
        (wait.as_secs(), problems)
    };
    let advance_clock = |seconds: u64| clock.advance_time(Duration::from_secs(seconds + 1));
    for n in 1..=200 {
        let (wait, problems) = answered(n).await;
        assert!(wait < 5 && problems == 0, "{n}: {wait} s, {problems}");
        advance_clock(wait);
    }
    let (wait, problems) = answered(201).await;
    assert!(wait > 3000 && problems == 1, "{wait} s, {problems}");
    assert_eq!(trips(&ingest).len(), 201);
    upstream.set(Answer::InTurn(vec![page("A", true), page("B", false)]));
    advance_clock(wait);
    let (wait, problems) = answered(202).await;
    assert!(
        wait < 5 && problems == 1,
        "the problem stays until an answer ends: {wait} s, {problems}"
    );
    advance_clock(wait);
    let (wait, problems) = answered(203).await;
    assert!(wait > 3000 && problems == 0, "{wait} s, {problems}");
    assert_eq!(trips(&ingest), ["A", "B"]);
    ingest.stop_polling().await;
}

/// Returns the store of a process that crashed after it knew these trips.
async fn stored_snapshots(feed: &FeedConfig, known: &[&str]) -> Arc<MemorySnapshotStore> {
    let snapshots = Arc::new(MemorySnapshotStore::default());
    let ingest = start_with(vec![feed.clone()], Arc::clone(&snapshots));
    wait_until("all trips are known", async || trips(&ingest) == known).await;
    wait_until("the feed is ok", async || is_well(&ingest)).await;
    ingest.stop_polling().await;
    snapshots
}

#[tokio::test]
async fn after_a_crash_stored_changes_are_not_published_as_full_data() {
    let answers = vec![page("A", false), page("B", false)];
    let upstream = Upstream::start(Answer::InTurn(answers)).await;
    let lite = SiriSourceSettings { mode: SiriMode::Lite, ..request() };
    let changes = siri(&upstream.url("/et"), lite);
    let snapshots = stored_snapshots(&changes, &["A", "B"]).await;
    upstream.set(Answer::HangUp);
    let ingest = start_with(vec![changes], snapshots);
    let feed = ingest.find_feed("siri").unwrap();
    assert!(feed.snapshot().is_some(), "the stored bytes are served");
    wait_until("the first poll has failed", async || feed.status().failures > 0).await;
    assert_eq!(trips(&ingest), [""; 0], "stored changes are not published");
    upstream.set(Answer::Bytes(page("C", false)));
    wait_until("the full answer is published", async || trips(&ingest) == ["C"]).await;
    ingest.stop_polling().await;
}

#[tokio::test]
async fn after_a_crash_a_full_answer_is_published_and_a_page_is_not() {
    let pages = vec![page("A", false), page("B", true), page("C", true)];
    for (answers, known, expected) in
        [(vec![page("A", false)], &["A"][..], &["A"][..]), (pages, &["A", "B", "C"], &[])]
    {
        let upstream = Upstream::start(Answer::InTurn(answers)).await;
        let whole = siri(&upstream.url("/siri"), request());
        let snapshots = stored_snapshots(&whole, known).await;
        upstream.set(Answer::HangUp);
        let ingest = start_with(vec![whole], snapshots);
        let feed = ingest.find_feed("siri").unwrap();
        wait_until("the first poll has failed", async || feed.status().failures > 0).await;
        assert_eq!(trips(&ingest), expected);
        ingest.stop_polling().await;
    }
}
