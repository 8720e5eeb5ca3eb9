//! Tests that a connection can be cut anywhere, and that reconnecting with the last id loses nothing.

use std::time::Duration;

use proptest::prelude::*;

use crate::browser::Browser;
use crate::network::Network;

#[derive(Clone, Debug)]
enum Act {
    Change(u64, u64),
    /// Pieces are parts of events, so a cut may split one.
    Read(u8),
    Cut,
    Dataset,
    NewEpoch,
    Sweep(u64),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        8 => (0..20u64, 0..100u64).prop_map(|(vehicle, what)| Act::Change(vehicle, what)),
        8 => (1..8u8).prop_map(Act::Read),
        4 => Just(Act::Cut),
        1 => Just(Act::Dataset),
        1 => Just(Act::NewEpoch),
        1 => (0..8u64).prop_map(Act::Sweep),
    ]
}

const CHANNELS: [&[&str]; 4] = [
    &["feed/city"],
    &["feed/city", "route/city/0"],
    &["route/city/0", "route/city/1", "area/0"],
    &["area/0", "area/1", "feed/city", "route/city/0", "route/city/1", "route/city/2"],
];

fn act_out(network: &Network, browsers: &mut [Browser], act: &Act, n: usize) {
    match *act {
        Act::Change(vehicle, what) => network.change(vehicle, what),
        Act::Read(pieces) => {
            for _ in 0..pieces {
                browsers[n].read_piece(network);
            }
        }
        Act::Cut => browsers[n].cut(),
        Act::Dataset => network.restate(false),
        Act::NewEpoch => network.restate(true),
        Act::Sweep(seconds) => {
            network.clock.advance_time(Duration::from_secs(seconds));
            network.hub.trim_and_close_idle_rooms();
        }
    }
}

proptest! {
    #[test]
    fn a_page_converges_after_any_connection_loss(
        acts in proptest::collection::vec((act(), 0..CHANNELS.len()), 1..120),
        ring_publications in 1..8usize,
    ) {
        let network = Network::new(ring_publications);
        let mut browsers = CHANNELS.map(Browser::new);
        for (act, n) in &acts {
            act_out(&network, &mut browsers, act, *n);
        }
        for browser in &mut browsers {
            browser.check_converged(&network);
        }
    }

    /// With a ring that holds everything, a cut never costs more than a repetition.
    #[test]
    fn a_connection_loss_alone_causes_no_gap(
        acts in proptest::collection::vec((act(), 0..CHANNELS.len()), 1..120),
    ) {
        let network = Network::new(10_000);
        let mut browsers = CHANNELS.map(Browser::new);
        // A client that reads everything keeps all rooms alive from the start.
        let mut keeper = Browser::new(CHANNELS[3]);
        keeper.check_converged(&network);
        for (act, n) in &acts {
            if !matches!(act, Act::NewEpoch | Act::Dataset) {
                act_out(&network, &mut browsers, act, *n);
            }
        }
        for browser in &mut browsers {
            browser.check_converged(&network);
            prop_assert_eq!(browser.gaps, 0);
        }
        keeper.check_converged(&network);
    }
}
