//! The columns of the table: what each shows, and what it is ordered by. `web/plain/ops.js` says the same.

use lineside_ingest::FeedState;
use lineside_sync::UnixMillis;

use crate::ops::FeedFigures;
use crate::pages::{report, words};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    Name,
    State,
    Report,
    Next,
    Took,
    In,
    NotModified,
    Out,
    Amplification,
    Cache,
    Subscribers,
    Lag,
}

impl Column {
    pub(super) const ALL: [Self; 12] = [
        Self::Name,
        Self::State,
        Self::Report,
        Self::Next,
        Self::Took,
        Self::In,
        Self::NotModified,
        Self::Out,
        Self::Amplification,
        Self::Cache,
        Self::Subscribers,
        Self::Lag,
    ];

    /// All but the first two.
    pub(super) const FIGURES: [Self; 10] = [
        Self::Report,
        Self::Next,
        Self::Took,
        Self::In,
        Self::NotModified,
        Self::Out,
        Self::Amplification,
        Self::Cache,
        Self::Subscribers,
        Self::Lag,
    ];

    pub(super) fn is_figure(self) -> bool {
        Self::FIGURES.contains(&self)
    }

    /// In the address.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::State => "state",
            Self::Report => "report",
            Self::Next => "next",
            Self::Took => "took",
            Self::In => "in",
            Self::NotModified => "not_modified",
            Self::Out => "out",
            Self::Amplification => "amplification",
            Self::Cache => "cache",
            Self::Subscribers => "subscribers",
            Self::Lag => "lag",
        }
    }

    pub(super) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|column| column.word() == word)
    }

    /// At its head.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Name => "Feed",
            Self::State => "State",
            Self::Report => "Report",
            Self::Next => "Next poll",
            Self::Took => "Fetch",
            Self::In => "In",
            Self::NotModified => "304",
            Self::Out => "Out",
            Self::Amplification => "Readers",
            Self::Cache => "Cache",
            Self::Subscribers => "Subscribers",
            Self::Lag => "Data",
        }
    }

    /// In a sentence.
    pub(super) fn meaning(self) -> &'static str {
        match self {
            Self::Name => "By name",
            Self::State => "By how much is wrong",
            Self::Report => "Errors and warnings of its latest report",
            Self::Next => "When its source is asked next",
            Self::Took => {
                "How long its source took for the last fetches: half of them, and 99 of 100"
            }
            Self::In => "Bytes that came from its source",
            Self::NotModified => "Share of fetches to which its source said that nothing is new",
            Self::Out => "Bytes that readers were given",
            Self::Amplification => "Requests of readers for each request to its source",
            Self::Cache => "Bytes held ready to be sent",
            Self::Subscribers => "Subscriptions to its channels",
            Self::Lag => "How old its data are, by their own time",
        }
    }

    /// What the cell shows.
    pub(super) fn words(self, feed: &FeedFigures, now: UnixMillis) -> String {
        let nothing = || "–".to_owned();
        match self {
            Self::Name => feed.name.clone().unwrap_or_else(|| feed.id.to_string()),
            Self::State => feed.state.as_str().to_owned(),
            Self::Report => feed.report.as_ref().map_or_else(nothing, report::in_figures),
            Self::Next => match feed.next_poll.map(|at| at.since(now).as_secs()) {
                Some(0) => "now".to_owned(),
                Some(seconds) => format!("in {}", words::duration(seconds as f64)),
                None => nothing(),
            },
            Self::Took => feed.fetches.took.map_or_else(nothing, |took| {
                format!("{} · {}", words::duration(took.p50), words::duration(took.p99))
            }),
            Self::In => words::bytes(feed.fetches.bytes),
            Self::NotModified => match feed.fetches.total {
                0 => nothing(),
                total => words::share(feed.fetches.not_modified as f64 / total as f64),
            },
            Self::Out => words::bytes(feed.served.bytes),
            Self::Amplification => {
                feed.amplification.map_or_else(nothing, |times| format!("{times:.1} ×"))
            }
            Self::Cache => words::bytes(feed.cache.bytes as u64),
            Self::Subscribers => words::number(feed.subscribers),
            Self::Lag => match lag(feed, now) {
                Some(seconds) => words::age(seconds),
                None => "none yet".to_owned(),
            },
        }
    }

    /// What rows are ordered by: the greater, the more there is to look at.
    pub(super) fn weight(self, feed: &FeedFigures, now: UnixMillis) -> f64 {
        match self {
            // Names are texts, and compared as such.
            Self::Name => 0.0,
            Self::State => wrong(feed.state),
            Self::Report => match &feed.report {
                Some(it) if it.is_word() => it.errors as f64 * ERROR_WARNINGS + it.warnings as f64,
                _ => -1.0,
            },
            Self::Next => feed.next_poll.map_or(f64::INFINITY, |at| at.0 as f64),
            Self::Took => feed.fetches.took.map_or(-1.0, |took| took.p99),
            Self::In => feed.fetches.bytes as f64,
            Self::NotModified => match feed.fetches.total {
                0 => -1.0,
                total => feed.fetches.not_modified as f64 / total as f64,
            },
            Self::Out => feed.served.bytes as f64,
            Self::Amplification => feed.amplification.unwrap_or(-1.0),
            Self::Cache => feed.cache.bytes as f64,
            Self::Subscribers => feed.subscribers as f64,
            Self::Lag => lag(feed, now).map_or(f64::INFINITY, |seconds| seconds as f64),
        }
    }
}

/// Warnings that weigh as much as an error: more than any report has.
const ERROR_WARNINGS: f64 = 1e9;

/// How much is wrong with a feed in this state.
fn wrong(state: FeedState) -> f64 {
    match state {
        FeedState::Ok => 0.0,
        FeedState::Unknown => 1.0,
        FeedState::Empty => 2.0,
        FeedState::Late => 3.0,
        FeedState::Stale => 4.0,
        FeedState::Failing => 5.0,
    }
}

/// How old the data are, in seconds: by their own time, else by when they came.
pub(super) fn lag(feed: &FeedFigures, now: UnixMillis) -> Option<i64> {
    feed.data_time.or(feed.last_success).map(|at| (now.0 - at.0) / 1_000)
}
