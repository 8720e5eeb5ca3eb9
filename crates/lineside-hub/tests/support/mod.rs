//! Shared parts of the simulations: seeds, trace, and a subscriber's signals and ways to resume.

use std::collections::VecDeque;
use std::env;
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicBool, Ordering};

use lineside_hub::NewsListener;

/// The number of events shown for a failed run.
const TRACE_LINES: usize = 40;

/// A description of a broken guarantee.
pub(crate) type Violation = String;

/// Runs the seeds that the environment asks for, or the first `usual` ones; none may break a guarantee.
///
/// # Panics
/// Panics with the violation, and the command to run the seed again in the tests called `binary`.
pub(crate) fn check_seeds<R>(binary: &str, usual: u64, run: impl Fn(u64) -> Result<R, Violation>) {
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match number("LINESIDE_SIM_SEED") {
        Some(seed) => seed..seed.saturating_add(1),
        None => 0..number("LINESIDE_SIM_SEEDS").unwrap_or(usual),
    };
    for seed in seeds {
        if let Err(violation) = run(seed) {
            panic!(
                "{violation}\nto reproduce: LINESIDE_SIM_SEED={seed} cargo test -p lineside-hub \
                --test {binary} simulation"
            );
        }
    }
}

/// Checks that a run depends only on its seed.
pub(crate) fn check_traces<R: Debug + PartialEq>(
    seeds: u64,
    run: impl Fn(u64) -> Result<R, Violation>,
) {
    for seed in 0..seeds {
        assert_eq!(run(seed), run(seed), "seed {seed}");
    }
    assert_ne!(run(1), run(2));
}

/// Checks that a storm with an injected fault breaks a guarantee within the first `seeds`.
pub(crate) fn check_mistakes<M: Copy + Debug, R>(
    injected_faults: &[M],
    seeds: u64,
    run: impl Fn(u64, M) -> Result<R, Violation>,
) {
    for &injected_fault in injected_faults {
        let found = (0..seeds).any(|seed| run(seed, injected_fault).is_err());
        assert!(found, "injected fault {injected_fault:?} was not detected");
    }
}

/// The way in which a subscriber resumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resumes {
    /// From the position of each channel, as over WebSocket.
    ByChannel,
    /// From one position for all channels of a network, as over SSE.
    BySequence,
}

impl Resumes {
    pub(crate) fn any(rng: &mut fastrand::Rng) -> Self {
        if rng.bool() { Self::ByChannel } else { Self::BySequence }
    }
}

/// Returns up to `max` of the channels, at random.
pub(crate) fn some_channels(
    rng: &mut fastrand::Rng,
    mut channels: Vec<String>,
    max: usize,
) -> impl Iterator<Item = String> {
    rng.shuffle(&mut channels);
    let n = rng.usize(1..=max);
    channels.into_iter().take(n)
}

/// A listener that remembers a signal.
#[derive(Debug, Default)]
pub(crate) struct Signaled(AtomicBool);

impl Signaled {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    pub(crate) fn clear(&self) {
        self.0.store(false, Ordering::Release);
    }
}

impl NewsListener for Signaled {
    fn signal_news(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// The events of a run: the last ones as text, all of them as a digest.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    last: VecDeque<String>,
    digest: DefaultHasher,
}

impl Trace {
    pub(crate) fn note(&mut self, line: String) {
        line.hash(&mut self.digest);
        if self.last.len() == TRACE_LINES {
            self.last.pop_front();
        }
        self.last.push_back(line);
    }

    pub(crate) fn digest(&self) -> u64 {
        self.digest.finish()
    }

    /// Returns the violation, with the events before it.
    pub(crate) fn explain(self, violation: Violation) -> Violation {
        let last: Vec<String> = self.last.into();
        format!("{violation}\nafter\n  {}", last.join("\n  "))
    }
}
