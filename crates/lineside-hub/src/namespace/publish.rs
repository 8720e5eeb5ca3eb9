//! Publishing into `app/…`: what an operator's back end, or a client that may, has to say.

use std::sync::Arc;

use bytes::Bytes;

use crate::limits::{APP_DATA_BYTES_MAX, EXTRAS_BYTES_MAX};
use crate::{
    Channel, DisconnectOrder, Hub, Position, PublicationExtras, PublicationNote, PublishBatch,
};

/// What became of a publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishOutcome {
    /// Its place in the channel's sequence; `None` where nobody listens and nothing is kept.
    pub position: Option<Position>,
}

/// Why something was not published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// Only `app/…` is published into from outside.
    #[error("only channels that begin with app/ can be published into")]
    NotApp,
    /// Beyond [`APP_DATA_BYTES_MAX`], or with more beside it than [`EXTRAS_BYTES_MAX`].
    #[error(
        "a publication holds at most {APP_DATA_BYTES_MAX} bytes, and {EXTRAS_BYTES_MAX} beside its data"
    )]
    TooLarge,
    /// The node holds as many rooms as it may; later there may be place.
    #[error("too many rooms on this node")]
    TooManyRooms,
    /// The hub is [sealed](Hub::stop_app_publishing): what comes after it takes publications again.
    #[error("this node is stopping")]
    Stopping,
    /// Another channel has the same key; by chance, once in 2⁶⁴.
    #[error("another channel has the same key")]
    KeyTaken,
}

impl Hub {
    /// Publishes into an `app/…` channel and tells its listeners. Costs one probe where nobody listens and
    /// nothing is kept.
    ///
    /// # Errors
    /// When the channel is another, what is published too large, or no room to be had.
    pub fn publish_app(
        &self,
        channel: &Channel,
        data: Bytes,
        extras: PublicationExtras,
    ) -> Result<PublishOutcome, PublishError> {
        self.open_batch().publish_app(channel, data, extras)
    }

    /// Has connections of a user closed: each that [listens](crate::Session::subscribe_user) is given the
    /// order as a delivery.
    pub fn disconnect_user(&self, user: &str, order: DisconnectOrder) {
        let note = PublicationNote::Disconnect(Arc::new(order));
        Self::publish_note(&mut self.open_batch(), self, &Channel::for_user(user), note);
    }

    /// Says something in a room that nobody can name; to nobody if there is none.
    pub(crate) fn publish_note(
        batch: &mut PublishBatch<'_>,
        hub: &Self,
        channel: &Channel,
        note: PublicationNote,
    ) {
        let key = hub.namespaces().room_key(channel);
        let room = key.and_then(|key| hub.find_room(key));
        if let Some(room) = room.filter(|room| room.channel() == channel) {
            batch.append_note(&room, Bytes::new(), Some(note));
        }
    }
}

impl PublishBatch<'_> {
    /// As [`Hub::publish_app`], for several channels: a listener is told once for all of them.
    ///
    /// # Errors
    /// As there.
    pub fn publish_app(
        &mut self,
        channel: &Channel,
        data: Bytes,
        extras: PublicationExtras,
    ) -> Result<PublishOutcome, PublishError> {
        let namespace =
            self.hub().namespaces().find_namespace(channel).ok_or(PublishError::NotApp)?;
        if data.len() > APP_DATA_BYTES_MAX || extras.byte_size() > EXTRAS_BYTES_MAX {
            return Err(PublishError::TooLarge);
        }
        let sealed = self.hub().app_publish_lock().read();
        if *sealed {
            return Err(PublishError::Stopping);
        }
        let keep = namespace.history.is_some();
        let key = self.hub().namespaces().room_key(channel).ok_or(PublishError::NotApp)?;
        loop {
            let room = if keep {
                self.hub().enter_room(channel, key).ok_or(PublishError::TooManyRooms)?
            } else if let Some(room) = self.hub().find_room(key) {
                room
            } else {
                return Ok(PublishOutcome { position: None });
            };
            if room.channel() != channel {
                return Err(PublishError::KeyTaken);
            }
            // A room that has just been closed is on its way out of the table.
            if let Some(position) =
                self.append_note(&room, data.clone(), extras.clone().into_note())
            {
                return Ok(PublishOutcome { position: Some(position) });
            }
            if !keep {
                return Ok(PublishOutcome { position: None });
            }
            std::hint::spin_loop();
        }
    }
}
