//! Checks of refusals, and of messages without deliveries.

use lineside_formats::siri::{ErrorCondition, MessagePayload, ServiceDelivery, SiriMessage};

use super::{ESTIMATED, SITUATIONS, VEHICLES, VISITS, kinds};
use crate::notice::Notices;

/// Checks the kind of a message before its contents.
pub(super) fn report_refusals_and_empty_messages(message: &SiriMessage, out: &mut Notices) {
    let mut others = message.payloads.iter();
    if let Some(fault) = others.find_map(|payload| match payload {
        MessagePayload::Fault(fault) => Some(fault),
        _ => None,
    }) {
        let reason = fault.reason.as_deref().or(fault.code.as_deref());
        out.count_notice_with_sample(&kinds::REFUSED, |sample| {
            _ = sample.set_field("reason", reason)
        });
    } else if message.service_deliveries().next().is_none() {
        let payload = message.payloads.first().map(payload_name);
        out.count_notice_with_sample(&kinds::NO_DELIVERY, |sample| {
            _ = sample.set_field("payload", payload)
        });
    }
    for delivery in message.service_deliveries() {
        report_refused_deliveries(delivery, out);
    }
}

fn report_refused_deliveries(delivery: &ServiceDelivery, out: &mut Notices) {
    if delivery.status == Some(false) {
        report_failed_delivery("all", error_description(delivery.error_condition.as_ref()), out);
    }
    let estimated = delivery.estimated_timetables.iter().map(|it| (ESTIMATED, &it.head));
    let vehicles = delivery.vehicle_monitorings.iter().map(|it| (VEHICLES, &it.head));
    let visits = delivery.stop_monitorings.iter().map(|it| (VISITS, &it.head));
    let situations = delivery.situation_exchanges.iter().map(|it| (SITUATIONS, &it.head));
    for (name, head) in estimated.chain(vehicles).chain(visits).chain(situations) {
        if head.status == Some(false) {
            report_failed_delivery(name, error_description(head.error_condition.as_ref()), out);
        }
    }
}

fn report_failed_delivery(delivery: &str, reason: Option<&str>, out: &mut Notices) {
    out.count_notice_with_sample(&kinds::FAILED, |sample| {
        sample.set_field("delivery", delivery).set_field("reason", reason);
    });
}

fn error_description(condition: Option<&ErrorCondition>) -> Option<&str> {
    let ErrorCondition { kind, text, description, .. } = condition?;
    description.as_deref().or(text.as_deref()).or(kind.as_deref())
}

/// Returns the name of a payload that is not a delivery.
fn payload_name(payload: &MessagePayload) -> &'static str {
    match payload {
        MessagePayload::CheckStatusRequest(_) => "CheckStatusRequest",
        MessagePayload::CheckStatusResponse(_) => "CheckStatusResponse",
        MessagePayload::HeartbeatNotification(_) => "HeartbeatNotification",
        MessagePayload::SubscriptionResponse(_) => "SubscriptionResponse",
        MessagePayload::DataReadyNotification(_) => "DataReadyNotification",
        _ => "another message",
    }
}
