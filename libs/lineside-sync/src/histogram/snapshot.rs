//! What a histogram held at one moment: quantiles, cumulative buckets, the union with another.

use std::fmt::{self, Debug, Formatter};

use super::{BITS, GREATEST, HEAD, LEAST_INVERTED, SUM, buckets};

/// The values that a [`Histogram`](super::Histogram) had recorded.
///
/// Plain data: it can be kept, sent, and merged with those of other histograms of the same precision.
#[derive(Clone, PartialEq, Eq)]
pub struct HistogramSnapshot<const PRECISION: u32 = BITS> {
    /// As the cells: greatest, least inverted, sum, buckets.
    cells: Box<[u64]>,
}

impl<const PRECISION: u32> HistogramSnapshot<PRECISION> {
    pub(super) fn from_cells(cells: Box<[u64]>) -> Self {
        Self { cells }
    }

    pub(super) fn bucket_cells(&self) -> &[u64] {
        &self.cells[HEAD..]
    }

    /// How many values there are.
    pub fn value_count(&self) -> u64 {
        self.bucket_cells().iter().sum()
    }

    /// The sum of the values; wraps, which takes 584 years of nanoseconds.
    pub fn sum(&self) -> u64 {
        self.cells[SUM]
    }

    /// The least value, exactly; none of none.
    pub fn min(&self) -> Option<u64> {
        (self.value_count() > 0).then_some(!self.cells[LEAST_INVERTED])
    }

    /// The greatest value, exactly; none of none.
    pub fn max(&self) -> Option<u64> {
        (self.value_count() > 0).then_some(self.cells[GREATEST])
    }

    /// The mean of the values; none of none.
    pub fn mean(&self) -> Option<f64> {
        let count = self.value_count();
        (count > 0).then(|| self.sum() as f64 / count as f64)
    }

    /// The least value that at least the share `q` of all values does not exceed; none of none.
    ///
    /// Never below the true one, at most 2<sup>-PRECISION</sup> of it above, and within [`min`](Self::min) and
    /// [`max`](Self::max). `q` outside 0 to 1 counts as the nearer end, NaN as 0. Linear in the buckets.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let (min, max) = (self.min()?, self.max()?);
        let rank = rank_of_quantile(q, self.value_count());
        let mut seen = 0;
        let bucket = self.bucket_cells().iter().position(|n| {
            seen += n;
            seen >= rank
        })?;
        Some(buckets::greatest_value(PRECISION, bucket).min(max).max(min))
    }

    /// How many values are in buckets that end at or below each of `bounds`, which must rise.
    ///
    /// What the classic histograms of Prometheus want. A value is counted at the first bound that is at least its
    /// bucket's end: at most 2<sup>-PRECISION</sup> beyond the value itself.
    pub fn cumulative_counts(&self, bounds: &[u64]) -> Vec<u64> {
        let mut buckets = self.bucket_cells().iter().enumerate().peekable();
        let mut seen = 0;
        let below = |&bound: &u64| {
            while let Some((_, n)) =
                buckets.next_if(|(n, _)| buckets::greatest_value(PRECISION, *n) <= bound)
            {
                seen += n;
            }
            seen
        };
        bounds.iter().map(below).collect()
    }

    /// Takes in all values of another, as if they had been recorded here.
    pub fn merge_values(&mut self, other: &Self) {
        for (n, (mine, &theirs)) in self.cells.iter_mut().zip(&other.cells).enumerate() {
            *mine = if n < SUM { theirs.max(*mine) } else { mine.wrapping_add(theirs) };
        }
    }
}

impl<const PRECISION: u32> Default for HistogramSnapshot<PRECISION> {
    /// Of nothing: what merging begins with.
    fn default() -> Self {
        Self::from_cells(vec![0; HEAD + buckets::bucket_count(PRECISION)].into_boxed_slice())
    }
}

impl<const PRECISION: u32> Debug for HistogramSnapshot<PRECISION> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("count", &self.value_count())
            .field("min", &self.min())
            .field("p50", &self.quantile(0.5))
            .field("p99", &self.quantile(0.99))
            .field("max", &self.max())
            .finish()
    }
}

/// The position, counted from 1, of the value that `q` of `count` values do not exceed.
fn rank_of_quantile(q: f64, count: u64) -> u64 {
    let exact = q.clamp(0.0, 1.0) * count as f64;
    // 0.99999 of 100,000 is 99,999, and a hair more in floating point: a hair is no further value.
    let whole = exact.round();
    let rank =
        if (exact - whole).abs() <= whole * 4.0 * f64::EPSILON { whole } else { exact.ceil() };
    (rank as u64).clamp(1, count)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_not_moved_by_rounding() {
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
