//! Which records of a state a consumer is to be told: all, or those that are newer than what it was told last.
//!
//! Records are numbered as they are made, and one that changes is made anew. So one number says what a consumer of a
//! network knows, however much it is. What is gone since is not told, save alerts: who knows something is told for ten
//! minutes that one is closed, because it may have no end.

use std::sync::Arc;

use super::{RecordFilter, SiriOutput};
use crate::{network::NetworkState, record::Record};

/// Records in the order in which they were made.
#[derive(Debug)]
pub struct RecordSelection<'a> {
    /// The records.
    pub records: Vec<&'a Arc<Record>>,
    /// The number up to which all that is wanted is told with them.
    pub up_to: u64,
    /// Whether there is more that is wanted.
    pub has_more: bool,
    /// Up to when journeys begin of which all that is wanted is told with them, Unix seconds; none where it is not wanted that
    /// they begin by some time.
    pub horizon: Option<i64>,
}

/// What a consumer was told before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConsumerPosition {
    /// Records up to this number,
    pub number: u64,
    /// of which those that are wanted once they begin soon were told if they begin up to then, Unix seconds.
    pub horizon: Option<i64>,
}

/// The wanted records of a service that are newer than number `after`, at most `most` of them, the oldest first. `now`
/// is the present of the network's data, Unix seconds.
pub fn select_new_records<'a>(
    state: &'a NetworkState,
    service: SiriOutput,
    wanted: &RecordFilter,
    now: i64,
    after: u64,
    most: usize,
) -> RecordSelection<'a> {
    let before = ConsumerPosition { number: after, horizon: None };
    select_records_after(state, service, wanted, now, before, most)
}

/// The same for who was told something before. A journey that was too far ahead then is told when it is near enough, also if
/// nothing of it has changed since; such journeys come before what is newer.
pub fn select_records_after<'a>(
    state: &'a NetworkState,
    service: SiriOutput,
    wanted: &RecordFilter,
    now: i64,
    before: ConsumerPosition,
    most: usize,
) -> RecordSelection<'a> {
    let after = before.number;
    if !wanted.matches_network(state) {
        let ConsumerPosition { horizon, .. } = before;
        return RecordSelection { records: Vec::new(), up_to: after, has_more: false, horizon };
    }
    let tables = state.feeds.iter().filter_map(|feed| feed.tables.for_kind(service.record_kind()));
    let hears_of_closed = after > 0 && service == SiriOutput::SituationExchange;
    let all = || {
        let closed = state.feeds.iter().filter(|_| hears_of_closed);
        let closed = closed.flat_map(|feed| feed.closed.records());
        tables.clone().flat_map(|table| table.records()).chain(closed)
    };
    let near = NearJourneys::find_near_journeys(state, service, wanted, now, before);
    if near.records.len() > most {
        return near.into_selection(before, most);
    }
    let NearJourneys { records: near, horizon } = near;
    let most = most - near.len();
    let newest = all().map(|record| record.number).max().unwrap_or(0).max(after);
    let mut records: Vec<&Arc<Record>> = all()
        .filter(|record| {
            record.number > after && wanted.matches_record(state, service, record, now)
        })
        .collect();
    records.sort_unstable_by_key(|record| record.number);
    let has_more = records.len() > most;
    records.truncate(most);
    let up_to = match records.last() {
        Some(last) if has_more => last.number,
        None if has_more => after,
        _ => newest,
    };
    let records = near.into_iter().map(|(_, record)| record).chain(records).collect();
    // What begins within the old horizon of what is left over is newer, and told by its number.
    RecordSelection { records, up_to, has_more, horizon }
}

/// Records that were told of by number while they were too far ahead, and are near enough now.
struct NearJourneys<'a> {
    /// With when they begin, the soonest first.
    records: Vec<(i64, &'a Arc<Record>)>,
    /// Up to when journeys begin that are near enough now.
    horizon: Option<i64>,
}

impl<'a> NearJourneys<'a> {
    fn find_near_journeys(
        state: &'a NetworkState,
        service: SiriOutput,
        wanted: &RecordFilter,
        now: i64,
        before: ConsumerPosition,
    ) -> NearJourneys<'a> {
        let horizon =
            wanted.journey_horizon(now).filter(|_| service != SiriOutput::SituationExchange);
        let Some((from, until)) = before.horizon.zip(horizon).filter(|(from, to)| from < to) else {
            return NearJourneys { records: Vec::new(), horizon: horizon.max(before.horizon) };
        };
        let tables =
            state.feeds.iter().filter_map(|feed| feed.tables.for_kind(service.record_kind()));
        let known =
            tables.flat_map(|table| table.records()).filter(|it| it.number <= before.number);
        let mut records: Vec<(i64, &Arc<Record>)> = known
            .filter_map(|record| Some((RecordFilter::journey_start(state, record)?, record)))
            .filter(|(begins, _)| (from + 1..=until).contains(begins))
            .filter(|(_, record)| wanted.matches_record(state, service, record, now))
            .collect();
        records.sort_by_key(|&(begins, record)| (begins, record.number));
        NearJourneys { records, horizon }
    }

    /// As many of them as there is room for, and those that begin with the last of these.
    fn into_selection(mut self, before: ConsumerPosition, most: usize) -> RecordSelection<'a> {
        let last = most.checked_sub(1).and_then(|last| self.records.get(last));
        let horizon = last.map(|(begins, _)| *begins).or(before.horizon);
        self.records.retain(|(begins, _)| Some(*begins) <= horizon);
        let records = self.records.into_iter().map(|(_, record)| record).collect();
        RecordSelection { records, up_to: before.number, has_more: true, horizon }
    }
}
