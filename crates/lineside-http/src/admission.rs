//! Admission of connections: a limit on all connections and one per client address. A connection beyond a limit is
//! refused at once.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use lineside_config::client_network::client_limit_key;
use lineside_sync::semaphore::{OwnedPermit, Semaphore};
use parking_lot::Mutex;

use super::limits;
use crate::render_slots::RenderSlots;
use crate::unsent_budget::UnsentBudget;

/// The limits on connections, and the timeout of their replies.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionLimits {
    /// Largest number of open connections.
    pub total: usize,
    /// Largest number from one address, or one /64 network of IPv6; loopback is exempt.
    pub per_address: usize,
    /// Largest number of bytes of unsent replies that were made for one request each.
    pub unsent_bytes: usize,
    /// Longest time that a client may read nothing of a reply.
    pub send_timeout: Duration,
}

/// The limits that are shared by all connections, and the counts of refusals.
#[derive(Debug)]
pub struct AdmissionControl {
    connections: Arc<Semaphore>,
    addresses: Arc<ConnectionsByAddress>,
    unsent: Arc<UnsentBudget>,
    send_timeout: Duration,
    /// Refused connections that are still being sent the reason.
    refusal_permits: Arc<Semaphore>,
    /// Permits for large replies, each of which may take some hundred milliseconds and many megabytes to build.
    siri_permits: Arc<Semaphore>,
    /// Permits for pages of lines and networks, which may have thousands of stops, and for searches of names.
    page_render_slots: RenderSlots,
}

impl AdmissionControl {
    pub fn new(limits: ConnectionLimits) -> Self {
        let limit = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let addresses = ConnectionsByAddress {
            connections_max: limits.per_address,
            ..ConnectionsByAddress::default()
        };
        Self {
            connections: Arc::new(Semaphore::new(limit(limits.total))),
            addresses: Arc::new(addresses),
            unsent: UnsentBudget::new(limits.unsent_bytes),
            send_timeout: limits.send_timeout,
            refusal_permits: Arc::new(Semaphore::new(limits::REFUSALS_MAX)),
            siri_permits: Arc::new(Semaphore::new(limits::SIRI_CONCURRENT_REPLIES_MAX)),
            page_render_slots: RenderSlots::default(),
        }
    }

    /// Admits a connection from this address; `None` if a limit is reached.
    pub fn admit_client_connection(&self, address: IpAddr) -> Option<ConnectionPermit> {
        let connection = self.connections.try_acquire_owned()?;
        let address = ConnectionsByAddress::acquire_address_permit(&self.addresses, address)?;
        Some(ConnectionPermit { _connection: connection, address })
    }

    /// Admits a connection from a proxy, which may serve many clients; `None` if the total is reached.
    pub fn admit_proxy_connection(&self) -> Option<ConnectionPermit> {
        let connection = self.connections.try_acquire_owned()?;
        Some(ConnectionPermit { _connection: connection, address: None })
    }

    /// Counts the connection for the client behind the proxy; returns false if that client has reached its limit.
    pub fn assign_connection_to_client(
        &self,
        permit: &mut ConnectionPermit,
        address: IpAddr,
    ) -> bool {
        let Some(counted) = ConnectionsByAddress::acquire_address_permit(&self.addresses, address)
        else {
            return false;
        };
        permit.address = counted;
        true
    }

    /// Returns a permit to send a refused client the reason. Without one, its connection is closed silently.
    pub fn acquire_refusal_permit(&self) -> Option<OwnedPermit> {
        self.refusal_permits.try_acquire_owned()
    }

    /// Returns a permit to build a large reply, unless too many are being built.
    pub fn acquire_large_reply_permit(&self) -> Option<OwnedPermit> {
        self.siri_permits.try_acquire_owned()
    }

    /// Returns the permits for pages of lines and networks, and for searches of names.
    pub fn page_render_slots(&self) -> &RenderSlots {
        &self.page_render_slots
    }

    /// Returns the budget of bytes that wait to be sent.
    pub fn unsent_budget(&self) -> &Arc<UnsentBudget> {
        &self.unsent
    }

    /// Returns the longest time that a client may read nothing of a reply.
    pub fn send_timeout(&self) -> Duration {
        self.send_timeout
    }

    /// Returns the number of open connections.
    pub fn open_connections(&self) -> u32 {
        self.connections.permits_held()
    }

    /// Returns the number of refusals since the start, by the limit that was reached.
    pub fn refusal_counts_by_limit(&self) -> [(&'static str, u64); 3] {
        let by_address = self.addresses.refused.load(Relaxed);
        let unsent = self.unsent.refused_reply_count();
        [
            ("connections", self.connections.refused_count()),
            ("address", by_address),
            ("unsent", unsent),
        ]
    }
}

/// One admitted connection; counts against the limits until dropped.
#[derive(Debug)]
pub struct ConnectionPermit {
    _connection: OwnedPermit,
    address: Option<AddressPermit>,
}

/// Open connections by address. Bound: one entry per open connection.
#[derive(Debug, Default)]
struct ConnectionsByAddress {
    connections_max: usize,
    open: Mutex<HashMap<IpAddr, usize>>,
    refused: AtomicU64,
}

impl ConnectionsByAddress {
    /// Returns `None` if the address has reached its limit, `Some(None)` if the address is not counted.
    fn acquire_address_permit(this: &Arc<Self>, address: IpAddr) -> Option<Option<AddressPermit>> {
        let address = address.to_canonical();
        if address.is_loopback() {
            return Some(None);
        }
        let address = client_limit_key(address);
        let mut open = this.open.lock();
        let count = open.entry(address).or_insert(0);
        if *count >= this.connections_max {
            this.refused.fetch_add(1, Relaxed);
            return None;
        }
        *count += 1;
        Some(Some(AddressPermit { address, addresses: Arc::clone(this) }))
    }
}

#[derive(Debug)]
struct AddressPermit {
    address: IpAddr,
    addresses: Arc<ConnectionsByAddress>,
}

impl Drop for AddressPermit {
    fn drop(&mut self) {
        let mut open = self.addresses.open.lock();
        if let Some(count) = open.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admission(total: usize, per_address: usize) -> AdmissionControl {
        let (unsent_bytes, send_timeout) = (1 << 20, Duration::from_secs(30));
        AdmissionControl::new(ConnectionLimits { total, per_address, unsent_bytes, send_timeout })
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_closed_connection_frees_the_place_of_its_address() {
        let admission = admission(10, 1);
        let first = admission
            .admit_client_connection(address("192.0.2.7"))
            .expect("the first client is admitted");
        assert!(admission.admit_client_connection(address("192.0.2.7")).is_none());
        assert!(
            admission.admit_client_connection(address("192.0.2.8")).is_some(),
            "the limit is per address"
        );
        drop(first);
        assert!(admission.admit_client_connection(address("192.0.2.7")).is_some());
        assert_eq!(admission.refusal_counts_by_limit()[..2], [("connections", 0), ("address", 1)]);
    }

    #[test]
    fn an_ipv6_network_counts_as_one_address() {
        let admission = admission(10, 1);
        let _place = admission
            .admit_client_connection(address("2001:db8::1"))
            .expect("the first client is admitted");
        assert!(admission.admit_client_connection(address("2001:db8::ffff:2")).is_none());
        assert!(admission.admit_client_connection(address("2001:db8:0:1::1")).is_some());
    }

    #[test]
    fn concurrent_large_replies_are_limited() {
        let admission = admission(1, 1);
        let permits: Vec<_> =
            std::iter::from_fn(|| admission.acquire_large_reply_permit()).collect();
        assert_eq!(permits.len(), limits::SIRI_CONCURRENT_REPLIES_MAX as usize);
        drop(permits);
        assert!(admission.acquire_large_reply_permit().is_some());
    }

    #[test]
    fn the_total_number_of_connections_is_limited() {
        let admission = admission(2, 10);
        let permits =
            [1, 2].map(|last| admission.admit_client_connection(IpAddr::from([192, 0, 2, last])));
        assert!(permits.iter().all(Option::is_some));
        assert!(admission.admit_client_connection(address("127.0.0.1")).is_none());
        assert_eq!(
            (admission.open_connections(), admission.refusal_counts_by_limit()[0]),
            (2, ("connections", 1))
        );
        drop(permits);
        assert_eq!(admission.open_connections(), 0);
    }

    #[test]
    fn a_refused_client_occupies_no_place() {
        let admission = admission(1, 0);
        assert!(admission.admit_client_connection(address("192.0.2.7")).is_none());
        assert_eq!(admission.open_connections(), 0);
        assert!(admission.admit_client_connection(address("127.0.0.1")).is_some());
    }

    #[test]
    fn behind_a_proxy_the_client_is_counted_and_not_the_proxy() {
        let admission = admission(10, 1);
        let [mut one, mut other] =
            [(), ()].map(|()| admission.admit_proxy_connection().expect("a place"));
        assert!(admission.assign_connection_to_client(&mut one, address("192.0.2.7")));
        assert!(!admission.assign_connection_to_client(&mut other, address("192.0.2.7")));
        assert!(admission.assign_connection_to_client(&mut other, address("192.0.2.8")));
        drop(one);
        assert!(admission.admit_client_connection(address("192.0.2.7")).is_some());
    }

    #[test]
    fn loopback_is_not_counted() {
        let admission = admission(10, 0);
        for loopback in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            assert!(admission.admit_client_connection(address(loopback)).is_some(), "{loopback}");
        }
    }
}
