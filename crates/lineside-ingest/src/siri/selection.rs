//! Which records of a state a consumer is to be told: all, or those that are newer than what it was told last.
//!
//! Records are numbered as they are made, and one that changes is made anew. So one number says what a consumer of a
//! network knows, however much it is. What is gone since is not told, save alerts: who knows something is told for ten
//! minutes that one is closed, because it may have no end.

use std::sync::Arc;

use super::{Service, Wanted};
use crate::{network::NetworkState, record::Record};

/// Records in the order in which they were made.
#[derive(Debug)]
pub struct Selection<'a> {
    /// The records.
    pub records: Vec<&'a Arc<Record>>,
    /// The number up to which all that is wanted is told with them.
    pub up_to: u64,
    /// Whether there is more that is wanted.
    pub has_more: bool,
}

/// The wanted records of a service that are newer than number `after`, at most `most` of them, the oldest first. `now`
/// is the present of the network's data, Unix seconds.
pub fn select<'a>(
    state: &'a NetworkState,
    service: Service,
    wanted: &Wanted,
    now: i64,
    after: u64,
    most: usize,
) -> Selection<'a> {
    if !wanted.takes_network(state) {
        return Selection { records: Vec::new(), up_to: after, has_more: false };
    }
    let tables = state.feeds.iter().filter_map(|feed| feed.tables.of(service.kind()));
    let hears_of_closed = after > 0 && service == Service::SituationExchange;
    let all = || {
        let closed = state.feeds.iter().filter(|_| hears_of_closed);
        let closed = closed.flat_map(|feed| feed.closed.records());
        tables.clone().flat_map(|table| table.records()).chain(closed)
    };
    let newest = all().map(|record| record.number).max().unwrap_or(0).max(after);
    let mut records: Vec<&Arc<Record>> = all()
        .filter(|record| record.number > after && wanted.takes(state, service, record, now))
        .collect();
    records.sort_unstable_by_key(|record| record.number);
    let has_more = records.len() > most;
    records.truncate(most);
    let up_to = match records.last() {
        Some(last) if has_more => last.number,
        None if has_more => after,
        _ => newest,
    };
    Selection { records, up_to, has_more }
}
