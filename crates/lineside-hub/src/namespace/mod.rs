//! Namespaces: the operator's own channels, `app/…`, and their options.
//!
//! Such a channel has no state. Its room is a log with its own sequence: a reader starts at the current top, and the
//! subscription of a reader that the log has overtaken ends. The hub derives the room's key from the name, so the
//! owner of the records knows nothing of these channels.
//!
//! There are also hidden rooms, whose names no client can spell, for messages about a channel: its joins and leaves,
//! and orders for a user's sessions.

mod publish;

use std::hash::Hasher;
use std::time::Duration;

pub use self::publish::{PublishError, PublishOutcome};

use crate::{EncodedChannelName, RoomKey};

/// The prefix of the names of an operator's channels.
pub const APP_PREFIX: &str = "app/";

/// A kind of the hub's own rooms, like the others from [`KINDS_OF_HUB`] on.
const KIND_APP: u8 = 255;
const KIND_MEMBERS: u8 = 254;
const KIND_USER: u8 = 253;

/// The first of the kinds of the hub's own rooms in group 0: a source resolves to lower kinds only.
pub const KINDS_OF_HUB: u8 = KIND_USER;

/// The prefix in the name of the room with a channel's joins and leaves. Names from clients contain no colon.
const MEMBERS_PREFIX: &str = "members:";
const USER_PREFIX: &str = "user:";

/// The options of the channels with one name prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// The prefix; `app/` itself is the namespace of all channels without a longer matching prefix.
    pub prefix: String,
    /// The limits of the history. Without history a channel exists only while it has listeners.
    pub history: Option<HistoryOptions>,
    /// True if the present subscribers can be queried.
    pub presence: bool,
    /// True if subscribers get joins and leaves.
    pub join_leave: bool,
    /// The connections that may subscribe without a token for the channel.
    pub subscribe: AccessPolicy,
    /// The clients that may publish.
    pub publish: AccessPolicy,
}

/// The limits of a channel's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryOptions {
    /// The largest number of publications; at least 1.
    pub size: usize,
    /// The time that each publication is retained.
    pub ttl: Duration,
}

/// The connections that may do something without an explicit permission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessPolicy {
    /// Every connection.
    Anyone,
    /// Connections whose token names a user.
    Users,
    /// No connection.
    #[default]
    Nobody,
}

impl AccessPolicy {
    /// Returns true if a connection has access; `user` is empty if no token names one.
    pub fn allows_user(self, user: &str) -> bool {
        match self {
            Self::Anyone => true,
            Self::Users => !user.is_empty(),
            Self::Nobody => false,
        }
    }
}

impl Default for Namespace {
    /// Returns the options of every `app/…` channel without a configured namespace: anyone may subscribe, and there is
    /// no history.
    fn default() -> Self {
        Self {
            prefix: APP_PREFIX.to_owned(),
            history: None,
            presence: false,
            join_leave: false,
            subscribe: AccessPolicy::Anyone,
            publish: AccessPolicy::Nobody,
        }
    }
}

/// All namespaces, and the keys of their channels' rooms.
#[derive(Debug)]
pub(crate) struct NamespaceIndex {
    /// The namespaces, longest prefix first; the last one matches every `app/…`.
    by_length: Vec<Namespace>,
    /// Makes keys unpredictable, so that no client can find two names with the same key.
    seed: u64,
}

impl NamespaceIndex {
    pub(crate) fn new(namespaces: &[Namespace], seed: u64) -> Self {
        let mut by_length = namespaces.to_vec();
        if !by_length.iter().any(|namespace| namespace.prefix == APP_PREFIX) {
            by_length.push(Namespace::default());
        }
        by_length.sort_by_key(|namespace| std::cmp::Reverse(namespace.prefix.len()));
        Self { by_length, seed }
    }

    /// Returns the namespace of an `app/…` channel. Cost: one comparison per namespace.
    pub(crate) fn find_namespace(&self, channel: &EncodedChannelName) -> Option<&Namespace> {
        let name = channel.as_str();
        if !name.starts_with(APP_PREFIX) {
            return None;
        }
        self.by_length.iter().find(|namespace| name.starts_with(&*namespace.prefix))
    }

    /// Returns the room key of one of the hub's own channels; `None` for channels of the source.
    pub(crate) fn room_key_of_hub_channel(&self, channel: &EncodedChannelName) -> Option<RoomKey> {
        let name = channel.as_str();
        let kind = if name.starts_with(APP_PREFIX) {
            KIND_APP
        } else if name.starts_with(MEMBERS_PREFIX) {
            KIND_MEMBERS
        } else if name.starts_with(USER_PREFIX) {
            KIND_USER
        } else {
            return None;
        };
        let mut hasher = std::hash::DefaultHasher::new();
        hasher.write_u64(self.seed);
        hasher.write(name.as_bytes());
        Some(RoomKey { group: 0, kind, id: hasher.finish() })
    }
}

impl RoomKey {
    /// Returns true if the channel belongs to a source, with a state that can be read again.
    pub(crate) fn has_source_state(self) -> bool {
        self.group != 0 || self.kind < KINDS_OF_HUB
    }

    /// Returns true if no client can name the channel: a session hears it together with another, and its positions are
    /// not sent.
    pub(crate) fn is_hidden_from_clients(self) -> bool {
        self.group == 0 && (self.kind == KIND_MEMBERS || self.kind == KIND_USER)
    }
}

impl EncodedChannelName {
    /// Returns the hidden channel with the joins and leaves of this channel.
    pub(crate) fn joins_and_leaves_channel(&self) -> Self {
        Self::new_internal_name(MEMBERS_PREFIX, self.as_str())
    }

    /// Returns the hidden channel with the orders for all sessions of a user.
    pub(crate) fn user_orders_channel(user: &str) -> Self {
        Self::new_internal_name(USER_PREFIX, user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn namespaces(prefixes: &[&str]) -> NamespaceIndex {
        let named =
            |prefix: &&str| Namespace { prefix: (*prefix).to_owned(), ..Default::default() };
        NamespaceIndex::new(&prefixes.iter().map(named).collect::<Vec<_>>(), 7)
    }

    fn channel(name: &str) -> EncodedChannelName {
        EncodedChannelName::parse_channel_name(name).expect("a channel")
    }

    #[test]
    fn the_namespace_with_the_longest_prefix_applies() {
        let namespaces = namespaces(&["app/chat/", "app/chat/private-"]);
        for (name, prefix) in [
            ("app/chat/private-1", "app/chat/private-"),
            ("app/chat/1", "app/chat/"),
            ("app/chatter", "app/"),
        ] {
            let found =
                namespaces.find_namespace(&channel(name)).map(|namespace| &*namespace.prefix);
            assert_eq!(found, Some(prefix), "{name}");
        }
        assert_eq!(namespaces.find_namespace(&channel("feed/city")), None);
        assert_eq!(namespaces.find_namespace(&channel("apple/x")), None);
    }

    #[test]
    fn hidden_channels_have_separate_rooms() {
        let namespaces = namespaces(&[]);
        let chat = channel("app/chat");
        let keys = [
            &chat,
            &chat.joins_and_leaves_channel(),
            &EncodedChannelName::user_orders_channel("app/chat"),
        ]
        .map(|channel| namespaces.room_key_of_hub_channel(channel).expect("the hub's own"));
        assert!(keys[0] != keys[1] && keys[1] != keys[2] && keys[0] != keys[2]);
        assert!(
            !keys[0].is_hidden_from_clients()
                && keys[1].is_hidden_from_clients()
                && keys[2].is_hidden_from_clients()
        );
        assert!(
            EncodedChannelName::parse_channel_name(chat.joins_and_leaves_channel().as_str())
                .is_err()
        );
        assert_eq!(namespaces.room_key_of_hub_channel(&channel("feed/city")), None);
    }
}
