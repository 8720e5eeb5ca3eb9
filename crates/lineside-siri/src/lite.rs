//! SIRI Lite in the French profile: a service by its name, parameters in the address, JSON or XML by the extension.

use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::get;
use lineside_http::documented_route::document_route;
use lineside_http::errors::{Problem, Refusal};
use lineside_http::parameters::QueryParameters;
use lineside_http::reply::{ReplyPreferences, Representation};
use lineside_model::siri_output::SiriOutput;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::answer_cache::EncodedSiriReply;
use super::deliveries;
use super::encoding::SiriEncoding;
use super::fault::SiriFault;
use super::query::{QuerySubject, SiriQuery};
use super::snapshot::SiriSnapshot;
use crate::SiriService;

pub(super) fn routes() -> OpenApiRouter<SiriService> {
    document_route(
        "/siri/2.0/{file}",
        get(get_service_file),
        [routes!(get_service_json), routes!(get_service_xml)],
    )
}

/// The services by their names in addresses.
const SERVICES: [(&str, QuerySubject); 6] = [
    ("stop-monitoring", QuerySubject::Visits),
    ("estimated-timetables", QuerySubject::Records(SiriOutput::EstimatedTimetable)),
    ("vehicle-monitoring", QuerySubject::Records(SiriOutput::VehicleMonitoring)),
    ("situation-exchange", QuerySubject::Records(SiriOutput::SituationExchange)),
    ("lines-discovery", QuerySubject::Lines),
    ("stoppoints-discovery", QuerySubject::StopPoints),
];

async fn get_service_file(
    state: State<SiriService>,
    Path(file): Path<String>,
    parameters: QueryParameters,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    if let Some(service) = file.strip_suffix(".json") {
        return get_service_json(state, Path(service.to_owned()), parameters, preferences).await;
    }
    let service = file.strip_suffix(".xml").ok_or(Refusal::UnknownPath)?;
    get_service_xml(state, Path(service.to_owned()), parameters, preferences).await
}

/// Query parameters of every SIRI Lite service, for the OpenAPI description. [`SiriQuery`] parses them, ignoring case.
#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only OpenAPI uses it")]
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

/// Returns a SIRI Lite service as JSON
///
/// Parameter names are case-insensitive. `MonitoringRef`, `LineRef`, `OperatorRef`, `StopPointRef` and `VehicleRef` are
/// ids, or `<feed>:<id>` if several feeds have the id.
#[utoipa::path(
    get, path = "/siri/2.0/{service}.json", tag = "formats",
    params(
        ("service" = String, Path, description = "`stop-monitoring`, `estimated-timetables`, `vehicle-monitoring`, \
            `situation-exchange`, `lines-discovery` or `stoppoints-discovery`"),
        LiteParameters
    ),
    responses(
        (status = 200, description = "The message, complete or as limited by the request", content_type = "application/json"),
        (status = 400, description = "The message with an `ErrorCondition`, also if the response would be too large", content_type = "application/json"),
        (status = 404, description = "`not_found`", body = Problem),
        (status = 503, description = "`busy`", body = Problem)
    )
)]
async fn get_service_json(
    State(siri): State<SiriService>,
    Path(service): Path<String>,
    parameters: QueryParameters,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    reply_to_query(&siri, &service, &parameters, &preferences, SiriEncoding::Json).await
}

/// Returns a SIRI Lite service as XML
#[utoipa::path(
    get, path = "/siri/2.0/{service}.xml", tag = "formats",
    params(
        ("service" = String, Path, description = "As for JSON"),
        LiteParameters
    ),
    responses(
        (status = 200, description = "The message, complete or as limited by the request", content_type = "application/xml"),
        (status = 400, description = "The message with an `ErrorCondition`, also if the response would be too large", content_type = "application/xml"),
        (status = 404, description = "`not_found`", body = Problem),
        (status = 503, description = "`busy`", body = Problem)
    )
)]
async fn get_service_xml(
    State(siri): State<SiriService>,
    Path(service): Path<String>,
    parameters: QueryParameters,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    reply_to_query(&siri, &service, &parameters, &preferences, SiriEncoding::Xml).await
}

async fn reply_to_query(
    siri: &SiriService,
    service: &str,
    parameters: &QueryParameters,
    preferences: &ReplyPreferences,
    encoding: SiriEncoding,
) -> Result<Response, Refusal> {
    let found = SERVICES.iter().find(|(name, _)| *name == service);
    let subject = found.map(|(_, subject)| *subject).ok_or(Refusal::UnknownPath)?;
    let snapshot = SiriSnapshot::capture_networks(siri);
    let mut query = match SiriQuery::from_parameters(parameters) {
        Ok(query) => query,
        Err(fault) => return Ok(reply_with_query_fault(&snapshot, subject, &fault, encoding)),
    };
    query.set_vehicle_message_identifier(&snapshot, subject);
    let answer =
        siri.reply_cache().find_or_build_reply(siri, &snapshot, subject, query, encoding).await?;
    Ok(reply_with_cached_message(siri, &snapshot, answer, preferences, encoding).await)
}

pub(super) async fn reply_with_cached_message(
    siri: &SiriService,
    snapshot: &SiriSnapshot,
    answer: EncodedSiriReply,
    preferences: &ReplyPreferences,
    encoding: SiriEncoding,
) -> Response {
    if answer.is_fault {
        return encoding.build_uncached_reply(SiriFault::STATUS, answer.bytes);
    }
    Representation::with_hash(encoding.content_type(), answer.bytes, answer.hash)
        .with_modified_time(Some(snapshot.at), siri.now())
        .with_freshness(snapshot.fresh_for)
        .into_reply(preferences, siri)
        .await
}

/// Replies to a query with invalid parameters.
pub(super) fn reply_with_query_fault(
    snapshot: &SiriSnapshot,
    subject: QuerySubject,
    fault: &SiriFault,
    encoding: SiriEncoding,
) -> Response {
    let message = deliveries::build_fault_message(snapshot, subject, &SiriQuery::default(), fault);
    encoding.build_uncached_reply(SiriFault::STATUS, encoding.encode_message(&message))
}
