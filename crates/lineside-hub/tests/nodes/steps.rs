//! Tests of the bus contract, message by message: an owner, a follower, and a test that delivers or drops their
//! messages.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_hub::bus::{
    BusMessage, BusPublishError, CATCH_UP_TIMEOUT, CatchUpRequest, ClusterNode, HEARTBEAT,
    MessageBody, MessagePart, MessageRecipient, NetworkOwnership, NetworkPosition, NetworkReplica,
    NetworkStateSnapshot, NodeDependencies, PART_BYTES_MAX, ReplicaDecodeError,
};
use lineside_hub::{ClusterBus, Epoch, Position};
use lineside_sync::hashring::HashRingMember;
use lineside_sync::{SimulatedClock, UnixMillis};
use parking_lot::Mutex;

const NETWORK: &str = "oslo";

/// A bus that holds messages until the test delivers them.
#[derive(Default)]
struct Tray(Mutex<Vec<(MessageRecipient, BusMessage)>>);

impl ClusterBus for Tray {
    fn send_message(&self, to: MessageRecipient, message: BusMessage) {
        self.0.lock().push((to, message));
    }
}

/// A replica that records its calls: `10>12 x` for changes, `=12 x` for a state, `leads` and `follows`.
struct Notes {
    calls: Mutex<Vec<String>>,
    at: Mutex<Position>,
    pieces: Mutex<Vec<Bytes>>,
    /// Changes that contain this text cannot be read.
    secret: &'static str,
}

impl Notes {
    fn note(&self, what: String) {
        self.calls.lock().push(what);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.calls.lock())
    }
}

fn text(pieces: &[Bytes]) -> String {
    let text = String::from_utf8_lossy(&pieces.concat()).into_owned();
    if text.len() > 20 { format!("{} bytes in {}", text.len(), pieces.len()) } else { text }
}

impl NetworkReplica for Notes {
    fn current_network_state(&self, _: &str) -> Option<NetworkStateSnapshot> {
        Some(NetworkStateSnapshot { at: *self.at.lock(), pieces: self.pieces.lock().clone() })
    }

    fn apply_network_changes(
        &self,
        _: &str,
        previous: u64,
        at: Position,
        changes: &[Bytes],
    ) -> Result<(), ReplicaDecodeError> {
        let text = text(changes);
        if text == self.secret {
            return Err(ReplicaDecodeError);
        }
        self.note(format!("{previous}>{} {text}", at.offset));
        Ok(())
    }

    fn replace_network_state(
        &self,
        _: &str,
        at: Position,
        state: &[Bytes],
    ) -> Result<(), ReplicaDecodeError> {
        self.note(format!("={} {}", at.offset, text(state)));
        Ok(())
    }

    fn become_owner(&self, _: &str, epoch: Epoch) -> u64 {
        self.note("leads".into());
        self.at.lock().epoch = epoch;
        self.at.lock().offset
    }

    fn become_follower(&self, _: &str) {
        self.note("follows".into());
    }
}

struct TestNode {
    node: ClusterNode,
    notes: Arc<Notes>,
    ownership: Arc<NetworkOwnership>,
}

struct Pair {
    clock: SimulatedClock,
    tray: Arc<Tray>,
    owner: TestNode,
    follower: TestNode,
}

fn side(name: &str, clock: &SimulatedClock, tray: &Arc<Tray>) -> TestNode {
    let notes = Arc::new(Notes {
        calls: Mutex::default(),
        at: Mutex::new(Position { epoch: Epoch::from_bits(0), offset: 10 }),
        pieces: Mutex::new(vec!["all".into()]),
        secret: "secret",
    });
    let ownership = NetworkOwnership::new(1, [HashRingMember::new("a", 1)]).expect("a ring");
    let dependencies = NodeDependencies {
        bus: tray.clone(),
        replica: notes.clone(),
        clock: Arc::new(clock.clone()),
        ownership: ownership.clone(),
    };
    TestNode {
        node: ClusterNode::new(name, [NETWORK], dependencies, name.bytes().map(u64::from).sum()),
        notes,
        ownership,
    }
}

/// Creates a pair: `a` owns the network at 10, and `b` has its state.
fn pair() -> Pair {
    let clock = SimulatedClock::new(UnixMillis(0));
    let tray = Arc::new(Tray::default());
    let (owner, follower) = (side("a", &clock, &tray), side("b", &clock, &tray));
    let mut pair = Pair { clock, tray, owner, follower };
    pair.owner.node.run_periodic_work();
    pair.settle();
    assert_eq!(pair.owner.notes.take(), ["leads"]);
    assert_eq!(pair.follower.notes.take(), ["=10 all"]);
    pair
}

impl Pair {
    /// Takes the messages from the tray.
    fn take(&self) -> Vec<BusMessage> {
        std::mem::take(&mut *self.tray.0.lock()).into_iter().map(|(_, message)| message).collect()
    }

    /// Delivers all messages until there are no more.
    fn settle(&mut self) {
        loop {
            let messages = self.take();
            if messages.is_empty() {
                return;
            }
            messages.into_iter().for_each(|message| self.carry(message));
        }
    }

    fn carry(&mut self, message: BusMessage) {
        let to = if *message.from == *"a" { &mut self.follower } else { &mut self.owner };
        to.node.handle_bus_message(message);
    }

    fn publish(&mut self, revision: u64, changes: &[&str]) {
        let at = self.at(revision);
        *self.owner.notes.at.lock() = at;
        let changes = changes.iter().map(|it| Bytes::copy_from_slice(it.as_bytes())).collect();
        self.owner
            .node
            .send_changes_to_nodes(NETWORK, at, changes)
            .expect("this node owns the network");
    }

    /// Publishes, and takes the resulting message from the tray.
    fn said(&mut self, revision: u64, changes: &str) -> BusMessage {
        let already = self.tray.0.lock().len();
        self.publish(revision, &[changes]);
        let published = self.tray.0.lock().split_off(already);
        assert_eq!(published.len(), 1);
        published[0].1.clone()
    }

    fn at(&self, offset: u64) -> Position {
        let head = self.owner.node.network_position(NETWORK).expect("this node owns the network");
        Position { offset, ..head.at }
    }

    fn pass(&mut self, time: Duration) {
        self.clock.advance_time(time);
        self.owner.node.run_periodic_work();
        self.follower.node.run_periodic_work();
    }

    /// Returns a message that `a` might have sent in this term.
    fn changes(&self, previous: u64, revision: u64, part: MessagePart) -> BusMessage {
        let head = NetworkPosition { network: NETWORK.into(), term: 1, at: self.at(revision) };
        BusMessage { from: "a".into(), body: MessageBody::Changes { head, previous, part } }
    }

    fn told(&self) -> Vec<String> {
        self.follower.notes.take()
    }
}

fn asks(messages: &[BusMessage]) -> Vec<&CatchUpRequest> {
    let request = |message| match message {
        &BusMessage { body: MessageBody::CatchUp(ref request), .. } => Some(request),
        _ => None,
    };
    messages.iter().filter_map(request).collect()
}

fn whole(data: &'static str) -> MessagePart {
    MessagePart { index: 0, count: 1, data: data.into() }
}

#[test]
fn a_publication_is_sent_as_one_message_to_all_nodes() {
    let mut pair = pair();
    pair.publish(13, &["x"]);
    let sent = std::mem::take(&mut *pair.tray.0.lock());
    let expected = pair.changes(10, 13, whole("x"));
    assert_eq!(sent, [(MessageRecipient::All, expected.clone())]);
    pair.carry(expected);
    assert_eq!(pair.told(), ["10>13 x"]);
    assert!(pair.take().is_empty(), "there are no messages to send");
}

#[test]
fn repeated_messages_are_ignored() {
    let mut pair = pair();
    let (first, second) = (pair.said(11, "x"), pair.said(12, "y"));
    for message in [&first, &first, &second, &first, &second] {
        pair.carry(message.clone());
    }
    assert_eq!(pair.told(), ["10>11 x", "11>12 y"]);
    assert_eq!(pair.follower.node.metrics().repeated_total, 3);
}

#[test]
fn early_messages_wait_for_their_predecessors() {
    let mut pair = pair();
    let messages = [pair.said(11, "x"), pair.said(12, "y"), pair.said(13, "z")];
    pair.carry(messages[2].clone());
    pair.carry(messages[1].clone());
    assert!(pair.told().is_empty() && pair.follower.node.has_missed_changes_of(NETWORK));
    pair.carry(messages[0].clone());
    assert_eq!(pair.told(), ["10>11 x", "11>12 y", "12>13 z"]);
    assert!(!pair.follower.node.has_missed_changes_of(NETWORK));
}

#[test]
fn a_missing_message_is_requested_once_a_second_and_sent_again() {
    let mut pair = pair();
    pair.said(11, "lost");
    for (revision, text) in [(12, "y"), (13, "z")] {
        let message = pair.said(revision, text);
        pair.carry(message);
    }
    let position = Some(pair.at(10));
    let requested = pair.take();
    let request = CatchUpRequest {
        network: NETWORK.into(),
        term: 1,
        position,
        is_stuck: false,
        unfinished: None,
    };
    assert_eq!(asks(&requested), [&request], "it requests the state once");
    pair.pass(CATCH_UP_TIMEOUT - Duration::from_millis(1));
    assert!(asks(&pair.take()).is_empty());
    pair.pass(Duration::from_millis(1));
    pair.settle();
    assert_eq!(pair.told(), ["10>11 lost", "11>12 y", "12>13 z"]);
    assert_eq!(
        pair.owner.node.metrics().states_sent_total,
        1,
        "only the first request was answered"
    );
}

#[test]
fn only_an_arriving_answer_delays_the_next_request() {
    let mut pair = pair();
    let lost = [pair.said(11, "a"), pair.said(12, "b"), pair.said(13, "c")];
    let timeout = CATCH_UP_TIMEOUT - Duration::from_millis(1);
    let early = pair.said(14, "d");
    pair.carry(early);
    assert_eq!(asks(&pair.take()).len(), 1);
    for message in &lost[..2] {
        pair.clock.advance_time(timeout);
        pair.carry(message.clone());
        pair.follower.node.run_periodic_work();
        assert!(asks(&pair.take()).is_empty(), "the reply is in transit");
    }
    pair.clock.advance_time(timeout);
    let early = pair.said(15, "e");
    pair.carry(early);
    pair.clock.advance_time(Duration::from_millis(1));
    pair.follower.node.run_periodic_work();
    assert_eq!(asks(&pair.take()).len(), 1, "the remaining parts were lost");
    pair.carry(lost[2].clone());
    assert_eq!(pair.told(), ["10>11 a", "11>12 b", "12>13 c", "13>14 d", "14>15 e"]);
}

#[test]
fn a_heartbeat_reveals_that_the_last_message_was_lost() {
    let mut pair = pair();
    pair.said(11, "lost");
    pair.pass(HEARTBEAT);
    pair.settle();
    assert_eq!(pair.told(), ["10>11 lost"]);
}

#[test]
fn a_node_that_is_too_far_behind_receives_the_state() {
    let mut pair = pair();
    pair.said(11, "lost");
    pair.pass(Duration::from_secs(3_600));
    pair.settle();
    assert_eq!(pair.told(), ["=11 all"]);
    let next = pair.said(12, "y");
    pair.carry(next);
    assert_eq!(pair.told(), ["11>12 y"]);
}

#[test]
fn a_large_publication_is_sent_in_parts_and_reassembled() {
    let mut pair = pair();
    let large = "x".repeat(2 * PART_BYTES_MAX + 1);
    pair.publish(11, &["small", &large]);
    let messages = pair.take();
    assert_eq!(messages.len(), 4);
    for message in messages.iter().rev().chain(&messages) {
        pair.carry(message.clone());
    }
    let bytes = large.len() + 5;
    assert_eq!(pair.told(), [format!("10>11 {bytes} bytes in 4")]);
}

#[test]
fn a_publication_with_a_missing_part_is_requested_again() {
    let mut pair = pair();
    pair.publish(11, &["a", "b"]);
    let first = pair.take().remove(0);
    pair.carry(first);
    assert!(pair.take().is_empty(), "the other parts may be in transit");
    pair.publish(12, &["c"]);
    pair.settle();
    assert_eq!(pair.told(), ["10>11 ab", "11>12 c"]);
}

#[test]
fn only_the_missing_parts_of_a_state_are_sent_again() {
    let mut pair = pair();
    *pair.owner.notes.pieces.lock() = ["a", "b", "c"].map(Bytes::from).into();
    pair.said(11, "lost");
    pair.pass(Duration::from_secs(3_600));
    let of_owner = pair.take();
    of_owner.into_iter().for_each(|message| pair.carry(message));
    let request = pair.take();
    request.into_iter().for_each(|message| pair.carry(message));
    let parts = pair.take();
    assert_eq!(parts.len(), 3);
    pair.carry(parts[0].clone());
    pair.carry(parts[2].clone());
    pair.clock.advance_time(CATCH_UP_TIMEOUT);
    pair.follower.node.run_periodic_work();
    let request = pair.take();
    assert_eq!(asks(&request)[0].unfinished.map(|(_, first)| first), Some(1));
    request.into_iter().for_each(|message| pair.carry(message));
    assert_eq!(pair.take(), parts[1..]);
    pair.carry(parts[1].clone());
    assert_eq!(pair.told(), ["=11 abc"]);
}

#[test]
fn parts_of_two_states_are_never_combined() {
    let mut pair = pair();
    let state = |pair: &Pair, edition, index, data: &'static str| {
        let head = NetworkPosition { network: NETWORK.into(), term: 1, at: pair.at(20) };
        let part = MessagePart { index, count: 2, data: data.into() };
        BusMessage { from: "a".into(), body: MessageBody::State { head, edition, part } }
    };
    let messages = [(7, 0, "old"), (8, 1, "two"), (7, 1, "old"), (8, 0, "one")];
    for (edition, index, data) in messages {
        let message = state(&pair, edition, index, data);
        pair.carry(message);
    }
    assert_eq!(pair.told(), ["=20 onetwo"]);
}

#[test]
fn an_unreadable_publication_is_replaced_by_a_state() {
    let mut pair = pair();
    pair.publish(11, &["secret"]);
    pair.settle();
    assert_eq!(pair.told(), ["=11 all"]);
    assert_eq!(pair.follower.node.metrics().unreadable_total, 1);
    pair.publish(12, &["y"]);
    pair.settle();
    assert_eq!(pair.told(), ["11>12 y"]);
}

#[test]
fn a_message_of_an_old_term_is_ignored_and_its_owner_notified() {
    let mut pair = pair();
    // The roster of b names b as owner; a does not know it yet.
    let replaced =
        pair.follower.ownership.replace_roster_if_newer(2, [HashRingMember::new("b", 1)]);
    assert_eq!(replaced, Ok(true));
    pair.follower.node.run_periodic_work();
    let claim = pair.take();
    assert_eq!(pair.told(), ["leads"]);
    assert_ne!(
        pair.follower.node.network_position(NETWORK).expect("this node owns the network").at.epoch,
        pair.at(10).epoch
    );
    let stale = pair.said(11, "x");
    pair.carry(stale);
    assert!(pair.told().is_empty());
    let answers = pair.take();
    let outdated = MessageBody::Outdated { network: NETWORK.into(), term: 2 };
    assert_eq!(answers, [BusMessage { from: "b".into(), body: outdated }]);
    answers.into_iter().for_each(|message| pair.carry(message));
    assert_eq!(pair.owner.notes.take(), ["follows"]);
    let at = Position { epoch: Epoch::from_bits(0), offset: 12 };
    assert_eq!(
        pair.owner.node.send_changes_to_nodes(NETWORK, at, Vec::new()),
        Err(BusPublishError::NotOwner)
    );
    claim.into_iter().for_each(|message| pair.carry(message));
    pair.settle();
    assert_eq!(pair.owner.notes.take(), ["=10 all"]);
}

#[test]
fn an_owner_that_missed_a_term_starts_a_later_one() {
    let mut pair = pair();
    let before = pair.at(10).epoch;
    let ownership = &pair.owner.ownership;
    assert_eq!(ownership.replace_roster_if_newer(3, [HashRingMember::new("a", 1)]), Ok(true));
    pair.owner.node.run_periodic_work();
    assert!(pair.owner.notes.take().is_empty(), "the old owner has not noticed a change");
    let outdated = MessageBody::Outdated { network: NETWORK.into(), term: 2 };
    pair.owner.node.handle_bus_message(BusMessage { from: "b".into(), body: outdated });
    assert_eq!(pair.owner.notes.take(), ["leads"]);
    let head = pair.owner.node.network_position(NETWORK).expect("this node owns the network");
    assert!(head.term == 3 && head.at.epoch != before);
    pair.settle();
    assert_eq!(pair.told(), ["=10 all"]);
}

#[test]
fn a_publication_out_of_order_is_refused() {
    let mut pair = pair();
    let at = pair.at(10);
    let publish = |pair: &mut Pair, name: &str, at| {
        pair.owner.node.send_changes_to_nodes(name, at, Vec::new())
    };
    assert_eq!(publish(&mut pair, NETWORK, at), Err(BusPublishError::NotNext));
    assert_eq!(publish(&mut pair, "bergen", at), Err(BusPublishError::NotOwner));
    let other_epoch = Position { epoch: Epoch::from_bits(1), offset: 11 };
    assert_eq!(publish(&mut pair, NETWORK, other_epoch), Err(BusPublishError::NotOwner));
    assert_eq!(
        pair.follower.node.send_changes_to_nodes(NETWORK, at, Vec::new()),
        Err(BusPublishError::NotOwner)
    );
}

#[test]
fn unsound_messages_neither_panic_nor_grow_memory() {
    let mut pair = pair();
    let part = |index, count, len| MessagePart { index, count, data: Bytes::from(vec![0; len]) };
    let unsound =
        [part(0, 0, 0), part(1, 1, 0), part(0, u32::MAX, 0), part(0, 1, PART_BYTES_MAX + 1)];
    for part in unsound {
        let message = pair.changes(10, 11, part);
        pair.carry(message);
    }
    for (previous, revision) in [(11, 11), (12, 11), (u64::MAX, 0)] {
        let message = pair.changes(previous, revision, whole("x"));
        pair.carry(message);
    }
    // The follower holds only a limited number of early changes.
    for previous in (20..2_000).rev() {
        let message = pair.changes(previous, previous + 1, part(0, 1, 1));
        pair.carry(message);
    }
    assert!(pair.told().is_empty());
    let next = pair.changes(10, 2_000, whole("x"));
    pair.carry(next);
    assert_eq!(pair.told(), ["10>2000 x"], "later changes still fit");
}
