//! The inbox of a feed: receives the producer's deliveries at a URL that only the producer knows.

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

/// Maximum number of deliveries that wait for the feed's task; a producer that sends more must retry.
pub(crate) const DELIVERIES_MAX: usize = 16;
/// Maximum KiB of deliveries to one feed that are being received, waiting or being read: two of the largest.
const BUFFER_KIB: usize = 128 << 10;

/// The server's settings for inboxes.
#[derive(Clone)]
pub struct InboxSettings {
    /// The base URL under which producers reach this server: they deliver to `/siri/inbox/<feed>?key=<key>`. Without it
    /// no subscription is possible.
    pub address: Option<Arc<str>>,
    /// The default subscriber reference: unique to each server and stable across restarts, so that a new subscription
    /// replaces the earlier one.
    pub subscriber: Arc<str>,
    /// Generates an unguessable key, even if other random values of this server are known: its epochs are public.
    pub keys: Arc<dyn Fn() -> Secret + Send + Sync>,
}

impl fmt::Debug for InboxSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InboxSettings { address, subscriber, .. } = self;
        let mut shown = f.debug_struct("InboxSettings");
        shown.field("address", address).field("subscriber", subscriber).finish_non_exhaustive()
    }
}

/// A feed's inbox.
///
/// Bounded: `DELIVERIES_MAX` deliveries, and `ROOM_KIB` for all of them, including those being received.
#[derive(Debug)]
pub struct FeedInbox {
    key: Secret,
    deliveries: mpsc::Sender<InboxDelivery>,
    buffer_permits: Arc<Semaphore>,
    refused: AtomicU64,
}

/// Space reserved for one delivery until it has been read.
#[derive(Debug)]
pub struct InboxReservation(OwnedSemaphorePermit);

/// A delivery and the space reserved for it.
#[derive(Debug)]
pub(crate) struct InboxDelivery {
    pub(crate) bytes: Bytes,
    _reservation: InboxReservation,
}

/// The reason why a delivery was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryError {
    /// The key is not that of the inbox.
    #[error("the key does not match this feed's inbox")]
    WrongKey,
    /// The maximum number or size of waiting deliveries is reached.
    #[error("too many deliveries are queued: retry later")]
    Full,
}

impl FeedInbox {
    /// Creates an inbox and the receiver of its deliveries.
    pub(crate) fn new(key: Secret) -> (FeedInbox, mpsc::Receiver<InboxDelivery>) {
        let (deliveries, receiver) = mpsc::channel(DELIVERIES_MAX);
        let buffer = Arc::new(Semaphore::new(BUFFER_KIB));
        (
            FeedInbox { key, deliveries, buffer_permits: buffer, refused: AtomicU64::new(0) },
            receiver,
        )
    }

    /// Returns the bytes of deliveries being received, waiting or being read, in whole KiB.
    pub fn pending_bytes(&self) -> u64 {
        (BUFFER_KIB.saturating_sub(self.buffer_permits.available_permits()) as u64) << 10
    }

    /// Returns the number of deliveries rejected because the inbox was full.
    pub fn refused_delivery_count(&self) -> u64 {
        self.refused.load(Relaxed)
    }

    /// Reserves space for a delivery of at most `bytes` that is still to be received.
    ///
    /// # Errors
    /// Returns [`DeliveryError::Full`] if there is not enough space.
    pub fn reserve_space(&self, bytes: u64) -> Result<InboxReservation, DeliveryError> {
        let reservation =
            Arc::clone(&self.buffer_permits).try_acquire_many_owned(bytes_to_kib(bytes));
        reservation.map(InboxReservation).map_err(|_| self.count_full_inbox_refusal())
    }

    fn count_full_inbox_refusal(&self) -> DeliveryError {
        self.refused.fetch_add(1, Relaxed);
        DeliveryError::Full
    }

    /// Returns the key that the producer must send.
    pub(crate) fn inbox_key(&self) -> &Secret {
        &self.key
    }

    /// Returns true if the key is the inbox's own. Compares in constant time.
    pub fn is_inbox_key(&self, key: &str) -> bool {
        let own = self.key.reveal().as_bytes();
        let pairs = own.iter().zip(key.as_bytes().iter().chain(std::iter::repeat(&0)));
        let differs = pairs.fold(0, |differs, (own, other)| differs | (own ^ other));
        differs == 0 && own.len() == key.len()
    }

    /// Queues a delivery for the feed's task.
    ///
    /// # Errors
    /// Returns an error if the key is wrong or the inbox is full.
    pub fn queue_delivery_with_key(&self, key: &str, delivery: Bytes) -> Result<(), DeliveryError> {
        if !self.is_inbox_key(key) {
            return Err(DeliveryError::WrongKey);
        }
        let reservation = self.reserve_space(delivery.len() as u64)?;
        self.queue_delivery_in_space(delivery, reservation)
    }

    /// Queues a delivery with reserved space, after the key has been checked.
    ///
    /// # Errors
    /// Returns [`DeliveryError::Full`] if too many deliveries wait.
    pub fn queue_delivery_in_space(
        &self,
        bytes: Bytes,
        mut reservation: InboxReservation,
    ) -> Result<(), DeliveryError> {
        let beyond =
            reservation.0.num_permits().saturating_sub(bytes_to_kib(bytes.len() as u64) as usize);
        drop(reservation.0.split(beyond));
        self.deliveries
            .try_send(InboxDelivery { bytes, _reservation: reservation })
            .map_err(|_| self.count_full_inbox_refusal())
    }
}

/// Returns the KiB for a number of bytes, at least one.
fn bytes_to_kib(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(1 << 10)).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inbox_needs_its_key_and_limits_the_number_of_deliveries() {
        let (inbox, mut deliveries) = FeedInbox::new(Secret::new("abc"));
        for wrong in ["", "ab", "abcd", "abd", "ab\0"] {
            assert_eq!(
                inbox.queue_delivery_with_key(wrong, Bytes::new()),
                Err(DeliveryError::WrongKey),
                "{wrong:?}"
            );
        }
        for _ in 0..DELIVERIES_MAX {
            inbox.queue_delivery_with_key("abc", Bytes::from_static(b"x")).unwrap();
        }
        assert_eq!(inbox.queue_delivery_with_key("abc", Bytes::new()), Err(DeliveryError::Full));
        assert_eq!(
            (deliveries.try_recv().unwrap().bytes, inbox.refused_delivery_count()),
            ("x".into(), 1)
        );
        inbox.queue_delivery_with_key("abc", Bytes::new()).unwrap();
    }

    #[test]
    fn a_delivery_occupies_space_until_it_has_been_read() {
        let (inbox, mut deliveries) = FeedInbox::new(Secret::new("abc"));
        let large = (BUFFER_KIB as u64) << 9;
        let (first, second) =
            (inbox.reserve_space(large).unwrap(), inbox.reserve_space(large).unwrap());
        assert_eq!(inbox.pending_bytes(), 2 * large);
        assert_eq!(
            inbox.queue_delivery_with_key("abc", Bytes::from_static(b"x")),
            Err(DeliveryError::Full)
        );
        // The delivery was announced larger than it is.
        inbox.queue_delivery_in_space(vec![0; 3_000].into(), first).unwrap();
        assert_eq!(inbox.pending_bytes(), large + 3_072);
        // The sender disconnected.
        drop(second);
        assert_eq!(inbox.pending_bytes(), 3_072);
        let read = deliveries.try_recv().unwrap();
        assert_eq!(inbox.pending_bytes(), 3_072);
        drop(read);
        assert_eq!((inbox.pending_bytes(), inbox.refused_delivery_count()), (0, 1));
        assert_eq!(inbox.reserve_space(u64::MAX).err(), Some(DeliveryError::Full));
    }
}
