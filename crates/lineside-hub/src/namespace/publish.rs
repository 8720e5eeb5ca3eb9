//! Publishing into `app/…`, by an operator's back end or a permitted client.

use std::sync::Arc;

use bytes::Bytes;

use crate::limits::{APP_DATA_BYTES_MAX, EXTRAS_BYTES_MAX};
use crate::{
    DisconnectOrder, EncodedChannelName, Hub, NonDataContent, Position, PublicationExtras,
    PublishBatch,
};

/// The result of a publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishOutcome {
    /// The position in the channel's sequence; `None` if the channel has no listeners and no history.
    pub position: Option<Position>,
}

/// The reason why something was not published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// Publishing is possible only into `app/…`.
    #[error("only channels that begin with app/ accept publications")]
    NotApp,
    /// The data exceed [`APP_DATA_BYTES_MAX`], or the metadata [`EXTRAS_BYTES_MAX`].
    #[error(
        "the publication is too large: at most {APP_DATA_BYTES_MAX} bytes of data and \
        {EXTRAS_BYTES_MAX} bytes of metadata"
    )]
    TooLarge,
    /// The node has its largest number of rooms; a later attempt may succeed.
    #[error("the node has reached its limit of rooms; retry later")]
    TooManyRooms,
    /// The hub is [sealed](Hub::stop_app_publishing); the next process accepts publications again.
    #[error("the node is stopping; retry later")]
    Stopping,
    /// Another channel has the same key; by chance, one in 2⁶⁴.
    #[error("another channel has the same key; use another channel name")]
    KeyTaken,
}

impl Hub {
    /// Publishes into an `app/…` channel and signals its listeners. Costs one probe if the channel has no listeners
    /// and no history.
    ///
    /// # Errors
    /// Returns an error if the channel is not in `app/…`, if the publication is too large, if no room is available, or
    /// if the hub is stopping.
    pub fn publish_to_app_channel(
        &self,
        channel: &EncodedChannelName,
        data: Bytes,
        extras: PublicationExtras,
    ) -> Result<PublishOutcome, PublishError> {
        self.open_publish_batch().publish_app(channel, data, extras)
    }

    /// Closes connections of a user: each session that [listens](crate::Session::subscribe_to_user_orders) gets the
    /// order as a delivery.
    pub fn disconnect_user(&self, user: &str, order: DisconnectOrder) {
        let note = NonDataContent::Disconnect(Arc::new(order));
        Self::publish_to_hidden_room(
            &mut self.open_publish_batch(),
            self,
            &EncodedChannelName::user_orders_channel(user),
            note,
        );
    }

    /// Publishes a note in a hidden room; does nothing if there is no such room.
    pub(crate) fn publish_to_hidden_room(
        batch: &mut PublishBatch<'_>,
        hub: &Self,
        channel: &EncodedChannelName,
        note: NonDataContent,
    ) {
        let key = hub.namespaces().room_key_of_hub_channel(channel);
        let room = key.and_then(|key| hub.find_room(key));
        if let Some(room) = room.filter(|room| room.channel() == channel) {
            batch.append_at_next_offset(&room, Bytes::new(), Some(note));
        }
    }
}

impl PublishBatch<'_> {
    /// Publishes like [`Hub::publish_to_app_channel`], for several channels: a listener is signaled once for all of
    /// them.
    ///
    /// # Errors
    /// Returns the errors of [`Hub::publish_to_app_channel`].
    pub fn publish_app(
        &mut self,
        channel: &EncodedChannelName,
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
        let has_history = namespace.history.is_some();
        let key =
            self.hub().namespaces().room_key_of_hub_channel(channel).ok_or(PublishError::NotApp)?;
        loop {
            let room = if has_history {
                self.hub().get_or_create_room(channel, key).ok_or(PublishError::TooManyRooms)?
            } else if let Some(room) = self.hub().find_room(key) {
                room
            } else {
                return Ok(PublishOutcome { position: None });
            };
            if room.channel() != channel {
                return Err(PublishError::KeyTaken);
            }
            // A room that has just been closed is being removed from the table: try again.
            if let Some(position) = self.append_at_next_offset(
                &room,
                data.clone(),
                extras.clone().into_non_data_content(),
            ) {
                return Ok(PublishOutcome { position: Some(position) });
            }
            if !has_history {
                return Ok(PublishOutcome { position: None });
            }
            std::hint::spin_loop();
        }
    }
}
