//! The storm over many seeds. `LINESIDE_SIM_SEEDS` runs more of them, `LINESIDE_SIM_SEED` just one.

use std::env;

use lineside_hub::Metrics;
use lineside_hub::bus::NodeMetrics;

use crate::storm::{Mistake, Storm};

const SEEDS: u64 = 500;
/// Seeds within which each deliberate mistake must be found.
const SEEDS_PER_MISTAKE: u64 = 300;

fn seeds() -> std::ops::Range<u64> {
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match number("LINESIDE_SIM_SEED") {
        Some(seed) => seed..seed.saturating_add(1),
        None => 0..number("LINESIDE_SIM_SEEDS").unwrap_or(SEEDS),
    }
}

#[test]
fn all_nodes_hold_the_same_and_so_do_their_readers_wherever_they_go() {
    for seed in seeds() {
        if let Err(violation) = Storm::run(seed, Mistake::None) {
            panic!(
                "{violation}\nrun again: LINESIDE_SIM_SEED={seed} cargo test -p lineside-hub --test nodes simulation"
            );
        }
    }
}

#[test]
fn the_same_seed_twice_gives_the_same_trace() {
    for seed in 0..10 {
        assert_eq!(Storm::run(seed, Mistake::None), Storm::run(seed, Mistake::None), "seed {seed}");
    }
    assert_ne!(Storm::run(1, Mistake::None), Storm::run(2, Mistake::None));
}

#[test]
fn the_storm_reaches_what_is_rare() {
    let runs: Vec<_> = (0..60).filter_map(|seed| Storm::run(seed, Mistake::None).ok()).collect();
    let sum = |what: &str, times: u64| assert!(times > 0, "{what} did not happen");
    let nodes = |count: fn(&NodeMetrics) -> u64| -> u64 {
        runs.iter().flat_map(|run| &run.nodes).map(count).sum()
    };
    let hubs = |count: fn(&Metrics) -> u64| -> u64 {
        runs.iter().flat_map(|run| &run.hubs).map(count).sum()
    };
    sum("a publication of another node", nodes(|it| it.applied_total));
    sum("a repetition", nodes(|it| it.repeated_total));
    sum("a term that was over", nodes(|it| it.refused_total));
    sum(
        "an answer without a state",
        nodes(|it| it.answers_total.saturating_sub(it.states_sent_total)),
    );
    sum("a state", nodes(|it| it.states_taken_total));
    sum("the end of an ownership", nodes(|it| it.deposed_total));
    sum("a resume at another node", runs.iter().map(|run| run.resumed_elsewhere).sum());
    sum("a gap on resume", hubs(|it| it.gaps_resume_total));
    sum("a gap of a new life", hubs(|it| it.gaps_epoch_total));
    sum("a gap within a life", hubs(|it| it.gaps_slow_total));
}

#[test]
fn every_deliberate_mistake_is_found() {
    let mistakes = [
        Mistake::LowerTermAccepted,
        Mistake::GapNotNoticed,
        Mistake::PartsNotCounted,
        Mistake::HeartbeatOff,
        Mistake::OutdatedNotTold,
        Mistake::EpochNotDrawn,
        Mistake::JumpNotMarked,
        Mistake::ForgottenEarly,
    ];
    for mistake in mistakes {
        let found = (0..SEEDS_PER_MISTAKE).any(|seed| Storm::run(seed, mistake).is_err());
        assert!(found, "{mistake:?} went unnoticed");
    }
}
