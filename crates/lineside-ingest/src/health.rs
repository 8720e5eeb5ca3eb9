//! Expected content of a realtime feed, to detect feeds that answer but report too little.
//!
//! The timetable gives the number of running trips. The share of them that a feed reports is its own: it may know only
//! one line's vehicles, or also trips that have not begun. So the share is learnt from the messages, fast while they
//! are usual and slowly while they are not: a feed that permanently reports less counts as healthy after some hours.

use crate::status::ACTIVE_TRIPS_MIN;
use crate::status::ContentExpectation;
use crate::status::SHARE_MIN;
use std::time::Duration;

use lineside_formats::gtfs_rt::{EntityPayloadKinds, SplitFeedMessage};
use lineside_sync::UnixMillis;
use xxhash_rust::xxh3::xxh3_64;

/// The time for which a feed is observed before its usual content is known.
const LEARN_TIME: Duration = Duration::from_secs(10 * 60);
/// Weight of one message in the usual share, and of one with too little content.
const LEARNING_RATE: f64 = 0.02;
const LEARNING_RATE_UNUSUAL: f64 = 0.001;

/// The content that one feed has reported so far.
#[derive(Debug, Default)]
pub(crate) struct ReportedContentHistory {
    /// Trips and vehicles in the last message.
    n_reported: u32,
    /// True if any message, also of an earlier process, contained trips or vehicles. A feed without them may have
    /// another purpose, such as alerts.
    has_trip_data: bool,
    /// A hash of the trips and vehicles, without the message's timestamp.
    content_hash: u64,
    /// The time of the last message, and of the first one with the same content.
    last_message_at: UnixMillis,
    unchanged_since: UnixMillis,
    /// Reported entities per running trip, and the time since which this is learnt.
    usual_share: Option<(f64, UnixMillis)>,
}

impl ReportedContentHistory {
    /// Records that the feed reported trips or vehicles before this process started.
    pub(crate) fn mark_trips_reported_earlier(&mut self) {
        self.has_trip_data = true;
    }

    /// Records the content of a message, at a time with `n_active` running trips.
    pub(crate) fn record_message_content(
        &mut self,
        message: &SplitFeedMessage,
        n_active: Option<u32>,
        now: UnixMillis,
    ) {
        let mut n_reported = 0;
        let mut hashes = Vec::new();
        for entity in message.entities.iter().filter(|entity| !entity.is_deleted) {
            if entity.payload.contains(EntityPayloadKinds::VEHICLE)
                || entity.payload.contains(EntityPayloadKinds::TRIP_UPDATE)
            {
                n_reported += 1;
                hashes.extend_from_slice(&entity.hash.to_le_bytes());
            }
        }
        let has_trip_data = self.has_trip_data || n_reported > 0;
        if message.is_differential() {
            // A differential message contains only changes, not the whole content.
            *self = ReportedContentHistory { has_trip_data, ..ReportedContentHistory::default() };
            return;
        }
        self.has_trip_data = has_trip_data;
        let print = xxh3_64(&hashes);
        if print != self.content_hash || self.unchanged_since == UnixMillis::default() {
            self.unchanged_since = now;
        }
        (self.n_reported, self.content_hash, self.last_message_at) = (n_reported, print, now);
        self.update_usual_trip_share(n_active, now);
    }

    /// Records that the feed returned the same bytes again.
    pub(crate) fn record_unchanged_message(&mut self, now: UnixMillis) {
        if self.last_message_at != UnixMillis::default() {
            self.last_message_at = now;
        }
    }

    fn update_usual_trip_share(&mut self, n_active: Option<u32>, now: UnixMillis) {
        let Some(n_active) = n_active.filter(|n_active| *n_active >= ACTIVE_TRIPS_MIN) else {
            return;
        };
        let share = f64::from(self.n_reported) / f64::from(n_active);
        match &mut self.usual_share {
            // A feed that has never reported a trip has another purpose.
            None if self.n_reported == 0 => {}
            None => self.usual_share = Some((share, now)),
            Some((typical, _)) => {
                let weight = if share < *typical * SHARE_MIN {
                    LEARNING_RATE_UNUSUAL
                } else {
                    LEARNING_RATE
                };
                *typical += (share - *typical) * weight;
            }
        }
    }

    /// Returns the expected content while `n_active` trips run.
    pub(crate) fn expected_content(
        &self,
        n_active: Option<u32>,
        now: UnixMillis,
    ) -> ContentExpectation {
        let share = self.usual_share.filter(|(_, since)| now.duration_since(*since) >= LEARN_TIME);
        let typical = share.zip(n_active).map(|((share, _), n_active)| share * f64::from(n_active));
        let ReportedContentHistory {
            n_reported,
            has_trip_data,
            last_message_at,
            unchanged_since,
            ..
        } = *self;
        ContentExpectation {
            n_active_trips: n_active,
            n_expected: typical,
            n_reported,
            has_trip_data,
            last_message_at,
            unchanged_since,
        }
    }
}

#[cfg(test)]
mod tests {
    use lineside_formats::gtfs_rt::proto;
    use proptest::prelude::*;

    use super::*;

    /// Returns a message of `n` vehicles; `step` is their progress.
    fn message(n: u32, step: u32) -> SplitFeedMessage {
        let entity = (0..n).map(|number| proto::FeedEntity {
            id: number.to_string(),
            vehicle: Some(proto::VehiclePosition {
                current_stop_sequence: Some(step),
                ..proto::VehiclePosition::default()
            }),
            ..proto::FeedEntity::default()
        });
        let message =
            proto::FeedMessage { entity: entity.collect(), ..proto::FeedMessage::default() };
        SplitFeedMessage::from_decoded_message(&message)
    }

    fn at(seconds: i64) -> UnixMillis {
        UnixMillis::from_seconds(1_000_000 + seconds)
    }

    /// Returns the history of a feed that reported `n` of 100 trips every 15 s for an hour, until second 3,600.
    fn healthy(n: u32) -> ReportedContentHistory {
        let mut health = ReportedContentHistory::default();
        for poll in 0..=240 {
            health.record_message_content(&message(n, poll), Some(100), at(i64::from(poll) * 15));
        }
        health
    }

    #[test]
    fn a_feed_with_half_of_its_usual_content_is_detected() {
        let mut health = healthy(80);
        assert!(!health.expected_content(Some(100), at(3_600)).has_too_few_entities());
        health.record_message_content(&message(41, 0), Some(100), at(3_615));
        assert!(!health.expected_content(Some(100), at(3_615)).has_too_few_entities());
        health.record_message_content(&message(38, 0), Some(100), at(3_630));
        assert!(health.expected_content(Some(100), at(3_630)).has_too_few_entities());
    }

    #[test]
    fn fewer_vehicles_at_night_match_the_timetable() {
        let mut health = healthy(80);
        health.record_message_content(&message(16, 0), Some(20), at(3_615));
        assert!(!health.expected_content(Some(20), at(3_615)).has_too_few_entities());
        health.record_message_content(&message(0, 0), Some(3), at(3_630));
        assert!(!health.expected_content(Some(3), at(3_630)).has_too_few_entities());
        // A feed that has always reported little is healthy.
        let few = healthy(12);
        assert!(!few.expected_content(Some(100), at(3_600)).has_too_few_entities());
    }

    #[test]
    fn no_content_is_expected_without_history_or_timetable() {
        let mut health = ReportedContentHistory::default();
        health.record_message_content(&message(80, 0), Some(100), at(0));
        health.record_message_content(&message(1, 0), Some(100), at(15));
        assert!(
            !health.expected_content(Some(100), at(15)).has_too_few_entities(),
            "the history is too short"
        );
        let mut alerts = ReportedContentHistory::default();
        for poll in 0..=240 {
            alerts.record_message_content(&message(0, 0), Some(100), at(poll * 15));
        }
        let expectation = alerts.expected_content(Some(100), at(3_600));
        assert_eq!(
            (expectation.n_expected, expectation.has_trip_data),
            (None, false),
            "a feed of alerts has no usual number"
        );
        alerts.record_message_content(&message(1, 0), Some(100), at(3_615));
        alerts.record_message_content(&message(0, 0), Some(100), at(3_630));
        assert!(alerts.expected_content(None, at(3_630)).has_trip_data);
        assert!(
            !healthy(80).expected_content(None, at(3_600)).has_too_few_entities(),
            "nothing is expected without a timetable"
        );
    }

    #[test]
    fn an_unchanged_feed_is_frozen_while_many_trips_run() {
        let limit = Duration::from_secs(300);
        let mut health = healthy(80);
        for poll in 0..=20 {
            health.record_message_content(&message(80, 240), Some(100), at(3_600 + poll * 15));
        }
        assert!(!health.expected_content(Some(100), at(3_900)).has_frozen_content(limit));
        health.record_message_content(&message(80, 240), Some(100), at(3_915));
        assert!(health.expected_content(Some(100), at(3_915)).has_frozen_content(limit));
        assert!(
            !health.expected_content(Some(2), at(3_915)).has_frozen_content(limit),
            "few trips run at night"
        );
        let mut same = healthy(80);
        same.record_unchanged_message(at(3_915));
        assert!(
            same.expected_content(Some(100), at(3_915)).has_frozen_content(limit),
            "repeated bytes count as unchanged"
        );
        health.record_message_content(&message(80, 241), Some(100), at(3_930));
        assert!(!health.expected_content(Some(100), at(3_930)).has_frozen_content(limit));
    }

    proptest! {
        #[test]
        fn the_usual_content_is_between_the_observed_minimum_and_maximum(
            counts in proptest::collection::vec(1_u32..200, 1..100)
        ) {
            let mut health = ReportedContentHistory::default();
            for (poll, n) in counts.iter().enumerate() {
                health.record_message_content(&message(*n, 0), Some(100), at(poll as i64 * 15));
            }
            let expected = health.expected_content(Some(100), at(100_000)).n_expected.unwrap();
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            prop_assert!(expected >= f64::from(*least) - 1e-6 && expected <= f64::from(*most) + 1e-6);
        }
    }
}
