//! `/api/v1/feeds/{id}/delays`: the late and cancelled trips of a feed.

use axum::extract::{Path, State};
use axum::response::Response;
use lineside_config::times::format_rfc3339;
use lineside_model::{DelayHistogramClass, TripDelay, TripDelayStatus};
use lineside_sync::UnixMillis;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::delay_replies;
use crate::delays::{
    DelayReport, DelayReportView, LineDelayCounts, QuarterHour, RenderedDelayReport,
};
use crate::errors::{Problem, Refusal};
use crate::parameters::QueryParameters;
use crate::reply::ReplyPreferences;

/// Largest number of trips in each list, and of lines; the counts include all.
const ITEMS_MAX: usize = 500;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_delays))
}

/// The delays of a feed, line or stop.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Delays)]
struct DelaysItem {
    /// True if any trip is late or cancelled; null if data are stale or missing.
    late: Option<bool>,
    /// The value of `late` as text: `yes`, `no` or `unknown`.
    answer: &'static str,
    /// The greatest delay in seconds, negative if all trips are early; null if none is known.
    worst: Option<i32>,
    /// Trips that are at least `late_after` behind the timetable; null if unknown.
    late_trips: Option<usize>,
    /// Trips that do not run, or skip the requested stop; null if unknown.
    cancelled: Option<usize>,
    /// Trips in the live data that run or begin within two hours, and trips in the timetable only that run, or call at
    /// the requested stop; null if unknown.
    trips: Option<usize>,
    /// The delay in seconds from which a trip is late.
    late_after: u64,
    /// Time at which the data were produced, RFC 3339; null if there are none.
    at: Option<String>,
    /// True if data of a feed are not up to date, or there is no such feed.
    stale: bool,
    /// The requested feed.
    feed: String,
    /// The requested line.
    route: Option<String>,
    /// The requested stop.
    stop: Option<String>,
    /// Trips that are neither late nor early.
    on_time: Option<usize>,
    /// Trips that are a minute early or more. They are not late.
    early: Option<usize>,
    /// Trips whose times are unknown.
    unknown: Option<usize>,
    /// The trips among `unknown` that are in the timetable but in no live feed.
    scheduled_only: Option<usize>,
    /// The share of trips that are neither late nor cancelled, among those with known times and the cancelled ones,
    /// from 0 to 1; null if too few are known.
    on_time_share: Option<f64>,
    /// The feeds with the trips.
    sources: Vec<DelaySourceItem>,
    /// The late trips, the worst first; at most 500.
    trips_late: Vec<TripDelayItem>,
    /// The cancelled trips; at most 500.
    trips_cancelled: Vec<TripDelayItem>,
    /// Counts by line, the lines with the most trouble first; at most 500.
    lines: Vec<LineDelayItem>,
    /// The distribution of delays, from early to late.
    distribution: Vec<DelayClassItem>,
    /// The last 24 hours by quarters of an hour, in the time of the data where a recording is played; a missing quarter
    /// is unknown. Empty for one line at one stop, for a stop without earlier requests, and for a line beyond the
    /// limits of recording: 2,000 of a feed, 10,000 of all.
    day: Vec<QuarterHourItem>,
}

/// A feed with trips.
#[derive(Debug, Serialize, ToSchema)]
struct DelaySourceItem {
    /// The feed's id.
    feed: String,
    /// The feed's state.
    state: &'static str,
    /// True if its data are not up to date and therefore not counted.
    stale: bool,
    /// Time at which its data were produced.
    at: Option<String>,
}

/// A trip.
#[derive(Debug, Serialize, ToSchema)]
struct TripDelayItem {
    /// The feed of the data.
    feed: String,
    /// `trip_id`.
    trip_id: String,
    /// `start_date`.
    start_date: String,
    /// `route_id`.
    route_id: Option<String>,
    /// The route's short name, else its long one.
    route_short_name: Option<String>,
    /// The trip's destination.
    headsign: Option<String>,
    /// The next stop, or the requested one.
    stop_id: Option<String>,
    /// The stop's name.
    stop_name: Option<String>,
    /// The scheduled departure at the requested stop.
    scheduled: Option<String>,
    /// The scheduled departure at its first stop; null for a requested stop, and if unknown, such as for an extra trip
    /// whose first call is no longer announced.
    begins: Option<String>,
    /// The name of its first stop, if known.
    first_stop_name: Option<String>,
    /// Seconds behind the timetable; null for a cancelled trip.
    delay: Option<i32>,
}

/// A line.
#[derive(Debug, Serialize, ToSchema)]
struct LineDelayItem {
    /// `route_id`.
    route_id: String,
    /// The line's short name, else its long one.
    route_short_name: String,
    /// Trips in the live data, and those in the timetable only.
    trips: usize,
    /// Number of late trips.
    late_trips: usize,
    /// Number of cancelled trips.
    cancelled: usize,
    /// Number of trips whose times are unknown.
    unknown: usize,
    /// The greatest delay in seconds.
    worst: Option<i32>,
}

/// A class of delays.
#[derive(Debug, Serialize, ToSchema)]
struct DelayClassItem {
    /// The least delay in seconds; null for the earliest class.
    from: Option<i64>,
    /// The delay from which the next class begins; null for the latest.
    until: Option<i64>,
    /// Number of trips in the class.
    trips: usize,
}

/// A quarter of an hour.
#[derive(Debug, Serialize, ToSchema)]
struct QuarterHourItem {
    /// Start of the quarter.
    from: Option<String>,
    /// Trips with known times and cancelled ones, summed over the quarter's samples, one a minute. 0 does not mean that
    /// no trip ran.
    trips: u64,
    /// Number of late trips among them.
    late: u64,
    /// Number of cancelled trips among them.
    cancelled: u64,
}

/// Returns the late trips of a feed, of one of its lines, or at one of its stops
///
/// The id of a schedule, or of a feed without trips, selects all real-time feeds of its network; for a feed with trips,
/// its own lines count. Numbers and `late` are null if no feed with trips is up to date. If only some are, the numbers
/// are theirs.
#[utoipa::path(
    get, path = "/api/v1/feeds/{id}/delays", tag = "catalog",
    params(
        ("id" = String, Path, description = "The id of a schedule or real-time feed"),
        ("route" = Option<String>, Query, description = "Only trips of this `route_id`"),
        ("stop" = Option<String>, Query, description = "Only trips that depart from this stop or station within two hours, with their delays there")
    ),
    responses(
        (status = 200, description = "The answer, its counts, and the trips", body = DelaysItem),
        (status = 404, description = "`unknown_feed`, `unknown_route`, `unknown_stop` or `other_format`", body = Problem),
        (status = 503, description = "`busy`, or `no_data` while the schedule with the stop or line is not loaded", body = Problem)
    )
)]
async fn get_delays(
    State(app): State<App>,
    Path(id): Path<String>,
    parameters: QueryParameters,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let question = delay_replies::parse_delay_request(&app, &id, &parameters)?;
    delay_replies::reply_with_delay_report(
        &app,
        question,
        DelayReportView::Json,
        &preferences,
        render_json,
    )
    .await
}

fn render_json(answer: &DelayReport) -> RenderedDelayReport {
    let body = serde_json::to_vec(&delays_item(answer)).expect("replies always serialize");
    RenderedDelayReport::new("application/json", body, answer.made_at)
}

fn delays_item(answer: &DelayReport) -> DelaysItem {
    let (question, counts) = (&answer.question, answer.counts);
    let local = |at: i64| format_rfc3339(UnixMillis::from_seconds(at));
    let trips = |trips: &[std::sync::Arc<TripDelay>]| {
        trips.iter().take(ITEMS_MAX).map(|trip| trip_delay_item(trip, local)).collect()
    };
    let text = |text: &Option<smol_str::SmolStr>| text.as_ref().map(ToString::to_string);
    let sources = question.sources.iter().map(|source| DelaySourceItem {
        feed: source.id.to_string(),
        state: source.state.as_str(),
        stale: !source.is_fresh,
        at: source.at.and_then(format_rfc3339),
    });
    DelaysItem {
        late: answer.verdict.is_late(),
        answer: answer.verdict.as_str(),
        worst: counts.and_then(|counts| counts.worst),
        late_trips: counts.map(|counts| counts.late),
        cancelled: counts.map(|counts| counts.cancelled),
        trips: counts.map(|counts| counts.trips),
        late_after: question.late_after.as_secs(),
        at: answer.at.and_then(format_rfc3339),
        stale: answer.is_stale,
        feed: question.feed.to_string(),
        route: text(&question.route),
        stop: text(&question.stop),
        on_time: counts.map(|counts| counts.on_time),
        early: counts.map(|counts| counts.early),
        unknown: counts.map(|counts| counts.unknown),
        scheduled_only: counts.map(|counts| counts.scheduled_only),
        on_time_share: answer.on_time_share(),
        sources: sources.collect(),
        trips_late: trips(&answer.late),
        trips_cancelled: trips(&answer.cancelled),
        lines: answer.lines.iter().take(ITEMS_MAX).map(line_delay_item).collect(),
        distribution: answer.classes.iter().map(delay_class_item).collect(),
        day: answer.day.quarters.iter().map(quarter_hour_item).collect(),
    }
}

fn trip_delay_item(trip: &TripDelay, local: impl Fn(i64) -> Option<String>) -> TripDelayItem {
    let text = |text: &Option<smol_str::SmolStr>| text.as_ref().map(ToString::to_string);
    TripDelayItem {
        feed: trip.feed.to_string(),
        trip_id: trip.trip_id.to_string(),
        start_date: trip.start_date.to_string(),
        route_id: text(&trip.route_id),
        route_short_name: text(&trip.route_short_name),
        headsign: text(&trip.headsign),
        stop_id: text(&trip.stop_id),
        stop_name: text(&trip.stop_name),
        scheduled: trip.scheduled.and_then(&local),
        begins: trip.begins_at.and_then(&local),
        first_stop_name: text(&trip.first_stop_name),
        delay: match trip.status {
            TripDelayStatus::Delayed(delay) => Some(delay),
            TripDelayStatus::Cancelled
            | TripDelayStatus::Unknown
            | TripDelayStatus::ScheduledOnly => None,
        },
    }
}

fn line_delay_item(line: &LineDelayCounts) -> LineDelayItem {
    LineDelayItem {
        route_id: line.route_id.to_string(),
        route_short_name: line.name.to_string(),
        trips: line.counts.trips,
        late_trips: line.counts.late,
        cancelled: line.counts.cancelled,
        unknown: line.counts.unknown,
        worst: line.counts.worst,
    }
}

fn delay_class_item(class: &DelayHistogramClass) -> DelayClassItem {
    DelayClassItem { from: class.from, until: class.until, trips: class.trips }
}

fn quarter_hour_item(quarter: &QuarterHour) -> QuarterHourItem {
    QuarterHourItem {
        from: format_rfc3339(quarter.start),
        trips: quarter.trips,
        late: quarter.late,
        cancelled: quarter.cancelled,
    }
}
