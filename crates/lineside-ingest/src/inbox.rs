//! Where producers put what they say of themselves: a feed's inbox, under an address that only its producer is told.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::source::Secret;

/// Deliveries that wait for the feed's task; a producer that sends more is to come again.
pub(crate) const DELIVERIES_MAX: usize = 16;

/// Where producers reach the inboxes of this server, and what they show there.
#[derive(Clone)]
pub struct Inboxes {
    /// The address under which producers reach this server, without a path: they bring their news to
    /// `/siri/inbox/<feed>?key=<key>`. Without one nobody can be asked to.
    pub address: Option<Arc<str>>,
    /// As what this server subscribes where a feed does not say who asks: one name for each server, and the same after a
    /// restart, so that what it asks for then takes the place of what it had.
    pub subscriber: Arc<str>,
    /// Makes a key that nobody can guess, whatever else of this server's chance is known: its epochs are public.
    pub keys: Arc<dyn Fn() -> Secret + Send + Sync>,
}

impl fmt::Debug for Inboxes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inboxes { address, subscriber, .. } = self;
        let mut shown = f.debug_struct("Inboxes");
        shown.field("address", address).field("subscriber", subscriber).finish_non_exhaustive()
    }
}

/// A feed's inbox.
///
/// Bound: [`DELIVERIES_MAX`] deliveries, each as large as whoever reads it off the socket allows.
#[derive(Debug)]
pub struct Inbox {
    key: Secret,
    deliveries: mpsc::Sender<Bytes>,
}

/// Why a delivery was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    /// The key is not the one that the producer was told.
    #[error("the key is not that of this feed's inbox")]
    WrongKey,
    /// As many deliveries wait already as may.
    #[error("too many deliveries wait: come again")]
    Full,
}

impl Inbox {
    /// An inbox, and what comes out of it.
    pub(crate) fn new(key: Secret) -> (Inbox, mpsc::Receiver<Bytes>) {
        let (deliveries, receiver) = mpsc::channel(DELIVERIES_MAX);
        (Inbox { key, deliveries }, receiver)
    }

    /// What its producer shows.
    pub(crate) fn key(&self) -> &Secret {
        &self.key
    }

    /// Whether the key is the inbox's own. Takes as long whatever is wrong with it.
    pub fn opens_with(&self, key: &str) -> bool {
        let own = self.key.reveal().as_bytes();
        let pairs = own.iter().zip(key.as_bytes().iter().chain(std::iter::repeat(&0)));
        let differs = pairs.fold(0, |differs, (own, other)| differs | (own ^ other));
        differs == 0 && own.len() == key.len()
    }

    /// Takes a delivery, for the feed's task to read.
    ///
    /// # Errors
    /// If the key is wrong, or too many wait.
    pub fn take(&self, key: &str, delivery: Bytes) -> Result<(), NotTaken> {
        if !self.opens_with(key) {
            return Err(NotTaken::WrongKey);
        }
        self.deliveries.try_send(delivery).map_err(|_| NotTaken::Full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inbox_opens_with_its_key_and_holds_so_much() {
        let (inbox, mut deliveries) = Inbox::new(Secret::new("abc"));
        for wrong in ["", "ab", "abcd", "abd", "ab\0"] {
            assert_eq!(inbox.take(wrong, Bytes::new()), Err(NotTaken::WrongKey), "{wrong:?}");
        }
        for _ in 0..DELIVERIES_MAX {
            inbox.take("abc", Bytes::from_static(b"x")).unwrap();
        }
        assert_eq!(inbox.take("abc", Bytes::new()), Err(NotTaken::Full));
        assert_eq!(deliveries.try_recv().unwrap(), "x");
        inbox.take("abc", Bytes::new()).unwrap();
    }
}
