//! `/trips/<feed>/<trip_id>?date=YYYY-MM-DD&start=HH:MM:SS`: a trip on a service date with its calls, scheduled and
//! expected. Complete without scripts; with scripts, `web/plain/live_page.js` reloads the page when the trip's channel
//! reports a change. `start` is for trips that `frequencies.txt` repeats.

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lineside_formats::gtfs::{Route, Timetable};
use lineside_http::app::App;
use lineside_http::delays::VehicleNoun;
use lineside_http::{QueryParameters, Refusal, lookup, run_blocking};
use lineside_hub::encode_segment;
use lineside_ingest::Network;
use lineside_model::{DepartureStatus, Record, TripCall, TripNotFound, TripRun, TripRunQuery};
use maud::{Markup, html};
use serde_json::json;

use super::alerts::{self, AlertSummary};
use super::languages::PreferredLanguages;
use super::layout::{self, NavSection, PageLayout};
use super::{badge, network_page, states, trip_alerts, trip_days, words};
use crate::last_position;
use crate::links;
use crate::network_names;
use crate::not_found;

/// Seconds between reloads of the page without scripts.
const REFRESH_S: u32 = 30;
/// Real-time feeds whose channel of the trip the page follows.
const CHANNELS_MAX: usize = 16;
/// The least number of stops before the next one that are collapsed, so that the next stop is on the first screen.
const COLLAPSED_CALLS_MIN: usize = 3;

/// Seconds after the last call of a trip from which on its page shows no live sign: the last call may be late.
const ENDED_S: i64 = 10 * 60;
/// Seconds after the last call of a trip from which on its page is not reloaded.
const OVER_S: i64 = 6 * 3600;

/// Seconds from the stated start of a trip to its first call that mean that the feed has dropped calls.
const UNREPORTED_S: i64 = 120;

pub(super) async fn get_trip(
    State(app): State<App>,
    Path((feed, trip_id)): Path<(String, String)>,
    parameters: QueryParameters,
    headers: HeaderMap,
) -> Response {
    let languages = PreferredLanguages::from_request(&parameters, &headers);
    match find_trip_run(&app, &feed, &trip_id, &parameters).await {
        Ok((network, timetable, run)) => {
            let view = TripView::new(&app, &network, &timetable, run, &languages);
            let title = view.title();
            let mut page = PageLayout::new(&title, NavSection::Networks);
            page.styles = &["riders.css"];
            // Nothing changes on the page of a trip that is long over.
            if !view.is_long_over() {
                page.scripts = &["live_page.js"];
                page.refresh = Some(REFRESH_S);
            }
            page.description = Some(format!(
                "{title}: stops, planned and expected times, and platforms of the trip."
            ));
            network_page::reply_with_localized_page(&page, &view.render_trip_page())
        }
        Err(refusal @ Refusal::TripNotOnDate { .. }) => {
            let date = parameters.find_value("date").and_then(parse_date);
            trip_days::reply_trip_not_on_date(&app, &feed, &trip_id, date, &refusal)
        }
        Err(refusal) => not_found::reply_with_refusal_page(&refusal, false),
    }
}

async fn find_trip_run(
    app: &App,
    feed: &str,
    trip_id: &str,
    parameters: &QueryParameters,
) -> Result<(std::sync::Arc<Network>, std::sync::Arc<Timetable>, TripRun), Refusal> {
    let (network, dataset) = network_page::find_network_and_schedule(app, feed)?;
    let not_on_date = |date: &str| Refusal::TripNotOnDate {
        feed: lookup::shorten_id(feed),
        trip: lookup::shorten_id(trip_id),
        date: lookup::shorten_id(date),
    };
    let date_text = parameters.find_value("date");
    let date = match date_text {
        None => None,
        Some(date_text) => Some(parse_date(date_text).ok_or_else(|| not_on_date(date_text))?),
    };
    let start_time = parameters.find_value("start").and_then(links::parse_gtfs_time);
    let permit = app.admission().page_render_slots().acquire_permit().await?;
    let (state, now, id) = (network.state(), network.data_time_now(), trip_id.to_owned());
    let timetable = std::sync::Arc::clone(&dataset.timetable);
    let work = move || {
        let _permit = permit;
        let find_on =
            |date| state.find_trip_run(TripRunQuery { trip_id: &id, date, start_time }, now);
        let today = timetable.local_date_at(now.unix_seconds());
        match find_on(date) {
            // A link without a date leads to the nearest day on which the trip runs.
            Err(TripNotFound::NotOnDate) if date.is_none() => timetable
                .find_trip(&id)
                .and_then(|trip| trip_days::find_nearest_service_day(&timetable, trip, today))
                .map_or(Err(TripNotFound::NotOnDate), |day| find_on(Some(day))),
            found => found,
        }
    };
    let run = run_blocking(work).await?.map_err(|error| match error {
        TripNotFound::UnknownTrip => Refusal::UnknownTrip {
            feed: lookup::shorten_id(feed),
            trip: lookup::shorten_id(trip_id),
        },
        TripNotFound::NotOnDate => {
            let today = dataset.timetable.local_date_at(now.unix_seconds());
            not_on_date(date_text.unwrap_or(&today.to_string()))
        }
    })?;
    Ok((network, std::sync::Arc::clone(&dataset.timetable), run))
}

/// Parses `YYYY-MM-DD`, or `YYYYMMDD` as in GTFS.
pub(super) fn parse_date(text: &str) -> Option<Date> {
    Date::strptime("%Y-%m-%d", text).or_else(|_| Date::strptime("%Y%m%d", text)).ok()
}

/// The data of a trip's page.
struct TripView<'a> {
    app: &'a App,
    network: &'a Network,
    timetable: &'a Timetable,
    run: TripRun,
    alerts: Vec<AlertSummary>,
    /// True if the feed of the predictions is unreliable.
    is_stale: bool,
    now: i64,
}

impl<'a> TripView<'a> {
    fn new(
        app: &'a App,
        network: &'a Network,
        timetable: &'a Timetable,
        run: TripRun,
        languages: &PreferredLanguages,
    ) -> Self {
        let now = network.data_time_now().unix_seconds();
        let route = run.route_id.as_deref().and_then(|id| timetable.find_route(id));
        let span = trip_time_span(&run, now);
        let alerts = route.map(|route| {
            trip_alerts::find_for_trip(&network.state(), timetable, route, span, now, languages)
        });
        let feeds = network.realtime_feeds();
        let source = feeds.iter().find(|feed| Some(feed.id()) == run.source.as_ref());
        let is_stale = source.is_some_and(|feed| feed.status().unreliable_since.is_some());
        Self { app, network, timetable, run, alerts: alerts.unwrap_or_default(), is_stale, now }
    }

    fn time_zone(&self) -> &TimeZone {
        self.timetable.timezone()
    }

    fn network_id(&self) -> &str {
        self.network.id().as_str()
    }

    fn route(&self) -> Option<Route<'a>> {
        let id = self.run.route_id.as_deref()?;
        self.timetable.find_route(id).map(|route| self.timetable.route(route))
    }

    fn title(&self) -> String {
        let line = self.route().map(|route| words::line_title(route.display_name()));
        let line = line.unwrap_or_else(|| "Trip".to_owned());
        let to = self.run.headsign.as_deref().map(|to| format!(" to {to}")).unwrap_or_default();
        let date = self.run.date.map(|date| format!(", {}", words::format_date_with_weekday(date)));
        format!("{line}{to}{}", date.unwrap_or_default())
    }

    /// Returns the next call, if the trip is running or still to come.
    fn next_call_index(&self) -> Option<usize> {
        let is_ahead = |call: &TripCall| {
            call.status != DepartureStatus::Skipped
                && call.best_known_time().is_some_and(|at| at >= self.now)
        };
        self.run.calls.iter().position(is_ahead).filter(|_| !self.run.is_cancelled)
    }

    /// Returns true if the last call was so long ago that the page shows nothing live.
    fn is_long_over(&self) -> bool {
        let last = self.run.calls.iter().filter_map(TripCall::best_known_time).max();
        last.is_some_and(|at| self.now - at > OVER_S)
    }

    /// Returns true if the trip runs now, or its time is near enough for live data.
    fn is_near_now(&self) -> bool {
        trip_alerts::is_trip_near_now(trip_time_span(&self.run, self.now), self.now)
    }

    /// Returns true if this trip has a live time or a live position, and has not ended.
    fn has_live_data(&self) -> bool {
        let last = self.run.calls.iter().filter_map(TripCall::best_known_time).max();
        let has_time = self.run.calls.iter().any(|call| call.expected.is_some());
        let has_position = self.run.vehicle.as_ref().is_some_and(|it| it.position().is_some());
        (has_time || has_position)
            && !self.run.is_cancelled
            && last.is_none_or(|at| self.now - at <= ENDED_S)
    }

    fn render_trip_page(&self) -> Markup {
        let next = self.next_call_index();
        html! {
            div.page.riders #live-page {
                (self.render_trip_heading())
                (network_page::render_timetable_validity_notice(self.network))
                (self.render_unreliable_data_banner())
                (alerts::render_alerts(&self.alerts))
                (self.render_trip_status(next))
                (self.render_calls(next))
                (self.render_trip_ids())
                (states::render_state_templates())
                (layout::render_script_data("live-page-data", &self.page_script_data()))
            }
        }
    }

    /// Renders the banner for the feed of the live times, or without live times for the feeds that may have them. A
    /// trip of another time has no live times to miss.
    fn render_unreliable_data_banner(&self) -> Markup {
        if self.run.source.is_none() && !self.is_near_now() {
            return html! {};
        }
        let state = self.network.state();
        let mut feeds = network_page::find_realtime_feeds_of_records(
            self.app,
            self.network,
            &state,
            state.trip_updates(),
        );
        feeds.retain(|feed| self.run.source.as_ref().is_none_or(|source| source == feed.id()));
        network_page::render_unreliable_times_banner(self.app, &feeds, self.time_zone(), true)
    }

    /// Renders the ids, for maintainers of the data.
    fn render_trip_ids(&self) -> Markup {
        let source =
            self.run.source.as_ref().and_then(|id| self.app.ingest().find_feed(id.as_str()));
        html! {
            details.sources {
                summary { "Details" }
                p.small.soft {
                    "Trip " span.mono { (self.run.trip_id) }
                    @if let Some(source) = source { " · live times from " a href=(format!("/feeds/{}", source.id())) { (source.config().display_name()) } }
                }
            }
        }
    }

    fn render_trip_heading(&self) -> Markup {
        let route = self.route();
        let noun = VehicleNoun::for_route_types(route.iter().map(|route| route.kind));
        html! {
            div.page-head.tight {
                p.crumbs {
                    a href=(format!("/networks/{}", self.network_id())) { (network_names::network_name(self.app, self.network)) }
                    @if let Some(route) = &route {
                        " › " a href=(links::line_page_url(self.network_id(), route.id)) { (words::line_title(route.display_name())) }
                    }
                }
                h1 {
                    @if let Some(route) = &route { (badge::render_route_badge(route.display_name(), route.color)) " " }
                    @match &self.run.headsign { Some(to) => { "To " (to) } None => "Trip" }
                }
                p.soft { (self.render_day_and_start()) }
                p.answer-at {
                    (states::render_recording_tag(self.network))
                    @if self.has_live_data() { span.live #live data-status="off" { "As of " time datetime=(words::format_rfc3339(self.now, self.time_zone())) { (words::format_clock_seconds(self.now, self.time_zone())) } } }
                    @if let Some(vehicle) = self.run.vehicle.as_ref().filter(|vehicle| vehicle.position().is_some()) { a.small href=(vehicle_map_url(vehicle)) { "The " (noun.one) " on the map" } }
                    @if let Some(route) = &route {
                        a.small href=(links::line_page_url(self.network_id(), route.id)) { (words::line_title(route.display_name())) }
                        a.small href=(format!("/delays/{}?route={}", self.network_id(), links::encode_query_value(route.id))) { "Is my " (noun.one) " late?" }
                    }
                }
            }
        }
    }

    fn render_day_and_start(&self) -> Markup {
        let first = self.run.calls.first();
        html! {
            @if let Some(date) = self.run.date { (words::format_date_with_weekday(date)) }
            @if let Some((first, at)) = first.and_then(|first| Some((first, first.scheduled?))) {
                @if self.run.date.is_some() { " · " }
                (self.render_time(at)) " from " (self.stop_name(first))
            } @else if let Some(at) = self.announced_start() {
                @if at <= self.now { " · started at " } @else { " · starts at " }
                (self.render_time(at))
            }
            @if !self.run.is_scheduled { " · not in the timetable" }
        }
    }

    /// Returns the start of a trip that the timetable does not have, Unix seconds, as its feed states it. Its first
    /// call need not be its first stop: producers drop past calls.
    fn announced_start(&self) -> Option<i64> {
        let date = self.run.date.filter(|_| !self.run.is_scheduled)?;
        Some(
            self.timetable
                .service_time_to_unix(date, links::parse_gtfs_time(&self.run.start_time)?),
        )
    }

    /// Renders the status of the trip in one line.
    fn render_trip_status(&self, next: Option<usize>) -> Markup {
        let call = next.and_then(|next| self.run.calls.get(next));
        let has_begun = self
            .run
            .calls
            .first()
            .and_then(TripCall::best_known_time)
            .is_some_and(|at| at <= self.now);
        let has_begun = has_begun || self.announced_start().is_some_and(|at| at <= self.now);
        html! {
            @if self.run.is_cancelled {
                p.trip-standing { span.delay.tone-cancelled { "Cancelled" } " This trip does not run." }
            } @else if let Some(call) = call {
                @let delay = words::delay_in_shown_minutes(call.delay.map(i64::from), call.scheduled, call.expected);
                @let delay_text = words::format_delay(call.status.as_str(), delay);
                p.trip-standing {
                    // Without a delay, the status has nothing to say.
                    @if call.delay.is_some() || call.status != DepartureStatus::Realtime { span class=(format!("delay tone-{}", delay_text.tone)) { (delay_text.text) } " · " }
                    @if has_begun { "Next stop: " } @else { "Starts at " }
                    strong { a.target href="#next" { (self.stop_name(call)) } }
                    @if let Some(at) = call.best_known_time() { ", " (self.render_time(at)) }
                }
            } @else if !self.run.calls.is_empty() {
                // Without live times nobody knows whether the trip ran.
                @let is_planned = self.run.calls.iter().all(|call| call.status == DepartureStatus::Scheduled);
                p.trip-standing.soft data-ended=(if is_planned { "timetable" } else { "live" }) {
                    @if is_planned { "By the timetable, this trip has ended." } @else { "By its last predicted times, this trip has ended." }
                    (self.render_last_position())
                }
            }
        }
    }

    /// Renders where and when the vehicle of the trip was last seen, if that is known.
    fn render_last_position(&self) -> Markup {
        let last = last_position::find_last_position(self.timetable, &self.run);
        html! {
            @if let Some(last) = last {
                @let text = words::format_clock_or_day(last.at, self.now, self.time_zone());
                span data-last-seen data-near=[last.near.map(|call| &call.stop_id)] {
                    " Last seen "
                    @if let Some(call) = last.near { "near " (self.stop_name(call)) ", " }
                    time datetime=(words::format_rfc3339(last.at, self.time_zone())) { (text) }
                    "."
                }
            }
        }
    }

    /// Returns true if a trip that the timetable does not have started before its first call: producers drop past
    /// calls.
    fn lacks_earlier_calls(&self) -> bool {
        let first = self.run.calls.first().and_then(TripCall::best_known_time);
        let start = self.announced_start().filter(|at| *at <= self.now);
        first.zip(start).is_some_and(|(first, start)| first - start >= UNREPORTED_S)
    }

    /// Renders the list of calls. For a running trip, the stops before the next one are folded behind their number.
    fn render_calls(&self, next: Option<usize>) -> Markup {
        let n_earlier = next.filter(|next| *next >= COLLAPSED_CALLS_MIN).unwrap_or(0);
        let (earlier, ahead) = self.run.calls.split_at(n_earlier);
        // Statuses that only say "Predicted" say nothing about a single call.
        let is_bare = self
            .run
            .calls
            .iter()
            .all(|call| call.status == DepartureStatus::Realtime && call.delay.is_none());
        let is_planned =
            self.run.calls.iter().all(|call| call.status == DepartureStatus::Scheduled);
        let is_bare = is_bare || (is_planned && next.is_none());
        let list = |calls: &[TripCall], first: usize| {
            html! {
                ol.trip-calls.is-stale[self.is_stale].without-status[is_bare] start=[(first > 0).then_some(first + 1)] {
                    @for (at, call) in calls.iter().enumerate() { (self.render_call(call, next == Some(first + at))) }
                }
            }
        };
        html! {
            section.card aria-label="Calls" {
                @if self.run.calls.is_empty() { p.board-empty { "No stops are announced for this trip." } }
                @if self.lacks_earlier_calls() { p.earlier-note.soft.small data-earlier-calls="unreported" { "Earlier stops are no longer reported." } }
                @if !earlier.is_empty() {
                    details.earlier-calls id="earlier-calls" {
                        summary { (words::format_count(n_earlier as u64, "earlier stop", "earlier stops")) }
                        (list(earlier, 0))
                    }
                }
                (list(ahead, n_earlier))
                @if self.run.n_omitted_calls > 0 { p.more.soft { "and " (words::format_count(self.run.n_omitted_calls as u64, "more stop", "more stops")) } }
            }
        }
    }

    fn render_call(&self, call: &TripCall, is_next: bool) -> Markup {
        let is_cancelled =
            matches!(call.status, DepartureStatus::Cancelled | DepartureStatus::Skipped);
        let is_past = !is_cancelled && call.best_known_time().is_some_and(|at| at < self.now);
        let delay =
            words::delay_in_shown_minutes(call.delay.map(i64::from), call.scheduled, call.expected);
        // Without live times nobody knows whether the vehicle has passed the stop.
        let is_known_past = is_past && call.status != DepartureStatus::Scheduled;
        let delay_text = if is_known_past {
            words::format_passed_call(call.status.as_str(), delay)
        } else {
            words::format_delay(call.status.as_str(), delay)
        };
        // A smaller difference is on time, also across a minute.
        let is_moved = call.delay.is_none_or(|delay| delay.abs() >= 60);
        let scheduled = call.scheduled.filter(|_| call.expected.is_none() || is_moved);
        let waits =
            call.arrival.zip(call.scheduled).filter(|(arrives, leaves)| leaves - arrives >= 60);
        html! {
            li.is-off[is_cancelled].is-past[is_past] data-stop=(call.stop_id) id=[is_next.then_some("next")] data-status=(call.status.as_str()) aria-current=[is_next.then_some("step")] {
                span.call-times {
                    @match (call.expected, scheduled) {
                        (Some(expected), Some(scheduled)) => { s.was { span.visually-hidden { "scheduled " } (self.render_time(scheduled)) } " " strong { (self.render_time(expected)) } }
                        (Some(at), None) | (None, Some(at)) => strong { (self.render_time(at)) },
                        (None, None) => span.soft { "–" },
                    }
                }
                span.call-stop {
                    @match call.stop {
                        Some(_) => a.target href=(links::departure_board_url(self.network_id(), &call.stop_id)) { (self.stop_name(call)) },
                        None => (self.stop_name(call)),
                    }
                    @if let Some((arrives, _)) = waits { " " span.soft.small { "arrives " (self.render_time(arrives)) } }
                }
                span.call-platform {
                    @if let Some(was) = &call.scheduled_platform { s.platform-was { (was) } " " }
                    @if let Some(platform) = &call.platform {
                        span.platform-sign.is-changed[call.scheduled_platform.is_some()] { span.visually-hidden { "Platform " } (platform) }
                    }
                }
                span class=(format!("delay tone-{}", delay_text.tone)) { @if is_known_past || !is_past { (delay_text.text) } }
            }
        }
    }

    fn stop_name<'b>(&'b self, call: &'b TripCall) -> &'b str {
        let name = call.stop.map_or("", |stop| self.timetable.stop(stop).name);
        if name.is_empty() { &call.stop_id } else { name }
    }

    fn render_time(&self, at: i64) -> Markup {
        html! { time datetime=(words::format_rfc3339(at, self.time_zone())) { (words::format_clock(at, self.time_zone())) } }
    }

    fn page_script_data(&self) -> serde_json::Value {
        let feeds = self.network.realtime_feeds();
        let id = encode_segment(&self.run.trip_id).into_owned();
        let channels: Vec<String> = feeds
            .iter()
            .take(CHANNELS_MAX)
            .filter(|_| !self.run.trip_id.is_empty())
            .map(|feed| format!("trip/{}/{id}", feed.id()))
            .collect();
        json!({ "channels": channels, "wall": self.app.now().0 })
    }
}

/// Returns the times of the first and the last call of a trip in Unix seconds; `now` without any times.
fn trip_time_span(run: &TripRun, now: i64) -> (i64, i64) {
    let times = || run.calls.iter().filter_map(TripCall::best_known_time);
    (times().min().unwrap_or(now), times().max().unwrap_or(now))
}

/// Returns the address of the map with a vehicle selected.
fn vehicle_map_url(vehicle: &Record) -> String {
    format!("/map?vehicle={}:{}", vehicle.feed, links::encode_query_value(&vehicle.id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::trip_page_url;

    #[test]
    fn an_address_has_the_date_and_the_start_of_a_run() {
        assert_eq!(
            trip_page_url("town", "a/1", "20261123", "08:30:00"),
            "/trips/town/a%2F1?date=2026-11-23&start=08%3A30%3A00"
        );
        assert_eq!(trip_page_url("town", "a", "", ""), "/trips/town/a");
        assert_eq!(parse_date("2026-11-23"), parse_date("20261123"));
        for wrong in ["", "today", "2026-13-01", "23.11.2026"] {
            assert_eq!(parse_date(wrong), None, "{wrong}");
        }
    }
}
