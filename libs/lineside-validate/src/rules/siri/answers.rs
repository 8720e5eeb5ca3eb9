//! Answers that say no, and messages that bring no news.

use lineside_formats::siri::{ErrorCondition, Message, Payload, ServiceDelivery};

use super::{ESTIMATED, SITUATIONS, VEHICLES, VISITS, kinds};
use crate::notice::Notices;

/// Looks at what a message is, before what is in it.
pub(super) fn look(message: &Message, out: &mut Notices) {
    let mut others = message.payloads.iter();
    if let Some(fault) = others.find_map(|payload| match payload {
        Payload::Fault(fault) => Some(fault),
        _ => None,
    }) {
        let reason = fault.reason.as_deref().or(fault.code.as_deref());
        out.add(&kinds::REFUSED, |sample| _ = sample.put("reason", reason));
    } else if message.deliveries().next().is_none() {
        let payload = message.payloads.first().map(name_of);
        out.add(&kinds::NO_DELIVERY, |sample| _ = sample.put("payload", payload));
    }
    for delivery in message.deliveries() {
        service(delivery, out);
    }
}

fn service(delivery: &ServiceDelivery, out: &mut Notices) {
    if delivery.status == Some(false) {
        failed("all", words_of(delivery.error_condition.as_ref()), out);
    }
    let estimated = delivery.estimated_timetables.iter().map(|it| (ESTIMATED, &it.head));
    let vehicles = delivery.vehicle_monitorings.iter().map(|it| (VEHICLES, &it.head));
    let visits = delivery.stop_monitorings.iter().map(|it| (VISITS, &it.head));
    let situations = delivery.situation_exchanges.iter().map(|it| (SITUATIONS, &it.head));
    for (name, head) in estimated.chain(vehicles).chain(visits).chain(situations) {
        if head.status == Some(false) {
            failed(name, words_of(head.error_condition.as_ref()), out);
        }
    }
}

fn failed(delivery: &str, reason: Option<&str>, out: &mut Notices) {
    out.add(&kinds::FAILED, |sample| {
        sample.put("delivery", delivery).put("reason", reason);
    });
}

fn words_of(condition: Option<&ErrorCondition>) -> Option<&str> {
    let ErrorCondition { kind, text, description, .. } = condition?;
    description.as_deref().or(text.as_deref()).or(kind.as_deref())
}

/// What a message is that brings no news.
fn name_of(payload: &Payload) -> &'static str {
    match payload {
        Payload::CheckStatusRequest(_) => "CheckStatusRequest",
        Payload::CheckStatusResponse(_) => "CheckStatusResponse",
        Payload::HeartbeatNotification(_) => "HeartbeatNotification",
        Payload::SubscriptionResponse(_) => "SubscriptionResponse",
        Payload::DataReadyNotification(_) => "DataReadyNotification",
        _ => "another message",
    }
}
