//! What is asked: a feed, perhaps a line and a stop of it, the sources that tell of its trips, and how those are now.

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

/// How far behind the timetable a trip is late where no operator says otherwise: the usual measure of punctuality in
/// Europe.
const TRIP_LATE_AFTER: Duration = Duration::from_secs(5 * 60);
/// What feeds have to hold to be asked.
const WANTED: &str = "what trips do";
/// Characters of an id that a refusal or a title repeats.
const ID_CHARS_MAX: usize = 100;

/// A feed that tells of trips, and how it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DelaySource {
    pub(crate) id: FeedId,
    pub(crate) name: String,
    pub(crate) state: FeedState,
    pub(crate) reason: String,
    /// When its data were made, else when it last answered.
    pub(crate) at: Option<UnixMillis>,
    /// Whether it is to be believed: it is well, and its data are not old.
    pub(crate) is_fresh: bool,
    /// How old its data may be.
    pub(crate) late_after: Duration,
    /// From which delay on it calls a trip late.
    pub(super) trip_late_after: Duration,
}

/// A question with all that its answer follows from.
#[derive(Debug)]
pub(crate) struct DelayQuestion {
    pub(crate) network: Arc<Network>,
    pub(crate) state: Arc<NetworkState>,
    pub(crate) timetable: Option<Arc<Timetable>>,
    /// As the address names it.
    pub(crate) feed: FeedId,
    pub(crate) feed_name: String,
    pub(crate) route: Option<SmolStr>,
    pub(crate) stop: Option<SmolStr>,
    pub(crate) sources: Vec<DelaySource>,
    /// One real-time feed is asked for, and not its network.
    pub(crate) is_alone: bool,
    pub(crate) late_after: Duration,
}

/// Who asks for what.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct QuestionKey {
    feed: FeedId,
    route: Option<SmolStr>,
    stop: Option<SmolStr>,
}

/// What the answer follows from, as a hash: while it is the same, so is the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ReportFingerprint(u128);

impl DelayQuestion {
    /// The question that an address asks.
    ///
    /// # Errors
    /// If there is no such feed, line or stop, or the feed holds no trips; [`Refusal::NoData`] while the schedule that would
    /// know the line or the stop was not read yet.
    pub(crate) fn from_ids(
        app: &App,
        id: &str,
        route: Option<&str>,
        stop: Option<&str>,
    ) -> Result<Self, Refusal> {
        let feed = lookup::find_decoded_feed(app, id, WANTED)?;
        if has_only_alerts(app, &feed) {
            let feed = lookup::shorten_id(id);
            return Err(Refusal::OtherFormat { feed, is: "a feed of alerts", wanted: WANTED });
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
            is_alone,
            feed: feed.id().clone(),
            feed_name: feed.config().display_name().to_owned(),
            route: route.map(SmolStr::new),
            stop: stop.map(SmolStr::new),
            timetable,
            state,
            network,
        })
    }

    /// Who asks for what.
    pub(super) fn question_key(&self) -> QuestionKey {
        QuestionKey { feed: self.feed.clone(), route: self.route.clone(), stop: self.stop.clone() }
    }

    /// What the answer follows from.
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

    /// How long nothing new can be known.
    pub(super) fn fresh_for(&self, app: &App) -> Duration {
        lookup::network_fresh_for(app, &self.network)
    }

    /// Which trips it is about, as these feeds tell of them.
    pub(super) fn selection<'a>(&'a self, feeds: &'a [FeedId]) -> DelayQuery<'a> {
        DelayQuery {
            feeds,
            route: self.route.as_deref(),
            stop: self.stop.as_deref(),
            all_lines: !self.is_alone,
        }
    }

    /// The sources that are to be believed.
    pub(crate) fn believed_sources(&self) -> Vec<FeedId> {
        self.sources.iter().filter(|it| it.is_fresh).map(|it| it.id.clone()).collect()
    }

    /// The zone that its times are told in.
    pub(crate) fn time_zone(&self) -> TimeZone {
        self.timetable.as_ref().map_or(TimeZone::UTC, |timetable| timetable.timezone().clone())
    }

    /// How old data may be that an answer follows from, if there are any: as its strictest source says.
    pub(crate) fn data_late_after(&self) -> Option<Duration> {
        self.sources.iter().map(|source| source.late_after).min()
    }

    /// What stands behind a time, where it is not that of the place.
    pub(crate) fn zone_note(&self) -> &'static str {
        if self.timetable.is_some() { "" } else { " UTC" }
    }

    /// The name of the line, or its id.
    pub(crate) fn route_name(&self) -> Option<String> {
        let id = self.route.as_deref()?;
        let route = self.timetable.as_ref().and_then(|timetable| {
            timetable.find_route(id).map(|route| timetable.route(route).display_name().to_owned())
        });
        Some(route.filter(|name| !name.is_empty()).unwrap_or_else(|| short_id(id)))
    }

    /// The name of the stop, or its id.
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

/// From which delay on a trip is late: as the feed says, else its schedule's, else the first of its network that says so.
pub(super) fn lateness_threshold(feed: &Feed, network: &Network) -> Duration {
    let said = feed.config().trip_late_after;
    let of_network = || network.feeds().iter().find_map(|feed| feed.config().trip_late_after);
    said.or_else(of_network).unwrap_or(TRIP_LATE_AFTER)
}

/// The feeds that tell of a feed's trips: itself if it does, else those of its network that do. One that has told of
/// nothing yet, and is not well, may be one of them: as long as that is not known it counts. Tells first whether it is
/// the feed itself.
fn find_sources(
    app: &App,
    asked: &Feed,
    network: &Network,
    state: &NetworkState,
) -> (bool, Vec<DelaySource>) {
    let feeds = network.realtime_feeds();
    let tells = |feed: &Feed| state.reports_trips(feed.id().as_str());
    let is_alone = feeds.iter().any(|feed| feed.id() == asked.id()) && tells(asked);
    let all = feeds.iter().filter(|feed| !is_alone || feed.id() == asked.id());
    let judged = all.map(|feed| (tells(feed), delay_source(app, feed, network)));
    let may_tell =
        |source: &DelaySource| !source.is_fresh && state.feed_record_count(source.id.as_str()) == 0;
    let sources = judged.filter(|(tells, source)| *tells || may_tell(source));
    (is_alone, sources.map(|(_, source)| source).collect())
}

/// Whether a feed tells of alerts alone. One that told of trips before a restart may not do so again until the morning.
pub(crate) fn has_only_alerts(app: &App, feed: &Feed) -> bool {
    feed.status().tells_of_alerts_only && !app.delays().day().has_feed(feed.id())
}

/// A feed as a source.
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

/// Whether a feed is well, has told all that there is, and its data are not older than they may be. The feed's own state is
/// judged when it is polled; its data go on growing old in between.
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
