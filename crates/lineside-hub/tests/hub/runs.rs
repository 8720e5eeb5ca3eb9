//! Tests of runs: publications that sessions of a partition are sent together.

use bytes::Bytes;
use lineside_hub::{HubConfig, PublicationToFrame, Session};

use crate::partition::Partition;
use crate::script::{Stage, at, name, stage_with};

/// A partition, and sessions that have the state of one channel there.
struct RunFixture {
    stage: Stage,
    partition: Partition,
    sessions: Vec<Session>,
}

impl RunFixture {
    fn new(sessions: u32) -> Self {
        let stage = stage_with(HubConfig { ring_bytes_min: 1 << 20, ..HubConfig::default() });
        let partition = Partition::new(&stage.hub);
        let enter = |row| {
            let mut session = partition.session(row);
            session.subscribe(&name("route/1"), None).expect("a subscription");
            session
        };
        let sessions = (0..sessions).map(enter).collect();
        let mut fixture = Self { stage, partition, sessions };
        // The first round requests the state, the second receives it.
        for _ in 0..2 {
            fixture.sessions.iter_mut().for_each(|it| while it.next_delivery().is_some() {});
            while fixture.partition.work() {}
            fixture.turn();
        }
        fixture.sessions.iter_mut().for_each(|it| while it.next_delivery().is_some() {});
        fixture
    }

    fn turn(&mut self) {
        let Self { partition, sessions, .. } = self;
        partition.turn(|row, subscription| {
            sessions[row as usize].mark_subscription_has_news(subscription)
        });
    }

    /// Publishes `bytes` bytes at each of the offsets.
    fn publish(&self, offsets: impl IntoIterator<Item = u64>, bytes: usize) {
        for offset in offsets {
            self.stage.swap(at(offset));
            let mut batch = self.stage.hub.open_publish_batch();
            batch.append_publication(
                &self.stage.room(1),
                Some(at(offset)),
                vec![b'x'; bytes].into(),
            );
        }
    }

    /// Returns the offsets of each run that a session gets now.
    fn pull(&mut self, n: usize) -> Vec<Vec<u64>> {
        let Self { sessions, partition, .. } = self;
        let runs = &mut partition.runs;
        let mut pulled = Vec::new();
        while let Some(run) = sessions[n].next_joined_publications(0, runs, |it| frame(&it)) {
            pulled.push(run.chunks(FRAME_BYTES).map(offset).collect());
        }
        assert!(
            sessions[n].next_delivery().is_none(),
            "the session has no delivery outside of the run"
        );
        pulled
    }
}

/// The size of a frame, which holds its offset and padding.
const FRAME_BYTES: usize = 10_000;

fn frame(it: &PublicationToFrame<'_>) -> Bytes {
    assert_eq!((it.channel, it.sequence), (&name("route/1"), "city"));
    assert_eq!(it.position, at(it.publication.offset));
    let mut frame = it.position.offset.to_le_bytes().to_vec();
    frame.resize(FRAME_BYTES, b' ');
    frame.into()
}

fn offset(frame: &[u8]) -> u64 {
    u64::from_le_bytes(frame[..8].try_into().expect("eight bytes"))
}

#[test]
fn sessions_at_the_same_position_share_the_bytes_of_a_run() {
    let mut fixture = RunFixture::new(2);
    fixture.publish(11..=13, 100);
    fixture.turn();
    let RunFixture { sessions, partition, .. } = &mut fixture;
    let mut run = |n: usize| {
        sessions[n]
            .next_joined_publications(0, &mut partition.runs, |it| frame(&it))
            .expect("a run")
    };
    let (one, other) = (run(0), run(1));
    assert_eq!(one.as_ptr(), other.as_ptr());
    assert_eq!(one.chunks(FRAME_BYTES).map(offset).collect::<Vec<_>>(), [11, 12, 13]);
    assert_eq!(
        fixture.stage.hub.metrics().deliveries_total,
        2 + 2 * 3,
        "the deliveries of both states are counted"
    );
}

#[test]
fn publications_during_a_turn_are_delivered_in_the_next_turn() {
    let mut fixture = RunFixture::new(2);
    fixture.publish([11], 100);
    fixture.turn();
    assert_eq!(fixture.pull(0), [[11]]);
    fixture.publish([12], 100);
    assert_eq!(fixture.pull(1), [[11]], "the cached run is shared");
    fixture.turn();
    assert_eq!((fixture.pull(0), fixture.pull(1)), (vec![vec![12]], vec![vec![12]]));
}

#[test]
fn a_run_is_bounded_and_the_rest_follows() {
    let mut fixture = RunFixture::new(2);
    fixture.publish(11..=20, FRAME_BYTES);
    fixture.turn();
    let runs = [vec![11, 12, 13], vec![14, 15, 16], vec![17, 18, 19], vec![20]];
    assert_eq!((fixture.pull(0), fixture.pull(1)), (runs.to_vec(), runs.to_vec()));
    fixture.publish([21], 100_000);
    fixture.turn();
    assert_eq!(fixture.pull(0), [[21]], "a single publication may exceed the limit");
}

#[test]
fn joining_stops_while_too_many_bytes_are_in_use() {
    let mut fixture = RunFixture::new(1);
    let (mut retained_runs, mut joined) = (Vec::new(), 0);
    for first in (11..2_000).step_by(3) {
        fixture.publish(first..first + 3, FRAME_BYTES);
        fixture.turn();
        let RunFixture { sessions, partition, .. } = &mut fixture;
        while let Some(run) =
            sessions[0].next_joined_publications(0, &mut partition.runs, |it| frame(&it))
        {
            joined += usize::from(run.len() > FRAME_BYTES);
            retained_runs.push(run);
        }
    }
    assert!(
        (200..600).contains(&joined),
        "expected 16 MiB plus the growth of the buffer: {joined}"
    );
    retained_runs.clear();
    fixture.publish(2_000..2_003, FRAME_BYTES);
    fixture.turn();
    assert_eq!(fixture.pull(0), [[2_000, 2_001, 2_002]]);
}

#[test]
fn a_state_is_delivered_before_later_publications() {
    let mut fixture = RunFixture::new(1);
    fixture.publish([11], 100);
    fixture.stage.swap(at(12));
    fixture
        .stage
        .hub
        .open_publish_batch()
        .resend_state_without_gap(&fixture.stage.room(1), Some(at(12)));
    fixture.publish([13], 100);
    fixture.turn();
    let RunFixture { sessions, partition, .. } = &mut fixture;
    assert!(
        sessions[0].next_joined_publications(0, &mut partition.runs, |it| frame(&it)).is_none()
    );
    assert!(sessions[0].next_delivery().is_none(), "a worker is reading the state");
    while partition.work() {}
    fixture.turn();
    let state = fixture.sessions[0].next_delivery().expect("the state");
    assert_eq!(state.position(), Some(at(13)));
}
