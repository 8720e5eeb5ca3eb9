//! A rate limit on the input of a connection: a leaky bucket.

use std::time::Duration;

use super::ClientLimits;
use super::limits::BYTES_PER_COMMAND;

/// The units per command in which the level is counted, so that short waits count too.
const PARTS: u64 = 1_000;

#[derive(Debug)]
pub(super) struct CommandRateLimiter {
    level: u64,
    /// The time of the level.
    at: Duration,
}

impl CommandRateLimiter {
    pub(super) fn new(now: Duration) -> Self {
        Self { level: 0, at: now }
    }

    /// Counts a command of `bytes` bytes; returns false if it exceeds the limit.
    pub(super) fn count_command_within_limit(
        &mut self,
        bytes: usize,
        now: Duration,
        limits: &ClientLimits,
    ) -> bool {
        let elapsed = now.saturating_sub(self.at).as_millis();
        let elapsed = u64::try_from(elapsed).unwrap_or(u64::MAX);
        let leaked = elapsed.saturating_mul(limits.commands_per_second.into());
        // Carries the fraction of a millisecond over to the next call.
        self.at += Duration::from_millis(elapsed);
        let cost = 1 + (bytes / BYTES_PER_COMMAND) as u64;
        self.level = self.level.saturating_sub(leaked).saturating_add(cost * PARTS);
        self.level <= u64::from(limits.commands_burst) * PARTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_allowed_and_a_flood_is_refused() {
        let limits =
            ClientLimits { commands_burst: 10, commands_per_second: 2, ..ClientLimits::default() };
        let mut meter = CommandRateLimiter::new(Duration::ZERO);
        assert!((0..10).all(|_| meter.count_command_within_limit(20, Duration::ZERO, &limits)));
        assert!(!meter.count_command_within_limit(20, Duration::ZERO, &limits));
        let mut meter = CommandRateLimiter::new(Duration::ZERO);
        assert!((0..1_000_u64).all(|n| meter.count_command_within_limit(
            20,
            Duration::from_millis(n * 500),
            &limits
        )));
        assert!(
            !meter.count_command_within_limit(100 << 10, Duration::from_secs(500), &limits),
            "the size of a command is charged, too"
        );
    }
}
