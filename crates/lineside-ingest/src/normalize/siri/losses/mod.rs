//! What of SIRI does not come into GTFS-Realtime: each element is told to be used here, or it is counted as lost, also one
//! that is read from tomorrow on. What is used only where nothing else is in its place is counted
//! [by what gives way](give_way).

mod give_way;

use jiff::tz::TimeZone;
use lineside_formats::{
    Losses,
    siri::{Message, Payload, Walker, walk},
};
use smol_str::SmolStr;

/// What is said of elements without a place of their own.
const NO_FIELD: &str = "GTFS-Realtime has no field for it";
const SCHEDULE: &str = "the schedule has it";
const NO_SCHEDULE: &str = "no schedule is there that numbers the calls";
const EXCHANGE: &str = "it is about the exchange of messages";
const TIMETABLES: &str = "estimated timetables tell of calls";
const TAKEN_BACK: &str = "what is taken back is left out";

/// Counts what of a message comes into no entity. `zone` is the schedule's, if there is one.
pub(super) fn count(
    message: &Message,
    vehicles_tell_delays: bool,
    has_schedule: bool,
    zone: &TimeZone,
    losses: &mut Losses,
) {
    for payload in &message.payloads {
        match payload {
            Payload::Fault(_) => losses.push("Fault", EXCHANGE, None),
            Payload::Other(name) => losses.push(name.to_string(), "it is not read", None),
            _ => {}
        }
    }
    let mut counting = Counting {
        vehicles_tell_delays,
        has_schedule,
        within: vec![Place::Message],
        things: Vec::new(),
        losses,
    };
    walk(message, &mut counting);
    give_way::count(message, vehicles_tell_delays, has_schedule, zone, losses);
}

/// What an element stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
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
    /// The calls of a monitored journey, to which it cannot add any.
    MonitoredCalls,
    Call,
    MonitoredCall,
    /// The call that a vehicle is at.
    VehicleCall,
    /// The call that a vehicle is at, where estimated timetables tell of it.
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
    /// Whom a situation itself affects, and where that is told otherwise.
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
    /// Everything in it is used.
    All,
}

/// What becomes of an element.
enum Fate {
    Used,
    Lost(&'static str),
    /// That of what is in it.
    Within(Place),
}

struct Counting<'l> {
    vehicles_tell_delays: bool,
    has_schedule: bool,
    within: Vec<Place>,
    things: Vec<Thing>,
    losses: &'l mut Losses,
}

/// A journey, activity, visit or situation: what is lost of it is told by its name, which may come last.
#[derive(Default)]
struct Thing {
    depth: usize,
    id: Option<SmolStr>,
    lost: Vec<(SmolStr, &'static str)>,
}

impl Counting<'_> {
    fn fate(&self, element: &str) -> Fate {
        let place = self.within.last().copied().unwrap_or(Place::All);
        fate(place, element, self.vehicles_tell_delays)
    }

    fn lose(&mut self, element: &str, why: &'static str) {
        let is_number = matches!(element, "Order" | "VisitNumber") && why == SCHEDULE;
        let why = if is_number && !self.has_schedule { NO_SCHEDULE } else { why };
        match self.things.last_mut() {
            Some(thing) => thing.lost.push((SmolStr::new(element), why)),
            None => self.losses.push(element.to_owned(), why, None),
        }
    }
}

impl Walker for Counting<'_> {
    fn enter(&mut self, element: &str) -> bool {
        let place = match self.fate(element) {
            Fate::Used => Place::All,
            Fate::Within(place) => place,
            Fate::Lost(why) => {
                self.lose(element, why);
                return false;
            }
        };
        self.within.push(place);
        if matches!(place, Place::Journey | Place::Activity | Place::Visit | Place::Situation) {
            self.things.push(Thing { depth: self.within.len(), ..Thing::default() });
        }
        true
    }

    fn leave(&mut self) {
        let depth = self.within.len();
        self.within.pop();
        let Some(thing) = self.things.pop_if(|thing| thing.depth == depth) else { return };
        for (element, why) in thing.lost {
            self.losses.push(element.to_string(), why, thing.id.as_deref());
        }
    }

    fn text(&mut self, element: &str, text: &str) {
        if let Some(thing) = self.things.last_mut()
            && NAMES.contains(&element)
        {
            thing.id.get_or_insert_with(|| SmolStr::new(text));
        }
        // What is not so is not said either.
        let is_usual = text == "false" && USUALLY_FALSE.contains(&element);
        if let Fate::Lost(why) = self.fate(element)
            && !is_usual
        {
            self.lose(element, why);
        }
    }
}

/// What things are called by.
const NAMES: [&str; 5] = [
    "DatedVehicleJourneyRef",
    "EstimatedVehicleJourneyCode",
    "VehicleJourneyRef",
    "VehicleRef",
    "SituationNumber",
];

/// Elements of which "false" says the same as nothing.
const USUALLY_FALSE: [&str; 11] = [
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

/// What becomes of an element in a place. What is named nowhere here is lost.
fn fate(place: Place, element: &str, vehicles_tell_delays: bool) -> Fate {
    let known = match place {
        Place::All => Some(Fate::Used),
        Place::Message
        | Place::Delivery
        | Place::Timetable
        | Place::Frame
        | Place::Vehicles
        | Place::Stops
        | Place::Activity
        | Place::Visit => in_delivery(place, element),
        Place::Journey | Place::Ride | Place::Visiting => {
            in_journey(place, element, vehicles_tell_delays)
        }
        Place::Calls
        | Place::MonitoredCalls
        | Place::Call
        | Place::MonitoredCall
        | Place::VehicleCall
        | Place::NextCall
        | Place::Quays
        | Place::Occupancies
        | Place::Location => in_call(place, element),
        Place::Situations
        | Place::Situation
        | Place::Consequences
        | Place::Consequence
        | Place::Links
        | Place::Actions
        | Place::Action
        | Place::Scope
        | Place::Information
        | Place::Content => in_situation(place, element),
        _ => in_affects(place, element),
    };
    known.unwrap_or(Fate::Lost(why_lost(place, element)))
}

fn used(is_used: bool) -> Option<Fate> {
    is_used.then_some(Fate::Used)
}

fn in_delivery(place: Place, element: &str) -> Option<Fate> {
    use Fate::{Lost, Within};
    Some(match (place, element) {
        (Place::Message, "ServiceDelivery") => Within(Place::Delivery),
        (Place::Delivery, "EstimatedTimetableDelivery") => Within(Place::Timetable),
        (Place::Delivery, "VehicleMonitoringDelivery") => Within(Place::Vehicles),
        (Place::Delivery, "StopMonitoringDelivery") => Within(Place::Stops),
        (Place::Delivery, "SituationExchangeDelivery") => Within(Place::Situations),
        (Place::Timetable, "EstimatedJourneyVersionFrame") => Within(Place::Frame),
        (Place::Frame, "EstimatedVehicleJourney") => Within(Place::Journey),
        (Place::Vehicles, "VehicleActivity") => Within(Place::Activity),
        (Place::Activity, "MonitoredVehicleJourney") => Within(Place::Ride),
        (Place::Stops, "MonitoredStopVisit") => Within(Place::Visit),
        (Place::Visit, "MonitoredVehicleJourney") => Within(Place::Visiting),
        (Place::Vehicles, "VehicleActivityCancellation")
        | (Place::Stops, "MonitoredStopVisitCancellation") => Lost(TAKEN_BACK),
        (Place::Frame | Place::Activity | Place::Visit, "RecordedAtTime")
        | (Place::Activity, "VehicleMonitoringRef" | "ItemIdentifier")
        | (Place::Visit, "MonitoringRef" | "ItemIdentifier") => Fate::Used,
        (Place::Delivery | Place::Timetable | Place::Vehicles | Place::Stops, _) => {
            return used(element == "ResponseTimestamp");
        }
        _ => return None,
    })
}

fn in_journey(place: Place, element: &str, vehicles_tell_delays: bool) -> Option<Fate> {
    use Fate::Within;
    use Place::{Journey, Ride, Visiting};
    Some(match (place, element) {
        (Journey, "RecordedCalls" | "EstimatedCalls") => Within(Place::Calls),
        (Visiting, "PreviousCalls" | "OnwardCalls") => Within(Place::MonitoredCalls),
        (Visiting, "MonitoredCall") => Within(Place::MonitoredCall),
        (Ride, "PreviousCalls" | "OnwardCalls") if vehicles_tell_delays => {
            Within(Place::MonitoredCalls)
        }
        (Ride, "MonitoredCall") if vehicles_tell_delays => Within(Place::VehicleCall),
        (Ride, "MonitoredCall") => Within(Place::NextCall),
        (Ride, "VehicleLocation") => Within(Place::Location),
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
        | (Ride, "LocationRecordedAtTime" | "Bearing" | "Velocity" | "InCongestion") => Fate::Used,
        (Ride, "Delay") if vehicles_tell_delays => Fate::Used,
        _ => return None,
    })
}

fn in_call(place: Place, element: &str) -> Option<Fate> {
    use Fate::Within;
    Some(match (place, element) {
        (Place::Calls, _) => Within(Place::Call),
        (Place::MonitoredCalls, _) => Within(Place::MonitoredCall),
        (
            Place::Call | Place::MonitoredCall | Place::VehicleCall,
            "ArrivalStopAssignment" | "DepartureStopAssignment",
        ) => Within(Place::Quays),
        (Place::Call | Place::MonitoredCall | Place::VehicleCall, "ExpectedDepartureOccupancy") => {
            Within(Place::Occupancies)
        }
        (
            Place::Call | Place::MonitoredCall | Place::VehicleCall,
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
        | (Place::Call, "ExtraCall" | "Order")
        | (Place::VehicleCall, "VehicleAtStop")
        | (Place::NextCall, "StopPointRef" | "VehicleAtStop")
        | (Place::Quays, "AimedQuayRef" | "ExpectedQuayRef" | "ActualQuayRef")
        | (Place::Occupancies, "OccupancyLevel")
        | (Place::Location, "Longitude" | "Latitude") => Fate::Used,
        _ => return None,
    })
}

fn in_situation(place: Place, element: &str) -> Option<Fate> {
    use Fate::Within;
    Some(match (place, element) {
        (Place::Situations, "Situations") => Within(Place::Situations),
        (Place::Situations, "PtSituationElement") => Within(Place::Situation),
        (Place::Situation, "Affects") => Within(Place::Affects),
        (Place::Situation, "Consequences") => Within(Place::Consequences),
        (Place::Consequences, "Consequence") => Within(Place::Consequence),
        (Place::Consequence | Place::Scope, "Affects") => Within(Place::AffectsMore),
        (Place::Situation, "InfoLinks") => Within(Place::Content),
        (Place::Content, "InfoLink") => Within(Place::Links),
        (Place::Situation, "PublishingActions") => Within(Place::Actions),
        (Place::Actions, "PublishingAction") => Within(Place::Action),
        (Place::Action, "PublishAtScope") => Within(Place::Scope),
        (Place::Action, "PassengerInformationAction") => Within(Place::Information),
        (Place::Information, "TextualContent") => Within(Place::Content),
        (Place::Situations, "ResponseTimestamp")
        | (
            Place::Situation,
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
        | (Place::Consequence, "Condition" | "Severity")
        | (Place::Links, "Uri")
        | (
            Place::Content,
            "SummaryContent"
            | "ReasonContent"
            | "DescriptionContent"
            | "ConsequenceContent"
            | "RecommendationContent"
            | "DurationContent"
            | "RemarkContent",
        ) => Fate::Used,
        _ => return None,
    })
}

fn in_affects(place: Place, element: &str) -> Option<Fate> {
    use Fate::Within;
    use Place::{Affects, AffectsMore};
    Some(match (place, element) {
        (Affects | AffectsMore, "Operators") => Within(Place::Networks),
        (Affects | AffectsMore, "Networks") => Within(Place::Networks),
        (Place::Networks, "AffectedNetwork") => Within(Place::Network),
        (Place::Networks | Place::Network, "AffectedOperator") => Within(Place::Networks),
        (Place::Network, "AffectedLine") => Within(Place::Line),
        (Place::Line, "Direction") => Within(Place::Line),
        (Place::Line, "Routes") => Within(Place::StopsOf),
        (Place::StopsOf, "AffectedRoute") => Within(Place::StopsOf),
        (Place::Line | Place::StopsOf, "StopPoints") => Within(Place::StopsOf),
        (Place::StopsOf, "AffectedStopPoint") => Within(Place::StopOf),
        (Affects, "StopPoints") => Within(Place::AffectedStops),
        (Place::AffectedStops, "AffectedStopPoint") => Within(Place::AffectedStop),
        (AffectsMore, "StopPoints") => Within(Place::StopsOf),
        (Affects | AffectsMore, "StopPlaces") => Within(Place::Places),
        (Place::Places, "AffectedStopPlace") => Within(Place::Places),
        (Affects | AffectsMore, "VehicleJourneys") => Within(Place::Journeys),
        (Place::Journeys, "AffectedVehicleJourney") => Within(Place::JourneyOf),
        (Place::Networks, "OperatorRef" | "AllOperators")
        | (Place::Network, "VehicleMode" | "AllLines")
        | (Place::Line, "LineRef" | "DirectionRef")
        | (Place::StopOf | Place::AffectedStop, "StopPointRef" | "StopPlaceRef")
        | (Place::AffectedStop, "StopCondition")
        | (Place::Places, "StopPlaceRef")
        | (
            Place::JourneyOf,
            "FramedVehicleJourneyRef" | "VehicleJourneyRef" | "DatedVehicleJourneyRef" | "LineRef",
        ) => Fate::Used,
        _ => return None,
    })
}

/// What the schedule says better.
const OF_SCHEDULE: [&str; 21] = [
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

fn why_lost(place: Place, element: &str) -> &'static str {
    match (place, element) {
        (Place::Message | Place::Delivery | Place::Timetable, _)
        | (Place::Vehicles | Place::Stops | Place::Situations, _) => EXCHANGE,
        (Place::Ride | Place::NextCall, _) if is_of_calls(element) => TIMETABLES,
        (_, "SituationRef") => "alerts name what they are about",
        (Place::Call | Place::MonitoredCall | Place::VehicleCall, "PredictionInaccurate") => {
            "an uncertainty would have to be a number of seconds"
        }
        (Place::Network, "NetworkRef") => "only its producer knows which network it names",
        (Place::JourneyOf | Place::Line | Place::StopsOf, "RouteRef") => NO_FIELD,
        (_, element) if OF_SCHEDULE.contains(&element) => SCHEDULE,
        _ => NO_FIELD,
    }
}

/// Whether estimated timetables tell it better than vehicles.
fn is_of_calls(element: &str) -> bool {
    let is_call = matches!(element, "PreviousCalls" | "OnwardCalls" | "Delay");
    is_call || matches!(in_call(Place::MonitoredCall, element), Some(Fate::Used))
}

#[cfg(test)]
mod tests;
