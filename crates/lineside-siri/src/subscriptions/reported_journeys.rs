//! The last version of a journey or visit that a subscriber received, in compact form: the expected times, and a hash
//! of the rest. It distinguishes times that moved less than the subscriber's threshold from other changes.

use std::collections::HashMap;

use lineside_formats::siri::{CallStatus, SiriCall, SiriTime, VehicleJourney};
use xxhash_rust::xxh3::xxh3_128;

/// Largest number of times remembered for one subscription, 4 bytes each: about 2,000 journeys of 25 calls. Journeys
/// beyond it are sent at every change, however small.
const TIMES_MAX: usize = 100_000;
/// Largest number of journeys whose times are remembered.
const JOURNEYS_MAX: usize = 20_000;
/// Seconds that a journey is remembered after its last time, or after its delivery if it has no times.
const RETENTION_SECONDS: i64 = 60 * 60;

/// The value of a missing time.
const NO_TIME: u32 = 0;

/// A journey as it was last sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReportedJourney {
    /// Hash of everything except the expected times, the call statuses that follow from them, and the time of
    /// recording.
    hash: u128,
    /// Expected times in order, Unix seconds.
    times: Box<[u32]>,
}

impl ReportedJourney {
    /// Condenses a journey; `context` is the visit's other content, which the hash includes.
    pub(super) fn from_journey(journey: &VehicleJourney, context: &str) -> Self {
        let mut timeless = journey.clone();
        let mut times = Vec::new();
        timeless.recorded_at_time = None;
        timeless.delay = None;
        for call in calls_mut(&mut timeless) {
            times.extend([
                unix_seconds(call.expected_arrival_time.take()),
                unix_seconds(call.expected_departure_time.take()),
            ]);
            for status in [&mut call.arrival_status, &mut call.departure_status] {
                status.take_if(|status| is_derived_from_times(*status));
            }
        }
        let hash = xxh3_128(format!("{context}{timeless:?}").as_bytes());
        Self { hash, times: times.into() }
    }

    /// Returns true if this differs from `before`: in an expected time by `change_min` seconds or more, or in anything
    /// else.
    pub(super) fn is_reportable_change(&self, before: &Self, change_min: u32) -> bool {
        let differs = |(now, before): (&u32, &u32)| {
            now != before
                && (*now == NO_TIME || *before == NO_TIME || now.abs_diff(*before) >= change_min)
        };
        self.hash != before.hash
            || self.times.len() != before.times.len()
            || self.times.iter().zip(&before.times).any(differs)
    }

    fn last_expected_time(&self) -> Option<i64> {
        self.times.iter().max().copied().filter(|&time| time != NO_TIME).map(i64::from)
    }
}

fn is_derived_from_times(status: CallStatus) -> bool {
    matches!(status, CallStatus::OnTime | CallStatus::Early | CallStatus::Delayed)
}

fn calls_mut(journey: &mut VehicleJourney) -> impl Iterator<Item = &mut SiriCall> {
    let monitored = journey.monitored_call.iter_mut().map(|call| &mut **call);
    monitored.chain(&mut journey.onward_calls).chain(&mut journey.estimated_calls)
}

fn unix_seconds(time: Option<SiriTime>) -> u32 {
    time.and_then(|time| u32::try_from(time.as_seconds()).ok()).unwrap_or(NO_TIME)
}

/// The journeys that a subscriber received. Bound: [`TIMES_MAX`], [`JOURNEYS_MAX`].
#[derive(Clone, Debug, Default)]
pub(super) struct ReportedJourneys {
    journeys: HashMap<u128, (ReportedJourney, i64)>,
    n_times: usize,
}

impl ReportedJourneys {
    /// Returns true if a journey is news for the subscriber, with changes of times from `change_min` seconds, and
    /// remembers it as sent at `now`, Unix seconds. A journey that is not news stays remembered as it was last sent.
    pub(super) fn remember_if_changed(
        &mut self,
        journey: &VehicleJourney,
        change_min: u32,
        now: i64,
    ) -> bool {
        let (name, reported_journey) =
            (journey_hash(journey), ReportedJourney::from_journey(journey, ""));
        if let Some((before, _)) = self.journeys.get(&name) {
            if !reported_journey.is_reportable_change(before, change_min) {
                return false;
            }
            self.n_times -= before.times.len();
            self.journeys.remove(&name);
        }
        let n_times = self.n_times + reported_journey.times.len();
        if n_times <= TIMES_MAX && self.journeys.len() < JOURNEYS_MAX {
            let until =
                reported_journey.last_expected_time().unwrap_or(now).max(now) + RETENTION_SECONDS;
            self.n_times = n_times;
            self.journeys.insert(name, (reported_journey, until));
        }
        true
    }

    /// Forgets journeys that are over at `now`, Unix seconds.
    pub(super) fn forget_past_journeys(&mut self, now: i64) {
        self.journeys.retain(|_, (journey, until)| {
            let is_recent = *until > now;
            self.n_times -= if is_recent { 0 } else { journey.times.len() };
            is_recent
        });
    }
}

/// Hashes the identity of a journey.
fn journey_hash(journey: &VehicleJourney) -> u128 {
    let VehicleJourney {
        data_source,
        line_ref,
        framed_vehicle_journey_ref,
        dated_vehicle_journey_ref,
        estimated_vehicle_journey_code,
        origin_aimed_departure_time,
        ..
    } = journey;
    let name = (
        data_source,
        line_ref,
        framed_vehicle_journey_ref,
        dated_vehicle_journey_ref,
        estimated_vehicle_journey_code,
        origin_aimed_departure_time,
    );
    xxh3_128(format!("{name:?}").as_bytes())
}

#[cfg(test)]
mod tests {
    use lineside_formats::siri::DurationSeconds;

    use super::*;

    fn journey(id: &str, times: &[i64]) -> VehicleJourney {
        let call = |&at: &i64| SiriCall {
            expected_departure_time: SiriTime::from_millis(at * 1_000),
            departure_status: Some(if at > 1_000 {
                CallStatus::Delayed
            } else {
                CallStatus::OnTime
            }),
            ..SiriCall::default()
        };
        VehicleJourney {
            dated_vehicle_journey_ref: Some(id.into()),
            recorded_at_time: SiriTime::from_millis(times.len() as i64),
            delay: times.first().map(|&at| DurationSeconds(at as i32)),
            estimated_calls: times.iter().map(call).collect(),
            ..VehicleJourney::default()
        }
    }

    #[test]
    fn a_time_change_is_measured_from_the_last_reported_time() {
        let mut known = ReportedJourneys::default();
        let mut report_times =
            |times: &[i64]| known.remember_if_changed(&journey("a", times), 60, 0);
        assert!(report_times(&[990, 2_000]));
        assert!(!report_times(&[1_020, 2_000]), "the status is derived from the time");
        assert!(!report_times(&[1_049, 1_941]));
        assert!(report_times(&[1_050, 2_000]), "a minute after the last report");
        assert!(!report_times(&[991, 2_000]));
        assert!(report_times(&[1_050]), "a call was removed");
    }

    #[test]
    fn changes_other_than_times_and_new_times_are_always_reported() {
        let mut known = ReportedJourneys::default();
        let mut a = journey("a", &[1_000]);
        assert!(
            known.remember_if_changed(&a, 3_600, 0) && !known.remember_if_changed(&a, 3_600, 0)
        );
        a.cancellation = Some(true);
        assert!(known.remember_if_changed(&a, 3_600, 0));
        a.estimated_calls[0].departure_status = Some(CallStatus::Arrived);
        assert!(known.remember_if_changed(&a, 3_600, 0), "the journey is remembered");
        a.estimated_calls[0].expected_departure_time = None;
        assert!(known.remember_if_changed(&a, 3_600, 0));
        // Each journey counts separately.
        assert!(known.remember_if_changed(&journey("b", &[1_000]), 3_600, 0));
    }

    #[test]
    fn past_journeys_are_forgotten_and_remembered_times_are_limited() {
        let mut known = ReportedJourneys::default();
        let calls = vec![1_000; 50];
        for n in 0..=TIMES_MAX / 100 {
            assert!(known.remember_if_changed(&journey(&n.to_string(), &calls), 60, 0));
        }
        assert_eq!((known.journeys.len(), known.n_times), (TIMES_MAX / 100, TIMES_MAX));
        let beyond = journey(&(TIMES_MAX / 100).to_string(), &calls);
        assert!(known.remember_if_changed(&beyond, 60, 0), "a forgotten journey is sent again");
        known.forget_past_journeys(1_000 + RETENTION_SECONDS - 1);
        assert_eq!(known.n_times, TIMES_MAX);
        known.forget_past_journeys(1_000 + RETENTION_SECONDS);
        assert_eq!((known.journeys.len(), known.n_times), (0, 0));
    }
}
