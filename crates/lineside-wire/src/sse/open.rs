//! Opening a stream: from a request to subscriptions, or to an error.

use lineside_hub::{
    BadChannelName, ChannelResolveError, EncodedChannelName, Hub, Session, SubscribeError,
};

use super::{CHANNELS_MAX, LastEventId};

/// The reason why a connection cannot be opened. The text names the channel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseOpenError {
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
        why: BadChannelName,
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

impl SseOpenError {
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

fn shortened_channel_name(name: &str) -> Box<str> {
    name.chars().take(NAME_CHARS_MAX).collect::<String>().into()
}

/// Subscribes to each of the channels once.
pub(super) fn subscribe_to_all_channels(
    hub: &Hub,
    session: &mut Session,
    names: &[impl AsRef<str>],
    last: &LastEventId,
) -> Result<(), SseOpenError> {
    for name in names.iter().map(AsRef::as_ref) {
        match subscribe_channel(hub, session, name, last) {
            // A channel that is named twice is subscribed once.
            Ok(()) | Err(SubscribeError::AlreadySubscribed) => {}
            Err(error) => return Err(open_error_for(error, name)),
        }
    }
    Ok(())
}

/// Checks that the channels can be subscribed to, as far as their names show. Call this before a socket is handed
/// over.
///
/// # Errors
/// Returns an error if a name is not a channel or is unknown, or if there are no channels or too many.
pub fn check_channels_exist(hub: &Hub, names: &[impl AsRef<str>]) -> Result<(), SseOpenError> {
    check_channel_count(names)?;
    for name in names.iter().map(AsRef::as_ref) {
        let resolved = EncodedChannelName::parse_channel_name(name)
            .map_err(ChannelResolveError::from)
            .and_then(|channel| hub.sequence_name_of_channel(&channel));
        resolved.map_err(|error| open_error_for(error.into(), name))?;
    }
    Ok(())
}

pub(super) fn check_channel_count(names: &[impl AsRef<str>]) -> Result<(), SseOpenError> {
    match names.len() {
        0 => Err(SseOpenError::NoChannel),
        1..=CHANNELS_MAX => Ok(()),
        _ => Err(SseOpenError::TooManyChannels),
    }
}

fn subscribe_channel(
    hub: &Hub,
    session: &mut Session,
    name: &str,
    last: &LastEventId,
) -> Result<(), SubscribeError> {
    let channel =
        EncodedChannelName::parse_channel_name(name).map_err(ChannelResolveError::from)?;
    let from = if last.is_empty() {
        None
    } else {
        last.position_of_sequence(&hub.sequence_name_of_channel(&channel)?)
    };
    session.subscribe(&channel, from)?;
    Ok(())
}

fn open_error_for(error: SubscribeError, name: &str) -> SseOpenError {
    match error {
        SubscribeError::Unresolved(ChannelResolveError::BadChannel(why)) => {
            SseOpenError::BadChannel { name: shortened_channel_name(name), why }
        }
        SubscribeError::Unresolved(ChannelResolveError::UnknownFeed) => {
            SseOpenError::UnknownFeed { name: shortened_channel_name(name) }
        }
        SubscribeError::Unresolved(ChannelResolveError::UnknownItem(code)) => {
            SseOpenError::UnknownItem { name: shortened_channel_name(name), code }
        }
        SubscribeError::TooManyChannels => SseOpenError::TooManyChannels,
        SubscribeError::TooManyRooms
        | SubscribeError::KeyTaken
        | SubscribeError::AlreadySubscribed => SseOpenError::Overloaded,
    }
}
