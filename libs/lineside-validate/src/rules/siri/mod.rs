//! The rules over SIRI messages of 2.0 and 2.1: estimated timetables, vehicle monitoring, stop monitoring and situation
//! exchange, with one page for each kind of notice.
//!
//! What a message cannot be read for, its decoder tells, and no rule takes that for missing. The rules look at what was read: what the schema asks for and
//! the decoder can do without, what cannot be in a world in which time goes on, and what helps nobody. The clock is the
//! message's own: a recorded message is judged as on the day on which it was sent.

mod answers;
mod calls;
mod journeys;
mod kinds;
mod delivery_check;
mod situations;

use std::panic::{AssertUnwindSafe, catch_unwind};

use lineside_formats::siri::{DeliveryHead, ServiceDelivery, SiriMessage};

use self::delivery_check::DeliveryCheck;
use super::{SystemError, ValidationOutcome, panic_message, time_limit::TimeLimit};
use crate::notice::{NoticeKind, Notices};

const ESTIMATED: &str = "EstimatedTimetable";
const VEHICLES: &str = "VehicleMonitoring";
const VISITS: &str = "StopMonitoring";
const SITUATIONS: &str = "SituationExchange";

/// All kinds of notices that a message may get.
pub fn notice_kinds() -> impl Iterator<Item = &'static NoticeKind> {
    kinds::KINDS.iter().copied()
}

/// Looks at a message. A look that breaks off is told apart from what the message gets wrong.
pub fn validate_message(message: &SiriMessage, notices: &mut Notices) -> Vec<SystemError> {
    validate_while(message, notices, &|| true).errors
}

/// The same for as long as there is time: `goes_on` is asked before every 64th journey, vehicle, visit or situation, and
/// once it says no, the rest is left out.
pub fn validate_while(
    message: &SiriMessage,
    notices: &mut Notices,
    goes_on: &dyn Fn() -> bool,
) -> ValidationOutcome {
    let patience = TimeLimit::new(goes_on);
    let mut errors = Vec::new();
    answers::check_message_payload(message, notices);
    for delivery in message.deliveries() {
        let looked =
            catch_unwind(AssertUnwindSafe(|| check_service_delivery(delivery, &patience, notices)));
        if let Err(panic) = looked {
            errors.push(SystemError { rule: "siri", message: panic_message(&*panic) });
        }
    }
    ValidationOutcome { errors, is_cut_short: patience.was_exceeded() }
}

fn check_service_delivery(delivery: &ServiceDelivery, patience: &TimeLimit<'_>, out: &mut Notices) {
    for one in &delivery.estimated_timetables {
        let mut look = begin_delivery_check((ESTIMATED, &one.head), delivery, patience, out);
        journeys::check_estimated_timetable(&mut look, one);
    }
    for one in &delivery.vehicle_monitorings {
        let mut look = begin_delivery_check((VEHICLES, &one.head), delivery, patience, out);
        journeys::check_vehicle_activities(&mut look, one);
    }
    for one in &delivery.stop_monitorings {
        let mut look = begin_delivery_check((VISITS, &one.head), delivery, patience, out);
        journeys::check_stop_visits(&mut look, one);
    }
    for one in &delivery.situation_exchanges {
        let mut look = begin_delivery_check((SITUATIONS, &one.head), delivery, patience, out);
        situations::check_situations(&mut look, one);
    }
}

/// Begins with what deliveries of all services have.
fn begin_delivery_check<'a>(
    (name, head): (&'static str, &DeliveryHead),
    delivery: &ServiceDelivery,
    patience: &'a TimeLimit<'a>,
    out: &'a mut Notices,
) -> DeliveryCheck<'a> {
    let made = head.response_timestamp.or(delivery.response_timestamp);
    let mut look = DeliveryCheck::new(name, made, patience, out);
    let is_there = made.is_some() || head.unread.has_element("ResponseTimestamp");
    look.require_element(is_there, &delivery.unread, None, "ResponseTimestamp");
    look.check_not_expired(head.valid_until, None, "ValidUntil");
    look
}
