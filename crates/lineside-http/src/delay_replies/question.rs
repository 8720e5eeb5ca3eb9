//! Finds the feed, line, stop and sources of a question about delays.

use std::time::Duration;

use lineside_ingest::{Feed, Network};
use lineside_model::{FeedState, FeedStatus, NetworkState};
use lineside_sync::UnixMillis;
use smol_str::SmolStr;

use crate::app::App;
use crate::delays::question::lateness_threshold;
use crate::delays::{DelayReportRequest, DelaySource};
use crate::{Refusal, lookup};

/// The data that a feed must have, for the error message.
const EXPECTED_DATA: &str = "what trips do";

/// Finds the feed, the line and the stop of a question.
///
/// # Errors
///
/// Returns an error if the feed, line or stop does not exist, or the feed holds no trips; [`Refusal::NoData`] if
/// the schedule with the line or the stop has not been read yet.
pub(crate) fn resolve_delay_request(
    app: &App,
    id: &str,
    route: Option<&str>,
    stop: Option<&str>,
) -> Result<DelayReportRequest, Refusal> {
    let feed = lookup::find_decoded_feed(app, id, EXPECTED_DATA)?;
    if has_only_alerts(app, &feed) {
        let feed = lookup::shorten_id(id);
        return Err(Refusal::OtherFormat {
            feed,
            actual: "a feed of alerts",
            expected: EXPECTED_DATA,
        });
    }
    let network = feed.network();
    let state = network.state();
    let timetable = network.timetable();
    let unread = || match &timetable {
        Some(_) => None,
        None => lookup::schedule_not_loaded_refusal(&network),
    };
    if let Some(stop) = stop {
        let known = timetable.as_ref().and_then(|timetable| timetable.find_stop(stop));
        let unknown = || Refusal::UnknownStop {
            feed: lookup::shorten_id(id),
            stop: lookup::shorten_id(stop),
        };
        known.ok_or_else(|| unread().unwrap_or_else(unknown))?;
    }
    if let Some(route) = route {
        let scheduled = timetable.as_ref().and_then(|timetable| timetable.find_route(route));
        let is_known =
            scheduled.is_some() || state.realtime_records_by_route(route).next().is_some();
        let unknown = || Refusal::UnknownRoute {
            feed: lookup::shorten_id(id),
            route: lookup::shorten_id(route),
        };
        let refuse = || unread().unwrap_or_else(unknown);
        is_known.then_some(()).ok_or_else(refuse)?;
    }
    let (is_alone, sources) = find_delay_sources(app, &feed, &network, &state);
    Ok(DelayReportRequest {
        late_after: lateness_threshold(&feed, &network),
        sources,
        is_only_feed: is_alone,
        feed: feed.id().clone(),
        feed_name: feed.config().display_name().to_owned(),
        route: route.map(SmolStr::new),
        stop: stop.map(SmolStr::new),
        timetable,
        state,
        network,
    })
}

/// Returns the feeds that report a feed's trips: the feed itself if it does, or those of its network. A feed that has
/// not reported anything yet and is unhealthy is included, because it may report trips. The first value is true if the
/// source is the feed itself.
fn find_delay_sources(
    app: &App,
    requested_feed: &Feed,
    network: &Network,
    state: &NetworkState,
) -> (bool, Vec<DelaySource>) {
    let feeds = network.realtime_feeds();
    let reports_activity = |feed: &Feed| state.has_trip_updates(feed.id().as_str());
    let is_alone = feeds.iter().any(|feed| feed.id() == requested_feed.id())
        && reports_activity(requested_feed);
    let all = feeds.iter().filter(|feed| !is_alone || feed.id() == requested_feed.id());
    let sources_with_activity =
        all.map(|feed| (reports_activity(feed), build_delay_source(app, feed, network)));
    let may_report =
        |source: &DelaySource| !source.is_fresh && state.feed_record_count(source.id.as_str()) == 0;
    let sources = sources_with_activity
        .filter(|(reports_activity, source)| *reports_activity || may_report(source));
    (is_alone, sources.map(|(_, source)| source).collect())
}

/// Returns true if a feed reports only alerts. A feed with trips before a restart may report none until the morning.
pub fn has_only_alerts(app: &App, feed: &Feed) -> bool {
    feed.status().has_only_alerts && !app.delay_reports().day_history().has_seen_feed(feed.id())
}

pub(crate) fn build_delay_source(app: &App, feed: &Feed, network: &Network) -> DelaySource {
    let status = feed.status();
    let config = feed.config();
    DelaySource {
        id: feed.id().clone(),
        name: config.display_name().to_owned(),
        state: status.state,
        reason: status.reason.clone(),
        at: status.data_time.or(status.last_success),
        late_after: config.late_after,
        trip_late_after: lateness_threshold(feed, network),
        is_fresh: has_fresh_data(&status, config.late_after, network.data_time_now(), app.now()),
    }
}

/// Returns true if a feed is healthy, has complete data, and the data are not stale. The feed's own state is determined
/// when it is polled, but its data age in between.
fn has_fresh_data(
    status: &FeedStatus,
    late_after: Duration,
    data_now: UnixMillis,
    now: UnixMillis,
) -> bool {
    let age = match (status.data_time, status.last_success) {
        (Some(at), _) => data_now.duration_since(at),
        (None, Some(at)) => now.duration_since(at),
        (None, None) => return false,
    };
    status.state == FeedState::Ok && !status.is_beginning && age <= late_after
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(status: &FeedStatus, now_s: i64, expect: bool) {
        let now = UnixMillis::from_seconds(now_s);
        assert_eq!(
            has_fresh_data(status, Duration::from_secs(300), now, now),
            expect,
            "{now_s} {status:?}"
        );
    }

    #[test]
    fn only_ok_feeds_with_recent_data_are_reliable() {
        let at = UnixMillis::from_seconds(1_000);
        let ok = FeedStatus {
            state: FeedState::Ok,
            data_time: Some(at),
            last_success: Some(UnixMillis::from_seconds(5_000)),
            ..FeedStatus::default()
        };
        check(&ok, 1_000, true);
        check(&ok, 1_300, true);
        check(&ok, 1_301, false);
        check(&FeedStatus { is_beginning: true, ..ok.clone() }, 1_000, false);
        for state in FeedState::ALL.into_iter().filter(|state| *state != FeedState::Ok) {
            check(&FeedStatus { state, ..ok.clone() }, 1_000, false);
        }
    }

    #[test]
    fn data_without_a_timestamp_are_as_old_as_their_last_poll() {
        let at = UnixMillis::from_seconds(1_000);
        let ok =
            FeedStatus { state: FeedState::Ok, last_success: Some(at), ..FeedStatus::default() };
        check(&ok, 1_300, true);
        check(&ok, 1_301, false);
        check(&FeedStatus { last_success: None, ..ok }, 1_000, false);
    }
}
