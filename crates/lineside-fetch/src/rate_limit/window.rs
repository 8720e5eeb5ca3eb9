//! The moments that rates leave free, given sent and reserved requests.
//!
//! Everything is sorted times and arithmetic. Sent requests are facts; reservations are promises among the feeds that
//! share the limit, so that each can report when its request will be sent.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use crate::feed_config::RequestRate;

/// The requests counted against several rates at once.
#[derive(Debug)]
pub(super) struct RateWindow {
    /// Rates, none of which implies another. Bounded: one per feed that shares the limit.
    rates: Vec<RequestRate>,
    /// The times of sent requests, in order. Bounded by the largest count of the rates.
    sent: VecDeque<Duration>,
    /// Reserved times by ticket. Bounded: one per feed, and one for a redirect that it follows.
    reservations: BTreeMap<u64, Duration>,
    next_ticket: u64,
}

impl RateWindow {
    pub(super) fn new(rates: impl IntoIterator<Item = RequestRate>) -> RateWindow {
        let mut strict: Vec<RequestRate> = Vec::new();
        for rate in rates {
            if !strict.iter().any(|known| known.is_at_least_as_strict(rate)) {
                strict.retain(|known| !rate.is_at_least_as_strict(*known));
                strict.push(rate);
            }
        }
        let (sent, reserved) = (VecDeque::new(), BTreeMap::new());
        RateWindow { rates: strict, sent, reservations: reserved, next_ticket: 0 }
    }

    /// Returns true if both have the same rates.
    pub(super) fn has_same_rates(&self, other: &RateWindow) -> bool {
        let all_in = |some: &RateWindow, all: &RateWindow| {
            some.rates.iter().all(|it| all.rates.contains(it))
        };
        all_in(self, other) && all_in(other, self)
    }

    /// Adds the sent requests of another window.
    pub(super) fn merge_sent_requests(&mut self, other: &RateWindow) {
        let mut sent: Vec<Duration> = self.sent.iter().chain(&other.sent).copied().collect();
        sent.sort_unstable();
        let surplus = sent.len().saturating_sub(self.max_counted_requests());
        self.sent = sent.split_off(surplus).into();
    }

    /// Reserves the first free moment from `from` on.
    pub(super) fn reserve_request_time(
        &mut self,
        from: Duration,
        now: Duration,
    ) -> (u64, Duration) {
        let mut times: Vec<Duration> = self.sent.iter().copied().collect();
        // An overdue reservation is served as soon as possible.
        times.extend(self.reservations.values().map(|at| (*at).max(now)));
        times.sort_unstable();
        let at = first_time_free_for_rates(&times, &self.rates, from.max(now));
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.reservations.insert(ticket, at);
        (ticket, at)
    }

    pub(super) fn cancel_reservation(&mut self, ticket: u64) {
        self.reservations.remove(&ticket);
    }

    /// Returns `Ok` if sent requests leave room for another one now.
    ///
    /// # Errors
    /// Returns the time at which there will be room, unless others are sent meanwhile.
    pub(super) fn check_room_for_request(&self, now: Duration) -> Result<(), Duration> {
        let opens = |rate: &RequestRate| {
            let nth_last = self.sent.len().checked_sub(rate.max_requests())?;
            Some(*self.sent.get(nth_last)? + rate.period())
        };
        match self.rates.iter().filter_map(opens).max() {
            Some(opens) if opens > now => Err(opens),
            _ => Ok(()),
        }
    }

    /// Counts a request sent now.
    pub(super) fn record_sent_request(&mut self, now: Duration) {
        self.sent.push_back(now);
        let count_max = self.max_counted_requests();
        while self.sent.len() > count_max {
            self.sent.pop_front();
        }
    }

    /// Removes a request counted at this time that was not sent. The request that it displaced was already too old to
    /// matter.
    pub(super) fn remove_unsent_request(&mut self, at: Duration) {
        if let Some(start) = self.sent.iter().rposition(|sent| *sent == at) {
            self.sent.remove(start);
        }
    }

    fn max_counted_requests(&self) -> usize {
        self.rates.iter().map(|rate| rate.max_requests()).max().unwrap_or(0)
    }
}

/// Returns the first moment from `from` on that is free for each rate.
fn first_time_free_for_rates(
    times: &[Duration],
    rates: &[RequestRate],
    from: Duration,
) -> Duration {
    let mut at = from;
    loop {
        // Each rate only moves the moment later, and after the last time all rates have room.
        let moved = rates.iter().fold(at, |at, rate| {
            first_time_free_for_rate(times, rate.max_requests(), rate.period(), at)
        });
        if moved == at {
            return at;
        }
        at = moved;
    }
}

/// Returns the first moment from `from` on that can be added to `times` without a new period of `per` with more than
/// `count` of them. Visits each time once.
fn first_time_free_for_rate(
    times: &[Duration],
    count: usize,
    per: Duration,
    from: Duration,
) -> Duration {
    // The last index at which `count` times already fill a period by themselves.
    let mut full_from: Option<usize> = None;
    for gap in 0..times.len() {
        if gap > 0 && is_window_full_from(times, count, per, gap - 1) {
            full_from = Some(gap - 1);
        }
        // A moment within a full period would exceed the count.
        if full_from.is_some_and(|full| gap < full + count) {
            continue;
        }
        let earliest = earliest_time_before_next(times, count, per, gap).max(from);
        let before_next = times[gap];
        let latest_at_gap = match times.get(gap + count - 1) {
            Some(later) => later.checked_sub(per).map(|at| at.min(before_next)),
            None => Some(before_next),
        };
        if latest_at_gap.is_some_and(|latest| earliest <= latest) {
            return earliest;
        }
    }
    earliest_time_before_next(times, count, per, times.len()).max(from)
}

/// Returns true if the `count` times from `first` on are within less than `per`.
fn is_window_full_from(times: &[Duration], count: usize, per: Duration, first: usize) -> bool {
    times.get(first + count - 1).is_some_and(|last| *last - times[first] < per)
}

/// Returns the earliest moment for a request before the time at `gap`, given the preceding times.
fn earliest_time_before_next(
    times: &[Duration],
    count: usize,
    per: Duration,
    gap: usize,
) -> Duration {
    let previous = gap.checked_sub(1).map(|at| times[at]).unwrap_or_default();
    let opens = gap.checked_sub(count).map(|at| times[at] + per).unwrap_or_default();
    previous.max(opens)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(times: &[u64]) -> Vec<Duration> {
        times.iter().copied().map(Duration::from_secs).collect()
    }

    #[track_caller]
    fn check(times: &[u64], count: usize, from: u64, expect: u64) {
        let at = first_time_free_for_rate(
            &seconds(times),
            count,
            Duration::from_secs(60),
            Duration::from_secs(from),
        );
        assert_eq!(at, Duration::from_secs(expect), "{times:?} with {count} in 60 s, from {from}");
    }

    #[test]
    fn the_first_free_moment_is_found() {
        check(&[], 1, 5, 5);
        check(&[0], 1, 5, 60);
        check(&[0], 2, 5, 5);
        check(&[0, 5], 2, 6, 60);
        check(&[0, 5], 2, 61, 61);
        // There is room before a later reservation, if that one keeps its own.
        check(&[0, 200], 1, 70, 70);
        check(&[0, 100], 1, 70, 160);
        check(&[0, 100, 110], 2, 10, 10);
        check(&[0, 100, 110], 2, 45, 45);
        check(&[0, 100, 110], 2, 55, 160);
    }

    #[test]
    fn an_undone_start_frees_its_slot() {
        let mut window = RateWindow::new([RequestRate::parse("2/min").unwrap()]);
        for at in [0, 30, 60] {
            let at = Duration::from_secs(at);
            assert_eq!(window.check_room_for_request(at), Ok(()));
            window.record_sent_request(at);
        }
        assert_eq!(
            window.check_room_for_request(Duration::from_secs(61)),
            Err(Duration::from_secs(90))
        );
        window.remove_unsent_request(Duration::from_secs(60));
        assert_eq!(window.check_room_for_request(Duration::from_secs(61)), Ok(()));
        window.remove_unsent_request(Duration::from_secs(7));
        window.record_sent_request(Duration::from_secs(61));
        assert_eq!(
            window.check_room_for_request(Duration::from_secs(62)),
            Err(Duration::from_secs(90))
        );
    }

    fn holds(mut times: Vec<Duration>, rate: RequestRate) -> bool {
        times.sort_unstable();
        times
            .windows(rate.max_requests() + 1)
            .all(|some| some[rate.max_requests()] - some[0] >= rate.period())
    }

    proptest! {
        #[test]
        fn a_reservation_is_the_first_moment_that_all_rates_allow(
            wishes in proptest::collection::vec(0_u64..400, 1..40),
            rates in proptest::collection::vec((1_u32..6, 0_usize..2), 1..3),
        ) {
            let units = ["s", "min"];
            let rates: Vec<RequestRate> = rates
                .into_iter()
                .map(|(count, unit)| RequestRate::parse(&format!("{count}/{}", units[unit])).unwrap())
                .collect();
            let mut window = RateWindow::new(rates.clone());
            for from in seconds(&wishes) {
                let before: Vec<Duration> = window.reservations.values().copied().collect();
                let (_, at) = window.reserve_request_time(from, Duration::ZERO);
                prop_assert!(at >= from);
                // All times are whole seconds, so each can be tried.
                let tried = (from.as_secs()..=at.as_secs()).map(Duration::from_secs);
                let first = tried.into_iter().find(|at| {
                    let with = || before.iter().copied().chain([*at]).collect();
                    rates.iter().all(|rate| holds(with(), *rate))
                });
                prop_assert_eq!(first, Some(at));
            }
        }
    }
}
