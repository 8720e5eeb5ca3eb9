//! Where producers put what they say of themselves: a feed's inbox, under an address that only its producer is told.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::source::Secret;

/// Deliveries that wait for the feed's task; a producer that sends more is to come again.
pub(crate) const DELIVERIES_MAX: usize = 16;
/// KiB of deliveries to one feed that come in, wait, or are being read: two of the largest.
const ROOM_KIB: usize = 128 << 10;

/// Where producers reach the inboxes of this server, and what they show there.
#[derive(Clone)]
pub struct InboxSettings {
    /// The address under which producers reach this server, without a path: they bring their news to
    /// `/siri/inbox/<feed>?key=<key>`. Without one nobody can be asked to.
    pub address: Option<Arc<str>>,
    /// As what this server subscribes where a feed does not say who asks: one name for each server, and the same after a
    /// restart, so that what it asks for then takes the place of what it had.
    pub subscriber: Arc<str>,
    /// Makes a key that nobody can guess, whatever else of this server's chance is known: its epochs are public.
    pub keys: Arc<dyn Fn() -> Secret + Send + Sync>,
}

impl fmt::Debug for InboxSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InboxSettings { address, subscriber, .. } = self;
        let mut shown = f.debug_struct("Inboxes");
        shown.field("address", address).field("subscriber", subscriber).finish_non_exhaustive()
    }
}

/// A feed's inbox.
///
/// Bound: [`DELIVERIES_MAX`] deliveries, and [`ROOM_KIB`] of them with those that are still coming in.
#[derive(Debug)]
pub struct FeedInbox {
    key: Secret,
    deliveries: mpsc::Sender<InboxDelivery>,
    room: Arc<Semaphore>,
    refused: AtomicU64,
}

/// Room for one delivery, kept until that has been read.
#[derive(Debug)]
pub struct InboxReservation(OwnedSemaphorePermit);

/// What a producer has brought, and the room that it takes.
#[derive(Debug)]
pub(crate) struct InboxDelivery {
    pub(crate) bytes: Bytes,
    _room: InboxReservation,
}

/// Why a delivery was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryError {
    /// The key is not the one that the producer was told.
    #[error("the key is not that of this feed's inbox")]
    WrongKey,
    /// As many deliveries wait already as may.
    #[error("too many deliveries wait: come again")]
    Full,
}

impl FeedInbox {
    /// An inbox, and what comes out of it.
    pub(crate) fn new(key: Secret) -> (FeedInbox, mpsc::Receiver<InboxDelivery>) {
        let (deliveries, receiver) = mpsc::channel(DELIVERIES_MAX);
        let room = Arc::new(Semaphore::new(ROOM_KIB));
        (FeedInbox { key, deliveries, room, refused: AtomicU64::new(0) }, receiver)
    }

    /// Bytes that are coming in, wait, or are being read; in whole KiB.
    pub fn pending_bytes(&self) -> u64 {
        (ROOM_KIB.saturating_sub(self.room.available_permits()) as u64) << 10
    }

    /// How many deliveries were not taken because there was no room.
    pub fn refused_count(&self) -> u64 {
        self.refused.load(Relaxed)
    }

    /// Keeps room for a delivery of at most so many bytes, which is still to come in.
    ///
    /// # Errors
    /// If there is none.
    pub fn reserve_bytes(&self, bytes: u64) -> Result<InboxReservation, DeliveryError> {
        let room = Arc::clone(&self.room).try_acquire_many_owned(bytes_to_kib(bytes));
        room.map(InboxReservation).map_err(|_| self.count_refusal())
    }

    fn count_refusal(&self) -> DeliveryError {
        self.refused.fetch_add(1, Relaxed);
        DeliveryError::Full
    }

    /// What its producer shows.
    pub(crate) fn key(&self) -> &Secret {
        &self.key
    }

    /// Whether the key is the inbox's own. Takes as long whatever is wrong with it.
    pub fn accepts_key(&self, key: &str) -> bool {
        let own = self.key.reveal().as_bytes();
        let pairs = own.iter().zip(key.as_bytes().iter().chain(std::iter::repeat(&0)));
        let differs = pairs.fold(0, |differs, (own, other)| differs | (own ^ other));
        differs == 0 && own.len() == key.len()
    }

    /// Takes a delivery, for the feed's task to read.
    ///
    /// # Errors
    /// If the key is wrong, or too many wait.
    pub fn accept_delivery(&self, key: &str, delivery: Bytes) -> Result<(), DeliveryError> {
        if !self.accepts_key(key) {
            return Err(DeliveryError::WrongKey);
        }
        let room = self.reserve_bytes(delivery.len() as u64)?;
        self.enqueue_delivery(delivery, room)
    }

    /// Takes a delivery for which there is room, of whoever has shown the key.
    ///
    /// # Errors
    /// If too many wait.
    pub fn enqueue_delivery(
        &self,
        bytes: Bytes,
        mut room: InboxReservation,
    ) -> Result<(), DeliveryError> {
        let beyond = room.0.num_permits().saturating_sub(bytes_to_kib(bytes.len() as u64) as usize);
        drop(room.0.split(beyond));
        self.deliveries
            .try_send(InboxDelivery { bytes, _room: room })
            .map_err(|_| self.count_refusal())
    }
}

/// KiB that so many bytes take, of nothing one.
fn bytes_to_kib(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(1 << 10)).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inbox_opens_with_its_key_and_holds_so_much() {
        let (inbox, mut deliveries) = FeedInbox::new(Secret::new("abc"));
        for wrong in ["", "ab", "abcd", "abd", "ab\0"] {
            assert_eq!(
                inbox.accept_delivery(wrong, Bytes::new()),
                Err(DeliveryError::WrongKey),
                "{wrong:?}"
            );
        }
        for _ in 0..DELIVERIES_MAX {
            inbox.accept_delivery("abc", Bytes::from_static(b"x")).unwrap();
        }
        assert_eq!(inbox.accept_delivery("abc", Bytes::new()), Err(DeliveryError::Full));
        assert_eq!((deliveries.try_recv().unwrap().bytes, inbox.refused_count()), ("x".into(), 1));
        inbox.accept_delivery("abc", Bytes::new()).unwrap();
    }

    #[test]
    fn what_comes_in_waits_and_is_read_takes_room_and_gives_it_back() {
        let (inbox, mut deliveries) = FeedInbox::new(Secret::new("abc"));
        let large = (ROOM_KIB as u64) << 9;
        let (first, second) =
            (inbox.reserve_bytes(large).unwrap(), inbox.reserve_bytes(large).unwrap());
        assert_eq!(inbox.pending_bytes(), 2 * large);
        assert_eq!(
            inbox.accept_delivery("abc", Bytes::from_static(b"x")),
            Err(DeliveryError::Full)
        );
        // It was announced as larger than it is.
        inbox.enqueue_delivery(vec![0; 3_000].into(), first).unwrap();
        assert_eq!(inbox.pending_bytes(), large + 3_072);
        // Its sender went away.
        drop(second);
        assert_eq!(inbox.pending_bytes(), 3_072);
        let read = deliveries.try_recv().unwrap();
        assert_eq!(inbox.pending_bytes(), 3_072);
        drop(read);
        assert_eq!((inbox.pending_bytes(), inbox.refused_count()), (0, 1));
        assert_eq!(inbox.reserve_bytes(u64::MAX).err(), Some(DeliveryError::Full));
    }
}
