//! Quantiles of the values between two snapshots of a cumulative histogram.

use std::time::Duration;

use lineside_sync::histogram::HistogramSnapshot;

/// Bucket bounds from 1 µs to over a minute, each a sixteenth above the previous: a quantile is too high by at most
/// that.
const BOUNDS: [u64; 300] = {
    let mut bounds = [1_000_u64; 300];
    let mut n = 1;
    while n < bounds.len() {
        bounds[n] = bounds[n - 1] + bounds[n - 1].div_ceil(16);
        n += 1;
    }
    bounds
};

/// The counts of a histogram of nanoseconds at the previous snapshot.
#[derive(Debug, Default)]
pub struct QuantileWindow {
    previous: Vec<u64>,
}

impl QuantileWindow {
    /// Returns the quantiles of the values since the previous snapshot; `None` if there are none.
    pub fn quantiles_since_last<const N: usize>(
        &mut self,
        snapshot: &HistogramSnapshot,
        quantiles: [f64; N],
    ) -> Option<[Duration; N]> {
        let mut now = snapshot.cumulative_counts(&BOUNDS);
        now.push(snapshot.value_count());
        let before = std::mem::replace(&mut self.previous, now);
        let new =
            |n: usize| self.previous[n].saturating_sub(before.get(n).copied().unwrap_or_default());
        let count = new(BOUNDS.len());
        let find_bound = |quantile: f64| {
            let rank = ((count as f64 * quantile).ceil() as u64).max(1);
            let bucket = (0..BOUNDS.len()).find(|&n| new(n) >= rank);
            Duration::from_nanos(BOUNDS[bucket.unwrap_or(BOUNDS.len() - 1)])
        };
        (count > 0).then(|| quantiles.map(find_bound))
    }
}

#[cfg(test)]
mod tests {
    use lineside_sync::histogram::Histogram;

    use super::*;

    #[test]
    fn quantiles_cover_only_values_since_the_last_call() {
        let (histogram, mut window) = (Histogram::new(), QuantileWindow::default());
        assert_eq!(window.quantiles_since_last(&histogram.snapshot(), [0.5]), None);
        (0..100).for_each(|_| histogram.record_duration(Duration::from_secs(1)));
        let [median] = window.quantiles_since_last(&histogram.snapshot(), [0.5]).unwrap();
        assert!(median >= Duration::from_secs(1), "{median:?}");
        for millis in 1..=100 {
            histogram.record_duration(Duration::from_millis(millis));
        }
        let quantiles = window.quantiles_since_last(&histogram.snapshot(), [0.5, 0.99]).unwrap();
        for (quantile, millis) in quantiles.into_iter().zip([50, 99]) {
            let true_one = Duration::from_millis(millis);
            assert!((true_one..true_one.mul_f64(1.12)).contains(&quantile), "{quantile:?}");
        }
        assert_eq!(window.quantiles_since_last(&histogram.snapshot(), [0.5]), None);
    }
}
