//! Where vehicles are.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use lineside_ingest::Record;
use serde_json::value::RawValue;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::list::List;
use crate::app::App;
use crate::http::errors::{Problem, Refusal};
use crate::http::limits;
use crate::http::parameters::Parameters;
use crate::http::reply::{Representation, Wants};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(find))
}

/// The vehicles of all feeds that have a position
///
/// A vehicle is a GTFS-Realtime `VehiclePosition`, with `feed` and `id`, and under `lineside` what
/// the timetable adds: route, headsign, delay, next stop.
#[utoipa::path(
    get, path = "/api/v1/vehicles", tag = "catalog",
    params((
        "bbox" = Option<String>, Query,
        description = "`min_lon,min_lat,max_lon,max_lat` in degrees; min_lon is above max_lon where \
            the box crosses the 180th meridian"
    )),
    responses(
        (status = 200, description = "The vehicles", body = List<Object>),
        (status = 400, description = "`bad_parameter`", body = Problem)
    )
)]
async fn find(
    State(app): State<App>,
    parameters: Parameters,
    wants: Wants,
) -> Result<Response, Refusal> {
    let bbox = parameters.bounding_box()?;
    let mut found: Vec<Arc<Record>> = Vec::new();
    let mut modified = None;
    for network in app.ingest().networks() {
        let state = network.state();
        modified = modified.max(Some(state.at));
        let room = limits::VEHICLES_MAX - found.len();
        match bbox {
            Some(bbox) => found.extend(state.in_bbox(bbox).take(room).cloned()),
            None => {
                let placed = state.vehicles().filter(|record| record.position().is_some());
                found.extend(placed.take(room).cloned());
            }
        }
    }
    let items = found.iter().filter_map(|record| item(record)).collect();
    let reply = Representation::json(&List::whole(items)).modified(modified, app.now());
    Ok(reply.reply(&wants, &app).await)
}

/// The record with whose it is before its own fields; the rest is the very bytes that channels carry.
fn item(record: &Record) -> Option<Box<RawValue>> {
    let fields = std::str::from_utf8(record.json()).ok()?.strip_prefix('{')?;
    let comma = if fields == "}" { "" } else { "," };
    let feed = serde_json::to_string(record.feed.as_str()).ok()?;
    let id = serde_json::to_string(record.id.as_str()).ok()?;
    RawValue::from_string(format!("{{\"feed\":{feed},\"id\":{id}{comma}{fields}")).ok()
}
