//! Rebuilding a network's records under another schedule, without one, or in another network.

use std::sync::Arc;

use lineside_formats::gtfs_rt::{
    FeedMessageLimits, SplitFeedMessage, encode_feed_message, proto::FeedHeader, split_feed_message,
};
use lineside_sync::UnixMillis;

use crate::{
    change::RecordChange,
    dataset::Dataset,
    network_state::{
        FeedStateInNetwork, NetworkState,
        table::{FeedRecordTables, collect_table_changes},
    },
    network_writer::{
        ApplyOutcome, NetworkWriter,
        entity_table::EntityTable,
        writer::{clone_feed_state, set_feed_status_record},
    },
    normalize::NormalizeContext,
    record::{FeedStatusRecord, RemovalReason},
    trip_links::TripRecordIndex,
};

/// A network built from other networks.
#[derive(Debug)]
pub(crate) struct InheritedNetworkData {
    /// The state of its feeds in the other networks.
    before: NetworkState,
    /// Changes of their records under another schedule, or without one.
    changes: Vec<RecordChange>,
}

impl NetworkWriter {
    /// Decodes every known entity again, because dates and joins depend on the schedule.
    pub(super) fn redecode_entities(
        &mut self,
        before: &NetworkState,
        dataset: Option<&Dataset>,
        applied: &mut ApplyOutcome,
    ) -> Vec<Arc<FeedStateInNetwork>> {
        self.links = TripRecordIndex::new(self.seed);
        for (number, slice) in before.feeds.iter().enumerate() {
            let Some(message) = last_content_as_message(slice, &self.entity_tables[number]) else {
                continue;
            };
            self.entity_tables[number] =
                EntityTable::new(slice.id.clone(), number as u16, self.seed);
            let mut redecoded = ApplyOutcome::default();
            self.apply_to_entity_table(number, &message, dataset, &mut redecoded);
            applied.decoded += redecoded.decoded;
        }
        self.rejoin_all_vehicles(dataset);
        let slices = self.entity_tables.iter_mut().zip(&before.feeds).map(|(table, slice)| {
            let next = rebuild_feed_state(table, slice, &slice.tables);
            for (old, new) in slice.tables.all_tables().into_iter().zip(next.tables.all_tables()) {
                collect_table_changes(old, new, &mut applied.changes);
            }
            Arc::new(next)
        });
        slices.collect()
    }

    /// Joins all vehicles again: one may have been joined before the trip update of its run was known.
    fn rejoin_all_vehicles(&mut self, dataset: Option<&Dataset>) {
        for table in &mut self.entity_tables {
            let timetable = dataset.map(|dataset| &*dataset.timetable);
            let context = NormalizeContext { timetable, message_time: table.message_time };
            table.rejoin_vehicles(context, &self.links);
        }
    }

    /// Swaps in the state with another schedule, or without one.
    pub(super) fn swap_state_with_dataset(
        &self,
        before: &NetworkState,
        dataset: Option<Arc<Dataset>>,
        feeds: Vec<Arc<FeedStateInNetwork>>,
        now: UnixMillis,
    ) -> Arc<NetworkState> {
        let next = Arc::new(NetworkState {
            revision: before.revision + 1,
            at: before.at.max(now),
            board_at: self.network.data_time_now().unix_seconds(),
            dataset_record: dataset.as_ref().map(|dataset| Arc::new(dataset.to_dataset_record())),
            dataset,
            timestamp: self.next_network_timestamp(before, &feeds),
            feeds,
            cache: Default::default(),
        });
        self.network.set_state(Arc::clone(&next));
        next
    }

    /// Removes the data of a feed: its records, and the schedule if the feed was one.
    pub(crate) fn remove_feed_data(&mut self, number: usize, now: UnixMillis) {
        let before = self.network.state();
        let mut changes = Vec::new();
        self.entity_tables[number].clear(RemovalReason::Gone, &mut self.links, &mut changes);
        self.rejoin_vehicles_of_changed_trips(before.dataset.as_deref(), &mut changes);
        let mut feeds = self.build_feed_states(&before);
        feeds[number] =
            Arc::new(FeedStateInNetwork { header: None, ..clone_feed_state(&feeds[number]) });
        self.swap_and_publish_state(&before, feeds, &changes, now);
        if number == 0 && before.dataset.is_some() {
            let before = self.network.state();
            let mut applied = ApplyOutcome::default();
            let feeds = self.redecode_entities(&before, None, &mut applied);
            let next = self.swap_state_with_dataset(&before, None, feeds, now);
            if let Some(publisher) = &mut self.publisher {
                publisher.publish_full_states(&before, &next, &applied.changes);
            }
        }
    }

    /// Takes over the feeds' data from other networks, whose writers have ended. Call it before any input is applied
    /// and before the network is visible. `feed_records` contains the status of each feed, in order.
    pub(crate) fn inherit_data_of_networks(
        &mut self,
        from: &[NetworkWriter],
        feed_records: Vec<FeedStatusRecord>,
        now: UnixMillis,
    ) -> InheritedNetworkData {
        let network = Arc::clone(&self.network);
        let empty = network.state();
        let same_name = from.iter().find(|other| other.network.id() == network.id());
        if let Some(replay) = same_name.and_then(|other| other.network.replay_clock())
            && network.has_replay()
        {
            network.set_replay_clock_if_unset(replay);
        }
        let known = same_name.map(|other| other.network.state());
        let dataset = known.as_ref().and_then(|state| state.dataset.clone());
        let mut old = Vec::new();
        for (number, id) in network.feed_ids().iter().enumerate() {
            let found = from
                .iter()
                .find_map(|other| Some((other, other.network.index_of_feed(id.as_str())?)));
            let Some((other, at)) = found else {
                old.push(Arc::clone(&empty.feeds[number]));
                continue;
            };
            let slice = Arc::clone(&other.network.state().feeds[at]);
            self.entity_tables[number].inherit_gbfs_records(&other.entity_tables[at]);
            if let Some(message) = last_content_as_message(&slice, &other.entity_tables[at]) {
                self.apply_to_entity_table(
                    number,
                    &message,
                    dataset.as_deref(),
                    &mut ApplyOutcome::default(),
                );
            }
            old.push(slice);
        }
        self.rejoin_all_vehicles(dataset.as_deref());
        let mut changes = Vec::new();
        let slices = self.entity_tables.iter_mut().zip(&old).zip(feed_records).map(
            |((table, slice), feed_record)| {
                let mut next = rebuild_feed_state(table, slice, &FeedRecordTables::default());
                for (old, new) in
                    slice.tables.all_tables().into_iter().zip(next.tables.all_tables())
                {
                    collect_table_changes(old, new, &mut changes);
                }
                changes.extend(set_feed_status_record(&mut next, feed_record));
                Arc::new(next)
            },
        );
        let feeds = slices.collect();
        let timestamp = known.as_ref().map_or(0, |state| state.timestamp);
        let before = NetworkState {
            revision: 0,
            at: known.as_ref().map_or(now, |state| state.at),
            board_at: now.unix_seconds(),
            dataset_record: known.as_ref().and_then(|state| state.dataset_record.clone()),
            dataset: dataset.clone(),
            feeds: old,
            timestamp,
            cache: Default::default(),
        };
        self.swap_state_with_dataset(&before, dataset, feeds, now);
        InheritedNetworkData { before, changes }
    }

    /// Publishes the changes of records in map cells under the other schedule. Call it once readers see the network.
    pub(crate) fn publish_cell_changes(&mut self, inherited: &InheritedNetworkData) {
        let next = self.network.state();
        if let Some(publisher) = &mut self.publisher {
            publisher.publish_cell_changes(&inherited.before, &next, &inherited.changes);
        }
    }
}

/// Returns the whole last content of a feed as one message; `None` before its first message.
fn last_content_as_message(
    slice: &FeedStateInNetwork,
    table: &EntityTable,
) -> Option<SplitFeedMessage> {
    let header = slice.header.clone()?;
    let full = FeedHeader { incrementality: None, ..header };
    let body = encode_feed_message(&full, table.distinct_raw_entities());
    let limits = FeedMessageLimits { body_bytes: usize::MAX, ..FeedMessageLimits::default() };
    split_feed_message(body, &limits).ok().map(|(message, _)| message)
}

fn rebuild_feed_state(
    table: &mut EntityTable,
    slice: &FeedStateInNetwork,
    known: &FeedRecordTables,
) -> FeedStateInNetwork {
    let mut next = clone_feed_state(slice);
    next.tables = table.build_changed_tables(known);
    if let Some(others) = table.take_changed_recordless_entities() {
        next.others = others;
    }
    next
}
