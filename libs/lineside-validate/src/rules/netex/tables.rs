//! The objects that are checked, and the child elements that every profile requires.

use super::kinds;
use crate::notice::NoticeKind;

/// A requirement: the object must have at least one of these child elements.
#[derive(Debug)]
pub(super) struct ChildRequirement {
    pub(super) parent: &'static str,
    pub(super) any_of: &'static [&'static str],
    pub(super) kind: &'static NoticeKind,
}

const fn required_child(of: &'static str, any_of: &'static [&'static str]) -> ChildRequirement {
    ChildRequirement { parent: of, any_of, kind: &kinds::MISSING }
}

const fn recommended_child(of: &'static str, any_of: &'static [&'static str]) -> ChildRequirement {
    ChildRequirement { parent: of, any_of, kind: &kinds::NOT_ADVISED }
}

/// The elements that define the route of a journey; its calls define it too.
const JOURNEYS: &[&str] = &[
    "JourneyPatternRef",
    "ServiceJourneyPatternRef",
    "ServicePatternRef",
    "JourneyPattern",
    "ServiceJourneyPattern",
    "calls",
    "CopyOfJourneyRef",
    "ServiceJourneyRef",
];
/// The elements that define the times of a journey.
const TIMES: &[&str] = &[
    "passingTimes",
    "calls",
    "TimeDemandTypeRef",
    "timeDemandTypes",
    "DepartureTime",
    "journeyFrequencyGroups",
    "CopyOfJourneyRef",
    "ServiceJourneyRef",
];
const LOCATIONS: &[&str] = &["Centroid", "Polygon"];

/// All requirements; there must be fewer than the bits of a `u64`.
pub(super) static NEEDS: &[ChildRequirement] = &[
    required_child("Line", &["Name", "ShortName", "PublicCode"]),
    recommended_child("Line", &["TransportMode"]),
    recommended_child(
        "Line",
        &["OperatorRef", "AuthorityRef", "additionalOperators", "RepresentedByGroupRef"],
    ),
    required_child("FlexibleLine", &["Name", "ShortName", "PublicCode"]),
    recommended_child("FlexibleLine", &["TransportMode"]),
    required_child("Operator", &["Name", "ShortName", "LegalName"]),
    required_child("Authority", &["Name", "ShortName", "LegalName"]),
    recommended_child("Network", &["Name"]),
    recommended_child("Route", &["LineRef", "FlexibleLineRef"]),
    required_child("DestinationDisplay", &["FrontText", "Name", "SideText", "ShortName"]),
    recommended_child("StopPlace", &["Name"]),
    recommended_child("StopPlace", LOCATIONS),
    recommended_child("Quay", LOCATIONS),
    required_child("PassengerStopAssignment", &["ScheduledStopPointRef", "ScheduledStopPoint"]),
    required_child(
        "PassengerStopAssignment",
        &["QuayRef", "StopPlaceRef", "Quay", "StopPlace", "BoardingPositionRef", "TaxiRankRef"],
    ),
    required_child("ServiceJourney", JOURNEYS),
    required_child("ServiceJourney", TIMES),
    required_child("DatedServiceJourney", &["ServiceJourneyRef", "JourneyRef"]),
    required_child("DatedServiceJourney", &["OperatingDayRef", "UicOperatingPeriodRef"]),
    required_child("DayTypeAssignment", &["DayTypeRef", "FareDayTypeRef"]),
    required_child(
        "DayTypeAssignment",
        &["Date", "OperatingDayRef", "OperatingPeriodRef", "UicOperatingPeriodRef"],
    ),
    required_child("OperatingDay", &["CalendarDate"]),
    required_child("OperatingPeriod", &["FromDate", "FromOperatingDayRef"]),
    required_child("OperatingPeriod", &["ToDate", "ToOperatingDayRef"]),
];

/// Objects that are checked in other ways.
pub(super) static OTHERS: &[&str] = &[
    "ServiceJourney",
    "JourneyPattern",
    "ServiceJourneyPattern",
    "ServicePattern",
    "StopPointInJourneyPattern",
    "TimingPointInJourneyPattern",
    "TimetabledPassingTime",
    "ScheduledStopPoint",
    "FlexibleStopAssignment",
    "UicOperatingPeriod",
    "ValidBetween",
    "AvailabilityCondition",
];

pub(super) fn checked_object_name(name: &str) -> Option<&'static str> {
    let needing = NEEDS.iter().map(|need| need.parent);
    needing.chain(OTHERS.iter().copied()).find(|other| *other == name)
}

/// The elements whose text is read.
pub(super) static TEXTS: &[&str] = &[
    "ArrivalTime",
    "DepartureTime",
    "ArrivalDayOffset",
    "DepartureDayOffset",
    "FromDate",
    "ToDate",
    "Longitude",
    "Latitude",
];
