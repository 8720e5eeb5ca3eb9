//! Selection of a state's records for a consumer: all, or those newer than the last answer.
//!
//! Records are numbered as they are created, and a changed record is a new one. So a single number describes a
//! consumer's knowledge of a network. Removed records are not reported, except for alerts: for ten minutes a consumer
//! receives a closed one, because it may have no end.

use std::sync::Arc;

use super::{RecordFilter, SiriOutput};
use crate::{network_state::NetworkState, record::Record};

/// Records in the order of their creation.
#[derive(Debug)]
pub struct RecordSelection<'a> {
    pub records: Vec<&'a Arc<Record>>,
    /// The number up to which the consumer has received all matching records.
    pub up_to: u64,
    /// True if there are more matching records.
    pub has_more: bool,
    /// The start time up to which the consumer has received all matching journeys, in Unix seconds; `None` without a
    /// limit on start times.
    pub horizon: Option<i64>,
}

/// The position of a consumer after its previous answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConsumerReadPosition {
    /// The number up to which records were sent.
    pub number: u64,
    /// The start time up to which journeys were sent, in Unix seconds, if the filter limits start times.
    pub horizon: Option<i64>,
}

/// Returns at most `records_max` matching records of a service with a number above `after`, oldest first. `now` is the
/// present of the network's data, in Unix seconds.
pub fn select_new_records<'a>(
    state: &'a NetworkState,
    service: SiriOutput,
    filter: &RecordFilter,
    now: i64,
    after: u64,
    records_max: usize,
) -> RecordSelection<'a> {
    let before = ConsumerReadPosition { number: after, horizon: None };
    select_records_after(state, service, filter, now, before, records_max)
}

/// Returns matching records after a consumer's position. A journey that was too far ahead then is returned once it is
/// near enough, even if it has not changed; such journeys precede newer records.
pub fn select_records_after<'a>(
    state: &'a NetworkState,
    service: SiriOutput,
    filter: &RecordFilter,
    now: i64,
    before: ConsumerReadPosition,
    records_max: usize,
) -> RecordSelection<'a> {
    let after = before.number;
    if !filter.matches_network(state) {
        let ConsumerReadPosition { horizon, .. } = before;
        return RecordSelection { records: Vec::new(), up_to: after, has_more: false, horizon };
    }
    let tables = state.feeds.iter().filter_map(|feed| feed.tables.for_kind(service.record_kind()));
    let includes_closed = after > 0 && service == SiriOutput::SituationExchange;
    let all = || {
        let closed = state.feeds.iter().filter(|_| includes_closed);
        let closed = closed.flat_map(|feed| feed.closed.records());
        tables.clone().flat_map(|table| table.records()).chain(closed)
    };
    let near =
        JourneysNowInPreview::find_journeys_now_in_preview(state, service, filter, now, before);
    if near.records.len() > records_max {
        return near.into_record_selection(before, records_max);
    }
    let JourneysNowInPreview { records: near, horizon } = near;
    let remaining_records = records_max - near.len();
    let newest = all().map(|record| record.number).max().unwrap_or(0).max(after);
    let mut records: Vec<&Arc<Record>> = all()
        .filter(|record| {
            record.number > after && filter.matches_record(state, service, record, now)
        })
        .collect();
    records.sort_unstable_by_key(|record| record.number);
    let has_more = records.len() > remaining_records;
    records.truncate(remaining_records);
    let up_to = match records.last() {
        Some(last) if has_more => last.number,
        None if has_more => after,
        _ => newest,
    };
    let records = near.into_iter().map(|(_, record)| record).chain(records).collect();
    // Remaining records that begin within the old horizon are newer, so their numbers find them.
    RecordSelection { records, up_to, has_more, horizon }
}

/// Records below the consumer's number that were too far ahead before and are near enough now.
struct JourneysNowInPreview<'a> {
    /// Records with their start times, earliest first.
    records: Vec<(i64, &'a Arc<Record>)>,
    /// The latest start time of journeys that are near enough now.
    horizon: Option<i64>,
}

impl<'a> JourneysNowInPreview<'a> {
    fn find_journeys_now_in_preview(
        state: &'a NetworkState,
        service: SiriOutput,
        filter: &RecordFilter,
        now: i64,
        before: ConsumerReadPosition,
    ) -> JourneysNowInPreview<'a> {
        let horizon =
            filter.latest_journey_start(now).filter(|_| service != SiriOutput::SituationExchange);
        let Some((from, until)) = before.horizon.zip(horizon).filter(|(from, to)| from < to) else {
            return JourneysNowInPreview {
                records: Vec::new(),
                horizon: horizon.max(before.horizon),
            };
        };
        let tables =
            state.feeds.iter().filter_map(|feed| feed.tables.for_kind(service.record_kind()));
        let known =
            tables.flat_map(|table| table.records()).filter(|it| it.number <= before.number);
        let mut records: Vec<(i64, &Arc<Record>)> = known
            .filter_map(|record| Some((RecordFilter::journey_start(state, record)?, record)))
            .filter(|(begins, _)| (from + 1..=until).contains(begins))
            .filter(|(_, record)| filter.matches_record(state, service, record, now))
            .collect();
        records.sort_by_key(|&(begins, record)| (begins, record.number));
        JourneysNowInPreview { records, horizon }
    }

    /// Returns as many records as fit, and all that begin at the same time as the last of them.
    fn into_record_selection(
        mut self,
        before: ConsumerReadPosition,
        records_max: usize,
    ) -> RecordSelection<'a> {
        let last = records_max.checked_sub(1).and_then(|last| self.records.get(last));
        let horizon = last.map(|(begins, _)| *begins).or(before.horizon);
        self.records.retain(|(begins, _)| Some(*begins) <= horizon);
        let records = self.records.into_iter().map(|(_, record)| record).collect();
        RecordSelection { records, up_to: before.number, has_more: true, horizon }
    }
}
