//! `/api/v1/stops/{feed}/{id}/departures`: the next departures of a stop.

use axum::extract::{Path, State};
use axum::response::Response;
use lineside_ingest::limits::BOARD_HORIZON;
use lineside_model::Departure;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::list::ListPage;
use crate::app::App;
use crate::errors::{Problem, Refusal};
use crate::limits;
use crate::lookup;
use crate::parameters::QueryParameters;
use crate::reply::{ReplyPreferences, Representation};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_departures))
}

/// A departure of the network's state, with the age of its data.
#[derive(Debug, Serialize)]
struct DepartureItem {
    #[serde(flatten)]
    departure: Departure,
    /// Seconds since its data were produced; null for the schedule.
    age: Option<u64>,
}

/// The schema of a departure, for the API description only: the JSON is written by [`Departure`].
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Departure)]
struct DepartureSchema {
    /// The schedule feed that the ids belong to.
    feed: String,
    /// `trip_id`.
    trip_id: String,
    /// `route_id`.
    route_id: String,
    /// The route's short name, else its long one.
    route_short_name: String,
    /// The trip's destination.
    headsign: Option<String>,
    /// The platform's code.
    platform: Option<String>,
    /// The code of the scheduled platform, if it departs from another one.
    scheduled_platform: Option<String>,
    /// The stop or platform.
    stop_id: String,
    /// The scheduled departure, RFC 3339 in the agency's time zone; null if neither the timetable nor the feed has one,
    /// such as for a trip that the timetable does not have.
    scheduled: Option<String>,
    /// The expected departure; not null if `scheduled` is.
    expected: Option<String>,
    /// Seconds behind the schedule; negative is early. Null if `scheduled` is.
    delay: Option<i32>,
    /// `scheduled`, `realtime`, `cancelled` or `skipped`.
    status: String,
    /// The feed of the data.
    source: String,
    /// Seconds since that feed's data were produced; null for the schedule.
    age: Option<u64>,
}

/// Lists the next departures of a stop or station
///
/// At most 40 within two hours; past departures are shown for one more minute.
#[utoipa::path(
    get, path = "/api/v1/stops/{feed}/{id}/departures", tag = "catalog",
    params(
        ("feed" = String, Path, description = "The schedule feed's id"),
        ("id" = String, Path, description = "`stop_id`, percent-encoded: `/` is `%2F`"),
        ("limit" = Option<usize>, Query, description = "Maximum number of departures, at most 40")
    ),
    responses(
        (status = 400, description = "`bad_parameter`", body = Problem),
        (status = 200, description = "The departures, earliest first", body = ListPage<DepartureSchema>),
        (status = 404, description = "`unknown_feed`, `unknown_stop` or `other_format`", body = Problem),
        (status = 503, description = "`no_data`", body = Problem)
    )
)]
async fn list_departures(
    State(app): State<App>,
    Path((feed, stop)): Path<(String, String)>,
    parameters: QueryParameters,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let limit = parameters.parse_positive_number("limit", limits::DEPARTURES_MAX)?;
    let limit = limit.unwrap_or(limits::DEPARTURES_MAX);
    let network = lookup::find_network(&app, &feed)?;
    lookup::find_schedule_dataset(&app, &feed, &network)?;
    let state = network.state();
    let departures = lineside_model::list_next_departures(
        &state,
        &stop,
        network.data_time_now(),
        limit,
        BOARD_HORIZON,
    );
    let departures = departures.ok_or_else(|| Refusal::UnknownStop {
        feed: lookup::shorten_id(&feed),
        stop: lookup::shorten_id(&stop),
    })?;
    let items = departures.into_iter().map(|departure| {
        let age = departure.age;
        DepartureItem { departure, age }
    });
    let list = ListPage::from_all(items.collect());
    let reply = Representation::from_json(&list).with_modified_time(Some(app.now()), app.now());
    Ok(reply.into_reply(&preferences, &app).await)
}
