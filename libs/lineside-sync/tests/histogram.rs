//! Tests of histograms through the public interface: compared with a sorted list, and exact after threads have ended.

#![cfg(not(any(loom, shuttle)))]

use std::thread;
use std::time::Duration;

use lineside_sync::histogram::{ExponentialBuckets, Histogram, HistogramSnapshot};
use proptest::prelude::*;

// Miri executes every bucket one instruction at a time, so it gets few buckets and few records.
const RECORDS: u64 = if cfg!(miri) { 10 } else { 200_000 };
const THREADS: u64 = if cfg!(miri) { 4 } else { 24 };
const USUAL: u32 = if cfg!(miri) { 2 } else { 5 };
const FINE: u32 = if cfg!(miri) { 3 } else { 7 };
/// The finest exponential buckets that are wider than those of `USUAL` bits.
const WIDER_THAN_USUAL: i32 = if cfg!(miri) { 1 } else { 4 };
const NANOS_PER_SECOND: f64 = 1e9;
/// The rounding error allowed where bounds meet.
const ROUNDING: f64 = 1.0 + 1e-12;
const VALUES_MAX: usize = if cfg!(miri) { 20 } else { 300 };

/// The quantiles checked on every histogram here.
const QUANTILES: &[f64] = if cfg!(miri) {
    &[0.0, 0.5, 1.0]
} else {
    &[0.0, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 0.99999, 1.0]
};

/// Compares a snapshot with the recorded values.
fn check<const PRECISION: u32>(snapshot: &HistogramSnapshot<PRECISION>, values: &[u64]) {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    assert_eq!(snapshot.value_count(), sorted.len() as u64);
    assert_eq!((snapshot.min(), snapshot.max()), (sorted.first().copied(), sorted.last().copied()));
    assert_eq!(snapshot.sum(), sorted.iter().fold(0, |sum: u64, value| sum.wrapping_add(*value)));
    for &q in QUANTILES {
        let Some(found) = snapshot.quantile(q) else {
            assert!(sorted.is_empty());
            continue;
        };
        let rank = (q * sorted.len() as f64).ceil().max(1.0) as usize;
        let exact = sorted[rank - 1];
        let error = exact >> PRECISION;
        assert!(found >= exact && found - exact <= error, "{q}: {found} instead of {exact}");
    }
}

#[test]
fn the_count_is_exact_after_its_threads_have_ended() {
    let histogram = Histogram::<USUAL>::with_precision();
    thread::scope(|scope| {
        for n in 0..THREADS {
            let histogram = histogram.clone();
            scope.spawn(move || {
                if n % 2 == 0 {
                    (0..RECORDS).for_each(|value| histogram.record(value * (n + 1)));
                } else {
                    let histogram = histogram.handle_for_this_thread();
                    (0..RECORDS).for_each(|value| histogram.record(value * (n + 1)));
                }
            });
        }
    });
    let snapshot = histogram.snapshot();
    assert_eq!(snapshot.value_count(), THREADS * RECORDS);
    assert_eq!(snapshot.sum(), (1..=THREADS).sum::<u64>() * (RECORDS * (RECORDS - 1) / 2));
    assert_eq!((snapshot.min(), snapshot.max()), (Some(0), Some(THREADS * (RECORDS - 1))));
}

#[test]
fn snapshots_are_consistent_while_threads_start_and_end() {
    let histogram = Histogram::<USUAL>::with_precision();
    let generations = if cfg!(miri) { 2 } else { 50 };
    thread::scope(|scope| {
        let writers = scope.spawn(|| {
            for _ in 0..generations {
                thread::scope(|scope| {
                    for _ in 0..4 {
                        scope.spawn(|| (1..=50).for_each(|value| histogram.record(value)));
                    }
                });
            }
        });
        let mut last = 0;
        while !writers.is_finished() {
            let now = histogram.snapshot();
            assert!(now.value_count() >= last);
            assert!(now.sum() >= now.value_count(), "the sum includes every counted value");
            assert!(now.value_count() == 0 || now.min() == Some(1) && now.max() <= Some(50));
            last = now.value_count();
        }
    });
    assert_eq!(histogram.snapshot().value_count(), generations * 4 * 50);
}

#[test]
fn an_empty_histogram_has_no_quantiles() {
    let snapshot = Histogram::new().snapshot();
    check(&snapshot, &[]);
    assert_eq!((snapshot.quantile(0.5), snapshot.mean()), (None, None));
    assert_eq!(snapshot, HistogramSnapshot::default());
}

#[test]
fn a_histogram_in_a_reused_area_is_empty() {
    const PRECISION: u32 = if cfg!(miri) { 0 } else { 3 };
    let rounds = if cfg!(miri) { 2 } else { 3 };
    for _ in 0..rounds {
        // More histograms than a thread finds by index.
        let histograms: Vec<_> =
            (0..80).map(|_| Histogram::<PRECISION>::with_precision()).collect();
        for (n, histogram) in histograms.iter().enumerate() {
            histogram.record(n as u64);
        }
        for (n, histogram) in histograms.iter().enumerate() {
            check(&histogram.snapshot(), &[n as u64]);
        }
    }
}

#[test]
fn a_duration_is_recorded_in_nanoseconds() {
    let histogram = Histogram::new();
    histogram.record_duration(Duration::from_micros(3));
    histogram.handle_for_this_thread().record_duration(Duration::MAX);
    let snapshot = histogram.snapshot();
    assert_eq!((snapshot.min(), snapshot.max()), (Some(3_000), Some(u64::MAX)));
}

#[test]
fn cumulative_buckets_count_values_up_to_their_bound() {
    let histogram = Histogram::new();
    for value in [1, 10, 11, 1_000_000, 2_000_000] {
        histogram.record(value);
    }
    let snapshot = histogram.snapshot();
    assert_eq!(
        snapshot.cumulative_counts(&[0, 1, 10, 500_000, 1_031_250, u64::MAX]),
        [0, 1, 2, 3, 4, 5]
    );
    assert_eq!(snapshot.cumulative_counts(&[]), [0; 0]);
}

#[test]
fn exponential_buckets_are_encoded_as_spans_and_deltas() {
    let histogram = Histogram::new();
    for value in [0, 1, 1, 2, 3, 64] {
        histogram.record(value);
    }
    let exponential = histogram.snapshot().to_exponential_buckets(0, 1.0);
    // 64 counts at the end of its bucket, 65, and so beyond 64, where the exponential bucket before ends.
    assert_eq!(exponential.bucket_counts(), [(0, 2), (1, 1), (2, 1), (7, 1)]);
    assert_eq!((exponential.zero_count(), exponential.bucket_upper_bound(7)), (1, 128.0));
    assert_eq!(exponential.bucket_spans(), [(0, 3), (4, 1)]);
    assert_eq!(exponential.bucket_deltas(), [2, -1, 0, 0]);
    let none = Histogram::new().snapshot().to_exponential_buckets(99, 1e9);
    assert_eq!(
        (none.schema(), none.zero_count(), none.bucket_spans(), none.bucket_deltas()),
        (8, 0, vec![], vec![])
    );
}

fn values() -> impl Strategy<Value = Vec<u64>> {
    // Values of all magnitudes, not only those that a uniform choice would find.
    let value = (any::<u64>(), 0..64_u32).prop_map(|(value, shift)| value >> shift);
    prop::collection::vec(value, 0..VALUES_MAX)
}

/// Checks that spans, deltas and buckets agree, and count every value.
fn check_form(exponential: &ExponentialBuckets, count: u64) {
    let mut indexes = Vec::new();
    let mut next = 0;
    for (gap, length) in exponential.bucket_spans() {
        assert!(length > 0 && (indexes.is_empty() || gap > 0), "a run ends at an empty bucket");
        indexes.extend((next + gap..).take(length as usize));
        next += gap + length.cast_signed();
    }
    let counts = exponential.bucket_deltas().into_iter().scan(0, |n, delta| {
        *n += delta;
        Some(*n)
    });
    let unpacked: Vec<(i32, i64)> = indexes.into_iter().zip(counts).collect();
    let packed = exponential.bucket_counts().iter().map(|&(index, n)| (index, n.cast_signed()));
    assert_eq!(unpacked, packed.collect::<Vec<_>>());
    let total: i64 = unpacked.iter().map(|(_, n)| n).sum();
    assert_eq!(total.cast_unsigned() + exponential.zero_count(), count);
}

fn recorded<const PRECISION: u32>(values: &[u64]) -> HistogramSnapshot<PRECISION> {
    let histogram = Histogram::with_precision();
    values.iter().for_each(|&value| histogram.record(value));
    histogram.snapshot()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 128 }))]

    #[test]
    fn quantiles_are_within_the_promised_error(values in values()) {
        check(&recorded::<0>(&values), &values);
        check(&recorded::<USUAL>(&values), &values);
        check(&recorded::<FINE>(&values), &values);
    }

    #[test]
    fn merging_equals_recording_all_values(one in values(), other in values()) {
        let mut merged = recorded::<USUAL>(&one);
        merged.merge_values(&recorded(&other));
        let both = [one, other].concat();
        check(&merged, &both);
        prop_assert_eq!(merged, recorded(&both));
    }

    #[test]
    fn exponential_buckets_are_within_the_promised_error(
        values in values(),
        schema in -4..=8_i32,
    ) {
        let exponential = recorded::<USUAL>(&values).to_exponential_buckets(schema, NANOS_PER_SECOND);
        check_form(&exponential, values.len() as u64);
        let mut rising: Vec<f64> = values.iter().map(|&value| value as f64).collect();
        rising.sort_unstable_by(f64::total_cmp);
        let ends = exponential.bucket_counts().iter().flat_map(|&(index, n)| {
            std::iter::repeat_n(exponential.bucket_upper_bound(index) * NANOS_PER_SECOND, n as usize)
        });
        let ends = std::iter::repeat_n(0.0, exponential.zero_count() as usize).chain(ends);
        let width = exponential.bucket_upper_bound(1) * (1.0 + 1.0 / f64::from(1 << USUAL));
        for (value, end) in rising.into_iter().zip(ends) {
            prop_assert!(end >= value / ROUNDING && end <= value * width * ROUNDING, "{value}: {end}");
        }
    }

    #[test]
    fn a_value_is_in_its_exponential_bucket_or_the_next_if_wider(
        value in 1..u64::MAX,
        schema in -4..=WIDER_THAN_USUAL,
    ) {
        let exponential = recorded::<USUAL>(&[value]).to_exponential_buckets(schema, NANOS_PER_SECOND);
        let &[(index, 1)] = exponential.bucket_counts() else { panic!("{exponential:?}") };
        let value = value as f64 / NANOS_PER_SECOND;
        prop_assert!(value <= exponential.bucket_upper_bound(index) * ROUNDING);
        prop_assert!(value >= exponential.bucket_upper_bound(index - 2) / ROUNDING);
    }

    #[test]
    fn cumulative_buckets_rise_to_the_total_count(values in values(), mut bounds in values()) {
        bounds.sort_unstable();
        bounds.push(u64::MAX);
        let snapshot = recorded::<USUAL>(&values);
        let cumulative = snapshot.cumulative_counts(&bounds);
        prop_assert!(cumulative.is_sorted());
        prop_assert_eq!(cumulative.last(), Some(&snapshot.value_count()));
        for (bound, n) in bounds.iter().zip(cumulative) {
            let at_most = values.iter().filter(|value| *value <= bound).count() as u64;
            let surely = values.iter().filter(|value| **value + (**value >> USUAL).min(u64::MAX - **value) <= *bound).count();
            prop_assert!((surely as u64..=at_most).contains(&n), "{bound}: {n}");
        }
    }
}
