//! A seeded storm on an operator's channels, through the public interface: presence, joins and leaves, and every
//! limit.

#[expect(dead_code, reason = "the other simulations use the network helpers")]
#[path = "../support/mod.rs"]
mod support;
mod reader;
mod storm;

use lineside_hub::HubMetrics;

use crate::storm::{InjectedFault, Storm};
use crate::support::{check_mistakes, check_seeds, check_traces};

const SEEDS: u64 = 600;
/// The number of seeds within which each injected fault must be found.
const SEEDS_PER_FAULT: u64 = 40;

mod simulation {
    use super::*;

    #[test]
    fn presence_is_counted_and_sent_within_the_limits() {
        check_seeds("members", SEEDS, |seed| Storm::run(seed, InjectedFault::None));
    }

    #[test]
    fn equal_seeds_give_equal_traces() {
        check_traces(20, |seed| Storm::run(seed, InjectedFault::None));
    }

    #[test]
    fn the_simulation_covers_rare_events() {
        let runs: Vec<_> =
            (0..100).filter_map(|seed| Storm::run(seed, InjectedFault::None).ok()).collect();
        assert_eq!(runs.len(), 100);
        let counted = |what: &str, count: fn(&HubMetrics) -> u64| {
            assert!(
                runs.iter().any(|run| count(&run.metrics) > 0),
                "{what}: this did not happen in any run"
            );
        };
        counted("a presence beyond the limit", |it| it.refused_presence_total);
        counted("a resume", |it| it.resumed_total);
        counted("a shrunk log", |it| it.evicted_total);
        let happened = |what: &str| {
            assert!(
                runs.iter().any(|run| run.happened.contains(what)),
                "{what}: this did not happen in any run"
            );
        };
        for what in ["lost", "too many channels", "too many rooms", "neither", "new life"] {
            happened(what);
        }
    }

    #[test]
    fn the_simulation_detects_every_deliberate_mistake() {
        let injected_faults = [
            InjectedFault::LeaveForgotten,
            InjectedFault::UserCountedTwice,
            InjectedFault::JoinDropped,
            InjectedFault::PublicationDropped,
            InjectedFault::OneChannelMore,
        ];
        check_mistakes(&injected_faults, SEEDS_PER_FAULT, Storm::run);
    }
}
