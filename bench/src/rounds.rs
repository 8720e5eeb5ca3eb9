//! Rounds: each contender runs once per round, alternately, so that a machine that slows down slows all of them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The amount of measuring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Effort {
    /// Rounds of each contender.
    pub(crate) rounds: usize,
    /// True for small inputs, which only test that everything runs: no goals apply.
    pub(crate) is_quick: bool,
}

impl Effort {
    /// One round of small inputs.
    pub(crate) const QUICK: Effort = Effort { rounds: 1, is_quick: true };
    /// Enough rounds for reliable results, within twenty minutes.
    pub(crate) const USUAL: Effort = Effort::of(5);
    /// More rounds.
    pub(crate) const LONG: Effort = Effort::of(15);

    /// Returns this number of rounds of full inputs.
    pub(crate) const fn of(rounds: usize) -> Effort {
        Effort { rounds, is_quick: false }
    }

    /// Returns `full`, or `small` for a quick run.
    pub(crate) fn size(self, small: usize, full: usize) -> usize {
        if self.is_quick { small } else { full }
    }
}

/// Returns the median of `samples`; of an even number the lower middle one.
pub(crate) fn median(samples: impl IntoIterator<Item = f64>) -> f64 {
    let mut samples: Vec<f64> = samples.into_iter().collect();
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN)
}

/// Measured values by name, one per round.
#[derive(Default)]
pub(crate) struct Samples(BTreeMap<String, Vec<f64>>);

impl Samples {
    pub(crate) fn add(&mut self, name: impl Into<String>, value: f64) {
        self.0.entry(name.into()).or_default().push(value);
    }

    /// Returns the median of all rounds; NaN if nothing was measured.
    pub(crate) fn median(&self, name: &str) -> f64 {
        median(self.0.get(name).into_iter().flatten().copied())
    }

    pub(crate) fn most(&self, name: &str) -> f64 {
        self.0.get(name).into_iter().flatten().copied().fold(f64::NAN, f64::max)
    }

    pub(crate) fn sum(&self, name: &str) -> f64 {
        self.0.get(name).into_iter().flatten().sum()
    }
}

/// Returns the duration of `work`, and its result.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed(), result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_one_in_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.0);
        assert!(median([]).is_nan());
    }
}
