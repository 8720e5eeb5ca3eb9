//! A node's part in the whole: owner of some networks, follower of the others.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_sync::Clock;

use super::follower::Follower;
use super::limits::HEADS_MAX;
use super::message::{Body, Head, Message, To};
use super::owner::Owner;
use super::{Bus, HEARTBEAT, Outside, Ownership, Replica};
use crate::{Epoch, Position};

/// What a node needs of others.
#[derive(Clone)]
pub struct Surroundings {
    /// Carries its messages.
    pub bus: Arc<dyn Bus>,
    /// Holds the networks' records.
    pub replica: Arc<dyn Replica>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Says which node owns a network.
    pub ownership: Arc<Ownership>,
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings").field("ownership", &self.ownership).finish_non_exhaustive()
    }
}

/// Why a publication was not said to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// This node does not own the network, or no longer in that epoch. Whoever published followed an order to stop too
    /// late; the node's rooms will get the owner's state.
    #[error("another node owns the network")]
    NotOwner,
    /// The position is not after the last one.
    #[error("it was published already")]
    NotNext,
}

/// What a node has said and heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeMetrics {
    /// Messages handed to the bus; one to all nodes counts once.
    pub sent_total: u64,
    /// Publications of networks that it owns.
    pub published_total: u64,
    /// Publications of other owners that it applied.
    pub applied_total: u64,
    /// Messages that told it nothing new.
    pub repeated_total: u64,
    /// Messages of a term that is over, or of somebody who does not own the network.
    pub refused_total: u64,
    /// How often it asked an owner for what it had missed.
    pub asked_total: u64,
    /// How often it was asked.
    pub answers_total: u64,
    /// States sent.
    pub states_sent_total: u64,
    /// States that took the place of what it held.
    pub states_taken_total: u64,
    /// States that have more parts than may be sent.
    pub states_too_large_total: u64,
    /// Publications and states that could not be read.
    pub unreadable_total: u64,
    /// Times that it became the owner of a network.
    pub led_total: u64,
    /// Times that it ceased to be.
    pub deposed_total: u64,
}

#[derive(Debug)]
enum Role {
    Owner(Box<Owner>),
    Follower(Box<Follower>),
}

/// One node. A plain value, driven by whoever has its messages and its time.
pub struct Node {
    name: Arc<str>,
    around: Surroundings,
    /// Draws epochs.
    rng: fastrand::Rng,
    /// Bound: the networks named at its making.
    networks: BTreeMap<Arc<str>, Role>,
    /// The number of the roster that its roles were last decided by.
    decided: u64,
    next_heartbeat: Duration,
    metrics: NodeMetrics,
}

impl Node {
    /// A node that follows all networks, until a roster says which ones it owns. Its name is the one in the
    /// roster; `seed` is to come from the system's randomness, except where runs are to be repeated.
    pub fn new<'a>(
        name: &str,
        networks: impl IntoIterator<Item = &'a str>,
        around: Surroundings,
        seed: u64,
    ) -> Self {
        let follow = |network: &str| {
            let network: Arc<str> = network.into();
            (network.clone(), Role::Follower(Box::new(Follower::new(network, 0))))
        };
        Self {
            name: name.into(),
            next_heartbeat: around.clock.monotonic(),
            around,
            rng: fastrand::Rng::with_seed(seed),
            networks: networks.into_iter().map(follow).collect(),
            decided: 0,
            metrics: NodeMetrics::default(),
        }
    }

    /// What it is called.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Whether it owns the network, as far as it knows.
    pub fn owns(&self, network: &str) -> bool {
        matches!(self.networks.get(network), Some(Role::Owner(_)))
    }

    /// Where the network is on this node, and in which term; `None` before it has anything of the term.
    pub fn head(&self, network: &str) -> Option<Head> {
        match self.networks.get(network)? {
            Role::Owner(owner) => Some(owner.head().clone()),
            Role::Follower(follower) => follower.head(),
        }
    }

    /// Whether it knows that it has missed something of the network.
    pub fn is_behind(&self, network: &str) -> bool {
        match self.networks.get(network) {
            Some(Role::Follower(follower)) => follower.is_behind(),
            _ => false,
        }
    }

    /// What it has said and heard.
    pub fn metrics(&self) -> NodeMetrics {
        self.metrics
    }

    /// Says to the other nodes what led from the last publication to `at`: one message, or one for each part. To be
    /// called once per poll, by the network's writer, after the state has been swapped.
    ///
    /// # Errors
    /// When this node does not own the network in that epoch, or has said it already.
    pub fn publish(
        &mut self,
        network: &str,
        at: Position,
        changes: Vec<Bytes>,
    ) -> Result<(), Refused> {
        self.with(network, |role, _, outside| {
            let Role::Owner(owner) = role else { return Err(Refused::NotOwner) };
            if owner.is_next(at) {
                owner.publish(at.offset, changes, outside);
                Ok(())
            } else if at.epoch == owner.head().at.epoch {
                Err(Refused::NotNext)
            } else {
                Err(Refused::NotOwner)
            }
        })
        .unwrap_or(Err(Refused::NotOwner))
    }

    /// Takes a message from the bus.
    pub fn receive(&mut self, message: Message) {
        let Message { from, body } = message;
        if from == self.name {
            return;
        }
        match body {
            Body::Changes { head, previous, part } => {
                self.with_follower(&from, &head, |follower, outside| {
                    follower.take_changes(&from, &head, previous, part, outside);
                });
            }
            Body::State { head, edition, part } => {
                self.with_follower(&from, &head, |follower, outside| {
                    follower.take_state(&from, &head, edition, part, outside);
                })
            }
            Body::Heartbeat(heads) => {
                for head in &heads {
                    self.with_follower(&from, head, |follower, outside| {
                        follower.hear(&from, head, outside);
                    });
                }
            }
            Body::Ask(ask) => {
                self.with(&ask.network, |role, _, outside| match role {
                    Role::Owner(owner) if owner.head().term == ask.term => {
                        owner.answer(&from, &ask, outside);
                    }
                    // It will hear of the term that there is now.
                    _ => {}
                });
            }
            Body::Outdated { network, term } => self.learn(&network, term),
        }
    }

    /// Does what is due: takes up what a new roster gives it, says where its networks are, asks again. To be
    /// called about ten times a second.
    pub fn tick(&mut self) {
        let number = self.around.ownership.load().number();
        if number > self.decided {
            self.decided = number;
            self.decide();
        }
        let names: Vec<Arc<str>> = self.networks.keys().cloned().collect();
        for network in &names {
            self.with(network, |role, _, outside| match role {
                Role::Owner(owner) => owner.tick(outside.now),
                Role::Follower(follower) => follower.tick(outside),
            });
        }
        self.beat();
    }

    /// Lets each network's owner be who the roster says.
    fn decide(&mut self) {
        let (ownership, name) = (self.around.ownership.clone(), self.name.clone());
        let roster = ownership.load();
        let names: Vec<Arc<str>> = self.networks.keys().cloned().collect();
        for network in &names {
            let is_owner = roster.is_owner(network, &name);
            self.with(network, |role, rng, outside| match role {
                // Whoever heard of a later term knows a roster to be over that it has not seen the end of.
                Role::Follower(follower) if is_owner && follower.term() < roster.number() => {
                    lead(role, network, roster.number(), rng, outside);
                }
                Role::Owner(owner) if !is_owner => {
                    let term = owner.head().term;
                    depose(role, network, term, outside);
                }
                _ => {}
            });
        }
    }

    /// There is such a term. Who owned the network in an earlier one takes it up again, if the roster still says
    /// so and is later, and follows otherwise.
    fn learn(&mut self, network: &str, term: u64) {
        let (ownership, name) = (self.around.ownership.clone(), self.name.clone());
        let roster = ownership.load();
        self.with(network, |role, rng, outside| match role {
            Role::Follower(follower) => follower.learn(term),
            Role::Owner(owner) if owner.head().term < term => {
                let network = owner.head().network.clone();
                if roster.is_owner(&network, &name) && roster.number() > term {
                    outside.metrics.deposed_total += 1;
                    lead(role, &network, roster.number(), rng, outside);
                } else {
                    depose(role, &network, term, outside);
                }
            }
            Role::Owner(_) => {}
        });
    }

    /// Lets a follower hear what an owner says. Who believes to own the network itself is told of a higher term, or
    /// tells of its own.
    fn with_follower(
        &mut self,
        from: &Arc<str>,
        head: &Head,
        hear: impl FnOnce(&mut Follower, &mut Outside<'_>),
    ) {
        if self.owns(&head.network) {
            self.learn(&head.network, head.term);
        }
        self.with(&head.network, |role, _, outside| match role {
            Role::Follower(follower) => hear(follower, outside),
            Role::Owner(owner) => {
                outside.metrics.refused_total += 1;
                let (network, term) = (head.network.clone(), owner.head().term);
                outside.send(To::One(from.clone()), Body::Outdated { network, term });
            }
        });
    }

    /// Says every [`HEARTBEAT`] where its networks are.
    fn beat(&mut self) {
        let now = self.around.clock.monotonic();
        if now < self.next_heartbeat {
            return;
        }
        self.next_heartbeat = now + HEARTBEAT;
        let owned = self.networks.values().filter_map(|role| match role {
            Role::Owner(owner) => Some(owner.head().clone()),
            Role::Follower(_) => None,
        });
        let heads: Vec<Head> = owned.collect();
        for heads in heads.chunks(HEADS_MAX) {
            self.metrics.sent_total += 1;
            let body = Body::Heartbeat(heads.to_vec());
            self.around.bus.send(To::All, Message { from: self.name.clone(), body });
        }
    }

    /// Calls with a network's role; `None` when there is no such network.
    fn with<R>(
        &mut self,
        network: &str,
        call: impl FnOnce(&mut Role, &mut fastrand::Rng, &mut Outside<'_>) -> R,
    ) -> Option<R> {
        let role = self.networks.get_mut(network)?;
        let mut outside = Outside {
            name: &self.name,
            bus: &*self.around.bus,
            replica: &*self.around.replica,
            now: self.around.clock.monotonic(),
            metrics: &mut self.metrics,
        };
        Some(call(role, &mut self.rng, &mut outside))
    }
}

/// Begins a term, in an epoch of its own, and says so.
fn lead(
    role: &mut Role,
    network: &Arc<str>,
    term: u64,
    rng: &mut fastrand::Rng,
    outside: &mut Outside<'_>,
) {
    let epoch = Epoch::random(rng);
    let offset = outside.replica.lead(network, epoch);
    let head = Head { network: network.clone(), term, at: Position { epoch, offset } };
    outside.metrics.led_total += 1;
    outside.send(To::All, Body::Heartbeat(vec![head.clone()]));
    *role = Role::Owner(Box::new(Owner::new(head)));
}

/// Ends it; `term` is the highest that is known.
fn depose(role: &mut Role, network: &Arc<str>, term: u64, outside: &mut Outside<'_>) {
    outside.metrics.deposed_total += 1;
    outside.replica.follow(network);
    *role = Role::Follower(Box::new(Follower::new(network.clone(), term)));
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("name", &self.name)
            .field("networks", &self.networks)
            .finish_non_exhaustive()
    }
}
