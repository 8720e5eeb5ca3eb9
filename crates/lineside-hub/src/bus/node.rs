//! A node's part in the cluster: owner of some networks, follower of the others.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_sync::Clock;

use super::follower::NetworkFollower;
use super::limits::HEADS_MAX;
use super::message::{BusMessage, MessageBody, MessageRecipient, NetworkPosition};
use super::owner::NetworkOwner;
use super::{ClusterBus, HEARTBEAT, NetworkOwnership, NetworkReplica, NodeCallContext};
use crate::{Epoch, Position};

#[derive(Clone)]
pub struct NodeDependencies {
    /// Carries the node's messages.
    pub bus: Arc<dyn ClusterBus>,
    /// Stores the networks' records.
    pub replica: Arc<dyn NetworkReplica>,
    /// The node's clock.
    pub clock: Arc<dyn Clock>,
    /// The assignment of networks to nodes.
    pub ownership: Arc<NetworkOwnership>,
}

impl fmt::Debug for NodeDependencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeDependencies")
            .field("ownership", &self.ownership)
            .finish_non_exhaustive()
    }
}

/// The reason why a publication was not sent to the other nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BusPublishError {
    /// This node does not own the network, or no longer in that epoch. The publisher stopped too late after an order
    /// to stop; the node's rooms will get the owner's state.
    #[error("this node does not own the network")]
    NotOwner,
    /// The position is not after the last published one.
    #[error("the position is not after the last published position")]
    NotNext,
}

/// The counters of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClusterNodeMetrics {
    /// Messages handed to the bus; one to all nodes counts once.
    pub sent_total: u64,
    /// Publications of networks that the node owns.
    pub published_total: u64,
    /// Publications of other owners that the node applied.
    pub applied_total: u64,
    /// Messages without new content.
    pub repeated_total: u64,
    /// Messages of an earlier term, or of a node that does not own the network.
    pub refused_total: u64,
    /// Requests to owners for missed data.
    pub catch_up_requests_total: u64,
    /// Requests from followers that the node answered.
    pub answers_total: u64,
    pub states_sent_total: u64,
    /// States that replaced the node's own.
    pub states_received_total: u64,
    /// States with too many parts to be sent.
    pub states_too_large_total: u64,
    /// Publications and states that could not be read.
    pub unreadable_total: u64,
    /// Times that the node became the owner of a network.
    pub ownerships_gained_total: u64,
    /// Times that the node stopped being the owner of a network.
    pub ownerships_lost_total: u64,
}

#[derive(Debug)]
enum NetworkRole {
    Owner(Box<NetworkOwner>),
    Follower(Box<NetworkFollower>),
}

/// One node of a cluster. A plain value, driven by the code that has its messages and its time.
pub struct ClusterNode {
    name: Arc<str>,
    dependencies: NodeDependencies,
    /// Generates epochs.
    rng: fastrand::Rng,
    /// Bound: the networks given to [`new`](Self::new).
    networks: BTreeMap<Arc<str>, NetworkRole>,
    /// The number of the roster that was last applied to the roles.
    applied_roster: u64,
    next_heartbeat: Duration,
    metrics: ClusterNodeMetrics,
}

impl ClusterNode {
    /// Creates a node that follows all networks until a roster assigns it some. `name` is the node's name in the
    /// roster; take `seed` from the system's randomness, except for repeatable runs.
    pub fn new<'a>(
        name: &str,
        networks: impl IntoIterator<Item = &'a str>,
        dependencies: NodeDependencies,
        seed: u64,
    ) -> Self {
        let follow = |network: &str| {
            let network: Arc<str> = network.into();
            (network.clone(), NetworkRole::Follower(Box::new(NetworkFollower::new(network, 0))))
        };
        Self {
            name: name.into(),
            next_heartbeat: dependencies.clock.monotonic(),
            dependencies,
            rng: fastrand::Rng::with_seed(seed),
            networks: networks.into_iter().map(follow).collect(),
            applied_roster: 0,
            metrics: ClusterNodeMetrics::default(),
        }
    }

    /// Returns the node's name.
    pub fn node_name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns true if the node owns the network, as far as it knows.
    pub fn owns_network(&self, network: &str) -> bool {
        matches!(self.networks.get(network), Some(NetworkRole::Owner(_)))
    }

    /// Returns the network's position and term on this node; `None` before it has data of the term.
    pub fn network_position(&self, network: &str) -> Option<NetworkPosition> {
        match self.networks.get(network)? {
            NetworkRole::Owner(owner) => Some(owner.network_position().clone()),
            NetworkRole::Follower(follower) => follower.network_position(),
        }
    }

    /// Returns true if the node knows that it has missed data of the network.
    pub fn has_missed_changes_of(&self, network: &str) -> bool {
        match self.networks.get(network) {
            Some(NetworkRole::Follower(follower)) => follower.has_missed_changes(),
            _ => false,
        }
    }

    /// Returns the counters.
    pub fn metrics(&self) -> ClusterNodeMetrics {
        self.metrics
    }

    /// Sends the changes from the last publication to `at` to the other nodes: one message, or one for each part. The
    /// network's writer calls this once per poll, after the state has been swapped.
    ///
    /// # Errors
    /// Returns an error if this node does not own the network in that epoch, or has sent that position already.
    pub fn send_changes_to_nodes(
        &mut self,
        network: &str,
        at: Position,
        changes: Vec<Bytes>,
    ) -> Result<(), BusPublishError> {
        self.call_with_network_role(network, |role, _, context| {
            let NetworkRole::Owner(owner) = role else { return Err(BusPublishError::NotOwner) };
            if owner.is_next_position(at) {
                owner.send_changes_to_all_nodes(at.offset, changes, context);
                Ok(())
            } else if at.epoch == owner.network_position().at.epoch {
                Err(BusPublishError::NotNext)
            } else {
                Err(BusPublishError::NotOwner)
            }
        })
        .unwrap_or(Err(BusPublishError::NotOwner))
    }

    /// Handles a message from the bus.
    pub fn handle_bus_message(&mut self, message: BusMessage) {
        let BusMessage { from, body } = message;
        if from == self.name {
            return;
        }
        match body {
            MessageBody::Changes { head, previous, part } => {
                self.pass_to_follower(&from, &head, |follower, context| {
                    follower.receive_changes_part(&from, &head, previous, part, context);
                });
            }
            MessageBody::State { head, edition, part } => {
                self.pass_to_follower(&from, &head, |follower, context| {
                    follower.receive_state_part(&from, &head, edition, part, context);
                })
            }
            MessageBody::Heartbeat(heads) => {
                for head in &heads {
                    self.pass_to_follower(&from, head, |follower, context| {
                        follower.handle_owner_heartbeat(&from, head, context);
                    });
                }
            }
            MessageBody::CatchUp(request) => {
                self.call_with_network_role(&request.network, |role, _, context| match role {
                    NetworkRole::Owner(owner) if owner.network_position().term == request.term => {
                        owner.send_missed_data_to_follower(&from, &request, context);
                    }
                    // The sender will learn the current term.
                    _ => {}
                });
            }
            MessageBody::Outdated { network, term } => self.adopt_later_term(&network, term),
        }
    }

    /// Does the work that is due: applies a new roster, sends heartbeats, repeats requests. Call this about ten times
    /// a second.
    pub fn run_periodic_work(&mut self) {
        let number = self.dependencies.ownership.load_roster().roster_number();
        if number > self.applied_roster {
            self.applied_roster = number;
            self.apply_new_roster();
        }
        let names: Vec<Arc<str>> = self.networks.keys().cloned().collect();
        for network in &names {
            self.call_with_network_role(network, |role, _, context| match role {
                NetworkRole::Owner(owner) => owner.drop_old_log_and_state(context.now),
                NetworkRole::Follower(follower) => follower.request_missed_changes(context),
            });
        }
        self.broadcast_owned_positions_if_due();
    }

    /// Makes the node owner or follower of each network, as the roster says.
    fn apply_new_roster(&mut self) {
        let (ownership, name) = (self.dependencies.ownership.clone(), self.name.clone());
        let roster = ownership.load_roster();
        let names: Vec<Arc<str>> = self.networks.keys().cloned().collect();
        for network in &names {
            let is_owner = roster.is_owner(network, &name);
            self.call_with_network_role(network, |role, rng, context| match role {
                // A follower that knows a later term than the roster's number knows that this roster is outdated.
                NetworkRole::Follower(follower)
                    if is_owner && follower.known_term() < roster.roster_number() =>
                {
                    start_owning_with_new_term(role, network, roster.roster_number(), rng, context);
                }
                NetworkRole::Owner(owner) if !is_owner => {
                    let term = owner.network_position().term;
                    stop_owning_network(role, network, term, context);
                }
                _ => {}
            });
        }
    }

    /// Records a later term. The owner of an earlier term starts a new term if the roster still names it and is later,
    /// and follows otherwise.
    fn adopt_later_term(&mut self, network: &str, term: u64) {
        let (ownership, name) = (self.dependencies.ownership.clone(), self.name.clone());
        let roster = ownership.load_roster();
        self.call_with_network_role(network, |role, rng, context| match role {
            NetworkRole::Follower(follower) => follower.follow_higher_term(term),
            NetworkRole::Owner(owner) if owner.network_position().term < term => {
                let network = owner.network_position().network.clone();
                if roster.is_owner(&network, &name) && roster.roster_number() > term {
                    context.metrics.ownerships_lost_total += 1;
                    start_owning_with_new_term(
                        role,
                        &network,
                        roster.roster_number(),
                        rng,
                        context,
                    );
                } else {
                    stop_owning_network(role, &network, term, context);
                }
            }
            NetworkRole::Owner(_) => {}
        });
    }

    /// Passes an owner's message to the network's follower. If this node believes that it owns the network, it learns
    /// a higher term, or reports its own.
    fn pass_to_follower(
        &mut self,
        from: &Arc<str>,
        head: &NetworkPosition,
        hear: impl FnOnce(&mut NetworkFollower, &mut NodeCallContext<'_>),
    ) {
        if self.owns_network(&head.network) {
            self.adopt_later_term(&head.network, head.term);
        }
        self.call_with_network_role(&head.network, |role, _, context| match role {
            NetworkRole::Follower(follower) => hear(follower, context),
            NetworkRole::Owner(owner) => {
                context.metrics.refused_total += 1;
                let (network, term) = (head.network.clone(), owner.network_position().term);
                context.send_message_body(
                    MessageRecipient::One(from.clone()),
                    MessageBody::Outdated { network, term },
                );
            }
        });
    }

    /// Sends the positions of the node's networks every [`HEARTBEAT`].
    fn broadcast_owned_positions_if_due(&mut self) {
        let now = self.dependencies.clock.monotonic();
        if now < self.next_heartbeat {
            return;
        }
        self.next_heartbeat = now + HEARTBEAT;
        let owned = self.networks.values().filter_map(|role| match role {
            NetworkRole::Owner(owner) => Some(owner.network_position().clone()),
            NetworkRole::Follower(_) => None,
        });
        let heads: Vec<NetworkPosition> = owned.collect();
        for heads in heads.chunks(HEADS_MAX) {
            self.metrics.sent_total += 1;
            let body = MessageBody::Heartbeat(heads.to_vec());
            self.dependencies
                .bus
                .send_message(MessageRecipient::All, BusMessage { from: self.name.clone(), body });
        }
    }

    /// Calls `call` with a network's role; returns `None` if there is no such network.
    fn call_with_network_role<R>(
        &mut self,
        network: &str,
        call: impl FnOnce(&mut NetworkRole, &mut fastrand::Rng, &mut NodeCallContext<'_>) -> R,
    ) -> Option<R> {
        let role = self.networks.get_mut(network)?;
        let mut context = NodeCallContext {
            name: &self.name,
            bus: &*self.dependencies.bus,
            replica: &*self.dependencies.replica,
            now: self.dependencies.clock.monotonic(),
            metrics: &mut self.metrics,
        };
        Some(call(role, &mut self.rng, &mut context))
    }
}

/// Starts a term with its own epoch, and announces it.
fn start_owning_with_new_term(
    role: &mut NetworkRole,
    network: &Arc<str>,
    term: u64,
    rng: &mut fastrand::Rng,
    context: &mut NodeCallContext<'_>,
) {
    let epoch = Epoch::random(rng);
    let offset = context.replica.become_owner(network, epoch);
    let head = NetworkPosition { network: network.clone(), term, at: Position { epoch, offset } };
    context.metrics.ownerships_gained_total += 1;
    context.send_message_body(MessageRecipient::All, MessageBody::Heartbeat(vec![head.clone()]));
    *role = NetworkRole::Owner(Box::new(NetworkOwner::new(head)));
}

/// Ends the node's ownership; `term` is the highest known term.
fn stop_owning_network(
    role: &mut NetworkRole,
    network: &Arc<str>,
    term: u64,
    context: &mut NodeCallContext<'_>,
) {
    context.metrics.ownerships_lost_total += 1;
    context.replica.become_follower(network);
    *role = NetworkRole::Follower(Box::new(NetworkFollower::new(network.clone(), term)));
}

impl fmt::Debug for ClusterNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterNode")
            .field("name", &self.name)
            .field("networks", &self.networks)
            .finish_non_exhaustive()
    }
}
