//! What a producer says of a subscription, besides what it brings.

use lineside_formats::siri::{Message, Payload, Time};
use smol_str::SmolStr;

/// What a producer says besides its news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::poll) enum Word {
    /// It goes on, and has been up since then.
    Alive(Option<Time>),
    /// The subscription is over.
    Over,
    /// There is something to be fetched.
    Ready,
    /// Another one is over, such as one of an earlier configuration or of another server that goes by the same name.
    OtherOver,
}

impl Word {
    /// What is said besides news to whom subscribes by these names; none where nothing is said of a subscription.
    pub(in crate::poll::siri) fn of(message: &Message, names: &[SmolStr]) -> Option<Word> {
        message.payloads.iter().find_map(|payload| match payload {
            Payload::HeartbeatNotification(it) if it.status == Some(false) => Some(Word::Over),
            Payload::HeartbeatNotification(it) => Some(Word::Alive(it.service_started_time)),
            Payload::SubscriptionTerminatedNotification(it) => {
                let over = &it.subscription_refs;
                let is_ours = over.is_empty() || over.iter().any(|name| names.contains(name));
                Some(if is_ours { Word::Over } else { Word::OtherOver })
            }
            Payload::DataReadyNotification(_) => Some(Word::Ready),
            _ => None,
        })
    }

    /// What is said to whom asks whether the producer is there; none where that is not said.
    pub(super) fn of_check(message: &Message) -> Option<Word> {
        message.payloads.iter().find_map(|payload| match payload {
            Payload::CheckStatusResponse(it) if it.status == Some(false) => Some(Word::Over),
            Payload::CheckStatusResponse(it) => Some(Word::Alive(it.service_started_time)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use lineside_formats::siri::{self, Limits};

    use super::*;

    fn message(inside: &str) -> Message {
        let body = format!("<Siri xmlns=\"http://www.siri.org.uk/siri\">{inside}</Siri>");
        siri::decode(body.as_bytes(), &TimeZone::UTC, &Limits::default()).unwrap().0
    }

    fn word(inside: &str) -> Option<Word> {
        Word::of(&message(inside), &["lineside-a-et".into(), "lineside-a-vm".into()])
    }

    fn beat(inside: &str) -> Option<Word> {
        word(&format!("<HeartbeatNotification>{inside}</HeartbeatNotification>"))
    }

    #[test]
    fn words_are_told_from_news() {
        assert_eq!(beat("<Status>true</Status>"), Some(Word::Alive(None)));
        assert_eq!(beat("<Status>false</Status>"), Some(Word::Over));
        let started = "<ServiceStartedTime>2026-11-21T13:00:00Z</ServiceStartedTime>";
        assert_eq!(beat(started), Some(Word::Alive(Time::from_millis(1_795_266_000_000))));
        let over = "<SubscriptionTerminatedNotification></SubscriptionTerminatedNotification>";
        assert_eq!(word(over), Some(Word::Over));
        let ready = "<DataReadyNotification></DataReadyNotification>";
        assert_eq!(word(ready), Some(Word::Ready));
        for (names, expected) in [
            (["lineside-b-et", "lineside-a-vm"], Word::Over),
            (["lineside-b-et", "lineside-a"], Word::OtherOver),
        ] {
            let names = names.map(|name| format!("<SubscriptionRef>{name}</SubscriptionRef>"));
            let over = over.replace("><", &format!(">{}<", names.concat()));
            assert_eq!(word(&over), Some(expected), "{over}");
        }
        assert_eq!(word("<ServiceDelivery></ServiceDelivery>"), None);
    }

    #[test]
    fn a_status_says_whether_a_producer_is_there_and_since_when() {
        let check = |inside: &str| {
            let status = format!("<CheckStatusResponse>{inside}</CheckStatusResponse>");
            Word::of_check(&message(&status))
        };
        let started = "<ServiceStartedTime>2026-11-21T13:00:00Z</ServiceStartedTime>";
        let since = Time::from_millis(1_795_266_000_000);
        assert_eq!(check(""), Some(Word::Alive(None)));
        assert_eq!(check(&format!("<Status>true</Status>{started}")), Some(Word::Alive(since)));
        assert_eq!(check(&format!("<Status>false</Status>{started}")), Some(Word::Over));
        assert_eq!(Word::of_check(&message("<SubscriptionResponse></SubscriptionResponse>")), None);
    }
}
