//! Duration histograms for `/metrics`: converts the internal ones to classic OpenMetrics and native Prometheus
//! histograms.

use std::fmt;

use lineside_sync::histogram::HistogramSnapshot;
use prometheus_client::encoding::{
    EncodeLabelSet, EncodeMetric, MetricEncoder, NativeHistogram, NativeHistogramBuckets,
    NoLabelSet,
};
use prometheus_client::metrics::MetricType;

const NANOS_PER_SECOND: f64 = 1e9;

/// Resolution of native histograms: 16 buckets per power of two, each 4.4 % wide. A finer one would exceed the internal
/// resolution.
const SCHEMA: i32 = 4;
/// Zero threshold, below the nanosecond at which the lowest bucket begins. It is above 0, because readers distinguish
/// an empty native histogram from a classic one by it.
const ZERO_SECONDS: f64 = 1e-10;

/// Upper bounds of the classic buckets in nanoseconds: three per power of ten, from 10 microseconds to 50 seconds.
const BOUNDS: [u64; 21] = {
    let mut bounds = [0; 21];
    let (mut n, mut decade) = (0, 10_000);
    while n < bounds.len() {
        bounds[n] = decade * [1, 2, 5][n % 3];
        if n % 3 == 2 {
            decade *= 10;
        }
        n += 1;
    }
    bounds
};

/// A metric family: a histogram for each set of labels, or one without labels. A duration up to 3 % below a bound may
/// be counted above it.
#[derive(Debug)]
pub(crate) struct LatencyHistograms<L> {
    histograms: Vec<(Option<L>, HistogramSnapshot)>,
}

impl<L> LatencyHistograms<L> {
    pub(crate) fn from_labeled(labeled: Vec<(L, HistogramSnapshot)>) -> Self {
        let labeled = labeled.into_iter().map(|(labels, snapshot)| (Some(labels), snapshot));
        Self { histograms: labeled.collect() }
    }
}

impl LatencyHistograms<NoLabelSet> {
    pub(crate) fn without_labels(snapshot: HistogramSnapshot) -> Self {
        Self { histograms: vec![(None, snapshot)] }
    }
}

impl<L: EncodeLabelSet + fmt::Debug> EncodeMetric for LatencyHistograms<L> {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        for (labels, snapshot) in &self.histograms {
            match labels {
                Some(labels) => {
                    encode_histogram_snapshot(snapshot, &mut encoder.encode_family(labels)?)?
                }
                None => encode_histogram_snapshot(snapshot, &mut encoder)?,
            }
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

fn encode_histogram_snapshot(
    snapshot: &HistogramSnapshot,
    encoder: &mut MetricEncoder<'_>,
) -> fmt::Result {
    let sum = snapshot.sum() as f64 / NANOS_PER_SECOND;
    let exponential = snapshot.to_exponential_buckets(SCHEMA, NANOS_PER_SECOND);
    let (spans, deltas) = (exponential.bucket_spans(), exponential.bucket_deltas());
    let native = NativeHistogram {
        schema: exponential.schema(),
        zero_threshold: ZERO_SECONDS,
        zero_count: exponential.zero_count(),
        negative: NativeHistogramBuckets { spans: &[], deltas: &[] },
        positive: NativeHistogramBuckets { spans: &spans, deltas: &deltas },
        created: None,
    };
    let (count, buckets) = (snapshot.value_count(), bucket_counts(snapshot));
    encoder.encode_histogram_with_native::<NoLabelSet>(sum, count, &buckets, None, native)
}

/// Returns the count of each bucket, the last without an upper bound; the encoder accumulates them.
fn bucket_counts(snapshot: &HistogramSnapshot) -> Vec<(f64, u64)> {
    let cumulative = snapshot.cumulative_counts(&BOUNDS);
    let ends = BOUNDS.iter().map(|&bound| bound as f64 / NANOS_PER_SECOND);
    let mut before = 0;
    ends.chain([f64::INFINITY])
        .zip(cumulative.into_iter().chain([snapshot.value_count()]))
        .map(|(end, up_to_here)| (end, up_to_here - std::mem::replace(&mut before, up_to_here)))
        .collect()
}

#[cfg(test)]
mod tests {
    use lineside_sync::histogram::Histogram;
    use prometheus_client::{encoding::text::encode, registry::Registry};

    use super::*;

    #[test]
    fn durations_are_written_as_cumulative_buckets_in_seconds() {
        let histogram = Histogram::new();
        for micros in [5, 15, 1_500, 100_000_000] {
            histogram.record(micros * 1_000);
        }
        let mut registry = Registry::default();
        let latencies =
            LatencyHistograms::from_labeled(vec![([("stage", "fetch")], histogram.snapshot())]);
        registry.register("stage_seconds", "Durations", latencies);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let expected = [
            "# TYPE stage_seconds histogram",
            "stage_seconds_sum{stage=\"fetch\"} 100.00152",
            "stage_seconds_count{stage=\"fetch\"} 4",
            "stage_seconds_bucket{le=\"0.00001\",stage=\"fetch\"} 1",
            "stage_seconds_bucket{le=\"0.00002\",stage=\"fetch\"} 2",
            "stage_seconds_bucket{le=\"0.001\",stage=\"fetch\"} 2",
            "stage_seconds_bucket{le=\"0.002\",stage=\"fetch\"} 3",
            "stage_seconds_bucket{le=\"50.0\",stage=\"fetch\"} 3",
            "stage_seconds_bucket{le=\"+Inf\",stage=\"fetch\"} 4",
        ];
        for line in expected {
            assert!(text.lines().any(|it| it == line), "{line} is not in\n{text}");
        }
    }
}
