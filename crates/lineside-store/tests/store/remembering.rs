//! Records remain across a restart, and are deleted when they expire.

use std::time::Duration;

use lineside_model::{
    ArchiveSpan, FeedAvailabilityTimelines, FeedState, LastPollOutcome, MemoryArchive, PollArchive,
    PollQuery,
};

use lineside_store::NotificationRow;

use super::*;

/// Records two hours of polls by the minute, every tenth of them failed, and the states.
fn tell(archive: &dyn PollArchive) {
    archive.record_feed_state_change(
        &feed("city"),
        FeedState::Unknown,
        "has not been polled yet",
        EIGHT,
    );
    for minute in 0..120 {
        let at = EIGHT + Duration::from_secs(minute * 60);
        let failed = minute % 10 == 9;
        archive.record_poll(&feed("city"), poll(at, failed));
        match minute % 10 {
            0 => archive.record_feed_state_change(
                &feed("city"),
                FeedState::Ok,
                "responds with fresh data",
                at,
            ),
            9 => archive.record_feed_state_change(
                &feed("city"),
                FeedState::Stale,
                "http_500: no",
                at,
            ),
            _ => {}
        }
    }
}

#[test]
fn a_pause_is_recorded_after_earlier_polls() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    let city = feed("city");
    store.record_poll(&city, poll(EIGHT, true));
    store.record_polling_pause(&city, EIGHT, ServedContentFreshness::Fresh);
    let later = EIGHT + Duration::from_secs(3_600);
    store.record_polling_pause(&city, later, ServedContentFreshness::Nothing);
    store.flush_writes().unwrap();
    drop(store);
    let bins = fixture.open().list_poll_bins(&city, ArchiveSpan::Day, EIGHT).unwrap();
    let known = bins.iter().map(|bin| (bin.polls, bin.failed, bin.last, bin.last_serving));
    let expect = [
        (1, 1, LastPollOutcome::Paused, ServedContentFreshness::Fresh),
        (0, 0, LastPollOutcome::Paused, ServedContentFreshness::Nothing),
    ];
    assert_eq!(known.collect::<Vec<_>>(), expect);
}

#[test]
fn the_store_and_the_memory_archive_agree() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    let memory = MemoryArchive::new(Arc::<SimulatedClock>::clone(&fixture.clock));
    tell(&store);
    tell(&memory);
    store.flush_writes().unwrap();
    fixture.clock.advance_time(Duration::from_secs(2 * 3600));
    let now = EIGHT + Duration::from_secs(2 * 3600);
    for span in ArchiveSpan::ALL {
        let of = |archive: &dyn PollArchive| {
            FeedAvailabilityTimelines::read_from_archive(archive, &feed("city"), span, now).unwrap()
        };
        let (from_store, from_memory) = (of(&store), of(&memory));
        assert_eq!(from_store.source, from_memory.source);
        assert_eq!(from_store.serving, from_memory.serving);
        assert_eq!(from_store.bins, from_memory.bins);
        assert!(from_store.source.iter().any(|stretch| stretch.failed > 0));
        let later = now.0 - 30 * 60_000;
        let bins = |archive: &dyn PollArchive| {
            archive.list_poll_bins(&feed("city"), span, lineside_sync::UnixMillis(later)).unwrap()
        };
        assert_eq!(bins(&store), bins(&memory));
    }
    for query in [
        EVERYTHING,
        PollQuery { only_failed: true, offset: 2, limit: 5, ..EVERYTHING },
        PollQuery { from: EIGHT + Duration::from_secs(3_600), ..EVERYTHING },
    ] {
        let of = |archive: &dyn PollArchive| archive.list_polls(&feed("city"), query).unwrap();
        assert_eq!(of(&store), of(&memory));
        assert!(!of(&store).is_empty());
    }
    let of = |archive: &dyn PollArchive| {
        archive.list_feed_state_periods(&feed("city"), EIGHT, 7).unwrap()
    };
    assert_eq!(of(&store), of(&memory));
    assert_eq!(of(&store).len(), 7);
    assert!(store.list_polls(&feed("elsewhere"), EVERYTHING).unwrap().is_empty());
}

#[test]
fn a_restart_loses_nothing_and_shows_the_downtime() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    tell(&store);
    fixture.clock.advance_time(Duration::from_secs(2 * 3600));
    drop(store);
    fixture.clock.advance_time(Duration::from_secs(3 * 3600));
    let store = fixture.open();
    assert_eq!(n_polls(&store), 120);
    let now = EIGHT + Duration::from_secs(5 * 3600);
    let strips =
        FeedAvailabilityTimelines::read_from_archive(&store, &feed("city"), ArchiveSpan::Day, now)
            .unwrap();
    let last = strips.source.last().unwrap();
    let states: Vec<_> = strips.source.iter().map(|stretch| stretch.state.as_str()).collect();
    assert_eq!(states[states.len() - 2..], ["failed", "off"]);
    assert_eq!(last.until, now);
    // The incident that was open at the end is now closed.
    let incidents = store.list_feed_state_periods(&feed("city"), EIGHT, 100).unwrap();
    assert_eq!(incidents[0].ended, Some(EIGHT + Duration::from_secs(2 * 3600)));
    assert_eq!(store.list_server_runs(EIGHT).unwrap().len(), 2);
}

#[test]
fn polls_are_deleted_after_a_day_and_bins_as_configured() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    tell(&store);
    store.flush_writes().unwrap();
    fixture.clock.advance_time(Duration::from_secs(2 * 86_400));
    // A write triggers the deletion of old rows.
    store.record_poll(&feed("other"), poll(EIGHT + Duration::from_secs(2 * 86_400), false));
    wait_until("only failed polls are left", || n_polls(&store) == 12);
    let bins = |span: ArchiveSpan| store.list_poll_bins(&feed("city"), span, EIGHT).unwrap();
    assert_eq!(bins(ArchiveSpan::Day).len(), 1, "the newest failed poll is left");
    assert_eq!(bins(ArchiveSpan::Month).iter().map(|bin| bin.polls).sum::<u32>(), 120);
    fixture.clock.advance_time(KEEP.availability);
    store.record_poll(&feed("other"), poll(EIGHT + KEEP.availability, false));
    wait_until("no row is left", || n_polls(&store) == 0);
    assert_eq!(bins(ArchiveSpan::Month).len(), 1);
    let incidents = store.list_feed_state_periods(&feed("city"), EIGHT, 100).unwrap();
    assert!(incidents.iter().all(|incident| incident.ended.is_none()), "{incidents:?}");
}

#[test]
fn notifications_survive_a_restart_until_they_expire() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    let row = NotificationRow {
        target: "a1".to_owned(),
        feed: feed("city"),
        kind: "state".to_owned(),
        summary: "failing".to_owned(),
        at: EIGHT,
        pending: Some("{}".to_owned()),
    };
    let other = NotificationRow { kind: "expiry".to_owned(), pending: None, ..row.clone() };
    store.store_notification(row.clone());
    store.store_notification(other.clone());
    store.flush_writes().unwrap();
    drop(store);
    let store = fixture.open();
    assert_eq!(store.list_notifications().unwrap().len(), 2);
    let taken = NotificationRow { pending: None, at: EIGHT + Duration::from_secs(9), ..row };
    store.store_notification(taken.clone());
    store.flush_writes().unwrap();
    assert_eq!(
        store.list_notifications().unwrap(),
        [other, taken],
        "the new value replaces the earlier one"
    );
    drop(store);
    fixture.clock.advance_time(Duration::from_secs(400 * 86_400));
    let store = fixture.open();
    store.flush_writes().unwrap();
    wait_until("old notifications are deleted", || store.list_notifications().unwrap().is_empty());
}
