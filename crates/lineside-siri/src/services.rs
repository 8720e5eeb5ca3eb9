//! Posted requests: plain XML, or the SOAP envelope of the French profile. The body selects the service, and the reply
//! has the request's encoding.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequest as _, Request, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use jiff::tz::TimeZone;
use lineside_config::client_network::client_limit_key;
use lineside_formats::siri::{
    self, CheckStatusRequest, CheckStatusResponse, MessageLimits, MessagePayload, ServiceDelivery,
    ServiceRequest, SiriMessage, SiriTime, SoapFault, SoapMessageKind, is_soap_envelope,
    soap_operation,
};
use lineside_http::blocking::run_blocking;
use lineside_http::errors::{Problem, Refusal};
use lineside_http::limits::{
    self, SIRI_QUERIES_MAX, SIRI_REF_BYTES_MAX, SIRI_REQUEST_BYTES_MAX, SIRI_WHOLE_BYTES_MAX,
};
use lineside_http::parameters::QueryParameters;
use lineside_http::proxies::PeerAddress;
use lineside_http::reply::ReplyPreferences;
use lineside_model::siri_output::SiriOutput;
use lineside_sync::real_time::run_with_timeout;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::answer_cache::{Requestor, RequestorId, SiriReplyCache};
use super::deliveries::{
    self, ConsumerPositions, ReplySizeLimit, build_delivery, fault_delivery,
    wrap_delivery_in_message, wrap_payload_in_message,
};
use super::encoding::SiriEncoding;
use super::fault::SiriFault;
use super::query::{QueryElement, QuerySubject, SiriQuery};
use super::snapshot::SiriSnapshot;
use crate::SiriService;

pub(super) fn routes() -> OpenApiRouter<SiriService> {
    OpenApiRouter::new()
        .routes(routes!(post_siri_request))
        .layer(DefaultBodyLimit::max(SIRI_REQUEST_BYTES_MAX))
}

/// Answers a SIRI request, plain or in a SOAP envelope
///
/// `ServiceRequest` for estimated timetables, vehicle monitoring, situation exchange and stop monitoring,
/// `CheckStatus`, and the discovery of lines and stops. The reply has the same envelope. In plain XML a `RequestorRef`
/// works like the `requestorId` of the Nordic form: the first reply has everything, later ones only changes.
#[utoipa::path(
    post, path = "/siri/services", tag = "formats",
    params(
        ("DatasetId" = Option<Vec<String>>, Query, description = "Only these feeds or networks"),
        ("ExcludedDatasetIds" = Option<String>, Query, description = "Feeds or networks to exclude, comma-separated")
    ),
    request_body(content = String, content_type = "application/xml", description = "A SIRI message"),
    responses(
        (status = 200, description = "The response", content_type = "application/xml"),
        (status = 400, description = "An `ErrorCondition`: the request is invalid", content_type = "application/xml"),
        (status = 500, description = "A SOAP fault: the request is invalid or not supported", content_type = "text/xml"),
        (status = 503, description = "`busy`", body = Problem)
    )
)]
async fn post_siri_request(
    State(siri): State<SiriService>,
    peer: PeerAddress,
    parameters: QueryParameters,
    headers: HeaderMap,
    preferences: ReplyPreferences,
    request: Request,
) -> Result<Response, Refusal> {
    let snapshot = SiriSnapshot::capture_networks(&siri);
    let posted = match ParsedPostRequest::parse_request(&siri, &snapshot, request).await? {
        Ok(posted) => posted,
        Err(response) => return Ok(response),
    };
    let encoding = posted.encoding;
    let client = client_limit_key(siri.trusted_proxies().client_address(peer, &headers));
    let read = SiriQuery::from_url_datasets(&parameters).and_then(|narrowed| {
        let requestor = posted.requestor_id(client)?;
        Ok((narrowed, requestor))
    });
    let (narrowed, requestor) = match read {
        Ok(read) => read,
        Err(fault) => return Ok(reply_with_fault(&snapshot, encoding, &fault)),
    };
    let permit = siri.admission().acquire_large_reply_permit().ok_or(Refusal::Busy)?;
    let (status, body) = run_blocking(move || {
        let _permit = permit;
        let snapshot = &snapshot;
        let request = PostedRequestContext {
            answer_cache: siri.reply_cache(),
            snapshot,
            encoding,
            query_base: narrowed,
            requestor,
        };
        posted.encode_reply(snapshot, request.build_reply_message(&posted.payload))
    })
    .await?;
    Ok(encoding.build_compressed_reply(status, body, &preferences).await)
}

/// SOAP operation of a request for any services; its reply has a name of its own.
const SIRI_SERVICE: &str = "GetSiriService";

#[derive(Debug)]
pub(super) struct ParsedPostRequest {
    pub(super) encoding: SiriEncoding,
    /// The kind of reply in a SOAP envelope.
    exchange: SoapMessageKind,
    pub(super) payload: MessagePayload,
}

impl ParsedPostRequest {
    /// Parses a request; the inner error is the reply to an invalid one.
    pub(super) async fn parse_request(
        siri: &SiriService,
        snapshot: &SiriSnapshot,
        request: Request,
    ) -> Result<Result<Self, Response>, Refusal> {
        let body = run_with_timeout(limits::CALL_TIMEOUT, Bytes::from_request(request, siri)).await;
        let Some(Ok(body)) = body else {
            let fault = SiriFault::invalid_value(format!(
                "the request is larger than {SIRI_REQUEST_BYTES_MAX} bytes or incomplete"
            ));
            return Ok(Err(reply_with_fault(snapshot, SiriEncoding::Xml, &fault)));
        };
        let encoding = if is_soap_envelope(&body) { SiriEncoding::Soap } else { SiriEncoding::Xml };
        let is_any_service = soap_operation(&body).is_some_and(|name| name == SIRI_SERVICE);
        let exchange = if is_any_service {
            SoapMessageKind::SiriServiceAnswer
        } else {
            SoapMessageKind::Answer
        };
        let read = run_blocking(move || parse_payload(&body)).await?;
        let posted = read.map(|payload| Self { encoding, exchange, payload });
        Ok(posted.map_err(|fault| reply_with_fault(snapshot, encoding, &fault)))
    }

    /// Returns the identity of a data request's client, if the request names it.
    fn requestor_id(&self, client: IpAddr) -> Result<Option<RequestorId>, SiriFault> {
        let MessagePayload::ServiceRequest(request) = &self.payload else { return Ok(None) };
        let name = request.requestor_ref.as_deref().map(str::trim).filter(|it| !it.is_empty());
        let Some(name) = name else { return Ok(None) };
        if name.len() > SIRI_REF_BYTES_MAX {
            let fault = format!("RequestorRef: longer than {SIRI_REF_BYTES_MAX} bytes");
            return Err(SiriFault::invalid_value(fault));
        }
        let (name, encoding) = (name.to_owned(), self.encoding);
        Ok(Some(RequestorId::Posted { name, client, encoding }))
    }

    /// Builds the reply from a message or a fault.
    pub(super) fn build_reply(
        &self,
        snapshot: &SiriSnapshot,
        answer: Result<SiriMessage, SiriFault>,
    ) -> Response {
        let (status, body) = self.encode_reply(snapshot, answer);
        self.encoding.build_uncached_reply(status, body)
    }

    /// Encodes a message or a fault as status and body. SOAP has faults for unknown requests; plain XML uses a delivery
    /// without a service.
    fn encode_reply(
        &self,
        snapshot: &SiriSnapshot,
        answer: Result<SiriMessage, SiriFault>,
    ) -> (StatusCode, Bytes) {
        let message = match (answer, self.encoding) {
            (Ok(message), _) => message,
            (Err(fault), SiriEncoding::Soap) => {
                return encode_fault(snapshot, SiriEncoding::Soap, &fault);
            }
            (Err(fault), SiriEncoding::Xml | SiriEncoding::Json) => {
                let message_ref = match &self.payload {
                    MessagePayload::ServiceRequest(request) => {
                        request.message_identifier.as_deref()
                    }
                    _ => None,
                };
                build_fault_message(snapshot, message_ref, &fault)
            }
        };
        (StatusCode::OK, self.encoding.encode_for_exchange(&message, self.exchange))
    }
}

/// Parses the single request of a body.
fn parse_payload(body: &[u8]) -> Result<MessagePayload, SiriFault> {
    let limits = MessageLimits { body_bytes: SIRI_REQUEST_BYTES_MAX, ..MessageLimits::default() };
    let (message, problems) = siri::decode_xml_message(body, &TimeZone::UTC, &limits)
        .map_err(|error| SiriFault::invalid_value(format!("the request is invalid: {error}")))?;
    let is_point_in_time = |field: Option<&str>| {
        field.is_some_and(|field| field.rsplit('/').next() == Some("RequestTimestamp"))
    };
    // An unreadable part of a request may be essential, so it is an error. The time of the request is not, and many
    // clients omit its offset.
    let mut grave = problems.retained_problems().iter().filter(|problem| {
        problem.code != "timestamp_without_zone" || !is_point_in_time(problem.field.as_deref())
    });
    let has_all_problems =
        u64::try_from(problems.retained_problems().len()) == Ok(problems.total_count());
    let first = if has_all_problems { grave.next() } else { problems.retained_problems().first() };
    if let Some(problem) = first {
        return Err(SiriFault::invalid_value(format!("the request is invalid: {problem}")));
    }
    let payload = message.payloads.into_iter().next();
    payload.ok_or_else(|| SiriFault::invalid_value("the request is empty"))
}

/// A parsed request and its context.
struct PostedRequestContext<'a> {
    answer_cache: &'a SiriReplyCache,
    snapshot: &'a SiriSnapshot,
    encoding: SiriEncoding,
    /// The datasets that the address selects.
    query_base: SiriQuery,
    /// The client's identity, if given: it can request the rest of a reply.
    requestor: Option<RequestorId>,
}

impl PostedRequestContext<'_> {
    /// Builds the reply.
    ///
    /// # Errors
    /// Returns a fault if no part of the request can be answered.
    fn build_reply_message(&self, payload: &MessagePayload) -> Result<SiriMessage, SiriFault> {
        let snapshot = self.snapshot;
        let single = |subject, query: Result<SiriQuery, SiriFault>| {
            let (Ok(message) | Err(message)) = query
                .map_err(|fault| {
                    deliveries::build_fault_message(
                        snapshot,
                        subject,
                        &SiriQuery::default(),
                        &fault,
                    )
                })
                .and_then(|query| {
                    deliveries::build_reply_message(
                        snapshot,
                        subject,
                        &self.limit_query_to_datasets(query),
                    )
                });
            message
        };
        Ok(match payload {
            MessagePayload::ServiceRequest(request) => {
                return self.build_service_deliveries(request);
            }
            MessagePayload::CheckStatusRequest(request) => {
                build_check_status_response(snapshot, request)
            }
            MessagePayload::LinesRequest(request) => {
                single(QuerySubject::Lines, request.to_query())
            }
            MessagePayload::StopPointsRequest(request) => {
                single(QuerySubject::StopPoints, request.to_query())
            }
            _ => {
                let fault = "this address only supports requests for data";
                return Err(SiriFault::not_offered(fault));
            }
        })
    }

    fn limit_query_to_datasets(&self, query: SiriQuery) -> SiriQuery {
        let SiriQuery { datasets, excluded, .. } = self.query_base.clone();
        SiriQuery { datasets, excluded, ..query }
    }

    /// Returns the largest number of records of a service in one reply.
    fn records_max(&self, subject: QuerySubject) -> usize {
        match (subject, &self.requestor) {
            (QuerySubject::Records(service), Some(_)) => deliveries::part_records_max(service),
            _ => ReplySizeLimit::for_complete_reply(subject).records,
        }
    }

    /// Builds a delivery for each requested service.
    fn build_service_deliveries(&self, request: &ServiceRequest) -> Result<SiriMessage, SiriFault> {
        let message_ref = request.message_identifier.as_deref();
        let mut all = ServiceDelivery::default();
        // All deliveries of a reply share the limit of one.
        let mut left: HashMap<QuerySubject, usize> = HashMap::new();
        let mut bytes = SIRI_WHOLE_BYTES_MAX;
        let mut learned = Vec::new();
        for (subject, question) in list_requested_queries(request)? {
            let records = left.entry(subject).or_insert_with(|| self.records_max(subject));
            let answer = question.to_query().and_then(|mut query| {
                query.message_ref = query.message_ref.or(message_ref.map(str::to_owned));
                query.set_vehicle_message_identifier(self.snapshot, subject);
                let query = self.limit_query_to_datasets(query);
                match (subject, &self.requestor) {
                    (QuerySubject::Records(service), Some(id)) => {
                        let requestor = Requestor::new(id.clone(), service, &query);
                        self.find_next_records(requestor, &query, *records, &mut learned)
                    }
                    _ => {
                        let limit = ReplySizeLimit { records: *records, bytes };
                        build_delivery(self.snapshot, subject, &query, limit)
                    }
                }
            });
            let answer = answer.unwrap_or_else(|fault| {
                fault_delivery(self.snapshot, subject, &SiriQuery::default(), &fault)
            });
            *records = records.saturating_sub(deliveries::count_elements(&answer));
            bytes = bytes.saturating_sub(deliveries::estimate_bytes(&answer));
            all.more_data = all.more_data.or(answer.more_data);
            all.status = all.status.or(answer.status);
            all.estimated_timetables.extend(answer.estimated_timetables);
            all.vehicle_monitorings.extend(answer.vehicle_monitorings);
            all.stop_monitorings.extend(answer.stop_monitorings);
            all.situation_exchanges.extend(answer.situation_exchanges);
        }
        // Stored at the end, so that a query repeated in one request gets the same answer twice.
        for (requestor, known) in learned {
            self.answer_cache.store_requestor_position(requestor, known);
        }
        Ok(wrap_delivery_in_message(self.snapshot, message_ref, all))
    }

    /// Finds the records that the client has not received.
    fn find_next_records(
        &self,
        requestor: Requestor,
        query: &SiriQuery,
        count_max: usize,
        learned: &mut Vec<(Arc<Requestor>, ConsumerPositions)>,
    ) -> Result<ServiceDelivery, SiriFault> {
        let requestor = Arc::new(requestor);
        let known = self.answer_cache.find_requestor_position(&requestor);
        let delivered = deliveries::find_records_after_position(
            self.snapshot,
            requestor.service,
            query,
            &known,
            count_max,
        )?;
        // In the French profile each request starts over; only the parts of one reply are continued.
        let is_last_part =
            self.encoding == SiriEncoding::Soap && delivered.delivery.more_data.is_none();
        learned.push((
            requestor,
            if is_last_part { ConsumerPositions::new() } else { delivered.positions },
        ));
        Ok(delivered.delivery)
    }
}

/// Builds a delivery without a service that contains the fault.
fn build_fault_message(
    snapshot: &SiriSnapshot,
    message_ref: Option<&str>,
    fault: &SiriFault,
) -> SiriMessage {
    let delivery = ServiceDelivery {
        status: Some(false),
        error_condition: Some(fault.error_condition()),
        ..ServiceDelivery::default()
    };
    wrap_delivery_in_message(snapshot, message_ref, delivery)
}

fn list_requested_queries(
    request: &ServiceRequest,
) -> Result<Vec<(QuerySubject, &dyn QueryElement)>, SiriFault> {
    let records = QuerySubject::Records;
    let journeys = request.estimated_timetables.iter().map(|it| it as &dyn QueryElement);
    let vehicles = request.vehicle_monitorings.iter().map(|it| it as &dyn QueryElement);
    let situations = request.situation_exchanges.iter().map(|it| it as &dyn QueryElement);
    let visits = request.stop_monitorings.iter().map(|it| it as &dyn QueryElement);
    let questions = journeys
        .map(|it| (records(SiriOutput::EstimatedTimetable), it))
        .chain(vehicles.map(|it| (records(SiriOutput::VehicleMonitoring), it)))
        .chain(situations.map(|it| (records(SiriOutput::SituationExchange), it)))
        .chain(visits.map(|it| (QuerySubject::Visits, it)));
    let questions: Vec<(QuerySubject, &dyn QueryElement)> = questions.collect();
    if questions.is_empty() {
        return Err(SiriFault::invalid_value("the request has no supported service"));
    }
    if questions.len() > SIRI_QUERIES_MAX {
        let fault = format!("the request has more than {SIRI_QUERIES_MAX} deliveries");
        return Err(SiriFault::invalid_value(fault));
    }
    Ok(questions)
}

fn build_check_status_response(
    snapshot: &SiriSnapshot,
    request: &CheckStatusRequest,
) -> SiriMessage {
    wrap_payload_in_message(MessagePayload::CheckStatusResponse(CheckStatusResponse {
        response_timestamp: snapshot.response_time(),
        producer_ref: Some(deliveries::PRODUCER.into()),
        request_message_ref: request.message_identifier.clone(),
        status: Some(true),
        service_started_time: SiriTime::from_millis(snapshot.started.0),
        ..CheckStatusResponse::default()
    }))
}

/// Replies to an unreadable request; in a SOAP envelope that is a SOAP fault with its HTTP status.
fn reply_with_fault(
    snapshot: &SiriSnapshot,
    encoding: SiriEncoding,
    fault: &SiriFault,
) -> Response {
    let (status, body) = encode_fault(snapshot, encoding, fault);
    encoding.build_uncached_reply(status, body)
}

fn encode_fault(
    snapshot: &SiriSnapshot,
    encoding: SiriEncoding,
    fault: &SiriFault,
) -> (StatusCode, Bytes) {
    let (status, message) = match encoding {
        SiriEncoding::Soap => {
            let payload = MessagePayload::Fault(SoapFault {
                code: Some("S:Client".into()),
                reason: Some(fault.fault_text().into()),
                error_condition: Some(fault.error_condition()),
            });
            (StatusCode::INTERNAL_SERVER_ERROR, wrap_payload_in_message(payload))
        }
        SiriEncoding::Xml | SiriEncoding::Json => {
            (SiriFault::STATUS, build_fault_message(snapshot, None, fault))
        }
    };
    (status, encoding.encode_message(&message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_query(inside: &str) -> Result<MessagePayload, SiriFault> {
        parse_payload(
            format!("<Siri xmlns=\"http://www.siri.org.uk/siri\">{inside}</Siri>").as_bytes(),
        )
    }

    #[test]
    fn request_timestamps_need_no_offset_and_requested_times_do() {
        let local = "<RequestTimestamp>2026-11-22T10:00:00</RequestTimestamp>";
        let check = parse_query(&format!("<CheckStatusRequest>{local}</CheckStatusRequest>"));
        assert!(matches!(check, Ok(MessagePayload::CheckStatusRequest(_))));
        let service = |inside: &str| {
            parse_query(&format!(
                "<ServiceRequest>{local}<RequestorRef>x</RequestorRef>\
                 <StopMonitoringRequest version=\"2.0\">{local}{inside}</StopMonitoringRequest>\
                 </ServiceRequest>"
            ))
        };
        assert!(
            service("").is_ok() && service("<StartTime>2026-11-22T10:00:00Z</StartTime>").is_ok()
        );
        assert!(service("<StartTime>2026-11-22T10:00:00</StartTime>").is_err());
        let wrong = "<RequestTimestamp>soon</RequestTimestamp>";
        assert!(parse_query(&format!("<CheckStatusRequest>{wrong}</CheckStatusRequest>")).is_err());
        // Many timestamps do not hide the invalid start.
        let many: String = (0..80)
            .map(|_| format!("<StopMonitoringRequest>{local}</StopMonitoringRequest>"))
            .collect();
        let start = "<StartTime>2026-11-22T10:00:00</StartTime>";
        let hidden = format!(
            "<ServiceRequest>{many}<StopMonitoringRequest>{start}</StopMonitoringRequest></ServiceRequest>"
        );
        assert!(parse_query(&hidden).is_err());
    }
}
