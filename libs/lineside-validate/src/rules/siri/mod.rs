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
mod look;
mod situations;

use std::panic::{AssertUnwindSafe, catch_unwind};

use lineside_formats::siri::{DeliveryHead, Message, ServiceDelivery};

use self::look::Look;
use super::{SystemError, Verdict, patience::Patience, words_of};
use crate::notice::{Kind, Notices};

const ESTIMATED: &str = "EstimatedTimetable";
const VEHICLES: &str = "VehicleMonitoring";
const VISITS: &str = "StopMonitoring";
const SITUATIONS: &str = "SituationExchange";

/// All kinds of notices that a message may get.
pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    kinds::KINDS.iter().copied()
}

/// Looks at a message. A look that breaks off is told apart from what the message gets wrong.
pub fn validate(message: &Message, notices: &mut Notices) -> Vec<SystemError> {
    validate_while(message, notices, &|| true).errors
}

/// The same for as long as there is time: `goes_on` is asked before every 64th journey, vehicle, visit or situation, and
/// once it says no, the rest is left out.
pub fn validate_while(
    message: &Message,
    notices: &mut Notices,
    goes_on: &dyn Fn() -> bool,
) -> Verdict {
    let patience = Patience::new(goes_on);
    let mut errors = Vec::new();
    answers::look(message, notices);
    for delivery in message.deliveries() {
        let looked = catch_unwind(AssertUnwindSafe(|| service(delivery, &patience, notices)));
        if let Err(panic) = looked {
            errors.push(SystemError { rule: "siri", message: words_of(&*panic) });
        }
    }
    Verdict { errors, is_cut_short: patience.is_over() }
}

fn service(delivery: &ServiceDelivery, patience: &Patience<'_>, out: &mut Notices) {
    for one in &delivery.estimated_timetables {
        let mut look = begin((ESTIMATED, &one.head), delivery, patience, out);
        journeys::estimated(&mut look, one);
    }
    for one in &delivery.vehicle_monitorings {
        let mut look = begin((VEHICLES, &one.head), delivery, patience, out);
        journeys::vehicles(&mut look, one);
    }
    for one in &delivery.stop_monitorings {
        let mut look = begin((VISITS, &one.head), delivery, patience, out);
        journeys::visits(&mut look, one);
    }
    for one in &delivery.situation_exchanges {
        let mut look = begin((SITUATIONS, &one.head), delivery, patience, out);
        situations::look(&mut look, one);
    }
}

/// Begins with what deliveries of all services have.
fn begin<'a>(
    (name, head): (&'static str, &DeliveryHead),
    delivery: &ServiceDelivery,
    patience: &'a Patience<'a>,
    out: &'a mut Notices,
) -> Look<'a> {
    let made = head.response_timestamp.or(delivery.response_timestamp);
    let mut look = Look::new(name, made, patience, out);
    let is_there = made.is_some() || head.unread.has("ResponseTimestamp");
    look.ask(is_there, &delivery.unread, None, "ResponseTimestamp");
    look.not_expired(head.valid_until, None, "ValidUntil");
    look
}
