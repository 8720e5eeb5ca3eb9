//! SIRI's terms and what they are called in GTFS-Realtime.

use lineside_formats::{
    gtfs_rt::proto::{
        alert::{Cause, Effect, SeverityLevel},
        vehicle_position::OccupancyStatus,
    },
    siri::{Occupancy, Severity},
};

/// How full; SIRI's *undefined* says nothing.
pub(super) fn map_occupancy(occupancy: Occupancy) -> Option<OccupancyStatus> {
    Some(match occupancy {
        Occupancy::Empty => OccupancyStatus::Empty,
        Occupancy::ManySeatsAvailable | Occupancy::SeatsAvailable => {
            OccupancyStatus::ManySeatsAvailable
        }
        Occupancy::FewSeatsAvailable => OccupancyStatus::FewSeatsAvailable,
        Occupancy::StandingAvailable | Occupancy::StandingRoomOnly => {
            OccupancyStatus::StandingRoomOnly
        }
        Occupancy::CrushedStandingRoomOnly => OccupancyStatus::CrushedStandingRoomOnly,
        Occupancy::Full => OccupancyStatus::Full,
        Occupancy::NotAcceptingPassengers => OccupancyStatus::NotAcceptingPassengers,
        Occupancy::Unknown => OccupancyStatus::NoDataAvailable,
        _ => return None,
    })
}

/// How grave.
pub(super) fn map_severity(severity: Severity) -> SeverityLevel {
    match severity {
        Severity::NoImpact | Severity::VerySlight | Severity::Slight => SeverityLevel::Info,
        Severity::Normal => SeverityLevel::Warning,
        Severity::Severe | Severity::VerySevere => SeverityLevel::Severe,
        _ => SeverityLevel::UnknownSeverity,
    }
}

/// Parts of the names of SIRI's reasons, and the cause that each stands for; the first that fits counts.
const CAUSES: [(&str, Cause); 36] = [
    ("strike", Cause::Strike),
    ("industrialaction", Cause::Strike),
    ("goslow", Cause::Strike),
    ("demonstration", Cause::Demonstration),
    ("procession", Cause::Demonstration),
    ("march", Cause::Demonstration),
    ("accident", Cause::Accident),
    ("collision", Cause::Accident),
    ("derailment", Cause::Accident),
    ("holiday", Cause::Holiday),
    ("medical", Cause::MedicalEmergency),
    ("illpassenger", Cause::MedicalEmergency),
    ("illnesspassenger", Cause::MedicalEmergency),
    ("ambulance", Cause::MedicalEmergency),
    ("roadworks", Cause::Construction),
    ("construction", Cause::Construction),
    ("maintenance", Cause::Maintenance),
    ("repair", Cause::Maintenance),
    ("engineeringwork", Cause::Maintenance),
    ("routineworks", Cause::Maintenance),
    ("police", Cause::PoliceActivity),
    ("security", Cause::PoliceActivity),
    ("bomb", Cause::PoliceActivity),
    ("specialevent", Cause::SpecialEvent),
    ("event", Cause::SpecialEvent),
    ("match", Cause::SpecialEvent),
    ("concert", Cause::SpecialEvent),
    ("marathon", Cause::SpecialEvent),
    ("fault", Cause::TechnicalProblem),
    ("failure", Cause::TechnicalProblem),
    ("technical", Cause::TechnicalProblem),
    ("breakdown", Cause::TechnicalProblem),
    ("defect", Cause::TechnicalProblem),
    ("problem", Cause::TechnicalProblem),
    ("signal", Cause::TechnicalProblem),
    ("powercut", Cause::TechnicalProblem),
];

/// Whose list of reasons a reason is of, where its name alone tells nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReasonList {
    /// Nobody's in particular.
    Any,
    /// What vehicles and tracks are made of.
    Equipment,
    /// Weather and nature.
    Environment,
    /// People have come together.
    PublicEvent,
}

/// Why something is so, by the name of a reason.
pub(super) fn map_cause(reason: &str, of: ReasonList) -> Cause {
    let plain: String =
        reason.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let known = CAUSES.iter().find(|(part, _)| plain.contains(part)).map(|&(_, cause)| cause);
    match (plain.as_str(), known, of) {
        ("" | "unknown" | "undefined", ..) => Cause::UnknownCause,
        (_, Some(cause), ReasonList::Any | ReasonList::Equipment) => cause,
        (.., ReasonList::Environment) => Cause::Weather,
        (.., ReasonList::PublicEvent) => Cause::SpecialEvent,
        (.., ReasonList::Equipment) => Cause::TechnicalProblem,
        _ => Cause::OtherCause,
    }
}

/// SIRI's conditions of service, and what each comes to, the gravest first.
const EFFECTS: [(&str, Effect); 23] = [
    ("noservice", Effect::NoService),
    ("cancelled", Effect::NoService),
    ("closed", Effect::NoService),
    ("disrupted", Effect::ReducedService),
    ("shortformedservice", Effect::ReducedService),
    ("reducedservice", Effect::ReducedService),
    ("irregulartraffic", Effect::ReducedService),
    ("intermittentservice", Effect::ReducedService),
    ("majordelays", Effect::SignificantDelays),
    ("delayed", Effect::SignificantDelays),
    ("delay", Effect::SignificantDelays),
    ("diverted", Effect::Detour),
    ("detour", Effect::Detour),
    ("additionalservice", Effect::AdditionalService),
    ("additionalstop", Effect::ModifiedService),
    ("altered", Effect::ModifiedService),
    ("replacementtransport", Effect::ModifiedService),
    ("stopmoved", Effect::StopMoved),
    ("stopcancelled", Effect::NoService),
    ("notransfer", Effect::OtherEffect),
    ("accessibilityproblem", Effect::AccessibilityIssue),
    ("normalservice", Effect::NoEffect),
    ("ontime", Effect::NoEffect),
];

/// What follows for passengers; the gravest of what is said.
pub(super) fn map_effect<'a>(conditions: impl Iterator<Item = &'a str>) -> Effect {
    let at = |condition: &str| {
        let plain: String = condition.chars().filter(char::is_ascii_alphanumeric).collect();
        let plain = plain.to_ascii_lowercase();
        let known = EFFECTS.iter().position(|(name, _)| *name == plain);
        match plain.as_str() {
            "" | "unknown" | "undefined" | "undefinedstatus" => None,
            _ => Some(known.unwrap_or(EFFECTS.len())),
        }
    };
    match conditions.filter_map(at).min() {
        Some(at) => EFFECTS.get(at).map_or(Effect::OtherEffect, |&(_, effect)| effect),
        None => Effect::UnknownEffect,
    }
}

/// Each `route_type` of GTFS itself: together they are all lines.
pub(super) const ROUTE_TYPES: [i32; 10] = [0, 1, 2, 3, 4, 5, 6, 7, 11, 12];

/// The `route_type`s of a kind of vehicle; none of one that GTFS does not tell apart.
pub(super) fn map_route_types(mode: &str) -> &'static [i32] {
    match mode {
        "tram" => &[0, 5],
        "metro" | "underground" => &[1],
        "rail" => &[2, 12],
        "bus" => &[3, 11],
        "trolleyBus" => &[11],
        "coach" => &[200],
        "ferry" | "water" => &[4],
        "telecabin" | "cableway" => &[6],
        "funicular" => &[7],
        "air" => &[1100],
        "taxi" => &[1500],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_become_causes_by_their_names_and_lists() {
        for (reason, of, expected) in [
            ("signalProblem", ReasonList::Any, Cause::TechnicalProblem),
            ("staffSickness", ReasonList::Any, Cause::OtherCause),
            ("roadworks", ReasonList::Any, Cause::Construction),
            ("heavySnowFall", ReasonList::Environment, Cause::Weather),
            ("lockedDoors", ReasonList::Equipment, Cause::TechnicalProblem),
            ("accident", ReasonList::Any, Cause::Accident),
            ("unknown", ReasonList::Equipment, Cause::UnknownCause),
        ] {
            assert_eq!(map_cause(reason, of), expected, "{reason}");
        }
    }

    #[test]
    fn the_gravest_condition_is_the_effect() {
        let effect_of = |conditions: &[&str]| map_effect(conditions.iter().copied());
        assert_eq!(effect_of(&["delayed", "cancelled"]), Effect::NoService);
        assert_eq!(effect_of(&["diverted"]), Effect::Detour);
        assert_eq!(effect_of(&["intermittentService"]), Effect::ReducedService);
        assert_eq!(effect_of(&["somethingElse"]), Effect::OtherEffect);
        assert_eq!(effect_of(&["unknown"]), Effect::UnknownEffect);
        assert_eq!(effect_of(&[]), Effect::UnknownEffect);
    }
}
