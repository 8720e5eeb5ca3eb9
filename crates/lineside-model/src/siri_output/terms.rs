//! Mapping of GTFS enumerations to SIRI.

use lineside_formats::{
    gtfs_rt::proto::{
        alert::{Cause, Effect, SeverityLevel},
        vehicle_position::OccupancyStatus,
    },
    siri::{Occupancy, PresenceFlag, PtSituationElement, Severity},
};
use smol_str::SmolStr;

/// Maps a `route_type` to a vehicle mode of SIRI 2.0; `None` without an equivalent.
pub(super) fn map_vehicle_mode(route_type: u16) -> Option<SmolStr> {
    let mode = match route_type {
        0 | 5 | 900..=999 => "tram",
        1 | 400..=499 => "metro",
        2 | 12 | 100..=199 => "rail",
        3 | 11 | 700..=899 => "bus",
        200..=299 => "coach",
        4 | 1000..=1099 | 1200..=1299 => "ferry",
        1100..=1199 => "air",
        _ => return None,
    };
    Some(SmolStr::new_static(mode))
}

/// Maps an occupancy; `None` if unknown.
pub(super) fn map_occupancy(status: OccupancyStatus) -> Option<Occupancy> {
    match status {
        OccupancyStatus::Empty => Some(Occupancy::Empty),
        OccupancyStatus::ManySeatsAvailable => Some(Occupancy::ManySeatsAvailable),
        OccupancyStatus::FewSeatsAvailable => Some(Occupancy::FewSeatsAvailable),
        OccupancyStatus::StandingRoomOnly => Some(Occupancy::StandingRoomOnly),
        OccupancyStatus::CrushedStandingRoomOnly => Some(Occupancy::CrushedStandingRoomOnly),
        OccupancyStatus::Full => Some(Occupancy::Full),
        OccupancyStatus::NotAcceptingPassengers | OccupancyStatus::NotBoardable => {
            Some(Occupancy::NotAcceptingPassengers)
        }
        OccupancyStatus::NoDataAvailable => None,
    }
}

pub(super) fn map_severity(level: SeverityLevel) -> Severity {
    match level {
        SeverityLevel::UnknownSeverity => Severity::Unknown,
        SeverityLevel::Info => Severity::Slight,
        SeverityLevel::Warning => Severity::Normal,
        SeverityLevel::Severe => Severity::Severe,
    }
}

/// Puts a cause into the reason list to which it belongs.
pub(super) fn set_situation_reason(situation: &mut PtSituationElement, cause: Cause) {
    let (reason_field, term) = match cause {
        Cause::UnknownCause => (&mut situation.unknown_reason, "unknown"),
        Cause::OtherCause => {
            situation.undefined_reason = PresenceFlag(true);
            return;
        }
        Cause::TechnicalProblem => (&mut situation.equipment_reason, "technicalProblem"),
        Cause::Maintenance => (&mut situation.equipment_reason, "maintenanceWork"),
        Cause::Construction => (&mut situation.equipment_reason, "constructionWork"),
        Cause::Strike => (&mut situation.personnel_reason, "industrialAction"),
        Cause::Weather => (&mut situation.environment_reason, "poorWeather"),
        Cause::Demonstration => (&mut situation.miscellaneous_reason, "demonstration"),
        Cause::Accident => (&mut situation.miscellaneous_reason, "accident"),
        Cause::Holiday => (&mut situation.miscellaneous_reason, "holiday"),
        Cause::PoliceActivity => (&mut situation.miscellaneous_reason, "policeActivity"),
        Cause::MedicalEmergency => {
            (&mut situation.miscellaneous_reason, "emergencyMedicalServices")
        }
        Cause::SpecialEvent => (&mut situation.miscellaneous_reason, "specialEvent"),
    };
    *reason_field = Some(SmolStr::new_static(term));
}

/// Maps an effect to a service condition; `None` without an equivalent.
pub(super) fn map_effect_to_condition(effect: Effect) -> Option<SmolStr> {
    let term = match effect {
        Effect::NoService => "noService",
        Effect::ReducedService => "intermittentService",
        Effect::SignificantDelays => "delayed",
        Effect::Detour => "diverted",
        Effect::AdditionalService => "additionalService",
        Effect::ModifiedService => "altered",
        Effect::StopMoved => "stopMoved",
        Effect::NoEffect => "normalService",
        Effect::UnknownEffect => "unknown",
        Effect::OtherEffect => "undefinedStatus",
        Effect::AccessibilityIssue => return None,
    };
    Some(SmolStr::new_static(term))
}

/// Returns true if a cause is unforeseen; the Nordic profile distinguishes incidents.
pub(super) fn is_unforeseen_cause(cause: Cause) -> bool {
    !matches!(
        cause,
        Cause::Maintenance
            | Cause::Construction
            | Cause::Holiday
            | Cause::SpecialEvent
            | Cause::UnknownCause
            | Cause::OtherCause
    )
}
