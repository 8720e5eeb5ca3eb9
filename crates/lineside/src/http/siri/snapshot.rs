//! All networks at one moment, as answers are made from them.

use std::sync::Arc;
use std::time::Duration;

use lineside_formats::siri::SiriTime;
use lineside_hub::Epoch;
use lineside_ingest::NetworkState;
use lineside_ingest::limits::BOARD_TICK;
use lineside_sync::UnixMillis;

use super::super::lookup::network_fresh_for;
use crate::app::App;

/// A network and its present.
#[derive(Clone, Debug)]
pub(super) struct NetworkSnapshot {
    pub(super) epoch: Epoch,
    pub(super) state: Arc<NetworkState>,
    /// The present of its data.
    pub(super) now: UnixMillis,
}

/// The networks.
#[derive(Clone, Debug)]
pub(super) struct SiriSnapshot {
    pub(super) networks: Vec<NetworkSnapshot>,
    /// When the answer is made.
    pub(super) at: UnixMillis,
    pub(super) started: UnixMillis,
    /// How long nothing new can be known.
    pub(super) fresh_for: Duration,
}

impl SiriSnapshot {
    /// The networks as they are. Moments go in steps, so that all who ask within one are given the same.
    pub(super) fn capture_networks(app: &App) -> Self {
        let networks = app.ingest().networks();
        let fresh_for = networks.iter().map(|network| network_fresh_for(app, network)).min();
        let networks: Vec<NetworkSnapshot> = networks
            .iter()
            .map(|network| NetworkSnapshot {
                epoch: network.epoch(),
                state: network.state(),
                now: round_to_step(network.data_now()),
            })
            .collect();
        // Nothing is answered before what it is made of was known.
        let newest = networks.iter().map(|seen| seen.state.at).max();
        let at =
            newest.map_or(round_to_step(app.now()), |newest| newest.max(round_to_step(app.now())));
        let fresh_for = fresh_for.unwrap_or_default().min(BOARD_TICK);
        Self { networks, at, started: app.started_at(), fresh_for }
    }

    pub(super) fn network_states(&self) -> impl Iterator<Item = &NetworkState> + Clone {
        self.networks.iter().map(|seen| &*seen.state)
    }

    /// What answers are made of: two scenes with the same are answered the same.
    pub(super) fn state_key(&self) -> (UnixMillis, Vec<(Epoch, u64, UnixMillis)>) {
        let networks = self.networks.iter();
        let networks = networks.map(|seen| (seen.epoch, seen.state.revision, seen.now));
        (self.at, networks.collect())
    }

    /// Where each network is.
    pub(super) fn revisions(&self) -> Vec<(Epoch, u64)> {
        self.networks.iter().map(|seen| (seen.epoch, seen.state.revision)).collect()
    }

    /// When the answer is made, as SIRI writes it.
    pub(super) fn response_time(&self) -> Option<SiriTime> {
        SiriTime::from_millis(self.at.0)
    }
}

fn round_to_step(now: UnixMillis) -> UnixMillis {
    let step = i64::try_from(BOARD_TICK.as_millis()).unwrap_or(1).max(1);
    UnixMillis(now.0.div_euclid(step) * step)
}
