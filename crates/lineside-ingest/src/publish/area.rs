//! Publishing to map cells: vehicles and stations of any feed, and the status of each feed with a record in the cell.

use std::{collections::HashMap, sync::Arc};

use super::{room_removal_reason, targets::TargetRooms};
use crate::{
    change::RecordChange,
    channel_kinds::{self, RoomKind},
    feed_id::FeedId,
    geohash::{CELL_CHARS, GeohashCell},
    hashing::SeededHashBuilder,
    network_state::NetworkState,
    record::{Record, RecordKind, RemovalReason},
};

/// The number of vehicles and stations of each feed of this network in cells with subscribers.
///
/// Bounded by the existing rooms of cells.
#[derive(Debug, Default)]
pub(super) struct CellFeedCounts {
    cells: HashMap<u64, HashMap<FeedId, usize>, SeededHashBuilder>,
}

impl CellFeedCounts {
    /// Clears the counts, when no cell has subscribers.
    pub(super) fn clear_counts(&mut self) {
        self.cells.clear();
    }

    pub(super) fn add_cell_changes(
        &mut self,
        targets: &mut TargetRooms,
        before: &NetworkState,
        next: &NetworkState,
        changes: &[RecordChange],
    ) {
        self.count_new_cells(targets, before);
        for change in changes {
            let Some(record) = change.new_or_old_record() else { continue };
            match record.kind {
                RecordKind::Vehicle | RecordKind::Station => {
                    self.add_record_change_to_cells(targets, next, change)
                }
                RecordKind::Feed => self.add_feed_status_to_cells(targets, record),
                _ => {}
            }
        }
    }

    /// Counts the records of newly subscribed cells in the state before, and drops cells without subscribers.
    fn count_new_cells(&mut self, targets: &TargetRooms, before: &NetworkState) {
        let mut known = std::mem::take(&mut self.cells);
        for room in targets.rooms() {
            let id = room.key().id;
            let counts = known.remove(&id).unwrap_or_else(|| {
                let name = room.channel().decoded_segments().nth(1).unwrap_or_default();
                let mut counts = HashMap::new();
                if let Some(cell) = GeohashCell::parse(&name) {
                    for record in before.records_in_cell(cell) {
                        *counts.entry(record.feed.clone()).or_default() += 1;
                    }
                }
                counts
            });
            self.cells.insert(id, counts);
        }
    }

    fn add_record_change_to_cells(
        &mut self,
        targets: &mut TargetRooms,
        next: &NetworkState,
        change: &RecordChange,
    ) {
        let position_of =
            |record: &Option<Arc<Record>>| record.as_ref().and_then(|it| it.position());
        let (old_position, new_position) = (position_of(&change.old), position_of(&change.new));
        for chars in CELL_CHARS {
            let cell = |coordinates: Option<(f64, f64)>| {
                coordinates.map(|(lat, lon)| {
                    channel_kinds::cell_room_id(GeohashCell::from_point(lat, lon, chars))
                })
            };
            let (old_cell, new_cell) = (cell(old_position), cell(new_position));
            if let (Some(cell), Some(new)) = (new_cell, &change.new)
                && let Some(counts) = self.cells.get_mut(&cell)
            {
                if old_cell != new_cell && count_entering(counts, &new.feed) {
                    add_feed_status_to_cell(targets, cell, next, &new.feed);
                }
                targets.add_upsert_to_room((RoomKind::Area, cell), new.upsert_json());
            }
            if let (Some(cell), Some(old)) =
                (old_cell.filter(|_| old_cell != new_cell), &change.old)
                && let Some(counts) = self.cells.get_mut(&cell)
            {
                targets.add_removal_to_room(
                    (RoomKind::Area, cell),
                    old,
                    room_removal_reason(change),
                );
                if count_leaving(counts, &old.feed)
                    && let Some(slice) = next.find_feed_slice(old.feed.as_str())
                {
                    targets.add_removal_to_room(
                        (RoomKind::Area, cell),
                        &slice.record,
                        RemovalReason::Gone,
                    );
                }
            }
        }
    }

    fn add_feed_status_to_cells(&self, targets: &mut TargetRooms, record: &Record) {
        for (&cell, counts) in &self.cells {
            if counts.contains_key(&record.feed) {
                targets.add_upsert_to_room((RoomKind::Area, cell), record.upsert_json());
            }
        }
    }
}

/// Counts an entering record; returns true if it is the first of its feed.
fn count_entering(counts: &mut HashMap<FeedId, usize>, feed: &FeedId) -> bool {
    let count = counts.entry(feed.clone()).or_default();
    *count += 1;
    *count == 1
}

/// Counts a leaving record; returns true if it was the last of its feed.
fn count_leaving(counts: &mut HashMap<FeedId, usize>, feed: &FeedId) -> bool {
    let Some(count) = counts.get_mut(feed) else { return false };
    *count = count.saturating_sub(1);
    if *count == 0 {
        counts.remove(feed);
        return true;
    }
    false
}

fn add_feed_status_to_cell(
    targets: &mut TargetRooms,
    cell: u64,
    next: &NetworkState,
    feed: &FeedId,
) {
    if let Some(slice) = next.find_feed_slice(feed.as_str()) {
        targets.add_upsert_to_room((RoomKind::Area, cell), slice.record.upsert_json());
    }
}
