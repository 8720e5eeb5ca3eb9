//! What messages are sent for: deliveries of each service, and the answers around requests and subscriptions.

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

/// Why something was refused.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorCondition {
    /// The name of the error, such as `AccessNotAllowedError`.
    pub kind: Option<SmolStr>,
    /// Its number, where the producer has numbers.
    pub number: Option<SmolStr>,
    /// What the producer says about it.
    pub text: Option<SmolStr>,
    /// What else it says.
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
                while let Some(name) = reader.source.next_child()? {
                    match name {
                        "ErrorText" => self.text.read_element("ErrorText", reader)?,
                        // In JSON the attribute is a child.
                        "number" | "Number" => self.number.read_element("number", reader)?,
                        _ => reader.skip_and_count(name)?,
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

/// The name of an error that has no name of its own.
const OTHER: &str = "OtherError";

/// Whether an element is one of SIRI's errors; what is not spelled so could not be written again.
fn is_error_element(name: &str) -> bool {
    name.ends_with("Error") && name.len() <= 100 && name.bytes().all(|it| it.is_ascii_alphabetic())
}

/// A fault of the SOAP envelope, of version 1.1 or 1.2: an answer, though one that says no.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SoapFault {
    /// Whose fault it is: a name that ends in `Client`, `Server`, `Sender` or `Receiver`.
    pub code: Option<SmolStr>,
    /// What is said about it.
    pub reason: Option<SmolStr>,
    /// What SIRI has to say about it.
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
    /// What the deliveries of all services begin with.
    pub struct DeliveryHead {
        ?unread,
        /// The version of SIRI, and of the profile.
        version: Option<SmolStr> = "version" | "Version",
        /// When it was made.
        response_timestamp: Option<SiriTime> = "ResponseTimestamp",
        /// The request that it answers.
        request_message_ref: Option<SmolStr> = "RequestMessageRef",
        /// Who subscribed.
        subscriber_ref: Option<SmolStr> = "SubscriberRef",
        /// To what.
        subscription_ref: Option<SmolStr> = "SubscriptionRef",
        /// Whether all went well.
        status: Option<bool> = "Status",
        /// Why not.
        error_condition: Option<ErrorCondition> = "ErrorCondition",
        /// Until when it holds.
        valid_until: Option<SiriTime> = "ValidUntil",
        /// How often there may be news.
        shortest_possible_cycle: Option<DurationSeconds> = "ShortestPossibleCycle",
        /// The language of texts that do not say theirs.
        default_language: Option<SmolStr> = "DefaultLanguage",
        /// Whether there is more to be asked for.
        more_data: Option<bool> = "MoreData",
    }

    /// Journeys of one version of the plan.
    pub struct EstimatedJourneyVersionFrame {
        /// When it was recorded.
        recorded_at_time: Option<SiriTime> = "RecordedAtTime",
        /// The version.
        version_ref: Option<SmolStr> = "VersionRef",
        /// The journeys.
        estimated_vehicle_journeys: Vec<VehicleJourney> = "EstimatedVehicleJourney",
    }

    /// Journeys with expected times.
    pub struct EstimatedTimetableDelivery: delivery {
        ..head: DeliveryHead,
        /// The journeys, by version.
        frames: Vec<EstimatedJourneyVersionFrame> = "EstimatedJourneyVersionFrame",
    }

    /// Vehicles and where they are.
    pub struct VehicleMonitoringDelivery: delivery {
        ..head: DeliveryHead,
        /// The vehicles.
        vehicle_activities: Vec<VehicleActivity> = "VehicleActivity",
        /// What is taken back.
        cancellations: Vec<VehicleActivityCancellation> = "VehicleActivityCancellation",
        /// What there is to say.
        notes: Vec<LanguageText> = "VehicleActivityNote",
    }

    /// Calls at stops.
    pub struct StopMonitoringDelivery: delivery {
        ..head: DeliveryHead,
        /// The stops that were asked for.
        monitoring_refs: Vec<SmolStr> = "MonitoringRef",
        /// The calls.
        monitored_stop_visits: Vec<MonitoredStopVisit> = "MonitoredStopVisit",
        /// What is taken back.
        cancellations: Vec<MonitoredStopVisitCancellation> = "MonitoredStopVisitCancellation",
        /// What there is to say.
        notes: Vec<LanguageText> = "Note",
    }

    /// Situations.
    pub struct SituationExchangeDelivery: delivery {
        ..head: DeliveryHead,
        /// The situations.
        situations: Vec<PtSituationElement> = "Situations" > "PtSituationElement",
    }

    /// News of any services, as an answer or to a subscriber.
    pub struct ServiceDelivery: payload {
        ?unread,
        /// When it was made.
        response_timestamp: Option<SiriTime> = "ResponseTimestamp",
        /// Who made it.
        producer_ref: Option<SmolStr> = "ProducerRef",
        /// Where it can be asked.
        address: Option<SmolStr> = "Address",
        /// Its name.
        response_message_identifier: Option<SmolStr> = "ResponseMessageIdentifier",
        /// The request that it answers.
        request_message_ref: Option<SmolStr> = "RequestMessageRef",
        /// Whether all went well.
        status: Option<bool> = "Status",
        /// Why not.
        error_condition: Option<ErrorCondition> = "ErrorCondition",
        /// Whether there is more to be asked for.
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

    /// Whether a producer is up: the answer to a `CheckStatusRequest`.
    pub struct CheckStatusResponse: payload {
        /// When it was made.
        response_timestamp: Option<SiriTime> = "ResponseTimestamp",
        /// Who made it.
        producer_ref: Option<SmolStr> = "ProducerRef",
        /// The request that it answers.
        request_message_ref: Option<SmolStr> = "RequestMessageRef",
        /// Whether the producer is up.
        status: Option<bool> = "Status",
        /// Whether its data are there.
        data_ready: Option<bool> = "DataReady",
        /// Why not.
        error_condition: Option<ErrorCondition> = "ErrorCondition",
        /// Until when this holds.
        valid_until: Option<SiriTime> = "ValidUntil",
        /// How often there may be news.
        shortest_possible_cycle: Option<DurationSeconds> = "ShortestPossibleCycle",
        /// Since when it is up; before, subscriptions were lost.
        service_started_time: Option<SiriTime> = "ServiceStartedTime",
    }

    /// A producer says that it is up.
    pub struct HeartbeatNotification: payload {
        /// When it was made.
        request_timestamp: Option<SiriTime> = "RequestTimestamp" | "ResponseTimestamp",
        /// Who made it.
        producer_ref: Option<SmolStr> = "ProducerRef",
        /// Its name.
        message_identifier: Option<SmolStr> = "MessageIdentifier" | "ResponseMessageIdentifier",
        /// Whether the producer is up.
        status: Option<bool> = "Status",
        /// Why not.
        error_condition: Option<ErrorCondition> = "ErrorCondition",
        /// Until when this holds.
        valid_until: Option<SiriTime> = "ValidUntil",
        /// How often there may be news.
        shortest_possible_cycle: Option<DurationSeconds> = "ShortestPossibleCycle",
        /// Since when it is up; before, subscriptions were lost.
        service_started_time: Option<SiriTime> = "ServiceStartedTime",
    }

    /// How one subscription went.
    pub struct ResponseStatus {
        /// When this was said.
        response_timestamp: Option<SiriTime> = "ResponseTimestamp",
        /// The request that it answers.
        request_message_ref: Option<SmolStr> = "RequestMessageRef",
        /// Who subscribed.
        subscriber_ref: Option<SmolStr> = "SubscriberRef",
        /// To what.
        subscription_ref: Option<SmolStr> = "SubscriptionRef",
        /// Whether it went well.
        status: Option<bool> = "Status",
        /// Why not.
        error_condition: Option<ErrorCondition> = "ErrorCondition",
        /// Until when it holds.
        valid_until: Option<SiriTime> = "ValidUntil",
        /// How often there may be news.
        shortest_possible_cycle: Option<DurationSeconds> = "ShortestPossibleCycle",
    }

    /// How subscriptions went.
    pub struct SubscriptionResponse: payload {
        /// When it was made.
        response_timestamp: Option<SiriTime> = "ResponseTimestamp",
        /// Who made it.
        responder_ref: Option<SmolStr> = "ResponderRef",
        /// The request that it answers.
        request_message_ref: Option<SmolStr> = "RequestMessageRef",
        /// How each went.
        response_statuses: Vec<ResponseStatus> = "ResponseStatus",
        /// Where subscriptions are managed.
        subscription_manager_address: Option<SmolStr> = "SubscriptionManagerAddress",
        /// Since when the producer is up.
        service_started_time: Option<SiriTime> = "ServiceStartedTime",
    }

    /// How the end of subscriptions went that the subscriber asked for.
    pub struct TerminateSubscriptionResponse: payload {
        /// When it was made.
        response_timestamp: Option<SiriTime> = "ResponseTimestamp",
        /// Who made it.
        responder_ref: Option<SmolStr> = "ResponderRef",
        /// The request that it answers.
        request_message_ref: Option<SmolStr> = "RequestMessageRef",
        /// How each went.
        termination_response_statuses: Vec<ResponseStatus> = "TerminationResponseStatus",
    }

    /// A producer has ended a subscription by itself.
    pub struct SubscriptionTerminatedNotification: payload {
        /// When it was made.
        response_timestamp: Option<SiriTime> = "ResponseTimestamp",
        /// Who made it.
        producer_ref: Option<SmolStr> = "ProducerRef",
        /// Who subscribed.
        subscriber_ref: Option<SmolStr> = "SubscriberRef",
        /// To what.
        subscription_refs: Vec<SmolStr> = "SubscriptionRef",
        /// Why.
        error_condition: Option<ErrorCondition> = "ErrorCondition",
    }

    /// There is something to be fetched.
    pub struct DataReadyNotification: payload {
        /// When it was made.
        request_timestamp: Option<SiriTime> = "RequestTimestamp",
        /// Who made it.
        producer_ref: Option<SmolStr> = "ProducerRef",
        /// Its name.
        message_identifier: Option<SmolStr> = "MessageIdentifier",
    }
}

impl EstimatedTimetableDelivery {
    /// The journeys of all versions.
    pub fn journeys(&self) -> impl Iterator<Item = &VehicleJourney> {
        self.frames.iter().flat_map(|frame| &frame.estimated_vehicle_journeys)
    }
}
