//! The figures of the operator's own validators.

use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::counter;
use crate::latencies::Latencies;
use crate::validators::Figures;

pub(super) fn register(registry: &mut Registry, figures: Figures) {
    let gauges = [
        (
            "validators_running",
            "Validators of the operator's that run now",
            u64::from(figures.running),
        ),
        ("validators_waiting", "Versions that wait for one of them", figures.waiting as u64),
    ];
    for (name, help, value) in gauges {
        let gauge: Gauge = Gauge::default();
        gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        registry.register(name, help, gauge);
    }
    let counters = [
        ("validators_finished", "Versions of which one said something", figures.finished),
        ("validators_failed", "Runs that came to nothing", figures.failed),
        ("validators_refused", "Times that a version found their queue full", figures.refused),
        (
            "validators_replaced",
            "Versions that a newer one replaced in their queue",
            figures.replaced,
        ),
    ];
    for (name, help, value) in counters {
        registry.register(name, help, counter(value));
    }
    let help = "How long one took that said something";
    registry.register("validators_seconds", help, Latencies::alone(figures.took));
}
