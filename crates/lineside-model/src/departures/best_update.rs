//! Choice of the best of several updates of one run.

use lineside_formats::gtfs_rt::proto::trip_descriptor::ScheduleRelationship;

use super::TripRunUpdate;
use crate::{feed_id::FeedId, network_state::NetworkState, record::Record, trip_identity::TripKey};

/// Returns the best update of a run: the latest one, but updates of calls or of the whole run take precedence over
/// updates with only the vehicle's delay. An update without a time counts as made at `now`, and one from a message too
/// old for boards wins only if there is no other.
pub fn find_best_run_update<'a>(
    state: &'a NetworkState,
    key: TripKey<'a>,
    now: i64,
) -> Option<TripRunUpdate<'a>> {
    find_best_update_of_feeds(state, key, now, |_| true)
}

/// Returns true if another feed accepted by `takes` has a better update for the run of a record, so that the record
/// would be a duplicate. [`find_best_run_update`] defines the order; `now` is in Unix seconds.
pub fn has_better_update_elsewhere(
    state: &NetworkState,
    record: &Record,
    now: i64,
    takes: impl Fn(&FeedId) -> bool,
) -> bool {
    let Some(update) = record.trip_update() else { return false };
    if update.trip.schedule_relationship() == ScheduleRelationship::Duplicated {
        return false;
    }
    let key = TripKey::from_descriptor(&update.trip);
    let run_update = key.and_then(|key| find_best_update_of_feeds(state, key, now, takes));
    run_update.is_some_and(|run_update| *run_update.feed != record.feed)
}

fn find_best_update_of_feeds<'a>(
    state: &'a NetworkState,
    key: TripKey<'a>,
    now: i64,
    takes: impl Fn(&FeedId) -> bool,
) -> Option<TripRunUpdate<'a>> {
    let feeds = state.feeds.iter().filter(|feed| takes(&feed.id));
    let all = feeds.flat_map(|feed| {
        let updates = feed.tables.trip_updates.records_by_trip(key.trip_id);
        updates.filter_map(move |record| Some((feed, record.trip_update()?)))
    });
    let run_candidates = all.filter(|(_, update)| {
        let other = TripKey::from_descriptor(&update.trip);
        let duplicate = update.trip.schedule_relationship() == ScheduleRelationship::Duplicated;
        !duplicate && other.is_some_and(|other| key.may_be_same_run(other))
    });
    let said = run_candidates.map(|(feed, update)| TripRunUpdate::new(feed, update, now));
    said.max_by_key(|run_update| run_update.precedence_key(now))
}
