//! The order of a journey's calls in time: which of them are over, and times that never run backwards.

use super::{PlannedCall, StopCallTimes};

/// How many of the calls are over at a moment: all up to the last one of which that is known. What lies before the
/// first prediction is over if its time by the timetable is, because producers leave out what is.
pub(in crate::siri) fn count_past_calls(calls: &[PlannedCall<'_>], at: i64) -> usize {
    let is_before = |time: Option<i64>| time.is_some_and(|time| time < at);
    let known = calls.iter().rposition(|call| is_before(call.through_time()));
    let known = known.map_or(0, |last| last + 1);
    let first = first_predicted_index(calls);
    let unsaid =
        calls[..first].iter().take_while(|call| is_before(call.aimed_through_time())).count();
    // An early vehicle has passed calls that are planned later than it is expected at the next one.
    let has_begun = calls.first().is_some_and(|call| is_before(call.aimed_through_time()));
    let due = calls.get(first).and_then(PlannedCall::expected_arrival).filter(|_| has_begun);
    let is_after =
        |call: &PlannedCall<'_>| due.zip(call.aimed_through_time()).is_some_and(|(a, b)| a < b);
    let passed_early = calls[..first].iter().rposition(is_after).map_or(0, |last| last + 1);
    known.max(unsaid).max(passed_early)
}

/// Whether all calls have a `stop_sequence` from 1 on that rises, as `Order` has to.
pub(in crate::siri) fn have_rising_sequences(sequences: impl Iterator<Item = Option<u32>>) -> bool {
    let mut last = Some(0);
    let mut sequences = sequences;
    sequences.all(|sequence| {
        let rises = sequence > last;
        last = sequence;
        rises
    })
}

/// The number of the first call with a predicted time; 0 where there is none.
fn first_predicted_index(calls: &[PlannedCall<'_>]) -> usize {
    calls.iter().position(|call| call.through_time().is_some()).unwrap_or(0)
}

/// Removes predicted times from calls that are over. The delay of a vehicle says when it will be at the calls to come, and
/// not when it was at those before.
pub(in crate::siri) fn clear_past_predictions(over: &mut [PlannedCall<'_>]) {
    for call in over {
        call.expected = StopCallTimes::default();
    }
}

/// Gives times to arrivals and departures of which nothing is predicted where planned times would run backwards. A call
/// that is left out has the delay of the call before it, no time is later than the next prediction, and none is earlier
/// than the prediction before it.
pub(in crate::siri) fn enforce_time_order(calls: &mut [PlannedCall<'_>]) {
    carry_delays_to_skipped_calls(calls);
    let mut next = None;
    for event in events(calls).rev() {
        if let (None, Some(time), Some(next)) = (event.expected, event.time(), next)
            && time > next
        {
            *event.carried = Some(next);
        }
        next = event.expected.or(*event.carried).or(next);
    }
    let mut last = None;
    for event in events(calls) {
        if let (None, Some(time), Some(last)) = (event.expected, event.time(), last)
            && time < last
        {
            *event.carried = Some(last);
        }
        last = event.expected.or(*event.carried).or(last);
    }
}

fn carry_delays_to_skipped_calls(calls: &mut [PlannedCall<'_>]) {
    let mut delay = None;
    for call in calls {
        if call.is_skipped {
            let late = |aimed: Option<i64>| Some(aimed?.saturating_add(delay?));
            let StopCallTimes { arrival, departure } = call.aimed;
            call.carried = StopCallTimes { arrival: late(arrival), departure: late(departure) };
        } else {
            delay = call.delay_seconds();
        }
    }
}

/// An arrival or a departure.
struct CallEvent<'c> {
    aimed: Option<i64>,
    expected: Option<i64>,
    carried: &'c mut Option<i64>,
}

impl CallEvent<'_> {
    /// Its time where nothing is predicted of it.
    fn time(&self) -> Option<i64> {
        self.carried.or(self.aimed)
    }
}

/// The arrivals and departures in the order of the journey.
fn events<'c>(calls: &'c mut [PlannedCall<'_>]) -> impl DoubleEndedIterator<Item = CallEvent<'c>> {
    calls.iter_mut().flat_map(|call| {
        let PlannedCall { aimed, expected, carried: StopCallTimes { arrival, departure }, .. } =
            call;
        [
            CallEvent { aimed: aimed.arrival, expected: expected.arrival, carried: arrival },
            CallEvent { aimed: aimed.departure, expected: expected.departure, carried: departure },
        ]
    })
}
