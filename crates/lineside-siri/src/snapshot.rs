//! All networks at one moment, the input of replies.

use std::sync::Arc;
use std::time::Duration;

use lineside_formats::siri::SiriTime;
use lineside_http::lookup::time_until_network_poll;
use lineside_hub::Epoch;
use lineside_ingest::limits::BOARD_TICK;
use lineside_model::NetworkState;
use lineside_sync::UnixMillis;

use crate::SiriService;

/// A network's state and its current time.
#[derive(Clone, Debug)]
pub(super) struct NetworkSnapshot {
    pub(super) epoch: Epoch,
    pub(super) state: Arc<NetworkState>,
    /// Current time of the network's data, which differs from the server's for replays.
    pub(super) now: UnixMillis,
}

/// A snapshot of all networks.
#[derive(Clone, Debug)]
pub(super) struct SiriSnapshot {
    pub(super) networks: Vec<NetworkSnapshot>,
    /// Time of the reply.
    pub(super) at: UnixMillis,
    pub(super) started: UnixMillis,
    /// Time for which no change is expected.
    pub(super) fresh_for: Duration,
}

impl SiriSnapshot {
    /// Captures all networks. Times are rounded to steps, so that all requests within a step get the same reply.
    pub(super) fn capture_networks(siri: &SiriService) -> Self {
        let networks = siri.ingest().networks();
        let fresh_for = networks.iter().map(|network| time_until_network_poll(siri, network)).min();
        let networks: Vec<NetworkSnapshot> = networks
            .iter()
            .map(|network| NetworkSnapshot {
                epoch: network.epoch(),
                state: network.state(),
                now: round_time_to_step(network.data_time_now()),
            })
            .collect();
        // A reply is not older than the data in it.
        let newest = networks.iter().map(|seen| seen.state.at).max();
        let at = newest.map_or(round_time_to_step(siri.now()), |newest| {
            newest.max(round_time_to_step(siri.now()))
        });
        let fresh_for = fresh_for.unwrap_or_default().min(BOARD_TICK);
        Self { networks, at, started: siri.started_at(), fresh_for }
    }

    pub(super) fn network_states(&self) -> impl Iterator<Item = &NetworkState> + Clone {
        self.networks.iter().map(|seen| &*seen.state)
    }

    /// Returns the key of this state: snapshots with the same key have the same replies.
    pub(super) fn reply_cache_key(&self) -> (UnixMillis, Vec<(Epoch, u64, UnixMillis)>) {
        let networks = self.networks.iter();
        let networks = networks.map(|seen| (seen.epoch, seen.state.revision, seen.now));
        (self.at, networks.collect())
    }

    pub(super) fn network_revisions(&self) -> Vec<(Epoch, u64)> {
        self.networks.iter().map(|seen| (seen.epoch, seen.state.revision)).collect()
    }

    /// Returns the time of the reply as a SIRI time.
    pub(super) fn response_time(&self) -> Option<SiriTime> {
        SiriTime::from_millis(self.at.0)
    }
}

fn round_time_to_step(now: UnixMillis) -> UnixMillis {
    let step = i64::try_from(BOARD_TICK.as_millis()).unwrap_or(1).max(1);
    UnixMillis(now.0.div_euclid(step) * step)
}
