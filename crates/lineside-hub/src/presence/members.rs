//! One channel's subscribers, and the joins and leaves to publish at the next tick.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;

use super::{PresenceMember, PresencePage, PresenceStats, SharedPresenceState};
use crate::EncodedChannelName;
use crate::limits::{
    CHANGES_PENDING_MAX, PRESENCE_CHANGES_PER_TICK_MAX, PRESENCE_CHANGES_PER_TICK_MIN,
    PRESENCE_DELIVERIES_PER_TICK_MAX,
};

/// The free slots that a page may skip before it ends early.
const HOLES_PER_PAGE_MAX: usize = 4_096;

#[derive(Debug)]
pub(super) struct ChannelMembers {
    channel: EncodedChannelName,
    /// True if joins and leaves are published.
    publishes_changes: bool,
    common: Arc<SharedPresenceState>,
    inner: Mutex<MemberTable>,
}

#[derive(Debug, Default)]
struct MemberTable {
    /// Bound: the node's limit of present subscribers.
    slots: Vec<Option<Arc<PresenceMember>>>,
    /// The free indexes of `slots`; some may be beyond its end.
    free: Vec<u32>,
    present: usize,
    /// The number of connections here, by user.
    users: HashMap<Arc<str>, usize>,
    /// The joins (true) and leaves to publish; `None` for those that cancelled out. Bound: `CHANGES_PENDING_MAX`.
    changes: VecDeque<Option<(bool, Arc<PresenceMember>)>>,
    /// The number of the first of `changes`, and the number of each client's change.
    first_change: u64,
    change_of: HashMap<Arc<str>, u64>,
    dropped: u64,
    /// True if the channel is in the list for the next tick.
    dirty: bool,
    closed: bool,
}

pub(super) enum AddMemberOutcome {
    Slot(u32),
    Full,
    Closed,
}

impl ChannelMembers {
    pub(super) fn new(
        channel: EncodedChannelName,
        publishes_changes: bool,
        common: Arc<SharedPresenceState>,
    ) -> Self {
        Self { channel, publishes_changes, common, inner: Mutex::default() }
    }

    pub(super) fn channel(&self) -> &EncodedChannelName {
        &self.channel
    }

    pub(super) fn add_member(self: &Arc<Self>, member: &Arc<PresenceMember>) -> AddMemberOutcome {
        let common = &self.common;
        let mut inner = self.inner.lock();
        if inner.closed {
            return AddMemberOutcome::Closed;
        }
        if common.present.fetch_add(1, Ordering::Relaxed) >= common.present_max {
            common.present.fetch_sub(1, Ordering::Relaxed);
            return AddMemberOutcome::Full;
        }
        let Some(slot) = inner.assign_slot(member) else {
            common.present.fetch_sub(1, Ordering::Relaxed);
            return AddMemberOutcome::Full;
        };
        inner.present += 1;
        *inner.users.entry(member.user.clone()).or_default() += 1;
        self.record_presence_change(&mut inner, true, member);
        AddMemberOutcome::Slot(slot)
    }

    pub(super) fn remove_member(self: &Arc<Self>, slot: u32) {
        let mut inner = self.inner.lock();
        let Some(member) = inner.slots.get_mut(slot as usize).and_then(Option::take) else {
            return;
        };
        self.common.present.fetch_sub(1, Ordering::Relaxed);
        inner.present -= 1;
        inner.free.push(slot);
        while inner.slots.last().is_some_and(Option::is_none) {
            inner.slots.pop();
        }
        if inner.slots.is_empty() {
            inner.free.clear();
        }
        if let Some(connections) = inner.users.get_mut(&member.user) {
            *connections -= 1;
            if *connections == 0 {
                inner.users.remove(&member.user);
            }
        }
        self.record_presence_change(&mut inner, false, &member);
    }

    pub(super) fn presence_stats(&self) -> PresenceStats {
        let inner = self.inner.lock();
        PresenceStats { clients: inner.present, users: inner.users.len() }
    }

    pub(super) fn presence_page(&self, from: u32, limit: usize) -> PresencePage {
        let inner = self.inner.lock();
        let mut page = PresencePage::default();
        let mut holes = 0;
        for (slot, member) in inner.slots.iter().enumerate().skip(from as usize) {
            if page.members.len() == limit || holes == HOLES_PER_PAGE_MAX {
                page.next = u32::try_from(slot).ok();
                break;
            }
            match member {
                Some(member) => page.members.push(member.clone()),
                None => holes += 1,
            }
        }
        page
    }

    /// Takes the changes to publish now, and the number of dropped ones. Changes beyond the limit of one tick stay for
    /// the next: in a full channel each change is many deliveries.
    pub(super) fn take_changes_for_tick(
        self: &Arc<Self>,
    ) -> (Vec<(bool, Arc<PresenceMember>)>, u64) {
        let mut inner = self.inner.lock();
        let limit = PRESENCE_DELIVERIES_PER_TICK_MAX / inner.present.max(1);
        let limit = limit.clamp(PRESENCE_CHANGES_PER_TICK_MIN, PRESENCE_CHANGES_PER_TICK_MAX);
        let mut taken = Vec::new();
        while taken.len() < limit
            && let Some(change) = inner.changes.pop_front()
        {
            inner.first_change += 1;
            if let Some((joined, member)) = change {
                inner.change_of.remove(&member.client);
                taken.push((joined, member));
            }
        }
        inner.dirty = false;
        if !inner.changes.is_empty() {
            self.queue_for_next_tick(&mut inner);
        }
        (taken, std::mem::take(&mut inner.dropped))
    }

    pub(super) fn close_if_empty(&self) -> bool {
        let mut inner = self.inner.lock();
        inner.closed |= inner.present == 0 && inner.changes.is_empty();
        inner.closed
    }

    fn record_presence_change(
        self: &Arc<Self>,
        inner: &mut MemberTable,
        joined: bool,
        member: &Arc<PresenceMember>,
    ) {
        if self.publishes_changes {
            inner.record_or_cancel_change(joined, member);
        }
        if self.publishes_changes || inner.present == 0 {
            self.queue_for_next_tick(inner);
        }
    }

    fn queue_for_next_tick(self: &Arc<Self>, inner: &mut MemberTable) {
        if !inner.dirty {
            inner.dirty = true;
            self.common.dirty.lock().push(self.clone());
        }
    }
}

impl MemberTable {
    fn assign_slot(&mut self, member: &Arc<PresenceMember>) -> Option<u32> {
        while let Some(slot) = self.free.pop() {
            if let Some(entry) = self.slots.get_mut(slot as usize)
                && entry.is_none()
            {
                *entry = Some(member.clone());
                return Some(slot);
            }
        }
        let slot = u32::try_from(self.slots.len()).ok()?;
        self.slots.push(Some(member.clone()));
        Some(slot)
    }

    /// Records a change, unless it cancels the recorded one of the client.
    fn record_or_cancel_change(&mut self, joined: bool, member: &Arc<PresenceMember>) {
        if let Some(number) = self.change_of.get(&member.client) {
            let index = usize::try_from(number - self.first_change).unwrap_or(usize::MAX);
            let change = self.changes.get_mut(index);
            if let Some(change) = change.filter(|it| it.as_ref().is_some_and(|it| it.0 != joined)) {
                *change = None;
                self.change_of.remove(&member.client);
            }
            return;
        }
        if self.changes.len() >= CHANGES_PENDING_MAX {
            self.dropped += 1;
            return;
        }
        let number = self.first_change + self.changes.len() as u64;
        self.change_of.insert(member.client.clone(), number);
        self.changes.push_back(Some((joined, member.clone())));
    }
}
