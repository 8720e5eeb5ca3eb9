//! Compares one subscriber with the plainest model: the list of everything ever published.

use bytes::Bytes;
use lineside_hub::{ClientDelivery, HubConfig, Session};
use proptest::prelude::*;

use crate::script::{Stage, at, stage_with};

#[derive(Clone, Debug)]
enum Act {
    /// The number of publications in one batch, and the distance between their offsets.
    Publish(u8, u64),
    Restate,
    Pull(u8),
    /// Subscribes again from the current position.
    Resume,
    Sweep(u64),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (1..5u8, 1..3u64).prop_map(|(n, step)| Act::Publish(n, step)),
        1 => Just(Act::Restate),
        4 => (1..6u8).prop_map(Act::Pull),
        2 => Just(Act::Resume),
        1 => (0..30u64).prop_map(Act::Sweep),
    ]
}

struct Run {
    stage: Stage,
    session: Session,
    /// All offsets published since the start, or since the last restatement replaced the earlier ones.
    published: Vec<u64>,
    top: u64,
    /// The offset up to which the subscriber has everything; 0 at first.
    cursor: u64,
    resumed: bool,
}

impl Run {
    fn new(ring_publications: usize) -> Self {
        let stage = stage_with(HubConfig { ring_publications, ..HubConfig::default() });
        let (session, _) = stage.on("route/1", None);
        Self { stage, session, published: Vec::new(), top: 10, cursor: 0, resumed: false }
    }

    fn act(&mut self, act: &Act) -> Result<(), TestCaseError> {
        match *act {
            Act::Publish(n, step) => self.publish(n, step),
            Act::Restate => {
                self.top += 1;
                self.published.clear();
                self.stage.swap(at(self.top));
                let mut batch = self.stage.hub.open_publish_batch();
                batch.resend_state_without_gap(&self.stage.room(1), Some(at(self.top)));
            }
            Act::Pull(n) => {
                for _ in 0..n {
                    let Some(delivery) = self.session.next_delivery() else { break };
                    self.check(&delivery)?;
                }
            }
            Act::Resume => {
                let from = (self.cursor > 0).then(|| at(self.cursor));
                self.session = self.stage.on("route/1", from).0;
                self.resumed = from.is_some();
            }
            Act::Sweep(seconds) => {
                self.stage.clock.advance_time(std::time::Duration::from_secs(seconds));
                self.stage.hub.trim_and_close_idle_rooms();
            }
        }
        Ok(())
    }

    fn publish(&mut self, n: u8, step: u64) {
        let offsets: Vec<u64> = (1..=u64::from(n)).map(|k| self.top + k * step).collect();
        self.top = offsets[offsets.len() - 1];
        self.stage.swap(at(self.top));
        let mut batch = self.stage.hub.open_publish_batch();
        for offset in &offsets {
            batch.append_publication(
                &self.stage.room(1),
                Some(at(*offset)),
                Bytes::from_static(b"change"),
            );
        }
        self.published.extend(offsets);
    }

    /// Checks that a publication is the very next one, and that a state comes for a reason and is marked correctly.
    fn check(&mut self, delivery: &ClientDelivery) -> Result<(), TestCaseError> {
        if let ClientDelivery::Ended { .. } = delivery {
            return self.act(&Act::Resume);
        }
        let position = delivery.position().expect("the state has one part");
        let next = self.published.iter().copied().find(|offset| *offset > self.cursor);
        match delivery {
            ClientDelivery::Publication { .. } => prop_assert_eq!(Some(position.offset), next),
            ClientDelivery::State { gap, .. } => {
                prop_assert!(position.offset >= self.cursor);
                prop_assert!(!gap || self.cursor > 0, "a reader without a position got a gap");
                prop_assert!(
                    *gap || !self.resumed || self.cursor < self.top,
                    "the state has no cause"
                );
            }
            ClientDelivery::Ended { .. }
            | ClientDelivery::Member { .. }
            | ClientDelivery::Disconnect { .. } => {
                prop_assert!(false, "unexpected delivery");
            }
        }
        self.cursor = position.offset;
        self.resumed = false;
        Ok(())
    }
}

proptest! {
    #[test]
    fn a_subscriber_receives_each_publication_or_a_state_instead(
        acts in proptest::collection::vec(act(), 1..60),
        ring_publications in 1..8usize,
    ) {
        let mut run = Run::new(ring_publications);
        for act in &acts {
            run.act(act)?;
        }
        // At the end the subscriber is at the top.
        while let Some(delivery) = run.session.next_delivery() {
            run.check(&delivery)?;
        }
        let last = run.published.last().copied().unwrap_or(0);
        prop_assert!(run.cursor >= last && run.cursor <= run.top);
    }
}
