//! Requests to a SIRI producer.

use lineside_formats::siri::{
    EstimatedTimetableRequest, MessagePayload, ServiceRequest, SiriMessage, SiriTime,
    SituationExchangeRequest, SoapMessageKind, StopMonitoringRequest, VehicleMonitoringRequest,
    encode_soap, encode_xml,
};
use lineside_sync::UnixMillis;
use smol_str::{SmolStr, ToSmolStr, format_smolstr};
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::{
    feed_config::FeedConfig,
    fetch::{PostRequest, SourceRequest},
    source::{Secret, SiriEnvelope, SiriMode, SiriService, SiriSourceSettings},
};

/// The SIRI version of requests, which every producer supports.
pub(super) const VERSION: &str = "2.0";

/// Builds the requests of one feed.
#[derive(Debug)]
pub(crate) struct SiriRequestBuilder {
    rng: fastrand::Rng,
    /// The session under which a producer remembers what it has sent.
    session: u64,
}

impl SiriRequestBuilder {
    pub(crate) fn new(seed: u64) -> SiriRequestBuilder {
        let mut rng = fastrand::Rng::with_seed(seed);
        SiriRequestBuilder { session: rng.u64(..), rng }
    }

    /// Starts a new session, so that the next answers contain all data.
    pub(super) fn start_new_session(&mut self) {
        self.session = self.rng.u64(..);
    }

    pub(crate) fn build_next_request(
        &mut self,
        config: &FeedConfig,
        now: UnixMillis,
    ) -> SourceRequest {
        let Some(source) = config.siri.as_deref() else { return SourceRequest::Plain };
        match (source.mode, &source.requestor_ref) {
            (SiriMode::Lite, None) => SourceRequest::Plain,
            (SiriMode::Lite, Some(requestor)) => SourceRequest::Parameter(
                "requestorId",
                self.requestor_ref_to_send(source, requestor),
            ),
            (SiriMode::Request, _) => self.build_service_post(source, now),
            // The request depends on the state of the subscription.
            (SiriMode::Subscribe, _) => SourceRequest::Plain,
        }
    }

    /// Returns the requestor's name. A producer that sends changes must not associate it with an earlier process, or it
    /// would omit what that process received.
    fn requestor_ref_to_send(&self, source: &SiriSourceSettings, requestor: &Secret) -> String {
        match source.is_limited_to_changes() {
            true => session_requestor_name(requestor, self.session),
            false => requestor.reveal().to_owned(),
        }
    }

    fn build_service_post(
        &mut self,
        source: &SiriSourceSettings,
        now: UnixMillis,
    ) -> SourceRequest {
        let id: SmolStr = format_smolstr!("lineside-{:016x}", self.rng.u64(..));
        let mut request = build_service_request(source, now, &id);
        if let Some(requestor) = &source.requestor_ref {
            request.requestor_ref = Some(self.requestor_ref_to_send(source, requestor).into());
        }
        let action = source.services.first().map_or("", soap_action);
        build_post(source, MessagePayload::ServiceRequest(request), action)
    }
}

/// Returns a requestor name for a session. A producer that remembers an earlier process would omit what that one
/// received. Producers echo the name in answers that are published, so it reveals nothing of the secret requestor
/// reference.
fn session_requestor_name(requestor: &Secret, session: u64) -> String {
    let hash = xxh3_128_with_seed(requestor.reveal().as_bytes(), session);
    format!("lineside-{hash:032x}")
}

/// Builds a POST in the producer's envelope; `action` is the SOAP action.
pub(super) fn build_post(
    source: &SiriSourceSettings,
    payload: MessagePayload,
    action: &'static str,
) -> SourceRequest {
    let message = SiriMessage { version: Some(VERSION.into()), payloads: vec![payload] };
    let (body, action) = match source.envelope {
        SiriEnvelope::Xml => (encode_xml(&message), None),
        SiriEnvelope::Soap => (encode_soap(&message, SoapMessageKind::Answer), Some(action)),
    };
    SourceRequest::Post(PostRequest {
        body: body.into(),
        content_type: "text/xml; charset=utf-8",
        action,
        secret: None,
    })
}

/// Returns the SOAP action of a service request.
fn soap_action(service: &SiriService) -> &'static str {
    match service {
        SiriService::Timetables => "GetEstimatedTimetable",
        SiriService::Vehicles => "GetVehicleMonitoring",
        SiriService::Situations => "GetSituationExchange",
        SiriService::Stops => "GetStopMonitoring",
    }
}

fn build_service_request(
    source: &SiriSourceSettings,
    now: UnixMillis,
    id: &SmolStr,
) -> ServiceRequest {
    let version = Some(SmolStr::new_static(VERSION));
    let at = SiriTime::from_millis(now.0);
    let own = source.requestor_ref.as_ref().map(|it| it.reveal().to_smolstr());
    let mut request = ServiceRequest {
        request_timestamp: at,
        // The schema requires a name. An earlier name would get only changes from a producer that remembers names.
        requestor_ref: own.or_else(|| Some(id.clone())),
        message_identifier: Some(id.clone()),
        ..ServiceRequest::default()
    };
    let part = |name: &str| Some(format_smolstr!("{id}-{name}"));
    for service in &source.services {
        match service {
            SiriService::Timetables => {
                request.estimated_timetables.push(EstimatedTimetableRequest {
                    version: version.clone(),
                    request_timestamp: at,
                    message_identifier: part("et"),
                    ..EstimatedTimetableRequest::default()
                });
            }
            SiriService::Vehicles => request.vehicle_monitorings.push(VehicleMonitoringRequest {
                version: version.clone(),
                request_timestamp: at,
                message_identifier: part("vm"),
                ..VehicleMonitoringRequest::default()
            }),
            SiriService::Situations => {
                request.situation_exchanges.push(SituationExchangeRequest {
                    version: version.clone(),
                    request_timestamp: at,
                    message_identifier: part("sx"),
                    ..SituationExchangeRequest::default()
                });
            }
            SiriService::Stops => {
                let stops = source.stops.iter().zip(1..);
                request.stop_monitorings.extend(stops.map(|(stop, number)| {
                    StopMonitoringRequest {
                        version: version.clone(),
                        request_timestamp: at,
                        message_identifier: part(&format!("sm-{number}")),
                        monitoring_ref: Some(stop.to_smolstr()),
                        ..StopMonitoringRequest::default()
                    }
                }));
            }
        }
    }
    request
}

#[cfg(test)]
pub(in crate::poll::protocols::siri) mod tests {
    use jiff::tz::TimeZone;
    use lineside_formats::siri::{self, MessageLimits};

    use super::*;
    use crate::feed_id::FeedId;
    use crate::source::{SiriAnswers, SourceLocation};

    fn request_for_source(source: SiriSourceSettings) -> SourceRequest {
        let url = SourceLocation::parse("https://a.example/siri").unwrap();
        let mut config = FeedConfig::new(FeedId::new("a").unwrap(), url);
        config.siri = Some(source.into());
        SiriRequestBuilder::new(7).build_next_request(&config, UnixMillis(1_795_262_400_000))
    }

    fn source(services: &[SiriService], envelope: SiriEnvelope) -> SiriSourceSettings {
        SiriSourceSettings {
            services: services.to_vec(),
            mode: SiriMode::Request,
            requestor_ref: Some(Secret::new("opendata")),
            envelope,
            stops: vec!["A".to_owned(), "B".to_owned()],
            ..SiriSourceSettings::default()
        }
    }

    fn request(question: SourceRequest) -> ServiceRequest {
        let SourceRequest::Post(post) = question else { panic!("{question:?}") };
        let (message, problems) =
            siri::decode_siri_message(&post.body, &TimeZone::UTC, &MessageLimits::default())
                .unwrap();
        assert_eq!(problems.total_count(), 0, "{:?}", problems.retained_problems());
        let Some(MessagePayload::ServiceRequest(request)) = message.payloads.into_iter().next()
        else {
            panic!("the message is not a ServiceRequest")
        };
        request
    }

    /// Compares a message with the golden file, or writes the file if `LINESIDE_BLESS` is set.
    pub(in crate::poll::protocols::siri) fn golden(name: &str, text: &str) {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        let (path, text) = (folder.join(name), text.replace("><", ">\n<") + "\n");
        if std::env::var_os("LINESIDE_BLESS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        assert_eq!(text, std::fs::read_to_string(&path).unwrap_or_default(), "{name}");
    }

    #[test]
    fn a_service_request_follows_the_schema() {
        for service in SiriService::ALL {
            let body = request_for_source(source(&[*service], SiriEnvelope::Xml));
            let SourceRequest::Post(post) = &body else { panic!("{body:?}") };
            let text = std::str::from_utf8(&post.body).unwrap();
            golden(&format!("siri-request-{service}.xml"), text);
        }
    }

    #[test]
    fn one_request_contains_all_services_and_stops() {
        let body = request(request_for_source(source(SiriService::ALL, SiriEnvelope::Xml)));
        assert_eq!(body.requestor_ref.as_deref(), Some("opendata"));
        assert_eq!(body.request_timestamp, SiriTime::from_millis(1_795_262_400_000));
        let stops: Vec<_> =
            body.stop_monitorings.iter().filter_map(|it| it.monitoring_ref.as_deref()).collect();
        assert_eq!(stops, ["A", "B"]);
        let single = [
            body.estimated_timetables.len(),
            body.vehicle_monitorings.len(),
            body.situation_exchanges.len(),
        ];
        assert_eq!(single, [1, 1, 1]);
    }

    #[test]
    fn each_request_without_a_requestor_ref_has_a_new_name() {
        let nameless = SiriSourceSettings {
            requestor_ref: None,
            ..source(&[SiriService::Timetables], SiriEnvelope::Xml)
        };
        let url = SourceLocation::parse("https://a.example/siri").unwrap();
        let mut config = FeedConfig::new(FeedId::new("a").unwrap(), url);
        config.siri = Some(nameless.into());
        let mut questions = SiriRequestBuilder::new(7);
        let mut name =
            || request(questions.build_next_request(&config, UnixMillis(0))).requestor_ref.unwrap();
        assert_ne!(name(), name());
    }

    #[test]
    fn soap_names_the_operation() {
        let question = request_for_source(source(&[SiriService::Vehicles], SiriEnvelope::Soap));
        let SourceRequest::Post(post) = &question else { panic!("{question:?}") };
        assert_eq!(post.action, Some("GetVehicleMonitoring"));
        assert_eq!(request(question).vehicle_monitorings.len(), 1);
    }

    #[test]
    fn siri_lite_requests_for_changes_have_a_session_name() {
        let lite = SiriSourceSettings {
            mode: SiriMode::Lite,
            ..source(&[SiriService::Timetables], SiriEnvelope::Xml)
        };
        let SourceRequest::Parameter("requestorId", name) = request_for_source(lite.clone()) else {
            panic!()
        };
        assert!(name.starts_with("lineside-") && name.len() == 41, "{name}");
        assert!(!name.contains("opendata"), "{name}");
        let opendata = Secret::new("opendata");
        assert_eq!(session_requestor_name(&opendata, 1), session_requestor_name(&opendata, 1));
        assert_ne!(session_requestor_name(&opendata, 1), session_requestor_name(&opendata, 2));
        assert_ne!(
            session_requestor_name(&opendata, 1),
            session_requestor_name(&Secret::new("other"), 1)
        );
        assert!(matches!(request_for_source(SiriSourceSettings::default()), SourceRequest::Plain));
        let whole = SiriSourceSettings { answers: Some(SiriAnswers::Whole), ..lite.clone() };
        let SourceRequest::Parameter("requestorId", name) = request_for_source(whole) else {
            panic!()
        };
        assert_eq!(name, "opendata", "full answers need no session name");
        let changes = SiriSourceSettings {
            answers: Some(SiriAnswers::Changes),
            ..source(&[SiriService::Timetables], SiriEnvelope::Xml)
        };
        let name = request(request_for_source(changes)).requestor_ref.unwrap();
        assert!(name.starts_with("lineside-") && name.len() == 41, "{name}");
    }
}
