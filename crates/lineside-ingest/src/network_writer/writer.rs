//! The single writer of a network: applies messages, datasets and feed statuses, builds the next state and publishes
//! the difference. A plain value: it runs in a task, a test and a benchmark alike.

mod rejoin;
mod handoff;

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use lineside_formats::{
    Error, Problems,
    gtfs_rt::{FeedMessageLimits, SplitFeedMessage, proto::FeedHeader, split_feed_message},
};
use lineside_hub::Hub;
use lineside_sync::{UnixMillis, stage};

pub use self::handoff::ResumedNetwork;
pub(crate) use self::rejoin::InheritedNetwork;

use crate::{
    catalog::Network,
    change::RecordChange,
    dataset::Dataset,
    hashing::HashSeed,
    limits::{BOARD_TICK, MESSAGE_BYTES_MAX},
    network_state::{FeedSlice, NetworkState},
    network_writer::entity_table::{EntityTable, PollContext},
    normalize::{NormalizeContext, SystemFile},
    poll_stages::PollStage,
    publish::{AffectedBoards, MESSAGE_OVERHEAD, NetworkPublisher, PollOutcome},
    record::{FeedRecord, Record, RecordKind, RemovalReason},
    trip_identity::nonempty_text,
    trip_identity::nonzero_seconds,
    trip_links::TripLinks,
};

/// Applies inputs of feeds, in any order, from one caller at a time.
#[derive(Debug)]
pub struct NetworkWriter {
    network: Arc<Network>,
    publisher: Option<NetworkPublisher>,
    entity_tables: Vec<EntityTable>,
    links: TripLinks,
    seed: HashSeed,
}

/// The outcome of applying a message.
#[derive(Debug, Default)]
pub struct ApplyOutcome {
    /// Changes from the state before.
    pub changes: Vec<RecordChange>,
    /// Problems of the message.
    pub problems: Problems,
    /// The number of records that the feed has now.
    pub records: usize,
    /// The number of entities that had to be decoded.
    pub decoded: usize,
    /// True if every entity was rejected: then the state is unchanged.
    pub is_refused: bool,
}

impl NetworkWriter {
    /// Creates the writer of a network. Without a hub it publishes nothing. `seed` keys its maps: take it from the
    /// system's randomness.
    pub fn new(network: Arc<Network>, hub: Option<Arc<Hub>>, seed: u64) -> NetworkWriter {
        let seed = HashSeed(seed);
        let feeds = network.feed_ids().iter().zip(0..);
        let tables = feeds.map(|(id, number)| EntityTable::new(id.clone(), number, seed)).collect();
        let publisher = hub.map(|hub| NetworkPublisher::new(hub, Arc::clone(&network), seed));
        NetworkWriter {
            network,
            publisher,
            entity_tables: tables,
            links: TripLinks::new(seed),
            seed,
        }
    }

    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// Decodes and applies a GTFS-Realtime message of a feed and publishes the changes; the synchronous part of a poll.
    /// `now` is the time at which Lineside received the bytes.
    ///
    /// # Errors
    /// Returns the decoder's error; the state is then unchanged. An unknown feed changes nothing either.
    pub fn apply_snapshot(
        &mut self,
        feed: &str,
        body: Bytes,
        now: UnixMillis,
    ) -> Result<ApplyOutcome, Error> {
        self.apply_snapshot_with_health(feed, body, now, |_| None)
    }

    /// Applies a message; `find_record` returns the feed's status for that many records, which is published too.
    pub fn apply_snapshot_with_health(
        &mut self,
        feed: &str,
        body: Bytes,
        now: UnixMillis,
        find_record: impl FnOnce(usize) -> Option<FeedRecord>,
    ) -> Result<ApplyOutcome, Error> {
        let (message, problems) = split_feed_message(body, &FeedMessageLimits::default())?;
        let Some(number) = self.network.feed_number(feed) else {
            return Ok(ApplyOutcome::default());
        };
        Ok(self.apply_message(number, &message, problems, now, find_record))
    }

    /// Applies a decoded message; `find_record` returns the feed's status for that many records.
    pub(crate) fn apply_message(
        &mut self,
        number: usize,
        message: &SplitFeedMessage,
        problems: Problems,
        now: UnixMillis,
        find_record: impl FnOnce(usize) -> Option<FeedRecord>,
    ) -> ApplyOutcome {
        let _at = stage::enter_stage(PollStage::Apply.thread_stage());
        let began = self.network.stage_start();
        let mut applied = ApplyOutcome { problems, ..ApplyOutcome::default() };
        let before = self.network.state();
        self.merge_message(number, message, before.dataset.as_deref(), &mut applied);
        if applied.is_refused {
            applied.records = before.feeds[number].record_count();
            return applied;
        }
        self.rejoin_vehicles(before.dataset.as_deref(), &mut applied.changes);
        let changed = self.entity_tables[number].is_dirty();
        let mut feeds = self.build_slices(&before);
        let slice = &before.feeds[number];
        let mut next = FeedSlice {
            header: Some(message.header.clone()),
            timestamp: later_timestamp(slice.timestamp, &message.header, changed, now),
            record: Arc::clone(&slice.record),
            id: slice.id.clone(),
            tables: feeds[number].tables.clone(),
            others: Arc::clone(&feeds[number].others),
            closed: Arc::clone(&slice.closed),
            cache: Default::default(),
        };
        applied.records = next.record_count();
        if let Some(change) =
            find_record(applied.records).and_then(|it| put_feed_record(&mut next, it))
        {
            applied.changes.push(change);
        }
        feeds[number] = Arc::new(next);
        let (next, outcome) = self.swap_in_state(&before, feeds, &applied.changes, now);
        self.network.record_stage(PollStage::Apply, began);
        self.publish_changes(&before, &next, &applied.changes, &outcome);
        applied
    }

    /// Publishes a change of a feed's status without a message.
    pub(crate) fn apply_feed_record(&mut self, number: usize, record: FeedRecord, now: UnixMillis) {
        let before = self.network.state();
        let mut slice = clone_slice(&before.feeds[number]);
        let Some(change) = put_feed_record(&mut slice, record) else { return };
        let mut feeds = before.feeds.clone();
        feeds[number] = Arc::new(slice);
        self.commit_state(&before, feeds, &[change], now);
    }

    /// Applies a file of a GBFS system and publishes the changes of its stations or vehicles.
    pub(crate) fn apply_system_file(&mut self, number: usize, file: SystemFile, now: UnixMillis) {
        let _at = stage::enter_stage(PollStage::Apply.thread_stage());
        let began = self.network.stage_start();
        let before = self.network.state();
        let mut changes = Vec::new();
        self.entity_tables[number].apply_system_file(file, &mut changes);
        if !changes.is_empty() {
            let feeds = self.build_slices(&before);
            self.commit_state(&before, feeds, &changes, now);
        }
        self.network.record_stage(PollStage::Apply, began);
    }

    /// Removes the records of a feed because they are too old to be served.
    pub(crate) fn expire_feed(&mut self, number: usize, record: FeedRecord, now: UnixMillis) {
        let before = self.network.state();
        let mut changes = Vec::new();
        self.entity_tables[number].clear(RemovalReason::Expired, &mut self.links, &mut changes);
        self.rejoin_vehicles(before.dataset.as_deref(), &mut changes);
        let mut feeds = self.build_slices(&before);
        let mut slice = clone_slice(&feeds[number]);
        changes.extend(put_feed_record(&mut slice, record));
        feeds[number] = Arc::new(slice);
        self.commit_state(&before, feeds, &changes, now);
    }

    /// Applies a new schedule: all records are joined again, and each room gets its state once.
    pub fn apply_dataset(&mut self, dataset: Arc<Dataset>, now: UnixMillis) -> ApplyOutcome {
        self.apply_feed_dataset(None, dataset, now)
    }

    pub(crate) fn apply_feed_dataset(
        &mut self,
        record: Option<(usize, FeedRecord)>,
        dataset: Arc<Dataset>,
        now: UnixMillis,
    ) -> ApplyOutcome {
        let _at = stage::enter_stage(PollStage::Apply.thread_stage());
        let began = self.network.stage_start();
        let before = self.network.state();
        let mut applied = ApplyOutcome::default();
        if before.dataset.as_ref().is_some_and(|known| known.version == dataset.version) {
            if let Some((number, record)) = record {
                self.apply_feed_record(number, record, now);
            }
            return applied;
        }
        let mut feeds = self.redecode_entities(&before, Some(&dataset), &mut applied);
        if let Some((number, record)) = record {
            let mut slice = clone_slice(&feeds[number]);
            applied.changes.extend(put_feed_record(&mut slice, record));
            feeds[number] = Arc::new(slice);
        }
        let next = self.swap_dataset(&before, Some(dataset), feeds, now);
        self.network.record_stage(PollStage::Apply, began);
        if let Some(publisher) = &mut self.publisher {
            publisher.publish_full_state(&before, &next, &applied.changes);
        }
        applied
    }

    /// Advances the stop boards if due and returns true if it did.
    ///
    /// Boards advance even if no stop has subscribers, so that the first read is current, unless the whole network has
    /// subscribers: they would get an empty message.
    pub fn advance_boards(&mut self) -> bool {
        if !self.is_board_advance_due() {
            return false;
        }
        let before = self.network.state();
        let board_at = self.network.data_now().unix_seconds();
        let next = Arc::new(NetworkState {
            revision: before.revision + 1,
            at: before.at.max(self.network.clock().wall_time()),
            board_at,
            dataset: before.dataset.clone(),
            dataset_record: before.dataset_record.clone(),
            feeds: before.feeds.clone(),
            timestamp: before.timestamp,
            cache: Default::default(),
        });
        self.network.set_state(Arc::clone(&next));
        if let Some(publisher) = &mut self.publisher {
            // One publication without changes: the network's own channel receives every revision.
            let chunks = std::iter::once(0..0).collect();
            publisher.publish_revision(
                &before,
                &next,
                &[],
                &PollOutcome { boards: AffectedBoards::All, chunks },
            );
        }
        true
    }

    /// Returns true if [`NetworkWriter::advance_boards`] would advance the boards.
    pub(crate) fn is_board_advance_due(&self) -> bool {
        let state = self.network.state();
        let age = self.network.data_now().unix_seconds().abs_diff(state.board_at);
        if state.dataset.is_none() || age < BOARD_TICK.as_secs() {
            return false;
        }
        let listeners = self.publisher.as_ref().map(NetworkPublisher::listener_status);
        listeners.is_none_or(|listeners| listeners.stops || !listeners.network)
    }

    /// Drops everything but the schedule; the next messages restore it.
    pub(crate) fn reset_network(&mut self) {
        let before = self.network.state();
        let feeds = self.network.feed_ids().iter().zip(0..);
        self.entity_tables =
            feeds.map(|(id, number)| EntityTable::new(id.clone(), number, self.seed)).collect();
        self.links = TripLinks::new(self.seed);
        let slices = before.feeds.iter().map(|slice| {
            let mut empty = FeedSlice::new(slice.id.clone(), Arc::clone(&slice.record));
            empty.timestamp = slice.timestamp;
            Arc::new(empty)
        });
        let next = Arc::new(NetworkState {
            revision: before.revision + 1,
            at: before.at,
            board_at: before.board_at,
            dataset: before.dataset.clone(),
            dataset_record: before.dataset_record.clone(),
            feeds: slices.collect(),
            timestamp: before.timestamp,
            cache: Default::default(),
        });
        self.network.set_state(Arc::clone(&next));
        if let Some(publisher) = &mut self.publisher {
            publisher.publish_full_state(&before, &next, &[]);
        }
    }

    fn merge_message(
        &mut self,
        number: usize,
        message: &SplitFeedMessage,
        dataset: Option<&Dataset>,
        applied: &mut ApplyOutcome,
    ) {
        let now = self.network.data_now().unix_seconds();
        let message_time = nonzero_seconds(message.header.timestamp).unwrap_or(now);
        let timetable = dataset.map(|dataset| &*dataset.timetable);
        let mut poll = PollContext {
            context: NormalizeContext { timetable, message_time },
            now,
            links: &mut self.links,
            changes: &mut applied.changes,
            problems: &mut applied.problems,
            decoded: 0,
            is_refused: false,
        };
        self.entity_tables[number].apply_message(message, &mut poll);
        applied.decoded += poll.decoded;
        applied.is_refused = poll.is_refused;
    }

    /// Joins the vehicles again whose trip update has changed.
    fn rejoin_vehicles(&mut self, dataset: Option<&Dataset>, changes: &mut Vec<RecordChange>) {
        let timetable = dataset.map(|dataset| &*dataset.timetable);
        for at in 0..changes.len() {
            let change = &changes[at];
            if change.record().is_none_or(|record| record.kind != RecordKind::TripUpdate) {
                continue;
            }
            let trip_id_of = |record: &Record| {
                Some(nonempty_text(&record.trip_descriptor()?.trip_id)?.to_owned())
            };
            let old = change.old.as_deref().and_then(trip_id_of);
            let new =
                change.new.as_deref().and_then(trip_id_of).filter(|new| Some(new) != old.as_ref());
            for trip in [old, new].into_iter().flatten() {
                for (feed, item) in self.links.find_vehicles(&trip).to_vec() {
                    let table = &mut self.entity_tables[usize::from(feed)];
                    let message_time = table.message_time;
                    let context = NormalizeContext { timetable, message_time };
                    table.rejoin_vehicle(item, context, &self.links, changes);
                }
            }
        }
    }

    /// Returns the timestamp of exports of the whole network: the time of its last change.
    fn later_network_timestamp(&self, before: &NetworkState, feeds: &[Arc<FeedSlice>]) -> u64 {
        let same = feeds.iter().zip(&before.feeds).all(|(new, old)| Arc::ptr_eq(new, old));
        let now = u64::try_from(self.network.data_now().unix_seconds()).unwrap_or(0);
        if same { before.timestamp } else { before.timestamp.max(now) }
    }

    /// Returns the feeds' slices with the current tables.
    fn build_slices(&mut self, before: &NetworkState) -> Vec<Arc<FeedSlice>> {
        let tables = self.entity_tables.iter_mut();
        let slices = tables.zip(&before.feeds).map(|(table, slice)| {
            if !table.is_dirty() {
                return Arc::clone(slice);
            }
            let mut next = clone_slice(slice);
            next.tables = table.build_tables(&slice.tables);
            if let Some(others) = table.take_changed_others() {
                next.others = others;
            }
            Arc::new(next)
        });
        slices.collect()
    }

    /// Swaps in the next state and publishes the changes.
    fn commit_state(
        &mut self,
        before: &Arc<NetworkState>,
        feeds: Vec<Arc<FeedSlice>>,
        changes: &[RecordChange],
        now: UnixMillis,
    ) {
        let (next, outcome) = self.swap_in_state(before, feeds, changes, now);
        self.publish_changes(before, &next, changes, &outcome);
    }

    /// Builds and swaps in the next state, and returns what to publish.
    fn swap_in_state(
        &self,
        before: &NetworkState,
        mut feeds: Vec<Arc<FeedSlice>>,
        changes: &[RecordChange],
        now: UnixMillis,
    ) -> (Arc<NetworkState>, PollOutcome) {
        remember_closed_alerts(&mut feeds, changes, now);
        let chunks = split_publications(changes);
        let is_update = |change: &RecordChange| {
            change.record().is_some_and(|record| record.kind == RecordKind::TripUpdate)
        };
        let present = self.network.data_now().unix_seconds();
        let boards = if !changes.iter().any(is_update) {
            AffectedBoards::Same
        } else if present.abs_diff(before.board_at) >= BOARD_TICK.as_secs()
            || before.has_comparability_change(&feeds)
        {
            AffectedBoards::All
        } else {
            // Between two ticks the displayed time stays the same, so only boards touched by the changes can differ.
            AffectedBoards::Touched
        };
        let next = Arc::new(NetworkState {
            revision: before.revision + chunks.len() as u64,
            // A wall clock that steps back does not lower the time.
            at: before.at.max(now),
            board_at: if boards == AffectedBoards::All { present } else { before.board_at },
            dataset: before.dataset.clone(),
            dataset_record: before.dataset_record.clone(),
            timestamp: self.later_network_timestamp(before, &feeds),
            feeds,
            cache: Default::default(),
        });
        self.network.set_state(Arc::clone(&next));
        (next, PollOutcome { boards, chunks })
    }

    fn publish_changes(
        &mut self,
        before: &NetworkState,
        next: &Arc<NetworkState>,
        changes: &[RecordChange],
        outcome: &PollOutcome,
    ) {
        if let Some(publisher) = &mut self.publisher
            && !outcome.chunks.is_empty()
        {
            publisher.publish_revision(before, next, changes, outcome);
        }
    }
}

/// Seconds into the future beyond which a header's timestamp is ignored.
const FUTURE_SECONDS_MAX: u64 = 24 * 60 * 60;

fn clone_slice(slice: &FeedSlice) -> FeedSlice {
    FeedSlice {
        id: slice.id.clone(),
        record: Arc::clone(&slice.record),
        header: slice.header.clone(),
        timestamp: slice.timestamp,
        tables: slice.tables.clone(),
        others: Arc::clone(&slice.others),
        closed: Arc::clone(&slice.closed),
        cache: Default::default(),
    }
}

/// Retains the alerts that these changes remove in each feed's slice.
fn remember_closed_alerts(feeds: &mut [Arc<FeedSlice>], changes: &[RecordChange], now: UnixMillis) {
    for slice in feeds {
        let own = changes.iter();
        let own = own.filter(|change| change.record().is_some_and(|it| it.feed == slice.id));
        if let Some(closed) = slice.closed.after_changes(own, now) {
            *slice = Arc::new(FeedSlice { closed: Arc::new(closed), ..clone_slice(slice) });
        }
    }
}

/// Puts a feed's status into its slice; returns a change if it differs.
fn put_feed_record(slice: &mut FeedSlice, record: FeedRecord) -> Option<RecordChange> {
    let record = crate::record::build_feed_record(&slice.id, record);
    if slice.record.content_eq(&record) {
        return None;
    }
    let record = Arc::new(record);
    let old = std::mem::replace(&mut slice.record, Arc::clone(&record));
    Some(RecordChange::upsert(Some(old), record))
}

/// Returns the timestamp of a feed's exports: the producer's, but never decreasing, and increasing whenever the content
/// changes.
fn later_timestamp(known: u64, header: &FeedHeader, changed: bool, now: UnixMillis) -> u64 {
    let fetched = u64::try_from(now.unix_seconds()).unwrap_or(0);
    // A clock far ahead would otherwise keep the timestamp from ever increasing again.
    let believed = 1..=fetched.saturating_add(FUTURE_SECONDS_MAX);
    let stated = header.timestamp.filter(|seconds| believed.contains(seconds)).unwrap_or(fetched);
    if changed && known > 0 { stated.max(known + 1) } else { stated.max(known) }
}

/// Splits changes into publications within the size limit.
fn split_publications(changes: &[RecordChange]) -> Vec<Range<usize>> {
    let mut chunks = Vec::new();
    let (mut start, mut bytes) = (0, MESSAGE_OVERHEAD);
    for (at, change) in changes.iter().enumerate() {
        let more = change.bytes_max();
        if bytes + more > MESSAGE_BYTES_MAX && at > start {
            chunks.push(start..at);
            (start, bytes) = (at, MESSAGE_OVERHEAD);
        }
        bytes += more;
    }
    if start < changes.len() {
        chunks.push(start..changes.len());
    }
    chunks
}
