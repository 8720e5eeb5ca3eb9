//! All networks at one moment, as answers are made from them.

use std::sync::Arc;
use std::time::Duration;

use lineside_formats::siri::Time;
use lineside_hub::Epoch;
use lineside_ingest::NetworkState;
use lineside_ingest::limits::BOARD_TICK;
use lineside_sync::UnixMillis;

use super::super::found::network_fresh_for;
use crate::app::App;

/// A network and its present.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) epoch: Epoch,
    pub(super) state: Arc<NetworkState>,
    /// The present of its data.
    pub(super) now: UnixMillis,
}

/// The networks.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub(super) networks: Vec<Seen>,
    /// When the answer is made.
    pub(super) at: UnixMillis,
    pub(super) started: UnixMillis,
    /// How long nothing new can be known.
    pub(super) fresh_for: Duration,
}

impl Scene {
    /// The networks as they are. Moments go in steps, so that all who ask within one are given the same.
    pub(super) fn of(app: &App) -> Self {
        let networks = app.ingest().networks();
        let fresh_for = networks.iter().map(|network| network_fresh_for(app, network)).min();
        let networks: Vec<Seen> = networks
            .iter()
            .map(|network| Seen {
                epoch: network.epoch(),
                state: network.state(),
                now: step_of(network.now()),
            })
            .collect();
        // Nothing is answered before what it is made of was known.
        let newest = networks.iter().map(|seen| seen.state.at).max();
        let at = newest.map_or(step_of(app.now()), |newest| newest.max(step_of(app.now())));
        let fresh_for = fresh_for.unwrap_or_default().min(BOARD_TICK);
        Self { networks, at, started: app.started(), fresh_for }
    }

    pub(super) fn states(&self) -> impl Iterator<Item = &NetworkState> + Clone {
        self.networks.iter().map(|seen| &*seen.state)
    }

    /// What answers are made of: two scenes with the same are answered the same.
    pub(super) fn key(&self) -> (UnixMillis, Vec<(Epoch, u64, UnixMillis)>) {
        let networks = self.networks.iter();
        let networks = networks.map(|seen| (seen.epoch, seen.state.revision, seen.now));
        (self.at, networks.collect())
    }

    /// Where each network is.
    pub(super) fn revisions(&self) -> Vec<(Epoch, u64)> {
        self.networks.iter().map(|seen| (seen.epoch, seen.state.revision)).collect()
    }

    /// When the answer is made, as SIRI writes it.
    pub(super) fn time(&self) -> Option<Time> {
        Time::from_millis(self.at.0)
    }
}

fn step_of(now: UnixMillis) -> UnixMillis {
    let step = i64::try_from(BOARD_TICK.as_millis()).unwrap_or(1).max(1);
    UnixMillis(now.0.div_euclid(step) * step)
}
