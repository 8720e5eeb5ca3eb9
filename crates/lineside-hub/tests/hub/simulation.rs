//! Runs the storm over many seeds. `LINESIDE_SIM_SEEDS` sets their number, `LINESIDE_SIM_SEED` selects one.

use lineside_hub::HubMetrics;

use crate::storm::Storm;
use crate::support::{check_mistakes, check_seeds, check_traces};
use crate::world::InjectedFault;

const SEEDS: u64 = 1_000;
/// The number of seeds within which each injected fault must be found.
const SEEDS_PER_FAULT: u64 = 400;

#[test]
fn a_subscriber_converges_to_the_data_of_the_network() {
    check_seeds("hub", SEEDS, |seed| Storm::run(seed, InjectedFault::None));
}

#[test]
fn equal_seeds_give_equal_traces() {
    check_traces(20, |seed| Storm::run(seed, InjectedFault::None));
}

#[test]
fn the_simulation_covers_rare_events() {
    let runs: Vec<_> =
        (0..200).filter_map(|seed| Storm::run(seed, InjectedFault::None).ok()).collect();
    let happened = |what: &str, count: fn(&HubMetrics) -> u64| {
        let times: u64 = runs.iter().map(|run| count(&run.metrics)).sum();
        assert!(times > 0, "{what}: this did not happen in any run");
    };
    happened("a resume", |it| it.resumed_total);
    happened("a gap on resume", |it| it.gaps_resume_total);
    happened("a gap for a slow reader", |it| it.gaps_slow_total);
    happened("a gap for a new epoch", |it| it.gaps_epoch_total);
    happened("a session ended as slow", |it| it.ended_slow_total);
    happened("a shrunk ring", |it| it.evicted_total);
}

#[test]
fn the_simulation_detects_every_deliberate_mistake() {
    let injected_faults = [
        InjectedFault::StateBeforeRoom,
        InjectedFault::AppendBeforeSwap,
        InjectedFault::EpochNotCompared,
        InjectedFault::NewestListed,
        InjectedFault::JumpNotMarked,
        InjectedFault::MoveNotPublished,
    ];
    check_mistakes(&injected_faults, SEEDS_PER_FAULT, Storm::run);
}
