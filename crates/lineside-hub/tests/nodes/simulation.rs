//! Runs the storm over many seeds. `LINESIDE_SIM_SEEDS` sets their number, `LINESIDE_SIM_SEED` selects one.

use lineside_hub::HubMetrics;
use lineside_hub::bus::ClusterNodeMetrics;

use crate::storm::{InjectedFault, Storm};
use crate::support::{check_mistakes, check_seeds, check_traces};

const SEEDS: u64 = 500;
/// The number of seeds within which each injected fault must be found.
const SEEDS_PER_FAULT: u64 = 300;

#[test]
fn all_nodes_and_their_readers_converge() {
    check_seeds("nodes", SEEDS, |seed| Storm::run(seed, InjectedFault::None));
}

#[test]
fn equal_seeds_give_equal_traces() {
    check_traces(10, |seed| Storm::run(seed, InjectedFault::None));
}

#[test]
fn the_simulation_covers_rare_events() {
    let runs: Vec<_> =
        (0..60).filter_map(|seed| Storm::run(seed, InjectedFault::None).ok()).collect();
    let sum = |what: &str, times: u64| assert!(times > 0, "{what}: this did not happen in any run");
    let nodes = |count: fn(&ClusterNodeMetrics) -> u64| -> u64 {
        runs.iter().flat_map(|run| &run.nodes).map(count).sum()
    };
    let hubs = |count: fn(&HubMetrics) -> u64| -> u64 {
        runs.iter().flat_map(|run| &run.hubs).map(count).sum()
    };
    sum("a publication of another node", nodes(|it| it.applied_total));
    sum("a repetition", nodes(|it| it.repeated_total));
    sum("a message of an old term", nodes(|it| it.refused_total));
    sum(
        "an answer without a state",
        nodes(|it| it.answers_total.saturating_sub(it.states_sent_total)),
    );
    sum("a state", nodes(|it| it.states_received_total));
    sum("the end of an ownership", nodes(|it| it.ownerships_lost_total));
    sum("a resume at another node", runs.iter().map(|run| run.resumed_elsewhere).sum());
    sum("a gap on resume", hubs(|it| it.gaps_resume_total));
    sum("a gap for a new epoch", hubs(|it| it.gaps_epoch_total));
    sum("a gap within an epoch", hubs(|it| it.gaps_slow_total));
}

#[test]
fn the_simulation_detects_every_deliberate_mistake() {
    let injected_faults = [
        InjectedFault::LowerTermAccepted,
        InjectedFault::GapNotNoticed,
        InjectedFault::PartsNotCounted,
        InjectedFault::HeartbeatOff,
        InjectedFault::OutdatedNotSent,
        InjectedFault::EpochNotDrawn,
        InjectedFault::JumpNotMarked,
        InjectedFault::ForgottenEarly,
    ];
    check_mistakes(&injected_faults, SEEDS_PER_FAULT, Storm::run);
}
