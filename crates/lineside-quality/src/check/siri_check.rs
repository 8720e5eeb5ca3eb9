//! Checks SIRI messages.

use bytes::Bytes;
use jiff::tz::TimeZone;
use lineside_formats::{Format, siri};
use lineside_validate::Notices;
use lineside_validate::rules::{self, ValidatorFault};

use super::decoded_check::{DecodedFormat, DecodedInput, InspectionResult, check_decoded};
use super::record_rows::siri_rows_of_findings;
use super::{
    CheckPlan, CheckReadProgress, CheckReport, LatLon, codes_with_samples, realtime_conformance,
    sample_points_evenly,
};

/// The parts of a check that only SIRI has.
static SIRI: DecodedFormat = DecodedFormat {
    format: Format::Siri,
    inspect: inspect_message,
    check_references: check_with_references,
    find_rows: |input, found| siri_rows_of_findings(input.body, codes_with_samples(found)),
    line_field: "record",
};

pub(super) fn check_siri(
    body: &Bytes,
    plan: CheckPlan,
    progress: &CheckReadProgress,
    elapsed: &dyn Fn() -> f64,
) -> Result<CheckReport, String> {
    check_decoded(&SIRI, body, plan, progress, elapsed)
}

fn inspect_message(
    input: &DecodedInput<'_>,
    notices: &mut Notices,
) -> Result<InspectionResult, String> {
    let limits = siri::MessageLimits::default();
    let (message, problems) = siri::decode_siri_message(input.body, &TimeZone::UTC, &limits)
        .map_err(|error| error.to_string())?;
    let may_continue = || !input.stop.is_cancelled();
    let errors = rules::siri::validate_siri_while(&message, notices, &may_continue).errors;
    let counts = count_elements(&message);
    let outline =
        sample_points_evenly(vehicle_locations(&message).map(|it| (it.latitude, it.longitude)));
    Ok(InspectionResult { problems, counts, errors, outline, ..InspectionResult::default() })
}

/// Validates the converted message, if there is anything to validate it against.
fn check_with_references(
    input: &DecodedInput<'_>,
    notices: &mut Notices,
    outline: &mut Vec<LatLon>,
) -> Result<Vec<ValidatorFault>, String> {
    let DecodedInput { body, plan, stop, .. } = *input;
    if !realtime_conformance::has_schedule_or_previous_message(plan) {
        return Ok(Vec::new());
    }
    realtime_conformance::check_converted_siri_message(body, plan, stop, (notices, outline))
}

/// Returns the locations of vehicles.
fn vehicle_locations(message: &siri::SiriMessage) -> impl Iterator<Item = &siri::Location> {
    let deliveries = message.service_deliveries().flat_map(|it| &it.vehicle_monitorings);
    let activities = deliveries.flat_map(|it| &it.vehicle_activities);
    activities.filter_map(|it| it.monitored_vehicle_journey.as_ref()?.vehicle_location.as_ref())
}

fn count_elements(message: &siri::SiriMessage) -> Vec<(&'static str, u64)> {
    let sum = |n: fn(&siri::ServiceDelivery) -> usize| {
        message.service_deliveries().map(n).sum::<usize>() as u64
    };
    vec![
        (
            "journeys",
            sum(|it| it.estimated_timetables.iter().flat_map(|it| it.estimated_journeys()).count()),
        ),
        (
            "vehicles",
            sum(|it| it.vehicle_monitorings.iter().map(|it| it.vehicle_activities.len()).sum()),
        ),
        (
            "visits",
            sum(|it| it.stop_monitorings.iter().map(|it| it.monitored_stop_visits.len()).sum()),
        ),
        ("situations", sum(|it| it.situation_exchanges.iter().map(|it| it.situations.len()).sum())),
    ]
}
