//! Events of a subscription in a producer's messages, besides data.

use lineside_formats::siri::{MessagePayload, SiriMessage, SiriTime};
use smol_str::SmolStr;

/// An event of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::poll) enum ProducerNotification {
    /// The producer is running, since this time.
    Alive(Option<SiriTime>),
    /// The subscription has ended.
    Ended,
    /// Data are available to be fetched.
    DataReady,
    /// Another subscription has ended, such as one of an earlier configuration or of another server with the same name.
    OtherEnded,
}

impl ProducerNotification {
    /// Returns the event in a message for a subscriber with these names; `None` if there is none.
    pub(in crate::poll::protocols::siri) fn from_message(
        message: &SiriMessage,
        names: &[SmolStr],
    ) -> Option<ProducerNotification> {
        message.payloads.iter().find_map(|payload| match payload {
            MessagePayload::HeartbeatNotification(it) if it.status == Some(false) => {
                Some(ProducerNotification::Ended)
            }
            MessagePayload::HeartbeatNotification(it) => {
                Some(ProducerNotification::Alive(it.service_started_time))
            }
            MessagePayload::SubscriptionTerminatedNotification(it) => {
                let ended_subscriptions = &it.subscription_refs;
                let is_ours = ended_subscriptions.is_empty()
                    || ended_subscriptions.iter().any(|name| names.contains(name));
                Some(if is_ours {
                    ProducerNotification::Ended
                } else {
                    ProducerNotification::OtherEnded
                })
            }
            MessagePayload::DataReadyNotification(_) => Some(ProducerNotification::DataReady),
            _ => None,
        })
    }

    /// Returns the event in an answer to CheckStatus; `None` if there is none.
    pub(super) fn from_check_status(message: &SiriMessage) -> Option<ProducerNotification> {
        message.payloads.iter().find_map(|payload| match payload {
            MessagePayload::CheckStatusResponse(it) if it.status == Some(false) => {
                Some(ProducerNotification::Ended)
            }
            MessagePayload::CheckStatusResponse(it) => {
                Some(ProducerNotification::Alive(it.service_started_time))
            }
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use lineside_formats::siri::{self, MessageLimits};

    use super::*;

    fn message(inside: &str) -> SiriMessage {
        let body = format!("<Siri xmlns=\"http://www.siri.org.uk/siri\">{inside}</Siri>");
        siri::decode_siri_message(body.as_bytes(), &TimeZone::UTC, &MessageLimits::default())
            .unwrap()
            .0
    }

    fn parse_event(inside: &str) -> Option<ProducerNotification> {
        ProducerNotification::from_message(
            &message(inside),
            &["lineside-a-et".into(), "lineside-a-vm".into()],
        )
    }

    fn beat(inside: &str) -> Option<ProducerNotification> {
        parse_event(&format!("<HeartbeatNotification>{inside}</HeartbeatNotification>"))
    }

    #[test]
    fn notifications_are_distinguished_from_deliveries() {
        assert_eq!(beat("<Status>true</Status>"), Some(ProducerNotification::Alive(None)));
        assert_eq!(beat("<Status>false</Status>"), Some(ProducerNotification::Ended));
        let started = "<ServiceStartedTime>2026-11-21T13:00:00Z</ServiceStartedTime>";
        assert_eq!(
            beat(started),
            Some(ProducerNotification::Alive(SiriTime::from_millis(1_795_266_000_000)))
        );
        let terminated_xml =
            "<SubscriptionTerminatedNotification></SubscriptionTerminatedNotification>";
        assert_eq!(parse_event(terminated_xml), Some(ProducerNotification::Ended));
        let ready = "<DataReadyNotification></DataReadyNotification>";
        assert_eq!(parse_event(ready), Some(ProducerNotification::DataReady));
        for (names, expected) in [
            (["lineside-b-et", "lineside-a-vm"], ProducerNotification::Ended),
            (["lineside-b-et", "lineside-a"], ProducerNotification::OtherEnded),
        ] {
            let names = names.map(|name| format!("<SubscriptionRef>{name}</SubscriptionRef>"));
            let terminated_xml = terminated_xml.replace("><", &format!(">{}<", names.concat()));
            assert_eq!(parse_event(&terminated_xml), Some(expected), "{terminated_xml}");
        }
        assert_eq!(parse_event("<ServiceDelivery></ServiceDelivery>"), None);
    }

    #[test]
    fn a_check_status_answer_has_the_status_and_start_time() {
        let check = |inside: &str| {
            let status = format!("<CheckStatusResponse>{inside}</CheckStatusResponse>");
            ProducerNotification::from_check_status(&message(&status))
        };
        let started = "<ServiceStartedTime>2026-11-21T13:00:00Z</ServiceStartedTime>";
        let since = SiriTime::from_millis(1_795_266_000_000);
        assert_eq!(check(""), Some(ProducerNotification::Alive(None)));
        assert_eq!(
            check(&format!("<Status>true</Status>{started}")),
            Some(ProducerNotification::Alive(since))
        );
        assert_eq!(
            check(&format!("<Status>false</Status>{started}")),
            Some(ProducerNotification::Ended)
        );
        assert_eq!(
            ProducerNotification::from_check_status(&message(
                "<SubscriptionResponse></SubscriptionResponse>"
            )),
            None
        );
    }
}
