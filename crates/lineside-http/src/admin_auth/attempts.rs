//! Rate limit on wrong tokens and keys, per address.
//!
//! Ten attempts at once, then one every six seconds. An address is remembered until its failures have expired, up to a
//! limit of addresses; neighbours in one IPv6 network count as one.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use lineside_config::client_network::client_limit_key;
use parking_lot::Mutex;

/// Time that each failed attempt adds to an address's debt.
const PAUSE: Duration = Duration::from_secs(6);
/// Failed attempts in a row before an address has to wait.
const ATTEMPTS_MAX: u32 = 10;
/// Largest number of remembered addresses; beyond it, the one with the least debt is forgotten.
const ADDRESSES_MAX: usize = 4_096;

/// The failed attempts by address, each as the monotonic time at which its debt has expired.
#[derive(Debug, Default)]
pub(super) struct FailedAttempts(Mutex<HashMap<IpAddr, Duration>>);

impl FailedAttempts {
    /// Allows an attempt by an address at `now`, on a monotonic clock.
    ///
    /// # Errors
    /// Returns the time that the address has to wait.
    pub(super) fn check_address_not_blocked(
        &self,
        address: IpAddr,
        now: Duration,
    ) -> Result<(), Duration> {
        let forgiven = self.0.lock().get(&client_limit_key(address)).copied().unwrap_or_default();
        let penalty_left = forgiven.saturating_sub(now) + PAUSE;
        match penalty_left.checked_sub(PAUSE * ATTEMPTS_MAX).filter(|wait| !wait.is_zero()) {
            Some(wait) => Err(wait),
            None => Ok(()),
        }
    }

    pub(super) fn count_failure(&self, address: IpAddr, now: Duration) {
        let mut addresses = self.0.lock();
        let address = client_limit_key(address);
        if addresses.len() >= ADDRESSES_MAX && !addresses.contains_key(&address) {
            addresses.retain(|_, forgiven| *forgiven > now);
            let oldest = addresses.iter().min_by_key(|(_, forgiven)| **forgiven);
            let oldest = oldest.filter(|_| addresses.len() >= ADDRESSES_MAX).map(|(it, _)| *it);
            oldest.map(|oldest| addresses.remove(&oldest));
        }
        let forgiven = addresses.entry(address).or_default();
        *forgiven = now.max(*forgiven) + PAUSE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1_000);

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// Counts the failed attempts until the address has to wait.
    fn failures(attempts: &FailedAttempts, from: IpAddr, now: Duration) -> u32 {
        let mut failed = 0;
        while attempts.check_address_not_blocked(from, now).is_ok() {
            attempts.count_failure(from, now);
            failed += 1;
            assert!(failed < 1_000, "the address is never blocked");
        }
        failed
    }

    #[test]
    fn only_the_address_with_too_many_failures_has_to_wait() {
        let attempts = FailedAttempts::default();
        let (one, other) = (address("192.0.2.1"), address("192.0.2.2"));
        assert_eq!(failures(&attempts, one, NOW), ATTEMPTS_MAX);
        assert_eq!(attempts.check_address_not_blocked(one, NOW), Err(PAUSE));
        assert_eq!(attempts.check_address_not_blocked(other, NOW), Ok(()));
        assert_eq!(failures(&attempts, one, NOW + PAUSE), 1);
        assert_eq!(failures(&attempts, one, NOW + PAUSE * 1_000), ATTEMPTS_MAX);
    }

    #[test]
    fn addresses_of_one_ipv6_network_are_counted_together() {
        let attempts = FailedAttempts::default();
        assert_eq!(failures(&attempts, address("2001:db8::1"), NOW), ATTEMPTS_MAX);
        assert!(attempts.check_address_not_blocked(address("2001:db8::ffff:2"), NOW).is_err());
        assert!(attempts.check_address_not_blocked(address("2001:db8:0:1::1"), NOW).is_ok());
        assert_eq!(failures(&attempts, address("192.0.2.1"), NOW), ATTEMPTS_MAX);
        assert!(attempts.check_address_not_blocked(address("::ffff:192.0.2.1"), NOW).is_err());
    }

    #[test]
    fn remembered_addresses_are_bounded_and_blocked_ones_evicted_last() {
        let attempts = FailedAttempts::default();
        let blocked = address("192.0.2.1");
        failures(&attempts, blocked, NOW);
        for n in 0..2 * ADDRESSES_MAX as u32 {
            attempts.count_failure(IpAddr::V4((0x0A00_0000 + n).into()), NOW);
        }
        assert_eq!(attempts.0.lock().len(), ADDRESSES_MAX);
        assert!(
            attempts.check_address_not_blocked(blocked, NOW).is_err(),
            "the blocked address is evicted last"
        );
    }
}
