//! Namespaces: the channels that belong to nobody but the operator, `app/…`, and what holds for them.
//!
//! Such a channel has no state. Its room is a log that counts by itself: a reader begins at its present top,
//! and one that the log has overtaken is told so by the end of its subscription. The room's key is made here
//! from the name, so whoever owns the records knows nothing of these channels.
//!
//! Beside them there are rooms that nobody can name, for what is said around a channel and not in it: who
//! came and went there, and what concerns a user's sessions.

mod publish;

use std::hash::Hasher;
use std::time::Duration;

pub use self::publish::{PublishError, PublishOutcome};

use crate::{Channel, RoomKey};

/// What the names of an operator's channels begin with.
pub const APP_PREFIX: &str = "app/";

/// A kind that sources leave to the hub, like the others from [`KINDS_OF_HUB`] on.
const KIND_APP: u8 = 255;
const KIND_MEMBERS: u8 = 254;
const KIND_USER: u8 = 253;

/// From here on kinds of rooms in group 0 are the hub's own: a source resolves to lower ones only.
pub const KINDS_OF_HUB: u8 = KIND_USER;

/// Before the channel's name in the name of the room of its comings and goings. No name from outside has
/// a colon.
const MEMBERS_OF: &str = "members:";
const USER: &str = "user:";

/// What holds for the channels whose names begin alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// What the names begin with; `app/` itself is the namespace of all that no longer prefix names.
    pub prefix: String,
    /// How much can be asked for again. Without it a channel lives while somebody listens.
    pub history: Option<HistoryOptions>,
    /// Whether it can be asked who is there.
    pub presence: bool,
    /// Whether subscribers are told who comes and goes.
    pub join_leave: bool,
    /// Who may subscribe without a token for the channel.
    pub subscribe: AccessPolicy,
    /// Who of the clients may publish.
    pub publish: AccessPolicy,
}

/// How much of a channel is kept for who asks later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryOptions {
    /// Most publications; at least 1.
    pub size: usize,
    /// How long each is kept.
    pub ttl: Duration,
}

/// Who may do something without being named for it.
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
    /// Whether a connection may; `user` is empty where no token names one.
    pub fn allows_user(self, user: &str) -> bool {
        match self {
            Self::Anyone => true,
            Self::Users => !user.is_empty(),
            Self::Nobody => false,
        }
    }
}

impl Default for Namespace {
    /// What holds for every `app/…` that nothing is said of: anyone may listen, and nothing is kept.
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

/// All namespaces, and the keys of the rooms of their channels.
#[derive(Debug)]
pub(crate) struct NamespaceIndex {
    /// Longest prefix first; the last one holds for every `app/…`.
    by_length: Vec<Namespace>,
    /// Without it a key cannot be guessed, nor two names with one key be found.
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

    /// Cost: one comparison per namespace.
    pub(crate) fn find_namespace(&self, channel: &Channel) -> Option<&Namespace> {
        let name = channel.as_str();
        if !name.starts_with(APP_PREFIX) {
            return None;
        }
        self.by_length.iter().find(|namespace| name.starts_with(&*namespace.prefix))
    }

    /// The room of a channel of the hub's own; `None` for those of the source.
    pub(crate) fn room_key(&self, channel: &Channel) -> Option<RoomKey> {
        let name = channel.as_str();
        let kind = if name.starts_with(APP_PREFIX) {
            KIND_APP
        } else if name.starts_with(MEMBERS_OF) {
            KIND_MEMBERS
        } else if name.starts_with(USER) {
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
    /// Whether its channel is one of a source, with a state that can be read again.
    pub(crate) fn has_state(self) -> bool {
        self.group != 0 || self.kind < KINDS_OF_HUB
    }

    /// Whether nobody can name its channel: it is heard beside another, and no position in it is told.
    pub(crate) fn is_hidden(self) -> bool {
        self.group == 0 && (self.kind == KIND_MEMBERS || self.kind == KIND_USER)
    }
}

impl Channel {
    /// Where is said who comes to this channel and who leaves it.
    pub(crate) fn members_channel(&self) -> Self {
        Self::new_hidden(MEMBERS_OF, self.as_str())
    }

    /// Where is said what concerns all sessions of a user.
    pub(crate) fn for_user(user: &str) -> Self {
        Self::new_hidden(USER, user)
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

    fn channel(name: &str) -> Channel {
        Channel::parse_name(name).expect("a channel")
    }

    #[test]
    fn the_longest_prefix_holds() {
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
    fn what_cannot_be_named_has_another_room_than_what_can() {
        let namespaces = namespaces(&[]);
        let chat = channel("app/chat");
        let keys = [&chat, &chat.members_channel(), &Channel::for_user("app/chat")]
            .map(|channel| namespaces.room_key(channel).expect("the hub's own"));
        assert!(keys[0] != keys[1] && keys[1] != keys[2] && keys[0] != keys[2]);
        assert!(!keys[0].is_hidden() && keys[1].is_hidden() && keys[2].is_hidden());
        assert!(Channel::parse_name(chat.members_channel().as_str()).is_err());
        assert_eq!(namespaces.room_key(&channel("feed/city")), None);
    }
}
