//! The report of a run, and its table, JSON and graph.

mod graph;
mod table;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::clock::{self, MonotonicNanos};
use crate::distribution::ValueDistribution;
use crate::engine::{ConnectPhaseOutcome, MeasurementOutcome};
use crate::plan::{LoadTestPlan, MessageFormat, SessionTransport};
use crate::process::ProcessUsage;
use crate::publisher::PublishTotals;
use crate::reasons::count_failure_reason;
use crate::tally::{DeliverySlice, PublicationArrival};

/// The complete report. Times are in milliseconds unless the name has another unit.
#[derive(Clone, Debug, Serialize)]
pub struct LoadTestReport {
    /// The server's address.
    pub server: String,
    pub transport: SessionTransport,
    /// The encoding of messages.
    pub format: MessageFormat,
    /// True for TLS.
    pub tls: bool,
    /// The channels of each session.
    pub channels: Vec<String>,
    /// Number of requested sessions.
    pub sessions: usize,
    /// Number of processes.
    pub processes: usize,
    /// Results of opening the sessions.
    pub connect: ConnectReport,
    /// Results of the deliveries.
    pub deliveries: DeliveryReport,
    /// Latencies of deliveries; `null` if publications have no send time.
    pub latency_ms: Option<LatencyReport>,
    /// Costs of the server, if it runs on this machine.
    pub server_process: Option<ProcessCosts>,
    pub generator: Option<ProcessCosts>,
    /// Results over time.
    pub slices: Vec<ReportSlice>,
}

/// The results of opening the sessions.
#[derive(Clone, Debug, Serialize)]
pub struct ConnectReport {
    /// Number of sessions that have received the state of all their channels.
    pub ready: u64,
    /// Number of failed sessions, by reason.
    pub failed: BTreeMap<String, u64>,
    /// Duration of opening, in seconds.
    pub seconds: f64,
    /// Sessions per second.
    pub per_second: f64,
    /// Time from opening a connection to the server's acceptance.
    pub accepted_ms: Option<QuantileSummary>,
    /// Time to the first byte of a state.
    pub first_byte_ms: Option<QuantileSummary>,
    /// Time to the complete state of every channel.
    pub complete_ms: Option<QuantileSummary>,
    /// Bytes received until then.
    pub bytes: u64,
}

/// A summary of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct QuantileSummary {
    /// The median.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The maximum.
    pub last: f64,
}

/// The results of the deliveries.
#[derive(Clone, Debug, Serialize)]
pub struct DeliveryReport {
    /// Duration of the measurement, in seconds.
    pub seconds: f64,
    /// Publications that arrived at a session, over all channels.
    pub publications: u64,
    /// Number of deliveries: each publication counts once per session.
    pub deliveries: u64,
    pub per_second: f64,
    /// Bytes received.
    pub bytes: u64,
    /// Number of missing deliveries.
    pub missing: u64,
    /// Number of repeated deliveries, including those after a later one.
    pub duplicates: u64,
    /// Number of states that replaced changes that were not sent.
    pub gaps: u64,
    /// Sessions that ended early, by reason.
    pub closed: BTreeMap<String, u64>,
    /// Publications that the server refused, by reason.
    pub refused: BTreeMap<String, u64>,
}

/// Latencies of publications. Those of the first and the last session are medians over all publications.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LatencyReport {
    /// The median latency of the first session.
    pub first: f64,
    /// The median of all deliveries.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The 99.9th percentile.
    pub p99_9: f64,
    /// The median latency of the last session.
    pub last: f64,
    /// The maximum of all deliveries.
    pub worst: f64,
}

/// The costs of one process, or of several.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ProcessCosts {
    /// The server's process id.
    pub process: Option<u32>,
    /// CPU per session opened, in microseconds.
    pub cpu_us_per_session: f64,
    /// CPU per delivery, in microseconds; `null` without deliveries.
    pub cpu_us_per_delivery: Option<f64>,
    /// Resident memory before the sessions, in bytes.
    pub resident_bytes_before: u64,
    /// Resident memory with all sessions, in bytes.
    pub resident_bytes_idle: u64,
    /// Resident memory after all deliveries, in bytes.
    pub resident_bytes_after: u64,
    /// Peak resident memory, in bytes.
    pub resident_bytes_peak: u64,
    /// Additional resident memory per session, in bytes.
    pub resident_bytes_per_session: f64,
}

/// A period of the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ReportSlice {
    /// End of the period, in seconds.
    pub until_seconds: f64,
    /// Number of deliveries in the period.
    pub deliveries: u64,
    pub latency_ms: Option<QuantileSummary>,
}

/// The raw results of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunResults {
    pub(crate) processes: usize,
    pub(crate) server: Option<u32>,
    pub(crate) before: Option<ProcessUsage>,
    pub(crate) idle: Option<ProcessUsage>,
    pub(crate) after: Option<ProcessUsage>,
    pub(crate) start: MonotonicNanos,
    pub(crate) connected: Vec<ConnectPhaseOutcome>,
    pub(crate) measured: Vec<MeasurementOutcome>,
    pub(crate) published: Option<PublishTotals>,
}

impl LoadTestReport {
    pub(crate) fn from_results(plan: &LoadTestPlan, findings: RunResults) -> Self {
        let connect = summarize_connects(&findings.connected);
        let publications = merge_publications(&findings);
        let slices = merge_slices(&findings.measured);
        let deliveries = summarize_deliveries(plan, &findings, &publications, &slices);
        let server_process = compute_process_costs(
            findings.server,
            &[(findings.before, findings.idle, findings.after)],
            connect.ready,
            deliveries.deliveries,
        );
        let own: Vec<_> = findings
            .connected
            .iter()
            .zip(&findings.measured)
            .map(|(connected, measured)| (connected.before, connected.usage, measured.usage))
            .collect();
        Self {
            server: plan.target.url.clone(),
            transport: plan.transport,
            format: plan.format,
            tls: plan.target.tls,
            channels: plan.channels.clone(),
            sessions: plan.sessions,
            processes: findings.processes,
            latency_ms: summarize_latency(&publications, &slices),
            server_process,
            generator: compute_process_costs(None, &own, connect.ready, deliveries.deliveries),
            slices: summarize_slices(plan, &slices),
            connect,
            deliveries,
        }
    }

    /// Returns true if a session failed, or if a delivery is missing, duplicate or refused.
    #[must_use]
    pub fn has_failures_or_losses(&self) -> bool {
        let DeliveryReport { missing, duplicates, closed, refused, .. } = &self.deliveries;
        *missing > 0
            || *duplicates > 0
            || !closed.is_empty()
            || !refused.is_empty()
            || !self.connect.failed.is_empty()
    }

    #[must_use]
    pub fn to_json(&self) -> String {
        // Numbers and texts always serialize.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

fn nanos_to_millis(nanos: MonotonicNanos) -> f64 {
    nanos as f64 / 1e6
}

fn summarize_quantiles(distribution: &ValueDistribution) -> Option<QuantileSummary> {
    let at = |q| distribution.quantile(q).map(nanos_to_millis);
    Some(QuantileSummary {
        p50: at(0.5)?,
        p99: at(0.99)?,
        last: nanos_to_millis(distribution.max()?),
    })
}

fn merge_distributions<'a>(
    parts: impl IntoIterator<Item = &'a ValueDistribution>,
) -> ValueDistribution {
    let mut whole = ValueDistribution::default();
    parts.into_iter().for_each(|part| whole.merge_values(part));
    whole
}

fn count_by_reason<'a>(
    reasons: impl IntoIterator<Item = &'a Vec<(String, u64)>>,
) -> BTreeMap<String, u64> {
    let mut counted = Vec::new();
    reasons
        .into_iter()
        .flatten()
        .for_each(|(reason, times)| count_failure_reason(&mut counted, reason, *times));
    counted.into_iter().collect()
}

fn summarize_connects(connected: &[ConnectPhaseOutcome]) -> ConnectReport {
    let ready = connected.iter().map(|part| part.ready).sum();
    let began = connected.iter().map(|part| part.began).min().unwrap_or_default();
    let ended = connected.iter().map(|part| part.ended).max().unwrap_or_default();
    let seconds = clock::nanos_to_seconds(ended - began);
    ConnectReport {
        ready,
        failed: count_by_reason(connected.iter().map(|part| &part.failed)),
        seconds,
        per_second: ready as f64 / seconds.max(1e-9),
        accepted_ms: summarize_quantiles(&merge_distributions(
            connected.iter().map(|part| &part.accepted),
        )),
        first_byte_ms: summarize_quantiles(&merge_distributions(
            connected.iter().map(|part| &part.first_byte),
        )),
        complete_ms: summarize_quantiles(&merge_distributions(
            connected.iter().map(|part| &part.complete),
        )),
        bytes: connected.iter().map(|part| part.bytes).sum(),
    }
}

/// The publications of each channel, merged over all processes.
type PublicationsByChannel = Vec<BTreeMap<u64, PublicationArrival>>;

fn merge_publications(findings: &RunResults) -> PublicationsByChannel {
    let channels =
        findings.measured.iter().map(|part| part.channels.len()).max().unwrap_or_default();
    let mut all: PublicationsByChannel = vec![BTreeMap::new(); channels];
    for part in &findings.measured {
        for (all, channel) in all.iter_mut().zip(&part.channels) {
            let seen = channel.publications.iter().filter(|seen| seen.offset <= channel.cut);
            for seen in seen {
                let known =
                    all.entry(seen.offset).or_insert(PublicationArrival { sessions: 0, ..*seen });
                known.first = known.first.min(seen.first);
                known.last = known.last.max(seen.last);
                known.sessions += seen.sessions;
            }
        }
    }
    for all in &mut all {
        all.retain(|_, seen| seen.first >= findings.start);
    }
    all
}

fn summarize_deliveries(
    plan: &LoadTestPlan,
    findings: &RunResults,
    publications: &PublicationsByChannel,
    slices: &[DeliverySlice],
) -> DeliveryReport {
    let channels = || findings.measured.iter().flat_map(|part| &part.channels);
    let deliveries = slices.iter().map(|slice| slice.deliveries).sum();
    let seconds = plan.duration.as_secs_f64();
    DeliveryReport {
        seconds,
        publications: publications.iter().map(|all| all.len() as u64).sum(),
        deliveries,
        per_second: deliveries as f64 / seconds,
        bytes: findings.measured.iter().map(|part| part.bytes).sum(),
        missing: channels().map(|channel| channel.missing).sum::<u64>()
            + count_publications_missed_by_process(findings, publications),
        duplicates: channels().map(|channel| channel.duplicates).sum(),
        gaps: channels().map(|channel| channel.gaps).sum(),
        closed: count_by_reason(findings.measured.iter().map(|part| &part.closed)),
        refused: count_by_reason(findings.published.iter().map(|published| &published.failed)),
    }
}

/// Counts publications that a whole process missed: those that other processes received, and those that the server
/// accepted from this run.
fn count_publications_missed_by_process(
    findings: &RunResults,
    publications: &PublicationsByChannel,
) -> u64 {
    let mut missing = 0;
    for part in &findings.measured {
        for (index, channel) in part.channels.iter().enumerate() {
            let all = &publications[index];
            let wanted =
                all.range(channel.from + 1..).filter(|(offset, _)| **offset <= channel.cut).count()
                    as u64;
            let had = channel
                .publications
                .iter()
                .filter(|seen| seen.offset > channel.from && all.contains_key(&seen.offset))
                .count() as u64;
            let accepted = findings
                .published
                .as_ref()
                .and_then(|published| published.accepted.get(index))
                .copied();
            missing +=
                wanted.max(accepted.unwrap_or_default()).saturating_sub(had) * channel.sessions;
        }
    }
    missing
}

fn summarize_latency(
    publications: &PublicationsByChannel,
    slices: &[DeliverySlice],
) -> Option<LatencyReport> {
    let all = merge_distributions(slices.iter().map(|slice| &slice.latency));
    let timed = || {
        publications.iter().flat_map(|all| all.values()).filter_map(|seen| Some((seen, seen.sent?)))
    };
    let first =
        ValueDistribution::from_values(timed().map(|(seen, sent)| seen.first.saturating_sub(sent)));
    let last =
        ValueDistribution::from_values(timed().map(|(seen, sent)| seen.last.saturating_sub(sent)));
    let at = |q| all.quantile(q).map(nanos_to_millis);
    Some(LatencyReport {
        first: nanos_to_millis(first.quantile(0.5)?),
        p50: at(0.5)?,
        p99: at(0.99)?,
        p99_9: at(0.999)?,
        last: nanos_to_millis(last.quantile(0.5)?),
        worst: nanos_to_millis(all.max()?),
    })
}

/// Merges the slices of all processes, which began at the same time.
fn merge_slices(measured: &[MeasurementOutcome]) -> Vec<DeliverySlice> {
    let length = measured.iter().map(|part| part.slices.len()).max().unwrap_or_default();
    let slice = |n: usize| {
        let parts = || measured.iter().filter_map(move |part| part.slices.get(n));
        DeliverySlice {
            latency: merge_distributions(parts().map(|slice| &slice.latency)),
            deliveries: parts().map(|slice| slice.deliveries).sum(),
        }
    };
    (0..length).map(slice).collect()
}

fn summarize_slices(plan: &LoadTestPlan, slices: &[DeliverySlice]) -> Vec<ReportSlice> {
    let each = plan.slice_duration_nanos();
    let course = |(n, slice): (usize, &DeliverySlice)| ReportSlice {
        until_seconds: clock::nanos_to_seconds(each) * (n + 1) as f64,
        deliveries: slice.deliveries,
        latency_ms: summarize_quantiles(&slice.latency),
    };
    slices.iter().enumerate().map(course).collect()
}

/// Computes costs from the usage of processes before the sessions, with them, and after the deliveries.
fn compute_process_costs(
    process: Option<u32>,
    used: &[(Option<ProcessUsage>, Option<ProcessUsage>, Option<ProcessUsage>)],
    sessions: u64,
    deliveries: u64,
) -> Option<ProcessCosts> {
    let all: Option<Vec<[ProcessUsage; 3]>> =
        used.iter().map(|used| Some([used.0?, used.1?, used.2?])).collect();
    let all = all.filter(|all| !all.is_empty())?;
    let sum = |figure: fn(&[ProcessUsage; 3]) -> u64| all.iter().map(figure).sum::<u64>();
    let opening = sum(|[before, idle, _]| idle.cpu_nanos.saturating_sub(before.cpu_nanos));
    let delivering = sum(|[_, idle, after]| after.cpu_nanos.saturating_sub(idle.cpu_nanos));
    let (before, idle) = (sum(|used| used[0].resident_bytes), sum(|used| used[1].resident_bytes));
    let per_session = |figure: u64| figure as f64 / sessions.max(1) as f64;
    Some(ProcessCosts {
        process,
        cpu_us_per_session: per_session(opening) / 1e3,
        cpu_us_per_delivery: (deliveries > 0).then(|| delivering as f64 / 1e3 / deliveries as f64),
        resident_bytes_before: before,
        resident_bytes_idle: idle,
        resident_bytes_after: sum(|used| used[2].resident_bytes),
        resident_bytes_peak: sum(|used| used[2].resident_bytes_peak),
        resident_bytes_per_session: per_session(idle.saturating_sub(before)),
    })
}
