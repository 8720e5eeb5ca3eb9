//! A network as readers see it: a schedule with its realtime feeds, which have one state and one sequence.
//!
//! Readers load the current [`NetworkState`] and hold no lock; the network writer builds the next one and swaps it in.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use arc_swap::{ArcSwap, ArcSwapOption};
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use lineside_formats::gtfs::Timetable;
use lineside_hub::{Epoch, Position};
use lineside_sync::{Clock, UnixMillis};

use crate::{
    catalog::Feed,
    dataset::Dataset,
    feed_id::FeedId,
    fetch::ReplayClock,
    network_state::NetworkState,
    poll_stages::{PollStage, PollStageDurations},
};

/// A network as readers see it.
#[derive(Debug)]
pub struct Network {
    id: FeedId,
    /// The network's group number in the hub, from 1.
    group: u32,
    epoch: Epoch,
    feed_ids: Vec<FeedId>,
    state: ArcSwap<NetworkState>,
    /// The feeds in the order of the ids, set before the network is visible; weak, because a feed holds its network.
    feeds: ArcSwap<Vec<Weak<Feed>>>,
    clock: Arc<dyn Clock>,
    replay: ArcSwapOption<ReplayClock>,
    times: PollStageDurations,
}

impl Network {
    /// Creates the network that the feed `id` names, with its other feeds. `group` is its number in the hub, from 1.
    pub fn new(
        id: FeedId,
        others: impl IntoIterator<Item = FeedId>,
        group: u32,
        epoch: Epoch,
        clock: Arc<dyn Clock>,
    ) -> Network {
        let now = clock.wall_time();
        let feed_ids: Vec<FeedId> = [id.clone()].into_iter().chain(others).collect();
        let state = NetworkState::new(&feed_ids, now);
        Network {
            id,
            group,
            epoch,
            feed_ids,
            state: ArcSwap::from_pointee(state),
            feeds: ArcSwap::default(),
            clock,
            replay: ArcSwapOption::empty(),
            times: PollStageDurations::default(),
        }
    }

    /// Records stage durations into `times`.
    pub(crate) fn record_stages_into(self, times: &PollStageDurations) -> Network {
        Network { times: times.clone(), ..self }
    }

    /// Returns the id of the schedule feed, or of the only feed.
    pub fn id(&self) -> &FeedId {
        &self.id
    }

    /// Returns the epoch of the network's sequence.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Returns the current position of the network's sequence.
    pub fn sequence_position(&self) -> Position {
        Position { epoch: self.epoch, offset: self.state.load().revision }
    }

    pub fn state(&self) -> Arc<NetworkState> {
        self.state.load_full()
    }

    /// Returns the timetable in use.
    pub fn timetable(&self) -> Option<Arc<Timetable>> {
        self.state.load().dataset.as_ref().map(|dataset| Arc::clone(&dataset.timetable))
    }

    /// Returns the schedule in use, with the data derived from it.
    pub fn dataset(&self) -> Option<Arc<Dataset>> {
        self.state.load().dataset.clone()
    }

    /// Returns the ids of the feeds, beginning with the one that names the network.
    pub fn feed_ids(&self) -> &[FeedId] {
        &self.feed_ids
    }

    /// Returns the feeds, beginning with the one that names the network.
    pub fn feeds(&self) -> Vec<Arc<Feed>> {
        self.feeds.load().iter().filter_map(Weak::upgrade).collect()
    }

    /// Returns the feed that names the network.
    pub fn first_feed(&self) -> Option<Arc<Feed>> {
        self.feeds.load().first()?.upgrade()
    }

    /// Returns the feed whose dataset is in use, else the feed that names the network if it is a schedule.
    pub fn schedule_feed(&self) -> Option<Arc<Feed>> {
        let first = self.first_feed()?;
        let is_schedule = self.state.load().dataset.is_some() || first.is_schedule();
        is_schedule.then_some(first)
    }

    /// Returns the feeds other than the schedule.
    pub fn realtime_feeds(&self) -> Vec<Arc<Feed>> {
        let schedule = self.schedule_feed().map(|feed| feed.id().clone());
        self.feeds().into_iter().filter(|feed| Some(feed.id()) != schedule.as_ref()).collect()
    }

    /// Returns the present of the data: the wall clock, or the recorded time during a replay.
    pub fn data_time_now(&self) -> UnixMillis {
        self.replayed_time_now().unwrap_or_else(|| self.clock.wall_time())
    }

    /// Returns the recorded time during a replay; `None` without one.
    pub fn replayed_time_now(&self) -> Option<UnixMillis> {
        let replay = self.replay.load();
        Some(replay.as_ref()?.recorded_time(self.clock.monotonic()))
    }

    /// Returns the recorded seconds per second of a replay, 0 once it has ended; `None` without one.
    pub fn replay_rate(&self) -> Option<f64> {
        Some(self.replay.load().as_ref()?.rate(self.clock.monotonic()))
    }

    /// Returns the time of the last message of a recording that has ended.
    pub fn replay_ended_at(&self) -> Option<UnixMillis> {
        self.replay.load().as_ref()?.ended_at(self.clock.monotonic())
    }

    /// Returns the date of [`Network::data_time_now`] in the time zone of the timetable, or in UTC without one.
    pub fn data_date_today(&self) -> Date {
        let timetable = self.timetable();
        let zone = timetable.map_or(TimeZone::UTC, |timetable| timetable.timezone().clone());
        let now = Timestamp::from_millisecond(self.data_time_now().0).unwrap_or_default();
        now.to_zoned(zone).date()
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Replaces the state that readers load.
    pub(crate) fn set_state(&self, state: Arc<NetworkState>) {
        self.state.store(state);
    }

    pub(crate) fn room_group(&self) -> u32 {
        self.group
    }

    pub(crate) fn set_feeds(&self, feeds: Vec<Weak<Feed>>) {
        self.feeds.store(Arc::new(feeds));
        if !self.has_replay() {
            self.replay.store(None);
        }
    }

    /// Returns true if any feed is a recording.
    pub(crate) fn has_replay(&self) -> bool {
        let feeds = self.feeds.load();
        feeds.iter().filter_map(Weak::upgrade).any(|feed| feed.config().is_replay())
    }

    /// Returns the recording that determines the network's time.
    pub(crate) fn replay_clock(&self) -> Option<ReplayClock> {
        self.replay.load().as_deref().cloned()
    }

    /// Sets the network's time to that of a recording, unless another one does already.
    pub(crate) fn set_replay_clock_if_unset(&self, replay: ReplayClock) {
        if self.replay.load().is_none() {
            self.replay.store(Some(Arc::new(replay)));
        }
    }

    /// Returns the start time of a stage.
    pub(crate) fn stage_start_time(&self) -> Duration {
        self.clock.monotonic()
    }

    /// Records the duration of a stage that started at `began`.
    pub(crate) fn record_stage_duration(&self, stage: PollStage, began: Duration) {
        self.times.record_duration(stage, self.clock.monotonic().saturating_sub(began));
    }

    /// Returns the number of a feed within the network.
    pub(crate) fn index_of_feed(&self, feed: &str) -> Option<usize> {
        self.feed_ids.iter().position(|id| id.as_str() == feed)
    }
}
