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
}
