//! The history of a channel: recent publications from the rings, as far as the channel exposes them.

use std::sync::Arc;

use crate::room::RoomLogTail;
use crate::{ChannelResolveError, EncodedChannelName, Hub, Position, Publication};

/// A request for a part of a channel's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryQuery {
    /// The largest number of publications; 0 requests only the position.
    pub limit: usize,
    /// Limits the result to publications after this position, or before it in reverse.
    pub since: Option<Position>,
    /// True for newest first.
    pub reverse: bool,
}

/// A channel's history.
#[derive(Clone, Debug)]
pub struct ChannelHistory {
    /// The publications, oldest first, unless requested in reverse.
    pub publications: Vec<Arc<Publication>>,
    /// The channel's current position.
    pub position: Position,
}

/// The reason why there is no history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// There is no such channel or feed.
    #[error(transparent)]
    Unresolved(#[from] ChannelResolveError),
    /// The channel's namespace keeps no history.
    #[error("the channel has no history")]
    HistoryDisabled,
    /// `since` belongs to another life of the channel.
    #[error("the position is from another epoch of the channel")]
    OtherEpoch,
    /// The node has its largest number of rooms; a later request may succeed.
    #[error("the node has reached its limit of rooms; retry later")]
    TooManyRooms,
}

impl Hub {
    /// Returns the requested publications that are still in the channel's ring. A transit channel without subscribers
    /// has no ring, and so only a position. Linear in the publications that the ring holds after `since`.
    ///
    /// # Errors
    /// Returns an error if there is no such channel, it keeps no history, or `since` is of another life.
    pub fn read_history(
        &self,
        channel: &EncodedChannelName,
        request: HistoryQuery,
    ) -> Result<ChannelHistory, HistoryError> {
        let key = self.resolve_room_key(channel)?;
        let options = match self.namespaces().find_namespace(channel) {
            Some(namespace) => Some(namespace.history.ok_or(HistoryError::HistoryDisabled)?),
            None => None,
        };
        let room = if options.is_some() {
            Some(self.get_or_create_room(channel, key).ok_or(HistoryError::TooManyRooms)?)
        } else {
            self.find_room(key)
        };
        let Some(room) = room.filter(|room| room.channel() == channel) else {
            return self.read_position_only(channel, request);
        };
        let after = request.since.filter(|_| !request.reverse).map_or(0, |since| since.offset);
        let RoomLogTail { position, mut publications, .. } = room.read_log_tail_after(after);
        let Some(position) = position else { return self.read_position_only(channel, request) };
        ensure_same_epoch(request, position)?;
        if let Some(since) = request.since.filter(|_| request.reverse) {
            publications.retain(|publication| publication.offset < since.offset);
        }
        if let Some(options) = options {
            let oldest = self.clock().monotonic().saturating_sub(options.ttl);
            publications.retain(|publication| {
                publication.at >= oldest && !publication.extras().skip_history
            });
            // Offsets of such a channel are consecutive.
            let last_trimmed = position.offset.saturating_sub(options.size as u64);
            publications.retain(|publication| publication.offset > last_trimmed);
        }
        if request.reverse {
            publications.reverse();
        }
        publications.truncate(request.limit);
        Ok(ChannelHistory { publications, position })
    }

    fn read_position_only(
        &self,
        channel: &EncodedChannelName,
        request: HistoryQuery,
    ) -> Result<ChannelHistory, HistoryError> {
        let key = self.state_source().resolve_channel(channel)?;
        let position = self
            .state_source()
            .current_position(channel, key)
            .ok_or(HistoryError::HistoryDisabled)?;
        ensure_same_epoch(request, position)?;
        Ok(ChannelHistory { publications: Vec::new(), position })
    }
}

fn ensure_same_epoch(request: HistoryQuery, position: Position) -> Result<(), HistoryError> {
    match request.since {
        Some(since) if since.epoch != position.epoch => Err(HistoryError::OtherEpoch),
        _ => Ok(()),
    }
}
