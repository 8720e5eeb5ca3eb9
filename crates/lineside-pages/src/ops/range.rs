//! The time range of the server's tiles.

use jiff::tz::TimeZone;
use lineside_sync::UnixMillis;
use maud::{Markup, html};

use super::dashboard_query::DashboardQuery;
use crate::words;

const MINUTE_MS: i64 = 60_000;

/// A range of time until now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum TileRange {
    /// The last five minutes, by the second, live.
    #[default]
    Live,
    Hour,
    Day,
    Week,
}

impl TileRange {
    pub(super) const ALL: [Self; 4] = [Self::Live, Self::Hour, Self::Day, Self::Week];

    /// Returns the range's name in addresses.
    pub(super) fn query_value(self) -> &'static str {
        match self {
            Self::Live => "5m",
            Self::Hour => "1h",
            Self::Day => "1d",
            Self::Week => "1w",
        }
    }

    pub(super) fn parse_query_value(range_name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|range| range.query_value() == range_name)
    }

    fn range_title(self) -> &'static str {
        match self {
            Self::Live => "5 minutes",
            Self::Hour => "1 hour",
            Self::Day => "1 day",
            Self::Week => "1 week",
        }
    }

    /// Returns its length and the step between two values, in minutes; `None` for the live range.
    pub(super) fn minutes_and_step(self) -> Option<(i64, i64)> {
        match self {
            Self::Live => None,
            Self::Hour => Some((60, 1)),
            Self::Day => Some((24 * 60, 6)),
            Self::Week => Some((7 * 24 * 60, 42)),
        }
    }

    pub(super) fn length_ms(self) -> i64 {
        self.minutes_and_step().map_or(5 * MINUTE_MS, |(minutes, _)| minutes * MINUTE_MS)
    }

    /// Describes the beginning of the range for an axis.
    pub(super) fn describe_start(self, now: UnixMillis) -> String {
        let start = UnixMillis(now.0 - self.length_ms()).unix_seconds();
        match self {
            Self::Live => "5 min ago".to_owned(),
            Self::Hour => words::format_clock(start, &TimeZone::UTC),
            Self::Day | Self::Week => words::format_day_and_clock(start, &TimeZone::UTC),
        }
    }
}

/// Renders links to the ranges.
pub(super) fn render_links(query: &DashboardQuery) -> Markup {
    html! {
        nav.ranges aria-label="Range of the tiles" {
            @for range in TileRange::ALL {
                a href=(query.with_range(range).dashboard_url()) aria-current=[(query.range == range).then_some("true")] { (range.range_title()) }
            }
        }
    }
}
