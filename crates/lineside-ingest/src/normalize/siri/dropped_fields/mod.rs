//! Counting of SIRI elements that have no equivalent in GTFS-Realtime: each element is either marked as mapped here or
//! counted as dropped, so new elements are counted by default. Elements that are mapped only if nothing takes
//! precedence are counted in [`precedence`].

mod precedence;

use jiff::tz::TimeZone;
use lineside_formats::{
    ConversionReport,
    siri::{ElementVisitor, MessagePayload, SiriMessage, visit_message_elements},
};
use smol_str::SmolStr;

/// Reasons for dropping elements.
const NO_FIELD: &str = "GTFS-Realtime has no field for it";
const SCHEDULE: &str = "the schedule has it";
const NO_SCHEDULE: &str = "there is no schedule with stop sequences";
const EXCHANGE: &str = "it describes the message exchange, not the data";
const TIMETABLES: &str = "estimated timetables contain the calls";
const TAKEN_BACK: &str = "cancelled items are dropped";

/// Counts the elements of a message that are in no entity. `zone` is the time zone of the schedule, if there is one.
pub(super) fn count_dropped_fields(
    message: &SiriMessage,
    has_vehicle_delays: bool,
    has_schedule: bool,
    zone: &TimeZone,
    losses: &mut ConversionReport,
) {
    for payload in &message.payloads {
        match payload {
            MessagePayload::Fault(_) => losses.record_dropped_object("Fault", EXCHANGE, None),
            MessagePayload::Other(name) => {
                losses.record_dropped_object(name.to_string(), "Lineside does not read it", None)
            }
            _ => {}
        }
    }
    let mut counting = DroppedFieldCounter {
        has_vehicle_delays,
        has_schedule,
        within: vec![EnclosingElement::Message],
        named_elements: Vec::new(),
        conversion_report: losses,
    };
    visit_message_elements(message, &mut counting);
    precedence::count_overridden_values(message, has_vehicle_delays, has_schedule, zone, losses);
}

/// The context of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EnclosingElement {
    Message,
    Delivery,
    Timetable,
    Frame,
    Journey,
    Vehicles,
    Activity,
    /// The journey of a vehicle.
    Ride,
    Stops,
    Visit,
    /// The journey of a visit.
    Visiting,
    Calls,
    /// The calls of a monitored journey, to which they cannot add any.
    MonitoredCalls,
    Call,
    MonitoredCall,
    VehicleCall,
    /// The current call of a vehicle, if estimated timetables contain it.
    NextCall,
    Quays,
    Occupancies,
    Location,
    Situations,
    Situation,
    Consequences,
    Consequence,
    Links,
    Actions,
    Action,
    Scope,
    Information,
    Content,
    /// The scope of a situation, and scopes elsewhere.
    Affects,
    AffectsMore,
    Networks,
    Network,
    Line,
    StopsOf,
    StopOf,
    AffectedStops,
    AffectedStop,
    Places,
    Journeys,
    JourneyOf,
    /// A context all of whose elements are mapped.
    All,
}

enum ElementMapping {
    Used,
    Dropped(&'static str),
    /// Determined by the elements within.
    Within(EnclosingElement),
}

struct DroppedFieldCounter<'l> {
    has_vehicle_delays: bool,
    has_schedule: bool,
    within: Vec<EnclosingElement>,
    named_elements: Vec<NamedElement>,
    conversion_report: &'l mut ConversionReport,
}

/// A journey, activity, visit or situation: its dropped elements are reported with its name, which may come last.
#[derive(Default)]
struct NamedElement {
    depth: usize,
    id: Option<SmolStr>,
    dropped: Vec<(SmolStr, &'static str)>,
}

impl DroppedFieldCounter<'_> {
    fn current_mapping(&self, element: &str) -> ElementMapping {
        let enclosing = self.within.last().copied().unwrap_or(EnclosingElement::All);
        element_mapping(enclosing, element, self.has_vehicle_delays)
    }

    fn record_dropped(&mut self, element: &str, why: &'static str) {
        let is_number = matches!(element, "Order" | "VisitNumber") && why == SCHEDULE;
        let why = if is_number && !self.has_schedule { NO_SCHEDULE } else { why };
        match self.named_elements.last_mut() {
            Some(named_element) => named_element.dropped.push((SmolStr::new(element), why)),
            None => self.conversion_report.record_dropped_object(element.to_owned(), why, None),
        }
    }
}

impl ElementVisitor for DroppedFieldCounter<'_> {
    fn enter_element(&mut self, element: &str) -> bool {
        let enclosing = match self.current_mapping(element) {
            ElementMapping::Used => EnclosingElement::All,
            ElementMapping::Within(enclosing) => enclosing,
            ElementMapping::Dropped(why) => {
                self.record_dropped(element, why);
                return false;
            }
        };
        self.within.push(enclosing);
        if matches!(
            enclosing,
            EnclosingElement::Journey
                | EnclosingElement::Activity
                | EnclosingElement::Visit
                | EnclosingElement::Situation
        ) {
            self.named_elements
                .push(NamedElement { depth: self.within.len(), ..NamedElement::default() });
        }
        true
    }

    fn leave_element(&mut self) {
        let depth = self.within.len();
        self.within.pop();
        let Some(named_element) =
            self.named_elements.pop_if(|named_element| named_element.depth == depth)
        else {
            return;
        };
        for (element, why) in named_element.dropped {
            self.conversion_report.record_dropped_object(
                element.to_string(),
                why,
                named_element.id.as_deref(),
            );
        }
    }

    fn visit_text(&mut self, element: &str, text: &str) {
        if let Some(named_element) = self.named_elements.last_mut()
            && NAMES.contains(&element)
        {
            named_element.id.get_or_insert_with(|| SmolStr::new(text));
        }
        // An element with the default value "false" says nothing.
        let is_usual = text == "false" && DEFAULT_FALSE.contains(&element);
        if let ElementMapping::Dropped(why) = self.current_mapping(element)
            && !is_usual
        {
            self.record_dropped(element, why);
        }
    }
}

/// Elements that name journeys, vehicles and situations.
const NAMES: [&str; 5] = [
    "DatedVehicleJourneyRef",
    "EstimatedVehicleJourneyCode",
    "VehicleJourneyRef",
    "VehicleRef",
    "SituationNumber",
];

/// Elements whose value "false" equals their absence.
const DEFAULT_FALSE: [&str; 11] = [
    "ExtraJourney",
    "Cancellation",
    "HeadwayService",
    "InCongestion",
    "InPanic",
    "PredictionInaccurate",
    "ExtraCall",
    "VehicleAtStop",
    "BoardingStretch",
    "RequestStop",
    "MoreData",
];

/// Returns the mapping of an element in a context. An unlisted element is dropped.
fn element_mapping(
    enclosing: EnclosingElement,
    element: &str,
    has_vehicle_delays: bool,
) -> ElementMapping {
    let known = match enclosing {
        EnclosingElement::All => Some(ElementMapping::Used),
        EnclosingElement::Message
        | EnclosingElement::Delivery
        | EnclosingElement::Timetable
        | EnclosingElement::Frame
        | EnclosingElement::Vehicles
        | EnclosingElement::Stops
        | EnclosingElement::Activity
        | EnclosingElement::Visit => delivery_mapping(enclosing, element),
        EnclosingElement::Journey | EnclosingElement::Ride | EnclosingElement::Visiting => {
            journey_mapping(enclosing, element, has_vehicle_delays)
        }
        EnclosingElement::Calls
        | EnclosingElement::MonitoredCalls
        | EnclosingElement::Call
        | EnclosingElement::MonitoredCall
        | EnclosingElement::VehicleCall
        | EnclosingElement::NextCall
        | EnclosingElement::Quays
        | EnclosingElement::Occupancies
        | EnclosingElement::Location => call_mapping(enclosing, element),
        EnclosingElement::Situations
        | EnclosingElement::Situation
        | EnclosingElement::Consequences
        | EnclosingElement::Consequence
        | EnclosingElement::Links
        | EnclosingElement::Actions
        | EnclosingElement::Action
        | EnclosingElement::Scope
        | EnclosingElement::Information
        | EnclosingElement::Content => situation_mapping(enclosing, element),
        _ => affects_mapping(enclosing, element),
    };
    known.unwrap_or(ElementMapping::Dropped(drop_reason(enclosing, element)))
}

fn mapped_if(is_used: bool) -> Option<ElementMapping> {
    is_used.then_some(ElementMapping::Used)
}

fn delivery_mapping(enclosing: EnclosingElement, element: &str) -> Option<ElementMapping> {
    use ElementMapping::{Dropped, Within};
    Some(match (enclosing, element) {
        (EnclosingElement::Message, "ServiceDelivery") => Within(EnclosingElement::Delivery),
        (EnclosingElement::Delivery, "EstimatedTimetableDelivery") => {
            Within(EnclosingElement::Timetable)
        }
        (EnclosingElement::Delivery, "VehicleMonitoringDelivery") => {
            Within(EnclosingElement::Vehicles)
        }
        (EnclosingElement::Delivery, "StopMonitoringDelivery") => Within(EnclosingElement::Stops),
        (EnclosingElement::Delivery, "SituationExchangeDelivery") => {
            Within(EnclosingElement::Situations)
        }
        (EnclosingElement::Timetable, "EstimatedJourneyVersionFrame") => {
            Within(EnclosingElement::Frame)
        }
        (EnclosingElement::Frame, "EstimatedVehicleJourney") => Within(EnclosingElement::Journey),
        (EnclosingElement::Vehicles, "VehicleActivity") => Within(EnclosingElement::Activity),
        (EnclosingElement::Activity, "MonitoredVehicleJourney") => Within(EnclosingElement::Ride),
        (EnclosingElement::Stops, "MonitoredStopVisit") => Within(EnclosingElement::Visit),
        (EnclosingElement::Visit, "MonitoredVehicleJourney") => Within(EnclosingElement::Visiting),
        (EnclosingElement::Vehicles, "VehicleActivityCancellation")
        | (EnclosingElement::Stops, "MonitoredStopVisitCancellation") => Dropped(TAKEN_BACK),
        (
            EnclosingElement::Frame | EnclosingElement::Activity | EnclosingElement::Visit,
            "RecordedAtTime",
        )
        | (EnclosingElement::Activity, "VehicleMonitoringRef" | "ItemIdentifier")
        | (EnclosingElement::Visit, "MonitoringRef" | "ItemIdentifier") => ElementMapping::Used,
        (
            EnclosingElement::Delivery
            | EnclosingElement::Timetable
            | EnclosingElement::Vehicles
            | EnclosingElement::Stops,
            _,
        ) => {
            return mapped_if(element == "ResponseTimestamp");
        }
        _ => return None,
    })
}

fn journey_mapping(
    enclosing: EnclosingElement,
    element: &str,
    has_vehicle_delays: bool,
) -> Option<ElementMapping> {
    use ElementMapping::Within;
    use EnclosingElement::{Journey, Ride, Visiting};
    Some(match (enclosing, element) {
        (Journey, "RecordedCalls" | "EstimatedCalls") => Within(EnclosingElement::Calls),
        (Visiting, "PreviousCalls" | "OnwardCalls") => Within(EnclosingElement::MonitoredCalls),
        (Visiting, "MonitoredCall") => Within(EnclosingElement::MonitoredCall),
        (Ride, "PreviousCalls" | "OnwardCalls") if has_vehicle_delays => {
            Within(EnclosingElement::MonitoredCalls)
        }
        (Ride, "MonitoredCall") if has_vehicle_delays => Within(EnclosingElement::VehicleCall),
        (Ride, "MonitoredCall") => Within(EnclosingElement::NextCall),
        (Ride, "VehicleLocation") => Within(EnclosingElement::Location),
        (
            _,
            "LineRef"
            | "DirectionRef"
            | "FramedVehicleJourneyRef"
            | "DatedVehicleJourneyRef"
            | "EstimatedVehicleJourneyCode"
            | "VehicleJourneyRef"
            | "ExtraJourney"
            | "Cancellation",
        )
        | (
            Journey | Ride,
            "HeadwayService"
            | "OriginAimedDepartureTime"
            | "VehicleRef"
            | "DataSource"
            | "OperatorRef"
            | "Occupancy",
        )
        | (Journey, "RecordedAtTime" | "DestinationName" | "VehicleJourneyName" | "TrainNumbers")
        | (Ride, "LocationRecordedAtTime" | "Bearing" | "Velocity" | "InCongestion") => {
            ElementMapping::Used
        }
        (Ride, "Delay") if has_vehicle_delays => ElementMapping::Used,
        _ => return None,
    })
}

fn call_mapping(enclosing: EnclosingElement, element: &str) -> Option<ElementMapping> {
    use ElementMapping::Within;
    Some(match (enclosing, element) {
        (EnclosingElement::Calls, _) => Within(EnclosingElement::Call),
        (EnclosingElement::MonitoredCalls, _) => Within(EnclosingElement::MonitoredCall),
        (
            EnclosingElement::Call
            | EnclosingElement::MonitoredCall
            | EnclosingElement::VehicleCall,
            "ArrivalStopAssignment" | "DepartureStopAssignment",
        ) => Within(EnclosingElement::Quays),
        (
            EnclosingElement::Call
            | EnclosingElement::MonitoredCall
            | EnclosingElement::VehicleCall,
            "ExpectedDepartureOccupancy",
        ) => Within(EnclosingElement::Occupancies),
        (
            EnclosingElement::Call
            | EnclosingElement::MonitoredCall
            | EnclosingElement::VehicleCall,
            "StopPointRef"
            | "Cancellation"
            | "Occupancy"
            | "DestinationDisplay"
            | "AimedArrivalTime"
            | "ExpectedArrivalTime"
            | "ActualArrivalTime"
            | "LatestExpectedArrivalTime"
            | "ArrivalStatus"
            | "ArrivalPlatformName"
            | "ArrivalBoardingActivity"
            | "AimedDepartureTime"
            | "ExpectedDepartureTime"
            | "ProvisionalExpectedDepartureTime"
            | "ActualDepartureTime"
            | "DepartureStatus"
            | "DeparturePlatformName"
            | "DepartureBoardingActivity",
        )
        | (EnclosingElement::Call, "ExtraCall" | "Order")
        | (EnclosingElement::VehicleCall, "VehicleAtStop")
        | (EnclosingElement::NextCall, "StopPointRef" | "VehicleAtStop")
        | (EnclosingElement::Quays, "AimedQuayRef" | "ExpectedQuayRef" | "ActualQuayRef")
        | (EnclosingElement::Occupancies, "OccupancyLevel")
        | (EnclosingElement::Location, "Longitude" | "Latitude") => ElementMapping::Used,
        _ => return None,
    })
}

fn situation_mapping(enclosing: EnclosingElement, element: &str) -> Option<ElementMapping> {
    use ElementMapping::Within;
    Some(match (enclosing, element) {
        (EnclosingElement::Situations, "Situations") => Within(EnclosingElement::Situations),
        (EnclosingElement::Situations, "PtSituationElement") => Within(EnclosingElement::Situation),
        (EnclosingElement::Situation, "Affects") => Within(EnclosingElement::Affects),
        (EnclosingElement::Situation, "Consequences") => Within(EnclosingElement::Consequences),
        (EnclosingElement::Consequences, "Consequence") => Within(EnclosingElement::Consequence),
        (EnclosingElement::Consequence | EnclosingElement::Scope, "Affects") => {
            Within(EnclosingElement::AffectsMore)
        }
        (EnclosingElement::Situation, "InfoLinks") => Within(EnclosingElement::Content),
        (EnclosingElement::Content, "InfoLink") => Within(EnclosingElement::Links),
        (EnclosingElement::Situation, "PublishingActions") => Within(EnclosingElement::Actions),
        (EnclosingElement::Actions, "PublishingAction") => Within(EnclosingElement::Action),
        (EnclosingElement::Action, "PublishAtScope") => Within(EnclosingElement::Scope),
        (EnclosingElement::Action, "PassengerInformationAction") => {
            Within(EnclosingElement::Information)
        }
        (EnclosingElement::Information, "TextualContent") => Within(EnclosingElement::Content),
        (EnclosingElement::Situations, "ResponseTimestamp")
        | (
            EnclosingElement::Situation,
            "CreationTime"
            | "ParticipantRef"
            | "SituationNumber"
            | "VersionedAtTime"
            | "Progress"
            | "ValidityPeriod"
            | "AlertCause"
            | "MiscellaneousReason"
            | "PersonnelReason"
            | "EquipmentReason"
            | "EnvironmentReason"
            | "PublicEventReason"
            | "ReasonName"
            | "Severity"
            | "Language"
            | "Summary"
            | "Description"
            | "Detail"
            | "Advice",
        )
        | (EnclosingElement::Consequence, "Condition" | "Severity")
        | (EnclosingElement::Links, "Uri")
        | (
            EnclosingElement::Content,
            "SummaryContent"
            | "ReasonContent"
            | "DescriptionContent"
            | "ConsequenceContent"
            | "RecommendationContent"
            | "DurationContent"
            | "RemarkContent",
        ) => ElementMapping::Used,
        _ => return None,
    })
}

fn affects_mapping(enclosing: EnclosingElement, element: &str) -> Option<ElementMapping> {
    use ElementMapping::Within;
    use EnclosingElement::{Affects, AffectsMore};
    Some(match (enclosing, element) {
        (Affects | AffectsMore, "Operators") => Within(EnclosingElement::Networks),
        (Affects | AffectsMore, "Networks") => Within(EnclosingElement::Networks),
        (EnclosingElement::Networks, "AffectedNetwork") => Within(EnclosingElement::Network),
        (EnclosingElement::Networks | EnclosingElement::Network, "AffectedOperator") => {
            Within(EnclosingElement::Networks)
        }
        (EnclosingElement::Network, "AffectedLine") => Within(EnclosingElement::Line),
        (EnclosingElement::Line, "Direction") => Within(EnclosingElement::Line),
        (EnclosingElement::Line, "Routes") => Within(EnclosingElement::StopsOf),
        (EnclosingElement::StopsOf, "AffectedRoute") => Within(EnclosingElement::StopsOf),
        (EnclosingElement::Line | EnclosingElement::StopsOf, "StopPoints") => {
            Within(EnclosingElement::StopsOf)
        }
        (EnclosingElement::StopsOf, "AffectedStopPoint") => Within(EnclosingElement::StopOf),
        (Affects, "StopPoints") => Within(EnclosingElement::AffectedStops),
        (EnclosingElement::AffectedStops, "AffectedStopPoint") => {
            Within(EnclosingElement::AffectedStop)
        }
        (AffectsMore, "StopPoints") => Within(EnclosingElement::StopsOf),
        (Affects | AffectsMore, "StopPlaces") => Within(EnclosingElement::Places),
        (EnclosingElement::Places, "AffectedStopPlace") => Within(EnclosingElement::Places),
        (Affects | AffectsMore, "VehicleJourneys") => Within(EnclosingElement::Journeys),
        (EnclosingElement::Journeys, "AffectedVehicleJourney") => {
            Within(EnclosingElement::JourneyOf)
        }
        (EnclosingElement::Networks, "OperatorRef" | "AllOperators")
        | (EnclosingElement::Network, "VehicleMode" | "AllLines")
        | (EnclosingElement::Line, "LineRef" | "DirectionRef")
        | (
            EnclosingElement::StopOf | EnclosingElement::AffectedStop,
            "StopPointRef" | "StopPlaceRef",
        )
        | (EnclosingElement::AffectedStop, "StopCondition")
        | (EnclosingElement::Places, "StopPlaceRef")
        | (
            EnclosingElement::JourneyOf,
            "FramedVehicleJourneyRef" | "VehicleJourneyRef" | "DatedVehicleJourneyRef" | "LineRef",
        ) => ElementMapping::Used,
        _ => return None,
    })
}

/// Elements that the schedule describes better.
const SCHEDULE_ELEMENTS: [&str; 21] = [
    "JourneyPatternRef",
    "JourneyPatternName",
    "VehicleMode",
    "RouteRef",
    "PublishedLineName",
    "GroupOfLinesRef",
    "OriginRef",
    "OriginName",
    "DestinationRef",
    "DestinationName",
    "OperatorRef",
    "OperatorName",
    "VehicleJourneyName",
    "TrainNumbers",
    "OriginAimedDepartureTime",
    "DestinationAimedArrivalTime",
    "BlockRef",
    "Order",
    "VisitNumber",
    "StopPointName",
    "PlaceName",
];

fn drop_reason(enclosing: EnclosingElement, element: &str) -> &'static str {
    match (enclosing, element) {
        (
            EnclosingElement::Message | EnclosingElement::Delivery | EnclosingElement::Timetable,
            _,
        )
        | (
            EnclosingElement::Vehicles | EnclosingElement::Stops | EnclosingElement::Situations,
            _,
        ) => EXCHANGE,
        (EnclosingElement::Ride | EnclosingElement::NextCall, _)
            if is_better_in_estimated_timetables(element) =>
        {
            TIMETABLES
        }
        (_, "SituationRef") => "alerts list the trips that they affect",
        (
            EnclosingElement::Call
            | EnclosingElement::MonitoredCall
            | EnclosingElement::VehicleCall,
            "PredictionInaccurate",
        ) => "GTFS-Realtime needs the uncertainty in seconds",
        (EnclosingElement::Network, "NetworkRef") => "an alert cannot refer to a network",
        (
            EnclosingElement::JourneyOf | EnclosingElement::Line | EnclosingElement::StopsOf,
            "RouteRef",
        ) => NO_FIELD,
        (_, element) if SCHEDULE_ELEMENTS.contains(&element) => SCHEDULE,
        _ => NO_FIELD,
    }
}

/// Returns true if estimated timetables describe an element better than vehicles do.
fn is_better_in_estimated_timetables(element: &str) -> bool {
    let is_call = matches!(element, "PreviousCalls" | "OnwardCalls" | "Delay");
    is_call
        || matches!(
            call_mapping(EnclosingElement::MonitoredCall, element),
            Some(ElementMapping::Used)
        )
}

#[cfg(test)]
mod tests;
