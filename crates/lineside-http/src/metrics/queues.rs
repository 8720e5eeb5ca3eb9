//! Metrics of the two job queues: validation of schedules, and runs of the operator's own validators.

use lineside_quality::job_queue::QueueStats;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::counter_with_value;
use crate::histogram::LatencyHistograms;

/// A metric's name and help text.
type NameAndHelp = (&'static str, &'static str);

pub(super) struct QueueMetricNames {
    /// `None` if the number of slots is fixed.
    slots: Option<NameAndHelp>,
    running: NameAndHelp,
    waiting: NameAndHelp,
    finished: NameAndHelp,
    aborted: NameAndHelp,
    rejected: NameAndHelp,
    superseded: NameAndHelp,
    took: NameAndHelp,
}

/// Names of the queue of schedule validations.
pub(super) static SCHEDULES: QueueMetricNames = QueueMetricNames {
    slots: Some(("validation_slots", "Schedules that can be validated at the same time")),
    running: ("validation_running", "Schedules that are being validated"),
    waiting: ("validation_waiting", "Feeds whose newest version is queued for validation"),
    finished: ("validation_finished", "Validated versions"),
    aborted: ("validation_aborted", "Versions whose validation was aborted"),
    rejected: ("validation_refused", "Versions not queued because the queue was full"),
    superseded: ("validation_superseded", "Queued versions replaced by a newer version"),
    took: ("validation_seconds", "Duration of the validation of a version"),
};

/// Names of the queue of the operator's own validators.
pub(super) static VALIDATORS: QueueMetricNames = QueueMetricNames {
    slots: None,
    running: ("validators_running", "External validators that are running"),
    waiting: ("validators_waiting", "Versions queued for external validators"),
    finished: ("validators_finished", "External validator runs with a result"),
    aborted: ("validators_failed", "External validator runs without a result"),
    rejected: (
        "validators_refused",
        "Versions not queued for external validators because the queue was full",
    ),
    superseded: (
        "validators_superseded",
        "Versions replaced by a newer one in the queue for external validators",
    ),
    took: ("validators_seconds", "Duration of external validator runs with a result"),
};

pub(super) fn register_queue(registry: &mut Registry, names: &QueueMetricNames, stats: QueueStats) {
    let gauges = [
        (names.slots, u64::from(stats.slots)),
        (Some(names.running), u64::from(stats.running)),
        (Some(names.waiting), stats.waiting as u64),
    ];
    for (name, value) in gauges {
        let Some((name, help)) = name else { continue };
        let gauge: Gauge = Gauge::default();
        gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        registry.register(name, help, gauge);
    }
    let counters = [
        (names.finished, stats.finished),
        (names.aborted, stats.aborted),
        (names.rejected, stats.rejected),
        (names.superseded, stats.superseded),
    ];
    for ((name, help), value) in counters {
        registry.register(name, help, counter_with_value(value));
    }
    let (name, help) = names.took;
    registry.register(name, help, LatencyHistograms::without_labels(stats.took));
}
