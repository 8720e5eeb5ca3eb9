//! A bus within one process, with configurable faults.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use lineside_sync::Clock;
use parking_lot::Mutex;

use super::ClusterBus;
use super::limits::WAITING_MAX;
use super::message::{BusMessage, MessageRecipient};

/// The faults of message delivery. Each chance is in parts per thousand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusFaults {
    /// The chance that a message is lost.
    pub lost: u16,
    /// The chance that a message is delivered twice, the second time later.
    pub repeated: u16,
    /// The chance that a message is delivered out of its sender's order: it may arrive before or after its neighbours.
    pub reordered: u16,
    /// The longest delay of a message.
    pub delay: Duration,
}

/// A bus for nodes in one process. Without faults messages arrive at once, and in order per sender.
pub struct MemoryBus {
    clock: Arc<dyn Clock>,
    state: Mutex<MemoryBusState>,
}

struct MemoryBusState {
    rng: fastrand::Rng,
    faults: BusFaults,
    nodes: BTreeMap<Arc<str>, NodeMailbox>,
    sent: u64,
    lost: u64,
}

#[derive(Default)]
struct NodeMailbox {
    /// The messages by time of arrival and order of sending. Bound: [`WAITING_MAX`].
    waiting: BTreeMap<(Duration, u64), BusMessage>,
    /// The arrival time of the last ordered message, per sender.
    arrived: BTreeMap<Arc<str>, Duration>,
    /// True while no message reaches or leaves the node.
    is_cut_off: bool,
}

impl MemoryBus {
    /// Creates a bus without nodes and without faults. The seed determines which messages the faults hit.
    pub fn new(clock: Arc<dyn Clock>, seed: u64) -> Arc<Self> {
        let state = MemoryBusState {
            rng: fastrand::Rng::with_seed(seed),
            faults: BusFaults::default(),
            nodes: BTreeMap::new(),
            sent: 0,
            lost: 0,
        };
        Arc::new(Self { clock, state: Mutex::new(state) })
    }

    /// Sets the faults for messages sent from now on.
    pub fn set_faults(&self, faults: BusFaults) {
        self.state.lock().faults = faults;
    }

    /// Adds a node, which receives messages from now on; messages waiting for an earlier node of that name are lost.
    pub fn add_node(&self, name: &str) {
        self.state.lock().nodes.insert(name.into(), NodeMailbox::default());
    }

    /// Removes a node; messages waiting for it are lost.
    pub fn remove_node(&self, name: &str) {
        self.state.lock().nodes.remove(name);
    }

    /// Cuts a node off from the others, or reconnects it. Messages already on their way to it still arrive.
    pub fn set_node_cut_off(&self, name: &str, is_cut_off: bool) {
        if let Some(mailbox) = self.state.lock().nodes.get_mut(name) {
            mailbox.is_cut_off = is_cut_off;
        }
    }

    /// Returns the next message that has arrived for a node.
    pub fn receive_message(&self, name: &str) -> Option<BusMessage> {
        let now = self.clock.monotonic();
        let mut state = self.state.lock();
        let first = state.nodes.get_mut(name)?.waiting.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// Returns the number of messages lost for any reason.
    pub fn lost_message_count(&self) -> u64 {
        self.state.lock().lost
    }
}

impl ClusterBus for MemoryBus {
    fn send_message(&self, to: MessageRecipient, message: BusMessage) {
        let now = self.clock.monotonic();
        let mut state = self.state.lock();
        let receivers: Vec<Arc<str>> = match to {
            MessageRecipient::One(name) => vec![name],
            MessageRecipient::All => {
                state.nodes.keys().filter(|name| **name != message.from).cloned().collect()
            }
        };
        for receiver in receivers {
            state.deliver_or_lose_message(&receiver, &message, now);
        }
    }
}

impl MemoryBusState {
    fn deliver_or_lose_message(
        &mut self,
        receiver: &Arc<str>,
        message: &BusMessage,
        now: Duration,
    ) {
        let is_cut_off =
            |name| self.nodes.get(name).is_none_or(|node: &NodeMailbox| node.is_cut_off);
        if is_cut_off(receiver)
            || is_cut_off(&message.from)
            || self.does_fault_occur(self.faults.lost)
        {
            self.lost += 1;
            return;
        }
        let mut due = now + self.random_delay();
        let keeps_order = !self.does_fault_occur(self.faults.reordered);
        let repeat = self.does_fault_occur(self.faults.repeated).then(|| due + self.random_delay());
        self.sent += 1;
        let number = self.sent;
        let Some(mailbox) = self.nodes.get_mut(receiver) else { return };
        if keeps_order {
            let last = mailbox.arrived.entry(message.from.clone()).or_default();
            due = due.max(*last);
            *last = due;
        }
        for due in [Some(due), repeat].into_iter().flatten() {
            if mailbox.waiting.len() >= WAITING_MAX {
                self.lost += 1;
            } else {
                mailbox.waiting.entry((due, number)).or_insert_with(|| message.clone());
            }
        }
    }

    fn does_fault_occur(&mut self, chance: u16) -> bool {
        chance > 0 && self.rng.u16(..1_000) < chance
    }

    fn random_delay(&mut self) -> Duration {
        let longest = u64::try_from(self.faults.delay.as_micros()).unwrap_or(u64::MAX);
        Duration::from_micros(self.rng.u64(..=longest))
    }
}

impl fmt::Debug for MemoryBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
        let waiting: usize = state.nodes.values().map(|node| node.waiting.len()).sum();
        f.debug_struct("MemoryBus")
            .field("nodes", &state.nodes.len())
            .field("waiting", &waiting)
            .field("lost", &state.lost)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use lineside_sync::{SimulatedClock, UnixMillis};

    use super::*;
    use crate::bus::message::MessageBody;

    const MESSAGES: u64 = 1_000;

    fn message(term: u64) -> BusMessage {
        BusMessage { from: "a".into(), body: MessageBody::Outdated { network: "n".into(), term } }
    }

    /// Returns the messages that b receives of a thousand, in order of arrival.
    fn received(faults: BusFaults, seed: u64) -> Vec<u64> {
        let clock = SimulatedClock::new(UnixMillis(0));
        let bus = MemoryBus::new(Arc::new(clock.clone()), seed);
        ["a", "b"].iter().for_each(|name| bus.add_node(name));
        bus.set_faults(faults);
        for term in 1..=MESSAGES {
            bus.send_message(MessageRecipient::All, message(term));
        }
        clock.advance_time(faults.delay * 2);
        assert!(bus.receive_message("a").is_none(), "a node does not receive its own messages");
        let terms =
            std::iter::from_fn(|| bus.receive_message("b")).map(|message| match message.body {
                MessageBody::Outdated { term, .. } => term,
                _ => 0,
            });
        terms.collect()
    }

    #[test]
    fn without_faults_all_messages_arrive_in_order() {
        let delay = Duration::from_millis(10);
        assert!(received(BusFaults::default(), 1).into_iter().eq(1..=MESSAGES));
        assert!(
            received(BusFaults { delay, ..BusFaults::default() }, 1).into_iter().eq(1..=MESSAGES)
        );
    }

    #[test]
    fn faults_have_the_configured_rate_and_are_reproducible_by_seed() {
        let delay = Duration::from_millis(10);
        let lost = received(BusFaults { lost: 200, ..BusFaults::default() }, 2);
        assert!((700..900).contains(&lost.len()) && lost.is_sorted(), "{}", lost.len());
        let repeated = received(BusFaults { repeated: 200, delay, ..BusFaults::default() }, 2);
        assert!((1_100..1_300).contains(&repeated.len()), "{}", repeated.len());
        let reordered = BusFaults { reordered: 200, delay, ..BusFaults::default() };
        let terms = received(reordered, 2);
        assert!(terms.len() == MESSAGES as usize && !terms.is_sorted());
        assert_eq!(terms, received(reordered, 2));
        assert_ne!(terms, received(reordered, 3));
    }

    #[test]
    fn a_disconnected_or_departed_node_receives_nothing() {
        let clock = SimulatedClock::new(UnixMillis(0));
        let bus = MemoryBus::new(Arc::new(clock), 1);
        ["a", "b", "c"].iter().for_each(|name| bus.add_node(name));
        bus.set_node_cut_off("b", true);
        bus.remove_node("c");
        bus.send_message(MessageRecipient::All, message(1));
        bus.set_node_cut_off("b", false);
        bus.send_message(MessageRecipient::One("b".into()), message(2));
        assert_eq!(bus.receive_message("b"), Some(message(2)));
        assert!(bus.receive_message("b").is_none() && bus.receive_message("c").is_none());
        assert_eq!(bus.lost_message_count(), 1);
    }
}
