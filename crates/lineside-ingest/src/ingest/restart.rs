//! The handoff between processes: networks and logs to write, and those that can be resumed.

use std::{
    io::{self, Write},
    sync::Arc,
    thread,
    time::Duration,
};

use bytes::Bytes;
use lineside_formats::Format;
use lineside_hub::{
    ChannelStateSource, EncodedChannelName, HandoffRoomLog, Hub, KINDS_OF_HUB, RoomKey,
};
use lineside_sync::UnixMillis;

use super::{Ingest, NetworkFeedConfigs, RunningNetwork};
use crate::{
    catalog::{Feed, Network},
    channel_kinds::{GROUP_NONE, RoomKind},
    channels::NetworkChannelStates,
    dataset::{Dataset, DecodingLimits},
    feed_id::FeedId,
    handoff::{HandoffFileContent, HandoffNetwork, HandoffWriter, schema},
    limits::{CONCURRENT_LOADS_MAX, HANDOFF_PUBLICATIONS_BYTES_MAX},
    network_writer::{NetworkWriter, ResumedNetwork},
    snapshot::FeedBodySnapshot,
    source::SourceLocation,
    status::{FeedState, FeedStatus},
};

/// The networks that a file contains, for [`Ingest::write_channel_logs_to_handoff`].
#[derive(Debug)]
pub struct WrittenNetworkGroups(Vec<u32>);

impl Ingest {
    /// Writes the current networks; call it after [`stop_polling`](Ingest::stop_polling). A network that is still
    /// processing input is left out and gets a new epoch in the next process.
    ///
    /// # Errors
    /// Returns the writer's error.
    pub fn write_networks_to_handoff<W: Write>(
        &self,
        into: &mut HandoffWriter<W>,
    ) -> io::Result<WrittenNetworkGroups> {
        let mut written = Vec::new();
        let Ok(running) = self.running.try_lock() else {
            tracing::warn!(
                "a change of feeds is in progress: no network is saved for the next start"
            );
            return Ok(WrittenNetworkGroups(written));
        };
        for RunningNetwork { network, ended, .. } in &running.networks {
            match writer_if_resumable(network, ended.lock().as_ref()) {
                Ok(writer) => {
                    writer.write_network_to_handoff(into)?;
                    written.push(network.room_group());
                }
                Err(reason) => {
                    tracing::warn!(network = %network.id(), reason, "the network is not saved for the next start");
                }
            }
        }
        Ok(WrittenNetworkGroups(written))
    }

    /// Writes the logs of channels, the newest publications up to
    /// [`HANDOFF_PUBLICATIONS_BYTES_MAX`](crate::limits::HANDOFF_PUBLICATIONS_BYTES_MAX), and stops further publishing:
    /// everything published before is in the file.
    ///
    /// # Errors
    /// Returns the writer's error.
    pub fn write_channel_logs_to_handoff<W: Write>(
        &self,
        networks: &WrittenNetworkGroups,
        into: &mut HandoffWriter<W>,
    ) -> io::Result<()> {
        self.hub.stop_app_publishing();
        let all = networks.0.len() == self.catalog.load().networks.len();
        let is_exported = |_: &EncodedChannelName, key: RoomKey| match key.group {
            // A cell contains vehicles of every network.
            GROUP_NONE => key.kind >= KINDS_OF_HUB || all,
            group => networks.0.contains(&group),
        };
        let exported = self.hub.export_room_logs(HANDOFF_PUBLICATIONS_BYTES_MAX, is_exported);
        for room in &exported.rooms {
            into.write_channel_log(room)?;
        }
        tracing::info!(
            networks = networks.0.len(),
            channels = exported.rooms.len(),
            left_out = exported.n_omitted,
            "networks and channel logs are saved for the next start"
        );
        Ok(())
    }
}

fn writer_if_resumable<'a>(
    network: &Network,
    writer: Option<&'a NetworkWriter>,
) -> Result<&'a NetworkWriter, &'static str> {
    let writer = writer.ok_or("a poll is still running")?;
    let feeds = network.feeds();
    if feeds.iter().any(|feed| is_replay_source(&feed.config().url)) {
        return Err("a replay starts from the beginning");
    }
    let bytes = feeds.first().and_then(|feed| feed.snapshot());
    match network.dataset() {
        Some(dataset) if bytes.is_none_or(|bytes| !dataset.matches_hash(bytes.hash)) => {
            Err("its schedule is being replaced")
        }
        _ => Ok(writer),
    }
}

fn is_replay_source(url: &SourceLocation) -> bool {
    matches!(url, SourceLocation::Replay { .. })
}

/// The networks and logs that can be resumed.
#[derive(Debug)]
pub(super) struct RestartPlan {
    /// Resumable networks, in the order of the groups.
    networks: Vec<Option<ResumableNetwork>>,
    rooms: Vec<HandoffRoomLog>,
    downtime: Duration,
    is_same_program_version: bool,
    /// True if the file contains exactly the configured networks and all of them are resumed.
    is_complete: bool,
}

/// A network that is resumed.
#[derive(Debug)]
struct ResumableNetwork {
    continued: Option<ResumedNetwork>,
    epoch: lineside_hub::Epoch,
    feeds: Vec<ResumableFeed>,
}

/// The status and last good bytes of a feed.
#[derive(Debug)]
struct ResumableFeed {
    status: FeedStatus,
    snapshot: Option<FeedBodySnapshot>,
}

/// A network being restored.
struct NetworkRestoreJob<'a> {
    members: &'a NetworkFeedConfigs,
    handoff: Option<HandoffNetwork>,
    resumable: Option<ResumableNetwork>,
}

impl RestartPlan {
    /// Examines the handoff and decodes its schedules, which may take seconds. `groups` are the configured networks,
    /// `keys` is the seed of their writers.
    pub(super) fn new(
        handoff: Option<HandoffFileContent>,
        groups: &[NetworkFeedConfigs],
        keys: u64,
        limits: &DecodingLimits,
        now: UnixMillis,
    ) -> RestartPlan {
        let Some(mut handoff) = handoff else {
            let networks = groups.iter().map(|_| None).collect();
            let away = Duration::ZERO;
            let rooms = Vec::new();
            return RestartPlan {
                networks,
                rooms,
                downtime: away,
                is_same_program_version: false,
                is_complete: false,
            };
        };
        let mut jobs: Vec<NetworkRestoreJob<'_>> = groups
            .iter()
            .map(|members| {
                let handoff_network =
                    members.first().and_then(|first| handoff.take_network(&first.id));
                NetworkRestoreJob { members, handoff: handoff_network, resumable: None }
            })
            .collect();
        for some in jobs.chunks_mut(CONCURRENT_LOADS_MAX) {
            thread::scope(|scope| {
                let running: Vec<_> = some
                    .iter_mut()
                    .map(|job| scope.spawn(|| job.restore_or_log_reason(keys, limits)))
                    .collect();
                for job in running {
                    if job.join().is_err() {
                        tracing::error!("restoring a network stopped because of a bug in Lineside");
                    }
                }
            });
        }
        let networks: Vec<Option<ResumableNetwork>> =
            jobs.into_iter().map(|job| job.resumable).collect();
        RestartPlan {
            is_complete: handoff.remaining_network_count() == 0
                && networks.iter().all(Option::is_some),
            networks,
            rooms: handoff.take_channel_logs(),
            downtime: handoff.elapsed_since_write(now),
            is_same_program_version: handoff.is_same_program_version(),
        }
    }

    /// Returns the epoch with which a network is resumed.
    pub(super) fn epoch_of_network(&self, network: usize) -> Option<lineside_hub::Epoch> {
        Some(self.networks.get(network)?.as_ref()?.epoch)
    }

    /// Sets a network's writer and its sequence to their earlier state.
    pub(super) fn resume_network(&mut self, network: usize, writer: &mut NetworkWriter, hub: &Hub) {
        let resumable = self.networks.get_mut(network).and_then(Option::as_mut);
        if let Some(continued) = resumable.and_then(|resumable| resumable.continued.take()) {
            writer.resume_earlier_state(continued);
            let network = writer.network();
            hub.continue_group_sequence_at(network.room_group(), network.sequence_position());
            let revision = network.sequence_position().offset;
            tracing::info!(network = %network.id(), revision, "the network has resumed");
        }
    }

    /// Restores a feed's status and last good bytes.
    pub(super) fn restore_status_and_snapshot(
        &mut self,
        network: usize,
        number: usize,
        feed: &Feed,
    ) {
        let resumable = self.networks.get_mut(network).and_then(Option::as_mut);
        if let Some(resumable_feed) =
            resumable.and_then(|resumable| resumable.feeds.get_mut(number))
        {
            feed.set_status(std::mem::take(&mut resumable_feed.status));
            if let Some(snapshot) = resumable_feed.snapshot.take() {
                feed.set_snapshot(snapshot);
            }
        }
    }

    /// Restores the logs of channels.
    pub(super) fn restore_channel_logs(&mut self, hub: &Hub, channels: &NetworkChannelStates) {
        let rooms = std::mem::take(&mut self.rooms);
        let n_rooms = rooms.len();
        let is_matching =
            rooms.into_iter().filter(|room| self.is_channel_log_current(room, hub, channels));
        let restored =
            is_matching.filter_map(|room| hub.restore_room_log(room, self.downtime).ok());
        let n_restored = restored.filter(|restored| *restored).count();
        if n_rooms > 0 {
            tracing::info!(saved = n_rooms, restored = n_restored, "channel logs are restored");
        }
    }

    /// Returns true if a log ends at the current state of its channel.
    fn is_channel_log_current(
        &self,
        room: &HandoffRoomLog,
        hub: &Hub,
        channels: &NetworkChannelStates,
    ) -> bool {
        if hub.find_namespace(&room.channel).is_some() {
            return true;
        }
        let Ok(key) = channels.resolve_channel(&room.channel) else { return false };
        if key.group == GROUP_NONE {
            return self.is_complete;
        }
        // Boards are derived from the schedule by the program; another version may have derived them differently.
        let is_board = key.kind == RoomKind::Stop as u8;
        self.epoch_of_network(key.group as usize - 1) == Some(room.epoch)
            && (self.is_same_program_version || !is_board)
    }
}

impl NetworkRestoreJob<'_> {
    fn restore_or_log_reason(&mut self, keys: u64, limits: &DecodingLimits) {
        let Some(handoff) = self.handoff.take() else { return };
        match decode_handoff_network(self.members, handoff, keys, limits) {
            Ok(resumable) => self.resumable = Some(resumable),
            Err(reason) => {
                let network = self.members.first().map(|first| first.id.to_string());
                tracing::warn!(
                    network,
                    reason,
                    "the network starts with a new epoch; its subscribers receive a full snapshot"
                );
            }
        }
    }
}

fn decode_handoff_network(
    members: &NetworkFeedConfigs,
    mut handoff: HandoffNetwork,
    keys: u64,
    limits: &DecodingLimits,
) -> Result<ResumableNetwork, &'static str> {
    if members.iter().any(|config| is_replay_source(&config.url)) {
        return Err("a replay starts from the beginning");
    }
    let is_other = |(config, handoff_feed): (
        &Arc<crate::feed_config::FeedConfig>,
        &crate::handoff::HandoffFeed,
    )| {
        let was = handoff_feed.feed.format.as_deref().and_then(Format::from_name);
        config.configured_format().is_some() && was.is_some() && config.configured_format() != was
    };
    if members.iter().zip(&handoff.feeds).any(is_other) {
        return Err("the format of a feed has changed");
    }
    let ids: Vec<FeedId> = members.iter().map(|config| config.id.clone()).collect();
    let mut feeds = Vec::new();
    for feed in &mut handoff.feeds {
        let snapshot = feed.snapshot.take().zip(feed.feed.snapshot.as_ref());
        let snapshot = snapshot
            .map(|(bytes, snapshot_proto)| snapshot_from_handoff(bytes, snapshot_proto))
            .transpose()?;
        feeds.push(ResumableFeed { status: status_from_handoff(&feed.feed), snapshot });
    }
    let zip = feeds.first().and_then(|first| first.snapshot.as_ref());
    let dataset = match (handoff.network.dataset_at, zip, ids.first()) {
        (Some(at), Some(zip), Some(id)) => {
            let (id, bytes) = (id.clone(), zip.bytes.clone());
            let dataset = Dataset::decode_schedule(id, bytes, zip.format, UnixMillis(at), limits);
            Some(Arc::new(dataset.map_err(|_| "its schedule cannot be read")?))
        }
        _ => None,
    };
    if let (Some(dataset), Some(first)) = (&dataset, feeds.first_mut()) {
        first.status.problems = Arc::clone(&dataset.problems);
    }
    let continued = handoff.restore_from_handoff(&ids, dataset, keys)?;
    Ok(ResumableNetwork { epoch: continued.epoch(), continued: Some(continued), feeds })
}

fn snapshot_from_handoff(
    bytes: Bytes,
    snapshot_proto: &schema::SnapshotProto,
) -> Result<FeedBodySnapshot, &'static str> {
    Ok(FeedBodySnapshot {
        hash: FeedBodySnapshot::hash_body(&bytes),
        format: Format::from_name(&snapshot_proto.format)
            .ok_or("a snapshot has an unknown format")?,
        content_type: snapshot_proto.content_type.clone(),
        file_name: snapshot_proto.file_name.clone(),
        fetched_at: UnixMillis(snapshot_proto.fetched_at),
        last_modified: snapshot_proto.last_modified.map(UnixMillis),
        bytes,
    })
}

/// Decodes a feed's status. Its counters start again with the process.
fn status_from_handoff(feed_proto: &schema::FeedProto) -> FeedStatus {
    FeedStatus {
        state: FeedState::parse(&feed_proto.state).unwrap_or_default(),
        reason: feed_proto.reason.clone(),
        since: UnixMillis(feed_proto.since),
        state_before_pause: feed_proto.state_before_pause.as_deref().and_then(FeedState::parse),
        unreliable_since: feed_proto.unreliable_since.map(UnixMillis),
        last_success: feed_proto.last_success.map(UnixMillis),
        data_time: feed_proto.data_time.map(UnixMillis),
        entities: feed_proto.entities,
        format: feed_proto.format.as_deref().and_then(Format::from_name),
        is_restored: true,
        ..FeedStatus::default()
    }
}
