//! Alerts that their feed no longer has. For a while they are remembered, for consumers that are told changes and would
//! otherwise never hear that one is over.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use lineside_sync::UnixMillis;

use crate::{
    change::RecordChange,
    record::RemovalReason,
    record::{Record, RecordKind},
};

/// How long an alert is remembered after it was gone: as long as those are who are told changes.
const CLOSED_FOR: Duration = Duration::from_secs(10 * 60);
/// Alerts of a feed that are remembered; the oldest go first.
const CLOSED_MAX: usize = 1_000;

/// The alerts of a feed that were gone lately, the oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClosedAlerts(VecDeque<(UnixMillis, Arc<Record>)>);

impl ClosedAlerts {
    /// The alerts, numbered anew when they were gone, in the order of their numbers.
    pub(crate) fn records(&self) -> impl Iterator<Item = &Arc<Record>> {
        self.0.iter().map(|(_, record)| record)
    }

    /// When one of them was gone; none if it is none of them.
    pub(crate) fn closed_at(&self, record: &Record) -> Option<UnixMillis> {
        let at = self.0.binary_search_by_key(&record.number, |(_, known)| known.number).ok()?;
        self.0.get(at).map(|(at, _)| *at)
    }

    /// What is remembered after these changes of a feed's records at `now`; none if that is the same as before.
    pub(crate) fn after_changes<'c>(
        &self,
        changes: impl Iterator<Item = &'c RecordChange>,
        now: UnixMillis,
    ) -> Option<ClosedAlerts> {
        let mut next: Option<ClosedAlerts> = None;
        for change in changes.filter(|change| change.record().is_some_and(is_alert)) {
            match (&change.old, &change.new) {
                (Some(old), None) if change.why == RemovalReason::Gone => {
                    let (feed, id) = (old.feed.clone(), old.id.clone());
                    let (raw, body) = (old.raw.clone(), old.body.clone());
                    let record = Record::new(feed, id, raw, body, old.join.clone());
                    next.get_or_insert_with(|| self.clone()).0.push_back((now, Arc::new(record)));
                }
                (_, Some(new)) => {
                    let closed = next.as_ref().unwrap_or(self);
                    if closed.records().any(|known| known.id == new.id) {
                        let next = next.get_or_insert_with(|| self.clone());
                        next.0.retain(|(_, known)| known.id != new.id);
                    }
                }
                _ => {}
            }
        }
        let mut next = next?;
        let oldest = now - CLOSED_FOR;
        while next.0.len() > CLOSED_MAX || next.0.front().is_some_and(|(at, _)| *at < oldest) {
            next.0.pop_front();
        }
        Some(next)
    }
}

fn is_alert(record: &Arc<Record>) -> bool {
    record.kind == RecordKind::Alert
}
