//! A machine: the process that runs on it, and its possible failures.

use std::sync::Arc;
use std::time::Duration;

use lineside_hub::bus::{
    BusMessage, ClusterNode, MemoryBus, MessageBody, NetworkOwnership, NetworkPosition,
    NodeDependencies,
};
use lineside_hub::{Hub, HubConfig};
use lineside_sync::SimulatedClock;
use lineside_sync::hashring::HashRingMember;

use crate::records::{NETWORKS, Truth};
use crate::replica::Copies;
use crate::storm::InjectedFault;

/// The parts of a running process.
pub(crate) struct Process {
    pub(crate) hub: Arc<Hub>,
    pub(crate) copies: Arc<Copies>,
    pub(crate) node: ClusterNode,
    pub(crate) ownership: Arc<NetworkOwnership>,
}

pub(crate) struct Station {
    pub(crate) name: String,
    pub(crate) weight: u16,
    pub(crate) process: Option<Process>,
    /// True while it is paused, with its memory intact.
    pub(crate) is_paused: bool,
    pub(crate) is_cut_off: bool,
}

/// The objects shared by all stations.
pub(crate) struct Site {
    pub(crate) clock: SimulatedClock,
    pub(crate) bus: Arc<MemoryBus>,
    pub(crate) truth: Arc<Truth>,
    pub(crate) injected_fault: InjectedFault,
}

impl Station {
    pub(crate) fn new(name: String) -> Self {
        Self { name, weight: 1, process: None, is_paused: false, is_cut_off: false }
    }

    /// Starts a process without data.
    pub(crate) fn start(&mut self, site: &Site, rng: &mut fastrand::Rng) {
        let clock = Arc::new(site.clock.clone());
        let copies = Copies::new(&self.name, &site.truth, site.injected_fault, rng.u64(..));
        let config = HubConfig {
            ring_publications: rng.usize(1..12),
            linger: Duration::from_secs(rng.u64(0..10)),
            ..HubConfig::default()
        };
        let hub = Hub::new(config, copies.clone(), clock.clone(), rng.u64(..));
        copies.publish_into(&hub);
        let ownership = NetworkOwnership::new(0, []).expect("no nodes");
        let dependencies = NodeDependencies {
            bus: site.bus.clone(),
            replica: copies.clone(),
            clock,
            ownership: ownership.clone(),
        };
        let seed =
            if site.injected_fault == InjectedFault::EpochNotDrawn { 1 } else { rng.u64(..) };
        let node = ClusterNode::new(&self.name, NETWORKS, dependencies, seed);
        site.bus.add_node(&self.name);
        self.process = Some(Process { hub, copies, node, ownership });
        (self.is_paused, self.is_cut_off) = (false, false);
    }

    pub(crate) fn stop(&mut self, site: &Site) {
        site.bus.remove_node(&self.name);
        self.process = None;
    }

    pub(crate) fn is_running(&self) -> bool {
        self.process.is_some() && !self.is_paused
    }

    /// Returns true if the other nodes would consider it healthy.
    pub(crate) fn is_reachable(&self) -> bool {
        self.is_running() && !self.is_cut_off
    }

    pub(crate) fn member(&self) -> HashRingMember {
        HashRingMember::new(&self.name, self.weight)
    }

    pub(crate) fn owns(&self, network: &str) -> bool {
        self.process.as_ref().is_some_and(|process| process.node.owns_network(network))
    }

    pub(crate) fn head(&self, network: &str) -> Option<NetworkPosition> {
        self.process.as_ref()?.node.network_position(network)
    }
}

/// Applies a fault to a message on its way to a station; returns `None` if the fault loses the message.
pub(crate) fn spoil(
    injected_fault: InjectedFault,
    mut message: BusMessage,
    stations: &[Station],
    receiver: usize,
) -> Option<BusMessage> {
    let receiver = &stations[receiver];
    match (injected_fault, &mut message.body) {
        (InjectedFault::HeartbeatOff, MessageBody::Heartbeat(_))
        | (InjectedFault::OutdatedNotSent, MessageBody::Outdated { .. }) => return None,
        (
            InjectedFault::LowerTermAccepted,
            MessageBody::Changes { head, .. } | MessageBody::State { head, .. },
        ) => {
            let own_head = receiver.head(&head.network);
            if let Some(own_head) = own_head.filter(|known| known.term > head.term) {
                let is_owner = |it: &&Station| {
                    it.owns(&own_head.network)
                        && it.head(&own_head.network).is_some_and(|it| it.term == own_head.term)
                };
                if let Some(owner) = stations.iter().find(is_owner) {
                    message.from = owner.name.as_str().into();
                    head.term = own_head.term;
                    head.at.epoch = own_head.at.epoch;
                }
            }
        }
        (InjectedFault::GapNotNoticed, MessageBody::Changes { head, previous, .. }) => {
            let own_head = receiver.head(&head.network).filter(|held| held.term == head.term);
            if let Some(own_head) = own_head {
                *previous = own_head.at.offset;
            }
        }
        (InjectedFault::PartsNotCounted, MessageBody::Changes { part, .. }) => {
            (part.index, part.count) = (0, 1);
        }
        _ => {}
    }
    Some(message)
}
