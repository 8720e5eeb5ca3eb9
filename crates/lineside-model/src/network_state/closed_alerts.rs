//! Alerts that their feed no longer has. They are retained for a while for consumers of changes, which would otherwise
//! never learn that an alert has ended.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use lineside_sync::UnixMillis;

use crate::{
    change::RecordChange,
    record::RemovalReason,
    record::{Record, RecordKind},
};

/// Time for which an alert is retained after its removal: as long as subscriptions to changes are.
const CLOSED_FOR: Duration = Duration::from_secs(10 * 60);
/// Maximum number of retained alerts of a feed; the oldest are dropped first.
const CLOSED_MAX: usize = 1_000;

/// The recently removed alerts of a feed, oldest first.
#[derive(Clone, Debug, Default)]
pub struct ClosedAlerts(VecDeque<(UnixMillis, Arc<Record>)>);

impl ClosedAlerts {
    /// Returns the alerts, which get new numbers at their removal, in numerical order.
    pub fn records(&self) -> impl Iterator<Item = &Arc<Record>> {
        self.0.iter().map(|(_, record)| record)
    }

    /// Returns the time at which an alert was removed; `None` if it is not retained here.
    pub fn alert_closed_at(&self, record: &Record) -> Option<UnixMillis> {
        let at = self.0.binary_search_by_key(&record.number, |(_, known)| known.number).ok()?;
        self.0.get(at).map(|(at, _)| *at)
    }

    /// Returns the retained alerts after changes of a feed's records at `now`; `None` if they are unchanged.
    pub fn retained_after_changes<'c>(
        &self,
        changes: impl Iterator<Item = &'c RecordChange>,
        now: UnixMillis,
    ) -> Option<ClosedAlerts> {
        let mut next: Option<ClosedAlerts> = None;
        for change in changes.filter(|change| change.new_or_old_record().is_some_and(is_alert)) {
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
