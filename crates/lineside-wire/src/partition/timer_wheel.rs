//! A timer wheel: slots of one second for all rows of a partition.
//!
//! A row is scheduled once, at the earliest of its deadlines. If that moves to an earlier second, the row is scheduled
//! again, and the later entry does nothing. So a row costs nothing between its deadlines.

use std::time::Duration;

/// The range of the wheel in seconds; a row that is due later is checked after that time and scheduled again.
const SLOTS: u32 = 32;

#[derive(Debug)]
pub(super) struct TimerWheel {
    slots: [Vec<u32>; SLOTS as usize],
    /// The last second that was handled.
    at: u32,
}

impl TimerWheel {
    pub(super) fn new(now: Duration) -> Self {
        Self { slots: std::array::from_fn(|_| Vec::new()), at: to_whole_second(now) }
    }

    /// Schedules a row for the second after `due`, or for the last second of the wheel. Returns the second.
    pub(super) fn schedule_row(&mut self, row: u32, due: Duration) -> u32 {
        let due = to_whole_second(due).saturating_add(1);
        let due = due.clamp(self.at + 1, self.at + SLOTS - 1);
        self.slots[(due % SLOTS) as usize].push(row);
        due
    }

    /// Adds the rows scheduled up to `now`, each with its second.
    pub(super) fn take_due_rows(&mut self, now: Duration, into: &mut Vec<(u32, u32)>) {
        let now = to_whole_second(now);
        // After a long sleep each slot is visited once.
        let from = self.at.max(now.saturating_sub(SLOTS)) + 1;
        for at in from..=now {
            self.at = at;
            into.extend(self.slots[(at % SLOTS) as usize].drain(..).map(|row| (row, at)));
        }
        self.at = self.at.max(now);
    }

    /// Returns the time until the next second ends.
    pub(super) fn until_next_second(&self, now: Duration) -> Duration {
        Duration::from_secs(u64::from(self.at) + 1).saturating_sub(now)
    }
}

fn to_whole_second(at: Duration) -> u32 {
    u32::try_from(at.as_secs()).unwrap_or(u32::MAX - SLOTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(wheel: &mut TimerWheel, millis: u64) -> Vec<u32> {
        let mut rows = Vec::new();
        wheel.take_due_rows(Duration::from_millis(millis), &mut rows);
        rows.into_iter().map(|(row, _)| row).collect()
    }

    #[test]
    fn a_row_is_due_once_in_the_second_after_its_time() {
        let mut wheel = TimerWheel::new(Duration::from_millis(10_500));
        wheel.schedule_row(7, Duration::from_millis(12_300));
        wheel.schedule_row(8, Duration::from_millis(10_600));
        assert!(due(&mut wheel, 10_999).is_empty());
        assert_eq!(due(&mut wheel, 11_000), [8]);
        assert!(due(&mut wheel, 12_999).is_empty());
        assert_eq!(due(&mut wheel, 13_000), [7]);
        assert!(due(&mut wheel, 99_000).is_empty());
    }

    #[test]
    fn a_row_beyond_the_wheel_is_due_early() {
        let mut wheel = TimerWheel::new(Duration::ZERO);
        let second = wheel.schedule_row(1, Duration::from_secs(3_600));
        assert_eq!(second, SLOTS - 1);
        assert_eq!(due(&mut wheel, 31_000), [1]);
    }

    #[test]
    fn overdue_rows_are_found_after_a_long_sleep() {
        let mut wheel = TimerWheel::new(Duration::ZERO);
        for row in 0..31 {
            wheel.schedule_row(row, Duration::from_secs(row.into()));
        }
        wheel.schedule_row(99, Duration::ZERO);
        let mut rows = due(&mut wheel, 1_000_000);
        rows.sort_unstable();
        assert_eq!(rows.len(), 32);
        assert_eq!(
            wheel.schedule_row(5, Duration::from_secs(3)),
            1_001,
            "a time in the past is due in the next slot"
        );
    }

    #[test]
    fn the_wheel_waits_until_the_end_of_the_second() {
        let wheel = TimerWheel::new(Duration::from_millis(10_500));
        assert_eq!(
            wheel.until_next_second(Duration::from_millis(10_700)),
            Duration::from_millis(300)
        );
        assert_eq!(wheel.until_next_second(Duration::from_secs(20)), Duration::ZERO);
    }
}
