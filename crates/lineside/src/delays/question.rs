//! A question about delays: a feed, optionally a line and a stop of it, the sources of its trips, and their health.

use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use lineside_formats::gtfs::Timetable;
use lineside_ingest::{DelayQuery, Feed, FeedId, FeedState, FeedStatus, Network, NetworkState};
use lineside_sync::UnixMillis;
use smol_str::SmolStr;
use xxhash_rust::xxh3::Xxh3Default;

use crate::app::App;
use crate::http::{Refusal, lookup};

/// The delay from which a trip is late unless the operator configures another: the usual measure of punctuality in
/// Europe.
const TRIP_LATE_AFTER: Duration = Duration::from_secs(5 * 60);
/// The data that a feed must have, for the error message.
const EXPECTED_DATA: &str = "what trips do";
/// Characters of an id that an error or a title repeats.
const ID_CHARS_MAX: usize = 100;

/// A feed with trips, and its health.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DelaySource {
    pub(crate) id: FeedId,
    pub(crate) name: String,
    pub(crate) state: FeedState,
    pub(crate) reason: String,
    /// The time of its data, or of its last successful fetch if the data have none.
    pub(crate) at: Option<UnixMillis>,
    /// True if the feed is healthy and its data are not stale.
    pub(crate) is_fresh: bool,
    /// The age from which its data are stale.
    pub(crate) late_after: Duration,
    /// The delay from which a trip of the feed is late.
    pub(super) trip_late_after: Duration,
}

/// A question with everything that its answer depends on.
#[derive(Debug)]
pub(crate) struct DelayQuestion {
    pub(crate) network: Arc<Network>,
    pub(crate) state: Arc<NetworkState>,
    pub(crate) timetable: Option<Arc<Timetable>>,
    /// The feed in the address.
    pub(crate) feed: FeedId,
    pub(crate) feed_name: String,
    pub(crate) route: Option<SmolStr>,
    pub(crate) stop: Option<SmolStr>,
    pub(crate) sources: Vec<DelaySource>,
    /// True if the question is about one real-time feed and not about its network.
    pub(crate) is_only_feed: bool,
    pub(crate) late_after: Duration,
}

/// The cache key of a question.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct QuestionKey {
    feed: FeedId,
    route: Option<SmolStr>,
    stop: Option<SmolStr>,
}

/// A hash of everything that an answer depends on: the answer changes only if the hash does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ReportFingerprint(u128);

impl DelayQuestion {
    /// Builds the question of a request.
    ///
    /// # Errors
    ///
    /// Returns an error if the feed, line or stop does not exist, or the feed holds no trips; [`Refusal::NoData`] if
    /// the schedule with the line or the stop has not been read yet.
    pub(crate) fn from_ids(
        app: &App,
        id: &str,
        route: Option<&str>,
        stop: Option<&str>,
    ) -> Result<Self, Refusal> {
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
            None => lookup::check_pending_schedule(&network),
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
            let is_known = scheduled.is_some() || state.records_by_route(route).next().is_some();
            let unknown = || Refusal::UnknownRoute {
                feed: lookup::shorten_id(id),
                route: lookup::shorten_id(route),
            };
            let refuse = || unread().unwrap_or_else(unknown);
            is_known.then_some(()).ok_or_else(refuse)?;
        }
        let (is_alone, sources) = find_sources(app, &feed, &network, &state);
        Ok(Self {
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

    /// Returns the cache key.
    pub(super) fn question_key(&self) -> QuestionKey {
        QuestionKey { feed: self.feed.clone(), route: self.route.clone(), stop: self.stop.clone() }
    }

    /// Returns the hash of everything that the answer depends on.
    pub(super) fn report_fingerprint(&self, app: &App) -> ReportFingerprint {
        let mut hash = Xxh3Default::new();
        let mut put = |number: i64| hash.update(&number.to_le_bytes());
        put(i64::from_le_bytes(self.network.epoch().bits().to_le_bytes()));
        put(i64::from_le_bytes(self.state.revision.to_le_bytes()));
        put(self.state.at.0);
        put(i64::try_from(self.late_after.as_secs()).unwrap_or(i64::MAX));
        put(app.delays().day().generation());
        for source in &self.sources {
            put(source.at.map_or(i64::MIN, |at| at.0));
            put(i64::from(source.is_fresh));
            for span in [source.late_after, source.trip_late_after] {
                put(i64::try_from(span.as_secs()).unwrap_or(i64::MAX));
            }
        }
        for source in &self.sources {
            for text in [source.id.as_str(), source.name.as_str(), source.reason.as_str()] {
                hash.update(text.as_bytes());
                hash.update(&[0]);
            }
        }
        hash.update(self.feed_name.as_bytes());
        ReportFingerprint(hash.digest128())
    }

    /// Returns the time until new data are possible.
    pub(super) fn fresh_for(&self, app: &App) -> Duration {
        lookup::network_fresh_for(app, &self.network)
    }

    /// Returns the query for the question's trips in these feeds.
    pub(super) fn selection<'a>(&'a self, feeds: &'a [FeedId]) -> DelayQuery<'a> {
        DelayQuery {
            feeds,
            route: self.route.as_deref(),
            stop: self.stop.as_deref(),
            all_lines: !self.is_only_feed,
        }
    }

    /// Returns the sources with fresh data.
    pub(crate) fn believed_sources(&self) -> Vec<FeedId> {
        self.sources.iter().filter(|it| it.is_fresh).map(|it| it.id.clone()).collect()
    }

    /// Returns the time zone for displayed times.
    pub(crate) fn time_zone(&self) -> TimeZone {
        self.timetable.as_ref().map_or(TimeZone::UTC, |timetable| timetable.timezone().clone())
    }

    /// Returns the age from which the data are stale, by the strictest source; `None` if there are no sources.
    pub(crate) fn data_late_after(&self) -> Option<Duration> {
        self.sources.iter().map(|source| source.late_after).min()
    }

    /// Returns the suffix of displayed times if they are not local.
    pub(crate) fn zone_note(&self) -> &'static str {
        if self.timetable.is_some() { "" } else { " UTC" }
    }

    /// Returns the name of the line, or its id.
    pub(crate) fn route_name(&self) -> Option<String> {
        let id = self.route.as_deref()?;
        let route = self.timetable.as_ref().and_then(|timetable| {
            timetable.find_route(id).map(|route| timetable.route(route).display_name().to_owned())
        });
        Some(route.filter(|name| !name.is_empty()).unwrap_or_else(|| short_id(id)))
    }

    /// Returns the name of the stop, or its id.
    pub(crate) fn stop_name(&self) -> Option<String> {
        let id = self.stop.as_deref()?;
        let stop = self.timetable.as_ref().and_then(|timetable| {
            timetable.find_stop(id).map(|stop| timetable.stop(stop).name.to_owned())
        });
        Some(stop.filter(|name| !name.is_empty()).unwrap_or_else(|| short_id(id)))
    }
}

fn short_id(id: &str) -> String {
    id.chars().take(ID_CHARS_MAX).collect()
}

/// Returns the delay from which a trip is late: the feed's, or the first of its network that configures one.
pub(super) fn lateness_threshold(feed: &Feed, network: &Network) -> Duration {
    let stated = feed.config().trip_late_after;
    let network_threshold =
        || network.feeds().iter().find_map(|feed| feed.config().trip_late_after);
    stated.or_else(network_threshold).unwrap_or(TRIP_LATE_AFTER)
}

/// Returns the feeds that report a feed's trips: the feed itself if it does, or those of its network. A feed that has
/// not reported anything yet and is unhealthy is included, because it may report trips. The first value is true if the
/// source is the feed itself.
fn find_sources(
    app: &App,
    requested_feed: &Feed,
    network: &Network,
    state: &NetworkState,
) -> (bool, Vec<DelaySource>) {
    let feeds = network.realtime_feeds();
    let reports_activity = |feed: &Feed| state.reports_trips(feed.id().as_str());
    let is_alone = feeds.iter().any(|feed| feed.id() == requested_feed.id())
        && reports_activity(requested_feed);
    let all = feeds.iter().filter(|feed| !is_alone || feed.id() == requested_feed.id());
    let sources_with_activity =
        all.map(|feed| (reports_activity(feed), delay_source(app, feed, network)));
    let may_report =
        |source: &DelaySource| !source.is_fresh && state.feed_record_count(source.id.as_str()) == 0;
    let sources = sources_with_activity
        .filter(|(reports_activity, source)| *reports_activity || may_report(source));
    (is_alone, sources.map(|(_, source)| source).collect())
}

/// Returns true if a feed reports only alerts. A feed with trips before a restart may report none until the morning.
pub(crate) fn has_only_alerts(app: &App, feed: &Feed) -> bool {
    feed.status().has_only_alerts && !app.delays().day().has_feed(feed.id())
}

pub(super) fn delay_source(app: &App, feed: &Feed, network: &Network) -> DelaySource {
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
        is_fresh: is_fresh(&status, config.late_after, network.data_now(), app.now()),
    }
}

/// Returns true if a feed is healthy, has complete data, and the data are not stale. The feed's own state is determined
/// when it is polled, but its data age in between.
fn is_fresh(
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
            is_fresh(status, Duration::from_secs(300), now, now),
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
