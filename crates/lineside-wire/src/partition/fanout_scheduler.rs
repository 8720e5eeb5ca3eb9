//! The schedule of the fanout: rooms with news, each walked in slices, in turn.
//!
//! A *pass* goes once through all slots of a room. Slots that have not had their turn also get what is published
//! meanwhile; the others get it in the next pass. A room whose pass ends with more waiting is behind. Its next pass
//! begins only some milliseconds later, so that several of its publications go out in one write. A room that keeps up
//! never waits.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use lineside_hub::{PartitionListener, PartitionSubscription};

use super::limits::{COALESCE, ROWS_PER_SLICE};

/// All passes of a partition. Bound: one per room with slots.
#[derive(Debug, Default)]
pub(super) struct RoomFanoutScheduler {
    /// The passes in progress, in turn.
    running: VecDeque<RoomFanoutPass>,
    /// The rooms that are behind, with the times of their next passes, in order.
    waiting: VecDeque<(Duration, u32)>,
    stages: HashMap<u32, RoomPassStage>,
    /// Cleared lists of slots, for reuse.
    spare: Vec<Vec<PartitionSubscription>>,
    /// A buffer for the rooms with news, reused.
    rooms: Vec<u32>,
}

#[derive(Debug)]
struct RoomFanoutPass {
    room: u32,
    slots: Vec<PartitionSubscription>,
    next: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RoomPassStage {
    Running,
    /// A pass is running, and there is more news.
    Behind,
    Waiting,
}

impl RoomFanoutScheduler {
    /// Takes the rooms that have news, and starts the passes that are due.
    pub(super) fn start_due_passes(&mut self, listener: &mut PartitionListener, now: Duration) {
        let mut rooms = std::mem::take(&mut self.rooms);
        listener.take_rooms_with_news(&mut rooms);
        for room in rooms.drain(..) {
            match self.stages.get_mut(&room) {
                Some(stage @ RoomPassStage::Running) => *stage = RoomPassStage::Behind,
                Some(RoomPassStage::Behind | RoomPassStage::Waiting) => {}
                None => self.begin_room_pass(room, listener),
            }
        }
        self.rooms = rooms;
        while let Some((at, room)) = self.waiting.front().copied()
            && at <= now
        {
            self.waiting.pop_front();
            self.begin_room_pass(room, listener);
        }
    }

    fn begin_room_pass(&mut self, room: u32, listener: &PartitionListener) {
        let mut slots = self.spare.pop().unwrap_or_default();
        listener.collect_room_subscriptions(room, &mut slots);
        self.stages.insert(room, RoomPassStage::Running);
        self.running.push_back(RoomFanoutPass { room, slots, next: 0 });
    }

    /// Adds the next slice of the room in turn to `into`; adds nothing if no pass is running.
    pub(super) fn take_next_slice(&mut self, into: &mut Vec<PartitionSubscription>, now: Duration) {
        let Some(mut pass) = self.running.pop_front() else { return };
        let end = (pass.next + ROWS_PER_SLICE).min(pass.slots.len());
        into.extend_from_slice(&pass.slots[pass.next..end]);
        pass.next = end;
        if end < pass.slots.len() {
            self.running.push_back(pass);
        } else {
            self.end_room_pass(pass, now);
        }
    }

    fn end_room_pass(&mut self, pass: RoomFanoutPass, now: Duration) {
        let RoomFanoutPass { room, mut slots, .. } = pass;
        if self.stages.get(&room) == Some(&RoomPassStage::Behind) {
            self.stages.insert(room, RoomPassStage::Waiting);
            self.waiting.push_back((now + COALESCE, room));
        } else {
            self.stages.remove(&room);
        }
        slots.clear();
        self.spare.push(slots);
        self.spare.truncate(self.running.len() + 1);
    }

    /// Returns true if a pass is running.
    pub(super) fn has_running_pass(&self) -> bool {
        !self.running.is_empty()
    }

    /// Returns the time of the next pass of a waiting room.
    pub(super) fn next_pass_due(&self) -> Option<Duration> {
        self.waiting.front().map(|(at, _)| *at)
    }
}
