//! `/metrics`: the metrics of all modules.
//!
//! The modules count for themselves; a scrape reads and encodes their counters. Feed ids are the only labels that an
//! operator chooses, so the configuration bounds their number.

mod prometheus_text;
mod exposition_format;
mod queues;

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use lineside_ingest::PollStage;
use lineside_quality::notification_counts::NotificationCounts;
use lineside_quality::reports;
use lineside_store::StoreMetrics;
use lineside_wire::partition::ConnectionCloseReason;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::{prometheus_protobuf, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::AdmissionControl;
use crate::app::App;
use crate::histogram::LatencyHistograms;
use crate::http_metrics::{EndpointFamily, HttpMetrics, STATUS_CLASSES};

pub(crate) use self::exposition_format::ExpositionFormat;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StatusLabel {
    status: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EndpointLabel {
    endpoint: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabel {
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StageLabel {
    stage: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FeedLabel {
    feed: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FeedStateLabels {
    feed: String,
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FeedOutcomeLabels {
    feed: String,
    outcome: String,
}

type FloatGauge = Gauge<f64, AtomicU64>;

pub(crate) fn encode_metrics(app: &App, exposition_format: ExpositionFormat) -> Bytes {
    let registry = build_registry(app);
    match exposition_format {
        ExpositionFormat::Text => encode_open_metrics(&registry).into(),
        ExpositionFormat::Classic => {
            prometheus_text::from_open_metrics(&encode_open_metrics(&registry)).into()
        }
        ExpositionFormat::Messages => {
            let messages = prometheus_protobuf::encode_to_vec(&registry);
            messages.expect("writing to memory cannot fail").into()
        }
    }
}

fn encode_open_metrics(registry: &Registry) -> String {
    let mut text = String::new();
    text::encode(&mut text, registry).expect("writing to memory cannot fail");
    text
}

fn build_registry(app: &App) -> Registry {
    let mut registry = Registry::with_prefix("lineside");
    register_http(&mut registry, app.http_metrics());
    register_partitions(&mut registry, app);
    register_admission(&mut registry, app.admission());
    let subscriptions: Gauge = Gauge::default();
    subscriptions.set(
        i64::try_from(app.siri_subscription_count().load(Ordering::Relaxed)).unwrap_or(i64::MAX),
    );
    registry.register("siri_subscriptions", "Active SIRI subscriptions", subscriptions);
    register_hub(&mut registry, &app.hub().metrics());
    register_uploads(&mut registry, app);
    register_latencies(&mut registry, app);
    register_feeds(&mut registry, app);
    register_service_ends(&mut registry, app);
    register_inboxes(&mut registry, app);
    register_settings(&mut registry, app);
    queues::register_queue(
        &mut registry,
        &queues::SCHEDULES,
        app.latest_reports().validation_queue_stats(),
    );
    queues::register_queue(
        &mut registry,
        &queues::VALIDATORS,
        app.external_validators().run_queue_stats(),
    );
    register_message_checks(
        &mut registry,
        app.latest_reports().message_checker().message_check_counts(),
    );
    register_notifications(&mut registry, app.notification_counts());
    if let Some(store) = app.store() {
        register_store(&mut registry, store.metrics());
    }
    registry
}

fn register_http(registry: &mut Registry, metrics: &HttpMetrics) {
    let requests: Family<StatusLabel, Counter> = Family::default();
    for (status, counted) in STATUS_CLASSES.into_iter().zip(&metrics.requests) {
        let n = counted.get();
        // Omits classes without any request.
        if n > 0 {
            requests.get_or_create(&StatusLabel { status }).inc_by(n);
        }
    }
    registry.register("http_requests", "HTTP responses, by status class", requests);
    let times = EndpointFamily::ALL.into_iter().zip(&metrics.request_times);
    let times = times.map(|(family, times)| {
        (EndpointLabel { endpoint: family.label_value() }, times.snapshot())
    });
    let help = "Time from a request to the head of its response, by endpoint family";
    registry.register(
        "http_request_seconds",
        help,
        LatencyHistograms::from_labeled(times.collect()),
    );
}

fn register_partitions(registry: &mut Registry, app: &App) {
    let partitions = app.partitions().metrics();
    let closed: Family<ReasonLabel, Counter> = Family::default();
    // Each reason is exported from the start, so that a rate over it has a first value.
    for why in ConnectionCloseReason::ALL {
        let n =
            partitions.closed_connection_count(why) + app.http_metrics().closed[why as usize].get();
        closed.get_or_create(&ReasonLabel { reason: why.metric_label() }).inc_by(n);
    }
    registry.register("wire_closed", "Closed sessions, by reason", closed);
    let gauges = [
        ("wire_connections", "Session connections, except HTTP/2", partitions.connection_count()),
        (
            "wire_pending_connections",
            "New connections waiting for their partition",
            partitions.pending_connection_count(),
        ),
        (
            "wire_pending_snapshots",
            "Sessions waiting for a full state",
            partitions.waiting_for_state_count(),
        ),
    ];
    for (name, help, value) in gauges {
        let gauge: Gauge = Gauge::default();
        gauge.set(value);
        registry.register(name, help, gauge);
    }
    let help = "Writes that were blocked by a full socket buffer";
    registry.register("wire_blocked", help, counter_with_value(partitions.blocked_write_count()));
}

fn register_admission(registry: &mut Registry, admission: &AdmissionControl) {
    let open: Gauge = Gauge::default();
    open.set(i64::from(admission.open_connections()));
    registry.register("http_connections", "Open HTTP connections", open);
    let refused: Family<ReasonLabel, Counter> = Family::default();
    for (reason, count) in admission.refusal_counts_by_limit() {
        refused.get_or_create(&ReasonLabel { reason }).inc_by(count);
    }
    let unsent: Gauge = Gauge::default();
    unsent.set(i64::try_from(admission.unsent_budget().unsent_bytes()).unwrap_or(i64::MAX));
    let help = "Unsent bytes of replies that were generated for one request";
    registry.register("http_unsent_bytes", help, unsent);
    let shared: Gauge = Gauge::default();
    shared.set(i64::try_from(admission.unsent_budget().unread_shared_bytes()).unwrap_or(i64::MAX));
    let help = "Unsent bytes of feed data that is no longer current";
    registry.register("http_unsent_shared_bytes", help, shared);
    let help = "Refused connections and replies, by limit";
    registry.register("http_refused", help, refused);
}

fn register_hub(registry: &mut Registry, hub: &lineside_hub::HubMetrics) {
    let gauges = [
        ("wire_sessions", "Open sessions", hub.sessions),
        ("hub_channels", "Channels with current or recent subscribers", hub.rooms),
        ("hub_subscriptions", "Subscriptions of all open sessions", hub.subscriptions),
        ("hub_channel_log_bytes", "Bytes in the logs of all channels", hub.ring_bytes),
        ("hub_state_bytes", "Bytes in the encoded states of all channels", hub.state_bytes),
        ("hub_presence_members", "Subscribers counted as present in their channels", hub.present),
    ];
    for (name, help, value) in gauges {
        let gauge: Gauge = Gauge::default();
        gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        registry.register(name, help, gauge);
    }
    let counters = [
        (
            "wire_deliveries",
            "Publications and state parts delivered to sessions",
            hub.deliveries_total,
        ),
        ("hub_publications", "Publications appended to rooms", hub.publications_total),
        ("hub_states_encoded", "Encoded room states", hub.states_encoded_total),
        ("hub_states_begun", "Full states started for subscribers", hub.states_started_total),
        ("hub_resumed", "Subscriptions resumed from their position", hub.resumed_total),
        ("hub_member_changes", "Published join and leave events", hub.member_changes_total),
        (
            "hub_member_changes_dropped",
            "Join and leave events dropped because there were too many",
            hub.member_changes_dropped_total,
        ),
        (
            "hub_refused_presence",
            "Subscribers not counted as present because of the limit",
            hub.refused_presence_total,
        ),
        (
            "hub_publications_evicted",
            "Publications dropped early by the byte limit",
            hub.evicted_total,
        ),
    ];
    for (name, help, value) in counters {
        registry.register(name, help, counter_with_value(value));
    }
    let closed: Family<ReasonLabel, Counter> = Family::default();
    for (reason, value) in [("lost", hub.ended_lost_total), ("removed", hub.ended_with_group_total)]
    {
        closed.get_or_create(&ReasonLabel { reason }).inc_by(value);
    }
    let help = "Subscriptions that the server ended, by reason";
    registry.register("hub_subscriptions_closed", help, closed);
    let gaps: Family<ReasonLabel, Counter> = Family::default();
    let reasons = [
        ("resume", hub.gaps_resume_total),
        ("slow", hub.gaps_slow_total),
        ("epoch", hub.gaps_epoch_total),
    ];
    for (reason, value) in reasons {
        gaps.get_or_create(&ReasonLabel { reason }).inc_by(value);
    }
    registry.register("hub_gaps", "Full states sent for missed changes, by reason", gaps);
}

fn register_settings(registry: &mut Registry, app: &App) {
    let reads: Family<OutcomeLabel, Counter> = Family::default();
    for (outcome, n) in app.live_settings().reload_counts() {
        reads.get_or_create(&OutcomeLabel { outcome }).inc_by(n);
    }
    registry.register("config_reloads", "Configuration reloads, by outcome", reads);
    let state = app.live_settings().reload_state();
    let refused: Gauge = Gauge::default();
    refused.set(i64::from(state.rejected.is_some()));
    let help = "1 while the configuration file is invalid and an older version applies";
    registry.register("config_refused", help, refused);
    let waiting: Gauge = Gauge::default();
    waiting.set(i64::try_from(state.deferred_keys.len()).unwrap_or(i64::MAX));
    registry.register(
        "config_deferred_keys",
        "Changed configuration keys that need a restart",
        waiting,
    );
    let read = FloatGauge::default();
    read.set(state.read_at.0 as f64 / 1000.0);
    let help = "Time when the current configuration was loaded, in Unix seconds";
    registry.register("config_last_reload_timestamp_seconds", help, read);
}

fn register_uploads(registry: &mut Registry, app: &App) {
    let open: Gauge = Gauge::default();
    open.set(i64::try_from(app.upload_service().count_active()).unwrap_or(i64::MAX));
    let help = "Uploaded files that are being received, queued or validated";
    registry.register("uploads_pending", help, open);
}

fn register_latencies(registry: &mut Registry, app: &App) {
    let help = "Time from a publication until it was ready to send on a session";
    let delivery = LatencyHistograms::without_labels(app.hub().delivery_time_snapshot());
    registry.register("wire_delivery_seconds", help, delivery);
    let histogram_for = |stage: PollStage| {
        (StageLabel { stage: stage.stage_name() }, app.ingest().poll_stage_durations(stage))
    };
    let stages = LatencyHistograms::from_labeled(PollStage::ALL.map(histogram_for).into());
    registry.register("ingest_stage_seconds", "Duration of each stage of a poll", stages);
}

fn register_message_checks(registry: &mut Registry, metrics: reports::MessageCheckCounts) {
    let counters = [
        ("validation_messages", "Validated real-time messages", metrics.checked),
        (
            "validation_messages_cut_short",
            "Real-time messages whose validation hit the time limit",
            metrics.cut_short,
        ),
    ];
    for (name, help, value) in counters {
        registry.register(name, help, counter_with_value(value));
    }
}

fn register_store(registry: &mut Registry, metrics: StoreMetrics) {
    let counters = [
        ("store_writes", "Polls, states and reports written to the store", metrics.written),
        (
            "store_dropped",
            "Polls, states and reports that were dropped without being written",
            metrics.lost,
        ),
        ("store_failures", "Failed writes to the database file", metrics.failures),
        ("store_snapshots", "Stored snapshots of last good bytes", metrics.snapshots),
        (
            "store_snapshot_failures",
            "Snapshots of last good bytes that could not be stored",
            metrics.snapshots_failed,
        ),
    ];
    for (name, help, value) in counters {
        registry.register(name, help, counter_with_value(value));
    }
    let whole = |bytes| i64::try_from(bytes).unwrap_or(i64::MAX);
    let gauges = [
        (
            "store_failing",
            "1 while the database file cannot be written",
            i64::from(metrics.is_failing),
        ),
        ("store_bytes", "Size of the database file", whole(metrics.bytes)),
        (
            "store_snapshots_failing",
            "1 while snapshots of last good bytes cannot be stored",
            i64::from(metrics.snapshots_failing),
        ),
        ("store_blob_bytes", "Size of all stored feed data", whole(metrics.blob_bytes)),
    ];
    for (name, help, value) in gauges {
        let gauge: Gauge = Gauge::default();
        gauge.set(value);
        registry.register(name, help, gauge);
    }
}

fn register_notifications(registry: &mut Registry, counts: &NotificationCounts) {
    let counters = [
        ("notifications_sent", "Delivered notifications", &counts.sent),
        ("notifications_failures", "Failed attempts to deliver notifications", &counts.failed),
        ("notifications_lost", "Dropped notifications", &counts.dropped),
    ];
    for (name, help, value) in counters {
        registry.register(name, help, counter_with_value(value.load(Ordering::Relaxed)));
    }
    let pending: Gauge = Gauge::default();
    pending.set(i64::try_from(counts.pending.load(Ordering::Relaxed)).unwrap_or(i64::MAX));
    registry.register("notifications_pending", "Notifications waiting for delivery", pending);
}

/// Returns the label of a poll's outcome. Statuses are labeled by their class, since a producer may send any status.
fn poll_outcome_label(outcome: &str) -> String {
    let class = outcome.strip_prefix("http_").and_then(|status| status.chars().next());
    class.map_or_else(|| outcome.to_owned(), |class| format!("http_{class}xx"))
}

fn counter_with_value(value: u64) -> Counter {
    let counter = Counter::default();
    counter.inc_by(value);
    counter
}

fn register_feeds(registry: &mut Registry, app: &App) {
    let fetches: Family<FeedOutcomeLabels, Counter> = Family::default();
    let ages: Family<FeedLabel, FloatGauge> = Family::default();
    let entities: Family<FeedLabel, Gauge> = Family::default();
    let problems: Family<FeedLabel, Gauge> = Family::default();
    let bytes: Family<FeedLabel, Counter> = Family::default();
    let states: Family<FeedStateLabels, Gauge> = Family::default();
    let served: [Family<FeedLabel, Counter>; 3] = Default::default();
    for feed in app.ingest().feeds() {
        let status = feed.status_including_files();
        let id = feed.config().id.as_str().to_owned();
        let label = FeedLabel { feed: id.clone() };
        for (outcome, count) in &status.outcomes {
            let labels =
                FeedOutcomeLabels { feed: id.clone(), outcome: poll_outcome_label(outcome) };
            fetches.get_or_create(&labels).inc_by(*count);
        }
        if let Some(at) = status.last_success {
            ages.get_or_create(&label).set(app.now().duration_since(at).as_secs_f64());
        }
        entities.get_or_create(&label).set(status.entities.cast_signed());
        problems.get_or_create(&label).set(status.problems.total_count().cast_signed());
        bytes.get_or_create(&label).inc_by(status.bytes);
        let metrics = feed.metrics();
        let counted = [metrics.request_count(), metrics.not_modified_count(), metrics.bytes_sent()];
        for (family, n) in served.iter().zip(counted) {
            family.get_or_create(&label).inc_by(n);
        }
        let labels = FeedStateLabels { feed: id, state: status.state.as_str() };
        states.get_or_create(&labels).set(1);
    }
    registry.register("ingest_fetches", "Fetches, by feed and outcome", fetches);
    let help = "Seconds since the feed last sent or confirmed valid data";
    registry.register("ingest_snapshot_age_seconds", help, ages);
    registry.register(
        "ingest_entities",
        "Served records, trips of a schedule, or files of a system",
        entities,
    );
    registry.register("ingest_problems", "Problems in the served data", problems);
    registry.register("ingest_bytes", "Bytes received in response bodies", bytes);
    let [requests, not_modified, out] = served;
    registry.register("http_served", "Answered requests for a feed's data", requests);
    let help = "304 responses to requests for a feed's data";
    registry.register("http_served_not_modified", help, not_modified);
    registry.register("http_served_bytes", "Bytes sent in bodies of a feed's data", out);
    registry.register("ingest_feed_state", "State of each feed", states);
}

/// Registers the ends of the feeds' timetables.
fn register_service_ends(registry: &mut Registry, app: &App) {
    let ends: Family<FeedLabel, Gauge> = Family::default();
    for feed in app.ingest().feeds() {
        let Some(end) = feed.service_date_range().and_then(|window| window.end_time()) else {
            continue;
        };
        let label = FeedLabel { feed: feed.config().id.as_str().to_owned() };
        ends.get_or_create(&label).set(end.unix_seconds());
    }
    let help = "End of the timetable's last service day, in Unix seconds";
    registry.register("ingest_service_end_timestamp_seconds", help, ends);
}

/// Registers the inboxes of feeds whose producers deliver by themselves.
fn register_inboxes(registry: &mut Registry, app: &App) {
    let bytes: Family<FeedLabel, Gauge> = Family::default();
    let refused: Family<FeedLabel, Counter> = Family::default();
    for feed in app.ingest().feeds() {
        let Some(inbox) = feed.inbox() else { continue };
        let label = FeedLabel { feed: feed.config().id.as_str().to_owned() };
        bytes.get_or_create(&label).set(inbox.pending_bytes().cast_signed());
        refused.get_or_create(&label).inc_by(inbox.refused_delivery_count());
    }
    let help = "Bytes of deliveries that are being received, queued or read";
    registry.register("ingest_inbox_bytes", help, bytes);
    let help = "Deliveries refused because the queue was full";
    registry.register("ingest_inbox_refused", help, refused);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_counted_by_their_class() {
        let labels = ["new", "timeout", "http_404", "http_499", "http_503"].map(poll_outcome_label);
        assert_eq!(labels, ["new", "timeout", "http_4xx", "http_4xx", "http_5xx"]);
    }
}
