//! A client of the storm that trusts its deliveries, and the checks of what it gets.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use lineside_hub::{
    ClientDelivery, EncodedChannelName, Hub, JoinedPublicationsCache, Position, PublicationToFrame,
    Session, SessionLimits, SubscriptionEndReason,
};

use crate::partition::{Partition, PartitionWorkers};
use crate::support::{Resumes, Signaled, Violation};
use crate::world::{Holdings, InjectedFault, World};

/// One channel from the client's point of view.
#[derive(Debug, Default)]
struct Holding {
    records: Holdings,
    /// True if all parts of a state have arrived.
    is_complete: bool,
    /// The position to resume from: the last complete state or publication.
    position: Option<Position>,
    /// The position that the current subscription builds on; `None` before the state.
    cursor: Option<Position>,
    /// True if a requested position was refused; the next state must be a gap.
    refused: bool,
    /// The number of gaps since the client last had everything.
    gaps: u8,
}

pub(crate) struct Client {
    resumes: Resumes,
    channels: BTreeMap<String, Holding>,
    /// The positions that it last listed, by sequence.
    listed: BTreeMap<String, Position>,
    session: Option<Session>,
    signaled: Arc<Signaled>,
    /// True once the session has returned no delivery; only a signal may change that.
    idle: bool,
    /// The desk of the partition, where states that the client waits for may be in progress, even if it is not a row
    /// there.
    workers: Arc<PartitionWorkers>,
}

impl Client {
    pub(crate) fn new(resumes: Resumes, channels: impl IntoIterator<Item = String>) -> Self {
        Self {
            resumes,
            channels: channels.into_iter().map(|channel| (channel, Holding::default())).collect(),
            listed: BTreeMap::new(),
            session: None,
            signaled: Arc::default(),
            idle: false,
            workers: Arc::default(),
        }
    }

    /// Notes that a subscription may have news.
    pub(crate) fn note(&mut self, subscription: u32) {
        if let Some(session) = &mut self.session {
            session.mark_subscription_has_news(subscription);
            self.idle = false;
        }
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.session.is_some()
    }

    /// Returns true if it may pull: it has not drained its session, or was signaled.
    pub(crate) fn may_pull(&self) -> bool {
        self.session.is_some() && (!self.idle || self.signaled.is_set())
    }

    pub(crate) fn disconnect(&mut self) {
        self.session = None;
    }

    /// Connects with its positions, or with none if `forget` is true; as a separate session, or as a row of a
    /// partition.
    pub(crate) fn connect(
        &mut self,
        world: &World,
        hub: &Arc<Hub>,
        partition: &Partition,
        row: Option<u32>,
        forget: bool,
    ) -> Result<(), Violation> {
        self.signaled = Arc::default();
        self.idle = false;
        self.workers = partition.workers.clone();
        let mut session = match row {
            Some(row) => partition.session(row),
            None => hub.open_session(self.signaled.clone(), SessionLimits::default()),
        };
        if forget {
            self.listed.clear();
            self.channels.values_mut().for_each(|holding| *holding = Holding::default());
        }
        for (name, holding) in &mut self.channels {
            let channel = EncodedChannelName::parse_channel_name(name)
                .map_err(|why| format!("{name}: {why}"))?;
            let mut from = match self.resumes {
                Resumes::ByChannel => holding.position,
                Resumes::BySequence => {
                    let sequence =
                        hub.sequence_name_of_channel(&channel).map_err(|why| why.to_string())?;
                    self.listed.get(&sequence).copied()
                }
            };
            if world.injected_fault == InjectedFault::EpochNotCompared
                && let Some(network) = name.split('/').nth(1).and_then(|text| text.parse().ok())
                && !name.starts_with("area/")
                && let Some(from) = &mut from
            {
                from.epoch = world.epoch(network);
            }
            let subscribed = session
                .subscribe(&channel, from)
                .map_err(|why| format!("{name}: refused: {why}"))?;
            if subscribed.recovered {
                if !holding.is_complete {
                    return Err(format!("{name}: resumed although its state was never complete"));
                }
                if Some(subscribed.position) != from {
                    return Err(format!(
                        "{name}: resumed from {} instead of the requested position",
                        subscribed.position
                    ));
                }
            }
            holding.cursor = from.filter(|from| from.offset > 0);
            holding.refused = holding.cursor.is_some() && !subscribed.recovered;
            holding.gaps = 0;
        }
        self.session = Some(session);
        Ok(())
    }

    /// Subscribes to one more channel; only a client that resumes by channel may.
    pub(crate) fn subscribe(&mut self, name: &str) -> Result<(), Violation> {
        let Some(session) = self.session.as_mut().filter(|_| self.resumes == Resumes::ByChannel)
        else {
            return Ok(());
        };
        if !self.channels.contains_key(name) {
            let channel =
                EncodedChannelName::parse_channel_name(name).map_err(|why| why.to_string())?;
            session.subscribe(&channel, None).map_err(|why| format!("{name}: refused: {why}"))?;
            self.channels.insert(name.to_owned(), Holding::default());
            self.idle = false;
        }
        Ok(())
    }

    pub(crate) fn unsubscribe(&mut self, n: usize) -> Result<(), Violation> {
        let Some(session) = self.session.as_mut().filter(|_| self.resumes == Resumes::ByChannel)
        else {
            return Ok(());
        };
        if self.channels.len() > 1
            && let Some(name) = self.channels.keys().nth(n % self.channels.len()).cloned()
        {
            let channel =
                EncodedChannelName::parse_channel_name(&name).map_err(|why| why.to_string())?;
            if !session.unsubscribe(&channel) {
                return Err(format!("{name}: the client was not subscribed"));
            }
            self.channels.remove(&name);
        }
        Ok(())
    }

    /// Takes one delivery, or a run of several shared through `runs`; returns a description.
    pub(crate) fn pull(
        &mut self,
        world: &World,
        runs: Option<&mut JoinedPublicationsCache>,
    ) -> Result<String, Violation> {
        self.signaled.clear();
        let Some(session) = &mut self.session else { return Ok("offline".into()) };
        if let Some(run) =
            runs.and_then(|runs| session.next_joined_publications(0, runs, |it| frame(&it)))
        {
            return self.take_run(&run, world);
        }
        let delivery = session.next_delivery();
        self.idle = delivery.is_none();
        let Some(delivery) = delivery else {
            self.note_listed(world, None)?;
            self.check_drained(world)?;
            return Ok("nothing".into());
        };
        let name = delivery.channel().to_string();
        let holding =
            self.channels.get_mut(&name).ok_or(format!("{name}: the client is not subscribed"))?;
        holding.take(&name, &delivery, world).map_err(|why| format!("{name}: {why}"))?;
        let description = tell(&delivery);
        match delivery {
            ClientDelivery::Ended { why: SubscriptionEndReason::Slow, .. } => self.session = None,
            _ => self.note_listed(world, Some((&name, delivery.position())))?,
        }
        Ok(format!("{name} {description}"))
    }

    fn take_run(&mut self, run: &[u8], world: &World) -> Result<String, Violation> {
        let mut description = String::from("run:");
        let run = str::from_utf8(run).map_err(|why| why.to_string())?;
        for framed in run.lines() {
            let [name, position, text] = framed.split('\t').collect::<Vec<_>>()[..] else {
                return Err(format!("{framed:?} is not a frame"));
            };
            let position: Position =
                position.parse().map_err(|why| format!("{position}: {why}"))?;
            let holding = self
                .channels
                .get_mut(name)
                .ok_or(format!("{name}: the client is not subscribed"))?;
            holding
                .take_publication(name, position, text.as_bytes(), world)
                .map_err(|why| format!("{name}: {why}"))?;
            description = format!("{description} {name} {position}");
            // The client may already have what it lists.
            self.note_listed(world, Some((name, Some(position))))?;
        }
        Ok(description)
    }

    fn note_listed(
        &mut self,
        world: &World,
        latest: Option<(&str, Option<Position>)>,
    ) -> Result<(), Violation> {
        let Some(session) = &mut self.session else { return Ok(()) };
        let previous = std::mem::take(&mut self.listed);
        self.listed = session
            .client_positions()
            .map(|(name, position)| (name.to_owned(), position))
            .collect();
        // A client that returns without a position counts as new, and does not learn of its gap.
        if self.resumes == Resumes::BySequence
            && let Some((name, position)) =
                previous.iter().find(|(name, _)| !self.listed.contains_key(*name))
        {
            return Err(format!("{name}@{position} is no longer listed"));
        }
        if world.injected_fault == InjectedFault::NewestListed
            && let Some((name, Some(position))) = latest
            && !name.starts_with("area/")
            && let Some(network) = name.split('/').nth(1)
        {
            self.listed.insert(network.to_owned(), position);
        }
        Ok(())
    }

    /// *Convergence.* With nothing left to read, a client has the content of the network.
    pub(crate) fn check_drained(&mut self, world: &World) -> Result<(), Violation> {
        let is_signaled = self.may_pull() || !self.workers.is_quiet();
        if !world.is_still() || is_signaled {
            return Ok(());
        }
        for (name, holding) in &mut self.channels {
            holding.gaps = 0;
            let expected = world.holdings(name);
            if !holding.is_complete || holding.records != expected {
                return Err(format!("{name}: holds {:?} instead of {expected:?}", holding.records));
            }
        }
        Ok(())
    }

    /// Returns true if it has everything; for the calm after the storm.
    pub(crate) fn is_idle(&self) -> bool {
        self.idle && !self.may_pull()
    }
}

impl Holding {
    fn take(
        &mut self,
        name: &str,
        delivery: &ClientDelivery,
        world: &World,
    ) -> Result<(), Violation> {
        match delivery {
            ClientDelivery::State { state, part, gap, .. } => {
                if *part == 0 {
                    self.check_cause(name, *gap, state.position(), world)?;
                    self.records.clear();
                    self.is_complete = false;
                }
                apply(&mut self.records, state.parts()[*part].data());
                if let Some(position) = delivery.position() {
                    self.is_complete = true;
                    self.refused = false;
                    self.cursor = Some(position);
                    self.position = Some(position);
                }
            }
            ClientDelivery::Publication { publication, .. } => {
                let position = delivery.position().ok_or("a publication has no position")?;
                self.take_publication(name, position, publication.payload.data(), world)?;
            }
            ClientDelivery::Ended { why: SubscriptionEndReason::Slow, .. } => {
                if self.gaps < 2 {
                    return Err(format!("the client was ended as slow after {} gaps", self.gaps));
                }
            }
            ClientDelivery::Ended {
                why: SubscriptionEndReason::Lost | SubscriptionEndReason::GroupEnded,
                ..
            }
            | ClientDelivery::Member { .. }
            | ClientDelivery::Disconnect { .. } => {
                return Err(format!("{} on a channel with a state", tell(delivery)));
            }
        }
        Ok(())
    }

    fn take_publication(
        &mut self,
        name: &str,
        position: Position,
        text: &[u8],
        world: &World,
    ) -> Result<(), Violation> {
        self.check_next(name, position, world)?;
        apply(&mut self.records, text);
        self.cursor = Some(position);
        self.position = Some(position);
        Ok(())
    }

    /// *No gap without cause; no loss without a gap.*
    fn check_cause(
        &mut self,
        name: &str,
        gap: bool,
        to: Position,
        world: &World,
    ) -> Result<(), Violation> {
        let Some(cursor) = self.cursor else {
            return if gap { Err("a client without a position got a gap".into()) } else { Ok(()) };
        };
        let other_epoch = cursor.epoch != to.epoch;
        if gap {
            self.gaps += 1;
            let missed = other_epoch || self.refused || world.has_written_after(name, cursor);
            return if missed { Ok(()) } else { Err(format!("a gap after {cursor} has no cause")) };
        }
        if other_epoch || self.refused {
            return Err(format!("a state after {cursor} hides a gap"));
        }
        if world.restated_between(name, cursor, to.offset) {
            Ok(())
        } else {
            Err(format!("a state at {to} after {cursor} has no cause"))
        }
    }

    /// *Offsets rise, and none is skipped.*
    fn check_next(&self, name: &str, position: Position, world: &World) -> Result<(), Violation> {
        let cursor =
            self.cursor.filter(|_| self.is_complete).ok_or("a change arrived before the state")?;
        if position.epoch != cursor.epoch || position.offset <= cursor.offset {
            return Err(format!("{position} after {cursor}"));
        }
        match world.next_written(name, cursor) {
            (Some(next), false) if next == position.offset => Ok(()),
            next => Err(format!("{position} after {cursor}; expected {next:?}")),
        }
    }
}

/// Frames a publication as one line.
fn frame(it: &PublicationToFrame<'_>) -> Bytes {
    let text = String::from_utf8_lossy(it.publication.payload.data());
    format!("{}\t{}\t{text}\n", it.channel, it.position).into()
}

fn apply(records: &mut Holdings, text: &[u8]) {
    let text = str::from_utf8(text).expect("the world writes UTF-8");
    for change in text.split_terminator(';') {
        match (change.strip_prefix('-'), change.strip_prefix('+').and_then(|it| it.split_once('=')))
        {
            (Some(key), _) => drop(records.remove(key)),
            (None, Some((key, value))) => drop(records.insert(key.into(), value.into())),
            _ => panic!("{change} is not a change"),
        }
    }
}

fn tell(delivery: &ClientDelivery) -> String {
    match delivery {
        ClientDelivery::State { state, part, gap, .. } => {
            format!("state {} part {part}{}", state.position(), if *gap { " gap" } else { "" })
        }
        ClientDelivery::Publication { epoch, publication, .. } => {
            format!("{epoch}:{}", publication.offset)
        }
        ClientDelivery::Member { member, .. } => format!("of {}", member.client),
        ClientDelivery::Disconnect { order, .. } => format!("disconnect {}", order.code),
        ClientDelivery::Ended { why, .. } => format!("ended {why:?}"),
    }
}
