//! The way in which a session learns of news in its rooms: directly, or through its partition.

use std::sync::Arc;

use crate::listener::{ListenerHandle, SessionSignal};
use crate::partition_listener::{PartitionSlotId, SessionPartitionMembership};
use crate::room::DeliverableState;
use crate::{ChannelRoom, Hub, Position};

pub(super) enum SessionListenMode {
    /// The session has its own listener, and reads states itself.
    Direct(Arc<SessionSignal>),
    /// The session belongs to a partition; workers read its states.
    Partition(SessionPartitionMembership),
}

impl SessionListenMode {
    /// Adds the session to a room; returns `None` if the room has been closed and must be looked up again.
    pub(super) fn join_room(
        &self,
        room: &Arc<ChannelRoom>,
        subscription: u32,
    ) -> Option<Option<PartitionSlotId>> {
        match self {
            Self::Direct(signal) => {
                room.add_listener(ListenerHandle::Direct(signal.clone())).then_some(None)
            }
            Self::Partition(member) => member.join_room(room, subscription).map(Some),
        }
    }

    pub(super) fn leave_room(&self, room: &ChannelRoom, slot: Option<PartitionSlotId>, hub: &Hub) {
        match (self, slot) {
            (Self::Direct(signal), _) => {
                room.remove_listener(signal.signaled_listener_number(), hub.clock().monotonic())
            }
            (Self::Partition(member), Some(slot)) => member.leave_room(room, slot, hub),
            (Self::Partition(_), None) => {}
        }
    }

    /// Returns the room's state for a session at `position`; `None` if the session will be signaled when the state is
    /// there.
    pub(super) fn request_room_state(
        &self,
        hub: &Arc<Hub>,
        room: &Arc<ChannelRoom>,
        slot: Option<PartitionSlotId>,
        position: Option<Position>,
    ) -> Option<DeliverableState> {
        let now = hub.clock().monotonic();
        match (self, slot) {
            (Self::Partition(member), Some(slot)) => room.cached_or_requested_state(
                hub,
                &*member.workers,
                position,
                &member.listener_handle(slot),
                now,
            ),
            (Self::Direct(signal), _) => room.cached_or_read_state(
                hub.state_source(),
                position,
                &ListenerHandle::Direct(signal.clone()),
                now,
            ),
            (Self::Partition(_), None) => None,
        }
    }
}
