//! Requests that are posted: plain XML, or in the envelope of the French profile. The body says what is asked, and the
//! answer comes as the question did.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequest as _, Request, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use jiff::tz::TimeZone;
use lineside_formats::siri::{
    self, CheckStatusRequest, CheckStatusResponse, Exchange, Fault as SoapFault, Limits, Message,
    Payload, ServiceDelivery, ServiceRequest, Time, is_enveloped, operation,
};
use lineside_ingest::siri::Service;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::answer::{self, AnswerRoom, Known, delivery, faulty, whole, wrap};
use super::asked::{Asked, Question, Subject};
use super::desk::{Desk, Requestor, RequestorId};
use super::fault::Fault;
use super::form::Form;
use super::scene::Scene;
use crate::address::client_network;
use crate::app::App;
use crate::http::aside::aside;
use crate::http::errors::{Problem, Refusal};
use crate::http::limits::{
    self, SIRI_QUESTIONS_MAX, SIRI_REF_BYTES_MAX, SIRI_REQUEST_BYTES_MAX, SIRI_WHOLE_BYTES_MAX,
};
use crate::http::parameters::Parameters;
use crate::http::proxies::Peer;
use crate::http::reply::Wants;
use crate::patience::within;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(services))
        .layer(DefaultBodyLimit::max(SIRI_REQUEST_BYTES_MAX))
}

/// SIRI requests, plain or in an envelope of SOAP
///
/// `ServiceRequest` for estimated timetables, vehicle monitoring, situation exchange and stop monitoring, `CheckStatus`,
/// and the discovery of lines and stops. The answer comes in the same envelope. In plain XML a `RequestorRef` works as the
/// `requestorId` of the Nordic form: the first answer is everything, later ones hold what changed since.
#[utoipa::path(
    post, path = "/siri/services", tag = "formats",
    params(
        ("DatasetId" = Option<Vec<String>>, Query, description = "Of these feeds or networks"),
        ("ExcludedDatasetIds" = Option<String>, Query, description = "Not of these, separated by commas")
    ),
    request_body(content = String, content_type = "application/xml", description = "A message of SIRI"),
    responses(
        (status = 200, description = "The answer", content_type = "application/xml"),
        (status = 400, description = "An `ErrorCondition`: the request cannot be read", content_type = "application/xml"),
        (status = 500, description = "A fault of SOAP: the request cannot be read, or nothing that it asks for is offered here", content_type = "text/xml"),
        (status = 503, description = "`busy`", body = Problem)
    )
)]
async fn services(
    State(app): State<App>,
    peer: Peer,
    parameters: Parameters,
    headers: HeaderMap,
    wants: Wants,
    request: Request,
) -> Result<Response, Refusal> {
    let scene = Scene::of(&app);
    let posted = match Posted::take(&app, &scene, request).await? {
        Ok(posted) => posted,
        Err(response) => return Ok(response),
    };
    let form = posted.form;
    let client = client_network(app.proxies().client_of(peer, &headers));
    let read = Asked::from_address(&parameters).and_then(|narrowed| {
        let requestor = posted.requestor(client)?;
        Ok((narrowed, requestor))
    });
    let (narrowed, requestor) = match read {
        Ok(read) => read,
        Err(fault) => return Ok(refused(&scene, form, &fault)),
    };
    let place = app.admission().admit_maker().ok_or(Refusal::Busy)?;
    let (status, body) = aside(move || {
        let _place = place;
        let scene = &scene;
        let request = PostedRequest { desk: app.siri(), scene, form, narrowed, requestor };
        posted.encode_answer(scene, request.make_answer(&posted.payload))
    })
    .await?;
    Ok(form.reply_coded(status, body, &wants).await)
}

/// What the envelope calls a request for any services, whose answer is called by it too.
const SIRI_SERVICE: &str = "GetSiriService";

/// A request that was read.
#[derive(Debug)]
pub(super) struct Posted {
    pub(super) form: Form,
    /// What its answer is, in an envelope.
    exchange: Exchange,
    pub(super) payload: Payload,
}

impl Posted {
    /// Reads a request; where it cannot be read, what is answered.
    pub(super) async fn take(
        app: &App,
        scene: &Scene,
        request: Request,
    ) -> Result<Result<Self, Response>, Refusal> {
        let body = within(limits::CALL_TIMEOUT, Bytes::from_request(request, app)).await;
        let Some(Ok(body)) = body else {
            let fault = Fault::bad(format!(
                "the request is larger than {SIRI_REQUEST_BYTES_MAX} bytes or did not come"
            ));
            return Ok(Err(refused(scene, Form::Xml, &fault)));
        };
        let form = if is_enveloped(&body) { Form::Soap } else { Form::Xml };
        let is_of_any = operation(&body).is_some_and(|name| name == SIRI_SERVICE);
        let exchange = if is_of_any { Exchange::SiriServiceAnswer } else { Exchange::Answer };
        let read = aside(move || read(&body)).await?;
        let posted = read.map(|payload| Self { form, exchange, payload });
        Ok(posted.map_err(|fault| refused(scene, form, &fault)))
    }

    /// What the client of a request for data calls itself, where it does.
    fn requestor(&self, client: IpAddr) -> Result<Option<RequestorId>, Fault> {
        let Payload::ServiceRequest(request) = &self.payload else { return Ok(None) };
        let name = request.requestor_ref.as_deref().map(str::trim).filter(|it| !it.is_empty());
        let Some(name) = name else { return Ok(None) };
        if name.len() > SIRI_REF_BYTES_MAX {
            let fault = format!("RequestorRef: is longer than {SIRI_REF_BYTES_MAX} bytes");
            return Err(Fault::bad(fault));
        }
        let (name, form) = (name.to_owned(), self.form);
        Ok(Some(RequestorId::Posted { name, client, form }))
    }

    /// The answer that was made, or why none is, as a reply.
    pub(super) fn reply(&self, scene: &Scene, made: Result<Message, Fault>) -> Response {
        let (status, body) = self.encode_answer(scene, made);
        self.form.reply(status, body)
    }

    /// The same as status and body. An envelope has no answer to what it does not know, but faults; plain XML has a
    /// delivery of no service.
    fn encode_answer(&self, scene: &Scene, made: Result<Message, Fault>) -> (StatusCode, Bytes) {
        let message = match (made, self.form) {
            (Ok(message), _) => message,
            (Err(fault), Form::Soap) => return encode_refusal(scene, Form::Soap, &fault),
            (Err(fault), Form::Xml | Form::Json) => {
                let message_ref = match &self.payload {
                    Payload::ServiceRequest(request) => request.message_identifier.as_deref(),
                    _ => None,
                };
                refusal(scene, message_ref, &fault)
            }
        };
        (StatusCode::OK, self.form.encode_for(&message, self.exchange))
    }
}

/// The one thing that a body asks.
fn read(body: &[u8]) -> Result<Payload, Fault> {
    let limits = Limits { body_bytes: SIRI_REQUEST_BYTES_MAX, ..Limits::default() };
    let (message, problems) = siri::decode_xml(body, &TimeZone::UTC, &limits)
        .map_err(|error| Fault::bad(format!("the request cannot be read: {error}")))?;
    let is_of_moment = |field: Option<&str>| {
        field.is_some_and(|field| field.rsplit('/').next() == Some("RequestTimestamp"))
    };
    // What cannot be read of a request may be what it is about, so it is not passed over. Nothing follows from when exactly
    // it was made, and many leave out the offset there.
    let mut grave = problems.kept().iter().filter(|problem| {
        problem.code != "timestamp_without_zone" || !is_of_moment(problem.field.as_deref())
    });
    let are_all_kept = u64::try_from(problems.kept().len()) == Ok(problems.total());
    let first = if are_all_kept { grave.next() } else { problems.kept().first() };
    if let Some(problem) = first {
        return Err(Fault::bad(format!("the request cannot be read: {problem}")));
    }
    let payload = message.payloads.into_iter().next();
    payload.ok_or_else(|| Fault::bad("the request asks nothing"))
}

/// A request that can be read, and from whom it is.
struct PostedRequest<'a> {
    desk: &'a Desk,
    scene: &'a Scene,
    form: Form,
    /// What the address narrows it to.
    narrowed: Asked,
    /// The client, where it says its name: it can come back for the rest of an answer.
    requestor: Option<RequestorId>,
}

impl PostedRequest<'_> {
    /// The answer.
    ///
    /// # Errors
    /// Why nothing of what it asks for is answered here.
    fn make_answer(&self, payload: &Payload) -> Result<Message, Fault> {
        let scene = self.scene;
        let single = |subject, asked: Result<Asked, Fault>| {
            let (Ok(message) | Err(message)) = asked
                .map_err(|fault| answer::refusal(scene, subject, &Asked::default(), &fault))
                .and_then(|asked| answer::message(scene, subject, &self.narrow(asked)));
            message
        };
        Ok(match payload {
            Payload::ServiceRequest(request) => return self.make_deliveries(request),
            Payload::CheckStatusRequest(request) => check_status(scene, request),
            Payload::LinesRequest(request) => single(Subject::Lines, request.asked()),
            Payload::StopPointsRequest(request) => single(Subject::StopPoints, request.asked()),
            _ => {
                let fault = "only requests for data are answered at this address";
                return Err(Fault::not_offered(fault));
            }
        })
    }

    fn narrow(&self, asked: Asked) -> Asked {
        let Asked { datasets, excluded, .. } = self.narrowed.clone();
        Asked { datasets, excluded, ..asked }
    }

    /// How many records of a service one answer may hold.
    fn records_max(&self, subject: Subject) -> usize {
        match (subject, &self.requestor) {
            (Subject::Records(service), Some(_)) => answer::part_max(service),
            _ => AnswerRoom::for_whole(subject).records,
        }
    }

    /// A delivery for each service that is asked for.
    fn make_deliveries(&self, request: &ServiceRequest) -> Result<Message, Fault> {
        let message_ref = request.message_identifier.as_deref();
        let mut all = ServiceDelivery::default();
        // However many deliveries are asked for, together they hold no more than one answer may.
        let mut left: HashMap<Subject, usize> = HashMap::new();
        let mut bytes = SIRI_WHOLE_BYTES_MAX;
        let mut learned = Vec::new();
        for (subject, question) in list_questions(request)? {
            let records = left.entry(subject).or_insert_with(|| self.records_max(subject));
            let made = question.asked().and_then(|mut asked| {
                asked.message_ref = asked.message_ref.or(message_ref.map(str::to_owned));
                asked.name_vehicle_request(self.scene, subject);
                let asked = self.narrow(asked);
                match (subject, &self.requestor) {
                    (Subject::Records(service), Some(id)) => {
                        let requestor = Requestor::new(id.clone(), service, &asked);
                        self.find_next_part(requestor, &asked, *records, &mut learned)
                    }
                    _ => {
                        let room = AnswerRoom { records: *records, bytes };
                        delivery(self.scene, subject, &asked, room)
                    }
                }
            });
            let made =
                made.unwrap_or_else(|fault| faulty(self.scene, subject, &Asked::default(), &fault));
            *records = records.saturating_sub(answer::n_elements(&made));
            bytes = bytes.saturating_sub(answer::estimate_bytes(&made));
            all.more_data = all.more_data.or(made.more_data);
            all.status = all.status.or(made.status);
            all.estimated_timetables.extend(made.estimated_timetables);
            all.vehicle_monitorings.extend(made.vehicle_monitorings);
            all.stop_monitorings.extend(made.stop_monitorings);
            all.situation_exchanges.extend(made.situation_exchanges);
        }
        // The same question twice in one request has the same answer twice.
        for (requestor, known) in learned {
            self.desk.remember(requestor, known);
        }
        Ok(whole(self.scene, message_ref, all))
    }

    /// What the client was not told so far.
    fn find_next_part(
        &self,
        requestor: Requestor,
        asked: &Asked,
        room: usize,
        learned: &mut Vec<(Arc<Requestor>, Known)>,
    ) -> Result<ServiceDelivery, Fault> {
        let requestor = Arc::new(requestor);
        let known = self.desk.known(&requestor);
        let told = answer::records(self.scene, requestor.service, asked, &known, room)?;
        // In the French profile each request is answered whole; only the parts of one answer follow each other.
        let is_over = self.form == Form::Soap && told.delivery.more_data.is_none();
        learned.push((requestor, if is_over { Known::new() } else { told.known }));
        Ok(told.delivery)
    }
}

/// A delivery of no service that says why.
fn refusal(scene: &Scene, message_ref: Option<&str>, fault: &Fault) -> Message {
    let delivery = ServiceDelivery {
        status: Some(false),
        error_condition: Some(fault.condition()),
        ..ServiceDelivery::default()
    };
    whole(scene, message_ref, delivery)
}

/// The questions of a request, each with what it is about.
fn list_questions(request: &ServiceRequest) -> Result<Vec<(Subject, &dyn Question)>, Fault> {
    let records = Subject::Records;
    let journeys = request.estimated_timetables.iter().map(|it| it as &dyn Question);
    let vehicles = request.vehicle_monitorings.iter().map(|it| it as &dyn Question);
    let situations = request.situation_exchanges.iter().map(|it| it as &dyn Question);
    let visits = request.stop_monitorings.iter().map(|it| it as &dyn Question);
    let questions = journeys
        .map(|it| (records(Service::EstimatedTimetable), it))
        .chain(vehicles.map(|it| (records(Service::VehicleMonitoring), it)))
        .chain(situations.map(|it| (records(Service::SituationExchange), it)))
        .chain(visits.map(|it| (Subject::Visits, it)));
    let questions: Vec<(Subject, &dyn Question)> = questions.collect();
    if questions.is_empty() {
        return Err(Fault::bad("the request is for no service that is offered"));
    }
    if questions.len() > SIRI_QUESTIONS_MAX {
        let fault = format!("the request is for more than {SIRI_QUESTIONS_MAX} deliveries");
        return Err(Fault::bad(fault));
    }
    Ok(questions)
}

fn check_status(scene: &Scene, request: &CheckStatusRequest) -> Message {
    wrap(Payload::CheckStatusResponse(CheckStatusResponse {
        response_timestamp: scene.time(),
        producer_ref: Some(answer::PRODUCER.into()),
        request_message_ref: request.message_identifier.clone(),
        status: Some(true),
        service_started_time: Time::from_millis(scene.started.0),
        ..CheckStatusResponse::default()
    }))
}

/// The answer to what cannot be read; in an envelope that is a fault, with the status that SOAP asks for.
fn refused(scene: &Scene, form: Form, fault: &Fault) -> Response {
    let (status, body) = encode_refusal(scene, form, fault);
    form.reply(status, body)
}

fn encode_refusal(scene: &Scene, form: Form, fault: &Fault) -> (StatusCode, Bytes) {
    let (status, message) = match form {
        Form::Soap => {
            let payload = Payload::Fault(SoapFault {
                code: Some("S:Client".into()),
                reason: Some(fault.text().into()),
                error_condition: Some(fault.condition()),
            });
            (StatusCode::INTERNAL_SERVER_ERROR, wrap(payload))
        }
        Form::Xml | Form::Json => (Fault::STATUS, refusal(scene, None, fault)),
    };
    (status, form.encode(&message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(inside: &str) -> Result<Payload, Fault> {
        read(format!("<Siri xmlns=\"http://www.siri.org.uk/siri\">{inside}</Siri>").as_bytes())
    }

    #[test]
    fn when_a_request_was_made_needs_no_offset_and_what_it_asks_for_does() {
        let local = "<RequestTimestamp>2026-11-22T10:00:00</RequestTimestamp>";
        let check = asked(&format!("<CheckStatusRequest>{local}</CheckStatusRequest>"));
        assert!(matches!(check, Ok(Payload::CheckStatusRequest(_))));
        let service = |inside: &str| {
            asked(&format!(
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
        assert!(asked(&format!("<CheckStatusRequest>{wrong}</CheckStatusRequest>")).is_err());
        // However many moments hide it.
        let many: String = (0..80)
            .map(|_| format!("<StopMonitoringRequest>{local}</StopMonitoringRequest>"))
            .collect();
        let start = "<StartTime>2026-11-22T10:00:00</StartTime>";
        let hidden = format!(
            "<ServiceRequest>{many}<StopMonitoringRequest>{start}</StopMonitoringRequest></ServiceRequest>"
        );
        assert!(asked(&hidden).is_err());
    }
}
