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

/// SIRI Lite, as JSON
///
/// Capitals of parameters do not matter. `MonitoringRef`, `LineRef`, `OperatorRef`, `StopPointRef` and `VehicleRef` are
/// ids, or `<feed>:<id>` where several feeds have the id.
#[utoipa::path(
    get, path = "/siri/2.0/{service}.json", tag = "formats",
    params(
        ("service" = String, Path, description = "`stop-monitoring`, `estimated-timetables`, `vehicle-monitoring`, \
            `situation-exchange`, `lines-discovery` or `stoppoints-discovery`"),
        ("MonitoringRef" = Option<String>, Query, description = "The stop; `stop-monitoring` needs it"),
        ("LineRef" = Option<Vec<String>>, Query, description = "Of these lines"),
        ("DirectionRef" = Option<String>, Query, description = "In this direction"),
        ("DestinationRef" = Option<String>, Query, description = "To this last stop"),
        ("OperatorRef" = Option<Vec<String>>, Query, description = "Of these operators"),
        ("VehicleRef" = Option<Vec<String>>, Query, description = "These vehicles"),
        ("StopPointRef" = Option<Vec<String>>, Query, description = "Situations that concern these stops"),
        ("DatasetId" = Option<Vec<String>>, Query, description = "Of these feeds or networks"),
        ("PreviewInterval" = Option<String>, Query, description = "How far ahead, as `PT30M`"),
        ("StartTime" = Option<String>, Query, description = "From when on"),
        ("MaximumStopVisits" = Option<u32>, Query, description = "At most how many visits"),
        ("MinimumStopVisitsPerLine" = Option<u32>, Query, description = "At least how many visits of each line"),
        ("MaximumVehicles" = Option<u32>, Query, description = "At most how many vehicles"),
        ("MaxSize" = Option<u32>, Query, description = "At most how many records"),
        ("ExcludedDatasetIds" = Option<String>, Query, description = "Not of these feeds or networks, separated by commas"),
        ("MessageIdentifier" = Option<String>, Query, description = "Repeated in the answer")
    ),
    responses(
        (status = 200, description = "The message; it holds all, or as much as is asked for", content_type = "application/json"),
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
        ("MonitoringRef" = Option<String>, Query, description = "The stop; `stop-monitoring` needs it"),
        ("LineRef" = Option<Vec<String>>, Query, description = "Of these lines"),
        ("DirectionRef" = Option<String>, Query, description = "In this direction"),
        ("DestinationRef" = Option<String>, Query, description = "To this last stop"),
        ("OperatorRef" = Option<Vec<String>>, Query, description = "Of these operators"),
        ("VehicleRef" = Option<Vec<String>>, Query, description = "These vehicles"),
        ("StopPointRef" = Option<Vec<String>>, Query, description = "Situations that concern these stops"),
        ("DatasetId" = Option<Vec<String>>, Query, description = "Of these feeds or networks"),
        ("PreviewInterval" = Option<String>, Query, description = "How far ahead, as `PT30M`"),
        ("StartTime" = Option<String>, Query, description = "From when on"),
        ("MaximumStopVisits" = Option<u32>, Query, description = "At most how many visits"),
        ("MinimumStopVisitsPerLine" = Option<u32>, Query, description = "At least how many visits of each line"),
        ("MaximumVehicles" = Option<u32>, Query, description = "At most how many vehicles"),
        ("MaxSize" = Option<u32>, Query, description = "At most how many records"),
        ("ExcludedDatasetIds" = Option<String>, Query, description = "Not of these feeds or networks, separated by commas"),
        ("MessageIdentifier" = Option<String>, Query, description = "Repeated in the answer")
    ),
    responses(
        (status = 200, description = "The message; it holds all, or as much as is asked for", content_type = "application/xml"),
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
