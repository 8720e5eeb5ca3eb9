//! A subscriber that moves from node to node, and the checks of its deliveries.

use std::collections::BTreeMap;
use std::sync::Arc;

use lineside_hub::{
    ClientDelivery, EncodedChannelName, Hub, Position, Session, SessionLimits,
    SubscriptionEndReason,
};

use crate::records::{Holdings, Truth, apply};
use crate::storm::InjectedFault;
use crate::support::{Resumes, Signaled, Violation};

#[derive(Debug, Default)]
struct Holding {
    records: Holdings,
    /// The position of its content; the cursor to resume from may be before it.
    reached: Option<Position>,
    /// A state that is arriving. The old content stays until the state is complete: the reader may resume from it at
    /// another node.
    coming: Option<Holdings>,
    cursor: Option<Position>,
    /// True if its position was refused.
    refused: bool,
}

pub(crate) struct Reader {
    resumes: Resumes,
    /// The positions that it last listed, by sequence.
    listed: BTreeMap<String, Position>,
    channels: BTreeMap<String, Holding>,
    session: Option<Session>,
    signaled: Arc<Signaled>,
    idle: bool,
    /// The node that it is or was last connected to.
    pub(crate) at: usize,
    pub(crate) resumed_elsewhere: u64,
}

impl Reader {
    pub(crate) fn new(resumes: Resumes, channels: impl IntoIterator<Item = String>) -> Self {
        Self {
            resumes,
            listed: BTreeMap::new(),
            channels: channels.into_iter().map(|it| (it, Holding::default())).collect(),
            session: None,
            signaled: Arc::default(),
            idle: false,
            at: 0,
            resumed_elsewhere: 0,
        }
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.session.is_some()
    }

    pub(crate) fn disconnect(&mut self) {
        self.session = None;
    }

    pub(crate) fn may_pull(&self) -> bool {
        self.session.is_some() && (!self.idle || self.signaled.is_set())
    }

    /// Connects to a node and resumes from its positions.
    pub(crate) fn connect(&mut self, node: usize, hub: &Arc<Hub>) -> Result<(), Violation> {
        self.signaled = Arc::default();
        self.idle = false;
        let mut session = hub.open_session(self.signaled.clone(), SessionLimits::default());
        for (name, holding) in &mut self.channels {
            let channel =
                EncodedChannelName::parse_channel_name(name).map_err(|why| why.to_string())?;
            let from = match self.resumes {
                Resumes::ByChannel => holding.cursor.filter(|from| from.offset > 0),
                Resumes::BySequence => {
                    let sequence =
                        hub.sequence_name_of_channel(&channel).map_err(|why| why.to_string())?;
                    self.listed.get(&sequence).copied()
                }
            };
            let subscribed = session
                .subscribe(&channel, from)
                .map_err(|why| format!("{name}: refused: {why}"))?;
            if subscribed.recovered && Some(subscribed.position) != from {
                return Err(format!(
                    "{name}: resumed from {} instead of the requested position",
                    subscribed.position
                ));
            }
            if subscribed.recovered && holding.reached.is_none() {
                return Err(format!("{name}: resumed although its state was never complete"));
            }
            if subscribed.recovered && node != self.at {
                self.resumed_elsewhere += 1;
            }
            holding.coming = None;
            holding.refused = from.is_some() && !subscribed.recovered;
            holding.cursor = from;
        }
        self.session = Some(session);
        self.at = node;
        Ok(())
    }

    /// Takes one delivery; returns a description.
    pub(crate) fn pull(
        &mut self,
        truth: &Truth,
        injected_fault: InjectedFault,
    ) -> Result<String, Violation> {
        self.signaled.clear();
        let Some(session) = &mut self.session else { return Ok("offline".into()) };
        let Some(delivery) = session.next_delivery() else {
            self.idle = true;
            return Ok("nothing".into());
        };
        self.idle = false;
        let name = delivery.channel().to_string();
        let holding =
            self.channels.get_mut(&name).ok_or(format!("{name}: the reader is not subscribed"))?;
        let description = holding.take(&name, &delivery, truth, injected_fault)?;
        if let ClientDelivery::Ended { .. } = delivery {
            self.session = None;
        } else {
            self.listed =
                session.client_positions().map(|(name, at)| (name.to_owned(), at)).collect();
        }
        Ok(format!("{name} {description}"))
    }

    /// *Convergence*: it has the content of the network.
    pub(crate) fn check(
        &self,
        expected: impl Fn(&str) -> Option<Holdings>,
    ) -> Result<(), Violation> {
        for (name, holding) in &self.channels {
            let expected = expected(name);
            if Some(&holding.records) != expected.as_ref() {
                return Err(format!("{name}: holds {:?} instead of {expected:?}", holding.records));
            }
        }
        Ok(())
    }
}

impl Holding {
    fn take(
        &mut self,
        name: &str,
        delivery: &ClientDelivery,
        truth: &Truth,
        injected_fault: InjectedFault,
    ) -> Result<String, Violation> {
        match delivery {
            ClientDelivery::State { state, part, gap, .. } => {
                if *part == 0 {
                    // In this world only gaps cause a new state.
                    let misses = self.cursor.is_some() || self.refused;
                    if *gap != misses {
                        let at = state.position();
                        return Err(format!("{name}: {at} after {:?}, gap {gap}", self.cursor));
                    }
                    self.coming = Some(Holdings::new());
                    if injected_fault == InjectedFault::ForgottenEarly {
                        self.records.clear();
                    }
                }
                let coming = self.coming.as_mut().ok_or("a part arrived before the first part")?;
                apply(coming, state.parts()[*part].data());
                if let Some(position) = delivery.position() {
                    self.records = self.coming.take().unwrap_or_default();
                    self.refused = false;
                    self.reached = None;
                    self.reach(name, position, truth)?;
                }
                Ok(format!("state {} part {part}, gap {gap}", state.position()))
            }
            ClientDelivery::Publication { publication, .. } => {
                let position = delivery.position().ok_or("a publication has no position")?;
                let follows =
                    |it: Position| it.epoch == position.epoch && it.offset < position.offset;
                if self.coming.is_some() || !self.cursor.is_some_and(follows) {
                    return Err(format!("{name}: {position} after {:?}", self.cursor));
                }
                let data = publication.payload.data();
                truth.check_told(name, position, data)?;
                apply(&mut self.records, data);
                self.reach(name, position, truth)?;
                Ok(position.to_string())
            }
            ClientDelivery::Ended { why: SubscriptionEndReason::Slow, .. } => Ok("slow".into()),
            _ => Err(format!("{name}: unexpected delivery on a channel with a state")),
        }
    }

    fn reach(&mut self, name: &str, position: Position, truth: &Truth) -> Result<(), Violation> {
        self.cursor = Some(position);
        // A reader that gets known publications again has a mixture until it is back at its position.
        let is_further = |it: Position| it.epoch == position.epoch && it.offset > position.offset;
        if self.reached.is_some_and(is_further) {
            return Ok(());
        }
        self.reached = Some(position);
        truth.check_holdings(name, position, &self.records)
    }
}
