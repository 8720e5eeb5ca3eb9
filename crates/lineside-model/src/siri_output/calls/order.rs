//! The order of a journey's calls in time: the number of past calls, and times that never decrease.

use super::{CallToEncode, StopCallTimes};

/// Counts the past calls: all up to the last one known to be over. Calls before the first prediction are over if their
/// scheduled time has passed, because producers drop past calls.
pub(in crate::siri_output) fn count_past_calls(calls: &[CallToEncode<'_>], at: i64) -> usize {
    let is_before = |time: Option<i64>| time.is_some_and(|time| time < at);
    let known = calls.iter().rposition(|call| is_before(call.expected_completion_time()));
    let known = known.map_or(0, |last| last + 1);
    let first = first_predicted_index(calls);
    let without_prediction =
        calls[..first].iter().take_while(|call| is_before(call.aimed_completion_time())).count();
    // An early vehicle has passed calls that are scheduled later than its expected arrival at the next one.
    let has_begun = calls.first().is_some_and(|call| is_before(call.aimed_completion_time()));
    let due = calls
        .get(first)
        .and_then(CallToEncode::expected_arrival_or_departure)
        .filter(|_| has_begun);
    let is_after =
        |call: &CallToEncode<'_>| due.zip(call.aimed_completion_time()).is_some_and(|(a, b)| a < b);
    let passed_early = calls[..first].iter().rposition(is_after).map_or(0, |last| last + 1);
    known.max(without_prediction).max(passed_early)
}

/// Returns true if all calls have an increasing `stop_sequence` from 1 on, as `Order` requires.
pub(in crate::siri_output) fn are_sequences_increasing(
    sequences: impl Iterator<Item = Option<u32>>,
) -> bool {
    let mut last = Some(0);
    let mut sequences = sequences;
    sequences.all(|sequence| {
        let rises = sequence > last;
        last = sequence;
        rises
    })
}

/// Returns the index of the first call with a predicted time; 0 if there is none.
fn first_predicted_index(calls: &[CallToEncode<'_>]) -> usize {
    calls.iter().position(|call| call.expected_completion_time().is_some()).unwrap_or(0)
}

/// Removes predicted times from past calls. A vehicle's delay predicts the future calls, but not the times of past
/// ones.
pub(in crate::siri_output) fn clear_past_predictions(past_calls: &mut [CallToEncode<'_>]) {
    for call in past_calls {
        call.expected = StopCallTimes::default();
    }
}

/// Adjusts the times of arrivals and departures without a prediction where scheduled times would decrease. A skipped
/// call gets the delay of the preceding call, else of the next one, no time is later than the next prediction, and none
/// is earlier than the preceding one.
pub(in crate::siri_output) fn adjust_decreasing_times(calls: &mut [CallToEncode<'_>]) {
    propagate_delays_to_skipped_calls(calls);
    let mut next = None;
    for event in iter_arrivals_and_departures(calls).rev() {
        if let (None, Some(time), Some(next)) =
            (event.expected, event.propagated_or_aimed_time(), next)
            && time > next
        {
            *event.propagated = Some(next);
        }
        next = event.expected.or(*event.propagated).or(next);
    }
    let mut last = None;
    for event in iter_arrivals_and_departures(calls) {
        if let (None, Some(time), Some(last)) =
            (event.expected, event.propagated_or_aimed_time(), last)
            && time < last
        {
            *event.propagated = Some(last);
        }
        last = event.expected.or(*event.propagated).or(last);
    }
}

fn propagate_delays_to_skipped_calls(calls: &mut [CallToEncode<'_>]) {
    let mut delay = None;
    for call in calls.iter_mut() {
        if call.is_skipped {
            call.propagated = add_delay_to_times(call.aimed, delay);
        } else {
            delay = call.delay_seconds();
        }
    }
    // No delay precedes the first calls of a journey, or the first ones that its producer still reports.
    delay = None;
    for call in calls.iter_mut().rev() {
        if !call.is_skipped {
            delay = call.delay_seconds();
        } else if (call.propagated.arrival, call.propagated.departure) == (None, None) {
            call.propagated = add_delay_to_times(call.aimed, delay);
        }
    }
}

fn add_delay_to_times(aimed: StopCallTimes, delay: Option<i64>) -> StopCallTimes {
    let shift = |time: Option<i64>| Some(time?.saturating_add(delay?));
    StopCallTimes { arrival: shift(aimed.arrival), departure: shift(aimed.departure) }
}

/// An arrival or a departure.
struct CallEvent<'c> {
    aimed: Option<i64>,
    expected: Option<i64>,
    propagated: &'c mut Option<i64>,
}

impl CallEvent<'_> {
    /// Returns the time of an event without a prediction.
    fn propagated_or_aimed_time(&self) -> Option<i64> {
        self.propagated.or(self.aimed)
    }
}

/// Returns the arrivals and departures in the order of the journey.
fn iter_arrivals_and_departures<'c>(
    calls: &'c mut [CallToEncode<'_>],
) -> impl DoubleEndedIterator<Item = CallEvent<'c>> {
    calls.iter_mut().flat_map(|call| {
        let CallToEncode {
            aimed, expected, propagated: StopCallTimes { arrival, departure }, ..
        } = call;
        [
            CallEvent { aimed: aimed.arrival, expected: expected.arrival, propagated: arrival },
            CallEvent {
                aimed: aimed.departure,
                expected: expected.departure,
                propagated: departure,
            },
        ]
    })
}
