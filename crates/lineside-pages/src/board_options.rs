//! The options of a departure board in its address, and the departures that they select.

use std::time::Duration;

use axum::http::HeaderMap;
use lineside_http::QueryParameters;
use lineside_ingest::Network;
use lineside_ingest::limits::STOP_DELAYS_MAX;
use lineside_model::Departure;
use lineside_sync::UnixMillis;

use super::board_window;
use super::languages::PreferredLanguages;

/// Rows of a board, as many as its channel has.
pub(super) const DEPARTURES_MAX: usize = 40;
/// Lines that an address may name.
const LINES_MAX: usize = 40;
/// The time span that a board covers, the same as its channel's.
const HORIZON: Duration = Duration::from_secs(board_window::HORIZON_S.unsigned_abs());
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The options of a board in its address.
#[derive(Debug)]
pub(super) struct BoardOptions {
    /// Only these lines, by name or id; all if empty.
    pub(super) lines: Vec<String>,
    pub(super) limit: usize,
    /// The first time shown, if it is not now; as the address has it.
    pub(super) after: Option<String>,
    pub(super) languages: PreferredLanguages,
    pub(super) is_embedded: bool,
}

impl BoardOptions {
    pub(super) fn from_request(parameters: &QueryParameters, headers: &HeaderMap) -> Self {
        let lines = parameters.values_of("lines").flat_map(|lines| lines.split(','));
        let lines = lines.map(str::trim).filter(|line| !line.is_empty());
        let limit = parameters.find_value("limit").and_then(|limit| limit.parse().ok());
        Self {
            lines: lines.take(LINES_MAX).map(str::to_owned).collect(),
            limit: limit.unwrap_or(DEPARTURES_MAX).clamp(1, DEPARTURES_MAX),
            after: parameters.find_value("after").map(str::to_owned),
            languages: PreferredLanguages::from_request(parameters, headers),
            is_embedded: parameters.asks_for_embedded_page(),
        }
    }

    /// Returns the matching departures from a time on. Those of a rare line come after many others.
    pub(super) fn list_departures(
        &self,
        network: &Network,
        stop_id: &str,
        from: i64,
        departures_max: usize,
    ) -> Vec<Departure> {
        let departures_max = if self.lines.is_empty() { departures_max } else { STOP_DELAYS_MAX };
        let (state, now) = (network.state(), network.data_time_now());
        let from = UnixMillis::from_seconds(from);
        let all = lineside_model::list_departures_from(
            &state,
            stop_id,
            now,
            from,
            departures_max,
            HORIZON,
        );
        let mut departures = all.unwrap_or_default();
        departures.sort_by(|a, b| {
            (a.expected_or_scheduled_time(), &a.id).cmp(&(b.expected_or_scheduled_time(), &b.id))
        });
        // Only a board of the present shows departures that have just left.
        let is_later = from > now;
        departures.retain(|departure| {
            self.matches_departure(departure)
                && (!is_later || departure.expected_or_scheduled_time() >= from.unix_seconds())
        });
        departures
    }

    /// Returns the time of the first matching departure from a time on within a week; `None` if there is none.
    pub(super) fn find_next_departure_time(
        &self,
        network: &Network,
        stop_id: &str,
        from: i64,
    ) -> Option<i64> {
        let (state, now) = (network.state(), network.data_time_now());
        let find_within = |horizon: Duration| {
            let from = UnixMillis::from_seconds(from);
            let all = lineside_model::list_departures_from(
                &state,
                stop_id,
                now,
                from,
                STOP_DELAYS_MAX,
                horizon,
            );
            let all = all.unwrap_or_default().into_iter();
            let ahead = all
                .filter(|it| self.matches_departure(it))
                .map(|it| it.expected_or_scheduled_time());
            ahead.filter(|at| *at >= from.unix_seconds()).min()
        };
        // A stop that is served daily would have many departures in a week.
        [DAY, 7 * DAY].into_iter().find_map(find_within)
    }

    fn matches_departure(&self, departure: &Departure) -> bool {
        let own = [departure.route_short_name.as_str(), departure.route_id.as_str()];
        self.lines.is_empty() || self.lines.iter().any(|line| own.contains(&line.as_str()))
    }
}
