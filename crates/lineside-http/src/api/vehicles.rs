//! `/api/v1/vehicles`: the positions of vehicles.

use axum::extract::State;
use axum::response::Response;
use lineside_model::Record;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::list::{ListRequest, PageRange};
use crate::app::App;
use crate::blocking::run_blocking;
use crate::errors::{Problem, Refusal};
use crate::limits;
use crate::reply::{ReplyPreferences, Representation};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(search_vehicles))
}

/// The schema of a page of vehicles, for the API description only.
#[derive(Debug, Serialize, ToSchema)]
struct VehicleList {
    /// GTFS-Realtime `VehiclePosition`s with `feed`, `id` and `lineside`.
    #[schema(value_type = Vec<Object>)]
    items: Vec<Box<RawValue>>,
    /// The next page; null on the last.
    next: Option<String>,
}

/// Lists the vehicles of all feeds that have a position
///
/// A vehicle is a GTFS-Realtime `VehiclePosition` with `feed` and `id`; `lineside` has what the timetable adds: route,
/// headsign, delay, next stop.
#[utoipa::path(
    get, path = "/api/v1/vehicles", tag = "catalog",
    params(
        ("bbox" = Option<String>, Query, description = "`min_lon,min_lat,max_lon,max_lat` in degrees; min_lon is greater than max_lon if the box crosses the 180th meridian"),
        ("limit" = Option<usize>, Query, description = "Vehicles per page, at most 50000"),
        ("offset" = Option<usize>, Query, description = "Number of vehicles to skip, as in `next`")
    ),
    responses(
        (status = 200, description = "The vehicles", body = VehicleList),
        (status = 400, description = "`bad_parameter`", body = Problem)
    )
)]
async fn search_vehicles(
    State(app): State<App>,
    ListRequest { parameters, link, .. }: ListRequest,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let bbox = parameters.parse_bounding_box()?;
    let page = PageRange::from_parameters_with_bounds(
        &parameters,
        limits::VEHICLES_MAX,
        limits::VEHICLES_MAX,
    )?;
    let states: Vec<_> = app.ingest().networks().iter().map(|network| network.state()).collect();
    let modified = states.iter().map(|state| state.at).max().or(Some(app.started_at()));
    let list = run_blocking(move || {
        let vehicles = states.iter().flat_map(|state| state.vehicles());
        let placed = vehicles.filter(|record| {
            let vehicle_position = record.position();
            vehicle_position
                .is_some_and(|(lat, lon)| bbox.is_none_or(|bbox| bbox.contains(lat, lon)))
        });
        page.take_page(placed.filter_map(|record| vehicle_item(record)), &link)
    });
    let list = list.await?;
    Ok(Representation::from_json(&list)
        .with_modified_time(modified, app.now())
        .into_reply(&preferences, &app)
        .await)
}

/// Inserts the feed and the id before the record's own fields; the rest is the bytes that channels carry.
fn vehicle_item(record: &Record) -> Option<Box<RawValue>> {
    let fields = std::str::from_utf8(record.json()).ok()?.strip_prefix('{')?;
    let comma = if fields == "}" { "" } else { "," };
    let feed = serde_json::to_string(record.feed.as_str()).ok()?;
    let id = serde_json::to_string(record.id.as_str()).ok()?;
    RawValue::from_string(format!("{{\"feed\":{feed},\"id\":{id}{comma}{fields}")).ok()
}
