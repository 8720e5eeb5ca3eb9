//! The source of a network's alerts: without one, an empty list does not mean that nothing is wrong.

use lineside_ingest::{Feed, Network};

/// The source of a network's alerts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AlertSource {
    /// The network has no real-time feed.
    None,
    /// No feed with alerts is current.
    Outdated,
    /// The feeds have contained no alerts.
    WithoutAlerts,
    /// A current feed has alerts, or is known to have nothing else.
    Current,
}

impl AlertSource {
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
        } else if sources.any(|feed| !feed.status().state.is_trouble()) {
            Self::Current
        } else {
            Self::Outdated
        }
    }

    /// Returns the reason why no alerts are known, for the page's attribute.
    pub(super) fn as_attribute(self) -> Option<&'static str> {
        match self {
            Self::None => Some("none"),
            Self::Outdated => Some("outdated"),
            Self::WithoutAlerts => Some("without_alerts"),
            Self::Current => None,
        }
    }
}
