//! The Nordic form: a client with a `requestorId` first receives everything, and then only changes.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use lineside_http::blocking::run_blocking;
use lineside_http::errors::{Problem, Refusal};
use lineside_http::limits::{SIRI_NORDIC_DEFAULT, SIRI_REF_BYTES_MAX};
use lineside_http::parameters::QueryParameters;
use lineside_http::reply::ReplyPreferences;
use lineside_model::siri_output::SiriOutput;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::answer_cache::{Requestor, RequestorId};
use super::deliveries;
use super::encoding::SiriEncoding;
use super::fault::SiriFault;
use super::lite::{reply_with_cached_message, reply_with_query_fault};
use super::query::{QuerySubject, SiriQuery};
use super::snapshot::SiriSnapshot;
use crate::SiriService;

pub(super) fn routes() -> OpenApiRouter<SiriService> {
    OpenApiRouter::new().routes(routes!(get_service))
}

/// The services by their names in addresses.
const SERVICES: [(&str, SiriOutput); 3] = [
    ("et", SiriOutput::EstimatedTimetable),
    ("vm", SiriOutput::VehicleMonitoring),
    ("sx", SiriOutput::SituationExchange),
];

/// Returns SIRI in the Nordic form: everything, then changes
///
/// XML, or JSON by `Accept`. The first reply to a `requestorId` has everything, later ones only the changes since the
/// previous reply; a client that makes no request for ten minutes is forgotten. While `MoreData` is true there is more:
/// request again at once. Without a `requestorId` a reply is complete, or refused if it would be too large.
#[utoipa::path(
    get, path = "/siri/rest/{service}", tag = "formats",
    params(
        ("service" = String, Path, description = "`et`, `vm` or `sx`"),
        ("requestorId" = Option<String>, Query, description = "Any name that no other client uses"),
        ("datasetId" = Option<Vec<String>>, Query, description = "Only these feeds or networks"),
        ("excludedDatasetIds" = Option<String>, Query, description = "Feeds or networks to exclude, comma-separated"),
        ("maxSize" = Option<u32>, Query, description = "The maximum number of records; with a `requestorId` 1,500 by default"),
        ("LineRef" = Option<Vec<String>>, Query, description = "Only these lines"),
        ("DirectionRef" = Option<String>, Query, description = "Only this direction"),
        ("OperatorRef" = Option<Vec<String>>, Query, description = "Only these operators"),
        ("VehicleRef" = Option<Vec<String>>, Query, description = "Only these vehicles"),
        ("StopPointRef" = Option<Vec<String>>, Query, description = "Only situations that affect these stops"),
        ("MaximumVehicles" = Option<u32>, Query, description = "Like `maxSize`, for vehicles"),
        ("MessageIdentifier" = Option<String>, Query, description = "Repeated in the response"),
        ("PreviewInterval" = Option<String>, Query, description = "Only journeys that begin within this time, such as `PT30M`")
    ),
    responses(
        (status = 200, description = "The message", content_type = "application/xml"),
        (status = 400, description = "The message with an `ErrorCondition`", content_type = "application/xml"),
        (status = 404, description = "`not_found`", body = Problem),
        (status = 503, description = "`busy`", body = Problem)
    )
)]
async fn get_service(
    State(siri): State<SiriService>,
    Path(name): Path<String>,
    parameters: QueryParameters,
    headers: HeaderMap,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let found = SERVICES.iter().find(|(known, _)| *known == name);
    let service = found.map(|(_, service)| *service).ok_or(Refusal::UnknownPath)?;
    let encoding = negotiate_encoding(&headers);
    let mut response = reply_to_query(&siri, service, &parameters, encoding, &preferences).await?;
    let vary = HeaderValue::from_static("Accept-Encoding, Accept");
    response.headers_mut().insert(header::VARY, vary);
    Ok(response)
}

/// Returns XML, unless the client accepts JSON but not XML.
fn negotiate_encoding(headers: &HeaderMap) -> SiriEncoding {
    let accepted = headers.get(header::ACCEPT).and_then(|kinds| kinds.to_str().ok());
    let accepts = |kind| accepted.is_some_and(|accepted| accepted.contains(kind));
    if accepts("application/json") && !accepts("xml") {
        SiriEncoding::Json
    } else {
        SiriEncoding::Xml
    }
}

async fn reply_to_query(
    siri: &SiriService,
    service: SiriOutput,
    parameters: &QueryParameters,
    encoding: SiriEncoding,
    preferences: &ReplyPreferences,
) -> Result<Response, Refusal> {
    let subject = QuerySubject::Records(service);
    let snapshot = SiriSnapshot::capture_networks(siri);
    let mut query = match SiriQuery::from_parameters(parameters) {
        Ok(query) => query,
        Err(fault) => return Ok(reply_with_query_fault(&snapshot, subject, &fault, encoding)),
    };
    if query.visits_max == Some(0) {
        let fault = SiriFault::invalid_value("maxSize: expected at least 1");
        return Ok(reply_with_query_fault(&snapshot, subject, &fault, encoding));
    }
    query.set_vehicle_message_identifier(&snapshot, subject);
    match parameters.find_value_ignoring_case("requestorId") {
        None => {
            let answer = siri
                .reply_cache()
                .find_or_build_reply(siri, &snapshot, subject, query, encoding)
                .await?;
            Ok(reply_with_cached_message(siri, &snapshot, answer, preferences, encoding).await)
        }
        Some(id) if id.len() > SIRI_REF_BYTES_MAX => {
            let fault = format!("requestorId: longer than {SIRI_REF_BYTES_MAX} bytes");
            Ok(reply_with_query_fault(
                &snapshot,
                subject,
                &SiriFault::invalid_value(fault),
                encoding,
            ))
        }
        Some(id) => {
            query.visits_max = query.visits_max.or(Some(SIRI_NORDIC_DEFAULT));
            let requestor = Requestor::new(RequestorId::Name(id.to_owned()), service, &query);
            reply_with_changes(siri, snapshot, requestor, query, encoding, preferences).await
        }
    }
}

/// Replies with the changes since the requestor's last reply. The reply does not repeat the `requestorId`: a client
/// that knows it could take the changes meant for its owner.
async fn reply_with_changes(
    siri: &SiriService,
    snapshot: SiriSnapshot,
    requestor: Requestor,
    query: SiriQuery,
    encoding: SiriEncoding,
    preferences: &ReplyPreferences,
) -> Result<Response, Refusal> {
    let (service, requestor) = (requestor.service, Arc::new(requestor));
    let known = siri.reply_cache().find_requestor_position(&requestor);
    let permit = siri.admission().acquire_large_reply_permit().ok_or(Refusal::Busy)?;
    let answer = run_blocking(move || {
        let _permit = permit;
        let delivered = deliveries::find_records_after_position(
            &snapshot,
            service,
            &query,
            &known,
            deliveries::part_records_max(service),
        )
        .map_err(|fault| {
            deliveries::build_fault_message(
                &snapshot,
                QuerySubject::Records(service),
                &query,
                &fault,
            )
        })?;
        let message = deliveries::wrap_delivery_in_message(
            &snapshot,
            query.message_ref.as_deref(),
            delivered.delivery,
        );
        Ok((encoding.encode_message(&message), delivered.positions))
    });
    match answer.await? {
        Ok((body, known)) => {
            // A HEAD request delivers no changes.
            if preferences.has_reply_body() {
                siri.reply_cache().store_requestor_position(requestor, known);
            }
            Ok(encoding.build_uncached_reply(StatusCode::OK, body))
        }
        Err(message) => {
            Ok(encoding.build_uncached_reply(SiriFault::STATUS, encoding.encode_message(&message)))
        }
    }
}
