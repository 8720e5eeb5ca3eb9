//! The storm over many seeds. `LINESIDE_SIM_SEEDS` runs more of them, `LINESIDE_SIM_SEED` just one.

use std::env;

use lineside_hub::Metrics;

use crate::storm::Storm;
use crate::world::Mistake;

const SEEDS: u64 = 1_000;
/// Seeds within which each deliberate mistake must be found.
const SEEDS_PER_MISTAKE: u64 = 400;

fn seeds() -> std::ops::Range<u64> {
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match number("LINESIDE_SIM_SEED") {
        Some(seed) => seed..seed.saturating_add(1),
        None => 0..number("LINESIDE_SIM_SEEDS").unwrap_or(SEEDS),
    }
}

#[test]
fn a_subscriber_that_applies_state_and_changes_holds_what_the_network_holds() {
    for seed in seeds() {
        if let Err(violation) = Storm::run(seed, Mistake::None) {
            panic!(
                "{violation}\nrun again: LINESIDE_SIM_SEED={seed} cargo test -p lineside-hub --test hub simulation"
            );
        }
    }
}

#[test]
fn the_same_seed_twice_gives_the_same_trace() {
    for seed in 0..20 {
        assert_eq!(Storm::run(seed, Mistake::None), Storm::run(seed, Mistake::None), "seed {seed}");
    }
    assert_ne!(Storm::run(1, Mistake::None), Storm::run(2, Mistake::None));
}

#[test]
fn the_storm_reaches_what_is_rare() {
    let runs: Vec<_> = (0..200).filter_map(|seed| Storm::run(seed, Mistake::None).ok()).collect();
    let happened = |what: &str, count: fn(&Metrics) -> u64| {
        let times: u64 = runs.iter().map(|run| count(&run.metrics)).sum();
        assert!(times > 0, "{what} did not happen");
    };
    happened("a resume", |it| it.resumed_total);
    happened("a gap on resume", |it| it.gaps_resume_total);
    happened("a gap of a slow reader", |it| it.gaps_slow_total);
    happened("a gap of a new life", |it| it.gaps_epoch_total);
    happened("an end for slowness", |it| it.ended_slow_total);
    happened("a shrunk ring", |it| it.shrunk_total);
}

#[test]
fn every_deliberate_mistake_is_found() {
    let mistakes = [
        Mistake::StateBeforeRoom,
        Mistake::AppendBeforeSwap,
        Mistake::EpochNotCompared,
        Mistake::NewestListed,
        Mistake::JumpNotMarked,
        Mistake::MoveNotTold,
    ];
    for mistake in mistakes {
        let found = (0..SEEDS_PER_MISTAKE).any(|seed| Storm::run(seed, mistake).is_err());
        assert!(found, "{mistake:?} went unnoticed");
    }
}
