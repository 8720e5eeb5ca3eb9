//! The objects that are looked at, and what each must have: what no profile does without.

use super::kinds;
use crate::notice::Kind;

/// What an object must have: at least one of these as its child.
#[derive(Debug)]
pub(super) struct Need {
    pub(super) of: &'static str,
    pub(super) any_of: &'static [&'static str],
    pub(super) kind: &'static Kind,
}

const fn must(of: &'static str, any_of: &'static [&'static str]) -> Need {
    Need { of, any_of, kind: &kinds::MISSING }
}

const fn should(of: &'static str, any_of: &'static [&'static str]) -> Need {
    Need { of, any_of, kind: &kinds::NOT_ADVISED }
}

/// Which way a journey goes: its calls say it too.
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
/// When a journey runs.
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

/// All needs; fewer than there are bits in a `u64`.
pub(super) static NEEDS: &[Need] = &[
    must("Line", &["Name", "ShortName", "PublicCode"]),
    should("Line", &["TransportMode"]),
    should(
        "Line",
        &["OperatorRef", "AuthorityRef", "additionalOperators", "RepresentedByGroupRef"],
    ),
    must("FlexibleLine", &["Name", "ShortName", "PublicCode"]),
    should("FlexibleLine", &["TransportMode"]),
    must("Operator", &["Name", "ShortName", "LegalName"]),
    must("Authority", &["Name", "ShortName", "LegalName"]),
    should("Network", &["Name"]),
    should("Route", &["LineRef", "FlexibleLineRef"]),
    must("DestinationDisplay", &["FrontText", "Name", "SideText", "ShortName"]),
    should("StopPlace", &["Name"]),
    should("StopPlace", LOCATIONS),
    should("Quay", LOCATIONS),
    must("PassengerStopAssignment", &["ScheduledStopPointRef", "ScheduledStopPoint"]),
    must(
        "PassengerStopAssignment",
        &["QuayRef", "StopPlaceRef", "Quay", "StopPlace", "BoardingPositionRef", "TaxiRankRef"],
    ),
    must("ServiceJourney", JOURNEYS),
    must("ServiceJourney", TIMES),
    must("DatedServiceJourney", &["ServiceJourneyRef", "JourneyRef"]),
    must("DatedServiceJourney", &["OperatingDayRef", "UicOperatingPeriodRef"]),
    must("DayTypeAssignment", &["DayTypeRef", "FareDayTypeRef"]),
    must(
        "DayTypeAssignment",
        &["Date", "OperatingDayRef", "OperatingPeriodRef", "UicOperatingPeriodRef"],
    ),
    must("OperatingDay", &["CalendarDate"]),
    must("OperatingPeriod", &["FromDate", "FromOperatingDayRef"]),
    must("OperatingPeriod", &["ToDate", "ToOperatingDayRef"]),
];

/// Objects that are looked at for something else.
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

/// The object of that name, if it is one that is looked at.
pub(super) fn find(name: &str) -> Option<&'static str> {
    let needing = NEEDS.iter().map(|need| need.of);
    needing.chain(OTHERS.iter().copied()).find(|other| *other == name)
}

/// Elements whose text is read.
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
