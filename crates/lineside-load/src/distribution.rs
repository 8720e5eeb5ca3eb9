//! A distribution of values as plain data, which processes exchange.

use lineside_sync::histogram::{BITS, HistogramSnapshot};
use serde::{Deserialize, Serialize};

/// The non-empty buckets of a histogram, with the exact minimum and maximum.
///
/// A quantile is at most 1/32 above the true one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueDistribution {
    /// The upper bound of each bucket and its count, ascending; at most the buckets of a histogram.
    buckets: Vec<(u64, u64)>,
    min: u64,
    max: u64,
}

/// Returns the upper bounds of the buckets of a histogram: every value below 2^(BITS + 1), then 2^BITS per power of
/// two.
pub(crate) fn histogram_bucket_upper_bounds() -> Vec<u64> {
    let exact = 0..1_u64 << (BITS + 1);
    let powers = 1..=63 - BITS;
    let wide = powers.flat_map(|shift| {
        (1_u64 << BITS..1 << (BITS + 1)).map(move |top| (top << shift) | ((1 << shift) - 1))
    });
    exact.chain(wide).collect()
}

impl ValueDistribution {
    /// Converts a snapshot of a histogram. `bounds` are [`histogram_bucket_upper_bounds`], which callers compute once.
    pub(crate) fn from_snapshot(snapshot: &HistogramSnapshot, bounds: &[u64]) -> Self {
        let (Some(min), Some(max)) = (snapshot.min(), snapshot.max()) else {
            return Self::default();
        };
        let mut below = 0;
        let counts = snapshot.cumulative_counts(bounds).into_iter().map(|count| {
            let within = count - below;
            below = count;
            within
        });
        let buckets = bounds.iter().copied().zip(counts).filter(|(_, count)| *count > 0).collect();
        Self { buckets, min, max }
    }

    /// Creates the distribution of a few values.
    pub(crate) fn from_values(values: impl IntoIterator<Item = u64>) -> Self {
        let mut values: Vec<u64> = values.into_iter().collect();
        values.sort_unstable();
        let (Some(&min), Some(&max)) = (values.first(), values.last()) else {
            return Self::default();
        };
        let buckets = values.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u64));
        Self { buckets: buckets.collect(), min, max }
    }

    /// Returns the number of values.
    #[must_use]
    pub fn value_count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }

    /// Returns the exact minimum.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        (!self.buckets.is_empty()).then_some(self.min)
    }

    /// Returns the exact maximum.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        (!self.buckets.is_empty()).then_some(self.max)
    }

    /// Returns the smallest value that the share `q` of all values does not exceed.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let count = self.value_count();
        let rank = ((q * count as f64).ceil() as u64).clamp(1, count.max(1));
        let mut seen = 0;
        let found = self.buckets.iter().find(|(_, within)| {
            seen += within;
            seen >= rank
        });
        found.map(|(greatest, _)| (*greatest).clamp(self.min, self.max))
    }

    /// Adds all values of another distribution.
    pub(crate) fn merge_values(&mut self, other: &Self) {
        if other.buckets.is_empty() {
            return;
        }
        if self.buckets.is_empty() {
            self.clone_from(other);
            return;
        }
        self.buckets.extend(&other.buckets);
        self.buckets.sort_unstable();
        self.buckets.dedup_by(|later, first| {
            let same = later.0 == first.0;
            if same {
                first.1 += later.1;
            }
            same
        });
        (self.min, self.max) = (self.min.min(other.min), self.max.max(other.max));
    }
}

#[cfg(test)]
mod tests {
    use lineside_sync::histogram::Histogram;

    use super::*;

    fn recorded(values: impl IntoIterator<Item = u64>) -> ValueDistribution {
        let histogram = Histogram::new();
        values.into_iter().for_each(|value| histogram.record(value));
        ValueDistribution::from_snapshot(&histogram.snapshot(), &histogram_bucket_upper_bounds())
    }

    #[test]
    fn a_distribution_has_the_quantiles_of_its_histogram() {
        let histogram = Histogram::new();
        (1..=100_000).for_each(|n| histogram.record(n * n));
        let snapshot = histogram.snapshot();
        let distribution =
            ValueDistribution::from_snapshot(&snapshot, &histogram_bucket_upper_bounds());
        assert_eq!(distribution.value_count(), 100_000);
        assert_eq!((distribution.min(), distribution.max()), (snapshot.min(), snapshot.max()));
        for q in [0.0, 0.001, 0.5, 0.99, 0.999, 1.0] {
            assert_eq!(distribution.quantile(q), snapshot.quantile(q), "{q}");
        }
    }

    #[test]
    fn every_value_has_its_bucket() {
        let extremes = recorded([0, 63, 64, u64::MAX]);
        assert_eq!((extremes.value_count(), extremes.max()), (4, Some(u64::MAX)));
        assert_eq!(histogram_bucket_upper_bounds().last(), Some(&u64::MAX));
        assert!(histogram_bucket_upper_bounds().is_sorted());
    }

    #[test]
    fn merging_parts_yields_the_whole() {
        let mut merged = ValueDistribution::default();
        merged.merge_values(&recorded((0..5_000).map(|n| n * 977)));
        merged.merge_values(&ValueDistribution::default());
        merged.merge_values(&recorded((5_000..9_000).map(|n| n * 977)));
        assert_eq!(merged, recorded((0..9_000).map(|n| n * 977)));
    }

    #[test]
    fn an_empty_distribution_has_no_quantiles() {
        let nothing = ValueDistribution::default();
        assert_eq!((nothing.value_count(), nothing.min(), nothing.quantile(0.5)), (0, None, None));
        let few = ValueDistribution::from_values([7, 3, 7]);
        assert_eq!(
            (few.value_count(), few.min(), few.quantile(0.5), few.max()),
            (3, Some(3), Some(7), Some(7))
        );
    }
}
