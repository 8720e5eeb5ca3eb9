//! The way in which a session learns of news in its rooms: directly, or through its partition.

use std::sync::Arc;

use crate::listener::{ListenerHandle, Signal};
use crate::partition_listener::{PartitionMember, SlotId};
use crate::room::DeliverableState;
use crate::{Hub, Position, Room};

pub(super) enum ListenMode {
    /// The session has its own listener, and reads states itself.
    Alone(Arc<Signal>),
    /// The session belongs to a partition; workers read its states.
    Seated(PartitionMember),
}

impl ListenMode {
    /// Adds the session to a room; returns `None` if the room has been closed and must be looked up again.
    pub(super) fn join_room(&self, room: &Arc<Room>, subscription: u32) -> Option<Option<SlotId>> {
        match self {
            Self::Alone(signal) => {
                room.add_listener(ListenerHandle::Alone(signal.clone())).then_some(None)
            }
            Self::Seated(member) => member.join_room(room, subscription).map(Some),
        }
    }

    pub(super) fn leave_room(&self, room: &Room, chair: Option<SlotId>, hub: &Hub) {
        match (self, chair) {
            (Self::Alone(signal), _) => {
                room.remove_listener(signal.number(), hub.clock().monotonic())
            }
            (Self::Seated(member), Some(chair)) => member.leave_room(room, chair, hub),
            (Self::Seated(_), None) => {}
        }
    }

    /// Returns the room's state for a session at `held`; `None` if the session will be signaled when the state is
    /// there.
    pub(super) fn request_state(
        &self,
        hub: &Arc<Hub>,
        room: &Arc<Room>,
        chair: Option<SlotId>,
        held: Option<Position>,
    ) -> Option<DeliverableState> {
        let now = hub.clock().monotonic();
        match (self, chair) {
            (Self::Seated(member), Some(chair)) => {
                room.request_state(hub, &*member.workers, held, &member.listener_handle(chair), now)
            }
            (Self::Alone(signal), _) => room.read_state_now(
                hub.state_source(),
                held,
                &ListenerHandle::Alone(signal.clone()),
                now,
            ),
            (Self::Seated(_), None) => None,
        }
    }
}
