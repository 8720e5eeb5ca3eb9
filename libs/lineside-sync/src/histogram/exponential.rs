//! The same distribution in exponential buckets, as the native histograms of Prometheus have them.

use std::ops::RangeInclusive;

use super::{HistogramSnapshot, buckets};

/// The schemas that Prometheus knows: each power of two has 2<sup>schema</sup> buckets.
const SCHEMAS: RangeInclusive<i32> = -4..=8;

/// A distribution over buckets that grow by one factor, 2<sup>2<sup>-schema</sup></sup>. Bucket `n` holds what is above
/// the factor to the power of `n - 1`, up to the factor to the power of `n`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExponentialBuckets {
    schema: i32,
    zeros: u64,
    /// By rising index, none of them empty.
    counts: Vec<(i32, u64)>,
}

impl ExponentialBuckets {
    /// How fine it is, -4 to 8.
    pub fn schema(&self) -> i32 {
        self.schema
    }

    /// How many values were zero, which no bucket holds.
    pub fn zero_count(&self) -> u64 {
        self.zeros
    }

    /// How many values each bucket has, by rising index, without the empty ones.
    pub fn bucket_counts(&self) -> &[(i32, u64)] {
        &self.counts
    }

    /// The greatest value of a bucket, in the unit that was asked for.
    pub fn upper_bound(&self, bucket: i32) -> f64 {
        (f64::from(bucket) * (-f64::from(self.schema)).exp2()).exp2()
    }

    /// Where runs of buckets that are not empty lie: the buckets between a run's first and the end of the run before
    /// (the first run's index itself), and how many there are. The form of Prometheus's messages.
    pub fn bucket_spans(&self) -> Vec<(i32, u32)> {
        let mut spans: Vec<(i32, u32)> = Vec::new();
        let mut end = 0;
        for &(index, _) in &self.counts {
            match spans.last_mut() {
                Some((_, length)) if index == end => *length += 1,
                _ => spans.push((index - end, 1)),
            }
            end = index + 1;
        }
        spans
    }

    /// What each bucket of the [runs](Self::bucket_spans) has more than the one before, the first of all more than none.
    pub fn bucket_deltas(&self) -> Vec<i64> {
        let mut before = 0;
        let counts = self.counts.iter().map(|&(_, n)| n.cast_signed());
        counts.map(|n| n - std::mem::replace(&mut before, n)).collect()
    }
}

impl<const PRECISION: u32> HistogramSnapshot<PRECISION> {
    /// The same values in exponential buckets of `schema`, -4 to 8 (the nearer end otherwise), counted in units of `unit`:
    /// 1e9 makes seconds of nanoseconds.
    ///
    /// A value is counted at its bucket's end, at most 2<sup>-PRECISION</sup> beyond itself. So where exponential buckets are
    /// wider than that, each value is in the bucket where it belongs or in the next; and a quantile that is read at the end
    /// of an exponential bucket is never below the true one, and above it by less than the product of both widths: 7.7 %
    /// with 5 bits and schema 4, the finest whose buckets (4.4 %) are wider than those of 5 bits (3.1 %).
    pub fn to_exponential(&self, schema: i32, unit: f64) -> ExponentialBuckets {
        let schema = schema.clamp(*SCHEMAS.start(), *SCHEMAS.end());
        let per_power = f64::from(schema).exp2();
        let mut exponential = ExponentialBuckets { schema, zeros: 0, counts: Vec::new() };
        let filled = self.bucket_cells().iter().enumerate().filter(|(_, n)| **n > 0);
        for (bucket, &n) in filled {
            let greatest = buckets::greatest_value(PRECISION, bucket);
            if greatest == 0 {
                exponential.zeros += n;
                continue;
            }
            let index = ((greatest as f64 / unit).log2() * per_power).ceil() as i32;
            match exponential.counts.last_mut() {
                Some((last, count)) if *last == index => *count += n,
                _ => exponential.counts.push((index, n)),
            }
        }
        exponential
    }
}
