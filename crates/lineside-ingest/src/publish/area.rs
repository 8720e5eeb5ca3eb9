//! Cells of the map: vehicles and stations of any feed, and the state of each feed that has one there.

use std::{collections::HashMap, sync::Arc};

use super::{targets::Targets, why_here};
use crate::{
    change::{Change, Why},
    channels::kinds::{self, RoomKind},
    config::FeedId,
    geohash::{CELL_CHARS, Cell},
    hashing::Seeded,
    network::NetworkState,
    record::{Kind, Record},
};

/// How many vehicles and stations of each feed of this network are in the cells that somebody listens to.
///
/// Bound: the living rooms of cells.
#[derive(Debug, Default)]
pub(super) struct Areas {
    cells: HashMap<u64, HashMap<FeedId, usize>, Seeded>,
}

impl Areas {
    /// Nobody listens to a cell.
    pub(super) fn forget(&mut self) {
        self.cells.clear();
    }

    pub(super) fn publish(
        &mut self,
        targets: &mut Targets,
        before: &NetworkState,
        next: &NetworkState,
        changes: &[Change],
    ) {
        self.count_anew(targets, before);
        for change in changes {
            let Some(record) = change.record() else { continue };
            match record.kind {
                Kind::Vehicle | Kind::Station => self.move_record(targets, next, change),
                Kind::Feed => self.tell_feed(targets, record),
                _ => {}
            }
        }
    }

    /// Cells that nobody listened to so far are counted in the state before, the others are gone.
    fn count_anew(&mut self, targets: &Targets, before: &NetworkState) {
        let mut known = std::mem::take(&mut self.cells);
        for room in targets.rooms() {
            let id = room.key().id;
            let counts = known.remove(&id).unwrap_or_else(|| {
                let name = room.channel().segments().nth(1).unwrap_or_default();
                let mut counts = HashMap::new();
                if let Some(cell) = Cell::parse(&name) {
                    for record in before.in_cell(cell) {
                        *counts.entry(record.feed.clone()).or_default() += 1;
                    }
                }
                counts
            });
            self.cells.insert(id, counts);
        }
    }

    fn move_record(&mut self, targets: &mut Targets, next: &NetworkState, change: &Change) {
        let place = |record: &Option<Arc<Record>>| record.as_ref().and_then(|it| it.position());
        let (old_place, new_place) = (place(&change.old), place(&change.new));
        for chars in CELL_CHARS {
            let cell = |place: Option<(f64, f64)>| {
                place.map(|(lat, lon)| kinds::of_cell(Cell::of(lat, lon, chars)))
            };
            let (old_cell, new_cell) = (cell(old_place), cell(new_place));
            if let (Some(cell), Some(new)) = (new_cell, &change.new)
                && let Some(counts) = self.cells.get_mut(&cell)
            {
                if old_cell != new_cell && enters(counts, &new.feed) {
                    put_feed(targets, cell, next, &new.feed);
                }
                targets.put((RoomKind::Area, cell), new.upsert());
            }
            if let (Some(cell), Some(old)) =
                (old_cell.filter(|_| old_cell != new_cell), &change.old)
                && let Some(counts) = self.cells.get_mut(&cell)
            {
                targets.remove((RoomKind::Area, cell), old, why_here(change));
                if leaves(counts, &old.feed)
                    && let Some(slice) = next.feed(old.feed.as_str())
                {
                    targets.remove((RoomKind::Area, cell), &slice.record, Why::Gone);
                }
            }
        }
    }

    fn tell_feed(&self, targets: &mut Targets, record: &Record) {
        for (&cell, counts) in &self.cells {
            if counts.contains_key(&record.feed) {
                targets.put((RoomKind::Area, cell), record.upsert());
            }
        }
    }
}

/// Counts a vehicle or station in; whether it is the first of its feed.
fn enters(counts: &mut HashMap<FeedId, usize>, feed: &FeedId) -> bool {
    let count = counts.entry(feed.clone()).or_default();
    *count += 1;
    *count == 1
}

/// Counts a vehicle or station out; whether it was the last of its feed.
fn leaves(counts: &mut HashMap<FeedId, usize>, feed: &FeedId) -> bool {
    let Some(count) = counts.get_mut(feed) else { return false };
    *count = count.saturating_sub(1);
    if *count == 0 {
        counts.remove(feed);
        return true;
    }
    false
}

fn put_feed(targets: &mut Targets, cell: u64, next: &NetworkState, feed: &FeedId) {
    if let Some(slice) = next.feed(feed.as_str()) {
        targets.put((RoomKind::Area, cell), slice.record.upsert());
    }
}
