//! SIRI Lite as France asks: a service by its name, parameters in the address, JSON or XML by the ending.

use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::get;
use lineside_ingest::siri::Service;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::answer;
use super::asked::{Asked, Subject};
use super::desk::Answer;
use super::fault::Fault;
use super::form::Form;
use super::scene::Scene;
use crate::app::App;
use crate::http::documented::ending;
use crate::http::errors::{Problem, Refusal};
use crate::http::parameters::Parameters;
use crate::http::reply::{Representation, Wants};

pub(super) fn routes() -> OpenApiRouter<App> {
    ending("/siri/2.0/{file}", get(file), [routes!(json), routes!(xml)])
}

/// The services by their names in addresses.
const SERVICES: [(&str, Subject); 6] = [
    ("stop-monitoring", Subject::Visits),
    ("estimated-timetables", Subject::Records(Service::EstimatedTimetable)),
    ("vehicle-monitoring", Subject::Records(Service::VehicleMonitoring)),
    ("situation-exchange", Subject::Records(Service::SituationExchange)),
    ("lines-discovery", Subject::Lines),
    ("stoppoints-discovery", Subject::StopPoints),
];

async fn file(
    state: State<App>,
    Path(file): Path<String>,
    parameters: Parameters,
    wants: Wants,
) -> Result<Response, Refusal> {
    if let Some(service) = file.strip_suffix(".json") {
        return json(state, Path(service.to_owned()), parameters, wants).await;
    }
    let service = file.strip_suffix(".xml").ok_or(Refusal::UnknownPath)?;
    xml(state, Path(service.to_owned()), parameters, wants).await
}

/// Query parameters of every SIRI Lite service, for the OpenAPI description. [`Asked`] reads them, ignoring case.
#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only the derived description is used")]
struct LiteParameters {
    /// The stop; required by `stop-monitoring`
    #[param(rename = "MonitoringRef")]
    monitoring_ref: Option<String>,
    /// Only these lines
    #[param(rename = "LineRef")]
    line_ref: Option<Vec<String>>,
    /// Only this direction
    #[param(rename = "DirectionRef")]
    direction_ref: Option<String>,
    /// Only journeys to this last stop
    #[param(rename = "DestinationRef")]
    destination_ref: Option<String>,
    /// Only these operators
    #[param(rename = "OperatorRef")]
    operator_ref: Option<Vec<String>>,
    /// Only these vehicles
    #[param(rename = "VehicleRef")]
    vehicle_ref: Option<Vec<String>>,
    /// Only situations that affect these stops
    #[param(rename = "StopPointRef")]
    stop_point_ref: Option<Vec<String>>,
    /// Only these feeds or networks
    #[param(rename = "DatasetId")]
    dataset_id: Option<Vec<String>>,
    /// Time window, as an ISO 8601 duration such as `PT30M`
    #[param(rename = "PreviewInterval")]
    preview_interval: Option<String>,
    /// Start of the time window
    #[param(rename = "StartTime")]
    start_time: Option<String>,
    /// Maximum number of visits
    #[param(rename = "MaximumStopVisits")]
    maximum_stop_visits: Option<u32>,
    /// Minimum number of visits of each line
    #[param(rename = "MinimumStopVisitsPerLine")]
    minimum_stop_visits_per_line: Option<u32>,
    /// Maximum number of vehicles
    #[param(rename = "MaximumVehicles")]
    maximum_vehicles: Option<u32>,
    /// Maximum number of records
    #[param(rename = "MaxSize")]
    max_size: Option<u32>,
    /// Excludes these feeds or networks, separated by commas
    #[param(rename = "ExcludedDatasetIds")]
    excluded_dataset_ids: Option<String>,
    /// Returned as the request reference of the reply
    #[param(rename = "MessageIdentifier")]
    message_identifier: Option<String>,
}

/// SIRI Lite, as JSON
///
/// Capitals of parameters do not matter. `MonitoringRef`, `LineRef`, `OperatorRef`, `StopPointRef` and `VehicleRef` are
/// ids, or `<feed>:<id>` where several feeds have the id.
#[utoipa::path(
    get, path = "/siri/2.0/{service}.json", tag = "formats",
    params(
        ("service" = String, Path, description = "`stop-monitoring`, `estimated-timetables`, `vehicle-monitoring`, \
            `situation-exchange`, `lines-discovery` or `stoppoints-discovery`"),
        LiteParameters
    ),
    responses(
        (status = 200, description = "The message, complete or as limited by the request", content_type = "application/json"),
        (status = 400, description = "The same with an `ErrorCondition`, also where the answer would be too large", content_type = "application/json"),
        (status = 404, description = "`not_found`", body = Problem),
        (status = 503, description = "`busy`", body = Problem)
    )
)]
async fn json(
    State(app): State<App>,
    Path(service): Path<String>,
    parameters: Parameters,
    wants: Wants,
) -> Result<Response, Refusal> {
    answered(&app, &service, &parameters, &wants, Form::Json).await
}

/// SIRI Lite, as XML
#[utoipa::path(
    get, path = "/siri/2.0/{service}.xml", tag = "formats",
    params(
        ("service" = String, Path, description = "As with JSON"),
        LiteParameters
    ),
    responses(
        (status = 200, description = "The message, complete or as limited by the request", content_type = "application/xml"),
        (status = 400, description = "The same with an `ErrorCondition`, also where the answer would be too large", content_type = "application/xml"),
        (status = 404, description = "`not_found`", body = Problem),
        (status = 503, description = "`busy`", body = Problem)
    )
)]
async fn xml(
    State(app): State<App>,
    Path(service): Path<String>,
    parameters: Parameters,
    wants: Wants,
) -> Result<Response, Refusal> {
    answered(&app, &service, &parameters, &wants, Form::Xml).await
}

async fn answered(
    app: &App,
    service: &str,
    parameters: &Parameters,
    wants: &Wants,
    form: Form,
) -> Result<Response, Refusal> {
    let found = SERVICES.iter().find(|(name, _)| *name == service);
    let subject = found.map(|(_, subject)| *subject).ok_or(Refusal::UnknownPath)?;
    let scene = Scene::of(app);
    let mut asked = match Asked::of_parameters(parameters) {
        Ok(asked) => asked,
        Err(fault) => return Ok(refused(&scene, subject, &fault, form)),
    };
    asked.name_vehicle_request(&scene, subject);
    let answer = app.siri().answer(app, &scene, subject, asked, form).await?;
    Ok(reply(app, &scene, answer, wants, form).await)
}

/// An answer as all who ask the same are given it.
pub(super) async fn reply(
    app: &App,
    scene: &Scene,
    answer: Answer,
    wants: &Wants,
    form: Form,
) -> Response {
    if answer.is_fault {
        return form.reply(Fault::STATUS, answer.bytes);
    }
    Representation::hashed(form.content_type(), answer.bytes, answer.hash)
        .modified(Some(scene.at), app.now())
        .fresh_for(scene.fresh_for)
        .reply(wants, app)
        .await
}

/// The answer to a question that cannot be read.
pub(super) fn refused(scene: &Scene, subject: Subject, fault: &Fault, form: Form) -> Response {
    let message = answer::refusal(scene, subject, &Asked::default(), fault);
    form.reply(Fault::STATUS, form.encode(&message))
}
