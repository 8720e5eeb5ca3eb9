//! Records of producers' messages: deliveries of each service, and answers to requests and subscriptions.

use smol_str::SmolStr;

use super::{
    DurationSeconds, LanguageText, MonitoredStopVisit, MonitoredStopVisitCancellation,
    PtSituationElement, SiriTime, VehicleActivity, VehicleActivityCancellation, VehicleJourney,
    reader::MessageReader,
    record::{RecordElement as _, SiriRecord, elements, records},
    sink::MessageSink,
    source::MessageSource,
};
use crate::Error;

/// The reason for a refusal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorCondition {
    /// The name of the error, such as `AccessNotAllowedError`.
    pub kind: Option<SmolStr>,
    /// The error number, if the producer uses numbers.
    pub number: Option<SmolStr>,
    /// The producer's text.
    pub text: Option<SmolStr>,
    /// A further description.
    pub description: Option<SmolStr>,
}

impl SiriRecord for ErrorCondition {
    fn read_child<'a, S: MessageSource<'a>>(
        &mut self,
        name: &str,
        reader: &mut MessageReader<'a, S>,
    ) -> Result<bool, Error> {
        match name {
            "Description" | "ErrorDescription" => {
                self.description.read_element("Description", reader)?
            }
            "ErrorText" => self.text.read_element("ErrorText", reader)?,
            "WSErrorConditionElement" | "ErrorInformation" => {
                reader.read_record("ErrorInformation", self)?;
            }
            _ if is_error_element(name) => {
                self.kind = Some(SmolStr::new(name));
                self.number = reader.read_attribute("number");
                while let Some(name) = reader.source.open_next_child()? {
                    match name {
                        "ErrorText" => self.text.read_element("ErrorText", reader)?,
                        // In JSON the attribute is a child.
                        "number" | "Number" => self.number.read_element("number", reader)?,
                        _ => reader.skip_and_count_element(name)?,
                    }
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn write_children<W: MessageSink>(&self, sink: &mut W) {
        if self.kind.is_some() || self.number.is_some() || self.text.is_some() {
            let kind = self.kind.as_deref().filter(|kind| is_error_element(kind)).unwrap_or(OTHER);
            sink.begin_element(kind);
            if let Some(number) = &self.number {
                sink.write_attribute("number", number);
            }
            self.text.write_element("ErrorText", sink);
            sink.end_element(kind);
        }
        self.description.write_element("Description", sink);
    }

    fn write_samples<W: MessageSink>(sink: &mut W) {
        let text = |text| Some(SmolStr::new_static(text));
        let kind = text("AccessNotAllowedError");
        let (number, text, description) = (text("7"), text("ErrorText"), text("Description"));
        ErrorCondition { kind, number, text, description }.write_children(sink);
    }

    #[cfg(test)]
    fn random(rng: &mut fastrand::Rng, fill: u8) -> ErrorCondition {
        let names = ["AccessNotAllowedError", "OtherError"];
        let mut text = || (rng.u8(..100) < fill).then(|| super::values::TextValue::random(rng));
        let (text, description) = (text(), text());
        let kind = Some(SmolStr::new_static(names[rng.usize(..2)]));
        ErrorCondition { kind, number: Some(SmolStr::new_static("7")), text, description }
    }
}

elements!(ErrorCondition, read_record);

/// The name of an unnamed error.
const OTHER: &str = "OtherError";

/// Returns true if the element is one of SIRI's errors. Other spellings could not be written again.
fn is_error_element(name: &str) -> bool {
    name.ends_with("Error") && name.len() <= 100 && name.bytes().all(|it| it.is_ascii_alphabetic())
}

/// A fault of the SOAP envelope, version 1.1 or 1.2. It is an answer, not a decoding error.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SoapFault {
    /// The code: a name that ends in `Client`, `Server`, `Sender` or `Receiver`.
    pub code: Option<SmolStr>,
    /// The reason as a text.
    pub reason: Option<SmolStr>,
    /// The SIRI error.
    pub error_condition: Option<ErrorCondition>,
}

impl SiriRecord for SoapFault {
    fn read_child<'a, S: MessageSource<'a>>(
        &mut self,
        name: &str,
        reader: &mut MessageReader<'a, S>,
    ) -> Result<bool, Error> {
        match name {
            "faultcode" => self.code.read_element("faultcode", reader)?,
            "faultstring" => self.reason.read_element("faultstring", reader)?,
            "Code" => {
                reader.read_wrapped_list("Code", "Value", |reader| {
                    self.code.read_element("Value", reader)
                })?;
            }
            "Reason" => {
                reader.read_wrapped_list("Reason", "Text", |reader| {
                    self.reason.read_element("Text", reader)
                })?;
            }
            "detail" | "Detail" => self.error_condition.read_element("detail", reader)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn write_children<W: MessageSink>(&self, sink: &mut W) {
        self.code.write_element("faultcode", sink);
        self.reason.write_element("faultstring", sink);
        self.error_condition.write_element("detail", sink);
    }

    fn write_samples<W: MessageSink>(sink: &mut W) {
        Option::<SmolStr>::write_sample("faultcode", sink);
        Option::<SmolStr>::write_sample("faultstring", sink);
        Option::<ErrorCondition>::write_sample("detail", sink);
    }

    #[cfg(test)]
    fn random(rng: &mut fastrand::Rng, fill: u8) -> SoapFault {
        use super::{record::RecordElement, values::TextValue};
        SoapFault {
            code: Some(TextValue::random(rng)),
            reason: Some(TextValue::random(rng)),
            error_condition: RecordElement::random(rng, fill),
        }
    }
}

records! {
    /// The common head of the deliveries of all services.
    pub struct CommonDeliveryFields {
        ?unread,
        /// The version of SIRI and of the profile.
        version: Option<SmolStr> = "version" | "Version",
        /// Time of the response.
        response_timestamp: Option<SiriTime> = "ResponseTimestamp",
        /// The answered request.
        request_message_ref: Option<SmolStr> = "RequestMessageRef",
        /// The subscriber.
        subscriber_ref: Option<SmolStr> = "SubscriberRef",
        /// The subscription.
        subscription_ref: Option<SmolStr> = "SubscriptionRef",
        /// True for success.
        status: Option<bool> = "Status",
        /// The error, if the status is false.
        error_condition: Option<ErrorCondition> = "ErrorCondition",
        /// End of validity.
        valid_until: Option<SiriTime> = "ValidUntil",
        /// Shortest interval between updates.
        shortest_possible_cycle: Option<DurationSeconds> = "ShortestPossibleCycle",
        /// The language of texts that do not state one.
        default_language: Option<SmolStr> = "DefaultLanguage",
        /// True if more data can be requested.
        more_data: Option<bool> = "MoreData",
    }

    /// Journeys of one version of the timetable.
    pub struct EstimatedJourneyVersionFrame {
        /// Time of recording.
        recorded_at_time: Option<SiriTime> = "RecordedAtTime",
        /// The version.
        version_ref: Option<SmolStr> = "VersionRef",
        /// The journeys.
        estimated_vehicle_journeys: Vec<VehicleJourney> = "EstimatedVehicleJourney",
    }

    /// Journeys with expected times.
    pub struct EstimatedTimetableDelivery: delivery {
        ..head: CommonDeliveryFields,
        /// The journeys, by version.
        frames: Vec<EstimatedJourneyVersionFrame> = "EstimatedJourneyVersionFrame",
    }

    /// Vehicles and their positions.
    pub struct VehicleMonitoringDelivery: delivery {
        ..head: CommonDeliveryFields,
        /// The vehicles.
        vehicle_activities: Vec<VehicleActivity> = "VehicleActivity",
        /// Cancelled activities.
        cancellations: Vec<VehicleActivityCancellation> = "VehicleActivityCancellation",
        /// Notes.
        notes: Vec<LanguageText> = "VehicleActivityNote",
    }

    /// Calls at stops.
    pub struct StopMonitoringDelivery: delivery {
        ..head: CommonDeliveryFields,
        /// The requested stops.
        monitoring_refs: Vec<SmolStr> = "MonitoringRef",
        /// The calls.
        monitored_stop_visits: Vec<MonitoredStopVisit> = "MonitoredStopVisit",
        /// Cancelled visits.
        cancellations: Vec<MonitoredStopVisitCancellation> = "MonitoredStopVisitCancellation",
        /// Notes.
        notes: Vec<LanguageText> = "Note",
    }

    /// Situations.
    pub struct SituationExchangeDelivery: delivery {
        ..head: CommonDeliveryFields,
        /// The situations.
        situations: Vec<PtSituationElement> = "Situations" > "PtSituationElement",
    }

    /// Data of any services, as an answer or for a subscriber.
    pub struct ServiceDelivery: payload {
        ?unread,
        /// Time of the response.
        response_timestamp: Option<SiriTime> = "ResponseTimestamp",
        /// The producer.
        producer_ref: Option<SmolStr> = "ProducerRef",
        /// The producer's address for requests.
        address: Option<SmolStr> = "Address",
        /// The id of this message.
        response_message_identifier: Option<SmolStr> = "ResponseMessageIdentifier",
        /// The answered request.
        request_message_ref: Option<SmolStr> = "RequestMessageRef",
        /// True for success.
        status: Option<bool> = "Status",
        /// The error, if the status is false.
        error_condition: Option<ErrorCondition> = "ErrorCondition",
        /// True if more data can be requested.
        more_data: Option<bool> = "MoreData",
        /// Journeys.
        estimated_timetables: Vec<EstimatedTimetableDelivery> = "EstimatedTimetableDelivery",
        /// Vehicles.
        vehicle_monitorings: Vec<VehicleMonitoringDelivery> = "VehicleMonitoringDelivery",
        /// Calls at stops.
        stop_monitorings: Vec<StopMonitoringDelivery> = "StopMonitoringDelivery",
        /// Situations.
        situation_exchanges: Vec<SituationExchangeDelivery> = "SituationExchangeDelivery",
    }

    /// The status of a producer: the answer to a `CheckStatusRequest`.
    pub struct CheckStatusResponse: payload {
        /// Time of the response.
        response_timestamp: Option<SiriTime> = "ResponseTimestamp",
        /// The producer.
        producer_ref: Option<SmolStr> = "ProducerRef",
        /// The answered request.
        request_message_ref: Option<SmolStr> = "RequestMessageRef",
        /// True if the producer is up.
        status: Option<bool> = "Status",
        /// True if its data are available.
        data_ready: Option<bool> = "DataReady",
        /// The error, if the status is false.
        error_condition: Option<ErrorCondition> = "ErrorCondition",
        /// End of validity.
        valid_until: Option<SiriTime> = "ValidUntil",
        /// Shortest interval between updates.
        shortest_possible_cycle: Option<DurationSeconds> = "ShortestPossibleCycle",
        /// Start of the service; earlier subscriptions are lost.
        service_started_time: Option<SiriTime> = "ServiceStartedTime",
    }

    /// A heartbeat of a producer.
    pub struct HeartbeatNotification: payload {
        /// Time of the heartbeat.
        request_timestamp: Option<SiriTime> = "RequestTimestamp" | "ResponseTimestamp",
        /// The producer.
        producer_ref: Option<SmolStr> = "ProducerRef",
        /// The id of this message.
        message_identifier: Option<SmolStr> = "MessageIdentifier" | "ResponseMessageIdentifier",
        /// True if the producer is up.
        status: Option<bool> = "Status",
        /// The error, if the status is false.
        error_condition: Option<ErrorCondition> = "ErrorCondition",
        /// End of validity.
        valid_until: Option<SiriTime> = "ValidUntil",
        /// Shortest interval between updates.
        shortest_possible_cycle: Option<DurationSeconds> = "ShortestPossibleCycle",
        /// Start of the service; earlier subscriptions are lost.
        service_started_time: Option<SiriTime> = "ServiceStartedTime",
    }

    /// The result of one subscription request.
    pub struct ResponseStatus {
        /// Time of the response.
        response_timestamp: Option<SiriTime> = "ResponseTimestamp",
        /// The answered request.
        request_message_ref: Option<SmolStr> = "RequestMessageRef",
        /// The subscriber.
        subscriber_ref: Option<SmolStr> = "SubscriberRef",
        /// The subscription.
        subscription_ref: Option<SmolStr> = "SubscriptionRef",
        /// True for success.
        status: Option<bool> = "Status",
        /// The error, if the status is false.
        error_condition: Option<ErrorCondition> = "ErrorCondition",
        /// End of validity.
        valid_until: Option<SiriTime> = "ValidUntil",
        /// Shortest interval between updates.
        shortest_possible_cycle: Option<DurationSeconds> = "ShortestPossibleCycle",
    }

    /// The results of subscription requests.
    pub struct SubscriptionResponse: payload {
        /// Time of the response.
        response_timestamp: Option<SiriTime> = "ResponseTimestamp",
        /// The responder.
        responder_ref: Option<SmolStr> = "ResponderRef",
        /// The answered request.
        request_message_ref: Option<SmolStr> = "RequestMessageRef",
        /// The result of each request.
        response_statuses: Vec<ResponseStatus> = "ResponseStatus",
        /// The address for the management of subscriptions.
        subscription_manager_address: Option<SmolStr> = "SubscriptionManagerAddress",
        /// Start of the producer's service.
        service_started_time: Option<SiriTime> = "ServiceStartedTime",
    }

    /// The results of the termination of subscriptions, requested by the subscriber.
    pub struct TerminateSubscriptionResponse: payload {
        /// Time of the response.
        response_timestamp: Option<SiriTime> = "ResponseTimestamp",
        /// The responder.
        responder_ref: Option<SmolStr> = "ResponderRef",
        /// The answered request.
        request_message_ref: Option<SmolStr> = "RequestMessageRef",
        /// The result of each termination.
        termination_response_statuses: Vec<ResponseStatus> = "TerminationResponseStatus",
    }

    /// The producer terminated subscriptions.
    pub struct SubscriptionTerminatedNotification: payload {
        /// Time of the notification.
        response_timestamp: Option<SiriTime> = "ResponseTimestamp",
        /// The producer.
        producer_ref: Option<SmolStr> = "ProducerRef",
        /// The subscriber.
        subscriber_ref: Option<SmolStr> = "SubscriberRef",
        /// The terminated subscriptions.
        subscription_refs: Vec<SmolStr> = "SubscriptionRef",
        /// The reason.
        error_condition: Option<ErrorCondition> = "ErrorCondition",
    }

    /// Data are ready to be fetched.
    pub struct DataReadyNotification: payload {
        /// Time of the notification.
        request_timestamp: Option<SiriTime> = "RequestTimestamp",
        /// The producer.
        producer_ref: Option<SmolStr> = "ProducerRef",
        /// The id of this message.
        message_identifier: Option<SmolStr> = "MessageIdentifier",
    }
}

impl EstimatedTimetableDelivery {
    /// Returns the journeys of all versions.
    pub fn estimated_journeys(&self) -> impl Iterator<Item = &VehicleJourney> {
        self.frames.iter().flat_map(|frame| &frame.estimated_vehicle_journeys)
    }
}
