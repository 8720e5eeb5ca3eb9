//! Rules over SIRI 2.0 and 2.1 messages: estimated timetables, vehicle monitoring, stop monitoring and situation
//! exchange, with one page for each kind of notice.
//!
//! The decoder reports unreadable elements, and no rule treats them as missing. The rules check the decoded data for
//! elements that the schema requires and the decoder does not, for impossible times, and for useless records. The clock
//! is the message's own: a recorded message is judged as of the day on which it was sent.

mod answers;
mod calls;
mod journeys;
mod kinds;
mod delivery_check;
mod situations;

use std::panic::{AssertUnwindSafe, catch_unwind};

use lineside_formats::siri::{CommonDeliveryFields, ServiceDelivery, SiriMessage};

use self::delivery_check::SiriDeliveryCheck;
use super::{ValidationOutcome, ValidatorFault, panic_message, time_limit::CallbackTimeLimit};
use crate::notice::{NoticeKind, Notices};

const ESTIMATED: &str = "EstimatedTimetable";
const VEHICLES: &str = "VehicleMonitoring";
const VISITS: &str = "StopMonitoring";
const SITUATIONS: &str = "SituationExchange";

/// Returns all kinds of notices about a message.
pub fn siri_notice_kinds() -> impl Iterator<Item = &'static NoticeKind> {
    kinds::KINDS.iter().copied()
}

/// Validates a message. Returns the validator's own faults, such as a check that panics, apart from the notices.
pub fn validate_siri_message(message: &SiriMessage, notices: &mut Notices) -> Vec<ValidatorFault> {
    validate_siri_while(message, notices, &|| true).errors
}

/// Validates a message while there is time. Calls `should_continue` before every 64th journey, vehicle, visit or
/// situation, and stops once it returns false.
pub fn validate_siri_while(
    message: &SiriMessage,
    notices: &mut Notices,
    should_continue: &dyn Fn() -> bool,
) -> ValidationOutcome {
    let time_limit = CallbackTimeLimit::new(should_continue);
    let mut errors = Vec::new();
    answers::report_refusals_and_empty_messages(message, notices);
    for delivery in message.service_deliveries() {
        let result = catch_unwind(AssertUnwindSafe(|| {
            check_service_delivery(delivery, &time_limit, notices)
        }));
        if let Err(panic) = result {
            errors.push(ValidatorFault { rule: "siri", message: panic_message(&*panic) });
        }
    }
    ValidationOutcome { errors, is_cut_short: time_limit.was_time_limit_reached() }
}

fn check_service_delivery(
    delivery: &ServiceDelivery,
    time_limit: &CallbackTimeLimit<'_>,
    out: &mut Notices,
) {
    for one in &delivery.estimated_timetables {
        let mut check =
            check_common_delivery_elements((ESTIMATED, &one.head), delivery, time_limit, out);
        journeys::check_estimated_timetable(&mut check, one);
    }
    for one in &delivery.vehicle_monitorings {
        let mut check =
            check_common_delivery_elements((VEHICLES, &one.head), delivery, time_limit, out);
        journeys::check_vehicle_activities(&mut check, one);
    }
    for one in &delivery.stop_monitorings {
        let mut check =
            check_common_delivery_elements((VISITS, &one.head), delivery, time_limit, out);
        journeys::check_stop_visits(&mut check, one);
    }
    for one in &delivery.situation_exchanges {
        let mut check =
            check_common_delivery_elements((SITUATIONS, &one.head), delivery, time_limit, out);
        situations::check_situations(&mut check, one);
    }
}

/// Starts the check of a delivery with the elements that all services share.
fn check_common_delivery_elements<'a>(
    (name, head): (&'static str, &CommonDeliveryFields),
    delivery: &ServiceDelivery,
    time_limit: &'a CallbackTimeLimit<'a>,
    out: &'a mut Notices,
) -> SiriDeliveryCheck<'a> {
    let created_at = head.response_timestamp.or(delivery.response_timestamp);
    let mut check = SiriDeliveryCheck::new(name, created_at, time_limit, out);
    let is_there = created_at.is_some() || head.unread.has_unreadable_element("ResponseTimestamp");
    check.report_element_unless_present(is_there, &delivery.unread, None, "ResponseTimestamp");
    check.report_if_expired(head.valid_until, None, "ValidUntil");
    check
}
