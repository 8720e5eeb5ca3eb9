//! Mapping of SIRI's enumerations to GTFS-Realtime.

use lineside_formats::{
    gtfs_rt::proto::{
        alert::{Cause, Effect, SeverityLevel},
        vehicle_position::OccupancyStatus,
    },
    siri::{Occupancy, Severity},
};

/// Maps an occupancy; SIRI's *undefined* has no equivalent.
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

pub(super) fn map_severity(severity: Severity) -> SeverityLevel {
    match severity {
        Severity::NoImpact | Severity::VerySlight | Severity::Slight => SeverityLevel::Info,
        Severity::Normal => SeverityLevel::Warning,
        Severity::Severe | Severity::VerySevere => SeverityLevel::Severe,
        _ => SeverityLevel::UnknownSeverity,
    }
}

/// Parts of the names of SIRI reasons with their causes; the first match wins.
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

/// The list that a reason belongs to, which determines the cause of an unknown name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SituationReasonList {
    /// No particular list.
    Any,
    /// Vehicles, tracks and other equipment.
    Equipment,
    /// Weather and nature.
    Environment,
    /// Events with crowds.
    PublicEvent,
}

/// Maps the name of a reason to a cause.
pub(super) fn map_reason_to_cause(reason: &str, reason_list: SituationReasonList) -> Cause {
    let plain: String =
        reason.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let known = CAUSES.iter().find(|(part, _)| plain.contains(part)).map(|&(_, cause)| cause);
    match (plain.as_str(), known, reason_list) {
        ("" | "unknown" | "undefined", ..) => Cause::UnknownCause,
        (_, Some(cause), SituationReasonList::Any | SituationReasonList::Equipment) => cause,
        (.., SituationReasonList::Environment) => Cause::Weather,
        (.., SituationReasonList::PublicEvent) => Cause::SpecialEvent,
        (.., SituationReasonList::Equipment) => Cause::TechnicalProblem,
        _ => Cause::OtherCause,
    }
}

/// SIRI's service conditions with their effects, the most severe first.
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

/// Maps service conditions to the most severe of their effects.
pub(super) fn map_conditions_to_effect<'a>(conditions: impl Iterator<Item = &'a str>) -> Effect {
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

/// All basic `route_type`s of GTFS: together they cover all routes.
pub(super) const ROUTE_TYPES: [i32; 10] = [0, 1, 2, 3, 4, 5, 6, 7, 11, 12];

/// Returns the `route_type`s of a vehicle mode; none for a mode that GTFS does not distinguish.
pub(super) fn route_types_of_mode(mode: &str) -> &'static [i32] {
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
    fn reasons_map_to_causes_by_name_and_list() {
        for (reason, reason_list, expected) in [
            ("signalProblem", SituationReasonList::Any, Cause::TechnicalProblem),
            ("staffSickness", SituationReasonList::Any, Cause::OtherCause),
            ("roadworks", SituationReasonList::Any, Cause::Construction),
            ("heavySnowFall", SituationReasonList::Environment, Cause::Weather),
            ("lockedDoors", SituationReasonList::Equipment, Cause::TechnicalProblem),
            ("accident", SituationReasonList::Any, Cause::Accident),
            ("unknown", SituationReasonList::Equipment, Cause::UnknownCause),
        ] {
            assert_eq!(map_reason_to_cause(reason, reason_list), expected, "{reason}");
        }
    }

    #[test]
    fn the_most_severe_condition_is_the_effect() {
        let worst_effect =
            |conditions: &[&str]| map_conditions_to_effect(conditions.iter().copied());
        assert_eq!(worst_effect(&["delayed", "cancelled"]), Effect::NoService);
        assert_eq!(worst_effect(&["diverted"]), Effect::Detour);
        assert_eq!(worst_effect(&["intermittentService"]), Effect::ReducedService);
        assert_eq!(worst_effect(&["somethingElse"]), Effect::OtherEffect);
        assert_eq!(worst_effect(&["unknown"]), Effect::UnknownEffect);
        assert_eq!(worst_effect(&[]), Effect::UnknownEffect);
    }
}
