//! A node's networks: this world's replacement for ingest.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use lineside_hub::bus::{NetworkReplica, NetworkStateSnapshot, ReplicaDecodeError};
use lineside_hub::{
    BadChannelName, ChannelResolveError, ChannelState, ChannelStateSource, EncodedChannelName,
    Epoch, Hub, Position, RoomKey,
};
use parking_lot::Mutex;

use crate::records::{
    Change, NETWORKS, Records, Truth, decode, draw_change, encode, group_of, holdings, key_of,
    messages, number_of, parse_channel, pieces, put,
};
use crate::storm::InjectedFault;

const RECORDS_PER_PART: usize = 2;

#[derive(Clone, Debug)]
struct NetworkCopy {
    at: Position,
    records: Records,
    /// True if this node may write the network.
    leads: bool,
}

pub(crate) struct Copies {
    node: String,
    truth: Arc<Truth>,
    injected_fault: InjectedFault,
    hub: Mutex<Weak<Hub>>,
    networks: Mutex<Vec<NetworkCopy>>,
    rng: Mutex<fastrand::Rng>,
}

impl Copies {
    /// Creates empty networks, each in its own epoch.
    pub(crate) fn new(
        node: &str,
        truth: &Arc<Truth>,
        injected_fault: InjectedFault,
        seed: u64,
    ) -> Arc<Self> {
        let mut rng = fastrand::Rng::with_seed(seed);
        let empty = |network| {
            let at = Position { epoch: Epoch::random(&mut rng), offset: 0 };
            truth.write(network, at, &Records::new());
            NetworkCopy { at, records: Records::new(), leads: false }
        };
        let networks = (0..NETWORKS.len()).map(empty).collect();
        Arc::new(Self {
            node: node.to_owned(),
            truth: truth.clone(),
            injected_fault,
            hub: Mutex::default(),
            networks: Mutex::new(networks),
            rng: Mutex::new(rng),
        })
    }

    pub(crate) fn publish_into(&self, hub: &Arc<Hub>) {
        *self.hub.lock() = Arc::downgrade(hub);
    }

    /// Returns the hub; `None` once an error was found, so that it does not spread.
    fn hub(&self) -> Option<Arc<Hub>> {
        self.hub.lock().upgrade().filter(|_| self.truth.complaint().is_none())
    }

    pub(crate) fn leads(&self, network: &str) -> bool {
        self.networks.lock()[number_of(network)].leads
    }

    pub(crate) fn held(&self, network: usize) -> (Position, Records) {
        let copy = self.networks.lock()[network].clone();
        (copy.at, copy.records)
    }

    /// Runs a poll of the owner's writer; returns the changes to send to the other nodes.
    pub(crate) fn poll(&self, network: usize) -> (Position, Vec<Bytes>) {
        let (previous, mut records) = self.held(network);
        let mut rng = self.rng.lock();
        let revisions: Vec<Vec<Change>> = (0..rng.u64(1..4))
            .map(|_| {
                let changes: Vec<Change> =
                    (0..rng.u8(..3)).map(|_| draw_change(&mut rng, &records)).collect();
                changes.iter().for_each(|change| put(&mut records, *change));
                changes
            })
            .collect();
        let text = encode(&revisions);
        let pieces = pieces(&mut rng, &text);
        drop(rng);
        let at = self.publish(network, previous, &revisions, true);
        (at, pieces)
    }

    /// Swaps the state, then appends each revision to each existing room; equal on every node.
    fn publish(
        &self,
        network: usize,
        previous: Position,
        revisions: &[Vec<Change>],
        writes: bool,
    ) -> Position {
        let (_, mut records) = self.held(network);
        let mut published = Vec::new();
        let mut at = previous;
        for changes in revisions {
            at.offset += 1;
            published.push((at, messages(network, &records, changes)));
            changes.iter().for_each(|change| put(&mut records, *change));
            if writes {
                self.truth.write(network, at, &records);
            }
        }
        self.swap(network, at, records);
        let Some(hub) = self.hub() else { return at };
        let mut batch = hub.open_publish_batch();
        for (at, messages) in published {
            for (channel, text) in messages {
                let key = key_of(&channel).expect("a channel of this test");
                if let Some(room) = hub.find_room(key) {
                    batch.append_publication(&room, Some(at), text.into());
                }
            }
        }
        batch.mark_group_published_up_to(group_of(network), at);
        batch.finish_and_signal_listeners();
        at
    }

    fn swap(&self, network: usize, at: Position, records: Records) {
        let mut networks = self.networks.lock();
        let copy = &mut networks[network];
        (copy.at, copy.records) = (at, records);
    }

    /// Moves every room to `at`, with a gap.
    fn jump(&self, network: usize, at: Position) {
        let Some(hub) = self.hub() else { return };
        let mut batch = hub.open_publish_batch();
        for room in hub.rooms_of_group(group_of(network)) {
            if self.injected_fault == InjectedFault::JumpNotMarked {
                batch.resend_state_without_gap(&room, Some(at));
            } else {
                batch.resend_state_with_gap(&room, at);
            }
        }
        batch.mark_group_published_up_to(group_of(network), at);
        batch.finish_and_signal_listeners();
    }
}

impl NetworkReplica for Copies {
    fn current_network_state(&self, network: &str) -> Option<NetworkStateSnapshot> {
        let (at, records) = self.held(number_of(network));
        let all: Vec<Change> = records.iter().map(|(key, it)| (*key, Some(*it))).collect();
        let pieces = pieces(&mut self.rng.lock(), &encode(&[all]));
        Some(NetworkStateSnapshot { at, pieces })
    }

    fn apply_network_changes(
        &self,
        name: &str,
        previous: u64,
        at: Position,
        changes: &[Bytes],
    ) -> Result<(), ReplicaDecodeError> {
        let revisions = decode(changes).ok_or(ReplicaDecodeError)?;
        let network = number_of(name);
        let expected = Position { offset: previous, ..at };
        let (copy, _) = self.held(network);
        if copy != expected || self.leads(name) {
            self.truth.complain(format!("{}: {name} is at {copy}, expected {expected}", self.node));
        }
        let reached = self.publish(network, expected, &revisions, false);
        if reached != at {
            self.truth.complain(format!("{}: {name} reached {reached}, expected {at}", self.node));
        }
        self.truth.check_records(&self.node, network, at, &self.held(network).1);
        Ok(())
    }

    fn replace_network_state(
        &self,
        name: &str,
        at: Position,
        state: &[Bytes],
    ) -> Result<(), ReplicaDecodeError> {
        let revisions = decode(state).ok_or(ReplicaDecodeError)?;
        let mut records = Records::new();
        revisions.into_iter().flatten().for_each(|change| put(&mut records, change));
        let network = number_of(name);
        self.truth.check_records(&self.node, network, at, &records);
        if self.leads(name) {
            self.truth.complain(format!(
                "{}: {name} received changes although this node owns it",
                self.node
            ));
        }
        self.swap(network, at, records);
        self.jump(network, at);
        Ok(())
    }

    fn become_owner(&self, name: &str, epoch: Epoch) -> u64 {
        let network = number_of(name);
        let (previous, records) = self.held(network);
        let at = Position { epoch, ..previous };
        self.truth.begin(network, at, &records);
        self.swap(network, at, records);
        self.networks.lock()[network].leads = true;
        self.jump(network, at);
        at.offset
    }

    fn become_follower(&self, network: &str) {
        self.networks.lock()[number_of(network)].leads = false;
    }
}

impl ChannelStateSource for Copies {
    fn resolve_channel(
        &self,
        channel: &EncodedChannelName,
    ) -> Result<RoomKey, ChannelResolveError> {
        key_of(channel.as_str()).ok_or(BadChannelName::UnknownForm.into())
    }

    fn sequence_name(&self, channel: &EncodedChannelName, _: RoomKey) -> String {
        channel.as_str().split('/').nth(1).unwrap_or_default().to_owned()
    }

    fn current_position(&self, _: &EncodedChannelName, key: RoomKey) -> Option<Position> {
        Some(self.held(key.group as usize - 1).0)
    }

    fn read_state(&self, channel: &EncodedChannelName, key: RoomKey) -> ChannelState {
        let (position, records) = self.held(key.group as usize - 1);
        let (_, route) = parse_channel(channel.as_str()).expect("a channel of this test");
        let upserts: Vec<String> =
            holdings(&records, route).iter().map(|(key, it)| format!("{key}={it};")).collect();
        let parts = upserts.chunks(RECORDS_PER_PART).map(|part| part.concat().into()).collect();
        ChannelState { position: Some(position), parts }
    }
}
