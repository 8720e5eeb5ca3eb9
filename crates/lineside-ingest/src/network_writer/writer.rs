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
pub(crate) use self::rejoin::InheritedNetworkData;

use crate::{
    catalog::Network,
    change::RecordChange,
    dataset::Dataset,
    hashing::SeededHashBuilder,
    limits::{BOARD_TICK, MESSAGE_BYTES_MAX},
    network_state::{FeedStateInNetwork, NetworkState},
    network_writer::entity_table::{EntityTable, MessageApplyContext},
    normalize::{GbfsFileRecords, NormalizeContext},
    poll_stages::PollStage,
    publish::{AffectedBoards, MESSAGE_OVERHEAD, NetworkPublisher, PublicationPlan},
    record::{FeedStatusRecord, Record, RecordKind, RemovalReason},
    trip_identity::text_if_nonempty,
    trip_identity::timestamp_if_nonzero,
    trip_links::TripRecordIndex,
};

/// Applies inputs of feeds, in any order, from one caller at a time.
#[derive(Debug)]
pub struct NetworkWriter {
    network: Arc<Network>,
    publisher: Option<NetworkPublisher>,
    entity_tables: Vec<EntityTable>,
    links: TripRecordIndex,
    seed: SeededHashBuilder,
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
        let seed = SeededHashBuilder(seed);
        let feeds = network.feed_ids().iter().zip(0..);
        let tables = feeds.map(|(id, number)| EntityTable::new(id.clone(), number, seed)).collect();
        let publisher = hub.map(|hub| NetworkPublisher::new(hub, Arc::clone(&network), seed));
        NetworkWriter {
            network,
            publisher,
            entity_tables: tables,
            links: TripRecordIndex::new(seed),
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
    pub fn decode_and_apply_message(
        &mut self,
        feed: &str,
        body: Bytes,
        now: UnixMillis,
    ) -> Result<ApplyOutcome, Error> {
        self.decode_and_apply_with_status(feed, body, now, |_| None)
    }

    /// Applies a message; `find_record` returns the feed's status for that many records, which is published too.
    pub fn decode_and_apply_with_status(
        &mut self,
        feed: &str,
        body: Bytes,
        now: UnixMillis,
        find_record: impl FnOnce(usize) -> Option<FeedStatusRecord>,
    ) -> Result<ApplyOutcome, Error> {
        let (message, problems) = split_feed_message(body, &FeedMessageLimits::default())?;
        let Some(number) = self.network.index_of_feed(feed) else {
            return Ok(ApplyOutcome::default());
        };
        Ok(self.apply_decoded_message(number, &message, problems, now, find_record))
    }

    /// Applies a decoded message; `find_record` returns the feed's status for that many records.
    pub(crate) fn apply_decoded_message(
        &mut self,
        number: usize,
        message: &SplitFeedMessage,
        problems: Problems,
        now: UnixMillis,
        find_record: impl FnOnce(usize) -> Option<FeedStatusRecord>,
    ) -> ApplyOutcome {
        let _at = stage::set_stage_until_dropped(PollStage::Apply.to_work_stage());
        let began = self.network.stage_start_time();
        let mut applied = ApplyOutcome { problems, ..ApplyOutcome::default() };
        let before = self.network.state();
        self.apply_to_entity_table(number, message, before.dataset.as_deref(), &mut applied);
        if applied.is_refused {
            applied.records = before.feeds[number].record_count();
            return applied;
        }
        self.rejoin_vehicles_of_changed_trips(before.dataset.as_deref(), &mut applied.changes);
        let changed = self.entity_tables[number].has_unbuilt_changes();
        let mut feeds = self.build_feed_states(&before);
        let slice = &before.feeds[number];
        let mut next = FeedStateInNetwork {
            header: Some(message.header.clone()),
            timestamp: next_export_timestamp(slice.timestamp, &message.header, changed, now),
            record: Arc::clone(&slice.record),
            id: slice.id.clone(),
            tables: feeds[number].tables.clone(),
            others: Arc::clone(&feeds[number].others),
            closed: Arc::clone(&slice.closed),
            cache: Default::default(),
        };
        applied.records = next.record_count();
        if let Some(change) =
            find_record(applied.records).and_then(|it| set_feed_status_record(&mut next, it))
        {
            applied.changes.push(change);
        }
        feeds[number] = Arc::new(next);
        let (next, outcome) = self.build_and_swap_state(&before, feeds, &applied.changes, now);
        self.network.record_stage_duration(PollStage::Apply, began);
        self.publish_state_changes(&before, &next, &applied.changes, &outcome);
        applied
    }

    /// Publishes a change of a feed's status without a message.
    pub(crate) fn publish_feed_status(
        &mut self,
        number: usize,
        record: FeedStatusRecord,
        now: UnixMillis,
    ) {
        let before = self.network.state();
        let mut slice = clone_feed_state(&before.feeds[number]);
        let Some(change) = set_feed_status_record(&mut slice, record) else { return };
        let mut feeds = before.feeds.clone();
        feeds[number] = Arc::new(slice);
        self.swap_and_publish_state(&before, feeds, &[change], now);
    }

    /// Applies a file of a GBFS system and publishes the changes of its stations or vehicles.
    pub(crate) fn apply_gbfs_file(
        &mut self,
        number: usize,
        file: GbfsFileRecords,
        now: UnixMillis,
    ) {
        let _at = stage::set_stage_until_dropped(PollStage::Apply.to_work_stage());
        let began = self.network.stage_start_time();
        let before = self.network.state();
        let mut changes = Vec::new();
        self.entity_tables[number].apply_gbfs_file(file, &mut changes);
        if !changes.is_empty() {
            let feeds = self.build_feed_states(&before);
            self.swap_and_publish_state(&before, feeds, &changes, now);
        }
        self.network.record_stage_duration(PollStage::Apply, began);
    }

    /// Removes the records of a feed because they are too old to be served.
    pub(crate) fn remove_expired_records(
        &mut self,
        number: usize,
        record: FeedStatusRecord,
        now: UnixMillis,
    ) {
        let before = self.network.state();
        let mut changes = Vec::new();
        self.entity_tables[number].clear(RemovalReason::Expired, &mut self.links, &mut changes);
        self.rejoin_vehicles_of_changed_trips(before.dataset.as_deref(), &mut changes);
        let mut feeds = self.build_feed_states(&before);
        let mut slice = clone_feed_state(&feeds[number]);
        changes.extend(set_feed_status_record(&mut slice, record));
        feeds[number] = Arc::new(slice);
        self.swap_and_publish_state(&before, feeds, &changes, now);
    }

    /// Applies a new schedule: all records are joined again, and each room gets its state once.
    pub fn apply_dataset(&mut self, dataset: Arc<Dataset>, now: UnixMillis) -> ApplyOutcome {
        self.apply_dataset_with_status(None, dataset, now)
    }

    pub(crate) fn apply_dataset_with_status(
        &mut self,
        record: Option<(usize, FeedStatusRecord)>,
        dataset: Arc<Dataset>,
        now: UnixMillis,
    ) -> ApplyOutcome {
        let _at = stage::set_stage_until_dropped(PollStage::Apply.to_work_stage());
        let began = self.network.stage_start_time();
        let before = self.network.state();
        let mut applied = ApplyOutcome::default();
        if before.dataset.as_ref().is_some_and(|known| known.version == dataset.version) {
            if let Some((number, record)) = record {
                self.publish_feed_status(number, record, now);
            }
            return applied;
        }
        let mut feeds = self.redecode_entities(&before, Some(&dataset), &mut applied);
        if let Some((number, record)) = record {
            let mut slice = clone_feed_state(&feeds[number]);
            applied.changes.extend(set_feed_status_record(&mut slice, record));
            feeds[number] = Arc::new(slice);
        }
        let next = self.swap_state_with_dataset(&before, Some(dataset), feeds, now);
        self.network.record_stage_duration(PollStage::Apply, began);
        if let Some(publisher) = &mut self.publisher {
            publisher.publish_full_states(&before, &next, &applied.changes);
        }
        applied
    }

    /// Advances the stop boards if due and returns true if it did.
    ///
    /// Boards advance even if no stop has subscribers, so that the first read is current, unless the whole network has
    /// subscribers: they would get an empty message.
    pub fn advance_boards_if_due(&mut self) -> bool {
        if !self.is_board_advance_due() {
            return false;
        }
        let before = self.network.state();
        let board_at = self.network.data_time_now().unix_seconds();
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
            publisher.publish_state_changes(
                &before,
                &next,
                &[],
                &PublicationPlan { boards: AffectedBoards::All, chunks },
            );
        }
        true
    }

    /// Returns true if [`NetworkWriter::advance_boards_if_due`] would advance the boards.
    pub(crate) fn is_board_advance_due(&self) -> bool {
        let state = self.network.state();
        let age = self.network.data_time_now().unix_seconds().abs_diff(state.board_at);
        if state.dataset.is_none() || age < BOARD_TICK.as_secs() {
            return false;
        }
        let listeners = self.publisher.as_ref().map(NetworkPublisher::subscriber_presence);
        listeners.is_none_or(|listeners| listeners.stops || !listeners.network)
    }

    /// Drops everything but the schedule; the next messages restore it.
    pub(crate) fn clear_all_but_schedule(&mut self) {
        let before = self.network.state();
        let feeds = self.network.feed_ids().iter().zip(0..);
        self.entity_tables =
            feeds.map(|(id, number)| EntityTable::new(id.clone(), number, self.seed)).collect();
        self.links = TripRecordIndex::new(self.seed);
        let slices = before.feeds.iter().map(|slice| {
            let mut empty = FeedStateInNetwork::new(slice.id.clone(), Arc::clone(&slice.record));
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
            publisher.publish_full_states(&before, &next, &[]);
        }
    }

    fn apply_to_entity_table(
        &mut self,
        number: usize,
        message: &SplitFeedMessage,
        dataset: Option<&Dataset>,
        applied: &mut ApplyOutcome,
    ) {
        let now = self.network.data_time_now().unix_seconds();
        let message_time = timestamp_if_nonzero(message.header.timestamp).unwrap_or(now);
        let timetable = dataset.map(|dataset| &*dataset.timetable);
        let mut poll = MessageApplyContext {
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
    fn rejoin_vehicles_of_changed_trips(
        &mut self,
        dataset: Option<&Dataset>,
        changes: &mut Vec<RecordChange>,
    ) {
        let timetable = dataset.map(|dataset| &*dataset.timetable);
        for at in 0..changes.len() {
            let change = &changes[at];
            if change.new_or_old_record().is_none_or(|record| record.kind != RecordKind::TripUpdate)
            {
                continue;
            }
            let trip_id_of = |record: &Record| {
                Some(text_if_nonempty(&record.trip_descriptor()?.trip_id)?.to_owned())
            };
            let old = change.old.as_deref().and_then(trip_id_of);
            let new =
                change.new.as_deref().and_then(trip_id_of).filter(|new| Some(new) != old.as_ref());
            for trip in [old, new].into_iter().flatten() {
                for (feed, item) in self.links.vehicle_locations_of_trip(&trip).to_vec() {
                    let table = &mut self.entity_tables[usize::from(feed)];
                    let message_time = table.message_time;
                    let context = NormalizeContext { timetable, message_time };
                    table.rejoin_vehicle(item, context, &self.links, changes);
                }
            }
        }
    }

    /// Returns the timestamp of exports of the whole network: the time of its last change.
    fn next_network_timestamp(
        &self,
        before: &NetworkState,
        feeds: &[Arc<FeedStateInNetwork>],
    ) -> u64 {
        let same = feeds.iter().zip(&before.feeds).all(|(new, old)| Arc::ptr_eq(new, old));
        let now = u64::try_from(self.network.data_time_now().unix_seconds()).unwrap_or(0);
        if same { before.timestamp } else { before.timestamp.max(now) }
    }

    /// Returns the feeds' slices with the current tables.
    fn build_feed_states(&mut self, before: &NetworkState) -> Vec<Arc<FeedStateInNetwork>> {
        let tables = self.entity_tables.iter_mut();
        let slices = tables.zip(&before.feeds).map(|(table, slice)| {
            if !table.has_unbuilt_changes() {
                return Arc::clone(slice);
            }
            let mut next = clone_feed_state(slice);
            next.tables = table.build_changed_tables(&slice.tables);
            if let Some(others) = table.take_changed_recordless_entities() {
                next.others = others;
            }
            Arc::new(next)
        });
        slices.collect()
    }

    /// Swaps in the next state and publishes the changes.
    fn swap_and_publish_state(
        &mut self,
        before: &Arc<NetworkState>,
        feeds: Vec<Arc<FeedStateInNetwork>>,
        changes: &[RecordChange],
        now: UnixMillis,
    ) {
        let (next, outcome) = self.build_and_swap_state(before, feeds, changes, now);
        self.publish_state_changes(before, &next, changes, &outcome);
    }

    /// Builds and swaps in the next state, and returns what to publish.
    fn build_and_swap_state(
        &self,
        before: &NetworkState,
        mut feeds: Vec<Arc<FeedStateInNetwork>>,
        changes: &[RecordChange],
        now: UnixMillis,
    ) -> (Arc<NetworkState>, PublicationPlan) {
        retain_removed_alerts(&mut feeds, changes, now);
        let chunks = split_into_publications(changes);
        let is_update = |change: &RecordChange| {
            change.new_or_old_record().is_some_and(|record| record.kind == RecordKind::TripUpdate)
        };
        let present = self.network.data_time_now().unix_seconds();
        let boards = if !changes.iter().any(is_update) {
            AffectedBoards::Same
        } else if present.abs_diff(before.board_at) >= BOARD_TICK.as_secs()
            || before.has_matching_changed(&feeds)
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
            timestamp: self.next_network_timestamp(before, &feeds),
            feeds,
            cache: Default::default(),
        });
        self.network.set_state(Arc::clone(&next));
        (next, PublicationPlan { boards, chunks })
    }

    fn publish_state_changes(
        &mut self,
        before: &NetworkState,
        next: &Arc<NetworkState>,
        changes: &[RecordChange],
        outcome: &PublicationPlan,
    ) {
        if let Some(publisher) = &mut self.publisher
            && !outcome.chunks.is_empty()
        {
            publisher.publish_state_changes(before, next, changes, outcome);
        }
    }
}

/// Seconds into the future beyond which a header's timestamp is ignored.
const FUTURE_SECONDS_MAX: u64 = 24 * 60 * 60;

fn clone_feed_state(slice: &FeedStateInNetwork) -> FeedStateInNetwork {
    FeedStateInNetwork {
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
fn retain_removed_alerts(
    feeds: &mut [Arc<FeedStateInNetwork>],
    changes: &[RecordChange],
    now: UnixMillis,
) {
    for slice in feeds {
        let own = changes.iter();
        let own =
            own.filter(|change| change.new_or_old_record().is_some_and(|it| it.feed == slice.id));
        if let Some(closed) = slice.closed.retained_after_changes(own, now) {
            *slice = Arc::new(FeedStateInNetwork {
                closed: Arc::new(closed),
                ..clone_feed_state(slice)
            });
        }
    }
}

/// Puts a feed's status into its slice; returns a change if it differs.
fn set_feed_status_record(
    slice: &mut FeedStateInNetwork,
    record: FeedStatusRecord,
) -> Option<RecordChange> {
    let record = crate::record::build_feed_status_record(&slice.id, record);
    if slice.record.has_same_content(&record) {
        return None;
    }
    let record = Arc::new(record);
    let old = std::mem::replace(&mut slice.record, Arc::clone(&record));
    Some(RecordChange::new_upsert(Some(old), record))
}

/// Returns the timestamp of a feed's exports: the producer's, but never decreasing, and increasing whenever the content
/// changes.
fn next_export_timestamp(known: u64, header: &FeedHeader, changed: bool, now: UnixMillis) -> u64 {
    let fetched = u64::try_from(now.unix_seconds()).unwrap_or(0);
    // A clock far ahead would otherwise keep the timestamp from ever increasing again.
    let believed = 1..=fetched.saturating_add(FUTURE_SECONDS_MAX);
    let stated = header.timestamp.filter(|seconds| believed.contains(seconds)).unwrap_or(fetched);
    if changed && known > 0 { stated.max(known + 1) } else { stated.max(known) }
}

/// Splits changes into publications within the size limit.
fn split_into_publications(changes: &[RecordChange]) -> Vec<Range<usize>> {
    let mut chunks = Vec::new();
    let (mut start, mut bytes) = (0, MESSAGE_OVERHEAD);
    for (at, change) in changes.iter().enumerate() {
        let more = change.message_bytes_max();
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
