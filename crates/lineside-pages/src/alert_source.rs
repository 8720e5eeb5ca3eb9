//! The source of a network's alerts: without one, an empty list does not mean that nothing is wrong.

use lineside_ingest::{Feed, Network};
use lineside_sync::UnixMillis;

/// The source of a network's alerts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AlertFeedStatus {
    /// The network has no real-time feed.
    None,
    /// No feed with alerts is current.
    Outdated,
    /// The feeds have contained no alerts.
    WithoutAlerts,
    /// A current feed has alerts, or is known to have nothing else.
    Current,
}

impl AlertFeedStatus {
    pub(super) fn for_network(network: &Network) -> Self {
        let feeds = network.realtime_feeds();
        let state = network.state();
        // A feed that has never been received may have alerts.
        let has_alerts = |feed: &Feed| {
            feed.snapshot().is_none()
                || feed.status().has_only_alerts
                || state.alerts().any(|record| record.feed.as_str() == feed.id().as_str())
        };
        let mut sources = feeds.iter().filter(|feed| has_alerts(feed)).peekable();
        if feeds.is_empty() {
            Self::None
        } else if sources.peek().is_none() {
            Self::WithoutAlerts
        } else if sources.any(|feed| !feed.status().state.is_problem_state()) {
            Self::Current
        } else {
            Self::Outdated
        }
    }

    /// Returns the reason why no alerts are known, for the page's attribute.
    pub(super) fn missing_alerts_reason(self) -> Option<&'static str> {
        match self {
            Self::None => Some("none"),
            Self::Outdated => Some("outdated"),
            Self::WithoutAlerts => Some("without_alerts"),
            Self::Current => None,
        }
    }
}

/// Returns the time of the newest live data of a network if all its live feeds are out of date; `None` if one is
/// current, or none has data.
pub(super) fn outdated_live_data_time(network: &Network) -> Option<UnixMillis> {
    let feeds = network.realtime_feeds();
    let statuses: Vec<_> = feeds.iter().map(|feed| feed.status()).collect();
    let are_outdated = statuses.iter().all(|status| status.unreliable_since.is_some());
    let times = statuses.iter().filter_map(|status| status.data_time.or(status.last_success));
    times.max().filter(|_| are_outdated)
}
