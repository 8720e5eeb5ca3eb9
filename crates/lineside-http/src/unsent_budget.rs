//! The budget of bytes that wait to be sent, in total and by address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use lineside_config::client_network::client_limit_key;
use parking_lot::Mutex;

use super::limits;

/// The unsent bytes of the whole server.
#[derive(Debug)]
pub struct UnsentBudget {
    pub bytes_max: usize,
    pub bytes: AtomicUsize,
    /// Bytes of feeds' bodies that only unread replies hold.
    pub shared_bytes: AtomicUsize,
    /// Bytes of compressed bodies, in their cache or in unread replies.
    pub compressed_bytes: AtomicUsize,
    /// Bound: one entry per open connection or reply.
    pub addresses: Mutex<HashMap<IpAddr, Weak<AddressUnsentBytes>>>,
    pub n_refused: AtomicU64,
}

/// The unsent bytes of one address.
#[derive(Debug)]
pub struct AddressUnsentBytes {
    pub bytes_max: usize,
    pub bytes: AtomicUsize,
    pub address: IpAddr,
    pub budget: Arc<UnsentBudget>,
}

impl UnsentBudget {
    /// Creates a budget; all unsent replies together may hold `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> Arc<Self> {
        let [bytes, shared_bytes, compressed_bytes] = [0, 0, 0].map(AtomicUsize::new);
        let (addresses, n_refused) = (Mutex::default(), AtomicU64::new(0));
        Arc::new(Self { bytes_max, bytes, shared_bytes, compressed_bytes, addresses, n_refused })
    }

    /// Returns the number of bytes that wait to be sent.
    pub fn unsent_bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    /// Returns the number of bytes of feeds' bodies that only unread replies hold.
    pub fn unread_shared_bytes(&self) -> usize {
        self.shared_bytes.load(Relaxed)
    }

    /// Returns the counter of shared bodies of this kind.
    pub fn shared_body_counter(&self, is_compressed: bool) -> &AtomicUsize {
        if is_compressed { &self.compressed_bytes } else { &self.shared_bytes }
    }

    /// Returns true while replies with shared bodies are not counted.
    pub fn has_room_for_shared(&self) -> bool {
        let bytes_max = self.bytes_max / limits::UNSENT_SHARED_DIVISOR;
        let compressed_max = bytes_max.saturating_add(limits::COMPRESSED_CACHE_BYTES_MAX);
        self.unread_shared_bytes() <= bytes_max
            && self.compressed_bytes.load(Relaxed) <= compressed_max
    }

    /// Returns true if the bytes that wait to be sent exceed the limit at which slow readers are disconnected.
    pub fn is_under_pressure(&self) -> bool {
        self.unsent_bytes() > self.bytes_max / 4 * 3 || !self.has_room_for_shared()
    }

    /// Returns the limit on all unsent bytes for a reply of this length. Large replies may use half of the budget, so
    /// that they do not block the others. Small ones have an extra quarter, so that a full server can still answer
    /// health checks.
    pub fn limit_for_reply(&self, length: usize) -> usize {
        if length > limits::UNSENT_LARGE_BYTES {
            self.bytes_max / 2
        } else if length <= limits::UNSENT_SMALL_BYTES {
            self.bytes_max.saturating_add(self.bytes_max / 4)
        } else {
            self.bytes_max
        }
    }

    /// Returns the number of replies refused because too many bytes waited to be sent.
    pub fn refused_reply_count(&self) -> u64 {
        self.n_refused.load(Relaxed)
    }

    /// Returns the counter of an address; loopback has no limit of its own, because proxies and the operator use it.
    pub fn for_address(self: &Arc<Self>, address: IpAddr) -> Arc<AddressUnsentBytes> {
        let is_loopback = address.to_canonical().is_loopback();
        let address = client_limit_key(address);
        let mut addresses = self.addresses.lock();
        if let Some(known) = addresses.get(&address).and_then(Weak::upgrade) {
            return known;
        }
        let share = self.bytes_max / limits::UNSENT_ADDRESS_DIVISOR;
        let bytes_max = if is_loopback { usize::MAX } else { share };
        let (bytes, all) = (AtomicUsize::new(0), Arc::clone(self));
        let known = Arc::new(AddressUnsentBytes { bytes_max, bytes, address, budget: all });
        addresses.insert(address, Arc::downgrade(&known));
        known
    }
}

impl Drop for AddressUnsentBytes {
    fn drop(&mut self) {
        let mut addresses = self.budget.addresses.lock();
        // A new entry may have replaced this one meanwhile.
        if addresses.get(&self.address).is_some_and(|it| it.strong_count() == 0) {
            addresses.remove(&self.address);
        }
    }
}
