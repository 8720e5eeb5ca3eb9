//! Checks GTFS-Realtime messages.

use bytes::Bytes;
use lineside_formats::{Error, Format, Problems, gtfs_rt, is_gtfs_rt_json};
use lineside_validate::Notices;
use lineside_validate::rules::gtfs_rt::{
    MessageWithContext, RealtimeRuleScope, validate_realtime_message,
};
use lineside_validate::rules::{self, ValidatorFault};

use super::decoded_check::{DecodedFormat, DecodedInput, InspectionResult, check_decoded};
use super::plan_schedule::{add_stop_outline, read_timetable};
use super::{
    CheckFinding, CheckPlan, CheckReadProgress, CheckReport, LatLon, SourceRow, codes_with_samples,
    gtfs_rt_rows_of_findings, sample_points_evenly,
};

/// The parts of a check that only GTFS-Realtime has.
static GTFS_RT: DecodedFormat = DecodedFormat {
    format: Format::GtfsRt,
    inspect: inspect_message,
    check_references: check_with_references,
    find_rows: find_entities,
    line_field: "line",
};

pub(super) fn check_gtfs_rt(
    body: &Bytes,
    plan: CheckPlan,
    progress: &CheckReadProgress,
    elapsed: &dyn Fn() -> f64,
) -> Result<CheckReport, String> {
    check_decoded(&GTFS_RT, body, plan, progress, elapsed)
}

/// Decodes a message. The rules run later, because they need the schedule.
fn inspect_message(
    input: &DecodedInput<'_>,
    _notices: &mut Notices,
) -> Result<InspectionResult, String> {
    let (message, problems) = decode_message(input.body).map_err(|error| error.to_string())?;
    let count = |is: fn(&gtfs_rt::proto::FeedEntity) -> bool| {
        message.entity.iter().filter(|entity| is(entity)).count() as u64
    };
    let counts = vec![
        ("trip updates", count(|entity| entity.trip_update.is_some())),
        ("vehicles", count(|entity| entity.vehicle.is_some())),
        ("alerts", count(|entity| entity.alert.is_some())),
    ];
    let vehicle_coordinates = message.entity.iter().filter_map(|entity| entity.vehicle.as_ref());
    let vehicle_coordinates = vehicle_coordinates.filter_map(|vehicle| vehicle.position.as_ref());
    let outline = sample_points_evenly(
        vehicle_coordinates.map(|it| (Some(f64::from(it.latitude)), Some(f64::from(it.longitude)))),
    );
    Ok(InspectionResult { problems, counts, outline, ..InspectionResult::default() })
}

/// Validates a GTFS-Realtime message: with its schedule by all rules, otherwise by those that need none. The stops of
/// the schedule become the outline.
fn check_with_references(
    input: &DecodedInput<'_>,
    notices: &mut Notices,
    outline: &mut Vec<LatLon>,
) -> Result<Vec<ValidatorFault>, String> {
    let DecodedInput { body, plan, context, stop, .. } = *input;
    let timetable = read_timetable(plan, context, stop)?;
    add_stop_outline(&timetable, outline);
    let before = plan.previous.as_ref().map(decode_message).transpose();
    let message = decode_message(body).map_err(|error| error.to_string())?.0;
    let previous = before.map_err(|error| format!("the previous message: {error}"))?;
    let scope =
        RealtimeRuleScope { has_schedule: plan.schedule.is_some(), ..RealtimeRuleScope::default() };
    let subject = MessageWithContext::new(&message, &timetable, plan.now).with_rule_scope(scope);
    let subject = subject.with_previous_message(previous.as_ref().map(|(message, _)| message));
    let errors = validate_realtime_message(&subject, context, notices);
    rules::gtfs_rt::validate_schedule_for_realtime(&timetable, notices);
    Ok(errors)
}

fn find_entities(input: &DecodedInput<'_>, found: &[CheckFinding]) -> Vec<SourceRow> {
    match decode_message(input.body) {
        Ok((message, _)) => gtfs_rt_rows_of_findings(&message, codes_with_samples(found)),
        Err(_) => Vec::new(),
    }
}

fn decode_message(body: &Bytes) -> Result<(gtfs_rt::proto::FeedMessage, Problems), Error> {
    let limits = gtfs_rt::FeedMessageLimits::default();
    if is_gtfs_rt_json(body) {
        gtfs_rt::decode_json(body, &limits)
    } else {
        gtfs_rt::decode_feed_message(body.clone(), &limits)
    }
}
