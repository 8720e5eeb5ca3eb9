//! Snapshots of a histogram: quantiles, cumulative buckets, merging.

use std::fmt::{self, Debug, Formatter};

use super::{BITS, GREATEST, HEAD, LEAST_INVERTED, SUM, buckets};

/// The values that a [`Histogram`](super::Histogram) had recorded at one moment.
///
/// Plain data: it can be stored, sent, and merged with those of other histograms of the same precision.
#[derive(Clone, PartialEq, Eq)]
pub struct HistogramSnapshot<const PRECISION: u32 = BITS> {
    /// Laid out like the histogram's cells: greatest, least inverted, sum, buckets.
    cells: Box<[u64]>,
}

impl<const PRECISION: u32> HistogramSnapshot<PRECISION> {
    pub(super) fn from_cells(cells: Box<[u64]>) -> Self {
        Self { cells }
    }

    pub(super) fn bucket_cells(&self) -> &[u64] {
        &self.cells[HEAD..]
    }

    /// Returns the number of values.
    pub fn value_count(&self) -> u64 {
        self.bucket_cells().iter().sum()
    }

    /// Returns the sum of the values; wraps, which takes 584 years of nanoseconds.
    pub fn sum(&self) -> u64 {
        self.cells[SUM]
    }

    /// Returns the exact least value; `None` if there are no values.
    pub fn min(&self) -> Option<u64> {
        (self.value_count() > 0).then_some(!self.cells[LEAST_INVERTED])
    }

    /// Returns the exact greatest value; `None` if there are no values.
    pub fn max(&self) -> Option<u64> {
        (self.value_count() > 0).then_some(self.cells[GREATEST])
    }

    /// Returns the mean of the values; `None` if there are no values.
    pub fn mean(&self) -> Option<f64> {
        let count = self.value_count();
        (count > 0).then(|| self.sum() as f64 / count as f64)
    }

    /// Returns the `q` quantile: the least value that at least the share `q` of all values does not exceed; `None` if
    /// there are no values.
    ///
    /// The result is never below the true quantile, at most 2<sup>-PRECISION</sup> of it above, and within
    /// [`min`](Self::min) and [`max`](Self::max). `q` is clamped to 0 to 1, and NaN counts as 0. Linear in the
    /// buckets.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let (min, max) = (self.min()?, self.max()?);
        let rank = rank_of_quantile(q, self.value_count());
        let mut seen = 0;
        let bucket = self.bucket_cells().iter().position(|n| {
            seen += n;
            seen >= rank
        })?;
        Some(buckets::greatest_value_of_bucket(PRECISION, bucket).min(max).max(min))
    }

    /// Returns, for each of the ascending `bounds`, the number of values in buckets that end at or below it.
    ///
    /// This is the form of Prometheus's classic histograms. A value is counted at the first bound that is at least its
    /// bucket's end: at most 2<sup>-PRECISION</sup> beyond the value itself.
    pub fn cumulative_counts(&self, bounds: &[u64]) -> Vec<u64> {
        let mut buckets = self.bucket_cells().iter().enumerate().peekable();
        let mut seen = 0;
        let below = |&bound: &u64| {
            while let Some((_, n)) =
                buckets.next_if(|(n, _)| buckets::greatest_value_of_bucket(PRECISION, *n) <= bound)
            {
                seen += n;
            }
            seen
        };
        bounds.iter().map(below).collect()
    }

    /// Adds all values of another snapshot, as if they had been recorded here.
    pub fn merge_values(&mut self, other: &Self) {
        for (n, (mine, &theirs)) in self.cells.iter_mut().zip(&other.cells).enumerate() {
            *mine = if n < SUM { theirs.max(*mine) } else { mine.wrapping_add(theirs) };
        }
    }
}

impl<const PRECISION: u32> Default for HistogramSnapshot<PRECISION> {
    /// Returns an empty snapshot, to merge others into.
    fn default() -> Self {
        Self::from_cells(vec![0; HEAD + buckets::bucket_count(PRECISION)].into_boxed_slice())
    }
}

impl<const PRECISION: u32> Debug for HistogramSnapshot<PRECISION> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("HistogramSnapshot")
            .field("count", &self.value_count())
            .field("min", &self.min())
            .field("p50", &self.quantile(0.5))
            .field("p99", &self.quantile(0.99))
            .field("max", &self.max())
            .finish()
    }
}

/// Returns the rank, counted from 1, of the `q` quantile of `count` values.
fn rank_of_quantile(q: f64, count: u64) -> u64 {
    let exact = q.clamp(0.0, 1.0) * count as f64;
    // 0.99999 of 100,000 is 99,999, but slightly more in floating point: the rounding error must not raise the rank.
    let whole = exact.round();
    let rank =
        if (exact - whole).abs() <= whole * 4.0 * f64::EPSILON { whole } else { exact.ceil() };
    (rank as u64).clamp(1, count)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn the_rank_of_a_quantile_is_exact_despite_rounding() {
        for (q, count, expected) in [
            (0.99999, 100_000, 99_999),
            (0.999, 1_000, 999),
            (0.5, 3, 2),
            (0.0, 3, 1),
            (1.0, 3, 3),
            (7.0, 3, 3),
            (f64::NAN, 3, 1),
            (0.99999, 2_000_000, 1_999_980),
        ] {
            assert_eq!(rank_of_quantile(q, count), expected, "{q} of {count}");
        }
    }
}
