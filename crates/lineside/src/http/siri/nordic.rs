//! The Nordic form: whoever gives a name is told everything first, and then only what changed.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use lineside_ingest::siri::Service;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::answer;
use super::asked::{Asked, Subject};
use super::desk::{Requestor, RequestorId};
use super::fault::Fault;
use super::form::Form;
use super::lite::{refused, reply};
use super::scene::Scene;
use crate::app::App;
use crate::http::aside::aside;
use crate::http::errors::{Problem, Refusal};
use crate::http::limits::{SIRI_NORDIC_USUAL, SIRI_REF_BYTES_MAX};
use crate::http::parameters::Parameters;
use crate::http::reply::Wants;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(service))
}

/// The services by their names in addresses.
const SERVICES: [(&str, Service); 3] = [
    ("et", Service::EstimatedTimetable),
    ("vm", Service::VehicleMonitoring),
    ("sx", Service::SituationExchange),
];

/// SIRI in the Nordic form: everything, then changes
///
/// XML, or JSON by `Accept`. The first answer to a `requestorId` is everything, later ones hold only what changed since
/// the one before; a client that does not ask for ten minutes is forgotten. `MoreData` is true while there is more: ask
/// again at once. Without a `requestorId` an answer is whole, or refused where it would be too large.
#[utoipa::path(
    get, path = "/siri/rest/{service}", tag = "formats",
    params(
        ("service" = String, Path, description = "`et`, `vm` or `sx`"),
        ("requestorId" = Option<String>, Query, description = "Any name that no other client uses"),
        ("datasetId" = Option<Vec<String>>, Query, description = "Of these feeds or networks"),
        ("excludedDatasetIds" = Option<String>, Query, description = "Not of these, separated by commas"),
        ("maxSize" = Option<u32>, Query, description = "The maximum number of records; with a `requestorId` 1,500 by default"),
        ("LineRef" = Option<Vec<String>>, Query, description = "Of these lines"),
        ("DirectionRef" = Option<String>, Query, description = "In this direction"),
        ("OperatorRef" = Option<Vec<String>>, Query, description = "Of these operators"),
        ("VehicleRef" = Option<Vec<String>>, Query, description = "These vehicles"),
        ("StopPointRef" = Option<Vec<String>>, Query, description = "Situations that concern these stops"),
        ("MaximumVehicles" = Option<u32>, Query, description = "The same as `maxSize`, of vehicles"),
        ("MessageIdentifier" = Option<String>, Query, description = "Repeated in the answer"),
        ("PreviewInterval" = Option<String>, Query, description = "Journeys that begin within this time, as `PT30M`")
    ),
    responses(
        (status = 200, description = "The message", content_type = "application/xml"),
        (status = 400, description = "The same with an `ErrorCondition`", content_type = "application/xml"),
        (status = 404, description = "`not_found`", body = Problem),
        (status = 503, description = "`busy`", body = Problem)
    )
)]
async fn service(
    State(app): State<App>,
    Path(name): Path<String>,
    parameters: Parameters,
    headers: HeaderMap,
    wants: Wants,
) -> Result<Response, Refusal> {
    let found = SERVICES.iter().find(|(known, _)| *known == name);
    let service = found.map(|(_, service)| *service).ok_or(Refusal::UnknownPath)?;
    let form = form_of(&headers);
    let mut response = answered(&app, service, &parameters, form, &wants).await?;
    let vary = HeaderValue::from_static("Accept-Encoding, Accept");
    response.headers_mut().insert(header::VARY, vary);
    Ok(response)
}

/// XML, unless JSON is asked for and XML is not.
fn form_of(headers: &HeaderMap) -> Form {
    let accepted = headers.get(header::ACCEPT).and_then(|kinds| kinds.to_str().ok());
    let accepts = |kind| accepted.is_some_and(|accepted| accepted.contains(kind));
    if accepts("application/json") && !accepts("xml") { Form::Json } else { Form::Xml }
}

async fn answered(
    app: &App,
    service: Service,
    parameters: &Parameters,
    form: Form,
    wants: &Wants,
) -> Result<Response, Refusal> {
    let subject = Subject::Records(service);
    let scene = Scene::of(app);
    let mut asked = match Asked::of_parameters(parameters) {
        Ok(asked) => asked,
        Err(fault) => return Ok(refused(&scene, subject, &fault, form)),
    };
    if asked.most == Some(0) {
        let fault = Fault::bad("maxSize: expected at least 1");
        return Ok(refused(&scene, subject, &fault, form));
    }
    asked.name_vehicle_request(&scene, subject);
    match parameters.one_of_any_case("requestorId") {
        None => {
            let answer = app.siri().answer(app, &scene, subject, asked, form).await?;
            Ok(reply(app, &scene, answer, wants, form).await)
        }
        Some(id) if id.len() > SIRI_REF_BYTES_MAX => {
            let fault = format!("requestorId: is longer than {SIRI_REF_BYTES_MAX} bytes");
            Ok(refused(&scene, subject, &Fault::bad(fault), form))
        }
        Some(id) => {
            asked.most = asked.most.or(Some(SIRI_NORDIC_USUAL));
            let requestor = Requestor::new(RequestorId::Name(id.to_owned()), service, &asked);
            changes(app, scene, requestor, asked, form, wants).await
        }
    }
}

/// What one who asks again has not been told. Its name is not repeated: who knows it takes what is told to it.
async fn changes(
    app: &App,
    scene: Scene,
    requestor: Requestor,
    asked: Asked,
    form: Form,
    wants: &Wants,
) -> Result<Response, Refusal> {
    let (service, requestor) = (requestor.service, Arc::new(requestor));
    let known = app.siri().known(&requestor);
    let place = app.admission().admit_maker().ok_or(Refusal::Busy)?;
    let made = aside(move || {
        let _place = place;
        let told = answer::records(&scene, service, &asked, &known, answer::part_max(service))
            .map_err(|fault| answer::refusal(&scene, Subject::Records(service), &asked, &fault))?;
        let message = answer::whole(&scene, asked.message_ref.as_deref(), told.delivery);
        Ok((form.encode(&message), told.known))
    });
    match made.await? {
        Ok((body, known)) => {
            // Who asks for the head only has been told nothing.
            if wants.takes_body() {
                app.siri().remember(requestor, known);
            }
            Ok(form.reply(StatusCode::OK, body))
        }
        Err(message) => Ok(form.reply(Fault::STATUS, form.encode(&message))),
    }
}
