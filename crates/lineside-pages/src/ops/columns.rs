//! The columns of the table: their contents and their sort order. `web/plain/ops.js` does the same.

use lineside_http::ops::FeedOverview;
use lineside_model::FeedState;
use lineside_sync::UnixMillis;

use crate::report_brief;
use crate::words;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DashboardColumn {
    Name,
    State,
    Report,
    Lag,
    Next,
    Took,
    Amplification,
    Out,
    Subscribers,
}

impl DashboardColumn {
    pub(super) const ALL: [Self; 9] = [
        Self::Name,
        Self::State,
        Self::Report,
        Self::Lag,
        Self::Next,
        Self::Took,
        Self::Amplification,
        Self::Out,
        Self::Subscribers,
    ];

    /// All columns but name and state.
    pub(super) const NUMERIC: [Self; 7] = [
        Self::Report,
        Self::Lag,
        Self::Next,
        Self::Took,
        Self::Amplification,
        Self::Out,
        Self::Subscribers,
    ];

    pub(super) fn is_numeric(self) -> bool {
        Self::NUMERIC.contains(&self)
    }

    /// Returns the column's name in addresses.
    pub(super) fn query_value(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::State => "state",
            Self::Report => "report",
            Self::Next => "next",
            Self::Took => "took",
            Self::Out => "out",
            Self::Amplification => "amplification",
            Self::Subscribers => "subscribers",
            Self::Lag => "lag",
        }
    }

    pub(super) fn parse_query_value(column_name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|column| column.query_value() == column_name)
    }

    /// Returns the column's heading.
    pub(super) fn column_title(self) -> &'static str {
        match self {
            Self::Name => "Feed",
            Self::State => "State",
            Self::Report => "Errors · warnings",
            Self::Next => "Next poll",
            Self::Took => "Fetch time, median · p99",
            Self::Out => "Served",
            Self::Amplification => "Requests per fetch",
            Self::Subscribers => "Subscribers",
            Self::Lag => "Updated",
        }
    }

    /// Returns the column's description.
    pub(super) fn column_description(self) -> &'static str {
        match self {
            Self::Name => "By name",
            Self::State => "By severity, trouble first",
            Self::Report => "Errors and warnings in the latest report",
            Self::Next => "Time of the next request to the source",
            Self::Took => "Duration of the last fetches: median and 99th percentile",
            Self::Out => "Bytes sent to clients",
            Self::Amplification => "Client requests per request to the source",
            Self::Subscribers => "Subscriptions to the feed’s channels",
            Self::Lag => {
                "Age of the data by their own timestamp, or by their fetch if they have none"
            }
        }
    }

    pub(super) fn cell_text(self, feed: &FeedOverview, now: UnixMillis) -> String {
        let nothing = || "–".to_owned();
        match self {
            Self::Name => feed.name.clone().unwrap_or_else(|| feed.id.to_string()),
            Self::State => feed.state.as_str().to_owned(),
            Self::Report => {
                feed.report.as_ref().map_or_else(nothing, report_brief::format_report_counts)
            }
            Self::Next => match feed.next_poll.map(|at| at.duration_since(now).as_secs()) {
                Some(0) => "now".to_owned(),
                Some(seconds) => format!("in {}", words::format_short_duration(seconds as f64)),
                None => nothing(),
            },
            Self::Took => feed.fetches.took.map_or_else(nothing, |took| {
                format!(
                    "{} · {}",
                    words::format_short_duration(took.p50),
                    words::format_short_duration(took.p99)
                )
            }),
            Self::Out => words::format_bytes(feed.served.bytes),
            Self::Amplification => feed
                .amplification
                .map_or_else(nothing, |times| format!("{} ×", words::format_one_decimal(times))),
            Self::Subscribers => words::format_number(feed.subscribers),
            Self::Lag => match data_age_seconds(feed, now) {
                Some(seconds) if feed.data_time.is_none() => {
                    format!("fetched {}", words::format_age(seconds))
                }
                Some(seconds) => words::format_age(seconds),
                None => "none yet".to_owned(),
            },
        }
    }

    /// Returns the sort key: the greater, the more attention the feed needs.
    pub(super) fn attention_sort_key(self, feed: &FeedOverview, now: UnixMillis) -> f64 {
        match self {
            // Names are sorted as text.
            Self::Name => 0.0,
            Self::State => state_severity(feed.state),
            Self::Report => match &feed.report {
                Some(it) if it.is_of_finished_validation() => {
                    it.errors as f64 * ERROR_WARNINGS + it.warnings as f64
                }
                _ => -1.0,
            },
            Self::Next => feed.next_poll.map_or(f64::INFINITY, |at| at.0 as f64),
            Self::Took => feed.fetches.took.map_or(-1.0, |took| took.p99),
            Self::Out => feed.served.bytes as f64,
            Self::Amplification => feed.amplification.unwrap_or(-1.0),
            Self::Subscribers => feed.subscribers as f64,
            Self::Lag => {
                data_age_seconds(feed, now).map_or(f64::INFINITY, |seconds| seconds as f64)
            }
        }
    }
}

/// The number of warnings that weigh as much as an error: more than any report has.
const ERROR_WARNINGS: f64 = 1e9;

fn state_severity(state: FeedState) -> f64 {
    match state {
        FeedState::Ok => 0.0,
        FeedState::Unknown => 1.0,
        FeedState::Paused => 2.0,
        FeedState::Empty => 3.0,
        FeedState::Late => 4.0,
        FeedState::Stale => 5.0,
        FeedState::Expired => 6.0,
        FeedState::Failing => 7.0,
    }
}

pub(super) fn states_worst_first() -> Vec<FeedState> {
    let mut states = FeedState::ALL.to_vec();
    states.sort_by(|a, b| state_severity(*b).total_cmp(&state_severity(*a)));
    states
}

/// Returns the age of the data in seconds: by their own time, or by their fetch. During a replay, their own time is on
/// the recording's clock.
pub(super) fn data_age_seconds(feed: &FeedOverview, now: UnixMillis) -> Option<i64> {
    let elapsed = |at: UnixMillis| (now.0 - at.0) / 1_000;
    match feed.data_time {
        Some(at) => Some(elapsed(at) - feed.recorded_seconds_ago.unwrap_or_default()),
        None => feed.last_success.map(elapsed),
    }
}

#[cfg(test)]
mod tests {
    use lineside_model::FeedId;

    use super::*;

    #[test]
    fn the_age_of_recorded_data_is_by_the_clock_of_the_recording() {
        let now = UnixMillis::from_seconds(1_000_000);
        let mut feed = FeedOverview::empty_overview(FeedId::new("city").unwrap());
        assert_eq!(data_age_seconds(&feed, now), None);
        feed.last_success = Some(UnixMillis::from_seconds(999_993));
        assert_eq!(data_age_seconds(&feed, now), Some(7));
        feed.data_time = Some(UnixMillis::from_seconds(900_000));
        assert_eq!(data_age_seconds(&feed, now), Some(100_000));
        feed.recorded_seconds_ago = Some(99_960);
        assert_eq!(data_age_seconds(&feed, now), Some(40));
    }

    #[test]
    fn the_age_of_a_fetch_is_told_from_the_age_of_data() {
        let now = UnixMillis::from_seconds(1_000_000);
        let at = Some(UnixMillis::from_seconds(999_993));
        let empty = FeedOverview::empty_overview(FeedId::new("city").unwrap());
        let fetched = FeedOverview { last_success: at, ..empty.clone() };
        let timed = FeedOverview { data_time: at, ..empty };
        let text = |feed: &FeedOverview| DashboardColumn::Lag.cell_text(feed, now);
        assert_eq!(text(&timed), words::format_age(7));
        assert!(text(&fetched).ends_with(&text(&timed)) && text(&fetched) != text(&timed));
    }
}
