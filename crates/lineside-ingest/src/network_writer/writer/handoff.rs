//! Writing a network at one revision to the handoff file, and restoring it.

use std::{
    io::{self, Write},
    sync::Arc,
};

use bytes::Bytes;
use lineside_formats::gtfs_rt::proto::FeedHeader;
use lineside_hub::Epoch;
use lineside_sync::UnixMillis;
use prost::Message as _;
use xxhash_rust::xxh3::Xxh3;

use crate::{
    catalog::Feed,
    dataset::Dataset,
    feed_id::FeedId,
    handoff::{HandoffFeed, HandoffNetwork, HandoffWriter, schema},
    hashing::SeededHashBuilder,
    network_state::table::FeedRecordTables,
    network_writer::{
        NetworkWriter,
        writer::{EntityTable, FeedStateInNetwork, NetworkState, TripRecordIndex},
    },
    record::{FeedStatusRecord, Record, RecordBody, build_feed_status_record},
    status::{FeedState, FeedStatus},
};

/// The message that explains why a network starts a new epoch.
pub(crate) type NotResumedReason = &'static str;

/// A restored network whose records equal those published before.
#[derive(Debug)]
pub struct ResumedNetwork {
    epoch: Epoch,
    state: NetworkState,
    entity_tables: Vec<EntityTable>,
    links: TripRecordIndex,
}

impl ResumedNetwork {
    /// Returns the epoch with which the sequence continues.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }
}

impl NetworkWriter {
    /// Writes the current network with its feeds. Must not be called while an input is applied.
    ///
    /// # Errors
    /// Returns the writer's error.
    pub fn write_network_to_handoff<W: Write>(
        &self,
        into: &mut HandoffWriter<W>,
    ) -> io::Result<()> {
        let state = self.network.state();
        into.write_network_message(&schema::NetworkProto {
            id: self.network.id().to_string(),
            epoch: self.network.epoch().to_bits(),
            revision: state.revision,
            at: state.at.0,
            board_at: state.board_at,
            timestamp: state.timestamp,
            dataset_at: state.dataset.as_ref().map(|dataset| dataset.fetched_at.0),
            digest: Bytes::copy_from_slice(&digest_of_all_records(&state)),
        })?;
        let feeds = self.network.feeds();
        for (slice, table) in state.feeds.iter().zip(&self.entity_tables) {
            let feed = feeds.iter().find(|feed| *feed.id() == slice.id);
            let (feed_proto, bytes) = encode_feed_for_handoff(slice, table.message_time, feed);
            into.write_feed_and_snapshot(&feed_proto, bytes.as_ref())?;
            table.write_table_to_handoff(into)?;
        }
        Ok(())
    }

    /// Resumes the state of an earlier process. Call it before any input is applied, on a network with the same epoch
    /// and feeds.
    pub fn resume_earlier_state(&mut self, continued: ResumedNetwork) {
        let ResumedNetwork { state, entity_tables, links, .. } = continued;
        self.entity_tables = entity_tables;
        self.links = links;
        self.network.set_state(Arc::new(state));
    }
}

impl HandoffNetwork {
    /// Restores the network. `feeds` are its configured feeds, `seed` is that of its future writer, and `dataset` is
    /// decoded from the schedule's bytes.
    ///
    /// # Errors
    /// Returns the reason why the network would differ from what subscribers hold.
    pub fn restore_from_handoff(
        self,
        feeds: &[FeedId],
        dataset: Option<Arc<Dataset>>,
        seed: u64,
    ) -> Result<ResumedNetwork, &'static str> {
        let epoch = self.epoch();
        let HandoffNetwork { network, feeds: handoff_feeds } = self;
        if !handoff_feeds
            .iter()
            .map(|handoff_feed| &*handoff_feed.feed.id)
            .eq(feeds.iter().map(FeedId::as_str))
        {
            return Err("its feeds have changed");
        }
        if dataset.is_some() != network.dataset_at.is_some() {
            return Err("its schedule is missing");
        }
        let seed = SeededHashBuilder(seed);
        let (mut tables, mut links) = (Vec::new(), TripRecordIndex::new(seed));
        let mut slices = Vec::new();
        for ((handoff_feed, id), number) in handoff_feeds.into_iter().zip(feeds).zip(0..) {
            let mut table = EntityTable::new(id.clone(), number, seed);
            slices.push(Arc::new(restore_feed_state(handoff_feed, id, &mut table, &mut links)?));
            tables.push(table);
        }
        let state = NetworkState {
            revision: network.revision,
            at: UnixMillis(network.at),
            board_at: network.board_at,
            dataset_record: dataset.as_ref().map(|dataset| Arc::new(dataset.to_dataset_record())),
            dataset,
            feeds: slices,
            timestamp: network.timestamp,
            cache: Default::default(),
        };
        if digest_of_all_records(&state)[..] != network.digest[..] {
            return Err("its restored records differ from the saved ones");
        }
        Ok(ResumedNetwork { epoch, state, entity_tables: tables, links })
    }
}

/// Returns a digest of all records as published in messages.
fn digest_of_all_records(state: &NetworkState) -> [u8; 16] {
    let mut digest = Xxh3::new();
    let mut put = |record: &Record| {
        let upsert = record.upsert_json();
        digest.update(&(upsert.len() as u64).to_le_bytes());
        digest.update(upsert);
    };
    for slice in &state.feeds {
        put(&slice.record);
        slice
            .tables
            .all_tables()
            .into_iter()
            .flat_map(|table| table.records())
            .for_each(|it| put(it));
    }
    state.dataset_record.iter().for_each(|record| put(record));
    digest.digest128().to_le_bytes()
}

fn encode_feed_for_handoff(
    slice: &FeedStateInNetwork,
    message_time: i64,
    feed: Option<&Arc<Feed>>,
) -> (schema::FeedProto, Option<Bytes>) {
    let snapshot = feed.and_then(|feed| feed.snapshot());
    let status = feed.map(|feed| feed.status()).unwrap_or_default();
    let record = match &slice.record.body {
        RecordBody::Feed(record) => FeedStatusRecord::clone(record),
        _ => FeedStatusRecord::from_status(&FeedStatus::default()),
    };
    let feed_proto = schema::FeedProto {
        id: slice.id.to_string(),
        state: record.state.to_string(),
        reason: record.reason,
        since: record.since.0,
        header: slice.header.as_ref().map(|header| header.encode_to_vec().into()),
        timestamp: slice.timestamp,
        message_time,
        last_success: status.last_success.map(|at| at.0),
        data_time: status.data_time.map(|at| at.0),
        entities: status.entities,
        format: status.format.map(|format| format.as_str().to_owned()),
        state_before_pause: record.state_before_pause.map(|state| state.to_string()),
        unreliable_since: record.unreliable_since.map(|at| at.0),
        snapshot: snapshot.as_ref().map(|snapshot| schema::SnapshotProto {
            format: snapshot.format.as_str().to_owned(),
            content_type: snapshot.content_type.clone(),
            file_name: snapshot.file_name.clone(),
            fetched_at: snapshot.fetched_at.0,
            last_modified: snapshot.last_modified.map(|at| at.0),
        }),
    };
    (feed_proto, snapshot.map(|snapshot| snapshot.bytes.clone()))
}

fn restore_feed_state(
    handoff_feed: HandoffFeed,
    id: &FeedId,
    table: &mut EntityTable,
    links: &mut TripRecordIndex,
) -> Result<FeedStateInNetwork, NotResumedReason> {
    let feed_proto = handoff_feed.feed;
    let state = FeedState::parse(&feed_proto.state).ok_or("a feed has an unknown state")?;
    let record = FeedStatusRecord {
        state,
        reason: feed_proto.reason,
        since: UnixMillis(feed_proto.since),
        state_before_pause: feed_proto.state_before_pause.as_deref().and_then(FeedState::parse),
        unreliable_since: feed_proto.unreliable_since.map(UnixMillis),
    };
    let header = feed_proto.header.map(FeedHeader::decode).transpose();
    table
        .restore_table_from_handoff(feed_proto.message_time, handoff_feed.chunks, links)
        .map_err(|_| "a record cannot be decoded")?;
    Ok(FeedStateInNetwork {
        header: header.map_err(|_| "a message header cannot be decoded")?,
        timestamp: feed_proto.timestamp,
        tables: table.build_changed_tables(&FeedRecordTables::default()),
        others: table.take_changed_recordless_entities().unwrap_or_default(),
        ..FeedStateInNetwork::new(id.clone(), Arc::new(build_feed_status_record(id, record)))
    })
}
