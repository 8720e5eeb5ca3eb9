//! Opening a stream: from a request to subscriptions, or to an error.

use lineside_hub::{BadChannel, Channel, Hub, ResolveError, Session, SubscribeError};

use super::{CHANNELS_MAX, LastEventId};

/// The reason why a connection cannot be opened. The text names the channel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The request names no channel.
    #[error("the request names no channel; add one, for example ?channel=feed/city")]
    NoChannel,
    /// The request names more than [`CHANNELS_MAX`] channels.
    #[error("the request names too many channels; a connection may have at most {CHANNELS_MAX}")]
    TooManyChannels,
    /// A name is not a channel.
    #[error("invalid channel {name:?}: {why}")]
    BadChannel {
        /// The name, cut to a readable length.
        name: Box<str>,
        /// The reason.
        why: BadChannel,
    },
    /// There is no such feed.
    #[error("channel {name:?} names a feed that does not exist")]
    UnknownFeed {
        /// The channel.
        name: Box<str>,
    },
    /// The feed has nothing with this id.
    #[error("channel {name:?} names an id that its feed does not contain")]
    UnknownItem {
        /// The channel.
        name: Box<str>,
        /// The code of the refusal, such as `unknown_stop`.
        code: &'static str,
    },
    /// The node has its largest number of rooms; the client should retry later.
    #[error("this node has reached its limit of rooms; retry later")]
    Overloaded,
}

impl OpenError {
    /// Returns the `code` of the problem reply.
    pub fn problem_code(&self) -> &'static str {
        match self {
            Self::NoChannel | Self::BadChannel { .. } => "bad_channel",
            Self::TooManyChannels => "too_many_channels",
            Self::UnknownFeed { .. } => "unknown_feed",
            Self::UnknownItem { code, .. } => code,
            Self::Overloaded => "overloaded",
        }
    }

    /// Returns the HTTP status of the problem reply.
    pub fn http_status(&self) -> u16 {
        match self {
            Self::NoChannel | Self::BadChannel { .. } | Self::TooManyChannels => 400,
            Self::UnknownFeed { .. } | Self::UnknownItem { .. } => 404,
            Self::Overloaded => 503,
        }
    }
}

/// The longest part of a name that an error repeats, in characters.
const NAME_CHARS_MAX: usize = 120;

fn quote_name(name: &str) -> Box<str> {
    name.chars().take(NAME_CHARS_MAX).collect::<String>().into()
}

/// Subscribes to each of the channels once.
pub(super) fn subscribe_all(
    hub: &Hub,
    session: &mut Session,
    names: &[impl AsRef<str>],
    last: &LastEventId,
) -> Result<(), OpenError> {
    for name in names.iter().map(AsRef::as_ref) {
        match subscribe_channel(hub, session, name, last) {
            // A channel that is named twice is subscribed once.
            Ok(()) | Err(SubscribeError::AlreadySubscribed) => {}
            Err(error) => return Err(refusal_for(error, name)),
        }
    }
    Ok(())
}

/// Checks that the channels can be subscribed to, as far as their names show. Call this before a socket is handed
/// over.
///
/// # Errors
/// Returns an error if a name is not a channel or is unknown, or if there are no channels or too many.
pub fn check_channels(hub: &Hub, names: &[impl AsRef<str>]) -> Result<(), OpenError> {
    check_channel_count(names)?;
    for name in names.iter().map(AsRef::as_ref) {
        let resolved = Channel::parse_name(name)
            .map_err(ResolveError::from)
            .and_then(|channel| hub.sequence_name(&channel));
        resolved.map_err(|error| refusal_for(error.into(), name))?;
    }
    Ok(())
}

pub(super) fn check_channel_count(names: &[impl AsRef<str>]) -> Result<(), OpenError> {
    match names.len() {
        0 => Err(OpenError::NoChannel),
        1..=CHANNELS_MAX => Ok(()),
        _ => Err(OpenError::TooManyChannels),
    }
}

fn subscribe_channel(
    hub: &Hub,
    session: &mut Session,
    name: &str,
    last: &LastEventId,
) -> Result<(), SubscribeError> {
    let channel = Channel::parse_name(name).map_err(ResolveError::from)?;
    let from =
        if last.is_empty() { None } else { last.find_position(&hub.sequence_name(&channel)?) };
    session.subscribe(&channel, from)?;
    Ok(())
}

fn refusal_for(error: SubscribeError, name: &str) -> OpenError {
    match error {
        SubscribeError::Unresolved(ResolveError::BadChannel(why)) => {
            OpenError::BadChannel { name: quote_name(name), why }
        }
        SubscribeError::Unresolved(ResolveError::UnknownFeed) => {
            OpenError::UnknownFeed { name: quote_name(name) }
        }
        SubscribeError::Unresolved(ResolveError::UnknownItem(code)) => {
            OpenError::UnknownItem { name: quote_name(name), code }
        }
        SubscribeError::TooManyChannels => OpenError::TooManyChannels,
        SubscribeError::TooManyRooms
        | SubscribeError::KeyTaken
        | SubscribeError::AlreadySubscribed => OpenError::Overloaded,
    }
}
