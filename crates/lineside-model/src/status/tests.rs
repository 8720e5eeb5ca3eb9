//! Tests of feed states.

use super::*;
use crate::fetch_failure::{FailureCode, FetchError};

const RULES: HealthRules = HealthRules {
    late_after: Duration::from_secs(300),
    max_age: None,
    paused: false,
    ended: None,
    ttl: Duration::ZERO,
    is_replay: false,
    replay_has_ended: false,
    expectation: ContentExpectation {
        n_active_trips: None,
        n_expected: None,
        n_reported: 0,
        has_trip_data: true,
        last_message_at: UnixMillis(0),
        unchanged_since: UnixMillis(0),
    },
};

fn good(at: i64) -> FeedStatus {
    FeedStatus {
        last_success: Some(UnixMillis::from_seconds(at)),
        data_time: Some(UnixMillis::from_seconds(at)),
        entities: 3,
        format: Some(Format::GtfsRt),
        ..FeedStatus::default()
    }
}

fn failed(mut status: FeedStatus, at: i64) -> FeedStatus {
    let at = UnixMillis::from_seconds(at);
    let detail = "the server returned 500 Internal Server Error";
    status.last_error =
        Some(FetchError::new(FailureCode::Http(500), detail).into_fetch_failure(at));
    status
}

fn check(
    mut status: FeedStatus,
    now: i64,
    rules: &HealthRules,
    state: FeedState,
    expected_message: &str,
) {
    let now = UnixMillis::from_seconds(now);
    status.update_state(now, now, rules);
    assert_eq!(status.state, state, "{}", status.reason);
    assert!(status.reason.contains(expected_message), "{}", status.reason);
}

#[test]
fn each_state_has_its_reason() {
    check(FeedStatus::default(), 1000, &RULES, FeedState::Unknown, "not been polled");
    check(good(1000), 1010, &RULES, FeedState::Ok, "fresh");
    let replay = HealthRules { is_replay: true, ..RULES };
    let over = HealthRules { replay_has_ended: true, ..replay };
    check(good(1_000), 1_000, &over, FeedState::Stale, "recording has ended");
    check(good(1000), 1010, &replay, FeedState::Ok, REPLAY_REASON);
    check(good(1000), 1301, &replay, FeedState::Late, "more than 5 min old");
    check(good(1000), 1301, &RULES, FeedState::Late, "more than 5 min old");
    check(good(1000), 4601, &RULES, FeedState::Stale, "1 h old");
    check(good(2000), 1000, &RULES, FeedState::Late, "ahead");
    check(failed(good(1000), 1010), 1010, &RULES, FeedState::Stale, "http_500");
    check(failed(good(1000), 1310), 1310, &RULES, FeedState::Failing, "for more than 5 min");
    check(failed(FeedStatus::default(), 5), 5, &RULES, FeedState::Failing, "no data received");
    check(FeedStatus { entities: 0, ..good(1000) }, 1000, &RULES, FeedState::Empty, "is empty");
    let gathering = FeedStatus { is_gathering: true, entities: 0, ..good(1000) };
    check(gathering.clone(), 1000, &RULES, FeedState::Unknown, "not complete");
    check(failed(gathering, 1010), 1010, &RULES, FeedState::Stale, "http_500");
    let restored = FeedStatus { is_restored: true, ..good(1000) };
    check(restored, 9000, &RULES, FeedState::Unknown, "since the start; the last good data");
    let strict = HealthRules { max_age: Some(Duration::from_secs(60)), ..RULES };
    check(failed(good(1000), 1070), 1070, &strict, FeedState::Failing, "too old");
}

/// Updates a status at a time and returns the time since which its data are unreliable, in seconds.
fn unreliable_since(status: &mut FeedStatus, now: i64, rules: &HealthRules) -> Option<i64> {
    let now = UnixMillis::from_seconds(now);
    status.update_state(now, now, rules);
    status.unreliable_since.map(UnixMillis::unix_seconds)
}

#[test]
fn data_are_unreliable_since_their_timestamp_in_every_state() {
    let mut status = good(1000);
    assert_eq!(unreliable_since(&mut status, 1010, &RULES), None);
    status = failed(status, 1020);
    assert_eq!(unreliable_since(&mut status, 1020, &RULES), None, "the data are seconds old");
    for (now, state) in [(1310, FeedState::Failing), (9000, FeedState::Failing)] {
        assert_eq!(unreliable_since(&mut status, now, &RULES), Some(1000));
        assert_eq!(status.state, state);
    }
    let paused = HealthRules { paused: true, ..RULES };
    assert_eq!(unreliable_since(&mut status, 9010, &paused), Some(1000), "paused during an outage");
    assert_eq!(unreliable_since(&mut good(1000), 1010, &paused), None, "paused while ok");
    let mut status = good(9000);
    assert_eq!(unreliable_since(&mut status, 9010, &RULES), None, "ok again");
    // Late, then stale.
    for now in [9400, 20_000] {
        assert_eq!(unreliable_since(&mut status, now, &RULES), Some(9000));
    }
    status.is_restored = true;
    assert_eq!(unreliable_since(&mut status, 20_001, &RULES), Some(9000), "after a restart");
}

#[test]
fn a_gbfs_system_is_unreliable_since_the_time_of_its_oldest_file() {
    // The discovery file has no time, and its source answers.
    let system = FeedStatus { format: Some(Format::Gbfs), data_time: None, ..good(9000) };
    let stale_file = Some((FeedState::Stale, "1 of 8 files".to_owned()));
    let files_data_time = Some(UnixMillis::from_seconds(1000));
    let mut stale = FeedStatus { worst_file_state: stale_file, files_data_time, ..system.clone() };
    assert_eq!(unreliable_since(&mut stale, 9010, &RULES), Some(1000));
    let mut fine = FeedStatus { files_data_time, ..system };
    assert_eq!(unreliable_since(&mut fine, 9010, &RULES), None, "no file is in trouble");
}

#[test]
fn data_without_a_timestamp_are_unreliable_since_detection() {
    assert_eq!(
        unreliable_since(&mut good(2000), 1000, &RULES),
        Some(1000),
        "the timestamp is in the future"
    );
    let never = failed(FeedStatus::default(), 1000);
    assert_eq!(
        unreliable_since(&mut never.clone(), 1000, &RULES),
        Some(1000),
        "no data have arrived"
    );
    let mut empty = FeedStatus { entities: 0, ..good(1000) };
    assert_eq!(unreliable_since(&mut empty, 1001, &RULES), Some(1000));
    let schedule = FeedStatus { format: Some(Format::Gtfs), ..good(1000) };
    assert_eq!(unreliable_since(&mut failed(schedule, 9000), 9000, &RULES), None, "a schedule");
}

#[test]
fn the_expected_content_depends_on_the_running_trips() {
    let expecting = |n_active, n_reported, unchanged_since| HealthRules {
        expectation: ContentExpectation {
            n_active_trips: Some(n_active),
            n_expected: Some(f64::from(n_active) * 0.9),
            n_reported,
            has_trip_data: true,
            last_message_at: UnixMillis::from_seconds(1000),
            unchanged_since: UnixMillis::from_seconds(unchanged_since),
        },
        ..RULES
    };
    let nothing = FeedStatus { entities: 0, ..good(1000) };
    check(nothing.clone(), 1000, &expecting(0, 0, 0), FeedState::Ok, "no trips are running");
    check(nothing, 1000, &expecting(50, 0, 0), FeedState::Empty, "is empty");
    let morning = expecting(50, 10, 1000);
    check(good(1000), 1000, &morning, FeedState::Empty, "less than half");
    check(good(1000), 1000, &expecting(50, 40, 1000), FeedState::Ok, "fresh");
    check(good(1000), 1000, &expecting(50, 40, 600), FeedState::Late, "unchanged");
    check(good(1000), 1000, &expecting(5, 40, 600), FeedState::Ok, "fresh");
}

#[test]
fn a_feed_that_never_had_trips_or_vehicles_may_be_empty() {
    let about_else = |with_active| HealthRules {
        expectation: ContentExpectation {
            has_trip_data: false,
            n_active_trips: with_active,
            ..RULES.expectation
        },
        ..RULES
    };
    let nothing = FeedStatus { entities: 0, ..good(1000) };
    for n_active in [None, Some(50)] {
        check(nothing.clone(), 1000, &about_else(n_active), FeedState::Ok, "so far");
    }
    let schedule = FeedStatus { format: Some(Format::Gtfs), ..nothing };
    check(schedule, 1000, &about_else(None), FeedState::Empty, "is empty");
}

#[test]
fn an_empty_body_is_judged_like_an_empty_message() {
    let with_active = |n_active_trips| HealthRules {
        expectation: ContentExpectation { n_active_trips, ..RULES.expectation },
        ..RULES
    };
    let at = UnixMillis::from_seconds(9_000);
    // The age of the earlier good data is irrelevant.
    let nothing = FeedStatus { empty_since: Some(at), ..good(1000) };
    check(nothing.clone(), 9_000, &with_active(Some(0)), FeedState::Ok, "no trips are running");
    check(nothing.clone(), 9_000, &with_active(Some(50)), FeedState::Empty, "is empty");
    check(nothing.clone(), 9_000, &with_active(None), FeedState::Empty, "is empty");
    check(failed(nothing, 9_000), 9_000, &with_active(Some(0)), FeedState::Failing, "http_500");
    let first = FeedStatus { empty_since: Some(at), ..FeedStatus::default() };
    check(first, 9_000, &with_active(Some(0)), FeedState::Ok, "no trips are running");
}

#[test]
fn since_changes_only_with_the_state() {
    let mut status = good(1000);
    let at = UnixMillis::from_seconds;
    status.update_state(at(1000), at(1000), &RULES);
    status.update_state(at(1100), at(1100), &RULES);
    assert_eq!(status.since, at(1000));
    status.update_state(at(1400), at(1400), &RULES);
    assert_eq!((status.state, status.since), (FeedState::Late, at(1400)));
}

#[test]
fn outcomes_are_counted_by_name() {
    let mut status = FeedStatus::default();
    for outcome in ["new", "same", "new", "http_500"] {
        status.count_poll_outcome(outcome);
    }
    assert_eq!(status.fetches, 4);
    assert_eq!(status.outcomes[0], ("new".into(), 2));
}

#[test]
fn the_reason_has_the_age_and_very_old_data_are_stale() {
    let strict = HealthRules { late_after: Duration::from_secs(3 * 3600), ..RULES };
    let day = 24 * 3600;
    check(good(1000), 1000 + 900, &RULES, FeedState::Late, "more than 10 min old");
    check(good(1000), 1000 + 3_599, &RULES, FeedState::Late, "more than 50 min old");
    check(good(1000), 1000 + 7_300, &RULES, FeedState::Stale, "2 h old");
    check(good(1000), 1000 + 3_009 * day + 5, &RULES, FeedState::Stale, "3\u{202f}009 days old");
    check(good(1000), 1000 + 4 * 3600, &strict, FeedState::Late, "4 h old");
    check(good(1000), 1000 + 2 * day, &strict, FeedState::Stale, "2 days old");
    let alerts = FeedStatus { entities: 0, has_only_alerts: true, ..good(1000) };
    let about_alerts = HealthRules {
        expectation: ContentExpectation { has_trip_data: false, ..RULES.expectation },
        ..RULES
    };
    check(alerts.clone(), 1000 + day, &about_alerts, FeedState::Ok, "is empty");
    check(alerts, 1000 + 1_111 * day, &about_alerts, FeedState::Stale, "1\u{202f}111 days old");
}

#[test]
fn an_impossible_timestamp_is_not_fresh() {
    let status = FeedStatus { data_time: None, has_impossible_time: true, ..good(1000) };
    check(status, 1000, &RULES, FeedState::Late, "impossible");
}

#[test]
fn a_schedule_is_expired_unless_its_source_keeps_failing() {
    let schedule = FeedStatus { format: Some(Format::Gtfs), data_time: None, ..good(1000) };
    let end = EndOfService { last_day: jiff::civil::date(2024, 6, 1), at: UnixMillis(7) };
    let ended = HealthRules { ended: Some(end), ..RULES };
    check(schedule.clone(), 1000, &RULES, FeedState::Ok, "fresh");
    check(schedule.clone(), 1000, &ended, FeedState::Expired, "1 Jun 2024");
    check(failed(schedule.clone(), 1010), 1010, &ended, FeedState::Expired, "1 Jun 2024");
    check(failed(schedule.clone(), 1310), 1310, &ended, FeedState::Failing, "http_500");
    let mut status = schedule.clone();
    status.update_state(UnixMillis(9), UnixMillis(9), &ended);
    assert_eq!(status.since, end.at);
    let empty = FeedStatus { entities: 0, ..schedule };
    check(empty, 1000, &ended, FeedState::Empty, "is empty");
}

#[test]
fn a_paused_feed_keeps_the_state_before_its_pause() {
    let at = UnixMillis::from_seconds;
    let paused = HealthRules { paused: true, ..RULES };
    let mut status = good(1000);
    status.update_state(at(1000), at(1000), &RULES);
    status.update_state(at(1010), at(1010), &paused);
    assert_eq!((status.state, status.since), (FeedState::Paused, at(1010)));
    assert_eq!(status.state_before_pause, Some(FeedState::Ok));
    status.update_state(at(9000), at(9000), &paused);
    assert_eq!((status.state_before_pause, status.since), (Some(FeedState::Ok), at(1010)));
    assert!(!status.state.is_problem_state());
    status.update_state(at(9001), at(9001), &RULES);
    assert_eq!((status.state, status.state_before_pause), (FeedState::Stale, None));
}
