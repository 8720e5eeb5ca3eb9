//! Validates a SIRI message as the GTFS-Realtime message that a server converts it to, with the real-time rules for
//! servers.

use bytes::Bytes;
use lineside_formats::gtfs_rt::proto::FeedMessage;
use lineside_formats::siri;
use lineside_validate::rules::ValidatorFault;
use lineside_validate::rules::gtfs_rt::{
    MessageWithContext, RealtimeRuleScope, validate_realtime_message,
    validate_schedule_for_realtime,
};
use lineside_validate::{CancelToken, Notices, ValidationContext};

use super::plan_schedule::{add_stop_outline, read_timetable, schedule_error};
use super::{CheckPlan, LatLon};
use crate::convert::{SiriConversionSchedule, siri_to_gtfs_rt_via_state};

/// Returns true if the plan has a schedule or a previous message to validate against.
pub(super) fn has_schedule_or_previous_message(plan: &CheckPlan) -> bool {
    plan.schedule.is_some() || plan.previous.is_some()
}

/// Validates the converted message: with its schedule by all rules that apply, otherwise by those that need none.
pub(super) fn check_converted_siri_message(
    body: &Bytes,
    plan: &CheckPlan,
    stop: &CancelToken,
    (notices, outline): (&mut Notices, &mut Vec<LatLon>),
) -> Result<Vec<ValidatorFault>, String> {
    let context =
        ValidationContext { today: plan.today, country: plan.country, threads: plan.threads };
    let rows = read_timetable(plan, &context, stop)?;
    let schedule = plan
        .schedule
        .clone()
        .map(SiriConversionSchedule::from_zip)
        .transpose()
        .map_err(schedule_error)?;
    add_stop_outline(&rows, outline);
    let read = |body: &Bytes| convert_siri_message(body, plan, schedule.as_ref());
    let previous = plan.previous.as_ref().map(read).transpose();
    let previous = previous.map_err(|error| format!("the previous message: {error}"))?;
    let (message, has_visits) = read(body)?;
    let scope = RealtimeRuleScope {
        has_schedule: schedule.is_some(),
        is_translated: true,
        // Stop monitoring covers only the requested stops, so such a message is incomplete.
        is_whole: !has_visits,
        is_repeated: true,
    };
    let subject = MessageWithContext::new(&message, &rows, plan.now).with_rule_scope(scope);
    let subject = subject.with_previous_message(previous.as_ref().map(|(message, _)| message));
    let errors = validate_realtime_message(&subject, &context, notices);
    let mut schedule_notices = notices.new_empty_like();
    validate_schedule_for_realtime(&rows, &mut schedule_notices);
    schedule_notices.retain_notice_kinds(|kind| scope.applies_to_code(kind.code));
    notices.merge_notices(schedule_notices);
    Ok(errors)
}

/// Returns the converted message, and true if the SIRI message contains stop monitoring.
fn convert_siri_message(
    body: &Bytes,
    plan: &CheckPlan,
    schedule: Option<&SiriConversionSchedule>,
) -> Result<(FeedMessage, bool), String> {
    let zone = SiriConversionSchedule::schedule_time_zone_or_utc(schedule);
    let decoded = siri::decode_siri_message(body, &zone, &siri::MessageLimits::default());
    let (message, _) = decoded.map_err(|error| error.to_string())?;
    let has_visits = message.service_deliveries().any(|it| !it.stop_monitorings.is_empty());
    Ok((siri_to_gtfs_rt_via_state(&message, &plan.ids, schedule)?, has_visits))
}
