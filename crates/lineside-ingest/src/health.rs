//! What a real-time feed should be saying now, so that one that answers and says too little is seen.
//!
//! The timetable says how many trips are under way. Of what share of them a feed tells is its own: it may know one
//! line's vehicles only, or trips that have not begun yet. So the share is learnt from what it says, fast while that is
//! usual and slowly while it is not: a feed that is meant to tell of less from now on is taken for well after some hours.

use std::time::Duration;

use lineside_formats::gtfs_rt::{EntityPayloads, ShallowMessage};
use lineside_sync::UnixMillis;
use xxhash_rust::xxh3::xxh3_64;

/// How long a feed is looked at before it is known what is usual.
const LEARN_TIME: Duration = Duration::from_secs(10 * 60);
/// Fewer trips under way say too little of what share of them is told of.
const UNDER_WAY_MIN: u32 = 10;
/// What is expected has to be at least this much: of less, chance may leave out half.
const USUAL_MIN: f64 = 10.0;
/// Less than this part of what is usual is too little.
const TOO_LITTLE: f64 = 0.5;
/// How much one message changes what is usual, and how much one that says too little does.
const LEARN: f64 = 0.02;
const LEARN_UNUSUAL: f64 = 0.001;
/// Fewer trips and vehicles may all stand still.
const STILL_MIN: u32 = 10;

/// What one feed has said so far.
#[derive(Debug, Default)]
pub(crate) struct ContentHistory {
    /// Trips and vehicles that the last message told of.
    told: u32,
    /// Whether any message told of some, also one of an earlier process. What never did may be about something else, such as alerts.
    tells_of_trips: bool,
    /// A hash of what it said of them, whatever time the message gives itself.
    print: u64,
    /// When that was, and since when it says just that.
    heard_at: UnixMillis,
    unchanged_since: UnixMillis,
    /// What it tells of for each trip under way, and since when that is learnt.
    share: Option<(f64, UnixMillis)>,
}

/// What a feed should be saying, as its judge needs it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ContentExpectation {
    /// Trips that the timetable has under way; none where it is not known.
    pub(crate) under_way: Option<u32>,
    /// Trips and vehicles that the feed usually tells of while so many are; none where it is not known.
    pub(crate) usual: Option<f64>,
    /// Trips and vehicles that it does tell of.
    pub(crate) told: u32,
    /// Whether it ever told of some.
    pub(crate) tells_of_trips: bool,
    /// When it last told of them.
    pub(crate) heard_at: UnixMillis,
    /// Since when it says the same of them.
    pub(crate) unchanged_since: UnixMillis,
}

impl ContentHistory {
    /// Notes that it told of trips or vehicles before this process.
    pub(crate) fn mark_trips_seen(&mut self) {
        self.tells_of_trips = true;
    }

    /// Notes what a message says, at a time when so many trips are under way.
    pub(crate) fn record_message(
        &mut self,
        message: &ShallowMessage,
        under_way: Option<u32>,
        now: UnixMillis,
    ) {
        let mut told = 0;
        let mut hashes = Vec::new();
        for entity in message.entities.iter().filter(|entity| !entity.is_deleted) {
            if entity.payload.contains(EntityPayloads::VEHICLE)
                || entity.payload.contains(EntityPayloads::TRIP_UPDATE)
            {
                told += 1;
                hashes.extend_from_slice(&entity.hash.to_le_bytes());
            }
        }
        let tells_of_trips = self.tells_of_trips || told > 0;
        if message.is_differential() {
            // It tells of what has changed, not of all that there is.
            *self = ContentHistory { tells_of_trips, ..ContentHistory::default() };
            return;
        }
        self.tells_of_trips = tells_of_trips;
        let print = xxh3_64(&hashes);
        if print != self.print || self.unchanged_since == UnixMillis::default() {
            self.unchanged_since = now;
        }
        (self.told, self.print, self.heard_at) = (told, print, now);
        self.learn_trip_share(under_way, now);
    }

    /// Notes that it says what it said last, in the same bytes.
    pub(crate) fn record_repeated_message(&mut self, now: UnixMillis) {
        if self.heard_at != UnixMillis::default() {
            self.heard_at = now;
        }
    }

    fn learn_trip_share(&mut self, under_way: Option<u32>, now: UnixMillis) {
        let Some(under_way) = under_way.filter(|under_way| *under_way >= UNDER_WAY_MIN) else {
            return;
        };
        let share = f64::from(self.told) / f64::from(under_way);
        match &mut self.share {
            // What never told of a trip is about something else.
            None if self.told == 0 => {}
            None => self.share = Some((share, now)),
            Some((usual, _)) => {
                let weight = if share < *usual * TOO_LITTLE { LEARN_UNUSUAL } else { LEARN };
                *usual += (share - *usual) * weight;
            }
        }
    }

    /// What it should be saying while so many trips are under way.
    pub(crate) fn expected_content(
        &self,
        under_way: Option<u32>,
        now: UnixMillis,
    ) -> ContentExpectation {
        let share = self.share.filter(|(_, since)| now.duration_since(*since) >= LEARN_TIME);
        let usual =
            share.zip(under_way).map(|((share, _), under_way)| share * f64::from(under_way));
        let ContentHistory { told, tells_of_trips, heard_at, unchanged_since, .. } = *self;
        ContentExpectation { under_way, usual, told, tells_of_trips, heard_at, unchanged_since }
    }
}

impl ContentExpectation {
    /// Whether it tells of so little that much is missing.
    pub(crate) fn is_too_little(&self) -> bool {
        let usual = self.usual.filter(|usual| *usual >= USUAL_MIN);
        usual.is_some_and(|usual| f64::from(self.told) < usual * TOO_LITTLE)
    }

    /// Whether it had said the same for longer than `limit` when it was last heard, although much should move.
    pub(crate) fn is_frozen(&self, limit: Duration) -> bool {
        self.told >= STILL_MIN
            && self.under_way.is_some_and(|under_way| under_way >= UNDER_WAY_MIN)
            && self.heard_at.duration_since(self.unchanged_since) > limit
    }
}

#[cfg(test)]
mod tests {
    use lineside_formats::gtfs_rt::proto;
    use proptest::prelude::*;

    use super::*;

    /// A message of `n` vehicles; `step` is how far they have come.
    fn message(n: u32, step: u32) -> ShallowMessage {
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
        ShallowMessage::from_message(&message)
    }

    fn at(seconds: i64) -> UnixMillis {
        UnixMillis::from_seconds(1_000_000 + seconds)
    }

    /// A feed that told of `n` of 100 trips every 15 s for an hour, ending at second 3,600.
    fn usual(n: u32) -> ContentHistory {
        let mut health = ContentHistory::default();
        for poll in 0..=240 {
            health.record_message(&message(n, poll), Some(100), at(i64::from(poll) * 15));
        }
        health
    }

    #[test]
    fn a_feed_that_tells_of_half_as_much_as_usual_is_seen() {
        let mut health = usual(80);
        assert!(!health.expected_content(Some(100), at(3_600)).is_too_little());
        health.record_message(&message(41, 0), Some(100), at(3_615));
        assert!(!health.expected_content(Some(100), at(3_615)).is_too_little());
        health.record_message(&message(38, 0), Some(100), at(3_630));
        assert!(health.expected_content(Some(100), at(3_630)).is_too_little());
    }

    #[test]
    fn fewer_vehicles_at_night_are_as_many_as_the_timetable_has() {
        let mut health = usual(80);
        health.record_message(&message(16, 0), Some(20), at(3_615));
        assert!(!health.expected_content(Some(20), at(3_615)).is_too_little());
        health.record_message(&message(0, 0), Some(3), at(3_630));
        assert!(!health.expected_content(Some(3), at(3_630)).is_too_little());
        // And one that has always told of little is well with it.
        let few = usual(12);
        assert!(!few.expected_content(Some(100), at(3_600)).is_too_little());
    }

    #[test]
    fn nothing_is_missed_before_it_is_known_or_where_nothing_is_counted() {
        let mut health = ContentHistory::default();
        health.record_message(&message(80, 0), Some(100), at(0));
        health.record_message(&message(1, 0), Some(100), at(15));
        assert!(!health.expected_content(Some(100), at(15)).is_too_little(), "too early");
        let mut alerts = ContentHistory::default();
        for poll in 0..=240 {
            alerts.record_message(&message(0, 0), Some(100), at(poll * 15));
        }
        let expectation = alerts.expected_content(Some(100), at(3_600));
        assert_eq!(
            (expectation.usual, expectation.tells_of_trips),
            (None, false),
            "something else"
        );
        alerts.record_message(&message(1, 0), Some(100), at(3_615));
        alerts.record_message(&message(0, 0), Some(100), at(3_630));
        assert!(alerts.expected_content(None, at(3_630)).tells_of_trips);
        assert!(!usual(80).expected_content(None, at(3_600)).is_too_little(), "no timetable");
    }

    #[test]
    fn a_feed_that_says_the_same_is_frozen_unless_nothing_should_move() {
        let limit = Duration::from_secs(300);
        let mut health = usual(80);
        for poll in 0..=20 {
            health.record_message(&message(80, 240), Some(100), at(3_600 + poll * 15));
        }
        assert!(!health.expected_content(Some(100), at(3_900)).is_frozen(limit));
        health.record_message(&message(80, 240), Some(100), at(3_915));
        assert!(health.expected_content(Some(100), at(3_915)).is_frozen(limit));
        assert!(!health.expected_content(Some(2), at(3_915)).is_frozen(limit), "at night");
        let mut same = usual(80);
        same.record_repeated_message(at(3_915));
        assert!(same.expected_content(Some(100), at(3_915)).is_frozen(limit), "in the same bytes");
        health.record_message(&message(80, 241), Some(100), at(3_930));
        assert!(!health.expected_content(Some(100), at(3_930)).is_frozen(limit));
    }

    proptest! {
        #[test]
        fn what_is_usual_lies_between_the_least_and_the_most_that_was_said(
            counts in proptest::collection::vec(1_u32..200, 1..100)
        ) {
            let mut health = ContentHistory::default();
            for (poll, n) in counts.iter().enumerate() {
                health.record_message(&message(*n, 0), Some(100), at(poll as i64 * 15));
            }
            let usual = health.expected_content(Some(100), at(100_000)).usual.unwrap();
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            prop_assert!(usual >= f64::from(*least) - 1e-6 && usual <= f64::from(*most) + 1e-6);
        }
    }
}
