//! The distribution in exponential buckets, as in the native histograms of Prometheus.

use std::ops::RangeInclusive;

use super::{HistogramSnapshot, buckets};

/// The schemas of Prometheus: each power of two has 2<sup>schema</sup> buckets.
const SCHEMAS: RangeInclusive<i32> = -4..=8;

/// A distribution over buckets that grow by one factor, 2<sup>2<sup>-schema</sup></sup>. Bucket `n` holds the values
/// above the factor to the power of `n - 1`, up to the factor to the power of `n`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExponentialBuckets {
    schema: i32,
    zeros: u64,
    /// The index and count of each non-empty bucket, by ascending index.
    counts: Vec<(i32, u64)>,
}

impl ExponentialBuckets {
    /// Returns the resolution: the schema, -4 to 8.
    pub fn schema(&self) -> i32 {
        self.schema
    }

    /// Returns the number of zero values, which no bucket holds.
    pub fn zero_count(&self) -> u64 {
        self.zeros
    }

    /// Returns the index and count of each non-empty bucket, by ascending index.
    pub fn bucket_counts(&self) -> &[(i32, u64)] {
        &self.counts
    }

    /// Returns the greatest value of a bucket, in the unit given to
    /// [`to_exponential_buckets`](HistogramSnapshot::to_exponential_buckets).
    pub fn bucket_upper_bound(&self, bucket: i32) -> f64 {
        (f64::from(bucket) * (-f64::from(self.schema)).exp2()).exp2()
    }

    /// Returns the spans of non-empty buckets in the form of Prometheus's messages: the number of buckets between the
    /// end of the previous span and the start of this one (for the first span its index), and the length.
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

    /// Returns each bucket's count minus the previous bucket's, in the order of the [spans](Self::bucket_spans); the
    /// first count is unchanged.
    pub fn bucket_deltas(&self) -> Vec<i64> {
        let mut previous = 0;
        let counts = self.counts.iter().map(|&(_, n)| n.cast_signed());
        counts.map(|n| n - std::mem::replace(&mut previous, n)).collect()
    }
}

impl<const PRECISION: u32> HistogramSnapshot<PRECISION> {
    /// Converts the values to exponential buckets of `schema`, -4 to 8 (clamped), in units of `unit`: 1e9 turns
    /// nanoseconds into seconds.
    ///
    /// A value counts at its bucket's end, at most 2<sup>-PRECISION</sup> beyond the value. Where exponential buckets
    /// are wider than that, each value is in its own bucket or in the next. A quantile read at the end of an
    /// exponential bucket is never below the true one, and above it by less than the product of both widths: 7.7 %
    /// with 5 bits and schema 4, the finest schema whose buckets (4.4 %) are wider than those of 5 bits (3.1 %).
    pub fn to_exponential_buckets(&self, schema: i32, unit: f64) -> ExponentialBuckets {
        let schema = schema.clamp(*SCHEMAS.start(), *SCHEMAS.end());
        let per_power = f64::from(schema).exp2();
        let mut exponential = ExponentialBuckets { schema, zeros: 0, counts: Vec::new() };
        let filled = self.bucket_cells().iter().enumerate().filter(|(_, n)| **n > 0);
        for (bucket, &n) in filled {
            let greatest = buckets::greatest_value_of_bucket(PRECISION, bucket);
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
