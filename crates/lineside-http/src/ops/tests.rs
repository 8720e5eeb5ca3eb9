//! Tests that the changes published on the channels match the snapshot.

use std::collections::BTreeMap;

use bytes::Bytes;
use lineside_model::FeedId;
use lineside_sync::UnixMillis;
use serde_json::Value;

use super::dashboard::DashboardSnapshot;
use super::feed_overview::FeedOverview;
use super::node_overview::{FeedStateCounts, NodeOverview, NodeSample};
use super::*;

/// The state of a reader who applies every change.
type ReceivedState = BTreeMap<String, Value>;

fn apply(received_state: &mut ReceivedState, changes: &[Bytes]) {
    for change in changes {
        let change: Value = serde_json::from_slice(change).unwrap();
        let key = format!("{} {} {}", change["feed"], change["kind"], change["id"]);
        match change["op"].as_str() {
            Some("upsert") => _ = received_state.insert(key, change["record"].clone()),
            Some("remove") => {
                assert!(received_state.remove(&key).is_some(), "{key} was not known before")
            }
            other => panic!("{other:?} is not a change"),
        }
    }
}

fn state(upserts: &[Bytes]) -> ReceivedState {
    let mut received_state = ReceivedState::new();
    apply(&mut received_state, upserts);
    received_state
}

/// Returns some feeds, each with a statistic that sometimes changes.
fn feeds(rng: &mut fastrand::Rng) -> Vec<FeedOverview> {
    let ids = (0..8).filter(|_| rng.u8(..4) > 0).collect::<Vec<_>>();
    let feed = |id: usize| FeedOverview {
        subscribers: rng.u64(..2),
        ..FeedOverview::empty_overview(FeedId::new(&format!("feed-{id}")).unwrap())
    };
    ids.into_iter().map(feed).collect()
}

#[test]
fn a_client_that_applies_each_change_has_the_dashboard_state() {
    for seed in 0..50 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (mut feeds_state, mut node_state) = (ReceivedState::new(), ReceivedState::new());
        let mut before = DashboardSnapshot::default();
        let mut at = 1_000_000;
        for _ in 0..400 {
            at += rng.i64(900..12_000);
            let overviews = feeds(&mut rng);
            let node = NodeOverview {
                feeds: FeedStateCounts::from_feeds(&overviews),
                ..NodeOverview::default()
            };
            let sample = NodeSample {
                at: UnixMillis(at),
                connections: rng.u64(..9),
                ..NodeSample::default()
            };
            let board =
                DashboardSnapshot::next_snapshot(&before, UnixMillis(at), overviews, node, sample);
            apply(&mut feeds_state, &board.feed_changes(&before));
            apply(&mut node_state, &board.node_changes(&before));
            assert_eq!(feeds_state, state(&board.feed_upserts()), "seed {seed}");
            assert_eq!(node_state, state(&board.node_upserts()), "seed {seed}");
            before = board;
        }
        assert!(before.recent_samples().count() <= 300, "five minutes, a second apart at most");
    }
}

#[test]
fn unchanged_values_are_not_published() {
    let build_overviews = || feeds(&mut fastrand::Rng::with_seed(1));
    let at = |n: i64| UnixMillis(1_000_000 + n);
    let sample = |n| NodeSample { at: at(n), ..NodeSample::default() };
    let one = DashboardSnapshot::next_snapshot(
        &DashboardSnapshot::default(),
        at(0),
        build_overviews(),
        NodeOverview::default(),
        sample(0),
    );
    let two = DashboardSnapshot::next_snapshot(
        &one,
        at(1),
        build_overviews(),
        NodeOverview::default(),
        sample(1),
    );
    assert_eq!(two.feed_changes(&one).len(), 0);
    assert_eq!(two.node_changes(&one).len(), 1, "only the sample");
}

#[test]
fn only_ops_feeds_and_ops_node_are_channels() {
    let ops = OpsDashboard::default();
    let resolve =
        |name: &str| ops.resolve_channel(&EncodedChannelName::parse_channel_name(name).unwrap());
    assert_ne!(resolve(FEEDS).unwrap(), resolve(NODE).unwrap());
    for name in ["ops/feed", "ops/feeds/city", "feed/city"] {
        assert_eq!(resolve(name), Err(BadChannelName::UnknownForm.into()), "{name}");
    }
}
